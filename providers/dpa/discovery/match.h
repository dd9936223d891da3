/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DPA_MATCH_H
#define DPA_MATCH_H

#include <infiniband/driver.h>

/* The function of the adapter instance that a device name stands for, -1 if none. 0 is the PF. */
int dpa_function_of(const char *ibdev_name);
/* Whether an entry of the class folder is the one of our static tree, and wanted. */
bool dpa_match_device(struct verbs_sysfs_dev *sysfs_dev);

#endif
