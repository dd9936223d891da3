/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * requester.c - work requests are made of the captured requests of a flow, and posted when the first
 * packet of each was captured; the captured answers come at their times. The requests that are sent
 * stand beside the captured ones.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include "priv.h"

/* A message of the capture. */
struct message {
	uint64_t ns;
	uint32_t no; /* of its first packet */
	uint32_t psn, npsn;
	bool open; /* its last packet has not been seen */
	struct alone_wr wr;
};

struct work {
	struct message *m;
	uint32_t n, room, posted;
	uint32_t next; /* PSN behind the last message */
	uint32_t mtu;
	uint64_t longest;
	bool begun;
	uint32_t first; /* PSN of the first message */
	uint32_t holes,
		unknown; /* PSNs that the capture does not have; requests that are not replayed */
};

static struct message *add_message(struct work *w, const struct rp_pkt *p, uint32_t psn)
{
	struct message *all = w->m;

	if (w->n == w->room) {
		w->room = w->room ? 2 * w->room : 64;
		all = realloc(all, w->room * sizeof(*all));
		if (!all)
			return NULL;
		w->m = all;
	}
	all = memset(&all[w->n++], 0, sizeof(*all));
	all->ns = p->ns;
	all->no = p->no;
	all->psn = psn;
	all->wr.wr_id = w->n;
	return all;
}

static uint32_t packets_of(uint32_t len, uint32_t mtu)
{
	return len ? (len - 1) / mtu + 1 : 1;
}

static uint8_t request_op(const struct dpa_roce_pkt *k)
{
	const uint16_t p = dpa_op_props(k->opcode);

	if (p & DPA_OPP_READ)
		return DPA_OP_RDMA_READ;
	if (p & DPA_OPP_ATOMIC)
		return (k->opcode & 0x1f) == DPA_BTH_COMPARE_SWAP ? DPA_OP_ATOMIC_CS
								  : DPA_OP_ATOMIC_FA;
	if (p & DPA_OPP_WRITE)
		return p & DPA_OPP_IMM ? DPA_OP_RDMA_WRITE_IMM : DPA_OP_RDMA_WRITE;
	return p & DPA_OPP_INV ? DPA_OP_SEND_INV : p & DPA_OPP_IMM ? DPA_OP_SEND_IMM : DPA_OP_SEND;
}

/* The last packet has the immediate, or the key to invalidate. */
static void end_message(struct message *m, const struct dpa_roce_pkt *k)
{
	const uint16_t p = dpa_op_props(k->opcode);

	m->open = false;
	m->wr.op = request_op(k);
	if (p & DPA_OPP_IMM)
		m->wr.imm = htonl(k->imm);
	if (p & DPA_OPP_INV)
		m->wr.imm = k->inv_rkey;
}

/* False: no memory. */
static bool start_message(struct work *w, const struct rp_pkt *p)
{
	struct message *m = add_message(w, p, p->k.psn);
	const struct dpa_roce_pkt *k = &p->k;
	const uint16_t props = dpa_op_props(k->opcode);

	if (!m)
		return false;
	m->open = true;
	m->npsn = 1;
	m->wr.op = request_op(k);
	m->wr.raddr = k->va;
	m->wr.rkey = k->rkey;
	m->wr.swap_add = k->swap_add;
	m->wr.compare = k->compare;
	m->wr.sge.length = k->len;
	if (props & (DPA_OPP_WRITE | DPA_OPP_READ))
		m->wr.sge.length = k->dmalen;
	if (props & DPA_OPP_ATOMIC)
		m->wr.sge.length = 8;
	if (props & DPA_OPP_READ)
		m->npsn = packets_of(k->dmalen, w->mtu);
	if (props & DPA_OPP_END)
		end_message(m, k);
	w->next = dpa_psn_add(m->psn, m->npsn);
	return true;
}

/*
 * PSNs that the capture does not have: of the message before, if that is not complete; else they
 * take a WRITE of no meaning, so that the PSNs behind it are right. False: no memory.
 */
static bool fill_hole(struct work *w, const struct rp_pkt *p, uint32_t n)
{
	struct message *m = w->n ? &w->m[w->n - 1] : NULL;

	w->holes += n;
	if (!m || !m->open) {
		m = add_message(w, p, w->next);
		if (!m)
			return false;
		m->wr.op = DPA_OP_RDMA_WRITE;
		m->wr.sge.length = n * w->mtu;
	} else if (m->wr.op == DPA_OP_SEND) {
		m->wr.sge.length += n * w->mtu;
	}
	m->npsn += n;
	w->next = dpa_psn_add(w->next, n);
	return true;
}

/* A packet that is new: one more message, or more of the last one. False: no memory. */
static bool next_packet(struct work *w, const struct rp_pkt *p)
{
	const uint16_t props = dpa_op_props(p->k.opcode);
	struct message *m = w->n ? &w->m[w->n - 1] : NULL;

	if (props & DPA_OPP_START) {
		if (m)
			m->open = false;
		return start_message(w, p);
	}
	if (!m || !m->open)
		return fill_hole(w, p, 1);
	m->npsn++;
	w->next = dpa_psn_add(w->next, 1);
	if (props & DPA_OPP_SEND)
		m->wr.sge.length += p->k.len;
	if (props & DPA_OPP_END)
		end_message(m, &p->k);
	return true;
}

/* FLUSH and ATOMIC WRITE have a PSN each, too. False: no memory. */
static bool take_captured_request(struct rp *rp, struct work *w, const struct rp_pkt *p)
{
	const uint16_t props = dpa_op_props(p->k.opcode);
	int32_t ahead;

	if (!w->begun && !(props & DPA_OPP_START))
		return true;
	if (!w->begun)
		w->first = w->next = rp->stream[rp->s].cm ? rp->stream[rp->s].first : p->k.psn;
	w->begun = true;
	ahead = dpa_psn_diff(p->k.psn, w->next);
	if (ahead < 0)
		return true; /* a retransmission */
	if (ahead && !fill_hole(w, p, (uint32_t)ahead))
		return false;
	if (props & (DPA_OPP_FLUSH | DPA_OPP_AWRITE)) {
		w->unknown++;
		w->holes--;
		return fill_hole(w, p, 1);
	}
	return next_packet(w, p);
}

static bool is_good_packet(const struct rp_pkt *p, uint32_t stream)
{
	return p->flow == stream && stream != RP_NONE && p->verdict == DPA_ROCE_OK && p->icrc;
}

static bool make_work(struct rp *rp, struct work *w)
{
	for (uint32_t i = 0; i < rp->npkt; i++)
		if (is_good_packet(&rp->pkt[i], rp->s) && rp_is_request(&rp->pkt[i].k) &&
		    !take_captured_request(rp, w, &rp->pkt[i]))
			return false;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->m[i].wr.sge.length > w->longest)
			w->longest = w->m[i].wr.sge.length;
	return true;
}

/* Posts the messages whose time has come, as far as the SQ has room. */
static void post_messages(struct rp *rp, struct work *w)
{
	while (w->posted < w->n && ALONE_START + w->m[w->posted].ns <= rp->alone.now &&
	       !rp_stopped(rp)) {
		struct message *m = &w->m[w->posted];
		const size_t at = rp->nev;
		struct dpa_replay_event *e = rp_event(rp, DPA_REPLAY_POST);

		if (!e)
			return;
		m->wr.sge.addr = (uintptr_t)rp->buf;
		m->wr.sge.lkey = rp->bufkey;
		if (m->wr.sge.length > rp->buflen)
			m->wr.sge.length = (uint32_t)rp->buflen;
		e->no = m->no;
		e->wc.wr_id = m->wr.wr_id;
		e->wc.opcode = m->wr.op;
		e->wc.len = m->wr.sge.length;
		rp_state(rp, &e->was);
		if (!alone_post(&rp->alone, &m->wr)) {
			rp->nev = at;
			rp->total--;
			return;
		}
		w->posted++;
		rp_state(rp, &rp->ev[at].is);
		rp_completions(rp);
	}
}

static void replay_answer(struct rp *rp, const struct rp_pkt *p)
{
	struct dpa_replay_event *e = rp_event(rp, DPA_REPLAY_IN);
	const size_t at = rp->nev - 1;
	uint64_t was[DPA_CNT_NUM];

	if (!e)
		return;
	e->no = p->no;
	e->cut = p->cut;
	e->pkt = p->k;
	e->pkt.payload = NULL;
	rp_state(rp, &e->was);
	rp_count_begin(rp, was);
	rp_give(rp, p);
	e = &rp->ev[at];
	rp_state(rp, &e->is);
	rp_count_end(rp, was, e);
	rp_completions(rp);
}

static void add_beside_request(struct rp *rp, const struct rp_pkt *p, uint32_t *max, bool *any)
{
	struct dpa_replay_event *e = rp_event(rp, DPA_REPLAY_BESIDE);

	if (!e)
		return;
	e->no = p->no;
	e->pkt = p->k;
	e->pkt.payload = NULL;
	e->again = *any && dpa_psn_diff(p->k.psn, *max) < 0;
	if (!e->again)
		*max = dpa_psn_add(p->k.psn, 1);
	*any = true;
}

static bool is_answer(const struct rp *rp, const struct rp_pkt *p)
{
	return is_good_packet(p, rp->t) && (rp_is_answer(&p->k) || p->k.opcode == DPA_BTH_CNP);
}

static void run_requester(struct rp *rp, struct work *w)
{
	uint32_t max = 0;
	bool any = false;

	for (uint32_t i = 0; i < rp->npkt && !rp_stopped(rp); i++) {
		const struct rp_pkt *p = &rp->pkt[i];
		const bool request = is_good_packet(p, rp->s) && rp_is_request(&p->k);

		if (!request && !is_answer(rp, p))
			continue;
		rp_until(rp, p->ns);
		post_messages(rp, w);
		if (request)
			add_beside_request(rp, p, &max, &any);
		else if (any)
			replay_answer(rp, p);
	}
	rp_finish(rp);
	while (w->posted < w->n && !rp_stopped(rp)) { /* the SQ was full */
		const uint32_t was = w->posted;

		post_messages(rp, w);
		rp_finish(rp);
		if (was == w->posted)
			break;
	}
}

static void note_requester_end(struct rp *rp, const struct work *w)
{
	const struct dpa_hw_qp *qp = rp->alone.qp;
	const int32_t out = dpa_psn_diff(qp->req.max_psn, qp->req.una_psn);

	if (w->posted < w->n)
		rp_early(rp, "not replayed: %u requests, for which the send queue had no room",
			 w->n - w->posted);
	if (out > 0)
		rp_note(rp, "at the end %d packets are not acknowledged", out);
}

struct work *rp_work_make(struct rp *rp)
{
	struct work *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->mtu = rp_mtu(rp, rp->s);
	if (make_work(rp, w))
		return w;
	rp_work_free(w);
	return NULL;
}

uint32_t rp_work_psn(const struct work *w)
{
	return w->first;
}

uint64_t rp_work_longest(const struct work *w)
{
	return w->longest;
}

void rp_requester(struct rp *rp, struct work *w)
{
	if (w->holes)
		rp_note(rp, "the capture does not have %u packets of these requests", w->holes);
	if (w->unknown)
		rp_note(rp, "not replayed: %u requests FLUSH or ATOMIC WRITE", w->unknown);
	run_requester(rp, w);
	note_requester_end(rp, w);
}

void rp_work_free(struct work *w)
{
	if (w)
		free(w->m);
	free(w);
}
