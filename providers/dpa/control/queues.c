/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* queues.c - control verbs of CQs, SRQs, QPs, address handles and multicast. */
#include "control/call.h"

/* ---------------------------------------------------------------------- CQs */

struct ibv_cq *dpa_ctl_create_cq(struct ibv_context *context, int cqe,
				 struct ibv_comp_channel *channel, int comp_vector)
{
	MAKE(struct ibv_cq, context, 0, dpa_create_cq(context, cqe, channel, comp_vector));
}

static int with_domain(struct ibv_context *c, const struct ibv_cq_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD ? WITH(c, attr->parent_domain) : 0;
}

struct ibv_cq_ex *dpa_ctl_create_cq_ex(struct ibv_context *context,
				       struct ibv_cq_init_attr_ex *attr)
{
	MAKE(struct ibv_cq_ex, context, with_domain(context, attr),
	     dpa_create_cq_ex(context, attr));
}

static struct ibv_cq *cq_by_hand(struct ibv_context *context, const struct dpa_cq_init *init,
				 void *cq_context)
{
	struct dpa_cq *cq = dpa_cq_new(context, init);

	if (!cq)
		return NULL;
	verbs_init_cq(&cq->vcq.cq, context, NULL, cq_context);
	return &cq->vcq.cq;
}

struct ibv_cq *dpa_ctl_cq_by_hand(struct ibv_context *context, const struct dpa_cq_init *init,
				  void *cq_context)
{
	MAKE(struct ibv_cq, context, 0, cq_by_hand(context, init, cq_context));
}

int dpa_ctl_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	CALL(ON(cq), dpa_modify_cq(cq, attr));
}

int dpa_ctl_resize_cq(struct ibv_cq *cq, int cqe)
{
	CALL(ON(cq), dpa_resize_cq(cq, cqe));
}

int dpa_ctl_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	CALL(ON(cq), dpa_req_notify_cq(cq, solicited_only));
}

int dpa_ctl_destroy_cq(struct ibv_cq *cq)
{
	END(cq, dpa_destroy_cq(cq));
}

/* --------------------------------------------------------------------- SRQs */

struct ibv_srq *dpa_ctl_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	MAKE(struct ibv_srq, pd->context, ON(pd), dpa_create_srq(pd, attr));
}

static int with_srq_attr(struct ibv_context *c, const struct ibv_srq_init_attr_ex *attr)
{
	uint32_t mask = attr->comp_mask;
	int ret = mask & IBV_SRQ_INIT_ATTR_PD ? WITH(c, attr->pd) : 0;

	if (!ret && (mask & IBV_SRQ_INIT_ATTR_XRCD))
		ret = WITH_BARE(c, attr->xrcd);
	if (!ret && (mask & IBV_SRQ_INIT_ATTR_CQ))
		ret = WITH(c, attr->cq);
	return ret;
}

struct ibv_srq *dpa_ctl_create_srq_ex(struct ibv_context *context,
				      struct ibv_srq_init_attr_ex *attr)
{
	MAKE(struct ibv_srq, context, with_srq_attr(context, attr),
	     dpa_create_srq_ex(context, attr));
}

int dpa_ctl_get_srq_num(struct ibv_srq *srq, uint32_t *num)
{
	CALL(ON(srq), dpa_get_srq_num(srq, num));
}

int dpa_ctl_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	CALL(ON(srq), dpa_modify_srq(srq, attr, mask));
}

int dpa_ctl_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	CALL(ON(srq), dpa_query_srq(srq, attr));
}

int dpa_ctl_destroy_srq(struct ibv_srq *srq)
{
	END(srq, dpa_destroy_srq(srq));
}

/* ---------------------------------------------------------------------- QPs */

static int with_queues(struct ibv_context *c, const struct ibv_cq *send, const struct ibv_cq *recv,
		       const struct ibv_srq *srq)
{
	int ret = WITH(c, send);

	if (!ret)
		ret = WITH(c, recv);
	return ret ? ret : WITH(c, srq);
}

static int with_qp_attr(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	int ret = ON(pd);

	return ret ? ret : with_queues(pd->context, attr->send_cq, attr->recv_cq, attr->srq);
}

struct ibv_qp *dpa_ctl_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	MAKE(struct ibv_qp, pd->context, with_qp_attr(pd, attr), dpa_create_qp(pd, attr));
}

struct ibv_qp *dpa_ctl_create_qp_indexed(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
					 uint32_t user_index)
{
	MAKE(struct ibv_qp, pd->context, with_qp_attr(pd, attr),
	     dpa_create_qp_indexed(pd, attr, user_index));
}

/* A target has no queues; of the other members only its domain counts. */
static int with_qp_ex(struct ibv_context *c, const struct ibv_qp_init_attr_ex *attr)
{
	uint32_t mask = attr->comp_mask;
	int ret = mask & IBV_QP_INIT_ATTR_PD ? WITH(c, attr->pd) : 0;

	if (!ret && (mask & IBV_QP_INIT_ATTR_XRCD))
		ret = WITH_BARE(c, attr->xrcd);
	if (!ret && (mask & IBV_QP_INIT_ATTR_IND_TABLE) && attr->rwq_ind_tbl &&
	    attr->rwq_ind_tbl->context == c)
		ret = find_handle(c, attr->rwq_ind_tbl,
				  (uint32_t)attr->rwq_ind_tbl->ind_tbl_handle);
	if (ret || attr->qp_type == IBV_QPT_XRC_RECV)
		return ret;
	return with_queues(c, attr->send_cq, attr->recv_cq, attr->srq);
}

struct ibv_qp *dpa_ctl_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	MAKE(struct ibv_qp, context, with_qp_ex(context, attr), dpa_create_qp_ex(context, attr));
}

struct ibv_qp *dpa_ctl_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	MAKE(struct ibv_qp, context,
	     attr->comp_mask & IBV_QP_OPEN_ATTR_XRCD ? WITH_BARE(context, attr->xrcd) : 0,
	     dpa_open_qp(context, attr));
}

int dpa_ctl_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	CALL_ASKED(
		MAY_CALL_QP(ON(qp), qp, mask & IBV_QP_STATE ? (int)attr->qp_state : DPA_INJECT_ANY),
		dpa_modify_qp(qp, attr, mask));
}

int dpa_ctl_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	CALL(ON(qp), dpa_modify_qp_rate_limit(qp, attr));
}

int dpa_ctl_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init)
{
	CALL_ASKED(MAY_CALL_QP(ON(qp), qp, DPA_INJECT_ANY), dpa_query_qp(qp, attr, mask, init));
}

int dpa_ctl_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	CALL(ON(qp), dpa_query_ece(qp, ece));
}

int dpa_ctl_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	CALL(ON(qp), dpa_set_ece(qp, ece));
}

int dpa_ctl_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	CALL(ON(qp), dpa_attach_mcast(qp, gid, lid));
}

int dpa_ctl_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	CALL(ON(qp), dpa_detach_mcast(qp, gid, lid));
}

int dpa_ctl_destroy_qp(struct ibv_qp *qp)
{
	END_ASKED(qp, MAY_CALL_QP(0, qp, DPA_INJECT_ANY), dpa_destroy_qp(qp));
}

/* ---------------------------------------------------------- address handles */

struct ibv_ah *dpa_ctl_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	MAKE(struct ibv_ah, pd->context, ON(pd), dpa_create_ah(pd, attr));
}

int dpa_ctl_destroy_ah(struct ibv_ah *ah)
{
	END(ah, dpa_destroy_ah(ah));
}
