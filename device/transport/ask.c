/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ask.c - how an RC requester finds out, on a link that loses nothing, that no answer will come.
 *
 * No timer runs there, because a peer that is slow, stopped or not scheduled answers later. But a
 * responder answers some requests with a useless response (an ACK for a PSN that was never sent, a
 * NAK for one that is complete), and ignores others. A requester ignores responses of the wrong
 * size. So the requester asks:
 *
 *   requester                                   responder
 *   QUIET --a response changed nothing,
 *           the peer hints, the watchdog,
 *           or a retry was sent--> DUE
 *   DUE --all of the oldest WQE was sent:
 *         ASK, behind it in the ring--> ASKED   all before ASK was processed; no answer is
 *                                               pending: LOOKED, behind all answers in the ring
 *                                               an answer is pending, or there is no room:
 *                                               LOOKED is pending, behind that answer
 *                                               no QP takes it: NO_QP
 *   ASKED --LOOKED, the oldest WQE is the same
 *           or one sent before ASK--> a retry is used (dpa_req_lost): TIMER, then DUE
 *   ASKED --LOOKED, else--> QUIET
 *   ASKED --NO_QP, the oldest WQE is the same--> a retry is used: TIMER, then DUE
 *   ASKED, DUE --sending starts again at an earlier PSN--> DUE or QUIET
 *
 * Rings keep the order, so LOOKED comes behind every answer to a request before ASK. A WQE that is
 * outstanding then was processed, and dropped on one of the two sides. A peer that does not process
 * its ring does not answer ASK. ASK carries the PSN of the oldest WQE; its NO_QP returns it. A hint
 * needs no order: it is sent after the batch, one for all dropped requests.
 *
 * A QP that receives into memory which the CPU does not address (foreign/foreign.h) has a window for it.
 * A request that finds no room there must not stay at the front of the ring, for packets of other
 * QPs lie behind it:
 *
 *   responder                                   requester
 *   no room for the request of epsn:
 *   it and those behind it are dropped,
 *   ROOM (0) ---------------------------------> SENDING -> TIMER, back at that PSN
 *   half of the window is free:
 *   ROOM (1) ---------------------------------> TIMER -> SENDING
 *
 * It costs no retry, acknowledges nothing, and is sent although ACKs are held back. The timer of
 * ROOM_NS is for a ROOM (1) that was lost with the responder's process.
 *
 * None of these words is an IBA packet: they are not captured and never on a wire.
 */
#include "ctx/qp.h"
#include "foreign/foreign.h"
#include "link/kick.h"
#include "transport/api.h"
#include "transport.h"

#define ROOM_NS 250000000ull

static bool asks_outstanding(const struct dpa_hw_qp *qp)
{
	return dpa_psn_diff(qp->req.max_psn, qp->req.una_psn) > 0;
}

static bool connected_to(const struct dpa_hw_qp *qp, const struct dpa_peer *peer,
			 const struct dpa_slot *s)
{
	return qp->type == DPA_QP_RC && peer && !peer->wire && dpa_hears(qp, peer, s);
}

static bool is_sending(const struct dpa_hw_qp *qp)
{
	return qp->state == DPA_QPS_RTS || qp->state == DPA_QPS_SQD;
}

/* Puts a word on the ring that the QP's packets use. False: no room. */
static bool put_word_entry(struct dpa_hw_qp *qp, struct dpa_tx *tx, uint8_t opcode, uint32_t psn,
			   uint32_t serial)
{
	struct dpa_slot *s;

	dpa_spin_lock(&tx->lock);
	s = dpa_pkt_begin(qp, tx, opcode, qp->dest_qpn, psn, 0, 0, NULL);
	if (s) {
		s->flags = 0;
		((struct dpa_ext *)s->ext)->serial = serial;
		dpa_lane_publish(tx, s);
	}
	dpa_spin_unlock(&tx->lock);
	return s;
}

/* ------------------------------------------------------------- the requester */

void dpa_ask(struct dpa_hw_qp *qp)
{
	if (qp->type == DPA_QP_RC && is_sending(qp) && !qp->pkt_flags && !dpa_lossy(qp) &&
	    asks_outstanding(qp))
		qp->slow.ask_due = true;
}

void dpa_ask_send(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;
	struct dpa_tx *tx = qp->tx;

	if (qp->type != DPA_QP_RC || !asks_outstanding(qp) || qp->pkt_flags || dpa_lossy(qp)) {
		qp->slow.ask_due = r->asked = false;
		return;
	}
	/* the next packet in either direction calls this again */
	if (r->asked || qp->slow.wait_timer || r->una_idx == r->send_idx || !tx ||
	    atomic_load_explicit(&qp->peer->state, memory_order_relaxed) != DPA_PEER_UP)
		return;
	qp->ask_serial += qp->ask_serial == UINT32_MAX ? 2 : 1;
	if (!put_word_entry(qp, tx, DPA_LINK_ASK, r->una_psn, qp->ask_serial)) {
		dpa_tx_full(qp, tx);
		return;
	}
	dpa_tx_posted(tx, qp->hw);
	qp->slow.ask_due = false;
	r->asked = true;
	r->ask_psn = r->send_psn;
}

/* True if all of the oldest WQE was sent before ASK. */
static bool was_looked_at(const struct dpa_hw_qp *qp)
{
	const struct dpa_req *r = &qp->req;
	uint32_t end;

	if (!asks_outstanding(qp) || r->una_idx == r->send_idx)
		return false;
	end = dpa_psn_add(r->una_psn, dpa_wqe_psns(qp, dpa_wqe_ctrl(qp, r->una_idx)));
	return dpa_psn_diff(end, r->ask_psn) <= 0;
}

/* IBA 9.7.6 (no-answer) */
void dpa_looked_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s)
{
	const uint32_t serial = ((const struct dpa_ext *)s->ext)->serial;
	struct dpa_req *r = &qp->req;

	if (!connected_to(qp, peer, s) || !is_sending(qp))
		return;
	if (!serial) { /* a hint */
		dpa_ask(qp);
	} else if (r->asked && serial == qp->ask_serial) {
		r->asked = false;
		/*
		 * If packets may be lost now, some may still be on the way: the timer handles this
		 * case.
		 */
		if (!qp->slow.wait_timer && !dpa_lossy(qp) && was_looked_at(qp))
			dpa_req_lost(qp, DPA_SYN_TIMEOUT);
	}
	if (qp->slow.ask_due && is_sending(qp))
		dpa_requester_run(qp);
}

/* The PSN is one of those that are outstanding: so much was sent, and it is not acknowledged. */
static bool is_outstanding(const struct dpa_req *r, uint32_t psn)
{
	return dpa_psn_diff(psn, r->una_psn) >= 0 && dpa_psn_diff(psn, r->max_psn) < 0;
}

void dpa_room_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s)
{
	const bool room = ((const struct dpa_ext *)s->ext)->serial != 0;
	struct dpa_req *r = &qp->req;

	if (!connected_to(qp, peer, s) || !is_sending(qp) || !is_outstanding(r, s->psn))
		return;
	if (!room && !qp->slow.wait_timer) { /* RNR, a retry: it comes again behind those */
		dpa_rewind(qp, s->psn);
		dpa_req_wait(qp, ROOM_NS, true);
		r->timer_is_room = true;
	} else if (room && qp->slow.wait_timer && r->timer_is_room) {
		qp->slow.wait_timer = false;
		dpa_requester_run(qp);
	}
}

/* ------------------------------------------------------------- the responder */

static bool is_up(const struct dpa_peer *peer)
{
	return atomic_load_explicit(&peer->state, memory_order_acquire) == DPA_PEER_UP;
}

void dpa_ask_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s)
{
	if (!connected_to(qp, peer, s) || !is_up(peer))
		return;
	qp->resp.looked = ((const struct dpa_ext *)s->ext)->serial;
	qp->resp.looked_due = true;
	dpa_responder_flush(qp);
}

void dpa_ask_hint(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	if (!qp->pkt_flags && connected_to(qp, qp->peer, s) && is_up(qp->peer))
		qp->resp.hint_due = true;
}

void dpa_looked_send(struct dpa_hw_qp *qp)
{
	struct dpa_resp *r = &qp->resp;
	struct dpa_peer *peer = qp->peer;
	struct dpa_tx *tx;
	bool owes = r->ack_owed || r->rd_tail != r->rd_head, sent = false;

	if (!peer || peer->wire || !is_up(peer)) { /* the peer that it was for is gone */
		r->hint_due = r->looked_due = false;
		return;
	}
	tx = &peer->tx[qp->lane];
	if (r->hint_due && put_word_entry(qp, tx, DPA_LINK_LOOKED, 0, 0)) {
		r->hint_due = false;
		sent = true;
	}
	if (r->looked_due && !owes && put_word_entry(qp, tx, DPA_LINK_LOOKED, 0, r->looked)) {
		r->looked_due = false;
		sent = true;
	}
	if (sent)
		dpa_tx_owe_kick(tx, qp->hw);
	/* a pending answer has scheduled the QP already */
	if (r->hint_due || (r->looked_due && !owes))
		dpa_tx_full(qp, tx);
}

/* Requests of a QP that is told when there is room. XRC targets and others wait in the ring. */
static bool is_told(const struct dpa_hw_qp *qp, const struct dpa_peer *peer,
		    const struct dpa_slot *s)
{
	const uint16_t p = dpa_op_props(s->opcode);

	return qp->type == DPA_QP_RC && qp->transport == DPA_BTH_RC && !qp->pkt_flags &&
	       !dpa_lossy(qp) && peer && !peer->wire && is_up(peer) &&
	       (s->opcode & DPA_BTH_TRANSPORT) == DPA_BTH_RC && p & DPA_OPP_VALID &&
	       !(p & DPA_OPP_RESP);
}

/*
 * A response has room: that of a READ into such memory was asked for with regard to it, others need
 * none. Of a QP that leaves it is dropped.
 */
static bool is_response_entry(const struct dpa_slot *s)
{
	return dpa_op_props(s->opcode) & DPA_OPP_RESP;
}

bool dpa_room_waits(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s)
{
	return s->len && !dpa_foreign_room(qp, s->len) && !is_told(qp, peer, s) &&
	       !is_response_entry(s);
}

bool dpa_room_refuses(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s)
{
	const int32_t ahead = dpa_psn_diff(s->psn, qp->resp.epsn);
	struct dpa_resp *r = &qp->resp;

	if (!is_told(qp, peer, s) && is_response_entry(s) && peer && !peer->wire && !dpa_lossy(qp))
		return s->len && qp->fq->leaving;
	if (!is_told(qp, peer, s))
		return s->len && !dpa_foreign_room(qp, s->len); /* off a wire: it comes again */
	if (ahead)
		return ahead > 0 && r->refused;
	r->refused = s->len && !dpa_foreign_room(qp, s->len);
	r->full_due = r->room_awaited = r->refused;
	r->room_due = false;
	return r->refused;
}

void dpa_room_send(struct dpa_hw_qp *qp)
{
	struct dpa_resp *r = &qp->resp;
	struct dpa_peer *peer = qp->peer;
	struct dpa_tx *tx;
	bool sent = false;

	if (!peer || peer->wire || !is_up(peer)) {
		r->full_due = r->room_due = false;
		return;
	}
	tx = &peer->tx[qp->lane];
	if (r->full_due && put_word_entry(qp, tx, DPA_LINK_ROOM, r->epsn, 0)) {
		r->full_due = false;
		sent = true;
	}
	if (r->room_due && !r->full_due && put_word_entry(qp, tx, DPA_LINK_ROOM, r->epsn, 1)) {
		r->room_due = false;
		sent = true;
	}
	if (sent)
		dpa_tx_owe_kick(tx, qp->hw);
	if (r->full_due || r->room_due)
		dpa_tx_full(qp, tx);
}
