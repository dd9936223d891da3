/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * get.c - reads bytes from memory that cannot be addressed, ahead of the packets that carry
 * them.
 * The segments of successive messages, the oldest first, are e[tail, head). They stay until their
 * message is complete, because it may be sent again, or until the room is needed.
 */
#include <string.h>
#include "foreign/foreign.h"

static struct dpa_get *get_of(const struct dpa_gets *g, uint32_t n)
{
	return (struct dpa_get *)&g->e[n & (DPA_FOREIGN_GETS - 1)];
}

static struct dpa_part *part_of_gets(struct dpa_gets *g, uint32_t n)
{
	return &g->part[n & (DPA_FOREIGN_PARTS - 1)];
}

const struct dpa_get *dpa_gets_find(const struct dpa_gets *g, uint32_t idx, uint32_t off)
{
	for (uint32_t n = g->tail; n != g->head; n++) {
		const struct dpa_get *e = get_of(g, n);

		if (e->idx == idx && off >= e->off && off - e->off < e->len)
			return e;
	}
	return NULL;
}

static uint32_t parts_used(const struct dpa_gets *g)
{
	return g->head == g->tail ? 0 : g->phead - get_of(g, g->tail)->first;
}

bool dpa_gets_crowded(const struct dpa_gets *g)
{
	return g->head - g->tail > DPA_FOREIGN_GETS / 2 || parts_used(g) > DPA_FOREIGN_PARTS / 2 ||
	       g->w.head - g->w.tail > DPA_FOREIGN_WINDOW / 2;
}

struct dpa_get *dpa_gets_add(struct dpa_gets *g, uint32_t idx, uint32_t off, uint32_t len)
{
	struct dpa_get *e;
	uint8_t *host;

	if (g->head - g->tail == DPA_FOREIGN_GETS ||
	    parts_used(g) + DPA_MAX_SGE > DPA_FOREIGN_PARTS)
		return NULL;
	host = dpa_window_take(&g->w, len);
	if (!host)
		return NULL;
	e = get_of(g, g->head++);
	*e = (struct dpa_get){.idx = idx,
			      .off = off,
			      .len = len,
			      .host = host,
			      .end = g->w.head,
			      .first = g->phead,
			      .state = DPA_GET_QUEUED};
	return e;
}

void dpa_gets_part(struct dpa_gets *g, struct dpa_get *e, struct dpa_foreign *f, uint64_t addr,
		   uint8_t *host, uint32_t len)
{
	*part_of_gets(g, g->phead++) =
		(struct dpa_part){.f = f, .addr = addr, .host = host, .len = len};
	e->nparts++;
	atomic_fetch_add_explicit(&f->busy, 1, memory_order_relaxed);
}

static void parts_done(struct dpa_gets *g, const struct dpa_get *e)
{
	for (uint32_t i = 0; i < e->nparts; i++)
		atomic_fetch_sub_explicit(&part_of_gets(g, e->first + i)->f->busy, 1,
					  memory_order_release);
}

/* The memory of the last one cannot be read: remove it. */
void dpa_gets_undo(struct dpa_gets *g)
{
	const struct dpa_get *e = get_of(g, --g->head);

	parts_done(g, e);
	g->phead = e->first;
	g->w.head = g->head == g->tail ? g->w.tail : get_of(g, g->head - 1)->end;
}

static bool is_done(const struct dpa_get *e)
{
	return e->state == DPA_GET_READY || e->state == DPA_GET_FAILED;
}

void dpa_gets_drop(struct dpa_gets *g, uint32_t idx, uint32_t off)
{
	for (; g->tail != g->head; g->tail++) {
		const struct dpa_get *e = get_of(g, g->tail);
		const int32_t before = (int32_t)(e->idx - idx);

		if (!is_done(e) || before > 0 || (!before && e->off + e->len > off))
			return;
		g->w.tail = e->end;
	}
}

bool dpa_gets_pending(const struct dpa_gets *g)
{
	for (uint32_t n = g->tail; n != g->head; n++)
		if (!is_done(get_of(g, n)))
			return true;
	return false;
}

bool dpa_gets_restart(struct dpa_gets *g, uint32_t idx, uint32_t off)
{
	if (dpa_gets_pending(g))
		return false;
	g->tail = g->head;
	g->w.tail = g->w.head;
	g->idx = idx;
	g->off = off;
	return true;
}

bool dpa_gets_copy(const struct dpa_gets *g, uint32_t idx, uint32_t off, uint32_t n, uint8_t *to)
{
	const struct dpa_get *e;
	uint32_t k;

	for (; n; off += k, to += k, n -= k) {
		e = dpa_gets_find(g, idx, off);
		if (!e || e->state != DPA_GET_READY)
			return false;
		k = e->len - (off - e->off) < n ? e->len - (off - e->off) : n;
		memcpy(to, e->host + (off - e->off), k);
	}
	return true;
}

/* ------------------------------------------------------------------ dpa-foreign */

static uint32_t begin_gets(struct dpa_gets *g, struct dpa_fwork *w, uint32_t most, bool response)
{
	uint32_t k = 0;

	for (uint32_t n = g->tail; n != g->head; n++) {
		struct dpa_get *e = get_of(g, n);

		if (e->state != DPA_GET_QUEUED)
			continue;
		if (k + e->nparts > most)
			break;
		e->state = DPA_GET_COPYING;
		for (uint32_t i = 0; i < e->nparts; i++) {
			const struct dpa_part *p = part_of_gets(g, e->first + i);

			w[k++] = (struct dpa_fwork){
				.c = {.foreign = p->addr, .host = p->host, .length = p->len},
				.f = p->f,
				.n = n,
				.get = true,
				.response = response};
		}
	}
	return k;
}

uint32_t dpa_gets_begin(struct dpa_fqp *fq, struct dpa_fwork *w, uint32_t most)
{
	uint32_t k = begin_gets(&fq->response, w, most, true);

	return k + begin_gets(&fq->source, w + k, most - k, false);
}

static bool is_left(const struct dpa_gets *g)
{
	for (uint32_t n = g->tail; n != g->head; n++)
		if (get_of(g, n)->state == DPA_GET_QUEUED)
			return true;
	return false;
}

bool dpa_gets_left(const struct dpa_fqp *fq)
{
	return is_left(&fq->source) || is_left(&fq->response);
}

static void end_gets(struct dpa_gets *g)
{
	for (uint32_t n = g->tail; n != g->head; n++) {
		struct dpa_get *e = get_of(g, n);

		if (e->state != DPA_GET_COPYING)
			continue;
		e->state = DPA_GET_READY;
		parts_done(g, e);
	}
}

void dpa_gets_end(struct dpa_fqp *fq, const struct dpa_fwork *w, uint32_t n, const uint64_t *bad)
{
	end_gets(&fq->response);
	end_gets(&fq->source);
	for (uint32_t i = 0; i < n; i++)
		if (bad[i / 64] >> i % 64 & 1)
			get_of(w[i].response ? &fq->response : &fq->source, w[i].n)->state =
				DPA_GET_FAILED;
}
