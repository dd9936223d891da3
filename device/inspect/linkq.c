/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * linkq.c - the arithmetic of a bottleneck. Marking is RED on the current queue (no average), as in
 * switches for DCQCN (Zhu et al., SIGCOMM 2015, section 3.1). Up to ecn_min no packet is marked;
 * then the share grows to ecn_ppm at ecn_max; above ecn_max all are marked. A packet that is not
 * ECT is dropped with the same share (RFC 3168, section 5); not with PFC, which loses nothing.
 */
#include "util/draw.h"
#include "inspect/linkq.h"

#define BIT_NS UINT64_C(8000000000) /* bits of a byte * ns of a second */

enum { DRAW_MARK };

uint64_t dpa_linkq_time(const struct dpa_link_rule *r, uint64_t bytes)
{
	return r->rate ? bytes * BIT_NS / r->rate : 0;
}

uint64_t dpa_linkq_queued(const struct dpa_linkq *q, const struct dpa_link_rule *r, uint64_t now)
{
	uint64_t left = q->busy > now ? q->busy - now : 0;

	if (!r->rate || q->busy < now)
		return 0;
	/* by PFC: more than the counter holds */
	if (left > (UINT64_MAX - BIT_NS - q->part) / r->rate)
		return UINT64_MAX / BIT_NS;
	return (left * r->rate + q->part + BIT_NS - 1) / BIT_NS;
}

/* Appends n bytes to the bytes being sent. */
static void extend_busy(struct dpa_linkq *q, const struct dpa_link_rule *r, uint64_t now,
			uint32_t n)
{
	uint64_t parts;

	if (q->busy < now) {
		q->busy = now;
		q->part = 0;
	}
	parts = n * BIT_NS + q->part;
	q->busy += parts / r->rate;
	q->part = parts % r->rate;
}

/* Returns parts per million. A packet that waits in front of a full queue sees a full queue. */
static uint32_t mark_share(const struct dpa_link_rule *r, uint64_t queued)
{
	if (!r->ecn_max || queued <= r->ecn_min)
		return 0;
	if (queued > r->ecn_max)
		return 1000000;
	return (uint32_t)(r->ecn_ppm * (queued - r->ecn_min) / (r->ecn_max - r->ecn_min));
}

static bool is_hit(const struct dpa_linkq *q, const struct dpa_link_rule *r, uint64_t seed,
		   uint64_t queued)
{
	uint32_t share = mark_share(r, queued);

	return share && dpa_draw_below(dpa_draw(seed, q->index, DRAW_MARK), 1000000) < share;
}

void dpa_linkq_arrive(struct dpa_linkq *q, const struct dpa_link_rule *r, uint64_t seed,
		      uint64_t now, uint32_t n, unsigned flags, struct dpa_linkq_act *a)
{
	*a = (struct dpa_linkq_act){.due = now + r->delay};
	if (!r->rate)
		return;
	a->queued = dpa_linkq_queued(q, r, now);
	if (flags & DPA_LINKQ_URGENT) {
		extend_busy(q, r, now, n); /* the others wait for it */
		a->due += dpa_linkq_time(r, n);
		q->index++;
		return;
	}
	a->waited = a->queued + n > r->queue;
	a->dropped = a->waited && !r->pfc;
	if (!a->dropped && is_hit(q, r, seed, a->queued)) {
		a->marked = flags & DPA_LINKQ_ECT;
		a->dropped = !a->marked && !r->pfc;
	}
	q->index++;
	if (a->dropped) {
		a->waited = false;
		return;
	}
	extend_busy(q, r, now, n);
	a->due = q->busy + !!q->part + r->delay;
}
