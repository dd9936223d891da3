/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * leave.c - the WQEs posted to an unreliable QP are sent before the QP is destroyed, as an adapter
 * has done by then. They may not have left yet because the connection to the peer has just begun,
 * or because one call sends a limited number.
 * Best effort for LEAVE_NS: a stopped peer does not delay the destruction of a QP for longer, nor
 * the destruction of all QPs of a context together. It does not delay that of further QPs at all
 * until it takes something.
 */
#include "cmd/leave.h"
#include "link/kick.h"
#include "transport/api.h"
#include "eu/progress.h"
#include "transport/transport.h"

#define LEAVE_NS 1000000000u /* time for posted WQEs to leave */

/* True if a part of the WQEs of an unacknowledged QP has not left. Context: the QP's lock. */
static bool is_unsent(const struct dpa_hw_qp *qp)
{
	return qp->type != DPA_QP_RC && qp->state == DPA_QPS_RTS && qp->dbrec && qp->sq &&
	       qp->req.send_idx != __atomic_load_n(&qp->dbrec->sq_pi, __ATOMIC_ACQUIRE);
}

/*
 * Sends a part, which does more without waiting in the next call. False: something is left.
 * Context: the QP's lock.
 */
static bool send_rest(struct dpa_hw_qp *qp)
{
	uint32_t was;

	qp->leaving = true;
	while (is_unsent(qp)) {
		was = qp->req.send_idx;
		dpa_requester_run(qp);
		if (qp->req.send_idx == was)
			return !is_unsent(qp);
	}
	return true;
}

/*
 * Returns the peer that delays the QP; NULL: none that can be shown to have taken nothing. Context:
 * the QP's lock.
 */
static struct dpa_peer *held_by(const struct dpa_hw_qp *qp)
{
	struct dpa_peer *p = dpa_connected(qp) ? qp->peer : qp->ud.held_by;

	return p && !p->wire ? p : NULL;
}

static void log_unsent(struct dpa_hw *hw, uint32_t qpn)
{
	dpa_log(hw, DPA_LOG_INFO,
		"QP 0x%06x: destroyed with work requests that could not be sent within %u ms", qpn,
		LEAVE_NS / 1000000);
}

/*
 * Waits until *end, which is set at the first wait. Does nothing if the QP no longer belongs to ctx
 * (NULL: any context), or has used up its time. Context: no lock held.
 */
static void leave_until(struct dpa_hw *hw, struct dpa_hw_qp *qp, const struct dpa_hw_ctx *ctx,
			uint64_t *end)
{
	bool done, spent, late = false;
	uint64_t began = 0, now;
	struct dpa_peer *p;
	uint32_t n = 0, qpn;

	dpa_qplock_lock(&qp->lock);
	done = qp->leaving || (ctx && (!qp->qpn || qp->ctx != ctx));
	dpa_qp_leave(qp);
	while (!done) {
		dpa_qplock_lock(&qp->lock);
		done = send_rest(qp);
		qpn = qp->qpn;
		p = held_by(qp);
		spent = p && dpa_peer_is_spent(p);
		dpa_qp_leave(qp);
		if (dpa_likely(done) || late)
			return;
		now = dpa_now_ns();
		began = began ? began : now;
		*end = *end ? *end : began + LEAVE_NS;
		late = spent || now >= *end;
		if (late)
			log_unsent(hw, qpn);
		if (late && p && now - began >= LEAVE_NS) /* WQEs for other peers still leave */
			atomic_store_explicit(&p->left_at, dpa_peer_taken(p), memory_order_relaxed);
		dpa_progress_once(hw);
		dpa_relax(&n);
	}
}

void dpa_qp_leave_out(struct dpa_hw_qp *qp)
{
	uint64_t end = 0;

	leave_until(qp->hw, qp, NULL, &end);
}

void dpa_qps_leave_out(struct dpa_hw_ctx *ctx)
{
	struct dpa_hw *hw = ctx->hw;
	const uint32_t n = atomic_load_explicit(&hw->qps.nslab, memory_order_acquire);
	uint64_t end = 0;

	for (uint32_t i = 0; i < n; i++)
		leave_until(hw, hw->qps.slab[i], ctx, &end);
}
