/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * req_wire.h - how the packets of a requester leave for other hosts: how much of a message one
 * entry takes, which packets wait to be sent together, and what is sent first. Steps of
 * requester.c, under the lock of the QP.
 */
#ifndef DPA_REQ_WIRE_H
#define DPA_REQ_WIRE_H

#include "ctx/qp.h"
#include "link/udp/wire.h"
#include "transport/transport.h"

struct dpa_req_piece {
	uint32_t n; /* message bytes in this packet */
	bool pull, inslot;
};

/*
 * Cuts the next part for other hosts: as many whole packets as one datagram takes, directly from
 * the WQE's memory.
 */
static inline struct dpa_req_piece dpa_req_cut_wire(struct dpa_hw_qp *qp, uint32_t idx,
						    const struct dpa_wqe_ctrl *c, uint32_t left)
{
	uint32_t run = DPA_GSO_BYTES / (qp->mtu + 32);
	struct dpa_req_piece p = {.n = left};

	/*
	 * A packet that may wait in the ring for others is copied. A QP without outstanding packets
	 * does not wait. UC is complete once it is sent, and the program may then reuse the memory
	 * before the ring is emptied: so UC is copied, too.
	 */
	if (qp->type == DPA_QP_RC &&
	    left >= (qp->req.una_idx == idx ? DPA_WIRE_PULL_ALONE : DPA_WIRE_PULL_MIN))
		p.pull = !qp->slow.limited && !(c->flags & DPA_WQE_INLINE) &&
			 !dpa_wqe_careful(qp, idx, c);
	if (run > DPA_GSO_SEGS)
		run = DPA_GSO_SEGS;
	if (!p.pull)
		run = DPA_LANE_MTU / qp->mtu;
	if (qp->type == DPA_QP_RC) {
		uint32_t room = dpa_loss_room(qp, c->length);

		if (room && room < run)
			run = room;
	}
	if (left > run * qp->mtu)
		p.n = run * qp->mtu;
	if (qp->req.probing == 1 && p.n > qp->mtu)
		p.n = qp->mtu;
	return p;
}

#define DPA_REQ_LONE_MAX   (128u * 1024) /* longer messages are sent in segments */
#define DPA_REQ_CORK_SLOTS 32u		 /* waiting entries that are sent at the latest */
#define DPA_REQ_CORK_OUT   16		 /* packets in flight: their ACKs keep things moving */

/*
 * True if small messages of a QP that has others in flight may wait to be sent together: all that
 * follow in this call or the next ones go to the kernel at once. False while no thread polls: the
 * progress thread would have to be woken for them.
 */
static inline bool dpa_req_may_cork(const struct dpa_hw_qp *qp, const struct dpa_tx *tx, int n)
{
	const struct dpa_req *r = &qp->req;

	return n && qp->type == DPA_QP_RC && !r->pulled && !r->probing &&
	       tx->head - tx->tail < DPA_REQ_CORK_SLOTS &&
	       tx->dhead - tx->dtail < DPA_LANE_UNITS / 4 &&
	       dpa_psn_diff(r->send_psn, r->una_psn) - n >= DPA_REQ_CORK_OUT &&
	       !atomic_load_explicit(&qp->hw->sleep.service, memory_order_relaxed);
}

/* Sets how the link sends the packets of this call. Context: tx->lock. */
static inline void dpa_req_set_manner(const struct dpa_hw_qp *qp, struct dpa_tx *tx, uint32_t pi)
{
	const struct dpa_req *r = &qp->req;
	const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, r->send_idx);

	/* A program that requests completions waits for ACKs, and so does its peer. */
	tx->together = c->flags & DPA_WQE_SIGNALED || dpa_owes_ack(qp);
	/* Alone in the SQ: the program waits for this message. */
	tx->piece = r->una_idx == r->send_idx && !r->send_off && pi - r->send_idx == c->nbb &&
				    c->length <= DPA_REQ_LONE_MAX
			    ? DPA_WIRE_PIECE
			    : 0;
}

/*
 * Sends a pending ACK ahead of the program's packets: these may be the answer to the acknowledged
 * message, and the peer's program gets the CQE of its message first. Behind a single packet the ACK
 * is in the same datagram, from which the receiver takes it first (udp/rx.c); it must not be longer
 * than that packet.
 */
static inline void dpa_req_ack_ahead(struct dpa_hw_qp *qp, struct dpa_tx *tx, uint32_t pi)
{
	const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, qp->req.send_idx);
	bool single = pi - qp->req.send_idx == c->nbb && c->length && c->length <= qp->mtu;

	if (dpa_owes_ack(qp) && !(single && dpa_wire_joins(tx)))
		dpa_responder_join(qp);
}

#endif
