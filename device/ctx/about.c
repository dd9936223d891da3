/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* about.c - a cheap clock for threads that read it repeatedly. */
#include "ctx/thread.h"

#define DPA_ABOUT_TICKS 2048u /* below a microsecond */

uint64_t dpa_now_about(void)
{
#ifdef __x86_64__
	struct dpa_thread *me = &dpa_me;
	uint64_t ticks = __builtin_ia32_rdtsc();

	/* The counter of another core may be behind: then the difference is large. */
	if (ticks - me->now_ticks < DPA_ABOUT_TICKS)
		return me->now;
	me->now_ticks = ticks;
	me->now = dpa_now_ns();
	return me->now;
#else
	return dpa_now_ns();
#endif
}
