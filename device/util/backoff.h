/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * backoff.h - exponential back-off: an interval that begins at a minimum, doubles with each step up
 * to a maximum, and is reset. The unit is the user's: polls, batches, nanoseconds.
 *
 * All accesses are relaxed: threads that step one back-off at the same time may lose a step.
 */
#ifndef DPA_BACKOFF_H
#define DPA_BACKOFF_H

#include <stdatomic.h>
#include <stdint.h>

struct dpa_backoff {
	_Atomic uint32_t next; /* interval; 0: reset, as zeroed memory is */
};

static inline void dpa_backoff_reset(struct dpa_backoff *b)
{
	atomic_store_explicit(&b->next, 0, memory_order_relaxed);
}

/* The interval that the next step returns, at least `min`. */
static inline uint32_t dpa_backoff_next(const struct dpa_backoff *b, uint32_t min)
{
	uint32_t next = atomic_load_explicit(&b->next, memory_order_relaxed);

	return next < min ? min : next;
}

/*
 * One step: returns the interval, between `min` and `max`, and doubles it for the next step. The
 * limits may differ from step to step; min <= max.
 */
static inline uint32_t dpa_backoff_step(struct dpa_backoff *b, uint32_t min, uint32_t max)
{
	uint32_t now = dpa_backoff_next(b, min);

	now = now < max ? now : max;
	atomic_store_explicit(&b->next, now > max / 2 ? max : 2 * now, memory_order_relaxed);
	return now;
}

#endif
