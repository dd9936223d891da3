/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which entries of the class folder are ours: dpa0, and dpa0_sf1 and so on as far as the setting
 * `functions` goes. Their character device is the null device, which no driver of the kernel can
 * have: a real device that happens to have such a name is left alone.
 */
#include <sys/sysmacros.h>
#include <knobs.h>
#include "discovery/match.h"
#include "redirect/redirect.h"

bool dpa_match_device(struct verbs_sysfs_dev *sysfs_dev)
{
	int function = dpa_function_of(sysfs_dev->ibdev_name);
	struct dpa_config cfg;
	char err[512];

	if (function < 0 || sysfs_dev->sysfs_cdev != makedev(1, 3))
		return false;
	dpa_redirect_install(); /* librdmacm asks for devices before it opens its node */
	/* A bad configuration is for the open to report; dpa0 is shown till then. */
	if (dpa_config_load(&cfg, err, sizeof(err)))
		return !function;
	return !cfg.disable && (uint32_t)function <= cfg.functions.num_sfs;
}
