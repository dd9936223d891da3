/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* doca_open.h - for programs of the DOCA API: the check of a call, and the device of a name. */
#ifndef DPA_BENCH_DOCA_OPEN_H
#define DPA_BENCH_DOCA_OPEN_H

#include <string.h>
#include <doca_dev.h>
#include <doca_error.h>
#include "vt.h"

#define OK(call)                                                                                   \
	do {                                                                                       \
		doca_error_t err_ = (call);                                                        \
		CHECK(err_ == DOCA_SUCCESS, "%s: %s", #call, doca_error_get_name(err_));           \
	} while (0)

static inline struct doca_dev *bench_open(const char *want)
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
	CHECK(dev, "no device %s", want);
	return dev;
}

#endif
