/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* srq.c - shared receive queues: the consumer's side. */
#include <errno.h>
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "ctx/srq.h"

void dpa_srq_limit_event(struct dpa_hw_srq *srq)
{
	struct dpa_event ev = {.type = DPA_EVENT_SRQ_LIMIT_REACHED,
			       .user_handle = srq->user_handle};

	if (srq->ctx->event)
		srq->ctx->event(srq->ctx->event_arg, &ev);
}

bool dpa_srq_take_held(struct dpa_hw_srq *srq, struct dpa_rx_wqe *w, bool *event)
{
	uint32_t pi;
	const struct dpa_rwqe *e = dpa_srq_head(srq, &pi);

	if (!e)
		return false;
	dpa_rwqe_read(w, e, srq->max_sge);
	*event = dpa_srq_pop(srq, pi);
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
	event = dpa_srq_below_limit(srq, __atomic_load_n(&srq->dbrec->rq_pi, __ATOMIC_ACQUIRE));
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
