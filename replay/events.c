/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* events.c - moves time and packets of a flow, and records what the device does. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "priv.h"

#define MOST_EVENTS 500000u /* some 250 MB if they are of one flow */
#define MOST_STEPS  100000u /* timers between two packets */
#define END_STEPS   1000u   /* timers behind the last one, */
#define END_NS	    UINT64_C(60000000000)

struct dpa_replay_event *rp_event(struct rp *rp, enum dpa_replay_what what)
{
	const uint64_t most = rp->o->most_events ? rp->o->most_events : MOST_EVENTS;
	struct dpa_replay_event *e = rp->ev;

	if (what != DPA_REPLAY_NOTE && (rp->full || rp->total >= most)) {
		rp->full = true;
		return NULL;
	}
	if (rp->nev == rp->rev) {
		rp->rev = rp->rev ? 2 * rp->rev : 256;
		e = realloc(rp->ev, rp->rev * sizeof(*e));
		rp->full = !e;
		if (!e)
			return NULL;
		rp->ev = e;
	}
	rp->total++;
	e = memset(&rp->ev[rp->nev++], 0, sizeof(*e));
	e->what = what;
	e->ns = rp->alone.now - ALONE_START;
	return e;
}

static void add_note(struct rp *rp, const char *fmt, va_list ap)
{
	struct dpa_replay_event *e = rp_event(rp, DPA_REPLAY_NOTE);

	if (e)
		vsnprintf(e->text, sizeof(e->text), fmt, ap);
}

void rp_note(struct rp *rp, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_note(rp, fmt, ap);
	va_end(ap);
}

void rp_early(struct rp *rp, const char *fmt, ...)
{
	va_list ap;

	rp->sum.early++;
	va_start(ap, fmt);
	add_note(rp, fmt, ap);
	va_end(ap);
}

void rp_state(const struct rp *rp, struct dpa_replay_state *s)
{
	const struct dpa_hw_qp *qp = rp->alone.qp;

	memset(s, 0, sizeof(*s)); /* step_timer() compares the bytes */
	s->state = qp->state;
	s->epsn = qp->resp.epsn;
	s->msn = qp->resp.msn;
	s->queued = qp->ooo.n;
	s->nak = qp->resp.nak_sent;
	s->una = dpa_psn_add(qp->req.una_psn, qp->req.read_off / qp->mtu);
	s->next = qp->req.send_psn;
	s->max = qp->req.max_psn;
	s->retry = qp->req.retry_left;
	s->rnr = qp->req.rnr_left;
	s->recovery = qp->req.recovery;
	s->probing = qp->req.probing;
	s->waits = qp->slow.wait_timer;
}

/* Counters that say nothing beyond the packet itself. */
static bool is_plain(enum dpa_counter c)
{
	return c <= DPA_CNT_rx_atomic_requests || c == DPA_CNT_doorbells ||
	       c == DPA_CNT_blueflames || c == DPA_CNT_wakeups_sent || c == DPA_CNT_eu_wakeups;
}

void rp_count_begin(const struct rp *rp, uint64_t was[DPA_CNT_NUM])
{
	for (uint32_t c = 0; c < DPA_CNT_NUM; c++)
		was[c] = atomic_load(&rp->alone.counters[c]);
}

static const char *const counter_names[DPA_CNT_NUM] = {
#define X(n) #n,
	DPA_COUNTERS(X)
#undef X
};

void rp_count_end(const struct rp *rp, const uint64_t was[DPA_CNT_NUM], struct dpa_replay_event *e)
{
	for (uint32_t c = 0; c < DPA_CNT_NUM; c++) {
		const uint64_t n = atomic_load(&rp->alone.counters[c]) - was[c];

		if (!n || is_plain(c) || e->ncounts == DPA_REPLAY_COUNTS)
			continue;
		e->count[e->ncounts].name = counter_names[c];
		e->count[e->ncounts++].n = n;
	}
}

static void add_completions(struct rp *rp, struct alone_cq *cq, bool send)
{
	struct dpa_cqe c;

	while (alone_poll(cq, &c)) {
		struct dpa_replay_event *e;

		if (!send && c.status == DPA_CQE_WR_FLUSH_ERR)
			continue; /* a receive of the replay's, which no message took */
		e = rp_event(rp, DPA_REPLAY_COMPLETED);
		if (!e)
			continue;
		e->wc.opcode = c.opcode;
		e->wc.status = c.status;
		e->wc.send = send;
		e->wc.wr_id = c.wr_id;
		e->wc.len = c.byte_len;
		e->vendor_err = c.vendor_err;
	}
}

void rp_completions(struct rp *rp)
{
	add_completions(rp, &rp->alone.scq, true);
	add_completions(rp, &rp->alone.rcq, false);
}

/* ------------------------------------------------------------------- time */

/* One timer. An event remains if the device did something. */
static void step_timer(struct rp *rp, uint64_t when)
{
	uint64_t was[DPA_CNT_NUM];
	struct dpa_replay_state before, after;
	const size_t at = rp->nev;
	struct dpa_replay_event *e;

	rp_state(rp, &before);
	rp_count_begin(rp, was);
	if (when > rp->alone.now)
		rp->alone.now = when;
	if (!rp_event(rp, DPA_REPLAY_TIMER))
		return;
	alone_step(&rp->alone, when);
	rp_completions(rp);
	rp_state(rp, &after);
	e = &rp->ev[at];
	e->was = before;
	e->is = after;
	rp_count_end(rp, was, e);
	if (rp->nev == at + 1 && !e->ncounts && !memcmp(&before, &after, sizeof(before))) {
		rp->nev--;
		rp->total--;
	}
}

static bool steps_until(struct rp *rp, uint64_t when, uint32_t most)
{
	uint64_t next;

	while (!rp_stopped(rp) && (next = alone_next(&rp->alone)) <= when && next != UINT64_MAX) {
		if (!most--)
			return false;
		step_timer(rp, next);
	}
	return true;
}

void rp_until(struct rp *rp, uint64_t ns)
{
	if (!steps_until(rp, ALONE_START + ns, MOST_STEPS))
		rp_early(rp, "not replayed: more than %u timers until the next packet", MOST_STEPS);
	if (ALONE_START + ns > rp->alone.now)
		rp->alone.now = ALONE_START + ns;
}

void rp_finish(struct rp *rp)
{
	steps_until(rp, rp->alone.now + END_NS, END_STEPS);
	if (rp->full)
		rp_early(rp, "ended: too many events");
}

/* ---------------------------------------------------------------- packets */

void rp_sent(void *arg, const struct dpa_frame *f)
{
	struct rp *rp = arg;
	struct dpa_replay_event *e = rp_event(rp, DPA_REPLAY_OUT);

	if (!e)
		return;
	dpa_roce_decode(f->p, f->n, &e->pkt);
	e->pkt.payload = NULL;
	if (!rp_is_request(&e->pkt))
		return;
	e->again = rp->sent_any && dpa_psn_diff(e->pkt.psn, rp->max_psn) < 0;
	if (!e->again)
		rp->max_psn = dpa_psn_add(e->pkt.psn, 1);
	rp->sent_any = true;
}

/*
 * A SEND with invalidate names a window of the captured program, which is not here: it becomes a
 * plain SEND.
 */
static void without_key(struct dpa_roce_pkt *k)
{
	const uint8_t op = k->opcode & 0x1f, tr = k->opcode & DPA_BTH_TRANSPORT;

	if (op == DPA_BTH_SEND_LAST_INV)
		k->opcode = tr | DPA_BTH_SEND_LAST;
	else if (op == DPA_BTH_SEND_ONLY_INV)
		k->opcode = tr | DPA_BTH_SEND_ONLY;
}

/* The bytes for the device: with its own key; returns their number. */
static uint32_t adapt_packet(const struct rp *rp, const struct rp_pkt *p, uint8_t *to)
{
	const uint32_t ext = dpa_roce_ext_of(p->k.opcode);
	struct dpa_roce_pkt k = p->k;
	uint32_t n;

	if (p->verdict == DPA_ROCE_OK && p->icrc &&
	    (p->cut || ext & (DPA_ROCE_RETH | DPA_ROCE_ATOMICETH | DPA_ROCE_IETH))) {
		k.rkey = rp_key(rp, k.rkey, k.va);
		without_key(&k);
		n = dpa_roce_encode_all(&p->net, &k, to, RP_PACKET);
		if (n)
			return n;
	}
	memcpy(to, p->p, p->n);
	return p->n;
}

void rp_give(struct rp *rp, const struct rp_pkt *p)
{
	uint8_t *room = calloc(1, RP_ROOM + RP_PACKET);
	struct dpa_frame f = {.net = p->net, .ip_known = true, .sure = true};

	if (!room) {
		rp->full = true;
		return;
	}
	f.n = adapt_packet(rp, p, room + RP_ROOM);
	f.p = room + RP_ROOM;
	alone_arrives(&rp->alone, &f);
	free(room);
}
