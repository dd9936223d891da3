/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* open_dev.h - a device by its name. The includer has OK() of host.h or another rig. */
#ifndef TEST_LIBDPA_OPEN_DEV_H
#define TEST_LIBDPA_OPEN_DEV_H

#include <string.h>
#include <criterion/criterion.h>
#include <doca_dev.h>

/* Open it; fail if there is none of that name. */
static inline struct doca_dev *open_dev(const char *want)
{
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	struct doca_devinfo **list;
	struct doca_dev *dev = NULL;
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !dev; i++) {
		OK(doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)));
		if (!strcmp(name, want))
			OK(doca_dev_open(list[i], &dev));
	}
	OK(doca_devinfo_destroy_list(list));
	cr_assert(dev, "there is no device %s", want);
	return dev;
}

#endif
