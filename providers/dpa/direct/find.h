/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* find.h - the provider whose direct verbs are called. */
#ifndef DPADV_FIND_H
#define DPADV_FIND_H

#include <dpadv_table.h>

/*
 * Return the provider that has created objects in this process; NULL until a device was found. Set
 * once (release, by the first thread that finds it), read by every call (acquire). It never changes
 * after that, because libibverbs takes all its dpa devices from one provider.
 */
const struct dpadv_table *dpadv_found(void);
/* Return the provider of the device, and remember it; NULL: it is not a dpa device. Any thread. */
const struct dpadv_table *dpadv_find(struct ibv_device *device);
/*
 * Return any provider: a loaded one, else the file for the installed libibverbs beside this
 * library.
 */
const struct dpadv_table *dpadv_any(void);

#endif
