/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Work that was posted to an unreliable QP is sent before the QP ends, as an adapter has done by
 * then: the peer may be one that this process has just begun to meet, or there was more than one
 * call sends. The best that can be done in LEAVE_NS: a peer that is stopped does not hold up the
 * end of a QP for longer, the end of all QPs of a context together neither, and the end of further
 * QPs not at all until it takes something.
 */
#include "cmd/leave.h"
#include "link/kick.h"
#include "transport/api.h"
#include "eu/progress.h"
#include "transport/transport.h"

#define LEAVE_NS 1000000000u /* what was posted has so long to leave */

/* Under the QP's lock: some of what was posted to a QP that nobody acknowledges has not left. */
static bool is_unsent(const struct dpa_hw_qp *qp)
{
	return qp->type != DPA_QP_RC && qp->state == DPA_QPS_RTS && qp->dbrec && qp->sq &&
	       qp->req.send_idx != __atomic_load_n(&qp->dbrec->sq_pi, __ATOMIC_ACQUIRE);
}

/* Under the QP's lock: false if something is left. A call sends a part, but goes on at once. */
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

/* Under the QP's lock. NULL: none that can be told to have taken nothing. */
static struct dpa_peer *held_by(const struct dpa_hw_qp *qp)
{
	struct dpa_peer *p = dpa_connected(qp) ? qp->peer : qp->held_by;

	return p && !p->wire ? p : NULL;
}

static void say_unsent(struct dpa_hw *hw, uint32_t qpn)
{
	dpa_log(hw, DPA_LOG_INFO,
		"QP 0x%06x: destroyed with work requests that could not be sent within %u ms", qpn,
		LEAVE_NS / 1000000);
}

/*
 * Until *end, which is set when something has to be waited for first. The caller holds no lock. Not
 * if the QP is not ctx's any more (NULL: whosever), or has had its time.
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
			say_unsent(hw, qpn);
		if (late && p && now - began >= LEAVE_NS) /* what is for others goes yet */
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
	const uint32_t n = atomic_load_explicit(&hw->nslab, memory_order_acquire);
	uint64_t end = 0;

	for (uint32_t i = 0; i < n; i++)
		leave_until(hw, hw->slab[i], ctx, &end);
}
