/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpadv.c - direct verbs: the internals of verbs objects, and device functions for callers that
 * post by hand.
 */
#include <stdio.h>
#include "dpa.h"
#include <dpa_hw_pcc.h>
#include "dpadv.h"
#include "control/control.h"
#include "discovery/match.h"

bool dpadv_is_supported(struct ibv_device *device)
{
	return verbs_get_device(device)->ops == &dpa_dev_ops;
}

int dpadv_query_function(struct ibv_device *device, struct dpadv_function *fn)
{
	int number = dpadv_is_supported(device) ? dpa_function_of(device->name) : -1;

	if (number < 0 || fn->comp_mask)
		return EINVAL;
	fn->number = (uint32_t)number;
	snprintf(fn->pci_addr, sizeof(fn->pci_addr), "d9a0:00:00.%u",
		 (unsigned)number % DPA_MAX_FUNCTIONS);
	return 0;
}

static void qp_out(struct dpav_qp *qp, struct dpadv_qp *out)
{
	*out = (struct dpadv_qp){
		.qpn = qp->info.qpn,
		.log_sq = qp->log_sq,
		.log_rq = qp->rq.max_wr ? dpa_log2_up(qp->rq.max_wr) : 0,
		.rq_stride = qp->rq.stride,
		.rq_max_sge = qp->rq.max_sge,
		.uar_page = qp->info.uar_page,
		.uar_slot = qp->info.uar_slot,
		.sq = qp->sq.buf,
		.rq = qp->rq.buf,
		.dbrec = qp->sq.dbrec,
		.slot = qp->info.slot,
		.placement = qp->info.placement,
		.hw = qp->hw,
	};
}

static void cq_out(struct dpa_cq *cq, struct dpadv_cq *out)
{
	*out = (struct dpadv_cq){
		.buf = cq->buf,
		.ci = cq->ci_rec,
		.log_size = cq->log_size,
		.cqn = cq->vcq.cq.handle,
		.hw = cq->hw,
	};
}

static void srq_out(struct dpa_srq *srq, struct dpadv_srq *out)
{
	*out = (struct dpadv_srq){
		.buf = srq->buf,
		.log_size = srq->log_size,
		.stride = srq->stride,
		.max_sge = srq->max_sge,
		.dbrec = srq->dbrec,
		.hw = srq->hw,
	};
}

/* EINVAL if the kind is requested and its part of obj is invalid. */
#define CHECK_OBJ(type, bit, member)                                                               \
	(((type) & (bit)) ? check_one(obj->member.in ? obj->member.in->context : NULL,             \
				      obj->member.out ? &obj->member.out->comp_mask : NULL)        \
			  : 0)

static int check_one(struct ibv_context *context, const uint64_t *comp_mask)
{
	if (!context || !comp_mask || *comp_mask || !dpadv_is_supported(context->device))
		return EINVAL;
	return dpa_alive(context) ? 0 : EIO;
}

static int check_obj(const struct dpadv_obj *obj, uint64_t type)
{
	int ret = 0;

	if (!type || type >= (uint64_t)DPADV_OBJ_MR << 1)
		return EINVAL;
	if (!ret)
		ret = CHECK_OBJ(type, DPADV_OBJ_QP, qp);
	if (!ret)
		ret = CHECK_OBJ(type, DPADV_OBJ_CQ, cq);
	if (!ret)
		ret = CHECK_OBJ(type, DPADV_OBJ_SRQ, srq);
	if (!ret)
		ret = CHECK_OBJ(type, DPADV_OBJ_PD, pd);
	if (!ret)
		ret = CHECK_OBJ(type, DPADV_OBJ_MR, mr);
	return ret;
}

int dpadv_init_obj(struct dpadv_obj *obj, uint64_t type)
{
	int ret = check_obj(obj, type);

	if (ret)
		return ret;
	if (type & DPADV_OBJ_QP)
		qp_out(to_dpa_qp(obj->qp.in), obj->qp.out);
	if (type & DPADV_OBJ_CQ)
		cq_out(to_dpa_cq(obj->cq.in), obj->cq.out);
	if (type & DPADV_OBJ_SRQ)
		srq_out(to_dpa_srq(obj->srq.in), obj->srq.out);
	if (type & DPADV_OBJ_PD)
		*obj->pd.out = (struct dpadv_pd){.pdn = to_dpa_pd(obj->pd.in)->pdn};
	if (type & DPADV_OBJ_MR)
		*obj->mr.out = (struct dpadv_mr){.key = obj->mr.in->lkey};
	return 0;
}

struct ibv_cq *dpadv_create_cq(struct ibv_context *context, struct dpadv_cq_init_attr *attr)
{
	struct dpa_cq_init init = {
		.cqe = attr->cqe,
		.flags = attr->flags,
		.comp = attr->comp,
		.comp_arg = attr->comp_arg,
	};
	struct ibv_cq *cq;

	if (attr->comp_mask || !dpadv_is_supported(context->device))
		return dpa_null(EINVAL);
	cq = dpa_ctl_cq_by_hand(context, &init, attr->cq_context);
	if (cq)
		to_dpa_cq(cq)->by_hand = attr->comp != NULL;
	return cq;
}

struct ibv_qp *dpadv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
			       const struct dpadv_qp_init_attr *dv)
{
	if (dv->comp_mask || dv->rsvd || !dpadv_is_supported(pd->context->device))
		return dpa_null(EINVAL);
	return dpa_ctl_create_qp_indexed(pd, attr, dv->user_index);
}

int dpadv_set_placement(struct ibv_qp *ibqp, enum dpa_placement placement, int eu)
{
	struct dpav_qp *qp = to_dpa_qp(ibqp);

	if (!dpa_word_alive(qp->alive))
		return EIO;
	return dpa_hw_set_placement(qp->hw, (uint32_t)placement, eu);
}

int dpadv_watch_sq(struct ibv_qp *ibqp, const uint64_t *word)
{
	struct dpav_qp *qp = to_dpa_qp(ibqp);

	if (!dpa_word_alive(qp->alive))
		return EIO;
	return dpa_hw_watch_sq(qp->hw, word);
}

struct ibv_mr *dpadv_reg_foreign_mr(struct ibv_pd *pd, const struct dpadv_foreign_mr *mr)
{
	if (!dpadv_is_supported(pd->context->device))
		return dpa_null(EINVAL);
	return dpa_ctl_reg_foreign_mr(pd, mr);
}

int dpadv_progress(struct ibv_context *context)
{
	if (!dpa_alive(context))
		return -EIO;
	return dpa_hw_progress(to_dpa_ctx(context)->hw);
}

void dpadv_idle(struct ibv_context *context)
{
	if (dpa_alive(context))
		dpa_hw_idle(to_dpa_ctx(context)->hw);
}

int dpadv_wait_fd(struct ibv_context *context, int fd, int timeout_ms)
{
	if (!dpa_alive(context))
		return EIO;
	return dpa_hw_wait_fd(to_dpa_ctx(context)->hw, fd, timeout_ms);
}

uint32_t dpadv_num_eus(struct ibv_context *context)
{
	return dpa_alive(context) ? dpa_hw_num_eus(to_dpa_ctx(context)->hw) : 0;
}

int dpadv_query_board(struct ibv_context *context, struct dpadv_board *board)
{
	struct dpa_hw_board_attr attr;

	if (board->comp_mask)
		return EINVAL;
	if (!dpa_alive(context))
		return EIO;
	dpa_hw_query_board(to_dpa_ctx(context)->hw, &attr);
	board->path = attr.path;
	board->max_run_time = attr.max_run_time;
	return 0;
}

const struct dpa_pcc_ops *dpadv_query_pcc(struct ibv_context *context, void **port)
{
	return dpa_alive(context) ? dpa_hw_query_pcc(to_dpa_ctx(context)->hw, port) : NULL;
}

void dpadv_ring_sq(struct dpa_hw_qp *qp)
{
	dpa_hw_ring_sq(qp);
}

void dpadv_kick_sq(struct dpa_hw_qp *qp)
{
	dpa_hw_kick_sq(qp);
}

void dpadv_ring_rq(struct dpa_hw_qp *qp)
{
	dpa_hw_ring_rq(qp);
}

void dpadv_arm_cq(struct dpa_hw_cq *cq, bool solicited_only)
{
	dpa_hw_arm_cq(cq, solicited_only);
}

bool dpadv_may_read(struct dpa_hw_qp *qp, uint32_t lkey, uint64_t addr, uint64_t length)
{
	return dpa_hw_may_read(qp, lkey, addr, length);
}
