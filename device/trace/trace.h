/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * trace.h - switches the timeline of this process on and off. include/dpa_hw_trace.h has its points.
 *
 * The memory is made when the timeline is first switched on and stays until the process ends: a
 * thread may be in the middle of an event when another switches it off. fork() does not pass it on.
 * One thread at a time calls these functions, except dpa_trace_child().
 */
#ifndef DPA_TRACE_H
#define DPA_TRACE_H

#include <dpa_hw_trace.h>
#include "trace/layout.h"

/*
 * OFF: nothing is recorded. SOME: a thread with many events records them for a sixteenth of the time
 * only, in the same windows of the clock in all processes of the host; for threads with few events
 * it is ALL. ALL: every event.
 */
enum dpa_trace_mode { DPA_TRACE_OFF, DPA_TRACE_SOME, DPA_TRACE_ALL };

/*
 * Make the memory if there is none. Returns 0 or an errno: ENOMEM; EMFILE, ENFILE: no descriptor;
 * EFBIG: RLIMIT_FSIZE is too small.
 */
int dpa_trace_prepare(void);
/*
 * Return the memfd of the memory; it stays the timeline's. -1: there is no memory, or the program
 * has closed the descriptor.
 */
int dpa_trace_fd(void);
/* Events before now were read, for rings whose reader begins now. */
void dpa_trace_forget(void);
/* Switch. Not OFF only after dpa_trace_prepare(). reader: count events that are overwritten. */
void dpa_trace_set(enum dpa_trace_mode mode, bool reader);
/* Switch the meters (meter/meter.h). Any thread, also beside the other functions. */
void dpa_meters_set(bool on);
/* Events that were lost and skipped so far, by all threads. */
struct dpa_trace_sums {
	uint64_t lost, skipped;
};
struct dpa_trace_sums dpa_trace_sums(void);
enum dpa_trace_clock dpa_trace_clock(void);
/* In a forked child: off, and without the parent's memory. */
void dpa_trace_child(void);

#endif
