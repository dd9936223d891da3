/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * perf.c - processor counters of the calling thread, where the machine and its administrator
 * provide them.
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "stat.h"

/* -1: not opened yet; -2: not available */
static __thread int leader __attribute__((tls_model("initial-exec"))) = -1;
static __thread int member __attribute__((tls_model("initial-exec"))) = -1;

static int open_perf_counter(uint64_t config, int group)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.read_format = PERF_FORMAT_GROUP,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

static void open_group(void)
{
	leader = open_perf_counter(PERF_COUNT_HW_CPU_CYCLES, -1);
	if (leader < 0) {
		leader = -2;
		return;
	}
	member = open_perf_counter(PERF_COUNT_HW_INSTRUCTIONS, leader);
	if (member < 0) {
		close(leader);
		leader = -2;
	}
}

uint32_t dpa_stat_counters(uint64_t *cycles, uint64_t *instructions)
{
	uint64_t v[3]; /* number of values, then the values */

	if (leader == -1)
		open_group();
	if (leader < 0 || read(leader, v, sizeof(v)) != (ssize_t)sizeof(v))
		return 0;
	*cycles = v[1];
	*instructions = v[2];
	return 1;
}

void dpa_stat_counters_close(void)
{
	if (leader >= 0) {
		close(member);
		close(leader);
	}
	leader = member = -1;
}
