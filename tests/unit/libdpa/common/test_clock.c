/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_clock.c - doca_clock: readings, two readings at one moment, and refused calls. */
#include "../host.h"
#include <doca_clock.h>

static struct doca_dev *dev;
static struct doca_clock *clk;

static void setup(void)
{
	dev = open_dpa0();
	OK(doca_clock_create(dev, &clk));
}

static void teardown(void)
{
	OK(doca_clock_destroy(clk));
	OK(doca_dev_close(dev));
	cr_assert_eq(fake_opens(), 0);
}

TestSuite(clock, .init = setup, .fini = teardown, .timeout = 60);

static const uint64_t types[] = {
	DOCA_CLOCK_NIC_FREE_RUNNING,   DOCA_CLOCK_NIC_REAL_TIME,       DOCA_CLOCK_NIC_DPA_TIMER,
	DOCA_CLOCK_HOST_REAL_TIME,     DOCA_CLOCK_HOST_COUNTER_CYCLES, DOCA_CLOCK_HOST_MONOTONIC,
	DOCA_CLOCK_HOST_MONOTONIC_RAW,
};

static bool before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec <= b->tv_nsec);
}

/* Check that a reading lies between two readings of its underlying clock. */
static void lies_in(uint64_t type, clockid_t id, long grain)
{
	union doca_clock_timespec_t t;
	struct timespec a, b;

	clock_gettime(id, &a);
	a.tv_nsec -= a.tv_nsec % grain;
	OK(doca_clock_get_timestamp(clk, type, &t));
	clock_gettime(id, &b);
	cr_assert(before(&a, &t.ts) && before(&t.ts, &b));
	cr_assert_eq(t.ts.tv_nsec % grain, 0);
}

Test(clock, readings)
{
	union doca_clock_timespec_t a, b;

	lies_in(DOCA_CLOCK_NIC_FREE_RUNNING, CLOCK_MONOTONIC, 1);
	lies_in(DOCA_CLOCK_NIC_DPA_TIMER, CLOCK_MONOTONIC, 1000);
	lies_in(DOCA_CLOCK_NIC_REAL_TIME, CLOCK_REALTIME, 1);
	lies_in(DOCA_CLOCK_HOST_REAL_TIME, CLOCK_REALTIME, 1);
	lies_in(DOCA_CLOCK_HOST_MONOTONIC, CLOCK_MONOTONIC, 1);
	lies_in(DOCA_CLOCK_HOST_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW, 1);
	OK(doca_clock_get_timestamp(clk, DOCA_CLOCK_HOST_COUNTER_CYCLES, &a));
	OK(doca_clock_get_timestamp(clk, DOCA_CLOCK_HOST_COUNTER_CYCLES, &b));
	cr_assert(b.counter >= a.counter);
}

Test(clock, two_of_one_moment)
{
	union doca_clock_timespec_t a, b;
	uint64_t margin;
	int64_t apart;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		OK(doca_clock_get_crosstimestamp(clk, types[i], DOCA_CLOCK_NIC_FREE_RUNNING, &a, &b,
						 &margin));
		cr_assert(types[i] == DOCA_CLOCK_HOST_COUNTER_CYCLES || a.ts.tv_nsec < 1000000000);
	}
	/* where both are the same clock they differ by no more than the margin */
	for (int i = 0; i < 1000; i++) {
		OK(doca_clock_get_crosstimestamp(clk, DOCA_CLOCK_HOST_MONOTONIC,
						 DOCA_CLOCK_NIC_FREE_RUNNING, &a, &b, &margin));
		apart = (int64_t)(a.ts.tv_sec - b.ts.tv_sec) * 1000000000 + a.ts.tv_nsec -
			b.ts.tv_nsec;
		cr_assert(apart <= (int64_t)margin && -apart <= (int64_t)margin, "%ld off, %lu",
			  (long)apart, (unsigned long)margin);
	}
}

Test(clock, refused)
{
	struct doca_devinfo **list, *info = doca_dev_as_devinfo(dev);
	union doca_clock_timespec_t a, b;
	struct doca_clock *c, *none = NULL;
	struct doca_dev *foreign;
	uint64_t margin;
	uint32_t n;

	IS(doca_clock_create(NULL, &c), INVALID_VALUE);
	IS(doca_clock_create(dev, NULL), INVALID_VALUE);
	IS(doca_dev_close(dev), IN_USE);
	IS(doca_clock_get_timestamp(none, DOCA_CLOCK_HOST_MONOTONIC, &a), INVALID_VALUE);
	IS(doca_clock_get_timestamp(clk, DOCA_CLOCK_HOST_MONOTONIC, NULL), INVALID_VALUE);
	IS(doca_clock_get_timestamp(clk, 0, &a), NOT_SUPPORTED);
	IS(doca_clock_get_timestamp(clk, DOCA_CLOCK_HOST_MONOTONIC | 1, &a), NOT_SUPPORTED);
	IS(doca_clock_get_crosstimestamp(none, 1, 1, &a, &b, &margin), INVALID_VALUE);
	IS(doca_clock_get_crosstimestamp(clk, 1, 1, NULL, &b, &margin), INVALID_VALUE);
	IS(doca_clock_get_crosstimestamp(clk, 1, 1, &a, NULL, &margin), INVALID_VALUE);
	IS(doca_clock_get_crosstimestamp(clk, 1, 1, &a, &b, NULL), INVALID_VALUE);
	IS(doca_clock_get_crosstimestamp(clk, 1, DOCA_CLOCK_HOST_MONOTONIC, &a, &b, &margin),
	   NOT_SUPPORTED);
	IS(doca_clock_get_crosstimestamp(clk, 0, 1, &a, &b, &margin), NOT_SUPPORTED);
	fake_fail_clock(true);
	IS(doca_clock_get_timestamp(clk, DOCA_CLOCK_NIC_DPA_TIMER, &a), DRIVER);
	IS(doca_clock_get_crosstimestamp(clk, DOCA_CLOCK_HOST_MONOTONIC,
					 DOCA_CLOCK_NIC_FREE_RUNNING, &a, &b, &margin),
	   DRIVER);
	fake_fail_clock(false);

	OK(doca_clock_cap_nic_free_running_is_supported(info));
	OK(doca_clock_cap_nic_real_time_is_supported(info));
	OK(doca_clock_cap_nic_dpa_timer_is_supported(info));
	IS(doca_clock_cap_nic_free_running_is_supported(NULL), INVALID_VALUE);
	IS(doca_clock_cap_nic_real_time_is_supported(NULL), INVALID_VALUE);
	IS(doca_clock_cap_nic_dpa_timer_is_supported(NULL), INVALID_VALUE);
	OK(doca_devinfo_create_list(&list, &n));
	IS(doca_clock_cap_nic_free_running_is_supported(list[0]), NOT_SUPPORTED);
	IS(doca_clock_cap_nic_real_time_is_supported(list[0]), NOT_SUPPORTED);
	IS(doca_clock_cap_nic_dpa_timer_is_supported(list[0]), NOT_SUPPORTED);
	OK(doca_dev_open(list[0], &foreign));
	IS(doca_clock_create(foreign, &c), NOT_SUPPORTED);
	OK(doca_dev_close(foreign));
	OK(doca_devinfo_destroy_list(list));

	OK(doca_clock_create(dev, &c));
	OK(doca_clock_destroy(c));
	IS(doca_clock_destroy(c), INVALID_VALUE);
	IS(doca_clock_destroy(NULL), INVALID_VALUE);
}
