/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How soon the kernel runs a thread of the device's that wakes. */
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "eu/service.h"

#define SLICE_NS 100000ull /* the kernel's least */

/* struct sched_attr of <linux/sched/types.h>, as the first kernels had it */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/*
 * From Linux 6.12 on a thread says how long it runs at a time, and one that runs shorter is let in
 * sooner: before, an EU that wakes beside an application that spins without calling us waited for
 * the end of that one's slice, milliseconds. Earlier kernels ignore it; where it is refused nothing
 * is lost.
 */
void dpa_run_soon(void)
{
	struct attr a = {.size = sizeof(a)};

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) ||
	    (a.policy && a.policy != SCHED_BATCH))
		return;
	a.flags = 0;
	a.runtime = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &a, 0);
}
