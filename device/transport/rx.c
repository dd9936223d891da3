/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rx.c - a packet arrives at its QP: validation common to all transports (IBA 9.6), then dispatch.
 */
#include "transport/xrc_branch.h"
#include <dpa_hw_trace.h>
#include "link/kick.h"
#include "transport/api.h"
#include "transport.h"
#include "direct/direct.h"
#include "foreign/foreign.h"
#include "ctx/ops.h"
#include "link/udp/wire.h"

/* IBA 9.6 (state) */
static bool qp_receives(const struct dpa_hw_qp *qp)
{
	return qp->state == DPA_QPS_RTR || qp->state == DPA_QPS_RTS || qp->state == DPA_QPS_SQD ||
	       qp->state == DPA_QPS_SQE;
}

/* The same as dpa_hears(), but also before the QP has looked up its peer. */
static bool from_peer(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s)
{
	if (dpa_unlikely(!qp->peer) && (qp->dest_qpn & DPA_QPN_INDEX) == s->src)
		qp->peer = dpa_peer_of_qpn(qp->hw, qp->dest_qpn);
	return dpa_hears(qp, peer, s);
}

/*
 * 10 ms was too short for ib_send_bw -c UC -e -b -q 16 -r 16 with 64 KiB: a round takes that long
 */
#define PATIENCE_NS 50000000ull

static bool has_rwqe(struct dpa_hw_qp *qp)
{
	if (qp->srq)
		return __atomic_load_n(&qp->srq->dbrec->rq_pi, __ATOMIC_ACQUIRE) !=
		       __atomic_load_n(&qp->srq->dbrec->rq_ci, __ATOMIC_ACQUIRE);
	return dpa_rq_head(qp);
}

bool dpa_rx_must_wait(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s)
{
	const bool full = dpa_unlikely(qp->slow.foreign) && dpa_room_waits(qp, peer, s);
	struct dpa_resp *r = &qp->resp;
	uint16_t p = dpa_op_props(s->opcode);

	if (qp->type == DPA_QP_RC)
		return full;
	bool takes = p & DPA_OPP_SEND ? p & DPA_OPP_START : p & DPA_OPP_RQ;
	uint64_t now;

	if (!full && (!qp_receives(qp) || !takes || r->have_wqe))
		return false;
	if (dpa_likely(!full && has_rwqe(qp))) {
		r->waiting_since = 0;
		r->patience_spent = false;
		return false;
	}
	if (r->patience_spent)
		return false; /* once until it posts again */
	now = dpa_now_ns();
	if (!r->waiting_since)
		r->waiting_since = now;
	if (now - r->waiting_since < PATIENCE_NS)
		return true;
	r->patience_spent = true;
	return false;
}

/*
 * Reports a lost packet within this host, on the ring of the same number. If there is no room this
 * is lost, too.
 */
static void report_no_qp(struct dpa_tx *tx, uint32_t board, const struct dpa_slot *s)
{
	struct dpa_slot *r;
	uint8_t *data;

	if (dpa_unlikely(dpa_link_is_cut(tx->peer->hw)))
		return;
	dpa_spin_lock(&tx->lock);
	r = dpa_lane_reserve(tx, 0, &data);
	if (r) {
		r->opcode = DPA_LINK_NO_QP;
		r->flags = 0;
		r->src = (uint16_t)(s->dqpn & DPA_QPN_INDEX);
		r->dqpn = board << 16 | s->src;
		r->psn = s->psn;
		r->len = 0;
		dpa_lane_publish(tx, r);
	}
	dpa_spin_unlock(&tx->lock);
}

/* ASK represents the requests before it. */
static bool is_rc_request(const struct dpa_slot *s)
{
	uint16_t p = dpa_op_props(s->opcode);

	if (s->opcode == DPA_LINK_ASK)
		return true;
	return ((s->opcode & DPA_BTH_TRANSPORT) == DPA_BTH_RC ||
		(s->opcode & DPA_BTH_TRANSPORT) == DPA_BTH_XRC) &&
	       (p & DPA_OPP_VALID) && !(p & DPA_OPP_RESP);
}

/* IBA 9.6 (qp-exists) */
void dpa_transport_no_qp(struct dpa_hw *hw, struct dpa_rx *rx, const struct dpa_slot *s)
{
	struct dpa_peer *p = rx->peer;
	struct dpa_tx *tx = &p->tx[rx - p->rx];

	dpa_count(hw, DPA_CNT_rx_dropped, s->opcode != DPA_LINK_ASK);
	if (!is_rc_request(s) ||
	    atomic_load_explicit(&p->state, memory_order_acquire) != DPA_PEER_UP)
		return;
	report_no_qp(tx, hw->board->board_num, s);
	dpa_tx_owe_kick(tx, hw);
}

void dpa_rx_drop(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s)
{
	dpa_count(qp->hw, DPA_CNT_rx_dropped, s->opcode != DPA_LINK_ASK);
	if (!peer || peer->wire || !is_rc_request(s) ||
	    atomic_load_explicit(&peer->state, memory_order_acquire) != DPA_PEER_UP)
		return;
	report_no_qp(&peer->tx[qp->lane], qp->hw->board->board_num, s);
	dpa_tx_owe_kick(&peer->tx[qp->lane], qp->hw);
}

/* Annex A14: an initiator receives responses only, a target requests only. */
/* IBA 9.4 (xrc-sides) */
static bool wrong_side(const struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	return qp->transport == DPA_BTH_XRC &&
	       !(dpa_op_props(s->opcode) & DPA_OPP_RESP) != (qp->xrcd != 0);
}

/*
 * Handles a packet of no transport, from a ring or, for probes, from the wire: a modelled network
 * marked packets of this QP, or the round trip is measured. False: it is of another kind, or not
 * for this QP.
 */
static bool take_notice(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			const uint8_t *payload)
{
	if (!dpa_op_is_notice(s->opcode) || !dpa_connected(qp) || !qp_receives(qp) || !peer ||
	    !from_peer(qp, peer, s))
		return false;
	if (s->opcode == DPA_BTH_CNP)
		dpa_wire_cnp(qp);
	else
		dpa_probe_rx(qp, s, payload);
	return true;
}

/* IBA 9.6 (transport) */
void dpa_rx_any(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		const uint8_t *payload)
{
	if (dpa_unlikely(s->opcode == DPA_LINK_NO_QP)) {
		if (qp->type == DPA_QP_RC && dpa_hears(qp, peer, s) &&
		    (qp->state == DPA_QPS_RTS || qp->state == DPA_QPS_SQD) &&
		    dpa_psn_diff(s->psn, qp->req.una_psn) >= 0 &&
		    dpa_psn_diff(s->psn, qp->req.max_psn) < 0)
			dpa_req_lost(qp, DPA_SYN_TIMEOUT);
		return;
	}
	if (dpa_unlikely(s->opcode == DPA_LINK_LOOKED)) {
		dpa_looked_rx(qp, peer, s);
		return;
	}
	if (dpa_unlikely(s->opcode == DPA_LINK_ROOM)) {
		dpa_room_rx(qp, peer, s);
		return;
	}
	if (dpa_unlikely(s->opcode == DPA_LINK_ASK)) {
		if (qp_receives(qp) && peer && from_peer(qp, peer, s))
			dpa_ask_rx(qp, peer, s);
		else
			dpa_rx_drop(qp, peer, s);
		return;
	}
	if (dpa_unlikely(qp->xrcd) && peer && !peer->wire && !dpa_branch_rx(qp, peer, s)) {
		dpa_rx_drop(qp, peer, s);
		return;
	}
	if (dpa_unlikely((s->opcode & DPA_BTH_TRANSPORT) != qp->transport || !qp_receives(qp) ||
			 (dpa_connected(qp) && !from_peer(qp, peer, s)) || wrong_side(qp, s))) {
		if (!take_notice(qp, peer, s, payload))
			dpa_rx_drop(qp, peer, s);
		return;
	}
	if (dpa_unlikely(qp->slow.foreign) && dpa_room_refuses(qp, peer, s)) {
		dpa_count(qp->hw, DPA_CNT_rx_dropped, 1);
		return;
	}
	if (dpa_unlikely(qp->type == DPA_QP_RAW)) {
		qp->ops->receive_one(qp, s, payload);
		return;
	}
	if (dpa_op_props(s->opcode) & DPA_OPP_RESP) {
		if (dpa_unlikely(qp->type != DPA_QP_RC))
			return;
		dpa_completer_rx(qp, peer, s, payload);
		return;
	}
	if (dpa_unlikely(qp->state == DPA_QPS_RTR && !qp->comm_est)) {
		qp->comm_est = true; /* IBA 11.6.3.1 */
		dpa_qp_event(qp, DPA_EVENT_COMM_EST);
		dpa_grant(qp);
	}
	if (qp->type == DPA_QP_UD) {
		if ((dpa_op_props(s->opcode) & (DPA_OPP_SEND | DPA_OPP_START | DPA_OPP_END)) ==
		    (DPA_OPP_SEND | DPA_OPP_START | DPA_OPP_END))
			dpa_ud_rx(qp, s, payload);
		return;
	}
	dpa_responder_rx(qp, peer, s, payload);
}

DPA_STEP void rx_step(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload)
{
	const bool fast =
		!qp->slow.word && qp->transport == DPA_BTH_RC && peer && dpa_hears(qp, peer, s);

	if (fast && s->opcode == (DPA_BTH_RC | DPA_BTH_SEND_ONLY))
		dpa_responder_short(qp, peer, s, payload);
	else if (fast && s->opcode == (DPA_BTH_RC | DPA_BTH_ACK))
		dpa_completer_short(qp, peer, s, payload);
	else
		dpa_rx_any(qp, peer, s, payload);
}

/* The timeline's point of a packet that arrives, and the meter. */
static __attribute__((cold, noinline)) void rx_noted(struct dpa_hw_qp *qp, struct dpa_peer *peer,
						     const struct dpa_slot *s,
						     const uint8_t *payload)
{
	const uint64_t began = dpa_trace_begin();
	const uint32_t epsn = qp->resp.epsn, msn = qp->resp.msn;
	const uint32_t bytes = s->len;

	rx_step(qp, peer, s, payload);
	if (dpa_meters_are_on() && dpa_connected(qp) && epsn != qp->resp.epsn)
		dpa_qp_meter_rx(qp, (qp->resp.msn - msn) & DPA_PSN_MASK, bytes);
	if (began)
		dpa_trace_at(began, DPA_TRACE_RX, s->src, s->opcode, s->dqpn, s->psn, s->len,
			     (uint64_t)dpa_trace_since(began) << 32 | 1);
}

void dpa_transport_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload)
{
	if (dpa_trace_or_meters())
		rx_noted(qp, peer, s, payload);
	else
		rx_step(qp, peer, s, payload);
}

void dpa_transport_reset(struct dpa_hw_qp *qp)
{
	dpa_kept_drop(qp);
	dpa_np_forget(qp);
	qp->slow.cqe_lost = qp->slow.wait_timer = qp->slow.fence_sq = qp->slow.ask_due = false;
	memset(&qp->req, 0, sizeof(qp->req));
	qp->req.keeps = 1;
	if (qp->xrcd) {
		qp->srq = NULL;
		qp->recv_cq = NULL;
		qp->pdn = 0;
	}
	qp->resp.epsn = qp->resp.msn = 0;
	qp->resp.last_op = 0xff;
	qp->resp.nak_sent = qp->resp.have_wqe = qp->resp.ack_owed = qp->resp.ack_late = false;
	qp->resp.looked_due = qp->resp.hint_due = false;
	qp->resp.late_until = 0;
	qp->resp.full_due = qp->resp.room_due = qp->resp.refused = qp->resp.room_awaited = false;
	dpa_waits_no_more(qp);
	qp->resp.off = 0;
	qp->resp.tm.kind = 0;
	qp->resp.waiting_since = 0;
	qp->resp.patience_spent = false;
	qp->resp.from = DPA_FROM_UNKNOWN;
	qp->resp.again = 0;
	qp->resp.nak_strange = false;
	qp->id.row = 0;
	qp->id.straight = false;
	qp->resp.rd_head = qp->resp.rd_tail = 0;
	memset(qp->resp.rd, 0, sizeof(qp->resp.rd));
	for (uint32_t i = 0; i < DPA_MAX_RD_ATOMIC; i++)
		qp->resp.saved[i].opcode = DPA_LINK_NO_QP;
}
