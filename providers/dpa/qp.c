/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Queue pairs: create and destroy. */
#include <stdlib.h>
#include <string.h>
#include "sq.h"

struct qp_request {
	struct ibv_pd *pd;
	struct ibv_qp_init_attr *attr;
};

static size_t sq_bytes(uint32_t log_sq)
{
	return log_sq ? (size_t)DPA_WQEBB << log_sq : 0;
}

static size_t rq_bytes(const struct dpa_qp_size *size)
{
	size_t n;

	if (!size->rq_sge)
		return 0;
	n = (size_t)dpa_rwqe_stride(size->rq_sge) << size->log_rq;
	return n < DPA_ARENA_MIN ? DPA_ARENA_MIN : n;
}

static void qp_free_queues(struct dpa_context *ctx, struct dpa_qp *qp)
{
	dpa_arena_free(&ctx->arena, qp->rq.buf, qp->rq_bytes);
	dpa_arena_free(&ctx->arena, qp->sq.buf, sq_bytes(qp->log_sq));
	dpa_arena_free(&ctx->arena, qp->sq.dbrec, sizeof(struct dpa_dbrec));
}

static int qp_alloc_sq(struct dpa_context *ctx, struct dpa_qp *qp, const struct dpa_qp_size *size)
{
	struct dpa_sq *sq = &qp->sq;

	if (!size->log_sq)
		return 0;
	sq->buf = dpa_arena_alloc(&ctx->arena, sq_bytes(size->log_sq));
	if (!sq->buf)
		return errno;
	sq->mask = (1u << size->log_sq) - 1;
	sq->max_wr = size->cap.max_send_wr;
	return 0;
}

static int qp_alloc_queues(struct dpa_context *ctx, struct dpa_qp *qp,
			   const struct dpa_qp_size *size)
{
	qp->log_sq = size->log_sq;
	qp->rq_bytes = rq_bytes(size);
	qp->sq.dbrec = dpa_arena_alloc(&ctx->arena, sizeof(struct dpa_dbrec));
	if (!qp->sq.dbrec)
		return errno;
	qp->rq.dbrec = qp->sq.dbrec;
	if (qp->rq_bytes) {
		qp->rq.buf = dpa_arena_alloc(&ctx->arena, qp->rq_bytes);
		if (!qp->rq.buf)
			return errno;
		qp->rq.max_wr = size->cap.max_recv_wr;
		qp->rq.max_sge = size->rq_sge;
		qp->rq.stride = dpa_rwqe_stride(size->rq_sge);
	}
	return qp_alloc_sq(ctx, qp, size);
}

static int qp_hw_create(struct dpa_context *ctx, struct dpa_qp *qp, const struct qp_request *req,
			const struct dpa_qp_size *size)
{
	struct ibv_qp_init_attr *a = req->attr;
	struct dpa_qp_attr_create attr = {
		.type = (uint32_t)a->qp_type,
		.pdn = to_dpa_pd(req->pd)->pdn,
		.sq_sig_all = a->sq_sig_all != 0,
		.send_cq = to_dpa_cq(a->send_cq)->hw,
		.recv_cq = to_dpa_cq(a->recv_cq)->hw,
		.srq = a->srq ? to_dpa_srq(a->srq)->hw : NULL,
		.sq = qp->sq.buf,
		.rq = qp->rq.buf,
		.log_sq = size->log_sq,
		.log_rq = size->log_rq,
		.max_recv_sge = size->rq_sge,
		.dbrec = qp->sq.dbrec,
		.user_handle = (uintptr_t)qp,
		.poster = &qp->alive,
	};

	return dpa_hw_create_qp(ctx->hw, &attr, &qp->hw, &qp->info);
}

static void qp_init_sq(struct dpa_context *ctx, struct dpa_qp *qp, const struct dpa_qp_size *size)
{
	struct dpa_sq *sq = &qp->sq;

	sq->ops = dpa_send_ops(qp->vqp.qp.qp_type);
	sq->max_inline = size->cap.max_inline_data;
	sq->max_sge = size->cap.max_send_sge;
	sq->max_bb = size->max_bb;
	sq->signal_all = qp->sq_sig_all ? DPA_WQE_SIGNALED : 0;
	sq->is_ud = qp->vqp.qp.qp_type == IBV_QPT_UD;
	sq->blueflame = ctx->blueflame;
	sq->slot = qp->info.slot;
	sq->placement = qp->info.placement;
}

static void qp_init_public(struct dpa_qp *qp, const struct qp_request *req)
{
	struct ibv_qp *p = &qp->vqp.qp;

	p->context = req->pd->context;
	p->qp_context = req->attr->qp_context;
	p->pd = req->pd;
	p->send_cq = req->attr->send_cq;
	p->recv_cq = req->attr->recv_cq;
	p->srq = req->attr->srq;
	p->qp_type = req->attr->qp_type;
	p->state = IBV_QPS_RESET;
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->cond, NULL);
}

static int qp_check(const struct qp_request *req)
{
	const struct ibv_qp_init_attr *a = req->attr;

	if (!dpa_alive(req->pd->context))
		return EIO;
	switch (a->qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
		break;
	default:
		return EOPNOTSUPP;
	}
	if (!a->send_cq || !a->recv_cq || a->send_cq->context != req->pd->context ||
	    a->recv_cq->context != req->pd->context ||
	    (a->srq && a->srq->context != req->pd->context))
		return EINVAL;
	return 0;
}

static struct dpa_qp *qp_new(const struct qp_request *req)
{
	struct dpa_context *ctx = to_dpa_ctx(req->pd->context);
	struct dpa_qp_size size;
	struct dpa_qp *qp;
	int ret = qp_check(req);

	if (!ret)
		ret = dpa_qp_size(req->attr->qp_type, req->attr->srq != NULL, &req->attr->cap,
				  &size);
	if (ret)
		return dpa_null(ret);
	if (posix_memalign((void **)&qp, _Alignof(struct dpa_qp), sizeof(*qp)))
		return dpa_null(ENOMEM);
	memset(qp, 0, sizeof(*qp));
	ret = qp_alloc_queues(ctx, qp, &size);
	if (!ret)
		ret = qp_hw_create(ctx, qp, req, &size);
	if (ret) {
		qp_free_queues(ctx, qp);
		free(qp);
		return dpa_null(ret);
	}
	qp->alive = ctx->alive;
	qp->sq_sig_all = req->attr->sq_sig_all != 0;
	qp->cap = size.cap;
	qp_init_public(qp, req);
	qp_init_sq(ctx, qp, &size);
	qp->vqp.qp.qp_num = qp->info.qpn;
	qp->vqp.qp.handle = qp->info.qpn;
	req->attr->cap = size.cap;
	return qp;
}

struct ibv_qp *dpa_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct qp_request req = {.pd = pd, .attr = attr};
	struct dpa_qp *qp = qp_new(&req);

	return qp ? &qp->vqp.qp : NULL;
}

static int qp_ex_check(const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = (IBV_QP_INIT_ATTR_SEND_OPS_FLAGS << 1) - 1;
	const uint32_t have = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if (attr->comp_mask & ~known)
		return EINVAL;
	if (attr->comp_mask & ~have)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags)
		return EOPNOTSUPP;
	/* the bits of send_ops_flags are those of enum ibv_wr_opcode: wr.c */
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    (attr->send_ops_flags & ~(uint64_t)dpa_send_ops(attr->qp_type)))
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd)
		return EINVAL;
	return 0;
}

struct ibv_qp *dpa_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr plain = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
	};
	struct ibv_qp *qp;
	int ret = qp_ex_check(attr);

	if (ret)
		return dpa_null(ret);
	if (attr->pd->context != context)
		return dpa_null(EINVAL);
	qp = dpa_create_qp(attr->pd, &plain);
	if (!qp)
		return NULL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		ret = dpa_wr_init(to_dpa_qp(qp));
	if (ret) {
		dpa_destroy_qp(qp);
		return dpa_null(ret);
	}
	attr->cap = plain.cap;
	return qp;
}

/* ----------------------------------------------------------------- destroy */

static void qp_wait_acks(struct ibv_qp *qp, uint32_t async)
{
	pthread_mutex_lock(&qp->mutex);
	while (qp->events_completed != async)
		pthread_cond_wait(&qp->cond, &qp->mutex);
	pthread_mutex_unlock(&qp->mutex);
}

int dpa_destroy_qp(struct ibv_qp *ibqp)
{
	struct dpa_context *ctx = to_dpa_ctx(ibqp->context);
	struct dpa_qp *qp = to_dpa_qp(ibqp);
	int ret;

	if (!dpa_word_alive(qp->alive)) {
		free(qp->batch);
		free(qp);
		return 0;
	}
	if (qp->sq.doorbells || qp->sq.blueflames) /* else others posted, if anybody */
		sq_show(&qp->sq);
	ret = dpa_hw_destroy_qp(qp->hw);
	if (ret)
		return ret;
	dpa_cq_purge(to_dpa_cq(ibqp->send_cq), ibqp->qp_num);
	if (ibqp->recv_cq != ibqp->send_cq)
		dpa_cq_purge(to_dpa_cq(ibqp->recv_cq), ibqp->qp_num);
	qp_wait_acks(ibqp, dpa_async_forget(ctx->async, qp, &qp->async_reported));
	qp_free_queues(ctx, qp);
	free(qp->batch);
	free(qp);
	return 0;
}

static_assert((int)DPA_QP_RC == (int)IBV_QPT_RC, "QP type");
static_assert((int)DPA_QP_UC == (int)IBV_QPT_UC, "QP type");
static_assert((int)DPA_QP_UD == (int)IBV_QPT_UD, "QP type");
static_assert(offsetof(struct dpa_qp, sq.dbrec) / 64 == offsetof(struct dpa_qp, alive) / 64 &&
		      offsetof(struct dpa_qp, sq.blueflame) / 64 ==
			      offsetof(struct dpa_qp, alive) / 64 + 1,
	      "posting touches two lines");
