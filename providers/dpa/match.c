/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which entry of the class folder is dpa0. Its character device is the null device, which no
 * driver of the kernel can have: a real device that happens to have the name is left alone.
 */
#include <string.h>
#include <sys/sysmacros.h>
#include <knobs.h>
#include "match.h"

static bool is_disabled(void)
{
	struct dpa_config cfg;
	char err[512];

	/* A bad configuration is for the open to report; the device is shown till then. */
	return !dpa_config_load(&cfg, err, sizeof(err)) && cfg.disable;
}

bool dpa_match_device(struct verbs_sysfs_dev *sysfs_dev)
{
	return !strncmp(sysfs_dev->ibdev_name, "dpa", 3) &&
	       sysfs_dev->sysfs_cdev == makedev(1, 3) && !is_disabled();
}
