/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wq.c - WQs, and the tables by which QPs spread frames: ibv_create_wq(3),
 * ibv_create_rwq_ind_table(3).
 */
#include <errno.h>
#include <stdlib.h>
#include "ctx/cq.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "ctx/srq.h"
#include "raw.h"

#define WQN_FIRST 0x1000000u /* QPNs have 24 bits */

static int check_wq_attr(const struct dpa_wq_attr *a)
{
	return !a->buf || !a->dbrec || !a->cq || a->max_sge > DPA_MAX_SGE || a->log_size > 14 ||
			       !a->pdn || a->pdn >= DPA_MAX_PD
		       ? EINVAL
		       : 0;
}

int dpa_hw_create_wq(struct dpa_hw_ctx *ctx, const struct dpa_wq_attr *a, struct dpa_hw_wq **out,
		     uint32_t *wqn)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_wq *wq;
	int ret = check_wq_attr(a);

	if (ret)
		return ret;
	wq = calloc(1, sizeof(*wq));
	if (!wq)
		return ENOMEM;
	wq->rq.ctx = ctx;
	wq->rq.pdn = a->pdn;
	wq->rq.max_sge = a->max_sge;
	wq->rq.log_size = a->log_size;
	wq->rq.stride = dpa_rwqe_stride(a->max_sge);
	wq->rq.buf = a->buf;
	wq->rq.dbrec = a->dbrec;
	wq->rq.cq = a->cq;
	wq->rq.user_handle = a->user_handle;
	pthread_mutex_lock(&hw->ctl);
	if (!hw->pd.refs[a->pdn])
		ret = EINVAL;
	else if (hw->num.wq >= DPA_MAX_WQ)
		ret = ENOMEM;
	if (!ret) {
		hw->num.wq++;
		hw->pd.refs[a->pdn]++;
		atomic_fetch_add_explicit(&a->cq->refs, 1, memory_order_acq_rel);
		*wqn = wq->wqn = WQN_FIRST + hw->next.wqn++ % WQN_FIRST;
	}
	pthread_mutex_unlock(&hw->ctl);
	if (ret == ENOMEM)
		dpa_log(hw, DPA_LOG_ERR, "all %d WQs of this process are in use", DPA_MAX_WQ);
	if (ret)
		free(wq);
	else
		*out = wq;
	return ret;
}

/* Reports posted WQEs as flushed. */
static void flush_wq(struct dpa_hw_wq *wq)
{
	struct dpa_rx_wqe w;

	while (dpa_srq_take(&wq->rq, &w)) {
		struct dpa_cqe e = {.wr_id = w.wr_id,
				    .qpn = wq->wqn,
				    .vendor_err = DPA_SYN_FLUSHED,
				    .opcode = DPA_CQE_RECV,
				    .status = DPA_CQE_WR_FLUSH_ERR};

		dpa_cq_push(wq->rq.cq, &e);
	}
}

void dpa_wq_fail(struct dpa_hw_wq *wq)
{
	struct dpa_event ev = {.type = DPA_EVENT_WQ_FATAL, .user_handle = wq->rq.user_handle};
	uint32_t ready = DPA_WQS_READY;

	if (!atomic_compare_exchange_strong_explicit(&wq->state, &ready, DPA_WQS_ERROR,
						     memory_order_acq_rel, memory_order_relaxed))
		return;
	flush_wq(wq);
	if (wq->rq.ctx->event)
		wq->rq.ctx->event(wq->rq.ctx->event_arg, &ev);
}

uint32_t dpa_hw_wq_state(struct dpa_hw_wq *wq)
{
	return atomic_load_explicit(&wq->state, memory_order_acquire);
}

void dpa_hw_ring_wq(struct dpa_hw_wq *wq)
{
	/*
	 * Pairs with the store of the state: either this sees the error or the flush sees the WQE.
	 */
	dpa_full_fence();
	if (atomic_load_explicit(&wq->state, memory_order_relaxed) == DPA_WQS_ERROR)
		flush_wq(wq);
}

int dpa_hw_modify_wq(struct dpa_hw_wq *wq, uint32_t state)
{
	struct dpa_hw *hw = wq->rq.ctx->hw;
	uint32_t from;
	int ret = 0;

	if (state > DPA_WQS_ERROR)
		return EINVAL;
	pthread_mutex_lock(&hw->ctl);
	from = atomic_load_explicit(&wq->state, memory_order_acquire);
	if (from == DPA_WQS_ERROR && state == DPA_WQS_READY)
		ret = EINVAL;
	if (!ret && from != state)
		atomic_store_explicit(&wq->state, state, memory_order_seq_cst);
	if (!ret && state != DPA_WQS_READY) {
		dpa_quiesce(hw); /* threads that saw it ready have finished */
		if (state == DPA_WQS_ERROR) {
			flush_wq(wq);
		} else {
			dpa_spin_lock(&wq->rq.lock); /* the last poster may be flushing */
			wq->rq.ci = 0;
			dpa_spin_unlock(&wq->rq.lock);
		}
	}
	pthread_mutex_unlock(&hw->ctl);
	return ret;
}

int dpa_hw_destroy_wq(struct dpa_hw_wq *wq)
{
	struct dpa_hw *hw = wq->rq.ctx->hw;
	int ret = EBUSY;

	pthread_mutex_lock(&hw->ctl);
	if (!atomic_load_explicit(&wq->refs, memory_order_acquire)) {
		hw->num.wq--;
		hw->pd.refs[wq->rq.pdn]--;
		atomic_fetch_sub_explicit(&wq->rq.cq->refs, 1, memory_order_acq_rel);
		ret = 0;
	}
	pthread_mutex_unlock(&hw->ctl);
	if (!ret)
		free(wq);
	return ret;
}

/* ---------------------------------------------------------------- the tables */

static void hold_wqs(struct dpa_hw_ind_table *t, int n)
{
	for (uint32_t i = 0; i <= t->mask; i++)
		atomic_fetch_add_explicit(&t->wq[i]->refs, (uint32_t)n, memory_order_acq_rel);
}

int dpa_hw_create_ind_table(struct dpa_hw_ctx *ctx, struct dpa_hw_wq *const *wqs, uint32_t log_size,
			    struct dpa_hw_ind_table **out)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_ind_table *t;
	uint32_t n = 1u << (log_size & 31);
	int ret = 0;

	if (log_size > DPA_MAX_LOG_IND)
		return EINVAL;
	for (uint32_t i = 0; i < n; i++)
		if (!wqs[i] || wqs[i]->rq.ctx->hw != hw)
			return EINVAL;
	t = calloc(1, sizeof(*t) + n * sizeof(t->wq[0]));
	if (!t)
		return ENOMEM;
	t->ctx = ctx;
	t->mask = n - 1;
	memcpy(t->wq, wqs, n * sizeof(t->wq[0]));
	pthread_mutex_lock(&hw->ctl);
	if (hw->num.ind >= DPA_MAX_IND)
		ret = ENOMEM;
	if (!ret) {
		hw->num.ind++;
		hold_wqs(t, 1);
	}
	pthread_mutex_unlock(&hw->ctl);
	if (ret) {
		dpa_log(hw, DPA_LOG_ERR, "all %d indirection tables of this process are in use",
			DPA_MAX_IND);
		free(t);
	} else {
		*out = t;
	}
	return ret;
}

int dpa_hw_destroy_ind_table(struct dpa_hw_ind_table *t)
{
	struct dpa_hw *hw = t->ctx->hw;
	int ret = EBUSY;

	pthread_mutex_lock(&hw->ctl);
	if (!atomic_load_explicit(&t->refs, memory_order_acquire)) {
		hw->num.ind--;
		hold_wqs(t, -1);
		ret = 0;
	}
	pthread_mutex_unlock(&hw->ctl);
	if (!ret)
		free(t);
	return ret;
}
