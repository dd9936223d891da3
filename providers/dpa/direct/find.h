/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* find.h - which provider's direct verbs a call goes to. */
#ifndef DPADV_FIND_H
#define DPADV_FIND_H

#include <dpadv_table.h>

/*
 * The provider that has made objects in this process, NULL until a device was found. Set once
 * (release, by the first thread that finds it), read by every call (acquire); never changes after
 * that: libibverbs takes all its dpa devices from one provider.
 */
const struct dpadv_table *dpadv_found(void);
/* The provider whose device it is, NULL if it is none's; remembers it. Any thread. */
const struct dpadv_table *dpadv_find(struct ibv_device *device);
/* Any provider: what is loaded, else the file for the installed libibverbs beside this library. */
const struct dpadv_table *dpadv_any(void);

#endif
