/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef PRELOADED_H
#define PRELOADED_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define PCI   "/sys/devices/pcid9a0:00/d9a0:00:00.0"
#define IBDEV "/sys/class/infiniband/dpa0"
#define VERBS "/sys/class/infiniband_verbs"
#define NODE  "/dev/infiniband/uverbs_dpa0"

static inline void need_preload(void)
{
	const char *list = getenv("LD_PRELOAD");

	if (!list || !strstr(list, "libdpa-preload.so"))
		cr_skip_test("run under the preload (ctest does)");
}

#endif
