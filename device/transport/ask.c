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
 * Neither word is an IBA packet: they are not captured and never on a wire.
 */
#include "ctx/qp.h"
#include "link/kick.h"
#include "transport/api.h"
#include "transport.h"

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
static bool put_word(struct dpa_hw_qp *qp, struct dpa_tx *tx, uint8_t opcode, uint32_t psn,
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
	if (!put_word(qp, tx, DPA_LINK_ASK, r->una_psn, qp->ask_serial)) {
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
	if (r->hint_due && put_word(qp, tx, DPA_LINK_LOOKED, 0, 0)) {
		r->hint_due = false;
		sent = true;
	}
	if (r->looked_due && !owes && put_word(qp, tx, DPA_LINK_LOOKED, 0, r->looked)) {
		r->looked_due = false;
		sent = true;
	}
	if (sent)
		dpa_tx_owe_kick(tx, qp->hw);
	/* a pending answer has scheduled the QP already */
	if (r->hint_due || (r->looked_due && !owes))
		dpa_tx_full(qp, tx);
}
