/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qp_modify.c - QP state transitions (IBA 10.3.1, 11.2.5.2). The driver checks that they are legal,
 * the device checks values.
 */
#include <errno.h>
#include <string.h>
#include "cc/cc.h"
#include "ctx/schedule.h"
#include "cmd/qp.h"
#include "foreign/foreign.h"
#include "eu/watch.h"
#include "ctx/xrc.h"
#include "transport/xrc_branch.h"
#include "link/peer.h"
#include "transport/api.h"
#include "order/resp_check.h"
#include "transport/transport.h"
#include "direct/direct.h"
#include "link/udp/wire.h"

static int check_path(struct dpa_hw_qp *qp, const struct dpa_qp_attr *a, uint32_t mask)
{
	struct dpa_hw_gid gid;
	uint32_t oif, mtu;
	int ret;

	const bool near =
		dpa_is_near(qp->hw, &a->av, mask & DPA_QPM_DEST_QPN ? a->dest_qpn : qp->dest_qpn);

	if (!a->av.is_global) {
		if (!dpa_cfg_lid(&qp->hw->cfg, 0))
			return EINVAL; /* RoCE always has a GRH */
		return near ? 0 : ENETUNREACH;
	}
	if (dpa_hw_query_gid(qp->ctx, a->av.sgid_index, &gid))
		return EINVAL;
	if (near)
		return 0;
	ret = dpa_udp_open(qp->hw);
	if (ret)
		return ret;
	ret = dpa_route_lookup(&qp->hw->port, gid.gid, a->av.dgid, &oif, &mtu);
	if (ret)
		dpa_log(qp->hw, DPA_LOG_ERR, "QP 0x%06x: no route to its peer: %s", qp->qpn,
			strerror(ret));
	else if ((mask & DPA_QPM_PATH_MTU) && a->path_mtu > mtu) {
		dpa_log(qp->hw, DPA_LOG_ERR, "QP 0x%06x: path MTU %u, but the route allows %u",
			qp->qpn, 128u << a->path_mtu, 128u << mtu);
		return EINVAL;
	}
	return ret;
}

static int check_values(struct dpa_hw_qp *qp, const struct dpa_qp_attr *a, uint32_t mask)
{
	if ((mask & DPA_QPM_PORT) && a->port != 1)
		return EINVAL;
	if ((mask & DPA_QPM_PKEY_INDEX) && a->pkey_index)
		return EINVAL;
	if ((mask & DPA_QPM_PATH_MTU) && (a->path_mtu < 1 || a->path_mtu > 5))
		return EINVAL;
	if ((mask & DPA_QPM_TIMEOUT) && a->timeout > 31)
		return EINVAL;
	if ((mask & DPA_QPM_RETRY_CNT) && a->retry_cnt > 7)
		return EINVAL;
	if ((mask & DPA_QPM_RNR_RETRY) && a->rnr_retry > 7)
		return EINVAL;
	if ((mask & DPA_QPM_MIN_RNR_TIMER) && a->min_rnr_timer > 31)
		return EINVAL;
	if ((mask & DPA_QPM_MAX_RD_ATOMIC) && a->max_rd_atomic > DPA_MAX_INIT_RD_ATOMIC)
		return EINVAL;
	if ((mask & DPA_QPM_MAX_DEST_RD_ATOMIC) && a->max_dest_rd_atomic > DPA_MAX_RD_ATOMIC)
		return EINVAL;
	if ((mask & DPA_QPM_DEST_QPN) && a->dest_qpn > DPA_PSN_MASK)
		return EINVAL;
	if ((mask & DPA_QPM_ACCESS) &&
	    (a->access & ~(uint32_t)(DPA_ACCESS_LOCAL_WRITE | DPA_ACCESS_REMOTE_WRITE |
				     DPA_ACCESS_REMOTE_READ | DPA_ACCESS_REMOTE_ATOMIC |
				     DPA_ACCESS_FLUSH_GLOBAL | DPA_ACCESS_FLUSH_PERSISTENT)))
		return EINVAL;
	if (mask & (DPA_QPM_ALT_PATH | DPA_QPM_PATH_MIG_STATE | DPA_QPM_CAP | DPA_QPM_RATE_LIMIT))
		return EOPNOTSUPP;
	return mask & DPA_QPM_AV ? check_path(qp, a, mask) : 0;
}

static void take_values(struct dpa_hw_qp *qp, const struct dpa_qp_attr *a, uint32_t mask)
{
	struct dpa_qp_attr *q = &qp->attr;

	if (mask & DPA_QPM_ACCESS) {
		q->access = a->access;
		qp->access = (uint8_t)a->access;
	}
	if (mask & DPA_QPM_QKEY)
		q->qkey = a->qkey;
	if (mask & DPA_QPM_AV)
		q->av = a->av;
	if (mask & DPA_QPM_PKEY_INDEX)
		q->pkey_index = a->pkey_index;
	if (mask & DPA_QPM_PORT)
		q->port = a->port;
	if (mask & DPA_QPM_PATH_MTU) {
		q->path_mtu = a->path_mtu;
		qp->mtu = (uint16_t)(128u << a->path_mtu);
	}
	if (mask & DPA_QPM_TIMEOUT)
		q->timeout = a->timeout;
	if (mask & DPA_QPM_RETRY_CNT)
		q->retry_cnt = qp->retry_cnt = qp->req.retry_left = a->retry_cnt;
	if (mask & DPA_QPM_RNR_RETRY)
		q->rnr_retry = qp->rnr_retry = qp->req.rnr_left = a->rnr_retry;
	if (mask & DPA_QPM_MIN_RNR_TIMER)
		q->min_rnr_timer = a->min_rnr_timer;
	if (mask & DPA_QPM_MAX_RD_ATOMIC)
		q->max_rd_atomic = a->max_rd_atomic;
	if (mask & DPA_QPM_MAX_DEST_RD_ATOMIC)
		q->max_dest_rd_atomic = a->max_dest_rd_atomic;
	if (mask & DPA_QPM_EN_SQD_ASYNC_NOTIFY)
		q->sqd_async_notify = a->sqd_async_notify;
	if (mask & DPA_QPM_DEST_QPN) {
		q->dest_qpn = qp->dest_qpn = a->dest_qpn;
		if (qp->info)
			__atomic_store_n(&qp->info->dest_qpn, a->dest_qpn, __ATOMIC_RELAXED);
	}
	if (mask & DPA_QPM_RQ_PSN)
		q->rq_psn = qp->resp.epsn = a->rq_psn & DPA_PSN_MASK;
	if (mask & DPA_QPM_SQ_PSN) {
		q->sq_psn = a->sq_psn & DPA_PSN_MASK;
		if (qp->info)
			dpa_board_set_psn(qp->info, q->sq_psn);
		qp->req.send_psn = qp->req.send_wqe_psn = q->sq_psn;
		qp->req.una_psn = qp->req.max_psn = qp->req.acked_psn = q->sq_psn;
		qp->req.reported_psn = q->sq_psn;
		qp->req.asked_psn = dpa_psn_add(q->sq_psn, DPA_PSN_MASK);
	}
}

static void to_reset(struct dpa_hw_qp *qp)
{
	dpa_responder_flush(qp); /* sends the ACK of completed messages */
	dpa_qp_set_state(qp, DPA_QPS_RESET);
	dpa_unschedule(qp);
	dpa_transport_reset(qp);
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->access = 0;
	qp->retry_cnt = qp->rnr_retry = 0;
	qp->slow.limited = false;
	qp->rate = (struct dpa_rate){.kbps = 0};
	qp->rq_ci = 0;
	qp->dest_qpn = 0;
	qp->peer = NULL;
	qp->meet.peer = NULL;
	qp->tx = NULL;
	dpa_qp_set_flags(qp, 0);
	qp->direct = 0;
	qp->comm_est = qp->last_wqe_raised = false;
	__atomic_store_n(&qp->poll.seen, 0, __ATOMIC_RELAXED);
	if (qp->info) {
		qp->info->link = 0;
		dpa_board_set_psn(qp->info, 0);
	}
	if (!qp->dbrec)
		return;
	dpa_watch_free(qp);
	dpa_foreign_free(qp);
	__atomic_store_n(&qp->dbrec->sq_ci, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&qp->dbrec->rq_ci, 0, __ATOMIC_RELEASE);
}

/* RTR of a connected QP: look up the peer now, so that its rings exist when they are needed. */
static void find_peer_of_qp(struct dpa_hw_qp *qp)
{
	if (dpa_is_near(qp->hw, &qp->attr.av, qp->dest_qpn)) {
		qp->peer = dpa_peer_of_qpn(qp->hw, qp->dest_qpn);
		dpa_qp_set_flags(qp, 0);
	} else {
		qp->peer = dpa_remote_get(qp->hw, qp->ctx->port, &qp->attr.av);
		dpa_qp_set_flags(qp, dpa_pkt_mtu_flags(qp->mtu));
		if (!qp->peer)
			dpa_log(qp->hw, DPA_LOG_ERR, "QP 0x%06x: no path to its peer: %s", qp->qpn,
				strerror(errno));
		dpa_steer_qp(qp->hw, qp->qpn);
	}
	if (qp->info)
		memcpy(qp->info->dgid, qp->attr.av.dgid, 16);
}

/* The QP's first PSN is known now: check whether the peer expects it. */
static void meet_peer(struct dpa_hw_qp *qp)
{
	const struct dpa_peer *p = qp->peer;

	qp->step.known = qp->step.maybe = 0;
	if (dpa_connected(qp) && p && !p->wire &&
	    atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_UP)
		dpa_in_step(qp);
}

static void enter_state(struct dpa_hw_qp *qp, uint32_t state)
{
	uint32_t old = qp->state;

	switch (state) {
	case DPA_QPS_RESET:
		to_reset(qp);
		return;
	case DPA_QPS_ERR:
		dpa_responder_flush(qp); /* as for RESET */
		dpa_qp_to_error(qp);
		return;
	case DPA_QPS_RTR:
		if (dpa_connected(qp)) {
			qp->resp.last_op = DPA_RESP_FRESH;
			dpa_conn_begin(qp);
			dpa_cc_begin(qp);
			qp->probe.asked = qp->pcc.probes;
			qp->probe.out = false;
		}
		dpa_qp_set_state(qp, state);
		memset(&qp->np, 0, sizeof(qp->np));
		if (dpa_connected(qp))
			find_peer_of_qp(qp);
		else if (qp->type == DPA_QP_UD && dpa_wire_get(qp->hw) && !dpa_udp_open(qp->hw)) {
			/* Any host may send to it; local peers can in any case. */
			dpa_udp_show_hops(qp->hw);
			dpa_steer_qp(qp->hw, qp->qpn);
		}
		return;
	case DPA_QPS_SQD:
		if (old == DPA_QPS_RTS)
			qp->attr.sq_draining = 1;
		qp->slow.fence_sq = true;
		dpa_qp_set_state(qp, state);
		dpa_requester_run(qp);
		return;
	case DPA_QPS_RTS:
		qp->slow.fence_sq = false;
		qp->attr.sq_draining = 0;
		if (old == DPA_QPS_RTR && !dpa_connected(qp))
			dpa_cc_begin(qp);
		qp->probe.asked = qp->pcc.probes;
		qp->probe.out = false;
		dpa_qp_set_state(qp, state);
		qp->direct = dpa_direct_able(qp);
		qp->skip.messages = qp->skip.fails = qp->skip.atomics = 0;
		qp->part.until = 0;
		qp->part.off = 0;
		qp->part.begun = false;
		qp->near.rkey = 0;
		if (old == DPA_QPS_RTR)
			meet_peer(qp);
		dpa_requester_run(qp);
		return;
	default:
		dpa_qp_set_state(qp, state);
	}
}

/* States that the device enters by itself have exits of their own only. */
static bool may_leave(uint32_t from, uint32_t to)
{
	if (from == DPA_QPS_ERR)
		return to == DPA_QPS_RESET || to == DPA_QPS_ERR;
	if (from == DPA_QPS_SQE)
		return to == DPA_QPS_RESET || to == DPA_QPS_ERR || to == DPA_QPS_RTS ||
		       to == DPA_QPS_SQE;
	return true;
}

/*
 * True if the device of its context has failed (docs/inject.md): the QP does not begin to work any more.
 * Context: the QP's lock.
 */
static bool has_failed(const struct dpa_hw_qp *qp, const struct dpa_qp_attr *a, uint32_t mask)
{
	return mask & DPA_QPM_STATE && a->state != DPA_QPS_ERR && a->state != DPA_QPS_RESET &&
	       !qp->gsi && qp->ctx && atomic_load_explicit(&qp->ctx->failed, memory_order_relaxed);
}

int dpa_hw_modify_qp(struct dpa_hw_qp *qp, const struct dpa_qp_attr *a, uint32_t mask)
{
	struct dpa_peer *peer;
	int ret;

	if (qp->xrc.branch) {
		dpa_log(qp->hw, DPA_LOG_ERR,
			"QP 0x%06x: only the process that created an XRC target can modify it",
			qp->qpn);
		return EOPNOTSUPP;
	}
	if ((mask & DPA_QPM_STATE) && a->state > DPA_QPS_ERR)
		return EINVAL;
	ret = check_values(qp, a, mask);
	if (ret)
		return ret;
	if ((mask & DPA_QPM_STATE) && a->state == DPA_QPS_RESET)
		dpa_watch_stop(qp);
	if ((mask & DPA_QPM_STATE) && (a->state == DPA_QPS_RESET || a->state == DPA_QPS_ERR))
		dpa_foreign_lock(qp);
	else
		dpa_qplock_lock(&qp->lock);
	if (!may_leave(qp->state, mask & DPA_QPM_STATE ? a->state : qp->state)) {
		dpa_qp_leave(qp);
		return EINVAL; /* an error occurred between the driver's check and this call */
	}
	if (has_failed(qp, a, mask)) {
		dpa_qp_leave(qp);
		return EIO;
	}
	peer = qp->peer; /* RESET clears it */
	take_values(qp, a, mask);
	if (mask & DPA_QPM_STATE)
		enter_state(qp, a->state);
	dpa_grant(qp); /* the permissions may have changed */
	dpa_xrc_tell(qp, (mask & DPA_QPM_STATE) && a->state == DPA_QPS_RTR);
	dpa_watch_again(qp);
	dpa_qp_leave(qp);
	if ((mask & DPA_QPM_STATE) && (a->state == DPA_QPS_ERR || a->state == DPA_QPS_RESET))
		dpa_qp_acks_out(qp->hw, peer);
	return 0;
}

int dpa_hw_set_rate(struct dpa_hw_qp *qp, const struct dpa_rate *rate)
{
	if (rate->kbps > DPA_MAX_RATE_KBPS)
		return EINVAL;
	dpa_qplock_lock(&qp->lock);
	qp->rate = *rate;
	qp->rate_at = 0;
	qp->slow.limited = rate->kbps != 0;
	if (qp->state == DPA_QPS_RTS) /* WQEs that waited because of the old attributes */
		dpa_requester_run(qp);
	dpa_qp_leave(qp);
	return 0;
}

void dpa_hw_get_rate(struct dpa_hw_qp *qp, struct dpa_rate *rate)
{
	dpa_qplock_lock(&qp->lock);
	*rate = qp->rate;
	dpa_qp_leave(qp);
}

int dpa_hw_query_qp(struct dpa_hw_qp *qp, struct dpa_qp_attr *a)
{
	dpa_qplock_lock(&qp->lock);
	*a = qp->attr;
	a->state = qp->state;
	if (qp->state >= DPA_QPS_RTR)
		a->rq_psn = qp->resp.epsn;
	if (qp->state >= DPA_QPS_RTS)
		a->sq_psn = qp->req.send_psn;
	if (qp->xrc.branch)
		dpa_branch_attr(qp, a);
	dpa_qp_leave(qp);
	return 0;
}
