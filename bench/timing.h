/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* timing.h - clock and processor binding for measurements. */
#ifndef DPA_BENCH_TIMING_H
#define DPA_BENCH_TIMING_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t bench_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline double bench_seconds(void)
{
	return (double)bench_now_ns() * 1e-9;
}

/* Bind a thread to a processor, modulo their number. `tid` 0 is the caller. */
static inline void bench_pin(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % (int)sysconf(_SC_NPROCESSORS_ONLN), &set);
	if (sched_setaffinity(tid, sizeof(set), &set))
		perror("sched_setaffinity");
}

#endif
