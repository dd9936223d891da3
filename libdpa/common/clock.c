/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* clock.c - clocks of the adapter and the host. */
#include <doca_clock.h>
#include "../host/libdpa.h"

#define NIC_CLOCKS                                                                                 \
	(DOCA_CLOCK_NIC_FREE_RUNNING | DOCA_CLOCK_NIC_REAL_TIME | DOCA_CLOCK_NIC_DPA_TIMER)
#define TRIES	   8 /* readings, of which the closest pair counts */
#define NS_PER_S   1000000000
#define NS_PER_DPA 1000 /* the timer of DPA code counts microseconds */

struct doca_clock {
	struct doca_dev *dev;
};

doca_error_t doca_clock_cap_nic_free_running_is_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}

doca_error_t doca_clock_cap_nic_real_time_is_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}

doca_error_t doca_clock_cap_nic_dpa_timer_is_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}

doca_error_t doca_clock_create(const struct doca_dev *dev, struct doca_clock **clock)
{
	struct doca_clock *c;

	if (!dpa_live(dev) || !clock)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dev->info.is_dpa)
		return DOCA_ERROR_NOT_SUPPORTED;
	c = dpa_obj_new(DPA_T_CLOCK, sizeof(*c));
	if (!c)
		return DOCA_ERROR_NO_MEMORY;
	c->dev = (struct doca_dev *)dev;
	dpa_dev_use(c->dev, 1);
	*clock = c;
	return DOCA_SUCCESS;
}

doca_error_t doca_clock_destroy(struct doca_clock *clock)
{
	if (!dpa_live(clock))
		return DOCA_ERROR_INVALID_VALUE;
	dpa_dev_use(clock->dev, -1);
	dpa_obj_free(clock);
	return DOCA_SUCCESS;
}

/* ------------------------------------------------------------------ readings */

#if defined(__x86_64__)
#define HAS_COUNTER 1
static uint64_t clock_counter(void)
{
	return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
#define HAS_COUNTER 1
static uint64_t clock_counter(void)
{
	uint64_t n;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(n));
	return n;
}
#else
#define HAS_COUNTER 0
static uint64_t clock_counter(void)
{
	return 0;
}
#endif

static doca_error_t clock_read_host(clockid_t id, union doca_clock_timespec_t *out)
{
	return clock_gettime(id, &out->ts) ? DOCA_ERROR_OPERATING_SYSTEM : DOCA_SUCCESS;
}

static doca_error_t clock_read_raw(const struct doca_clock *c, union doca_clock_timespec_t *out)
{
	return dpa_hwif_raw_clock(c->dev->ctx, &out->ts) ? DOCA_ERROR_DRIVER : DOCA_SUCCESS;
}

static doca_error_t clock_read(const struct doca_clock *c, uint64_t type,
			       union doca_clock_timespec_t *out)
{
	doca_error_t ret;

	switch (type) {
	case DOCA_CLOCK_NIC_FREE_RUNNING:
		return clock_read_raw(c, out);
	case DOCA_CLOCK_NIC_DPA_TIMER:
		ret = clock_read_raw(c, out);
		out->ts.tv_nsec -= out->ts.tv_nsec % NS_PER_DPA;
		return ret;
	case DOCA_CLOCK_NIC_REAL_TIME:
	case DOCA_CLOCK_HOST_REAL_TIME:
		return clock_read_host(CLOCK_REALTIME, out);
	case DOCA_CLOCK_HOST_MONOTONIC:
		return clock_read_host(CLOCK_MONOTONIC, out);
	case DOCA_CLOCK_HOST_MONOTONIC_RAW:
		return clock_read_host(CLOCK_MONOTONIC_RAW, out);
	case DOCA_CLOCK_HOST_COUNTER_CYCLES:
		out->counter = clock_counter();
		return HAS_COUNTER ? DOCA_SUCCESS : DOCA_ERROR_NOT_SUPPORTED;
	default:
		return DOCA_ERROR_NOT_SUPPORTED;
	}
}

doca_error_t doca_clock_get_timestamp(const struct doca_clock *clock, uint64_t clock_type,
				      union doca_clock_timespec_t *clock_ts)
{
	union doca_clock_timespec_t t = {0};
	doca_error_t ret;

	if (!dpa_live(clock) || !clock_ts)
		return DOCA_ERROR_INVALID_VALUE;
	ret = clock_read(clock, clock_type, &t);
	if (!ret)
		*clock_ts = t;
	return ret;
}

/* ------------------------------------------------------------- two of one moment */

/* Return the time between two readings. Negative: the clock was set back in between. */
static int64_t clock_between(uint64_t type, const union doca_clock_timespec_t *a,
			     const union doca_clock_timespec_t *b)
{
	if (type == DOCA_CLOCK_HOST_COUNTER_CYCLES)
		return (int64_t)(b->counter - a->counter);
	return (int64_t)(b->ts.tv_sec - a->ts.tv_sec) * NS_PER_S + b->ts.tv_nsec - a->ts.tv_nsec;
}

static void clock_add(uint64_t type, union doca_clock_timespec_t *t, int64_t n)
{
	if (type == DOCA_CLOCK_HOST_COUNTER_CYCLES) {
		t->counter += (uint64_t)n;
		return;
	}
	t->ts.tv_sec += n / NS_PER_S;
	t->ts.tv_nsec += n % NS_PER_S;
	if (t->ts.tv_nsec >= NS_PER_S) {
		t->ts.tv_nsec -= NS_PER_S;
		t->ts.tv_sec++;
	}
}

/* Read the first clock before and after the second: return the middle, and half of the distance. */
static doca_error_t clock_cross(const struct doca_clock *c, uint64_t type, uint64_t nic_type,
				union doca_clock_timespec_t *first,
				union doca_clock_timespec_t *nic, int64_t *between)
{
	union doca_clock_timespec_t after = {0};
	doca_error_t ret = clock_read(c, type, first);

	if (!ret)
		ret = clock_read(c, nic_type, nic);
	if (!ret)
		ret = clock_read(c, type, &after);
	if (ret)
		return ret;
	*between = clock_between(type, first, &after);
	if (*between > 0)
		clock_add(type, first, *between / 2);
	return DOCA_SUCCESS;
}

doca_error_t doca_clock_get_crosstimestamp(const struct doca_clock *clock,
					   uint64_t primary_clock_type, uint64_t nic_clock_type,
					   union doca_clock_timespec_t *primary_clock_ts,
					   union doca_clock_timespec_t *nic_clock_ts,
					   uint64_t *error_margin_nsecs)
{
	union doca_clock_timespec_t first = {0}, nic = {0};
	int64_t best = -1, between;
	doca_error_t ret;

	if (!dpa_live(clock) || !primary_clock_ts || !nic_clock_ts || !error_margin_nsecs)
		return DOCA_ERROR_INVALID_VALUE;
	if (!(nic_clock_type & NIC_CLOCKS))
		return DOCA_ERROR_NOT_SUPPORTED;
	for (int i = 0; i < TRIES; i++) {
		ret = clock_cross(clock, primary_clock_type, nic_clock_type, &first, &nic,
				  &between);
		if (ret)
			return ret;
		if (between < 0 || (best >= 0 && between >= best))
			continue;
		best = between;
		*primary_clock_ts = first;
		*nic_clock_ts = nic;
	}
	if (best < 0)
		return DOCA_ERROR_DRIVER;
	*error_margin_nsecs = (uint64_t)(best + 1) / 2;
	if (nic_clock_type == DOCA_CLOCK_NIC_DPA_TIMER)
		*error_margin_nsecs += NS_PER_DPA;
	return DOCA_SUCCESS;
}
