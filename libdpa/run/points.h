/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* points.h - points of the timeline in libdpa. Off, one costs two loads and a predicted branch. */
#ifndef DPA_RUN_POINTS_H
#define DPA_RUN_POINTS_H

#include <string.h>
#include <dpa_hw_trace.h>

/*
 * Written (release) when the pool opens its device, before its threads exist; read (acquire) at
 * each point. NULL: no timeline.
 */
extern _Atomic(const struct dpa_trace_ops *) dpa_points;

/* The points, if a timeline is recorded now; else NULL. */
static inline const struct dpa_trace_ops *dpa_points_on(void)
{
	const struct dpa_trace_ops *t = atomic_load_explicit(&dpa_points, memory_order_acquire);

	if (!t ||
	    __builtin_expect(
		    !(atomic_load_explicit(t->gate, memory_order_relaxed) & ~DPA_TRACE_METERS), 1))
		return NULL;
	return t;
}

/* The time of an event that begins; 0: it is not recorded. Any thread. */
static inline uint64_t dpa_point_begin(void)
{
	const struct dpa_trace_ops *t = dpa_points_on();

	return t ? t->now() : 0;
}

/*
 * Record that code ran on an EU since `began`, or (DPA_TRACE_LAUNCH, began 0) that it was launched.
 * Call it outside of the code's context: a kill must not interrupt it.
 */
static inline void dpa_point_run(uint64_t began, enum dpa_trace_run kind,
				 enum dpa_trace_run_end end, int eu, uint32_t rank,
				 const char *name)
{
	const struct dpa_trace_ops *t = dpa_points_on();
	const uint64_t now = t ? t->now() : 0; /* the thread may have lost its ring since */
	uint64_t text = 0;

	if (!now)
		return;
	memcpy(&text, name, strnlen(name, sizeof(text)));
	t->put(began ? began : now,
	       dpa_trace_words(DPA_TRACE_DPA, (uint16_t)end, (uint8_t)kind, (uint32_t)eu, rank,
			       began ? t->since(began) : 0, text));
}

#endif
