/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * req_peer.c - finds the peer of a requester, and ends requests without an answer: if the peer
 * died, if it is silent, if the QP is in error.
 */
#include "ctx/schedule.h"
#include "util/clock.h"
#include "transport/xrc_branch.h"
#include "link/fds.h"
#include "link/peer.h"
#include "link/udp/wire.h"
#include "transport/api.h"
#include "transport.h"

#define DEAD_NS 100000000ull

static bool is_refused(const struct dpa_hw_qp *qp)
{
	return atomic_load_explicit(&qp->peer->no_fds, memory_order_relaxed) !=
	       qp->meet.no_fds_seen;
}

/* An earlier refusal is no answer to this QP's attempt. */
static void begin_to_meet(struct dpa_hw_qp *qp)
{
	if (qp->meet.peer == qp->peer)
		return;
	qp->meet.peer = qp->peer;
	qp->meet.no_fds_seen = atomic_load_explicit(&qp->peer->no_fds, memory_order_relaxed);
}

bool dpa_resolve(struct dpa_hw_qp *qp)
{
	struct dpa_peer *p = qp->peer;
	uint32_t state;

	if (!p) {
		p = qp->pkt_flags ? dpa_remote_get(qp->hw, qp->ctx->port, &qp->attr.av)
				  : dpa_near_peer(qp);
		if (!p) {
			dpa_no_peer(qp);
			return false;
		}
		qp->peer = p;
		qp->meet.peer = NULL;
		qp->step.known = qp->step.maybe = 0; /* they were of another peer */
	}
	state = atomic_load_explicit(&p->state, memory_order_acquire);
	if (dpa_likely(state == DPA_PEER_UP)) {
		qp->tx = &p->tx[qp->lane];
		qp->meet.peer = NULL;
		qp->req.dead_at = 0; /* it was for another peer */
		if (!p->wire)
			dpa_in_step(qp); /* while nothing was sent this is known at once */
		dpa_show_link(qp);
		return true;
	}
	if (state == DPA_PEER_DEAD) {
		dpa_requester_peer_dead(qp);
		return false;
	}
	begin_to_meet(qp);
	if (dpa_near_peer(qp) != p) { /* the attempt to connect goes on */
		/*
		 * The QPN belongs to another process now. This peer may never answer, and its end
		 * may not be seen.
		 */
		qp->peer = NULL;
		dpa_req_lost(qp, DPA_SYN_TIMEOUT);
		return false;
	}
	if (is_refused(qp)) {
		qp->meet.peer = NULL; /* the next attempt starts from the beginning */
		dpa_no_fds(qp);
		return false;
	}
	dpa_schedule(qp, dpa_now_ns() + 5000000); /* its hello brings this forward */
	return false;
}

/*
 * True once a peer is dead for long enough. A peer that ended looks like one that cannot be
 * reached: the retries are used up first, within 0.1 s. Programs end while packets that they do not
 * need are on the way to them (ibv_srq_pingpong). The other program has its completions by then,
 * and must not get an error before it had time to poll them.
 */
static bool was_dead_long(struct dpa_hw_qp *qp)
{
	uint64_t now = dpa_now_ns(), one = dpa_timeout_ns(qp->attr.timeout), all = DEAD_NS;
	struct dpa_req *r = &qp->req;

	if (one < DEAD_NS / (qp->retry_cnt + 1u))
		all = one * (qp->retry_cnt + 1u);
	if (!r->dead_at)
		r->dead_at = now;
	if (now - r->dead_at >= all)
		return true;
	dpa_rewind(qp, r->una_psn);
	dpa_req_wait(qp, r->dead_at + all - now, false);
	return false;
}

void dpa_requester_peer_dead(struct dpa_hw_qp *qp)
{
	uint32_t pi;

	if (qp->state != DPA_QPS_RTS && qp->state != DPA_QPS_SQD)
		return;
	if (qp->type == DPA_QP_UC) { /* sent without a receiver: complete */
		dpa_req_lost(qp, DPA_SYN_PEER_DEAD);
		return;
	}
	if (qp->type != DPA_QP_RC || !qp->dbrec || dpa_turn_ends(qp))
		return; /* an XRC target sends no requests */
	pi = __atomic_load_n(&qp->dbrec->sq_pi, __ATOMIC_ACQUIRE);
	if (qp->req.una_idx != pi && was_dead_long(qp))
		dpa_req_fail(qp, DPA_CQE_RETRY_EXC_ERR, DPA_SYN_PEER_DEAD);
}

/*
 * On a link that loses nothing an answer is missing for ever in two cases: the peer's QP was
 * destroyed while it was pending, or there was no room to report that there is no such QP. So sends
 * again from the oldest request if nothing moved between two checks, and if both ends have taken
 * everything that the other one sent. A stopped peer takes nothing, so this does not apply to it.
 * True: requests are on the way, check again.
 */
bool dpa_requester_watchdog(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;
	struct dpa_peer *p = qp->peer;
	bool stuck;

	/* Sent before the peer published that packets to it may be lost. */
	if (dpa_lossy(qp) && !r->ack_at && !qp->slow.wait_timer &&
	    (qp->state == DPA_QPS_RTS || qp->state == DPA_QPS_SQD))
		dpa_loss_arm(qp);
	stuck = (qp->state == DPA_QPS_RTS || qp->state == DPA_QPS_SQD) && qp->tx && p &&
		!dpa_lossy(qp) && !qp->slow.wait_timer &&
		dpa_psn_diff(r->max_psn, r->una_psn) > 0 &&
		atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_UP &&
		atomic_load_explicit(&qp->tx->shm->tail, memory_order_acquire) ==
			__atomic_load_n(&qp->tx->head, __ATOMIC_RELAXED);

	for (uint32_t i = 0; stuck && i < DPA_LANES; i++)
		stuck = !dpa_lane_ready(&p->rx[i]);
	if (stuck && r->seen_stuck && r->seen_una == r->una_psn + r->read_off) {
		dpa_rewind(qp, r->una_psn);
		qp->slow.ask_due = true;
		dpa_requester_run(qp);
		stuck = false;
	}
	r->seen_stuck = stuck;
	r->seen_una = r->una_psn + r->read_off;
	return dpa_psn_diff(r->max_psn, r->una_psn) > 0;
}
