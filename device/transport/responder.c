/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * responder.c - the responder (IBA 9.7.4 for RC, 9.8.3 for UC). Each packet is judged first
 * (resp_check.c, pure), then carried out. Answers become pending and are sent after the batch
 * (dpa_responder_flush).
 */
#include <dpa_hw_trace.h>
#include "ctx/cq.h"
#include "ctx/mr.h"
#include "payload/mw.h"
#include "ctx/qp.h"
#include "ctx/srq.h"
#include "ctx/xrc.h"
#include "ctx/copy.h"
#include "failure/failure.h"
#include "foreign/foreign.h"
#include "link/kick.h"
#include "transport/api.h"
#include "transport.h"
#include "order/resp_check.h"
#include "recv/peer.h"
#include "recv/recv.h"
#include "recv/tag.h"
#include "writes.h"
#include "direct/share.h"
#include "direct/direct.h"
#include "link/udp/wire.h"

/* ---------------------------------------------------------------- requests */

/*
 * A local fault of the responder: the receive fails, and the requester gets a NAK (class A). On UC
 * a message that is too long for its receive is only lost (class D): the receive serves the next
 * message.
 */
/* IBA 9.7.4 (too-short), 9.9 (class-a), 9.8.2 (bad), 9.8.2 (too-short) */
static void recv_fails(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint32_t syn)
{
	struct dpa_resp *r = &qp->resp;
	bool len = syn == DPA_SYN_RECV_TOO_SMALL;

	if (len)
		dpa_count(qp->hw, DPA_CNT_resp_local_length_error, 1);
	if (len && qp->type == DPA_QP_UC) {
		r->last_op = DPA_RESP_NONE;
		qp->errors.injected = false;
		return;
	}
	r->have_wqe = false;
	qp->errors.packet = s;
	dpa_recv_cqe(qp, r->wqe.wr_id, DPA_CQE_RECV, dpa_status_of(syn), syn, 0, NULL);
	if (qp->type == DPA_QP_RC)
		dpa_owe(qp, s->psn, DPA_AETH_NAK | (len ? DPA_NAK_INV_REQ : DPA_NAK_REM_OP));
	else
		dpa_qp_to_error(qp);
}

/*
 * The sender gave up meanwhile: as if the packet had never come. Reading its memory was refused: it
 * will send again.
 */
static bool lost_in_pull(struct dpa_hw_qp *qp, uint32_t syn)
{
	if (syn == DPA_SYN_PULL_REFUSED)
		dpa_owe(qp, qp->resp.epsn, DPA_AETH_NAK | DPA_NAK_PSN_SEQ);
	return syn == DPA_SYN_PULL_REFUSED || syn == DPA_SYN_PEER_DEAD;
}

/* Places one packet of a SEND into the receive WQE. False: it failed. */
static bool take_send(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload)
{
	struct dpa_resp *r = &qp->resp;
	struct iovec iov[DPA_MAX_SGE + 1];
	uint32_t syn;
	int cnt;

	if (dpa_unlikely(r->tm.kind == DPA_TAG_RNDV)) /* its place is in r->tm */
		return true;
	if (dpa_unlikely(r->tm.kind == DPA_TAG_EAGER))
		syn = dpa_tag_iov(qp, s, iov, &cnt);
	else
		syn = dpa_rwqe_iov(qp, &r->wqe, r->off, s->len, iov, &cnt);
	if (!syn)
		syn = dpa_scatter(qp, peer, s, payload, iov, cnt);
	if (dpa_likely(!syn))
		return true;
	if (lost_in_pull(qp, syn))
		return false; /* the receive WQE waits until the message is sent again */
	recv_fails(qp, s, syn);
	return false;
}

/* Takes a receive of the queue, or the tagged buffer that matches the message. */
static bool take_receive(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			 const uint8_t *payload)
{
	if (dpa_unlikely(qp->tag_sq))
		return dpa_tag_take(qp, peer, s, payload);
	return dpa_take_rwqe(qp, &qp->resp.wqe);
}

/*
 * A WRITE to memory that it may not access. An RC message of one packet with immediate data has its
 * receive by then: the receive completes with an error (class C). A longer message is refused at
 * its first packet and has no receive, also on a link whose entries hold several packets.
 */
/* IBA 9.9 (class-c-receive) */
static void refuse_write(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			 const uint8_t *payload, uint32_t len, uint32_t syn)
{
	const uint16_t only = DPA_OPP_START | DPA_OPP_END | DPA_OPP_RQ;
	struct dpa_resp *r = &qp->resp;

	if (qp->type == DPA_QP_RC && (dpa_op_props(s->opcode) & only) == only && len <= qp->mtu &&
	    (r->have_wqe || take_receive(qp, peer, s, payload))) {
		r->have_wqe = false;
		qp->errors.packet = s;
		dpa_recv_cqe(qp, r->wqe.wr_id, DPA_CQE_RECV, DPA_CQE_LOC_ACCESS_ERR,
			     dpa_of_rkey(syn), 0, NULL);
		syn = DPA_REFUSED_WITH_RECEIVE;
	}
	dpa_deny(qp, s, DPA_NAK_REM_ACCESS, syn);
}

/* IBA C9-88 */
static bool take_write(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		       const uint8_t *payload)
{
	struct dpa_resp *r = &qp->resp;
	uint64_t addr = 0;
	uint32_t syn = 0;

	if (s->len) /* without payload the R_Key is not checked */
		syn = dpa_mr_check_remote(qp, r->wr_rkey, r->wr_va + r->off, s->len,
					  DPA_ACCESS_REMOTE_WRITE, &addr);
	if (!syn)
		syn = dpa_place(qp, peer, s, payload, addr, r->wr_rkey);
	if (dpa_likely(!syn))
		return true;
	if (lost_in_pull(qp, syn))
		return false;
	refuse_write(qp, peer, s, payload, r->wr_len, syn);
	return false;
}

static void start_write(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;

	qp->resp.wr_va = x->va;
	qp->resp.wr_rkey = x->rkey;
	qp->resp.wr_len = x->dmalen;
}

/*
 * The key of a SEND with invalidate cannot be invalidated (IBA 9.9.6.3, class J): the receive and
 * the QP go to error, and no NAK is sent. The requester gets the ACK for earlier messages; then its
 * timer ends it.
 */
/* IBA 9.9 (class-j) */
static void invalidate_fails(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s)
{
	struct dpa_resp *r = &qp->resp;

	dpa_responder_flush(qp);
	r->have_wqe = false;
	qp->errors.packet = s;
	dpa_recv_cqe(qp, r->wqe.wr_id, DPA_CQE_RECV, DPA_CQE_REM_INV_REQ_ERR, DPA_SYN_INV_RKEY, 0,
		     NULL);
	dpa_rx_drop(qp, peer, s); /* before: `s` may be in the QP's out-of-order queue */
	dpa_qp_to_error(qp);
}

DPA_STEP void owe_ack(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	if (s->flags & DPA_PKT_ACKREQ)
		dpa_owe(qp, dpa_psn_add(qp->resp.epsn, DPA_PSN_MASK),
			DPA_AETH_ACK | DPA_AETH_NO_CREDITS);
}

/* The ACK is pending before the completion is reported: see dpa_qp_report(). */
/* IBA C9-148, 9.4 (invalidate) */
DPA_STEP void finish_message(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			     uint16_t p)
{
	struct dpa_resp *r = &qp->resp;
	uint32_t len = r->off;

	r->msn = (r->msn + 1) & DPA_PSN_MASK;
	r->last_op = DPA_RESP_NONE;
	r->off = 0;
	if (p & DPA_OPP_INV && dpa_mw_invalidate(qp, ((const struct dpa_ext *)s->ext)->imm)) {
		invalidate_fails(qp, peer, s);
		return;
	}
	owe_ack(qp, s);
	if (!(p & DPA_OPP_RQ))
		return;
	r->have_wqe = false;
	if (dpa_unlikely(qp->slow.tags) && r->tm.kind)
		dpa_tag_received(qp, s, len);
	else
		dpa_recv_cqe(qp, r->wqe.wr_id,
			     p & DPA_OPP_SEND ? DPA_CQE_RECV : DPA_CQE_RECV_RDMA_WITH_IMM,
			     DPA_CQE_OK, 0, len, s);
}

/*
 * Address of the first `len` bytes of a receive WQE of one SGE; NULL: it has more or fewer SGEs, is
 * too small, or a plain copy is not allowed.
 */
DPA_STEP void *short_target(struct dpa_hw *hw, const struct dpa_rwqe *w, uint32_t max_sge,
			    uint32_t len, uint32_t pdn)
{
	struct dpa_sge g;

	if (__atomic_load_n(&w->nsge, __ATOMIC_RELAXED) != 1 || !max_sge)
		return NULL;
	g = *(const struct dpa_sge *)(w + 1);
	return g.length < len ? NULL : dpa_sge_plain(hw, &g, len, pdn, DPA_ACCESS_LOCAL_WRITE);
}

/*
 * Takes the next receive WQE of the SRQ, if it is of that kind. Returns the address; NULL: nothing
 * was changed.
 */
DPA_STEP void *take_short_srq(struct dpa_hw_qp *qp, struct dpa_hw_srq *srq, uint32_t len)
{
	const struct dpa_rwqe *w;
	bool event = false;
	void *to = NULL;
	uint32_t pi;

	dpa_spin_lock(&srq->lock);
	w = dpa_srq_head(srq, &pi);
	if (w)
		to = short_target(qp->hw, w, srq->max_sge, len, srq->pdn);
	if (to) {
		qp->resp.wqe.wr_id = w->wr_id;
		event = dpa_srq_pop(srq, pi);
	}
	dpa_spin_unlock(&srq->lock);
	if (dpa_unlikely(event))
		dpa_srq_limit_event(srq);
	return to;
}

/* The same for the QP's own queue. */
DPA_STEP void *take_short_rq(struct dpa_hw_qp *qp, uint32_t len)
{
	const struct dpa_rwqe *w = dpa_rq_head(qp);
	void *to = w ? short_target(qp->hw, w, qp->max_recv_sge, len, qp->pdn) : NULL;

	if (!to)
		return NULL;
	qp->resp.wqe.wr_id = w->wr_id;
	dpa_rq_take(qp);
	return to;
}

/* Takes a SEND in one packet into a receive WQE of one SGE. */
static inline bool take_short(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			      const uint8_t *payload)
{
	struct dpa_resp *r = &qp->resp;
	void *to;

	if (r->last_op == DPA_RESP_FRESH || !dpa_resp_is_idle(r) || s->len - 1 >= qp->mtu ||
	    s->flags & ~(DPA_PKT_INSLOT | DPA_PKT_ACKREQ | DPA_PKT_SE) ||
	    dpa_resp_judge(r, r->epsn, qp->mtu, 0, true, DPA_OPS_SEND_ONLY, s) != DPA_RESP_GO)
		return false;
	to = qp->srq ? take_short_srq(qp, qp->srq, s->len) : take_short_rq(qp, s->len);
	if (!to)
		return false;
	dpa_copy_short(to, payload, s->len);
	r->epsn = dpa_psn_add(r->epsn, 1);
	r->off = s->len;
	finish_message(qp, peer, s, DPA_OPS_SEND_ONLY);
	return true;
}

void dpa_responder_short(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			 const uint8_t *payload)
{
	if (!take_short(qp, peer, s, payload))
		dpa_rx_any(qp, peer, s, payload);
}

/* IBA 9.7.5 (rnr), 9.4 (write-imm), 9.8.2 (no-receive) */
static void on_send_write(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			  const uint8_t *payload, uint16_t p)
{
	struct dpa_resp *r = &qp->resp;
	uint32_t n = dpa_npkts(s->len, qp->mtu), syn = 0;
	bool send = p & DPA_OPP_SEND;

	if ((p & DPA_OPP_WRITE) && (p & DPA_OPP_START))
		syn = dpa_check_remote(qp, s, DPA_ACCESS_REMOTE_WRITE);
	if (dpa_unlikely(syn)) {
		refuse_write(qp, peer, s, payload, ((const struct dpa_ext *)s->ext)->dmalen, syn);
		return;
	}
	/* A SEND takes its receive at its start, a WRITE with immediate data at its end. */
	if (!r->have_wqe && (p & (send ? DPA_OPP_START : DPA_OPP_RQ))) {
		if (dpa_unlikely(qp->slow.inspected && dpa_peer_has_no_receive(qp, s)) ||
		    !take_receive(qp, peer, s, payload)) {
			r->nak_sent = true;
			dpa_count(qp->hw, DPA_CNT_rnr_nak_sent, qp->type == DPA_QP_RC);
			dpa_count_add(&qp->meter.rnr, qp->type == DPA_QP_RC);
			dpa_owe(qp, s->psn, DPA_AETH_RNR | (qp->attr.min_rnr_timer & 0x1f));
			return;
		}
		r->have_wqe = true;
		if (dpa_unlikely(qp->slow.inspected))
			dpa_receive_pages(qp);
	}
	if (dpa_unlikely(qp->slow.inspected) && r->have_wqe && (p & DPA_OPP_RQ) &&
	    (syn = dpa_recv_injected(qp, send ? DPA_CQE_RECV : DPA_CQE_RECV_RDMA_WITH_IMM))) {
		recv_fails(qp, s, syn);
		return;
	}
	if (p & DPA_OPP_START) {
		r->off = 0;
		if (!send)
			start_write(qp, s);
	}
	if (!(send ? take_send : take_write)(qp, peer, s, payload))
		return;
	r->off += s->len;
	r->last_op = send ? DPA_RESP_SEND : DPA_RESP_WRITE;
	r->epsn = dpa_psn_add(r->epsn, n);
	if (p & DPA_OPP_END)
		finish_message(qp, peer, s, p);
	else
		owe_ack(qp, s);
}

/*
 * IBA 9.8.3: after a hole, and if a new message starts in the middle of another, that other message
 * is lost; its receive WQE serves the next one.
 */
/* IBA 9.8.2 (gap), 9.8.2 (start) */
static void on_uc_start(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	dpa_count(qp->hw, DPA_CNT_out_of_sequence, s->psn != qp->resp.epsn);
	qp->resp.last_op = DPA_RESP_NONE;
	qp->resp.epsn = s->psn;
}

/* IBA 9.7.5 (one-nak) */
static void nak_gap(struct dpa_hw_qp *qp)
{
	if (qp->resp.nak_sent)
		return;
	qp->resp.nak_sent = true;
	dpa_owe(qp, qp->resp.epsn, DPA_AETH_NAK | DPA_NAK_PSN_SEQ);
}

/*
 * A packet of another sender must not use up the one NAK for the peer's own packets. If that NAK
 * was sent already the requester may have been set up again since, and did not get it.
 */
static void on_gap(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload)
{
	const bool strange = dpa_kept_strange(qp, s);
	struct dpa_resp *r = &qp->resp;

	if (!strange && r->nak_strange)
		r->nak_sent = false;
	dpa_keep(qp, s, payload);
	if (!r->nak_sent)
		r->nak_strange = strange;
	else if (!dpa_owes_nak(r))
		dpa_ask_hint(qp, s);
	nak_gap(qp);
}

/*
 * The expected packet came, perhaps before the NAK that requests it was sent: then an ACK is
 * enough.
 */
static void gap_closed(struct dpa_resp *r)
{
	r->nak_sent = r->nak_strange = false;
	if (!r->ack_owed || r->ack_syndrome != (DPA_AETH_NAK | DPA_NAK_PSN_SEQ))
		return;
	r->ack_psn = dpa_psn_add(r->epsn, DPA_PSN_MASK);
	r->ack_syndrome = DPA_AETH_ACK | DPA_AETH_NO_CREDITS;
}

/* IBA 9.4 (xrc-srq) */
static bool bind_srq(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint16_t p)
{
	if (!(p & DPA_OPP_START))
		return qp->srq; /* destroyed meanwhile */
	return dpa_xrc_bind(qp, ((const struct dpa_ext *)s->ext)->xrcsrq);
}

/* The first request of a connection is an event for the direct path. */
DPA_STEP void begin_request(struct dpa_hw_qp *qp)
{
	if (dpa_likely(qp->resp.last_op != DPA_RESP_FRESH))
		return;
	qp->resp.last_op = DPA_RESP_NONE;
	dpa_conn_used(qp);
}

/* The reason for which dpa_resp_check() finds a request invalid. */
static uint32_t why_invalid(const struct dpa_hw_qp *qp, uint32_t access, uint16_t p,
			    const struct dpa_slot *s)
{
	return dpa_resp_in_sequence(&qp->resp, p) &&
			       dpa_resp_length_fits(&qp->resp, qp->mtu, p, s) &&
			       !dpa_resp_allows(access, p, s)
		       ? DPA_SYN_QP_ACCESS
		       : DPA_REFUSED(DPA_CHECK_PACKET);
}

/* IBA 9.8.2 (bad) */
static void one_request(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			const uint8_t *payload)
{
	struct dpa_resp *r = &qp->resp;
	uint16_t p = dpa_op_props(s->opcode);
	uint32_t access;

	if (dpa_unlikely(dpa_resp_failing(r)))
		return;
	begin_request(qp);
	if (qp->type == DPA_QP_UC && (s->psn != r->epsn || (p & DPA_OPP_START)))
		on_uc_start(qp, s);
	/* The right to flush is not in the cache line that is at hand. */
	access = dpa_unlikely(p & DPA_OPP_FLUSH) ? qp->attr.access : qp->access;
	switch (dpa_resp_check(r, qp->mtu, access, qp->type == DPA_QP_RC, s)) {
	case DPA_RESP_GO:
		break;
	case DPA_RESP_DUPLICATE:
		dpa_on_duplicate(qp, s, p);
		return;
	case DPA_RESP_GAP:
		dpa_count(qp->hw, DPA_CNT_out_of_sequence, dpa_npkts(s->len, qp->mtu));
		on_gap(qp, s, payload);
		return;
	case DPA_RESP_INVALID:
		dpa_deny(qp, s, DPA_NAK_INV_REQ, why_invalid(qp, access, p, s));
		return;
	case DPA_RESP_DROP: /* the message that it belongs to is dropped, too */
		r->last_op = DPA_RESP_NONE;
		r->epsn = dpa_psn_add(s->psn, dpa_npkts(s->len, qp->mtu));
		return;
	}
	/* A message belongs to the SRQ that its first packet names: annex A14.3. */
	if (dpa_unlikely(qp->xrcd) && !r->have_wqe && !bind_srq(qp, s, p)) {
		dpa_deny(qp, s, DPA_NAK_INV_REQ, DPA_REFUSED(DPA_CHECK_SRQ));
		return;
	}
	if (dpa_unlikely(qp->slow.inspected) && (p & DPA_OPP_START) && dpa_peer_injected(qp, s))
		return;
	gap_closed(r);
	dpa_kept_source(qp, s);
	if (p & DPA_OPP_READ)
		dpa_on_read(qp, s, false);
	else if (p & DPA_OPP_FLUSH)
		dpa_on_flush(qp, s, false);
	else if (p & DPA_OPP_AWRITE)
		dpa_on_atomic_write(qp, peer, s, payload);
	else if (p & DPA_OPP_ATOMIC)
		dpa_on_atomic(qp, s);
	else
		on_send_write(qp, peer, s, payload, p);
	/* UC: a packet that could not be placed is skipped */
	if (qp->type == DPA_QP_UC && r->epsn == s->psn) {
		r->last_op = DPA_RESP_NONE;
		r->epsn = dpa_psn_add(s->psn, dpa_npkts(s->len, qp->mtu));
	}
}

void dpa_responder_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload)
{
	one_request(qp, peer, s, payload);
	if (dpa_likely(!qp->ooo.list))
		return;
	while (!dpa_resp_failing(&qp->resp) && !qp->resp.nak_sent &&
	       (s = dpa_kept_next(qp, &payload))) {
		uint32_t was = qp->resp.epsn;

		one_request(qp, peer, s, payload);
		/* RNR: it is sent again. Or the QP is in error and keeps nothing. */
		if (qp->resp.epsn == was || !qp->ooo.list)
			break;
		if (dpa_meters_are_on())
			dpa_qp_meter_rx(qp, 0, s->len);
		dpa_kept_done(qp);
	}
	if (qp->ooo.list && !dpa_resp_failing(&qp->resp))
		nak_gap(qp); /* another packet is missing */
}

/* ------------------------------------------------------------------ lists of WRITEs: writes.h */

/* True if the QP is between two messages and accepts packets of this peer. */
static bool takes_writes(const struct dpa_hw_qp *qp, const struct dpa_peer *peer)
{
	return qp->type == DPA_QP_RC && qp->transport == DPA_BTH_RC &&
	       (qp->state == DPA_QPS_RTS || (qp->state == DPA_QPS_RTR && qp->comm_est)) &&
	       qp->peer == peer && !qp->slow.keeps && dpa_resp_is_idle(&qp->resp);
}

bool dpa_writes_begin(struct dpa_writes *w, struct dpa_hw_qp *qp, const struct dpa_peer *peer)
{
	if (!takes_writes(qp, peer) || !dpa_puts_begin(&qp->hw->stage, &w->puts))
		return false;
	w->qp = qp;
	w->peer = peer;
	w->bytes = w->ackreq = 0;
	return true;
}

/* IBA C9-88, 9.7.4 (key-first) */
bool dpa_writes_add(struct dpa_writes *w, const struct dpa_slot *s, const uint8_t *payload)
{
	struct dpa_hw_qp *qp = w->qp;
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	const uint32_t n = w->puts.n, psn = dpa_psn_add(qp->resp.epsn, n);
	uint64_t addr;

	if (s->flags & ~(DPA_PKT_INSLOT | DPA_PKT_ACKREQ) || !dpa_hears(qp, w->peer, s) ||
	    s->len - 1 >= DPA_WRITES_MAX || s->len > qp->mtu || !dpa_same_mtu(qp->mtu, s) ||
	    dpa_resp_judge(&qp->resp, psn, qp->mtu, qp->access, true, DPA_OPS_WRITE_ONLY, s) !=
		    DPA_RESP_GO ||
	    dpa_mr_check_remote(qp, x->rkey, x->va, s->len, DPA_ACCESS_REMOTE_WRITE, &addr) ||
	    dpa_foreign_of(qp->hw, x->rkey) || dpa_share_of(qp->hw, x->rkey, addr, s->len) ||
	    !dpa_puts_add(&w->puts, addr, payload, s->len))
		return false;
	w->ackreq |= (uint64_t) !!(s->flags & DPA_PKT_ACKREQ) << n;
	return true;
}

/* IBA 9.7.5 (coalesce) */
uint32_t dpa_writes_end(struct dpa_writes *w)
{
	struct dpa_resp *r = &w->qp->resp;
	const uint64_t began = dpa_trace_begin();
	uint32_t n = dpa_puts_end(&w->puts);
	uint64_t asked = w->ackreq & (n < 64 ? (1ull << n) - 1 : ~0ull);

	if (!n)
		return 0;
	begin_request(w->qp);
	for (uint32_t i = 0; i < n; i++)
		w->bytes += w->puts.len[i];
	if (dpa_unlikely(began))
		dpa_trace_at(began, DPA_TRACE_RX, (uint16_t)(w->qp->dest_qpn & DPA_QPN_INDEX),
			     DPA_BTH_RC | DPA_BTH_WRITE_ONLY, w->qp->qpn, r->epsn,
			     (uint32_t)w->bytes, (uint64_t)dpa_trace_since(began) << 32 | n);
	if (dpa_meters_are_on())
		dpa_qp_meter_rx(w->qp, n, w->bytes);
	if (asked)
		dpa_owe(w->qp, dpa_psn_add(r->epsn, 63u - (uint32_t)__builtin_clzll(asked)),
			DPA_AETH_ACK | DPA_AETH_NO_CREDITS);
	r->epsn = dpa_psn_add(r->epsn, n);
	r->msn = (r->msn + n) & DPA_PSN_MASK;
	r->off = 0;
	return n;
}
