/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* clock.h - CLOCK_MONOTONIC, the clock of all waits of libdpa. Any thread, signal handlers too. */
#ifndef DPA_LIB_CLOCK_H
#define DPA_LIB_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Return the time in nanoseconds. */
static inline uint64_t dpal_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Return the time in `ms` milliseconds, for pthread_cond_timedwait(). */
static inline struct timespec dpal_deadline(uint32_t ms)
{
	uint64_t ns = dpal_now_ns() + ms * UINT64_C(1000000);

	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
				 .tv_nsec = (long)(ns % 1000000000)};
}

#endif
