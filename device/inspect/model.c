/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* model.c - frames in the queues of a modelled network, in the order in which they arrive. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "inspect/hop.h"
#include "inspect/model.h"
#include "pcc/pcc.h"
#include "wire/opcode.h"

#define ETHERNET (8u + 14u + 4u + 12u) /* preamble, header, FCS, gap */
#define IP_UDP4	 (20u + 8u)
#define IP_UDP6	 (40u + 8u)

#define POOL_BYTES (DPA_MODEL_FRAMES * sizeof(struct dpa_held))
#define HEAP_BYTES (DPA_MODEL_FRAMES * sizeof(struct dpa_held *))

static bool is_v4(const uint8_t gid[16])
{
	return !memcmp(gid, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
}

uint32_t dpa_model_bytes(const struct dpa_frame *f)
{
	return f->n + ETHERNET + (is_v4(f->net.dst) ? IP_UDP4 : IP_UDP6);
}

/* ------------------------------------------------------------------- the heap */

static bool is_due_before(const struct dpa_held *a, const struct dpa_held *b)
{
	return a->due != b->due ? a->due < b->due : a->nth < b->nth;
}

static void heap_push(struct dpa_model *m, struct dpa_held *h)
{
	uint32_t i = m->held++;

	for (; i && is_due_before(h, m->heap[(i - 1) / 2]); i = (i - 1) / 2)
		m->heap[i] = m->heap[(i - 1) / 2];
	m->heap[i] = h;
}

static struct dpa_held *heap_pop(struct dpa_model *m)
{
	struct dpa_held *top = m->heap[0], *last = m->heap[--m->held];
	uint32_t i = 0, k;

	while ((k = 2 * i + 1) < m->held) {
		if (k + 1 < m->held && is_due_before(m->heap[k + 1], m->heap[k]))
			k++;
		if (!is_due_before(m->heap[k], last))
			break;
		m->heap[i] = m->heap[k];
		i = k;
	}
	m->heap[i] = last;
	return top;
}

/* -------------------------------------------------------------------- memory */

static int make_frame_pool(struct dpa_model *m)
{
	void *p;

	if (m->pool)
		return 0;
	/* memory is allocated at first touch, and stays */
	p = mmap(NULL, POOL_BYTES + HEAP_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return ENOMEM;
	m->pool = p;
	m->heap = (struct dpa_held **)((uint8_t *)p + POOL_BYTES);
	return 0;
}

/* The held frames keep their order and become the oldest. */
static void make_all_due(struct dpa_model *m)
{
	struct dpa_held *list = dpa_model_due(m, UINT64_MAX);

	while (list) {
		struct dpa_held *h = list;

		list = h->next;
		h->due = 0;
		h->nth = m->next++;
		m->out--;
		heap_push(m, h);
	}
	m->late = m->held || m->out;
}

int dpa_model_set(struct dpa_model *m, const struct dpa_link_spec *spec)
{
	int ret = spec->n ? make_frame_pool(m) : 0;

	make_all_due(m);
	memset(m->q, 0, sizeof(m->q));
	memset(m->sent, 0, sizeof(m->sent));
	m->spec = *spec;
	if (ret)
		memset(&m->spec, 0, sizeof(m->spec));
	return ret;
}

void dpa_model_free(struct dpa_model *m)
{
	if (m->pool)
		munmap(m->pool, POOL_BYTES + HEAP_BYTES);
	memset(m, 0, sizeof(*m));
}

static struct dpa_held *take_free_held(struct dpa_model *m)
{
	struct dpa_held *h = m->free;

	if (h)
		m->free = h->next;
	else if (m->fresh < DPA_MODEL_FRAMES)
		h = &m->pool[m->fresh++];
	return h;
}

void dpa_model_done(struct dpa_model *m, struct dpa_held *list)
{
	while (list) {
		struct dpa_held *next = list->next;

		list->next = m->free;
		m->free = list;
		m->out--;
		list = next;
	}
	m->late = m->late && (m->out || (m->held && !m->heap[0]->due));
}

/* -------------------------------------------------------------------- frames */

/* Returns the rule for packets from this address; DPA_LINK_RULES: none. */
static uint32_t find_rule(const struct dpa_model *m, const uint8_t src[16])
{
	for (uint32_t i = 0; i < m->spec.n; i++)
		if (!m->spec.rule[i].has_peer || !memcmp(m->spec.rule[i].peer, src, 16))
			return i;
	return DPA_LINK_RULES;
}

static unsigned flags_of(const struct dpa_frame *f)
{
	if (f->n && (f->p[0] == DPA_BTH_CNP || f->p[0] == DPA_BTH_PROBED))
		return DPA_LINKQ_URGENT;
	return f->net.tclass & DPA_ECN_MASK ? DPA_LINKQ_ECT : 0;
}

static void hold_frame(struct dpa_model *m, struct dpa_held *h, const struct dpa_shown *s,
		       const struct dpa_linkq_act *a)
{
	h->s = *s;
	h->s.f.p = h->room + DPA_FRAME_ROOM;
	memcpy(h->room + DPA_FRAME_ROOM, s->f.p, s->f.n);
	if (a->marked)
		h->s.f.net.tclass |= DPA_ECN_CE;
	h->due = a->due;
	h->nth = m->next++;
	heap_push(m, h);
}

/* The data of the switch whose queue it passed, for a probe that asks for it. */
static void add_hop(struct dpa_model *m, struct dpa_held *h, uint32_t rule, uint64_t now,
		    const struct dpa_linkq_act *a)
{
	struct dpa_ifa_hop hop = {
		.device = 1,
		.port = (uint16_t)rule,
		.came = now,
		.left = a->due - m->spec.rule[rule].delay,
		.queued = a->queued < UINT32_MAX ? (uint32_t)a->queued : UINT32_MAX,
		.sent = m->sent[rule],
	};

	if (h->s.f.n + DPA_IFA_HOP <= DPA_FRAME_BYTES)
		dpa_hop_add(&h->s.f, &hop);
}

/* No rule applies to it, but earlier frames are held: it waits behind them. */
static enum dpa_model_fate take_behind(struct dpa_model *m, const struct dpa_shown *s,
				       struct dpa_linkq_act *a)
{
	struct dpa_held *h = take_free_held(m);

	if (!h)
		return DPA_MODEL_FREE;
	*a = (struct dpa_linkq_act){0};
	hold_frame(m, h, s, a);
	return DPA_MODEL_HELD;
}

enum dpa_model_fate dpa_model_take(struct dpa_model *m, uint64_t now, const struct dpa_shown *s,
				   struct dpa_linkq_act *a)
{
	uint32_t i = find_rule(m, s->f.net.src);
	struct dpa_held *h;

	if (s->f.n > DPA_FRAME_BYTES)
		return DPA_MODEL_FREE;
	if (i == DPA_LINK_RULES)
		return m->late ? take_behind(m, s, a) : DPA_MODEL_FREE;
	h = take_free_held(m);
	if (!h)
		return DPA_MODEL_NO_ROOM;
	dpa_linkq_arrive(&m->q[i], &m->spec.rule[i], m->spec.seed + i, now, dpa_model_bytes(&s->f),
			 flags_of(&s->f), a);
	if (!a->dropped) {
		hold_frame(m, h, s, a);
		m->sent[i] += dpa_model_bytes(&s->f);
		if (s->f.n && s->f.p[0] == DPA_BTH_PROBE)
			add_hop(m, h, i, now, a);
		return DPA_MODEL_HELD;
	}
	h->next = m->free;
	m->free = h;
	return DPA_MODEL_DROPPED;
}

uint64_t dpa_model_next(const struct dpa_model *m)
{
	return m->held ? m->heap[0]->due : UINT64_MAX;
}

struct dpa_held *dpa_model_due(struct dpa_model *m, uint64_t now)
{
	struct dpa_held *first = NULL, **end = &first;

	while (m->held && m->heap[0]->due <= now) {
		*end = heap_pop(m);
		end = &(*end)->next;
		m->out++;
	}
	*end = NULL;
	return first;
}

struct dpa_held *dpa_model_of(struct dpa_model *m, const void *arg)
{
	struct dpa_held *all = dpa_model_due(m, UINT64_MAX), *first = NULL, **end = &first;

	while (all) {
		struct dpa_held *h = all;

		all = h->next;
		if (h->s.at == DPA_AT_SHM && h->s.arg == arg) {
			*end = h;
			end = &h->next;
		} else {
			m->out--;
			heap_push(m, h);
		}
	}
	*end = NULL;
	return first;
}
