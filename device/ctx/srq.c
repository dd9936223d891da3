/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared receive queues: the consuming side. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ctx/cq.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "ctx/srq.h"
#include "ctx/xrc.h"
#include "transport/tag.h"

/* Under hw->ctl. */
static int xrc_init(struct dpa_hw *hw, struct dpa_hw_srq *srq)
{
	int ret = dpa_xrcd_use(hw, srq->xrcd, 1);

	if (ret)
		return ret;
	ret = dpa_xrc_srq_add(hw, srq);
	if (ret)
		dpa_xrcd_use(hw, srq->xrcd, -1);
	else
		atomic_fetch_add_explicit(&srq->cq->refs, 1, memory_order_acq_rel);
	return ret;
}

int dpa_hw_create_srq(struct dpa_hw_ctx *ctx, const struct dpa_srq_attr *attr,
		      struct dpa_hw_srq **out, uint32_t *srqn)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_srq *srq;
	int ret;

	if (((attr->xrcd || attr->max_tags) && !attr->cq) || (attr->xrcd && attr->max_tags) ||
	    attr->max_tags > DPA_MAX_TAGS)
		return EINVAL;
	if (!attr->buf || !attr->dbrec || attr->max_sge > DPA_MAX_SGE || attr->log_size > 14 ||
	    !attr->pdn || attr->pdn >= DPA_MAX_PD)
		return EINVAL;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return ENOMEM;
	srq->ctx = ctx;
	srq->pdn = attr->pdn;
	srq->max_sge = attr->max_sge;
	srq->log_size = attr->log_size;
	srq->stride = dpa_rwqe_stride(attr->max_sge);
	srq->limit = attr->limit;
	srq->buf = attr->buf;
	srq->dbrec = attr->dbrec;
	srq->user_handle = attr->user_handle;
	srq->xrcd = attr->xrcd;
	srq->cq = attr->cq;
	if (attr->max_tags) {
		srq->tags = dpa_tags_new(attr->max_tags);
		if (!srq->tags) {
			free(srq);
			return ENOMEM;
		}
	}
	pthread_mutex_lock(&hw->ctl);
	if (hw->nsrq >= DPA_MAX_SRQ) {
		pthread_mutex_unlock(&hw->ctl);
		dpa_log(hw, DPA_LOG_ERR, "all %d SRQs of this process are in use", DPA_MAX_SRQ);
		free(srq->tags);
		free(srq);
		return ENOMEM;
	}
	ret = !hw->pd_refs[attr->pdn] ? EINVAL : srq->xrcd ? xrc_init(hw, srq) : 0;
	if (!ret) {
		hw->board->self->nsrq = ++hw->nsrq;
		hw->pd_refs[attr->pdn]++;
		if (!srq->xrcd)
			srq->srqn = ++hw->next_srqn;
		if (srq->tags)
			atomic_fetch_add_explicit(&srq->cq->refs, 1, memory_order_acq_rel);
	}
	pthread_mutex_unlock(&hw->ctl);
	if (ret) {
		free(srq->tags);
		free(srq);
		return ret;
	}
	*out = srq;
	*srqn = srq->srqn;
	return 0;
}

/* o11-5: armed until the number of WQEs falls below the limit, then one event and disarmed. */
static bool srq_below_limit(struct dpa_hw_srq *srq, uint32_t pi)
{
	if (!srq->limit || pi - srq->ci >= srq->limit)
		return false;
	srq->limit = 0;
	return true;
}

void dpa_srq_limit_event(struct dpa_hw_srq *srq)
{
	struct dpa_event ev = {.type = DPA_EVENT_SRQ_LIMIT_REACHED,
			       .user_handle = srq->user_handle};

	if (srq->ctx->event)
		srq->ctx->event(srq->ctx->event_arg, &ev);
}

bool dpa_srq_take_held(struct dpa_hw_srq *srq, struct dpa_rx_wqe *w, bool *event)
{
	uint32_t pi = __atomic_load_n(&srq->dbrec->rq_pi, __ATOMIC_ACQUIRE);
	const struct dpa_rwqe *r;
	const uint8_t *e;

	if (pi == srq->ci)
		return false;
	e = srq->buf + (size_t)(srq->ci & ((1u << srq->log_size) - 1)) * srq->stride;
	r = (const void *)e;
	w->wr_id = r->wr_id;
	w->nsge = r->nsge <= srq->max_sge ? r->nsge : srq->max_sge;
	memcpy(w->sge, e + sizeof(*r), w->nsge * sizeof(w->sge[0]));
	srq->ci++;
	__atomic_store_n(&srq->dbrec->rq_ci, srq->ci, __ATOMIC_RELEASE);
	*event = srq_below_limit(srq, pi);
	return true;
}

bool dpa_srq_take(struct dpa_hw_srq *srq, struct dpa_rx_wqe *w)
{
	bool event = false, ok;

	dpa_spin_lock(&srq->lock);
	ok = dpa_srq_take_held(srq, w, &event);
	dpa_spin_unlock(&srq->lock);
	if (event)
		dpa_srq_limit_event(srq);
	return ok;
}

int dpa_hw_set_srq_limit(struct dpa_hw_srq *srq, uint32_t limit)
{
	bool event;

	if (limit > 1u << srq->log_size)
		return EINVAL;
	dpa_spin_lock(&srq->lock);
	srq->limit = limit;
	event = srq_below_limit(srq, __atomic_load_n(&srq->dbrec->rq_pi, __ATOMIC_ACQUIRE));
	dpa_spin_unlock(&srq->lock);
	if (event)
		dpa_srq_limit_event(srq);
	return 0;
}

uint32_t dpa_hw_get_srq_limit(struct dpa_hw_srq *srq)
{
	uint32_t limit;

	dpa_spin_lock(&srq->lock);
	limit = srq->limit;
	dpa_spin_unlock(&srq->lock);
	return limit;
}

int dpa_hw_resize_srq(struct dpa_hw_srq *srq, void *buf, uint32_t log_size)
{
	if (1u << log_size > DPA_MAX_WR)
		return EINVAL;
	srq->buf = buf;
	srq->log_size = log_size;
	return 0;
}

void dpa_hw_srq_lock(struct dpa_hw_srq *srq)
{
	dpa_spin_lock(&srq->lock);
}

void dpa_hw_srq_unlock(struct dpa_hw_srq *srq)
{
	dpa_spin_unlock(&srq->lock);
}

int dpa_hw_destroy_srq(struct dpa_hw_srq *srq)
{
	struct dpa_hw *hw = srq->ctx->hw;

	if (atomic_load_explicit(&srq->refs, memory_order_acquire))
		return EBUSY;
	if (srq->xrcd)
		dpa_xrc_srq_remove(hw, srq);
	if (srq->xrcd || srq->tags)
		atomic_fetch_sub_explicit(&srq->cq->refs, 1, memory_order_acq_rel);
	pthread_mutex_lock(&hw->ctl);
	if (srq->xrcd)
		dpa_xrcd_use(hw, srq->xrcd, -1);
	hw->board->self->nsrq = --hw->nsrq;
	hw->pd_refs[srq->pdn]--;
	pthread_mutex_unlock(&hw->ctl);
	free(srq->tags);
	free(srq);
	return 0;
}
