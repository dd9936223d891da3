/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* clock.h - the clock of the device. */
#ifndef DPA_CLOCK_H
#define DPA_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t dpa_now_ns(void);

/* CLOCK_REALTIME in nanoseconds: for records that a person reads. */
static inline uint64_t dpa_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

#endif
