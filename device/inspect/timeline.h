/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * timeline.h - passes the timeline of this process (trace/trace.h) to a tool that asks for it
 * (dpactl trace). The tool names its listener in a request on the board, or in the setting
 * `timeline`. The process connects and sends struct dpa_trace_hello with the memfd of its rings.
 * Either end closes the connection when it is done.
 */
#ifndef DPA_TIMELINE_H
#define DPA_TIMELINE_H

#include <stdbool.h>

struct dpa_hw;
struct dpa_timeline;

/*
 * Begin what the settings ask for. A timeline that cannot be recorded is logged, and is no error.
 * Returns 0 or ENOMEM.
 */
int dpa_timeline_new(struct dpa_hw *hw, struct dpa_timeline **t);
/* NULL is allowed. No other thread uses it. */
void dpa_timeline_free(struct dpa_timeline *t);
/* In a forked child: the timeline is off, the descriptors are closed. NULL is allowed. */
void dpa_timeline_abandon(struct dpa_timeline *t);
/*
 * Follow a request on the board, check that the tool still runs, update the counters. Cheap. Any
 * thread; it may block briefly.
 */
void dpa_timeline_tick(struct dpa_timeline *t);
/* True while it is recorded, or a request is not followed. Any thread. */
bool dpa_timeline_wants_ticks(const struct dpa_timeline *t);

#endif
