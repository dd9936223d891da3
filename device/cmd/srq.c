/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* srq.c - shared receive queues: creation and destruction. */
#include <errno.h>
#include <stdlib.h>
#include "ctx/cq.h"
#include "ctx/srq.h"
#include "ctx/xrc.h"
#include "recv/tag.h"

/* Context: hw->ctl. */
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
	if (hw->num.srq >= DPA_MAX_SRQ) {
		pthread_mutex_unlock(&hw->ctl);
		dpa_log(hw, DPA_LOG_ERR, "all %d SRQs of this process are in use", DPA_MAX_SRQ);
		free(srq->tags);
		free(srq);
		return ENOMEM;
	}
	ret = !hw->pd.refs[attr->pdn] ? EINVAL : srq->xrcd ? xrc_init(hw, srq) : 0;
	if (!ret) {
		hw->board->self->nsrq = ++hw->num.srq;
		hw->pd.refs[attr->pdn]++;
		if (!srq->xrcd)
			srq->srqn = ++hw->next.srqn;
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
	hw->board->self->nsrq = --hw->num.srq;
	hw->pd.refs[srq->pdn]--;
	pthread_mutex_unlock(&hw->ctl);
	free(srq->tags);
	free(srq);
	return 0;
}
