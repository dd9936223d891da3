/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* clock.c - the clock of the connection manager. Real time advances it, too. */
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include "clock.h"
#include "util.h"

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

static _Atomic uint64_t skew_ms;
static struct timespec stood; /* the time at which it stopped */
static atomic_bool stands;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	int ret = __real_clock_gettime(id, ts);
	uint64_t skew = atomic_load(&skew_ms);

	if (ret || id != CLOCK_MONOTONIC)
		return ret;
	if (atomic_load(&stands))
		*ts = stood;
	ts->tv_sec += (time_t)(skew / 1000);
	ts->tv_nsec += (long)(skew % 1000) * 1000000;
	if (ts->tv_nsec >= 1000000000) {
		ts->tv_nsec -= 1000000000;
		ts->tv_sec++;
	}
	return 0;
}

void clock_stop(void)
{
	__real_clock_gettime(CLOCK_MONOTONIC, &stood);
	atomic_store(&stands, true);
}

void clock_advance(uint64_t ms)
{
	atomic_fetch_add(&skew_ms, ms);
	fake_gsi_wake();
}
