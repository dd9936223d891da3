/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * responder.c - the requests of a flow go to a responder at their times. Beside each packet stands
 * what the device's own check says of it (order/resp_check.h, ctx/mr.h), asked before it is given.
 */
#include <stdio.h>
#include <string.h>
#include "priv.h"
#include "ctx/mr.h"
#include "order/resp_check.h"
#include "transport/transport.h"

#define KEEP_POSTED 64u
#define MOST_LOOK   10000u /* packets from a request to its answer */

/* ------------------------------------------------------------------ receives */

static void post_replay_receives(struct rp *rp, uint32_t n)
{
	const struct dpa_sge g = {
		.addr = (uintptr_t)rp->buf, .length = (uint32_t)rp->buflen, .lkey = rp->bufkey};

	/* In the error state the device takes each at once. */
	for (uint32_t i = alone_receives(&rp->alone); i < n && rp->alone.qp->state != DPA_QPS_ERR;
	     i++)
		if (!alone_receive(&rp->alone, ++rp->recv_id, &g))
			return;
}

/* Hides the receives from the device, or shows them again: it reads their number at each message. */
static void show_receives(struct rp *rp, bool show)
{
	struct dpa_dbrec *d = rp->alone.dbrec;

	__atomic_store_n(&d->rq_pi, show ? rp->alone.rpi : d->rq_ci, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------- checks */

static uint32_t request_access(uint16_t p)
{
	return p & DPA_OPP_READ			      ? DPA_ACCESS_REMOTE_READ
	       : p & (DPA_OPP_WRITE | DPA_OPP_AWRITE) ? DPA_ACCESS_REMOTE_WRITE
	       : p & DPA_OPP_ATOMIC		      ? DPA_ACCESS_REMOTE_ATOMIC
						      : DPA_ACCESS_FLUSH_GLOBAL;
}

/* Why the device refuses the memory that the request names; 0: it does not. */
static uint32_t memory_error(struct rp *rp, const struct dpa_roce_pkt *k)
{
	const uint32_t ext = dpa_roce_ext_of(k->opcode);
	const uint16_t p = dpa_op_props(k->opcode);
	uint32_t syn, len = ext & DPA_ROCE_RETH ? k->dmalen : 8;
	uint64_t addr;

	if (!(ext & (DPA_ROCE_RETH | DPA_ROCE_ATOMICETH)) || !len)
		return 0;
	if (p & DPA_OPP_ATOMIC && k->va & 7)
		return DPA_SYN_UNALIGNED;
	syn = dpa_mr_check_remote(rp->alone.qp, rp_key(rp, k->rkey, k->va), k->va, len,
				  request_access(p), &addr);
	return syn >= DPA_SYN_BAD_LKEY && syn <= DPA_SYN_LKEY_ACCESS
		       ? syn - DPA_SYN_BAD_LKEY + DPA_SYN_BAD_RKEY
		       : syn;
}

static enum dpa_resp_verdict judge_request(const struct rp *rp, const struct dpa_roce_pkt *k)
{
	const struct dpa_hw_qp *qp = rp->alone.qp;
	const bool rc = qp->type == DPA_QP_RC;
	struct dpa_resp r = qp->resp;
	struct dpa_slot s = {0};

	dpa_slot_of_pkt(k, 0, &s);
	s.flags |= dpa_pkt_mtu_flags(qp->mtu);
	if (r.last_op == DPA_RESP_FRESH)
		r.last_op = DPA_RESP_NONE;
	/* UC: a message that begins ends the one before; the first packet behind a hole is lost. */
	if (!rc && (dpa_op_props(k->opcode) & DPA_OPP_START || k->psn != r.epsn)) {
		r.last_op = DPA_RESP_NONE;
		r.epsn = k->psn;
	}
	return dpa_resp_check(&r, qp->mtu, qp->attr.access, rc, &s);
}

/* The check that stops a packet before the responder sees it; NULL: none. */
static const char *stopped_by(const struct rp *rp, const struct rp_pkt *p,
			      struct dpa_replay_event *e)
{
	const struct dpa_hw_qp *qp = rp->alone.qp;

	if (p->verdict != DPA_ROCE_OK) {
		snprintf(e->text, sizeof(e->text), "%s", dpa_roce_verdict_name(p->verdict));
		return "dropped: malformed";
	}
	if (!p->icrc)
		return "dropped: wrong ICRC";
	if ((p->k.pkey & 0x7fff) != (DPA_ROCE_PKEY & 0x7fff))
		return "dropped: P_Key";
	if (dpa_op_is_notice(p->k.opcode))
		return "notice";
	if ((p->k.opcode & DPA_BTH_TRANSPORT) != qp->transport)
		return "dropped: of another transport";
	if (qp->state == DPA_QPS_ERR)
		return "dropped: the QP is in error";
	return NULL;
}

static const char *foresee_outcome(struct rp *rp, const struct rp_pkt *p,
				   struct dpa_replay_event *e)
{
	const char *by = stopped_by(rp, p, e);

	if (by || rp->alone.qp->type == DPA_QP_UD)
		return by;
	if (rp->alone.qp->type == DPA_QP_RC && dpa_resp_failing(&rp->alone.qp->resp))
		return "dropped: a NAK has ended the connection";
	switch (judge_request(rp, &p->k)) {
	case DPA_RESP_GO:
		e->vendor_err = memory_error(rp, &p->k);
		return e->vendor_err ? "refused: access" : NULL;
	case DPA_RESP_DUPLICATE:
		return "duplicate";
	case DPA_RESP_GAP:
		return "ahead";
	case DPA_RESP_INVALID:
		return "refused: invalid request";
	case DPA_RESP_DROP:
		return "dropped: out of sequence";
	}
	return NULL;
}

/* The packet was expected, or is a datagram: what became of it. */
static const char *see_outcome(const struct dpa_replay_event *e, const struct rp *rp)
{
	bool dropped = false;

	for (uint32_t i = 0; i < e->ncounts; i++) {
		if (!strcmp(e->count[i].name, "rnr_nak_sent"))
			return "refused: no receive";
		if (!strcmp(e->count[i].name, "resp_local_length_error"))
			return "refused: longer than the receive";
		dropped |= !strcmp(e->count[i].name, "rx_dropped");
	}
	if (rp->alone.qp->type == DPA_QP_RC && e->was.epsn == e->is.epsn)
		return "refused";
	return dropped ? "dropped" : "taken";
}

/* ------------------------------------------------------------------ packets */

/* The word that an atomic of the capture found, at the first atomic to this address. */
static void set_word(struct rp *rp, uint32_t i)
{
	const struct dpa_roce_pkt *k = &rp->pkt[i].k;
	uint8_t *known = NULL;
	uint64_t *word = rp_memory(rp, k->rkey, k->va, 8, &known);
	const uint32_t end = rp->npkt - i > MOST_LOOK ? i + MOST_LOOK : rp->npkt;

	if (!word || k->va & 7 || rp->t == RP_NONE || *known)
		return;
	for (uint32_t j = i + 1; j < end && !*known; j++)
		if (rp->pkt[j].flow == rp->t && rp->pkt[j].verdict == DPA_ROCE_OK &&
		    (rp->pkt[j].k.opcode & 0x1f) == DPA_BTH_ATOMIC_ACK &&
		    rp->pkt[j].k.psn == k->psn) {
			*word = rp->pkt[j].k.orig;
			*known = 1;
		}
}

static void in_packet(struct rp *rp, uint32_t i)
{
	const struct rp_pkt *p = &rp->pkt[i];
	const bool hide = p->rnr && rp->o->receives == DPA_REPLAY_CAPTURED;
	struct dpa_replay_event *e = rp_event(rp, DPA_REPLAY_IN);
	const size_t at = rp->nev - 1;
	uint64_t was[DPA_CNT_NUM];

	if (!e)
		return;
	e->no = p->no;
	e->cut = p->cut;
	e->pkt = p->k;
	e->pkt.payload = NULL;
	e->did = foresee_outcome(rp, p, e);
	rp_state(rp, &e->was);
	rp_count_begin(rp, was);
	if (p->verdict == DPA_ROCE_OK && dpa_op_props(p->k.opcode) & DPA_OPP_ATOMIC)
		set_word(rp, i);
	if (rp->o->receives >= DPA_REPLAY_ALWAYS)
		post_replay_receives(rp, KEEP_POSTED);
	if (hide)
		show_receives(rp, false);
	rp_give(rp, p);
	if (hide)
		show_receives(rp, true);
	e = &rp->ev[at];
	rp_state(rp, &e->is);
	rp_count_end(rp, was, e);
	if (!e->did)
		e->did = see_outcome(e, rp);
	rp_completions(rp);
}

static void add_beside_answer(struct rp *rp, const struct rp_pkt *p)
{
	struct dpa_replay_event *e = rp_event(rp, DPA_REPLAY_BESIDE);

	if (!e)
		return;
	e->no = p->no;
	e->pkt = p->k;
	e->pkt.payload = NULL;
}

/* A READ that is too long to be replayed, and other packets that are not given. */
static bool is_left_out(struct rp *rp, const struct rp_pkt *p, bool *begun)
{
	const uint64_t most = rp->o->most_read ? rp->o->most_read : UINT64_C(256) << 20;

	if (p->verdict != DPA_ROCE_OK || !p->icrc)
		return !*begun;
	if (rp_is_answer(&p->k))
		return true; /* of the QP's own requests */
	if (!*begun && !(dpa_op_props(p->k.opcode) & DPA_OPP_START))
		return true;
	*begun = true;
	if (!(dpa_op_props(p->k.opcode) & DPA_OPP_READ) || p->k.dmalen <= most)
		return false;
	rp_note(rp, "not replayed: packet %u, a READ of %u bytes", p->no, p->k.dmalen);
	return true;
}

static void note_begin(struct rp *rp)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rp->npkt; i++) {
		const struct rp_pkt *p = &rp->pkt[i];

		if (p->flow != rp->s || p->verdict != DPA_ROCE_OK || !p->icrc ||
		    !rp_is_request(&p->k))
			continue;
		if (dpa_op_props(p->k.opcode) & DPA_OPP_START)
			break;
		n++;
	}
	if (n)
		rp_note(rp, "not replayed: %u packets of a message that began before the capture",
			n);
}

void rp_responder(struct rp *rp)
{
	bool begun = false;

	note_begin(rp);
	if (rp->o->receives < DPA_REPLAY_ALWAYS)
		post_replay_receives(rp, rp->o->receives);
	for (uint32_t i = 0; i < rp->npkt && !rp_stopped(rp); i++) {
		const struct rp_pkt *p = &rp->pkt[i];

		if (p->flow == rp->s && !is_left_out(rp, p, &begun)) {
			if (rp_lacks_memory(rp, p)) {
				rp_early(rp,
					 "ended: packet %u needs rkey 0x%x, which has no memory",
					 p->no, p->k.rkey);
				break;
			}
			rp_until(rp, p->ns);
			in_packet(rp, i);
		} else if (p->flow == rp->t && rp->t != RP_NONE && begun &&
			   p->verdict == DPA_ROCE_OK && p->icrc && rp_is_answer(&p->k)) {
			rp_until(rp, p->ns);
			add_beside_answer(rp, p);
		}
	}
	rp_finish(rp);
}
