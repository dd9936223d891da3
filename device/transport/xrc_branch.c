/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * xrc_branch.c - XRC targets that take receives of other processes' SRQs.
 *
 * A target is in the process that created it. An initiator on this board looks up the process of
 * the SRQ that a message names, and sends the message there. Each process whose SRQs a target uses
 * has a replica of the target (a branch): a responder of the same QPN with that process's keys and
 * CQs. So no message passes through a third process, and a message depends only on the processes
 * that it concerns and on the target's.
 *
 * The order of an RC connection is that of its initiator, which switches to another process only
 * when everything it sent before is complete. The first message of an ownership epoch (a turn)
 * carries the number of the epoch: the responder there begins at its PSN. There are two exceptions
 * in the target's own process (DPA_TURN_KEEPS). In the initiator's first epoch the PSNs must be
 * those that the target was set up with. An epoch may also begin again after a part of it was
 * acknowledged. A ring neither loses nor reorders, and a message that is sent again in the same
 * epoch reaches the same responder.
 *
 *   IN TURN --next message is for another process--> WAITING --all complete--> IN TURN (number + 1)
 *   IN TURN --"no such QP"--> IN TURN (number + 1): the replica may be a new one
 *
 * The target's own process publishes the target's state on the board (struct dpa_board_qpinfo). A
 * replica reads it at each request, so that it ends with its target. The service thread creates
 * replicas when the first packet comes; that packet waits in its ring.
 *
 * Initiators on other boards and hosts send everything to the target's process: they reach its SRQs
 * only.
 */
#include <errno.h>
#include <stdlib.h>
#include "ctx/schedule.h"
#include "ctx/xrc.h"
#include "send/turn.h"
#include "transport/xrc_branch.h"
#include "link/kick.h"
#include "transport/api.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "transport/transport.h"
#include "link/sock.h"
#include "tables/tables.h"

/* ------------------------------------------------------- the target's board record */

struct target {
	uint32_t slot, gen; /* owner: process index and generation */
	uint32_t xrcd, state, dest_qpn, how;
	uint32_t conn; /* 0: not connected, or it changed meanwhile */
	uint8_t dgid[16];
};

/* Reads the record of a target. False: there is no target with that number. */
static bool look_at_target(struct dpa_board *b, uint32_t qpn, struct target *t)
{
	const struct dpa_board_qpinfo *info;

	if (!dpa_board_qpn_owner(b, qpn, &t->slot, &t->gen))
		return false;
	info = dpa_board_qpinfo(b, qpn);
	if (!info || __atomic_load_n(&info->qpn, __ATOMIC_ACQUIRE) != qpn ||
	    __atomic_load_n(&info->type, __ATOMIC_RELAXED) != DPA_QP_XRC_RECV)
		return false;
	t->conn = __atomic_load_n(&info->conn, __ATOMIC_ACQUIRE);
	t->how = __atomic_load_n(&info->how, __ATOMIC_RELAXED);
	t->xrcd = __atomic_load_n(&info->xrcd, __ATOMIC_RELAXED);
	t->dest_qpn = __atomic_load_n(&info->dest_qpn, __ATOMIC_RELAXED);
	t->state = __atomic_load_n(&info->state, __ATOMIC_RELAXED);
	memcpy(t->dgid, info->dgid, sizeof(t->dgid));
	dpa_acquire_fence();
	if (__atomic_load_n(&info->conn, __ATOMIC_RELAXED) != t->conn)
		t->conn = 0;
	return true;
}

static bool state_receives(uint32_t state)
{
	return state == DPA_QPS_RTR || state == DPA_QPS_RTS || state == DPA_QPS_SQD;
}

/* True if it is connected to an initiator of this board. Others do not use replicas. */
static bool is_connected(const struct target *t)
{
	return t->conn && state_receives(t->state);
}

/* ------------------------------------------------------------------------ replicas, control */

static void take_attr(const struct target *t, struct dpa_qp_attr *a)
{
	a->access = t->how & 0xffff;
	a->path_mtu = (uint8_t)(t->how >> DPA_HOW_MTU & 7);
	a->min_rnr_timer = (uint8_t)(t->how >> DPA_HOW_RNR & 31);
	a->max_dest_rd_atomic = (uint8_t)(t->how >> DPA_HOW_RD);
	a->dest_qpn = t->dest_qpn;
	a->port = 1;
	a->av.is_global = 1;
	memcpy(a->av.dgid, t->dgid, sizeof(a->av.dgid));
}

void dpa_branch_attr(struct dpa_hw_qp *qp, struct dpa_qp_attr *a)
{
	struct target t;

	if (!look_at_target(qp->hw->board, qp->qpn, &t) ||
	    !dpa_board_alive(qp->hw->board, t.slot, t.gen)) {
		a->state = DPA_QPS_ERR; /* its process ended, or destroyed it */
		return;
	}
	take_attr(&t, a);
	a->state = qp->state == DPA_QPS_ERR && qp->xrc.conn == t.conn ? DPA_QPS_ERR : t.state;
}

int dpa_branch_get(struct dpa_hw_ctx *ctx, uint32_t xrcd, uint32_t qpn, struct dpa_hw_qp **out)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_qp_attr_create a = {.type = DPA_QP_XRC_RECV, .xrcd = xrcd};
	_Atomic(struct dpa_hw_qp *) *at = &hw->qps.tab[qpn & DPA_QPN_INDEX];
	struct dpa_hw_qp *qp = atomic_load_explicit(at, memory_order_relaxed);
	struct target t;

	if (!look_at_target(hw->board, qpn, &t) || t.xrcd != xrcd ||
	    !dpa_board_alive(hw->board, t.slot, t.gen) ||
	    dpa_owner(t.slot, t.gen) == dpa_owner(hw->board->slot, hw->board->gen))
		return EINVAL;
	if (qp && qp->qpn == qpn) { /* a replica of another domain, for an earlier target */
		*out = qp;
		return qp->xrcd == xrcd ? 0 : EINVAL;
	}
	qp = dpa_qp_take(hw);
	if (!qp)
		return ENOMEM;
	dpa_qplock_lock(&qp->lock);
	dpa_qp_init(qp, ctx, &a);
	qp->xrc.branch = true;
	qp->qpn = qpn;
	hw->xrc.nbranch++;
	atomic_store_explicit(at, qp, memory_order_release);
	dpa_qp_leave(qp);
	*out = qp;
	return 0;
}

void dpa_branch_free(struct dpa_hw_qp *qp)
{
	_Atomic(struct dpa_hw_qp *) *at = &qp->hw->qps.tab[qp->qpn & DPA_QPN_INDEX];

	dpa_qplock_lock(&qp->lock);
	if (atomic_load_explicit(at, memory_order_relaxed) == qp)
		atomic_store_explicit(at, NULL, memory_order_release);
	dpa_qp_set_state(qp, DPA_QPS_RESET);
	dpa_transport_reset(qp);
	dpa_acks_forget(qp);
	dpa_unschedule(qp);
	qp->hw->xrc.nbranch--;
	dpa_qp_give(qp);
	dpa_qp_leave(qp);
}

static bool is_branch_free(const struct dpa_hw_qp *qp)
{
	return qp->qpn && qp->xrc.branch && !qp->user_handle && !qp->xrc.openers;
}

void dpa_branch_evict(struct dpa_hw *hw, uint32_t qpn)
{
	struct dpa_hw_qp *qp =
		atomic_load_explicit(&hw->qps.tab[qpn & DPA_QPN_INDEX], memory_order_relaxed);

	if (qp && is_branch_free(qp))
		dpa_branch_free(qp);
}

void dpa_branches_end(struct dpa_hw *hw, uint32_t xrcd)
{
	for (uint32_t i = 0; hw->xrc.nbranch && i < hw->qps.nslab; i++)
		if (is_branch_free(hw->qps.slab[i]) && hw->qps.slab[i]->xrcd == xrcd)
			dpa_branch_free(hw->qps.slab[i]);
}

void dpa_branches_forget(struct dpa_hw_ctx *ctx)
{
	struct dpa_hw *hw = ctx->hw;

	for (uint32_t i = 0; hw->xrc.nbranch && i < hw->qps.nslab; i++)
		if (is_branch_free(hw->qps.slab[i]) && hw->qps.slab[i]->ctx == ctx)
			dpa_branch_free(hw->qps.slab[i]);
}

static void sweep_branches(struct dpa_hw *hw)
{
	struct target t;

	pthread_mutex_lock(&hw->ctl);
	for (uint32_t i = 0; hw->xrc.nbranch && i < hw->qps.nslab; i++)
		if (is_branch_free(hw->qps.slab[i]) &&
		    (!look_at_target(hw->board, hw->qps.slab[i]->qpn, &t) ||
		     t.xrcd != hw->qps.slab[i]->xrcd))
			dpa_branch_free(hw->qps.slab[i]);
	pthread_mutex_unlock(&hw->ctl);
}

void dpa_branches_tick(struct dpa_hw *hw, bool sweep)
{
	uint32_t qpn = atomic_load_explicit(&hw->xrc.wanted, memory_order_acquire);
	struct dpa_hw_qp *qp;
	struct target t;
	int ret = EINVAL;

	if (sweep) {
		atomic_store_explicit(&hw->xrc.refused, 0, memory_order_relaxed);
		if (atomic_load_explicit(&hw->xrc.nbranch, memory_order_relaxed))
			sweep_branches(hw);
	}
	if (!qpn)
		return;
	pthread_mutex_lock(&hw->ctl);
	/* dpa_xrcd_use() checks that this process has the domain open. */
	if (hw->ctxs && look_at_target(hw->board, qpn, &t) && !dpa_xrcd_use(hw, t.xrcd, 0))
		ret = dpa_branch_get(hw->ctxs, t.xrcd, qpn, &qp);
	pthread_mutex_unlock(&hw->ctl);
	if (ret)
		atomic_store_explicit(&hw->xrc.refused, qpn, memory_order_relaxed);
	atomic_store_explicit(&hw->xrc.wanted, 0, memory_order_release);
}

/* ----------------------------------------------------------------------- replicas, packets */

static bool is_request_slot(const struct dpa_slot *s)
{
	return (s->opcode & DPA_BTH_TRANSPORT) == DPA_BTH_XRC &&
	       !(dpa_op_props(s->opcode) & DPA_OPP_RESP);
}

/*
 * True if the packet waits until its replica exists. Only the first message of an epoch creates a
 * replica, and only if its SRQ is in this process and of the target's domain. One replica is
 * created at a time; other packets wait.
 */
bool dpa_branch_held(struct dpa_hw *hw, const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	uint32_t xrcd, slot, gen, none = 0;
	struct target t;

	if (dpa_likely(!is_request_slot(s) || !x->turn) ||
	    atomic_load_explicit(&hw->xrc.refused, memory_order_relaxed) == s->dqpn ||
	    !dpa_board_xrc_srq_owner(hw->board, x->xrcsrq, &xrcd, &slot, &gen) ||
	    slot != hw->board->slot || gen != hw->board->gen ||
	    !look_at_target(hw->board, s->dqpn, &t) || t.xrcd != xrcd || !is_connected(&t) ||
	    dpa_owner(t.slot, t.gen) == dpa_owner(slot, gen))
		return false;
	if (atomic_compare_exchange_strong_explicit(&hw->xrc.wanted, &none, s->dqpn,
						    memory_order_acq_rel, memory_order_relaxed))
		dpa_wake_self(hw);
	return true;
}

static void begin_branch(struct dpa_hw_qp *qp, uint32_t turn, uint32_t psn)
{
	dpa_transport_reset(qp);
	qp->resp.epsn = psn;
	qp->xrc.turn = turn;
}

/* Takes over the target's current permissions and answers. */
static void take_how(struct dpa_hw_qp *qp, const struct target *t)
{
	take_attr(t, &qp->attr);
	qp->access = (uint8_t)qp->attr.access;
	qp->xrc.how = t->how;
}

/* Takes over the target's current state. */
static void follow_target(struct dpa_hw_qp *qp, const struct target *t)
{
	take_how(qp, t);
	qp->mtu = (uint16_t)(128u << qp->attr.path_mtu);
	qp->dest_qpn = t->dest_qpn;
	qp->peer = NULL;
	qp->tx = NULL;
	qp->xrc.conn = t->conn;
	dpa_qp_set_state(qp, DPA_QPS_RTR);
	qp->comm_est = true; /* its target's process reports that event */
}

/*
 * True if the sender is the initiator on this board that the target is connected to. The previous
 * initiator may have work left, and an epoch for it.
 */
/* IBA 9.6 (sender) */
static bool sent_by(struct dpa_hw *hw, const struct dpa_peer *p, const struct dpa_slot *s,
		    uint32_t dest_qpn)
{
	uint32_t slot, gen;

	return (dest_qpn & DPA_QPN_INDEX) == s->src &&
	       dpa_board_qpn_owner(hw->board, dest_qpn, &slot, &gen) && p->slot == slot &&
	       p->gen == gen;
}

/* For a packet that arrives in the target's own process. */
static bool target_rx(struct dpa_hw_qp *qp, const struct dpa_peer *p, const struct dpa_slot *s,
		      uint32_t turn, bool keeps)
{
	if (!turn || turn == qp->xrc.turn)
		return true;
	if (!state_receives(qp->state) || qp->pkt_flags || !sent_by(qp->hw, p, s, qp->dest_qpn))
		return false;
	if (keeps)
		qp->xrc.turn = turn; /* the expected PSN stays: rq_psn, or the next one */
	else
		begin_branch(qp, turn, s->psn);
	return true;
}

bool dpa_branch_rx(struct dpa_hw_qp *qp, const struct dpa_peer *p, const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct target t;
	uint32_t turn;

	if (!is_request_slot(s))
		return true;
	turn = x->turn & ~DPA_TURN_KEEPS;
	if (!qp->xrc.branch)
		return target_rx(qp, p, s, turn, x->turn & DPA_TURN_KEEPS);
	if (!look_at_target(qp->hw->board, qp->qpn, &t) || t.xrcd != qp->xrcd || !is_connected(&t))
		return false;
	if (t.conn == qp->xrc.conn && t.how != qp->xrc.how) /* modified meanwhile */
		take_how(qp, &t);
	if (t.conn == qp->xrc.conn && (!turn || turn == qp->xrc.turn))
		return true;
	if (!turn || !sent_by(qp->hw, p, s, t.dest_qpn))
		return false;
	if (t.conn != qp->xrc.conn) /* the connection changed */
		follow_target(qp, &t);
	begin_branch(qp, turn, s->psn);
	return true;
}

/* ------------------------------------------------------------------------------- initiators */

/*
 * Returns the peer with the SRQ that the message names if that is of the target's domain; else the
 * peer with the target, which reports that there is none. NULL and errno on failure.
 */
static struct dpa_peer *peer_of(struct dpa_hw_qp *qp, uint32_t idx)
{
	const struct dpa_wqe_xrc *w = dpa_wqe_at(qp, idx, sizeof(struct dpa_wqe_ctrl));
	uint32_t xrcd, slot, gen;
	struct dpa_peer *p;
	struct target t;

	if (!look_at_target(qp->hw->board, qp->dest_qpn, &t))
		return dpa_peer_of_qpn(qp->hw, qp->dest_qpn);
	if (!dpa_board_xrc_srq_owner(qp->hw->board, w->srqn, &xrcd, &slot, &gen) ||
	    xrcd != t.xrcd) {
		slot = t.slot;
		gen = t.gen;
	}
	p = dpa_peer_get(qp->hw, slot, gen);
	if (p && atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_CONNECTING)
		dpa_sock_connect(p);
	return p;
}

static bool stays_at_target(const struct dpa_hw_qp *qp, uint32_t idx)
{
	const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, idx);

	return qp->req.send_off || c->opcode == DPA_OP_LOCAL_INV || c->opcode == DPA_OP_BIND_MW;
}

struct dpa_peer *dpa_near_peer(struct dpa_hw_qp *qp)
{
	if (!dpa_is_initiator(qp))
		return dpa_peer_of_qpn(qp->hw, qp->dest_qpn);
	if (qp->peer && stays_at_target(qp, qp->req.send_idx))
		return qp->peer;
	return peer_of(qp, qp->req.send_idx);
}

bool dpa_turn_is(struct dpa_hw_qp *qp, uint32_t idx)
{
	if (!dpa_is_initiator(qp) || stays_at_target(qp, idx) || peer_of(qp, idx) == qp->peer)
		return true;
	if (qp->req.una_idx == idx) /* otherwise the next completion continues with this one */
		dpa_schedule(qp, 0);
	return false;
}

bool dpa_turn_begin(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;
	struct dpa_peer *p;
	bool keeps;

	if (!dpa_is_initiator(qp) || stays_at_target(qp, r->send_idx))
		return true;
	p = peer_of(qp, r->send_idx);
	if (p && p == qp->peer)
		return true;
	if (r->una_idx != r->send_idx)
		/* outstanding messages come first; their completion calls this again */
		return false;
	if (!p) {
		dpa_no_peer(qp);
		return false;
	}
	qp->peer = p;
	qp->tx = NULL;
	qp->xrc.turn = dpa_next_turn(qp);
	/*
	 * The first epoch, also if it begins again: the target still expects the PSN that it was
	 * set up with.
	 */
	keeps = !r->turned ||
		(r->turn_keeps && r->turn_psn == r->una_psn && r->turn_idx == r->una_idx);
	r->turn_idx = r->send_idx;
	r->turn_psn = r->una_psn;
	r->turn_keeps = keeps;
	r->turned = true;
	r->asked = false; /* it asked another peer */
	return true;
}

bool dpa_turn_ends(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;
	uint32_t slot, gen;

	if (!dpa_is_initiator(qp) || dpa_psn_diff(r->max_psn, r->una_psn) > 0 ||
	    !dpa_board_qpn_owner(qp->hw->board, qp->dest_qpn, &slot, &gen) ||
	    (qp->peer && qp->peer->slot == slot && qp->peer->gen == gen))
		return false;
	qp->peer = NULL;
	qp->tx = NULL;
	if (r->una_idx != __atomic_load_n(&qp->dbrec->sq_pi, __ATOMIC_ACQUIRE))
		dpa_schedule(qp, 0);
	return true;
}
