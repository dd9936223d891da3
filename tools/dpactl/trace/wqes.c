/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wqes.c - the way of each WQE: see wqes.h. Events are put into lists, one for each kind and
 * object, in the order of time; then each completion looks up what belongs to it. All look-ups of a
 * list go forward, so that the whole takes time proportional to the number of events.
 */
#include <stdlib.h>
#include <dpa_hw.h>
#include "../dpactl.h"
#include "wqes.h"

#define PSN_MASK 0xffffffu
#define AHEAD	 256u /* events of a list that a look-up passes over */

const char *const wqe_stage_names[WQE_MOMENTS] = {
	[WQE_POST] = "post",
	[WQE_DOORBELL] = "write WQE",
	[WQE_PICKUP] = "pick up",
	[WQE_SENT] = "send",
	[WQE_ARRIVED] = "link",
	[WQE_PLACED] = "place",
	[WQE_RECV_CQE] = "receive CQE",
	[WQE_RECV_POLLED] = "poll receive",
	[WQE_ACKED] = "acknowledge",
	[WQE_CQE] = "CQE",
	[WQE_POLLED] = "poll",
};

enum class { POSTS, PICKUPS, TX_REQ, TX_RESP, RX_REQ, RX_RESP, SEND_CQES, RECV_CQES, POLLS };

struct list {
	uint64_t key;	      /* 0: free */
	uint32_t *i;	      /* events */
	uint32_t n, room, at; /* at: where look-ups begin */
};

struct finder {
	const struct store *s;
	struct list *list;
	uint32_t lists, used; /* lists: a power of 2 */
	uint32_t *rx_of;      /* for each event that is a TX: its RX */
};

/* ---------------------------------------------------------------------- lists */

static uint64_t list_key(uint32_t proc, enum class c, uint32_t number)
{
	return (uint64_t)(proc + 1) << 40 | (uint64_t)c << 32 | number;
}

static struct list *list_slot(const struct finder *f, uint64_t key)
{
	uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	while (f->list[at & (f->lists - 1)].key && f->list[at & (f->lists - 1)].key != key)
		at++;
	return &f->list[at & (f->lists - 1)];
}

static void grow_lists(struct finder *f)
{
	struct list *was = f->list;
	uint32_t n = f->lists;

	f->lists = n ? 2 * n : 256;
	f->list = need_memory(calloc(f->lists, sizeof(*f->list)));
	for (uint32_t i = 0; i < n; i++)
		if (was[i].key)
			*list_slot(f, was[i].key) = was[i];
	free(was);
}

static void add_event(struct finder *f, uint32_t proc, enum class c, uint32_t number,
		      uint32_t event)
{
	struct list *l;

	if (2 * f->used >= f->lists)
		grow_lists(f);
	l = list_slot(f, list_key(proc, c, number));
	f->used += !l->key;
	l->key = list_key(proc, c, number);
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		l->i = need_memory(realloc(l->i, l->room * sizeof(*l->i)));
	}
	l->i[l->n++] = event;
}

static struct list *find_events(const struct finder *f, uint32_t proc, enum class c,
				uint32_t number)
{
	struct list *l = list_slot(f, list_key(proc, c, number));

	return l->key ? l : NULL;
}

static const struct trace_rec *listed_rec(const struct finder *f, const struct list *l, uint32_t k)
{
	return &f->s->rec[l->i[k]];
}

/* Moves the begin of look-ups to the first event at that time or later. */
static void seek_list(const struct finder *f, struct list *l, uint64_t at)
{
	while (l->at < l->n && listed_rec(f, l, l->at)->e.at < at)
		l->at++;
}

/* Responses of READs and atomics, and acknowledgements: IBA table 38. */
static bool is_response_code(uint8_t opcode)
{
	return (opcode & 0x1f) >= 0x0d && (opcode & 0x1f) <= 0x12;
}

static void sort_in(struct finder *f, uint32_t i)
{
	const struct trace_rec *r = &f->s->rec[i];
	const struct trace_event *e = &r->e;

	switch (e->kind) {
	case DPA_TRACE_POST:
		add_event(f, r->proc, POSTS, e->object & 0xffff, i);
		break;
	case DPA_TRACE_PICKUP:
		add_event(f, r->proc, PICKUPS, e->object & 0xffff, i);
		break;
	case DPA_TRACE_TX:
		add_event(f, r->proc, is_response_code(e->code) ? TX_RESP : TX_REQ, e->extra, i);
		break;
	case DPA_TRACE_RX:
		add_event(f, r->proc, is_response_code(e->code) ? RX_RESP : RX_REQ,
			  e->object & 0xffff, i);
		break;
	case DPA_TRACE_CQE:
		add_event(f, r->proc, e->code & 128 ? RECV_CQES : SEND_CQES, e->y & 0xffff, i);
		break;
	case DPA_TRACE_POLL:
		add_event(f, r->proc, POLLS, e->object, i);
		break;
	default:
		break;
	}
}

/* -------------------------------------------------------------------- packets */

static int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* True if PSN psn is one of n from `first` on. */
static bool psn_in(uint32_t psn, uint32_t first, uint32_t n)
{
	const int32_t d = psn_diff(psn, first);

	return d >= 0 && (uint32_t)d < n;
}

/* The arrival of a packet at one process; WQE_NONE: not there. */
static uint32_t arrival_at(struct finder *f, uint32_t proc, const struct trace_event *tx)
{
	struct list *l = find_events(f, proc, is_response_code(tx->code) ? RX_RESP : RX_REQ,
				     tx->object & 0xffff);

	if (!l)
		return WQE_NONE;
	seek_list(f, l, tx->at);
	for (uint32_t k = l->at; k < l->n && k - l->at < AHEAD; k++) {
		const struct trace_event *e = &listed_rec(f, l, k)->e;

		if (e->object == tx->object && e->extra == tx->extra &&
		    psn_in(tx->x, e->x, (uint32_t)e->z))
			return l->i[k];
	}
	return WQE_NONE;
}

static void match_packets(struct finder *f, struct wqes *out)
{
	const struct store *s = f->s;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct trace_event *e = &s->rec[i].e;

		f->rx_of[i] = WQE_NONE;
		if (e->kind != DPA_TRACE_TX)
			continue;
		for (uint32_t p = 0; p < s->procs && f->rx_of[i] == WQE_NONE; p++)
			if (s->proc[p].board == e->object >> 16)
				f->rx_of[i] = arrival_at(f, p, e);
		out->p[out->np++] = (struct packet){.tx = i, .rx = f->rx_of[i]};
	}
	for (uint32_t i = 0; i < f->lists; i++)
		f->list[i].at = 0; /* for the look-ups of WQEs */
}

/* ----------------------------------------------------------------------- WQEs */

/* The event whose range of blocks, from x on, has this one; NULL: it is not recorded. */
static const struct trace_event *range_of(struct finder *f, struct list *l, uint32_t idx,
					  uint64_t before)
{
	while (l && l->at < l->n) {
		const struct trace_event *e = &listed_rec(f, l, l->at)->e;
		const uint32_t end =
			e->kind == DPA_TRACE_POST ? e->x + (uint32_t)(e->z >> 32) : e->y;

		if (e->at > before || (int32_t)(idx - e->x) < 0)
			return NULL;
		if ((int32_t)(idx - end) < 0)
			return e;
		l->at++;
	}
	return NULL;
}

static void find_post(struct finder *f, struct wqe *w, uint64_t done)
{
	const uint32_t number = w->qpn & 0xffff;
	const struct trace_event *e =
		range_of(f, find_events(f, w->proc, POSTS, number), w->idx, done);

	if (e) {
		w->at[WQE_POST] = e->at;
		w->at[WQE_DOORBELL] = e->at + e->y;
		w->blueflame = e->extra & DPA_TRACE_BLUEFLAME;
	}
	e = range_of(f, find_events(f, w->proc, PICKUPS, number), w->idx, done);
	if (e)
		w->at[WQE_PICKUP] = e->at;
}

static void find_packets(struct finder *f, struct wqe *w, uint64_t done)
{
	struct list *l = find_events(f, w->proc, TX_REQ, w->qpn & 0xffff);

	while (l && l->at < l->n && psn_diff(listed_rec(f, l, l->at)->e.x, w->psn) < 0)
		l->at++;
	for (uint32_t k = l ? l->at : 0; l && k < l->n && listed_rec(f, l, k)->e.at <= done; k++) {
		const struct trace_event *e = &listed_rec(f, l, k)->e;
		const struct trace_rec *rx;

		if (!psn_in(e->x, w->psn, w->npsn))
			break;
		w->at[WQE_SENT] = e->at;
		w->dest = e->object;
		if (f->rx_of[l->i[k]] == WQE_NONE)
			continue;
		rx = &f->s->rec[f->rx_of[l->i[k]]];
		w->peer = rx->proc;
		w->at[WQE_ARRIVED] = rx->e.at;
		w->at[WQE_PLACED] = rx->e.at + (rx->e.z >> 32);
	}
}

/* The response during whose processing the WQE was completed. */
static void find_ack(struct finder *f, struct wqe *w, const struct trace_rec *done)
{
	struct list *l = find_events(f, w->proc, RX_RESP, w->qpn & 0xffff);
	const struct trace_rec *r;

	while (l && l->at + 1 < l->n && listed_rec(f, l, l->at + 1)->e.at <= done->e.at)
		l->at++;
	if (!l)
		return;
	r = listed_rec(f, l, l->at);
	if (r->e.at <= done->e.at && r->tid == done->tid && r->e.at + (r->e.z >> 32) >= done->e.at)
		w->at[WQE_ACKED] = r->e.at;
}

static uint64_t polled_at(struct finder *f, uint32_t proc, const struct trace_event *cqe)
{
	struct list *l = find_events(f, proc, POLLS, cqe->object);

	if (!l)
		return 0;
	seek_list(f, l, cqe->at);
	for (uint32_t k = l->at; k < l->n && k - l->at < AHEAD; k++)
		if ((int32_t)(listed_rec(f, l, k)->e.x - cqe->x) > 0)
			return listed_rec(f, l, k)->e.at;
	return 0;
}

static void find_cqe(struct finder *f, struct wqe *w, uint64_t done)
{
	struct list *l = find_events(f, w->proc, SEND_CQES, w->qpn & 0xffff);

	if (!l)
		return;
	seek_list(f, l, done);
	for (uint32_t k = l->at; k < l->n && k - l->at < AHEAD; k++) {
		const struct trace_event *e = &listed_rec(f, l, k)->e;

		if ((uint32_t)e->z != w->idx)
			continue;
		w->at[WQE_CQE] = e->at;
		w->vendor = (uint32_t)(e->z >> 32);
		w->at[WQE_POLLED] = polled_at(f, w->proc, e);
		return;
	}
}

static bool takes_receive(uint8_t opcode)
{
	return opcode == DPA_OP_SEND || opcode == DPA_OP_SEND_IMM || opcode == DPA_OP_SEND_INV ||
	       opcode == DPA_OP_RDMA_WRITE_IMM;
}

/* Messages of a connection take receives in their order: the next CQE is this one's. */
static void find_receive(struct finder *f, struct wqe *w)
{
	struct list *l = find_events(f, w->peer, RECV_CQES, w->dest & 0xffff);

	if (!l)
		return;
	seek_list(f, l, w->at[WQE_ARRIVED]);
	if (l->at == l->n)
		return;
	w->at[WQE_RECV_CQE] = listed_rec(f, l, l->at)->e.at;
	if (w->at[WQE_PLACED] > w->at[WQE_RECV_CQE]) /* the CQE is written last */
		w->at[WQE_PLACED] = w->at[WQE_RECV_CQE];
	w->at[WQE_RECV_POLLED] = polled_at(f, w->peer, &listed_rec(f, l, l->at)->e);
	l->at++;
}

static void find_wqe(struct finder *f, const struct trace_rec *done, struct wqe *w)
{
	const struct trace_event *e = &done->e;

	*w = (struct wqe){.proc = done->proc,
			  .qpn = e->object,
			  .idx = e->x,
			  .psn = e->y & PSN_MASK,
			  .npsn = (uint32_t)e->z,
			  .len = (uint32_t)(e->z >> 32),
			  .opcode = e->code,
			  .status = (uint8_t)e->extra};
	w->direct = !w->npsn && !w->status;
	find_post(f, w, e->at);
	if (w->npsn)
		find_packets(f, w, e->at);
	if (w->npsn)
		find_ack(f, w, done);
	if (w->at[WQE_ARRIVED] && takes_receive(w->opcode))
		find_receive(f, w);
	/* the peer's view of the path is later than the initiator's */
	if (w->direct && !w->at[WQE_ACKED])
		w->at[WQE_PLACED] = e->at;
	find_cqe(f, w, e->at);
}

void wqes_find(const struct store *s, struct wqes *out)
{
	struct finder f = {.s = s};

	grow_lists(&f);
	for (uint32_t i = 0; i < s->n; i++)
		sort_in(&f, i);
	f.rx_of = need_memory(calloc(s->n + 1, sizeof(*f.rx_of)));
	out->w = need_memory(calloc(s->n + 1, sizeof(*out->w)));
	out->p = need_memory(calloc(s->n + 1, sizeof(*out->p)));
	out->n = out->np = 0;
	match_packets(&f, out);
	for (uint32_t i = 0; i < s->n; i++)
		if (s->rec[i].e.kind == DPA_TRACE_DONE)
			find_wqe(&f, &s->rec[i], &out->w[out->n++]);
	for (uint32_t i = 0; i < f.lists; i++)
		free(f.list[i].i);
	free(f.list);
	free(f.rx_of);
}

void wqes_free(struct wqes *w)
{
	free(w->w);
	free(w->p);
}
