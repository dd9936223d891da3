/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* way.c - the ring on which the packets of a QP leave. */
#include "ctx/schedule.h"
#include "direct/direct.h"
#include "link/kick.h"
#include "link/udp/wire.h"
#include "send/send.h"

void dpa_tx_full(struct dpa_hw_qp *qp, struct dpa_tx *tx)
{
	atomic_store_explicit(&tx->shm->wants_space, 1, memory_order_relaxed);
	dpa_count(qp->hw, DPA_CNT_ring_full, 1);
	dpa_schedule(qp, 0);
}

void dpa_show_link(struct dpa_hw_qp *qp)
{
	const struct dpa_peer *p = qp->peer;

	if (!qp->info)
		return;
	if (p->wire)
		qp->info->link = 3;
	else
		qp->info->link = (p->slot == qp->hw->board->slot ? 1 : 2) |
				 (p->can_pull ? 0 : DPA_BOARD_NO_COPY);
}

/* Answers use the ring of the QP's own packets. */
bool dpa_have_tx(struct dpa_hw_qp *qp)
{
	if (dpa_likely(qp->tx &&
		       atomic_load_explicit(&qp->peer->state, memory_order_relaxed) == DPA_PEER_UP))
		return true;
	if (!qp->peer)
		qp->peer = qp->pkt_flags ? dpa_remote_get(qp->hw, qp->ctx->port, &qp->attr.av)
					 : dpa_peer_of_qpn(qp->hw, qp->dest_qpn);
	if (!qp->peer)
		return false;
	if (atomic_load_explicit(&qp->peer->state, memory_order_acquire) == DPA_PEER_UP) {
		qp->tx = &qp->peer->tx[qp->lane];
		if (!qp->peer->wire)
			dpa_in_step(qp);
		dpa_show_link(qp);
		return true;
	}
	if (atomic_load_explicit(&qp->peer->state, memory_order_acquire) == DPA_PEER_CONNECTING) {
		dpa_peer_of_qpn(qp->hw, qp->dest_qpn);
		dpa_schedule(qp, dpa_now_ns() + 5000000);
	}
	return false;
}

bool dpa_send_cnp(struct dpa_hw_qp *qp)
{
	uint32_t unsent = 0;
	struct dpa_tx *tx;
	struct dpa_slot *s;
	uint8_t *data;

	if (!dpa_have_tx(qp))
		return false;
	tx = qp->tx;
	dpa_spin_lock(&tx->lock);
	s = dpa_pkt_begin(qp, tx, DPA_BTH_CNP, qp->dest_qpn, 0, 0, 0, &data);
	if (s) {
		s->flags |= DPA_PKT_INSLOT;
		dpa_lane_publish(tx, s);
		if (qp->peer->wire)
			unsent = dpa_wire_flush(tx, UINT32_MAX, &unsent);
	}
	dpa_spin_unlock(&tx->lock);
	if (s && !qp->peer->wire)
		dpa_tx_owe_kick(tx, qp->hw);
	return s && !unsent;
}
