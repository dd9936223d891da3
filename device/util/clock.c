/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "clock.h"

uint64_t dpa_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}
