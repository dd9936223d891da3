/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* points.h - points of the timeline in libdpa. Off, one costs two loads and a predicted branch. */
#ifndef DPA_RUN_POINTS_H
#define DPA_RUN_POINTS_H

#include <stdbool.h>
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

static inline void dpa_point_put(const struct dpa_trace_ops *t, uint64_t at, uint64_t ticks,
				 enum dpa_trace_run kind, enum dpa_trace_run_end end, int eu,
				 uint32_t rank, const char *name)
{
	const bool is_long = ticks > UINT32_MAX;
	uint64_t text = 0;

	memcpy(&text, name, strnlen(name, sizeof(text)));
	if (is_long)
		ticks = ticks >> 48 ? UINT32_MAX : ticks >> 16;
	t->put(at, dpa_trace_words(DPA_TRACE_DPA,
				   (uint16_t)((uint32_t)end | (is_long ? DPA_TRACE_LONG : 0)),
				   (uint8_t)kind, (uint32_t)eu, rank, (uint32_t)ticks, text));
}

/* A begin whose end may be skipped would look as if the code never ended. */
static inline bool dpa_point_has_end(const struct dpa_trace_ops *t)
{
	return atomic_load_explicit(t->gate, memory_order_relaxed) & DPA_TRACE_EVERY;
}

/*
 * Record that code begins to run on an EU, or (DPA_TRACE_LAUNCH) that it was launched. Returns the
 * time; 0: it is not recorded. Call it outside of the code's context: a kill must not interrupt it.
 */
static inline uint64_t dpa_point_begin(enum dpa_trace_run kind, int eu, uint32_t rank,
				       const char *name)
{
	const struct dpa_trace_ops *t = dpa_points_on();
	const uint64_t now = t ? t->now() : 0;

	if (now && kind == DPA_TRACE_LAUNCH)
		dpa_point_put(t, now, 0, kind, DPA_TRACE_RETURNED, eu, rank, name);
	else if (now && dpa_point_has_end(t))
		dpa_point_put(t, now, 0, kind, DPA_TRACE_BEGAN, eu, rank, name);
	return now;
}

/* Record that the code of dpa_point_begin(), which returned `began`, has ended. Context: as there. */
static inline void dpa_point_end(uint64_t began, enum dpa_trace_run kind,
				 enum dpa_trace_run_end end, int eu, uint32_t rank,
				 const char *name)
{
	const struct dpa_trace_ops *t = dpa_points_on();
	const uint64_t now = t ? t->now() : 0; /* the thread may have lost its ring since */

	if (now)
		dpa_point_put(t, began, now - began, kind, end, eu, rank, name);
}

#endif
