/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp.c - queue pairs: create and destroy. */
#include <stdlib.h>
#include <string.h>
#include "post/sq.h"

struct qp_request {
	struct ibv_pd *pd;
	struct ibv_qp_init_attr *attr;
	uint32_t user_index;
	bool block_self_mcast;
};

static size_t sq_bytes(uint32_t log_sq)
{
	return log_sq ? (size_t)DPA_WQEBB << log_sq : 0;
}

static size_t rq_bytes(const struct dpav_qp_size *size)
{
	size_t n;

	if (!size->rq_sge)
		return 0;
	n = (size_t)dpa_rwqe_stride(size->rq_sge) << size->log_rq;
	return n < DPA_ARENA_MIN ? DPA_ARENA_MIN : n;
}

static void qp_free_queues(struct dpa_context *ctx, struct dpav_qp *qp)
{
	dpav_mem_free(ctx, &qp->rq_mem);
	dpav_mem_free(ctx, &qp->sq_mem);
	dpav_mem_free(ctx, &qp->db_mem);
}

static int qp_alloc_sq(struct dpa_context *ctx, struct dpav_qp *qp, struct dpa_pd *pd,
		       const struct dpav_qp_size *size)
{
	struct dpa_sq *sq = &qp->sq;
	int ret;

	if (!size->log_sq)
		return 0;
	ret = dpav_mem_alloc(ctx, pd, sq_bytes(size->log_sq), DPADV_RESOURCE_SQ, &qp->sq_mem);
	if (ret)
		return ret;
	sq->buf = qp->sq_mem.p;
	sq->mask = (1u << size->log_sq) - 1;
	sq->max_wr = size->cap.max_send_wr;
	return 0;
}

static int qp_alloc_queues(struct dpa_context *ctx, struct dpav_qp *qp, struct dpa_pd *pd,
			   const struct dpav_qp_size *size)
{
	int ret = dpav_mem_alloc(ctx, pd, sizeof(struct dpa_dbrec), DPADV_RESOURCE_DBREC,
				 &qp->db_mem);
	size_t rq = rq_bytes(size);

	if (ret)
		return ret;
	qp->log_sq = size->log_sq;
	qp->rq.dbrec = qp->sq.dbrec = qp->db_mem.p;
	if (rq) {
		ret = dpav_mem_alloc(ctx, pd, rq, DPADV_RESOURCE_RQ, &qp->rq_mem);
		if (ret)
			return ret;
		qp->rq.buf = qp->rq_mem.p;
		qp->rq.max_wr = size->cap.max_recv_wr;
		qp->rq.max_sge = size->rq_sge;
		qp->rq.stride = dpa_rwqe_stride(size->rq_sge);
	}
	return qp_alloc_sq(ctx, qp, pd, size);
}

static int qp_hw_create(struct dpa_context *ctx, struct dpav_qp *qp, const struct qp_request *req,
			const struct dpav_qp_size *size)
{
	struct ibv_qp_init_attr *a = req->attr;
	struct dpa_qp_attr_create attr = {
		.type = (uint32_t)a->qp_type,
		.pdn = to_dpa_pd(req->pd)->pdn,
		.user_index = req->user_index,
		.sq_sig_all = a->sq_sig_all != 0,
		.send_cq = to_dpa_cq(a->send_cq)->hw,
		.recv_cq = to_dpa_cq(a->recv_cq ? a->recv_cq : a->send_cq)->hw,
		.srq = a->srq ? to_dpa_srq(a->srq)->hw : NULL,
		.sq = qp->sq.buf,
		.rq = qp->rq.buf,
		.log_sq = size->log_sq,
		.log_rq = size->log_rq,
		.max_recv_sge = size->rq_sge,
		.dbrec = qp->sq.dbrec,
		.user_handle = (uintptr_t)qp,
		.poster = &qp->alive,
		.block_self_mcast = req->block_self_mcast,
	};

	return dpa_hw_create_qp(ctx->hw, &attr, &qp->hw, &qp->info);
}

static void qp_init_sq(struct dpa_context *ctx, struct dpav_qp *qp, const struct dpav_qp_size *size)
{
	struct dpa_sq *sq = &qp->sq;

	sq->ops = dpa_send_ops(qp->vqp.qp.qp_type);
	sq->max_inline = size->cap.max_inline_data;
	sq->max_sge = size->cap.max_send_sge;
	sq->max_bb = size->max_bb;
	sq->last = sq->mask + 1 - size->max_bb;
	sq->signal_all = qp->sq_sig_all ? DPA_WQE_SIGNALED : 0;
	sq->is_ud = qp->vqp.qp.qp_type == IBV_QPT_UD;
	sq->is_xrc = qp->vqp.qp.qp_type == IBV_QPT_XRC_SEND;
	sq->blueflame = ctx->blueflame;
	sq->slot = qp->info.slot;
	sq->placement = qp->info.placement;
}

static void qp_init_public(struct dpav_qp *qp, const struct qp_request *req)
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

/* The sends of a QP whose SRQ matches tags belong to the device. */
static bool tags_refuse(const struct ibv_qp_init_attr *a)
{
	return a->srq && to_dpa_srq(a->srq)->vsrq.srq_type == IBV_SRQT_TM &&
	       (a->qp_type != IBV_QPT_RC || a->cap.max_send_wr);
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
	case IBV_QPT_RAW_PACKET:
		break;
	case IBV_QPT_XRC_SEND: /* receives nothing */
		if (!a->send_cq || a->send_cq->context != req->pd->context || a->srq)
			return EINVAL;
		return 0;
	default:
		return EOPNOTSUPP;
	}
	if (!a->send_cq || !a->recv_cq || a->send_cq->context != req->pd->context ||
	    a->recv_cq->context != req->pd->context ||
	    (a->srq && a->srq->context != req->pd->context) || tags_refuse(a))
		return EINVAL;
	return 0;
}

static struct dpav_qp *qp_new(const struct qp_request *req)
{
	struct dpa_context *ctx = to_dpa_ctx(req->pd->context);
	struct dpav_qp_size size;
	struct dpav_qp *qp;
	int ret = qp_check(req);

	if (!ret)
		ret = dpav_qp_size(req->attr->qp_type, req->attr->srq != NULL, &req->attr->cap,
				   &size);
	if (ret)
		return dpa_null(ret);
	if (posix_memalign((void **)&qp, _Alignof(struct dpav_qp), sizeof(*qp)))
		return dpa_null(ENOMEM);
	memset(qp, 0, sizeof(*qp));
	ret = qp_alloc_queues(ctx, qp, to_dpa_pd(req->pd), &size);
	if (!ret)
		ret = qp_hw_create(ctx, qp, req, &size);
	if (ret) {
		qp_free_queues(ctx, qp);
		free(qp);
		return dpa_null(ret);
	}
	qp->alive = ctx->alive;
	qp->sq.lock.single = qp->rq.lock.single = dpa_pd_single(to_dpa_pd(req->pd));
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
	return dpa_create_qp_indexed(pd, attr, 0);
}

struct ibv_qp *dpa_create_qp_indexed(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
				     uint32_t user_index)
{
	struct qp_request req = {.pd = pd, .attr = attr, .user_index = user_index};
	struct dpav_qp *qp = qp_new(&req);

	return qp ? &qp->vqp.qp : NULL;
}

/* The bits of send_ops_flags are those of enum ibv_wr_opcode (wr.c), except the newest. */
static uint64_t send_ops_flags(enum ibv_qp_type type)
{
	uint64_t ops = dpa_send_ops(type), flags = ops & ((1ull << IBV_WR_TSO) - 1);

	if (ops >> IBV_WR_ATOMIC_WRITE & 1)
		flags |= IBV_QP_EX_WITH_ATOMIC_WRITE;
#ifdef DPA_HAVE_FLUSH
	if (ops >> IBV_WR_FLUSH & 1)
		flags |= IBV_QP_EX_WITH_FLUSH;
#endif
	return flags;
}

static uint32_t create_flags(enum ibv_qp_type type)
{
	return type == IBV_QPT_UD || type == IBV_QPT_RAW_PACKET ? IBV_QP_CREATE_BLOCK_SELF_MCAST_LB
								: 0;
}

#define RSS_ATTR (IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH)

static int qp_ex_check(const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = (IBV_QP_INIT_ATTR_SEND_OPS_FLAGS << 1) - 1;
	const uint32_t have = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			      (attr->qp_type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD : 0) |
			      (attr->qp_type == IBV_QPT_RAW_PACKET ? RSS_ATTR : 0);

	if (attr->comp_mask & ~known)
		return EINVAL;
	if (attr->comp_mask & ~have)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	    (attr->create_flags & ~create_flags(attr->qp_type)))
		return EINVAL;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    (attr->send_ops_flags & ~send_ops_flags(attr->qp_type)))
		return EOPNOTSUPP;
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd ? 0 : EINVAL;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd)
		return EINVAL;
	return 0;
}

/* Creates a QP without queues. */
static struct dpav_qp *qp_bare_new(struct ibv_context *context)
{
	struct dpav_qp *qp;

	if (posix_memalign((void **)&qp, _Alignof(struct dpav_qp), sizeof(*qp)))
		return dpa_null(ENOMEM);
	memset(qp, 0, sizeof(*qp));
	qp->alive = to_dpa_ctx(context)->alive;
	qp->vqp.qp.context = context;
	pthread_mutex_init(&qp->vqp.qp.mutex, NULL);
	pthread_cond_init(&qp->vqp.qp.cond, NULL);
	return qp;
}

struct dpav_qp *dpav_qp_target_new(struct ibv_context *context, struct ibv_xrcd *xrcd)
{
	struct dpav_qp *qp = qp_bare_new(context);

	if (!qp)
		return NULL;
	qp->vqp.xrcd = (struct verbs_xrcd *)xrcd;
	verbs_qp_add_mask(&qp->vqp, VERBS_QP_XRCD);
	qp->vqp.qp.qp_type = IBV_QPT_XRC_RECV;
	return qp;
}

void dpav_qp_target_ready(struct dpav_qp *qp)
{
	qp->sq.slot = qp->info.slot;
	qp->sq.placement = qp->info.placement;
	qp->vqp.qp.qp_num = qp->info.qpn;
	qp->vqp.qp.handle = qp->info.qpn;
}

static struct ibv_qp *create_target(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct dpa_qp_attr_create a = {.type = DPA_QP_XRC_RECV};
	struct dpav_qp *qp;
	int ret;

	if (!dpa_alive(context))
		return dpa_null(EIO);
	if (attr->xrcd->context != context)
		return dpa_null(EINVAL);
	qp = dpav_qp_target_new(context, attr->xrcd);
	if (!qp)
		return NULL;
	a.xrcd = dpa_xrcd_num(attr->xrcd);
	a.user_handle = (uintptr_t)qp;
	ret = dpa_hw_create_qp(to_dpa_ctx(context)->hw, &a, &qp->hw, &qp->info);
	if (ret) {
		free(qp);
		return dpa_null(ret);
	}
	qp->vqp.qp.qp_context = attr->qp_context;
	/*
	 * librdmacm passes one and reads it back: only the pointer is used; no key is checked
	 * against it.
	 */
	if (attr->comp_mask & IBV_QP_INIT_ATTR_PD)
		qp->vqp.qp.pd = attr->pd;
	dpav_qp_target_ready(qp);
	memset(&attr->cap, 0, sizeof(attr->cap));
	return &qp->vqp.qp;
}

/* It only receives, and not into queues of its own: it is ready from the start. */
static struct ibv_qp *create_rss(struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_context *context = attr->pd->context;
	struct dpa_qp_attr_create a = {.type = DPA_QP_RAW, .pdn = to_dpa_pd(attr->pd)->pdn};
	struct dpav_qp *qp;
	int ret = dpa_alive(context) ? dpa_rss_attr(attr, &a) : EIO;

	if (ret)
		return dpa_null(ret);
	qp = qp_bare_new(context);
	if (!qp)
		return NULL;
	qp->vqp.qp.qp_type = IBV_QPT_RAW_PACKET;
	qp->vqp.qp.pd = attr->pd;
	qp->vqp.qp.qp_context = attr->qp_context;
	qp->rss = true;
	a.user_handle = (uintptr_t)qp;
	ret = dpa_hw_create_qp(to_dpa_ctx(context)->hw, &a, &qp->hw, &qp->info);
	if (ret) {
		free(qp);
		return dpa_null(ret);
	}
	dpav_qp_target_ready(qp);
	memset(&attr->cap, 0, sizeof(attr->cap));
	return &qp->vqp.qp;
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
	struct qp_request req = {.pd = attr->pd, .attr = &plain};
	struct dpav_qp *qp;
	int ret = qp_ex_check(attr);

	if (ret)
		return dpa_null(ret);
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return create_target(context, attr);
	if (attr->pd->context != context)
		return dpa_null(EINVAL);
	if (attr->comp_mask & RSS_ATTR)
		return create_rss(attr);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS)
		req.block_self_mcast = attr->create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	qp = qp_new(&req);
	if (!qp)
		return NULL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		ret = dpa_wr_init(qp);
	if (ret) {
		dpa_destroy_qp(&qp->vqp.qp);
		return dpa_null(ret);
	}
	attr->cap = plain.cap;
	return &qp->vqp.qp;
}

/* ----------------------------------------------------------------- destroy */

int dpa_destroy_qp(struct ibv_qp *ibqp)
{
	struct dpa_context *ctx = to_dpa_ctx(ibqp->context);
	struct dpav_qp *qp = to_dpa_qp(ibqp);
	int ret;

	if (!dpa_word_alive(qp->alive)) {
		free(qp->batch.aside);
		free(qp);
		return 0;
	}
	if (dpa_hw_num_mcast(qp->hw) || dpa_hw_num_flows(qp->hw))
		return EBUSY;			   /* man ibv_destroy_qp */
	if (qp->sq.doorbells || qp->sq.blueflames) /* otherwise other threads posted, if any */
		sq_show(&qp->sq);
	ret = dpa_hw_close_qp(qp->hw, (uintptr_t)qp);
	if (ret)
		return ret;
	dpav_qp_purge(qp);
	dpa_async_wait(ibqp, dpa_async_forget(ctx->async, qp, &qp->async_reported));
	qp_free_queues(ctx, qp);
	free(qp->batch.aside);
	free(qp);
	return 0;
}

static_assert((int)DPA_QP_RC == (int)IBV_QPT_RC, "QP type");
static_assert((int)DPA_QP_UC == (int)IBV_QPT_UC, "QP type");
static_assert((int)DPA_QP_UD == (int)IBV_QPT_UD, "QP type");
static_assert((int)DPA_QP_RAW == (int)IBV_QPT_RAW_PACKET, "QP type");
static_assert(offsetof(struct dpav_qp, sq.dbrec) / 64 == offsetof(struct dpav_qp, alive) / 64 &&
		      offsetof(struct dpav_qp, sq.blueflame) / 64 ==
			      offsetof(struct dpav_qp, alive) / 64 + 1,
	      "posting touches two lines");
