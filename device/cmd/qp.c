/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp.c - queue pairs: creation and destruction. Transitions are in qp_modify.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/leave.h"
#include "cmd/mcast.h"
#include "cmd/qp.h"
#include "ctx/cq.h"
#include "foreign/foreign.h"
#include "ctx/schedule.h"
#include "ctx/srq.h"
#include "ctx/xrc.h"
#include "eu/eu.h"
#include "eu/watch.h"
#include "link/inspect.h"
#include "raw/raw.h"
#include "transport/api.h"
#include "recv/tag.h"
#include "transport/xrc_branch.h"
#include "wire/opcode.h"

static int check_create(const struct dpa_qp_attr_create *a)
{
	switch (a->type) {
	case DPA_QP_RC:
	case DPA_QP_UC:
	case DPA_QP_UD:
		break;
	case DPA_QP_XRC_SEND:
		if (a->rq || a->srq)
			return EINVAL;
		break;
	case DPA_QP_RAW:
		if (!a->ind_table)
			break;
		return a->dbrec || a->sq || a->rq || a->srq || a->send_cq || a->recv_cq ||
				       !a->pdn || a->pdn >= DPA_MAX_PD
			       ? EINVAL
			       : 0;
	case DPA_QP_XRC_RECV:
		return a->xrcd && !a->dbrec && !a->sq && !a->rq && !a->srq && !a->pdn ? 0 : EINVAL;
	default:
		return EOPNOTSUPP;
	}
	if (!a->send_cq || !a->recv_cq || !a->dbrec || a->log_sq > 20 || a->log_rq > 14 ||
	    a->max_recv_sge > DPA_MAX_SGE || (a->srq && a->rq))
		return EINVAL;
	/* the PD itself is checked under hw->ctl */
	return !a->pdn || a->pdn >= DPA_MAX_PD ? EINVAL : 0;
}

static void add_refs(struct dpa_hw_qp *qp, int n)
{
	if (qp->xrcd) { /* the SRQ to which it is bound holds its own objects */
		dpa_xrcd_use(qp->hw, qp->xrcd, n);
		return;
	}
	if (qp->rss) {
		atomic_fetch_add_explicit(&qp->rss->table->refs, (uint32_t)n, memory_order_acq_rel);
	} else {
		atomic_fetch_add_explicit(&qp->send_cq->refs, (uint32_t)n, memory_order_acq_rel);
		atomic_fetch_add_explicit(&qp->recv_cq->refs, (uint32_t)n, memory_order_acq_rel);
	}
	if (qp->srq)
		atomic_fetch_add_explicit(&qp->srq->refs, (uint32_t)n, memory_order_acq_rel);
	qp->hw->pd.refs[qp->pdn] += (uint32_t)n;
}

static void show_qp(struct dpa_hw_qp *qp)
{
	qp->info = dpa_board_qpinfo(qp->hw->board, qp->qpn);
	if (!qp->info)
		return;
	memset(qp->info, 0, sizeof(*qp->info));
	qp->info->type = qp->transport != DPA_BTH_XRC ? (uint8_t)qp->type
			 : qp->xrcd		      ? DPA_QP_XRC_RECV
						      : DPA_QP_XRC_SEND;
	qp->info->uar = qp->uar.page * DPA_UAR_SLOTS + qp->uar.slot;
	qp->info->send_cqn = qp->send_cq ? qp->send_cq->cqn : 0;
	qp->info->recv_cqn = qp->recv_cq ? qp->recv_cq->cqn : 0;
	qp->info->placement = qp->placement;
	dpa_xrc_tell(qp, false);
	__atomic_store_n(&qp->info->qpn, qp->qpn, __ATOMIC_RELEASE);
}

int dpa_hw_create_qp(struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *a,
		     struct dpa_hw_qp **out, struct dpa_qp_info *info)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_rss *rss = NULL;
	struct dpa_hw_qp *qp;
	uint32_t qpn, page, slot;
	uint8_t *tag_sq = NULL;
	bool first;
	int ret = check_create(a);

	if (!ret && a->type == DPA_QP_RAW)
		ret = dpa_raw_begin(hw, a, &rss);
	if (!ret && a->srq && a->srq->tags)
		ret = dpa_tag_begin(a, &tag_sq);
	if (ret)
		return ret;
	ret = dpa_board_qpn_alloc(hw->board, &qpn);
	if (ret) {
		ret = dpa_limit(hw, ret, "the adapter instance is full: %u QP numbers",
				DPA_BOARD_QPNS);
		goto err_qpn;
	}
	ret = dpa_board_uar_alloc(hw->board, &page, &slot);
	if (ret) {
		ret = dpa_limit(hw, ret, "the BAR is full: %u UAR pages of %d slots",
				hw->board->uar_pages, DPA_UAR_SLOTS);
		goto err_uar;
	}
	pthread_mutex_lock(&hw->ctl);
	if (atomic_load_explicit(&ctx->failed, memory_order_relaxed)) {
		ret = EIO;
		goto err_take;
	}
	if (!hw->pd.refs[a->pdn]) { /* the entry of a QP without PD is never 0 */
		ret = EINVAL;
		goto err_take;
	}
	first = !hw->num.qp;
	qp = dpa_qp_take(hw);
	if (!qp) {
		ret = ENOMEM;
		goto err_take;
	}
	dpa_branch_evict(hw, qpn);
	dpa_qplock_lock(&qp->lock);
	dpa_qp_init(qp, ctx, a);
	qp->rss = rss;
	if (tag_sq)
		dpa_tag_init(qp, tag_sq);
	qp->qpn = qpn;
	qp->uar.page = page;
	qp->uar.slot = slot;
	qp->slot = dpa_board_uar_addr(hw->board, page, slot);
	memset(qp->slot, 0, sizeof(*qp->slot));
	dpa_board_uar_page(hw->board, page)->slot_qpn[slot] = qpn;
	add_refs(qp, 1);
	hw->board->self->nqp = ++hw->num.qp;
	show_qp(qp);
	if (rss) /* no failure left to report */
		dpa_qp_set_state(qp, DPA_QPS_RTR);
	atomic_store_explicit(&hw->qps.tab[qpn & DPA_QPN_INDEX], qp, memory_order_release);
	dpa_qp_leave(qp);
	pthread_mutex_unlock(&hw->ctl);
	if (hw->cfg.placement.kind == DPA_CFG_PLACE_EU)
		dpa_eu_attach(qp, -1);
	dpa_inspect_tick(hw);
	/*
	 * Without a QP the progress thread sleeps without limit: from now on it checks from time to
	 * time.
	 */
	if (first && atomic_load_explicit(&hw->sleep.service, memory_order_relaxed))
		dpa_wake_self(hw);
	*out = qp;
	*info = (struct dpa_qp_info){.qpn = qpn,
				     .uar_page = page,
				     .uar_slot = slot,
				     .slot = qp->slot,
				     .placement = (const uint32_t *)&qp->placement};
	return 0;

err_take:
	pthread_mutex_unlock(&hw->ctl);
	dpa_board_uar_free(hw->board, page, slot);
err_uar:
	dpa_board_qpn_free(hw->board, qpn);
err_qpn:
	dpa_rss_free(rss);
	free(tag_sq);
	return ret;
}

void dpa_qp_acks_out(struct dpa_hw *hw, struct dpa_peer *peer)
{
	dpa_acks_settle(hw); /* the ACK may wait in a ring to be sent together with others */
	if (peer && !peer->wire)
		dpa_acks_wait(peer); /* or a thread that drains the peer's ring may hold it */
}

int dpa_hw_destroy_qp(struct dpa_hw_qp *qp)
{
	struct dpa_hw *hw = qp->hw;
	uint32_t qpn = qp->qpn;
	struct dpa_peer *peer;

	dpa_eu_detach(qp);
	dpa_qp_leave_out(qp);
	dpa_foreign_close(qp);
	dpa_mcast_forget(qp);
	dpa_flow_forget(qp);
	/* Messages with a completion must not arrive again. */
	dpa_qplock_lock(&qp->lock);
	dpa_responder_flush(qp);
	peer = qp->peer;
	dpa_qp_leave(qp);
	dpa_qp_acks_out(hw, peer);
	pthread_mutex_lock(&hw->ctl);
	dpa_qplock_lock(&qp->lock);
	atomic_store_explicit(&hw->qps.tab[qpn & DPA_QPN_INDEX], NULL, memory_order_release);
	dpa_qp_set_state(qp, DPA_QPS_RESET);
	dpa_transport_reset(qp); /* nothing is pending or kept: the structure serves another QP */
	dpa_acks_forget(qp);
	dpa_unschedule(qp);
	add_refs(qp, -1);
	dpa_rss_free(qp->rss);
	qp->rss = NULL;
	free(qp->tag_sq);
	qp->tag_sq = NULL;
	if (qp->info)
		__atomic_store_n(&qp->info->qpn, 0, __ATOMIC_RELEASE);
	dpa_count_add(&hw->qps.gone_doorbells,
		      __atomic_load_n(&qp->slot->doorbells, __ATOMIC_RELAXED));
	dpa_count_add(&hw->qps.gone_blueflames,
		      __atomic_load_n(&qp->slot->blueflames, __ATOMIC_RELAXED));
	qp->slot = NULL;
	dpa_board_uar_free(hw->board, qp->uar.page, qp->uar.slot);
	qp->dbrec = NULL;
	dpa_watch_free(qp);
	dpa_foreign_free(qp);
	qp->sq = qp->rq = NULL;
	dpa_qp_give(qp);
	hw->board->self->nqp = --hw->num.qp;
	dpa_qp_leave(qp);
	pthread_mutex_unlock(&hw->ctl);
	dpa_board_qpn_free(hw->board, qpn);
	return 0;
}

/* A QP that this context has opened, and the handle of its opening. NULL: none is left. */
static struct dpa_hw_qp *qp_left(struct dpa_hw_ctx *ctx, uint64_t *handle)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_qp *qp = NULL;

	pthread_mutex_lock(&hw->ctl);
	for (uint32_t i = 0; i < hw->qps.nslab && !qp; i++)
		if (hw->qps.slab[i]->qpn && dpa_qp_opened_by(hw->qps.slab[i], ctx, handle))
			qp = hw->qps.slab[i];
	pthread_mutex_unlock(&hw->ctl);
	return qp;
}

/* Waits, so not under the lock that fork and other openers need (hw.c). */
void dpa_hw_destroy_qps(struct dpa_hw_ctx *ctx)
{
	struct dpa_hw_qp *qp;
	uint64_t handle;

	if (!dpa_lives(ctx->hw))
		return;
	dpa_qps_leave_out(ctx);
	while ((qp = qp_left(ctx, &handle)))
		dpa_hw_close_qp(qp, handle);
	dpa_xrc_srqs_forget(ctx); /* targets of other contexts may use their receives */
}
