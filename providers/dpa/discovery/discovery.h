/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* discovery.h - what the discovery preload asks the provider's library. */
#ifndef DPA_DISCOVERY_H
#define DPA_DISCOVERY_H

#include <stddef.h>

/*
 * Text of "gids/3", "gid_attrs/types/3" or "gid_attrs/ndevs/3" of a function's port as sysfs would
 * show it. Its length, or -1 and errno. Opens no device.
 */
int dpadv_port_file(unsigned function, const char *name, char *text, size_t len);
typedef int dpadv_port_file_fn(unsigned function, const char *name, char *text, size_t len);

#endif
