/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * match.c - decides which entries of the class folder are ours: dpa0, and dpa0_sf1 and so on up to
 * the setting `functions`. Their character device is the null device, which no kernel driver can
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
	dpa_redirect_install(); /* librdmacm lists devices before it opens its node */
	/* The open reports a bad configuration; dpa0 is shown until then. */
	if (dpa_config_load(&cfg, err, sizeof(err)))
		return !function;
	return !cfg.disable && (uint32_t)function <= cfg.functions.num_sfs;
}
