/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "ctx/qp.h"
#include "link/peer.h"
#include "send/req_state.h"

/* True if a READ or atomic has to wait for others, as in send_request(). */
static bool too_many_reads(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	const struct dpa_req *r = &qp->req;
	uint32_t off = r->send_off;

	if (!dpa_op_answers(c->opcode))
		return false;
	if (dpa_op_is_read(c->opcode) && !off && r->send_idx == r->una_idx)
		off = r->read_off;
	if (r->una_idx == r->send_idx && off <= r->read_off)
		return !qp->attr.max_rd_atomic; /* no other is outstanding */
	return r->rd_out >= qp->attr.max_rd_atomic;
}

/* True if the next packet waits for the peer, or for the thread that set SQD: see send_step(). */
static bool held_back(const struct dpa_hw_qp *qp)
{
	const struct dpa_req *r = &qp->req;
	const struct dpa_wqe_ctrl *c;
	bool lossy;

	if (!dpa_connected(qp))
		return qp->slow.fence_sq;
	c = dpa_wqe_ctrl(qp, r->send_idx);
	lossy = qp->type == DPA_QP_RC && dpa_lossy(qp);
	if (!r->send_off) {
		if (qp->slow.fence_sq && !qp->part.begun &&
		    dpa_psn_diff(r->send_psn, r->max_psn) >= 0)
			return true;
		if ((c->flags & DPA_WQE_FENCE && r->rd_out) ||
		    !dpa_fits_window(qp, dpa_wqe_psns(qp, c)))
			return true;
		if (lossy && !dpa_has_credit(qp, c))
			return true;
	}
	if (c->opcode == DPA_OP_LOCAL_INV || c->opcode == DPA_OP_BIND_MW)
		return r->una_idx != r->send_idx;
	if (lossy && r->probing != 1 && dpa_loss_full(qp, c->length))
		return true;
	return too_many_reads(qp, c);
}

/*
 * True if the link can take a packet. A peer that is not resolved yet counts as able; each UD peer
 * has a ring of its own.
 */
static bool link_takes(const struct dpa_hw_qp *qp)
{
	const struct dpa_tx *tx = qp->tx;

	if (!dpa_connected(qp))
		return true;
	if (qp->peer && atomic_load_explicit(&qp->peer->state, memory_order_relaxed) != DPA_PEER_UP)
		return false;
	return !tx || (!atomic_load_explicit(&tx->shm->wants_space, memory_order_relaxed) &&
		       __atomic_load_n(&tx->head, __ATOMIC_RELAXED) -
				       atomic_load_explicit(&tx->shm->tail, memory_order_relaxed) <
			       DPA_LANE_SLOTS);
}

enum dpa_req_state dpa_req_state(const struct dpa_hw_qp *qp)
{
	const struct dpa_req *r = &qp->req;
	uint32_t pi;

	if (qp->state == DPA_QPS_ERR || qp->state == DPA_QPS_SQE)
		return DPA_REQ_ERR;
	if (!qp->dbrec || (qp->state != DPA_QPS_RTS && qp->state != DPA_QPS_SQD))
		return DPA_REQ_IDLE; /* an XRC target sends no requests; other QPs may not yet */
	if (qp->slow.wait_timer)
		return DPA_REQ_TIMER;
	pi = dpa_sq_pi(qp);
	if (r->una_idx == pi)
		return DPA_REQ_IDLE;
	if (r->send_idx == pi || held_back(qp))
		return DPA_REQ_WAITING;
	return link_takes(qp) ? DPA_REQ_SENDING : DPA_REQ_PENDED;
}

const char *dpa_req_state_name(enum dpa_req_state st)
{
	static const char *const names[DPA_REQ_STATES] = {
		[DPA_REQ_IDLE] = "IDLE",       [DPA_REQ_SENDING] = "SENDING",
		[DPA_REQ_WAITING] = "WAITING", [DPA_REQ_PENDED] = "PENDED",
		[DPA_REQ_TIMER] = "TIMER",     [DPA_REQ_ERR] = "ERR"};

	return names[st];
}
