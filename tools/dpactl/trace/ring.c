/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ring.c - the reader's side of device/trace/layout.h. */
#include <string.h>
#include "ring.h"

static void copy_event(struct dpa_trace_event_shm *from, struct trace_event *to)
{
	uint64_t w[4];

	for (int i = 0; i < 4; i++) /* before the second reading of head */
		w[i] = atomic_load_explicit(&from->w[i], memory_order_acquire);
	*to = (struct trace_event){.at = w[0],
				   .kind = (uint8_t)w[1],
				   .code = (uint8_t)(w[1] >> 8),
				   .extra = (uint16_t)(w[1] >> 16),
				   .object = (uint32_t)(w[1] >> 32),
				   .x = (uint32_t)w[2],
				   .y = (uint32_t)(w[2] >> 32),
				   .z = w[3]};
}

/* The oldest event that cannot be in the middle of being overwritten. */
static uint64_t oldest_whole(uint64_t head)
{
	return head < DPA_TRACE_EVENTS ? 0 : head - DPA_TRACE_EVENTS + 1;
}

uint64_t trace_ring_oldest(struct dpa_trace_ring *r)
{
	return oldest_whole(atomic_load_explicit(&r->head, memory_order_acquire));
}

uint32_t trace_ring_read(struct dpa_trace_ring *r, uint64_t *tail, struct trace_event *to,
			 uint32_t max, uint64_t *lost)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire), from = *tail;
	uint64_t oldest = oldest_whole(head), n;

	if (from > head)
		from = *tail = oldest; /* the ring of a writer that broke the rules */
	if (from < oldest) {
		*lost += oldest - from;
		from = oldest;
	}
	n = head - from < max ? head - from : max;
	for (uint64_t i = 0; i < n; i++)
		copy_event(&r->event[(from + i) % DPA_TRACE_EVENTS], &to[i]);
	oldest = oldest_whole(atomic_load_explicit(&r->head, memory_order_relaxed));
	*tail = from + n;
	if (oldest <= from)
		return (uint32_t)n;
	oldest = oldest - from < n ? oldest - from : n; /* overwritten meanwhile */
	*lost += oldest;
	memmove(to, to + oldest, (n - oldest) * sizeof(*to));
	return (uint32_t)(n - oldest);
}
