/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DPA_MATCH_H
#define DPA_MATCH_H

#include <infiniband/driver.h>

/* Return the function of the adapter instance with this device name; -1: none. 0 is the PF. */
int dpa_function_of(const char *ibdev_name);
/* True if an entry of the class folder is from our static tree, and enabled. */
bool dpa_match_device(struct verbs_sysfs_dev *sysfs_dev);

#endif
