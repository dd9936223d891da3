/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_clock.h - clocks of the adapter and of the host, and two of them at one moment.
 *
 * The adapter's clocks are made of the host's: the free-running one, which has the time stamps of
 * completions, and that of DPA code (__dpa_thread_time(), in whole microseconds) are CLOCK_MONOTONIC;
 * the real-time one is CLOCK_REALTIME. So they never drift apart.
 *
 * A clock may be read by any thread. The interface is that of DOCA 3.2.
 */
#ifndef DOCA_CLOCK_H_
#define DOCA_CLOCK_H_

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <doca_compat.h>
#include <doca_dev.h> /* programs take its sizes from here */
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_clock;
struct doca_dev;
struct doca_devinfo;

/* Types of clocks. All are seconds and nanoseconds, but the counter. */
#define DOCA_CLOCK_NIC_FREE_RUNNING    0x1
#define DOCA_CLOCK_NIC_REAL_TIME       (0x1 << 1)
#define DOCA_CLOCK_NIC_DPA_TIMER       (0x1 << 8)
#define DOCA_CLOCK_HOST_COUNTER_CYCLES (0x1 << 16) /* x86-64: RDTSC; Arm: CNTVCT_EL0 */
#define DOCA_CLOCK_HOST_REAL_TIME      (0x1 << 17)
#define DOCA_CLOCK_HOST_MONOTONIC      (0x1 << 18)
#define DOCA_CLOCK_HOST_MONOTONIC_RAW  (0x1 << 19)

/* A reading. */
union doca_clock_timespec_t {
	struct timespec ts;
	uint64_t counter; /* DOCA_CLOCK_HOST_COUNTER_CYCLES */
};

/*
 * Report whether the device has clocks. INVALID_VALUE: NULL; NOT_SUPPORTED: not a device of this
 * adapter.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_clock_cap_nic_free_running_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t
doca_clock_cap_nic_real_time_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t
doca_clock_cap_nic_dpa_timer_is_supported(const struct doca_devinfo *devinfo);

/*
 * Create a clock on a device, which cannot be closed before doca_clock_destroy().
 * INVALID_VALUE: NULL; NOT_SUPPORTED: not a device of this adapter; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_clock_create(const struct doca_dev *dev,
						 struct doca_clock **clock);

/* Destroy a clock. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_clock_destroy(struct doca_clock *clock);

/*
 * Read one clock.
 * @clock_type: one DOCA_CLOCK_...
 * INVALID_VALUE: NULL; NOT_SUPPORTED: no such clock, or a counter that this CPU does not have;
 * DRIVER: the adapter's cannot be read.
 */
DOCA_EXPERIMENTAL doca_error_t doca_clock_get_timestamp(const struct doca_clock *clock,
							uint64_t clock_type,
							union doca_clock_timespec_t *clock_ts);

/*
 * Read two clocks for one moment.
 * @primary_clock_type: any
 * @nic_clock_type: a clock of the adapter
 * @error_margin_nsecs: by how much the first reading may be off, to either side, in its own unit:
 * nanoseconds, or cycles of the counter; 0: not at all
 * INVALID_VALUE: NULL; NOT_SUPPORTED: no such clock; DRIVER: the adapter's cannot be read.
 */
DOCA_EXPERIMENTAL doca_error_t doca_clock_get_crosstimestamp(
	const struct doca_clock *clock, uint64_t primary_clock_type, uint64_t nic_clock_type,
	union doca_clock_timespec_t *primary_clock_ts, union doca_clock_timespec_t *nic_clock_ts,
	uint64_t *error_margin_nsecs);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_CLOCK_H_ */
