/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gsi_unread.c - completions of a connection that the program has not polled yet when its peer ends
 * it.
 */
#include "ctx/cq.h"
#include "ctx/qp.h"
#include "link/peer.h"
#include "gsi/endpoint.h"
#include "link/frame.h"
#include "link/udp/wire.h"
#include "link/udp/udp.h"
#include "eu/peer_end.h"
#include "link/udp/forward.h"

#define WIRE_PACKETS 1024 /* bound for a peer that goes on sending: a lock is held */

/*
 * Takes in the completions of the peer's last messages, and of local messages that it acknowledged.
 */
void dpa_hw_gsi_take_in(struct dpa_hw_gsi *g)
{
	struct dpa_hw *hw = g->hw;

	if (!dpa_gsi_alive(g))
		return;
	dpa_peers_drain(hw);
	if (!dpa_udp_receives(hw->udp))
		return;
	for (int n = 0, now = 1; now > 0 && n < WIRE_PACKETS; n += now)
		now = dpa_udp_rx(hw) + dpa_fwd_rx(hw);
}

/*
 * For an id without a QP of its own: UCX gives the messages of the CM the number of a QP that it
 * destroys, and connects another QP itself. Any connected QP of the process can be that one.
 */
static bool any_unread(struct dpa_hw *hw)
{
	const uint32_t n = atomic_load_explicit(&hw->qps.nslab, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		const struct dpa_hw_qp *qp = hw->qps.slab[i];

		if (qp->qpn && qp->type == DPA_QP_RC &&
		    __atomic_load_n(&qp->state, __ATOMIC_RELAXED) == DPA_QPS_RTS &&
		    ((qp->send_cq && dpa_cq_unread(qp->send_cq)) ||
		     (qp->recv_cq && dpa_cq_unread(qp->recv_cq))))
			return true;
	}
	return false;
}

bool dpa_hw_gsi_unread(struct dpa_hw_gsi *g, uint32_t qpn)
{
	struct dpa_hw *hw = g->hw;
	struct dpa_hw_qp *qp;
	bool has = false;

	if (!dpa_gsi_alive(g))
		return false;
	pthread_mutex_lock(&hw->ctl); /* keeps the QP and its CQs */
	qp = atomic_load_explicit(&hw->qps.tab[qpn & DPA_QPN_INDEX], memory_order_acquire);
	if (qp && qp->qpn == qpn && dpa_connected(qp))
		has = (qp->send_cq && dpa_cq_has(qp->send_cq, qpn)) ||
		      (qp->recv_cq && dpa_cq_has(qp->recv_cq, qpn));
	else
		has = any_unread(hw);
	pthread_mutex_unlock(&hw->ctl);
	return has;
}
