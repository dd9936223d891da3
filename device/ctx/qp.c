/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Queue pairs: creation, destruction, the error state. Transitions are in qp_modify.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "dev.h"
#include "link/inspect.h"

void dpa_qp_event(struct dpa_hw_qp *qp, uint32_t type)
{
	struct dpa_event ev = {.type = type, .port = 1, .user_handle = qp->user_handle};

	if (qp->ctx->event)
		qp->ctx->event(qp->ctx->event_arg, &ev);
}

void dpa_qp_leave(struct dpa_hw_qp *qp)
{
	while (!dpa_qplock_leave(&qp->lock)) {
		if (qp->qpn) {
			dpa_responder_flush(qp);
			dpa_requester_run(qp);
			if (qp->state == DPA_QPS_ERR)
				dpa_qp_flush_rq(qp);
		}
	}
}

/* What peers fetch for this QP is good only while its epoch stands. */
static void new_epoch(struct dpa_hw_qp *qp)
{
	atomic_fetch_add_explicit(&qp->hw->export->qp_epoch[qp->qpn & DPA_QPN_INDEX], 1,
				  memory_order_seq_cst);
}

void dpa_qp_set_state(struct dpa_hw_qp *qp, uint32_t state)
{
	__atomic_store_n(&qp->state, (uint8_t)state, __ATOMIC_SEQ_CST);
	if (qp->info)
		qp->info->state = state;
	if (state == DPA_QPS_ERR || state == DPA_QPS_RESET)
		new_epoch(qp);
}

static void flush_one(struct dpa_hw_qp *qp, uint64_t wr_id)
{
	struct dpa_cqe e = {.wr_id = wr_id,
			    .qpn = qp->qpn,
			    .user_index = qp->user_index,
			    .vendor_err = DPA_SYN_FLUSHED,
			    .opcode = DPA_CQE_RECV,
			    .status = DPA_CQE_WR_FLUSH_ERR};

	dpa_count(qp->hw, DPA_CNT_resp_cqe_flush_error, 1);
	dpa_cq_push(qp->recv_cq, &e);
}

void dpa_qp_flush_rq(struct dpa_hw_qp *qp)
{
	uint32_t pi;

	if (qp->resp.have_wqe) {
		qp->resp.have_wqe = false;
		flush_one(qp, qp->resp.wqe.wr_id);
	}
	if (qp->srq) {
		if (!qp->last_wqe_raised) { /* IBA 11.6.3.1: no more receives of this QP */
			qp->last_wqe_raised = true;
			dpa_qp_event(qp, DPA_EVENT_QP_LAST_WQE_REACHED);
		}
		return;
	}
	if (!qp->rq)
		return;
	pi = __atomic_load_n(&qp->dbrec->rq_pi, __ATOMIC_ACQUIRE);
	for (uint32_t n = 0; qp->rq_ci != pi && n <= qp->rq_mask; n++) {
		const struct dpa_rwqe *r =
			(const void *)(qp->rq + (size_t)(qp->rq_ci & qp->rq_mask) * qp->rq_stride);

		flush_one(qp, r->wr_id);
		qp->rq_ci++;
		__atomic_store_n(&qp->dbrec->rq_ci, qp->rq_ci, __ATOMIC_RELEASE);
	}
}

void dpa_qp_to_error(struct dpa_hw_qp *qp)
{
	if (qp->state == DPA_QPS_ERR)
		return;
	dpa_qp_set_state(qp, DPA_QPS_ERR);
	dpa_requester_flush(qp);
	dpa_qp_flush_rq(qp);
	dpa_kept_drop(qp);
}

/* ------------------------------------------------------------- create */

static int check_create(struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *a)
{
	if (a->type != DPA_QP_RC && a->type != DPA_QP_UC && a->type != DPA_QP_UD)
		return EOPNOTSUPP;
	if (!a->send_cq || !a->recv_cq || !a->dbrec || a->log_sq > 20 || a->log_rq > 14 ||
	    a->max_recv_sge > DPA_MAX_SGE || (a->srq && a->rq))
		return EINVAL;
	if (!a->pdn || a->pdn >= DPA_MAX_PD || !ctx->hw->pd_refs[a->pdn])
		return EINVAL;
	return 0;
}

/* A structure that once was a QP, or a new one; under hw->ctl. */
static struct dpa_hw_qp *qp_take(struct dpa_hw *hw)
{
	struct dpa_hw_qp *qp = hw->free_qps;
	uint32_t n = atomic_load_explicit(&hw->nslab, memory_order_relaxed);

	if (qp) {
		hw->free_qps = qp->free_next;
		return qp;
	}
	if (n >= DPA_MAX_QP || posix_memalign((void **)&qp, 2 * DPA_CACHE_LINE, sizeof(*qp)))
		return NULL;
	memset(qp, 0, sizeof(*qp));
	hw->slab[n] = qp;
	atomic_store_explicit(&hw->nslab, n + 1, memory_order_release);
	return qp;
}

static void qp_init(struct dpa_hw_qp *qp, struct dpa_hw_ctx *ctx,
		    const struct dpa_qp_attr_create *a)
{
	size_t from = offsetof(struct dpa_hw_qp, type);

	/* everything but the lock, which others may be holding at this very moment, and the QPN */
	memset((uint8_t *)qp + from, 0, sizeof(*qp) - from);
	qp->hw = ctx->hw;
	qp->ctx = ctx;
	qp->type = (uint8_t)a->type;
	qp->sq_sig_all = a->sq_sig_all;
	qp->mtu = 4096;
	qp->sq = a->sq;
	qp->rq = a->max_recv_sge && !a->srq ? a->rq : NULL;
	qp->dbrec = a->dbrec;
	qp->sq_mask = (1u << a->log_sq) - 1;
	qp->rq_mask = (1u << a->log_rq) - 1;
	qp->max_recv_sge = a->max_recv_sge;
	qp->rq_stride = dpa_rwqe_stride(a->max_recv_sge);
	qp->send_cq = a->send_cq;
	qp->recv_cq = a->recv_cq;
	qp->srq = a->srq;
	qp->pdn = a->pdn;
	qp->user_index = a->user_index;
	qp->user_handle = a->user_handle;
	qp->poster = a->poster;
	qp->lane = ctx->hw->next_lane++ % DPA_LANES;
	dpa_transport_reset(qp);
}

static void add_refs(struct dpa_hw_qp *qp, int n)
{
	atomic_fetch_add_explicit(&qp->send_cq->refs, (uint32_t)n, memory_order_acq_rel);
	atomic_fetch_add_explicit(&qp->recv_cq->refs, (uint32_t)n, memory_order_acq_rel);
	if (qp->srq)
		atomic_fetch_add_explicit(&qp->srq->refs, (uint32_t)n, memory_order_acq_rel);
	qp->hw->pd_refs[qp->pdn] += (uint32_t)n;
}

static void show_qp(struct dpa_hw_qp *qp)
{
	qp->info = dpa_board_qpinfo(qp->hw->board, qp->qpn);
	if (!qp->info)
		return;
	memset(qp->info, 0, sizeof(*qp->info));
	qp->info->type = qp->type;
	qp->info->uar = qp->uar_page * DPA_UAR_SLOTS + qp->uar_slot;
	qp->info->send_cqn = qp->send_cq->cqn;
	qp->info->recv_cqn = qp->recv_cq->cqn;
	qp->info->placement = qp->placement;
	__atomic_store_n(&qp->info->qpn, qp->qpn, __ATOMIC_RELEASE);
}

int dpa_hw_create_qp(struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *a,
		     struct dpa_hw_qp **out, struct dpa_qp_info *info)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_qp *qp;
	uint32_t qpn, page, slot;
	int ret = check_create(ctx, a);

	if (ret)
		return ret;
	ret = dpa_board_qpn_alloc(hw->board, &qpn);
	if (ret) {
		dpa_log(hw, DPA_LOG_ERR, "no QPN is free: the board has %d", DPA_MAX_QP);
		return ret;
	}
	ret = dpa_board_uar_alloc(hw->board, &page, &slot);
	if (ret) {
		dpa_log(hw, DPA_LOG_ERR, "the BAR is full: %d UAR pages of %d slots",
			DPA_BOARD_UAR_PAGES, DPA_UAR_SLOTS);
		goto err_uar;
	}
	pthread_mutex_lock(&hw->ctl);
	qp = qp_take(hw);
	if (!qp) {
		ret = ENOMEM;
		goto err_take;
	}
	dpa_qplock_lock(&qp->lock);
	qp_init(qp, ctx, a);
	qp->qpn = qpn;
	qp->uar_page = page;
	qp->uar_slot = slot;
	qp->slot = dpa_board_uar_addr(hw->board, page, slot);
	memset(qp->slot, 0, sizeof(*qp->slot));
	dpa_board_uar_page(hw->board, page)->slot_qpn[slot] = qpn;
	add_refs(qp, 1);
	hw->board->self->nqp = ++hw->nqp;
	show_qp(qp);
	atomic_store_explicit(&hw->qp_tab[qpn & DPA_QPN_INDEX], qp, memory_order_release);
	dpa_qp_leave(qp);
	pthread_mutex_unlock(&hw->ctl);
	if (hw->cfg.placement.kind == DPA_CFG_PLACE_EU)
		dpa_eu_attach(qp, -1);
	/* without a QP the parked EU sleeps for good: from now on it looks now and then */
	dpa_inspect_tick(hw);
	if (atomic_load_explicit(&hw->service_asleep, memory_order_relaxed))
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
	return ret;
}

int dpa_hw_destroy_qp(struct dpa_hw_qp *qp)
{
	struct dpa_hw *hw = qp->hw;
	uint32_t qpn = qp->qpn;

	dpa_eu_detach(qp);
	/* what the application has a completion of must not come again */
	dpa_qplock_lock(&qp->lock);
	dpa_responder_flush(qp);
	dpa_qp_leave(qp);
	dpa_acks_settle(hw); /* the ACK may lie in a lane that waits for company */
	pthread_mutex_lock(&hw->ctl);
	dpa_qplock_lock(&qp->lock);
	atomic_store_explicit(&hw->qp_tab[qpn & DPA_QPN_INDEX], NULL, memory_order_release);
	dpa_qp_set_state(qp, DPA_QPS_RESET);
	dpa_transport_reset(qp); /* nothing is owed or kept: the structure serves another QP */
	dpa_acks_forget(qp);
	dpa_unpend(qp);
	add_refs(qp, -1);
	if (qp->info)
		__atomic_store_n(&qp->info->qpn, 0, __ATOMIC_RELEASE);
	dpa_stat_add(&hw->gone_doorbells, __atomic_load_n(&qp->slot->doorbells, __ATOMIC_RELAXED));
	dpa_stat_add(&hw->gone_blueflames,
		     __atomic_load_n(&qp->slot->blueflames, __ATOMIC_RELAXED));
	qp->slot = NULL;
	dpa_board_uar_free(hw->board, qp->uar_page, qp->uar_slot);
	qp->qpn = 0;
	qp->dbrec = NULL;
	qp->sq = qp->rq = NULL;
	qp->peer = NULL;
	qp->tx = NULL;
	qp->free_next = hw->free_qps;
	hw->free_qps = qp;
	hw->board->self->nqp = --hw->nqp;
	dpa_qp_leave(qp);
	pthread_mutex_unlock(&hw->ctl);
	dpa_board_qpn_free(hw->board, qpn);
	return 0;
}

#ifdef DPA_TSAN
static void learn(struct dpa_hw_qp *qp)
{
	(void)qp; /* what is looked at unlocked here are hints */
}
#else
/* Two posts ahead: the device's QP. One ahead, when that is there: all that it points to. */
static void expect(const struct dpa_hw_qp *next)
{
	const struct dpa_hw_qp *then = atomic_load_explicit(&next->after, memory_order_relaxed);
	const uint8_t *sq = next->sq;

	__builtin_prefetch((const void *)(uintptr_t)next->user_handle);
	__builtin_prefetch(next->poster);
	__builtin_prefetch((const uint8_t *)next->poster + DPA_CACHE_LINE);
	__builtin_prefetch(sq + (size_t)(next->req.send_idx & next->sq_mask) * DPA_WQEBB);
	__builtin_prefetch(next->dbrec);
	__builtin_prefetch((const uint8_t *)next->dbrec + DPA_CACHE_LINE);
	__builtin_prefetch(next->slot);
	__builtin_prefetch(then);
	__builtin_prefetch((const uint8_t *)then + DPA_CACHE_LINE);
	__builtin_prefetch((const uint8_t *)then + 2 * DPA_CACHE_LINE);
}

/*
 * A thread that posts to thousands of QPs in turn finds none of them in its cache. Each QP
 * remembers which one came after it; if that was so again, the one after that is fetched
 * beforehand. QPs are type-stable: a hint that is out of date costs nothing but time.
 */
static void learn(struct dpa_hw_qp *qp)
{
	struct dpa_posting *p = &dpa_me.posting;
	struct dpa_hw_qp *next;

	if (dpa_likely(p->last == qp))
		return;
	if (dpa_unlikely(!p->last || p->serial != qp->hw->serial)) {
		*p = (struct dpa_posting){.last = qp, .serial = qp->hw->serial};
		return;
	}
	next = atomic_load_explicit(&qp->after, memory_order_relaxed);
	if (dpa_likely(p->next == qp)) {
		if (next)
			expect(next);
	} else {
		atomic_store_explicit(&p->last->after, qp, memory_order_relaxed);
	}
	p->last = qp;
	p->next = next;
}
#endif

void dpa_hw_ring_sq(struct dpa_hw_qp *qp)
{
	learn(qp);
	if (!dpa_qplock_enter_or_note(&qp->lock))
		return;
	dpa_qp_at_home(qp);
	dpa_requester_run(qp);
	dpa_qp_leave(qp);
}

void dpa_hw_ring_rq(struct dpa_hw_qp *qp)
{
	dpa_qp_at_home(qp);
	/* pairs with the state's store: either we see the error state or the flush sees our WQE */
	dpa_full_fence();
	if (dpa_likely(__atomic_load_n(&qp->state, __ATOMIC_RELAXED) != DPA_QPS_ERR))
		return;
	if (!dpa_qplock_enter_or_note(&qp->lock))
		return;
	if (qp->state == DPA_QPS_ERR)
		dpa_qp_flush_rq(qp);
	dpa_qp_leave(qp);
}
