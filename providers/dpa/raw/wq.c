/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* wq.c - separate receive queues, tables of them, and QPs that spread frames by such a table. */
#include <stdlib.h>
#include <string.h>
#include "dpa.h"

static struct dpa_wq *to_dpa_wq(struct ibv_wq *wq)
{
	return (struct dpa_wq *)wq;
}

/* ---------------------------------------------------------------------- WQs */

static int wq_check(struct ibv_context *context, const struct ibv_wq_init_attr *attr)
{
	if (!dpa_alive(context))
		return EIO;
	if (attr->wq_type != IBV_WQT_RQ || attr->comp_mask >= IBV_WQ_INIT_ATTR_RESERVED ||
	    !attr->pd || !attr->cq || attr->pd->context != context || attr->cq->context != context)
		return EINVAL;
	if ((attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS) && attr->create_flags)
		return EOPNOTSUPP;
	return 0;
}

static int wq_post_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct dpa_wq *wq = to_dpa_wq(ibwq);
	int ret;

	if (dpa_alive(ibwq->context) && dpa_hw_wq_state(wq->hw) == DPA_WQS_RESET) {
		*bad = wr;
		return EINVAL;
	}
	ret = dpa_post_srq_recv(&wq->rq.vsrq.srq, wr, bad);
	if (ret != EIO)
		dpa_hw_ring_wq(wq->hw); /* it may have failed meanwhile: then this flushes it */
	return ret;
}

static int wq_hw_create(struct dpa_wq *wq, const struct ibv_wq_init_attr *attr)
{
	struct dpa_wq_attr a = {
		.pdn = to_dpa_pd(attr->pd)->pdn,
		.max_sge = wq->rq.max_sge,
		.log_size = wq->rq.log_size,
		.buf = wq->rq.buf,
		.dbrec = wq->rq.dbrec,
		.cq = to_dpa_cq(attr->cq)->hw,
		.user_handle = (uintptr_t)wq,
	};

	return dpa_hw_create_wq(to_dpa_ctx(attr->pd->context)->hw, &a, &wq->hw, &wq->wq.wq_num);
}

struct ibv_wq *dpa_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	const struct ibv_srq_attr size = {.max_wr = attr->max_wr, .max_sge = attr->max_sge};
	int ret = wq_check(context, attr);
	struct dpa_wq *wq;

	if (ret)
		return dpa_null(ret);
	wq = calloc(1, sizeof(*wq));
	if (!wq)
		return NULL;
	wq->rq.vsrq.srq.context = context;
	ret = dpa_srq_alloc(&wq->rq, attr->pd, &size);
	if (!ret)
		ret = wq_hw_create(wq, attr);
	if (ret) {
		dpa_srq_free(to_dpa_ctx(context), &wq->rq);
		free(wq);
		return dpa_null(ret);
	}
	wq->wq.context = context;
	wq->wq.pd = attr->pd;
	wq->wq.cq = attr->cq;
	wq->wq.wq_type = attr->wq_type;
	wq->wq.state = IBV_WQS_RESET;
	wq->wq.handle = wq->wq.wq_num;
	wq->wq.post_recv = wq_post_recv;
	attr->max_wr = wq->rq.max_wr;
	attr->max_sge = wq->rq.max_sge;
	return &wq->wq;
}

/* The device does not touch it any more. */
static void wq_empty(struct dpa_wq *wq)
{
	struct dpa_srq *rq = &wq->rq;

	dpa_lock_take(&rq->lock);
	rq->pi = 0;
	__atomic_store_n(&rq->dbrec->rq_ci, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&rq->dbrec->rq_pi, 0, __ATOMIC_RELEASE);
	dpa_lock_drop(&rq->lock);
	dpa_cq_purge(to_dpa_cq(wq->wq.cq), wq->wq.wq_num);
}

int dpa_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr)
{
	struct dpa_wq *wq = to_dpa_wq(ibwq);
	uint32_t mask = attr->attr_mask;
	int ret = 0;

	if (!dpa_alive(ibwq->context))
		return EIO;
	if (mask >= IBV_WQ_ATTR_RESERVED ||
	    ((mask & IBV_WQ_ATTR_STATE) && (unsigned int)attr->wq_state > IBV_WQS_ERR))
		return EINVAL;
	if ((mask & IBV_WQ_ATTR_FLAGS) && attr->flags_mask)
		return EOPNOTSUPP;
	pthread_mutex_lock(&ibwq->mutex);
	if ((mask & IBV_WQ_ATTR_CURR_STATE) &&
	    (uint32_t)attr->curr_wq_state != dpa_hw_wq_state(wq->hw))
		ret = EINVAL;
	if (!ret && (mask & IBV_WQ_ATTR_STATE))
		ret = dpa_hw_modify_wq(wq->hw, (uint32_t)attr->wq_state);
	if (!ret && (mask & IBV_WQ_ATTR_STATE)) {
		ibwq->state = attr->wq_state;
		if (attr->wq_state == IBV_WQS_RESET)
			wq_empty(wq);
	}
	pthread_mutex_unlock(&ibwq->mutex);
	return ret;
}

int dpa_destroy_wq(struct ibv_wq *ibwq)
{
	struct dpa_context *ctx = to_dpa_ctx(ibwq->context);
	struct dpa_wq *wq = to_dpa_wq(ibwq);
	int ret;

	if (dpa_alive(ibwq->context)) {
		ret = dpa_hw_destroy_wq(wq->hw);
		if (ret)
			return ret;
		dpa_cq_purge(to_dpa_cq(ibwq->cq), ibwq->wq_num);
		dpa_async_wait(ibwq, dpa_async_forget(ctx->async, wq, &wq->async_reported));
		dpa_srq_free(ctx, &wq->rq);
	}
	free(wq);
	return 0;
}

/* ------------------------------------------------------------------- tables */

struct ibv_rwq_ind_table *dpa_create_ind_table(struct ibv_context *context,
					       struct ibv_rwq_ind_table_init_attr *attr)
{
	struct dpa_hw_wq *wqs[1 << DPA_MAX_LOG_IND];
	struct dpa_ind_table *t;
	int ret = 0;

	if (!dpa_alive(context))
		return dpa_null(EIO);
	if (attr->comp_mask || attr->log_ind_tbl_size > DPA_MAX_LOG_IND)
		return dpa_null(EINVAL);
	for (uint32_t i = 0; i < 1u << attr->log_ind_tbl_size; i++) {
		if (!attr->ind_tbl[i] || attr->ind_tbl[i]->context != context)
			return dpa_null(EINVAL);
		wqs[i] = to_dpa_wq(attr->ind_tbl[i])->hw;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	ret = dpa_hw_create_ind_table(to_dpa_ctx(context)->hw, wqs, attr->log_ind_tbl_size, &t->hw);
	if (ret) {
		free(t);
		return dpa_null(ret);
	}
	t->table.context = context;
	return &t->table;
}

int dpa_destroy_ind_table(struct ibv_rwq_ind_table *table)
{
	struct dpa_ind_table *t = (struct dpa_ind_table *)table;
	int ret = dpa_alive(table->context) ? dpa_hw_destroy_ind_table(t->hw) : 0;

	if (!ret)
		free(t);
	return ret;
}

/* ----------------------------------------------------------------- RSS QPs */

int dpa_rss_attr(const struct ibv_qp_init_attr_ex *attr, struct dpa_qp_attr_create *a)
{
	const struct ibv_rx_hash_conf *h = &attr->rx_hash_conf;
	const uint32_t both = IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;

	if ((attr->comp_mask & both) != both || !attr->rwq_ind_tbl ||
	    attr->rwq_ind_tbl->context != attr->pd->context || attr->send_cq || attr->recv_cq ||
	    attr->srq || (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EINVAL;
	if (h->rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ)
		return EOPNOTSUPP;
	if (h->rx_hash_key_len != DPA_RSS_KEY || !h->rx_hash_key)
		return EINVAL;
	/* for its own multicast; but it sends nothing */
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags)
		return EOPNOTSUPP;
	a->ind_table = ((const struct dpa_ind_table *)attr->rwq_ind_tbl)->hw;
	a->rss.fields = h->rx_hash_fields_mask;
	memcpy(a->rss.key, h->rx_hash_key, DPA_RSS_KEY);
	return 0;
}

#define SAME(a, b) static_assert((uint64_t)(a) == (uint64_t)(b), #a)
SAME(DPA_WQS_RESET, IBV_WQS_RESET);
SAME(DPA_WQS_READY, IBV_WQS_RDY);
SAME(DPA_WQS_ERROR, IBV_WQS_ERR);
SAME(DPA_RSS_SRC_IPV4, IBV_RX_HASH_SRC_IPV4);
SAME(DPA_RSS_DST_IPV4, IBV_RX_HASH_DST_IPV4);
SAME(DPA_RSS_SRC_IPV6, IBV_RX_HASH_SRC_IPV6);
SAME(DPA_RSS_DST_IPV6, IBV_RX_HASH_DST_IPV6);
SAME(DPA_RSS_SRC_PORT_TCP, IBV_RX_HASH_SRC_PORT_TCP);
SAME(DPA_RSS_DST_PORT_TCP, IBV_RX_HASH_DST_PORT_TCP);
SAME(DPA_RSS_SRC_PORT_UDP, IBV_RX_HASH_SRC_PORT_UDP);
SAME(DPA_RSS_DST_PORT_UDP, IBV_RX_HASH_DST_PORT_UDP);
