/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* srq.c - shared receive queues: the poster's side. */
#include <stdlib.h>
#include <string.h>
#include "dpa.h"

static size_t srq_bytes(const struct dpa_srq *srq)
{
	return (size_t)srq->stride << srq->log_size;
}

void dpa_srq_free(struct dpa_context *ctx, struct dpa_srq *srq)
{
	dpav_mem_free(ctx, &srq->db_mem);
	dpav_mem_free(ctx, &srq->mem);
}

static int srq_memory(struct dpa_context *ctx, struct dpa_srq *srq)
{
	int ret = dpav_mem_alloc(ctx, srq->domain, srq_bytes(srq), DPADV_RESOURCE_SRQ, &srq->mem);

	if (!ret)
		ret = dpav_mem_alloc(ctx, srq->domain, sizeof(*srq->dbrec), DPADV_RESOURCE_DBREC,
				     &srq->db_mem);
	srq->buf = srq->mem.p;
	srq->dbrec = srq->db_mem.p;
	return ret;
}

static int srq_hw_create(struct dpa_context *ctx, struct dpa_srq *srq, uint32_t pdn)
{
	struct dpa_srq_attr attr = {
		.pdn = pdn,
		.max_sge = srq->max_sge,
		.log_size = srq->log_size,
		.buf = srq->buf,
		.dbrec = srq->dbrec,
		.user_handle = (uintptr_t)srq,
		.xrcd = srq->vsrq.xrcd ? srq->vsrq.xrcd->handle : 0,
		.cq = srq->vsrq.cq ? to_dpa_cq(srq->vsrq.cq)->hw : NULL,
		.max_tags = srq->max_tags,
	};
	int ret = dpa_hw_create_srq(ctx->hw, &attr, &srq->hw, &srq->vsrq.srq.handle);

	srq->vsrq.srq_num = srq->vsrq.srq.handle;
	return ret;
}

/* The user gets all entries of the buffer. */
static void srq_set_size(struct dpa_srq *srq, const struct ibv_srq_attr *attr)
{
	srq->log_size = dpa_log2_up(attr->max_wr < 2 ? 2 : attr->max_wr);
	srq->max_wr = 1u << srq->log_size;
	srq->stride = dpa_rwqe_stride(attr->max_sge);
	srq->max_sge = srq->stride / (uint32_t)sizeof(struct dpa_sge) - 1;
	if (srq->max_sge > DPA_MAX_SGE)
		srq->max_sge = DPA_MAX_SGE;
}

int dpa_srq_alloc(struct dpa_srq *srq, struct ibv_pd *pd, const struct ibv_srq_attr *attr)
{
	if (attr->max_wr < 1 || attr->max_wr > DPA_MAX_WR || attr->max_sge > DPA_MAX_SGE)
		return EINVAL;
	srq_set_size(srq, attr);
	srq->domain = to_dpa_pd(pd);
	srq->lock.single = dpa_pd_single(srq->domain);
	return srq_memory(to_dpa_ctx(pd->context), srq);
}

static void srq_init_public(struct ibv_srq *srq, struct ibv_pd *pd, void *srq_context)
{
	srq->context = pd->context;
	srq->srq_context = srq_context;
	srq->pd = pd;
	pthread_mutex_init(&srq->mutex, NULL);
	pthread_cond_init(&srq->cond, NULL);
}

/* ex: NULL, or the additional attributes for XRC or tag matching. */
static struct dpa_srq *srq_new(struct ibv_pd *pd, struct ibv_srq_attr *attr, void *srq_context,
			       const struct ibv_srq_init_attr_ex *ex)
{
	struct dpa_context *ctx = to_dpa_ctx(pd->context);
	struct dpa_srq *srq;
	int ret;

	if (!dpa_alive(pd->context))
		return dpa_null(EIO);
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	srq->vsrq.srq_type = ex ? ex->srq_type : IBV_SRQT_BASIC;
	if (ex)
		srq->vsrq.cq = ex->cq;
	if (srq->vsrq.srq_type == IBV_SRQT_XRC)
		srq->vsrq.xrcd = (struct verbs_xrcd *)ex->xrcd;
	if (srq->vsrq.srq_type == IBV_SRQT_TM)
		srq->max_tags = ex->tm_cap.max_num_tags;
	ret = dpa_srq_alloc(srq, pd, attr);
	if (!ret)
		ret = srq_hw_create(ctx, srq, to_dpa_pd(pd)->pdn);
	if (ret) {
		dpa_srq_free(ctx, srq);
		free(srq);
		return dpa_null(ret);
	}
	srq_init_public(&srq->vsrq.srq, pd, srq_context);
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	return srq;
}

struct ibv_srq *dpa_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct dpa_srq *srq = srq_new(pd, &attr->attr, attr->srq_context, NULL);

	return srq ? &srq->vsrq.srq : NULL;
}

/* Returns the bits of comp_mask that are required besides type and PD; UINT32_MAX: no such type. */
static uint32_t type_mask(enum ibv_srq_type type)
{
	switch (type) {
	case IBV_SRQT_BASIC:
		return 0;
	case IBV_SRQT_XRC:
		return IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	case IBV_SRQT_TM:
		return IBV_SRQ_INIT_ATTR_TM | IBV_SRQ_INIT_ATTR_CQ;
	}
	return UINT32_MAX;
}

static int srq_ex_check(struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr,
			enum ibv_srq_type type)
{
	const uint32_t common = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	const uint32_t more = type_mask(type);

	if (attr->comp_mask >= IBV_SRQ_INIT_ATTR_RESERVED)
		return EINVAL;
	if (more == UINT32_MAX)
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd ||
	    (attr->comp_mask & ~common) != more)
		return EINVAL;
	if ((more & IBV_SRQ_INIT_ATTR_CQ) && (!attr->cq || attr->cq->context != context))
		return EINVAL;
	if (type == IBV_SRQT_XRC && (!attr->xrcd || attr->xrcd->context != context))
		return EINVAL;
	if (type == IBV_SRQT_TM &&
	    (!attr->tm_cap.max_num_tags || attr->tm_cap.max_num_tags > DPA_MAX_TAGS ||
	     attr->tm_cap.max_ops > DPA_MAX_TAG_OPS))
		return EINVAL;
	return 0;
}

struct ibv_srq *dpa_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	enum ibv_srq_type type =
		attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ? attr->srq_type : IBV_SRQT_BASIC;
	int ret = srq_ex_check(context, attr, type);
	struct dpa_srq *srq;

	if (ret)
		return dpa_null(ret);
	srq = srq_new(attr->pd, &attr->attr, attr->srq_context,
		      type == IBV_SRQT_BASIC ? NULL : attr);
	return srq ? &srq->vsrq.srq : NULL;
}

/* ------------------------------------------------------------------ modify */

static void srq_copy_wqes(const struct dpa_srq *srq, uint8_t *to, uint32_t log_size)
{
	uint32_t ci = __atomic_load_n(&srq->dbrec->rq_ci, __ATOMIC_ACQUIRE);

	for (uint32_t i = ci; i != srq->pi; i++)
		memcpy(to + (size_t)(i & ((1u << log_size) - 1)) * srq->stride,
		       srq->buf + (size_t)(i & (srq->max_wr - 1)) * srq->stride, srq->stride);
}

/* EINVAL if the posted WQEs do not fit (IBA 11.2.3.4). Context: srq->lock. */
static int srq_resize(struct dpa_context *ctx, struct dpa_srq *srq, uint32_t max_wr)
{
	uint32_t log_size = dpa_log2_up(max_wr < 2 ? 2 : max_wr);
	struct dpav_mem mem;
	int ret;

	if (log_size == srq->log_size)
		return 0;
	ret = dpav_mem_alloc(ctx, srq->domain, (size_t)srq->stride << log_size, DPADV_RESOURCE_SRQ,
			     &mem);
	if (ret)
		return ret;
	dpa_hw_srq_lock(srq->hw);
	ret = EINVAL;
	if (srq->pi - __atomic_load_n(&srq->dbrec->rq_ci, __ATOMIC_ACQUIRE) <= 1u << log_size) {
		srq_copy_wqes(srq, mem.p, log_size);
		ret = dpa_hw_resize_srq(srq->hw, mem.p, log_size);
	}
	dpa_hw_srq_unlock(srq->hw);
	if (ret) {
		dpav_mem_free(ctx, &mem);
		return ret;
	}
	dpav_mem_free(ctx, &srq->mem);
	srq->mem = mem;
	srq->buf = mem.p;
	srq->log_size = log_size;
	srq->max_wr = 1u << log_size;
	return 0;
}

int dpa_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct dpa_srq *srq = to_dpa_srq(ibsrq);
	int ret = 0;

	if (!dpa_alive(ibsrq->context))
		return EIO;
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	if ((mask & IBV_SRQ_MAX_WR) && (attr->max_wr < 1 || attr->max_wr > DPA_MAX_WR))
		return EINVAL;
	dpa_lock_take(&srq->lock);
	/* checked first: a verb that fails changes nothing */
	if ((mask & IBV_SRQ_LIMIT) &&
	    attr->srq_limit > (mask & IBV_SRQ_MAX_WR ? attr->max_wr : srq->max_wr))
		ret = EINVAL;
	if (!ret && (mask & IBV_SRQ_MAX_WR))
		ret = srq_resize(to_dpa_ctx(ibsrq->context), srq, attr->max_wr);
	if (!ret && (mask & IBV_SRQ_LIMIT))
		ret = dpa_hw_set_srq_limit(srq->hw, attr->srq_limit);
	dpa_lock_drop(&srq->lock);
	return ret;
}

int dpa_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct dpa_srq *srq = to_dpa_srq(ibsrq);

	if (!dpa_alive(ibsrq->context))
		return EIO;
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = dpa_hw_get_srq_limit(srq->hw);
	return 0;
}

/* ----------------------------------------------------------------- destroy */

int dpa_destroy_srq(struct ibv_srq *ibsrq)
{
	struct dpa_context *ctx = to_dpa_ctx(ibsrq->context);
	struct dpa_srq *srq = to_dpa_srq(ibsrq);
	int ret;

	if (dpa_alive(ibsrq->context)) {
		ret = dpa_hw_destroy_srq(srq->hw);
		if (ret)
			return ret;
		dpa_async_wait(ibsrq, dpa_async_forget(ctx->async, srq, &srq->async_reported));
		dpa_srq_free(ctx, srq);
	}
	free(srq);
	return 0;
}

/* -------------------------------------------------------------------- post */

/* Posts the receives before `end`. */
static inline int post_srq_before(struct dpa_srq *srq, struct ibv_recv_wr *wr,
				  const struct ibv_recv_wr *end, struct ibv_recv_wr **bad)
{
	uint32_t ci;
	int ret = 0;

	dpa_lock_take(&srq->lock);
	ci = __atomic_load_n(&srq->dbrec->rq_ci, __ATOMIC_ACQUIRE);
	for (; wr != end; wr = wr->next) {
		uint8_t *at = srq->buf + (size_t)(srq->pi & (srq->max_wr - 1)) * srq->stride;

		if (srq->pi - ci >= srq->max_wr)
			ret = ENOMEM;
		else
			ret = dpa_recv_build(at, wr, srq->max_sge);
		if (ret) {
			*bad = wr;
			break;
		}
		srq->pi++;
	}
	__atomic_store_n(&srq->dbrec->rq_pi, srq->pi, __ATOMIC_RELEASE);
	dpa_lock_drop(&srq->lock);
	return ret;
}

/* One of the receives may have to fail: those before it are posted. */
static __attribute__((cold, noinline)) int
post_srq_asking(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	const uint32_t *alive = to_dpa_ctx(ibsrq->context)->alive;
	struct ibv_recv_wr *end = wr;
	int err = 0, ret;

	for (; end && !err; end = err ? end : end->next)
		err = dpav_asks_call(alive, "post_srq_recv", 0);
	ret = end == wr ? 0 : post_srq_before(to_dpa_srq(ibsrq), wr, end, bad);
	if (ret || !err)
		return ret;
	*bad = end;
	return err;
}

int dpa_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	if (dpa_unlikely(!dpa_word_plain(to_dpa_ctx(ibsrq->context)->alive)))
		return post_srq_asking(ibsrq, wr, bad);
	return post_srq_before(to_dpa_srq(ibsrq), wr, NULL, bad);
}
