/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mapped.h - is registered memory one that peers map? */
#ifndef DPA_BENCH_MAPPED_H
#define DPA_BENCH_MAPPED_H

#include <stdio.h>
#include <string.h>
#include "vt.h"

/* Return whether the device's memfd is mapped there. */
static inline bool bench_is_shared(const void *p)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	bool found = false;
	char line[512];

	CHECK(f, "/proc/self/maps");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start <= (uintptr_t)p &&
		    (uintptr_t)p < end)
			found = strstr(line, "dpa-shared");
	fclose(f);
	return found;
}

#endif
