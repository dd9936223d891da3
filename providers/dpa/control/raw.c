/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* raw.c - control verbs of raw packets: WQs, tables of WQs, flow rules and their counters. */
#include "control/call.h"

struct ibv_wq *dpa_ctl_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	int pd = WITH(context, attr->pd);

	MAKE(struct ibv_wq, context, pd ? pd : WITH(context, attr->cq),
	     dpa_create_wq(context, attr));
}

int dpa_ctl_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr)
{
	CALL(ON(wq), dpa_modify_wq(wq, attr));
}

int dpa_ctl_destroy_wq(struct ibv_wq *wq)
{
	END(wq, dpa_destroy_wq(wq));
}

/* Looks up at most as many WQs as a table may have: dpa_create_ind_table() refuses more. */
static int with_wqs(struct ibv_context *c, const struct ibv_rwq_ind_table_init_attr *attr)
{
	int ret = 0;

	if (attr->log_ind_tbl_size > DPA_MAX_LOG_IND || !attr->ind_tbl)
		return 0;
	for (uint32_t i = 0; !ret && i < 1u << attr->log_ind_tbl_size; i++)
		ret = WITH(c, attr->ind_tbl[i]);
	return ret;
}

struct ibv_rwq_ind_table *dpa_ctl_create_rwq_ind_table(struct ibv_context *context,
						       struct ibv_rwq_ind_table_init_attr *attr)
{
	MAKE_AS(struct ibv_rwq_ind_table, context, MAY_CALL(with_wqs(context, attr)),
		dpa_create_ind_table(context, attr), (uint32_t)obj_->ind_tbl_handle);
}

int dpa_ctl_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	END_AS(table, (uint32_t)table->ind_tbl_handle, MAY_CALL(0), dpa_destroy_ind_table(table));
}

struct ibv_flow *dpa_ctl_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	MAKE(struct ibv_flow, qp->context, ON(qp), dpa_create_flow(qp, attr));
}

int dpa_ctl_destroy_flow(struct ibv_flow *flow)
{
	END(flow, dpa_destroy_flow(flow));
}

struct ibv_counters *dpa_ctl_create_counters(struct ibv_context *context,
					     struct ibv_counters_init_attr *attr)
{
	MAKE_BARE(struct ibv_counters, context, 0, dpa_create_counters(context, attr));
}

static int with_flow(const struct ibv_counters *counters, const struct ibv_flow *flow)
{
	int ret = ON_BARE(counters);

	return ret ? ret : WITH(counters->context, flow);
}

int dpa_ctl_attach_counters_point_flow(struct ibv_counters *counters,
				       struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
	CALL(with_flow(counters, flow), dpa_attach_counters_point_flow(counters, attr, flow));
}

int dpa_ctl_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t n,
			  uint32_t flags)
{
	CALL(ON_BARE(counters), dpa_read_counters(counters, values, n, flags));
}

int dpa_ctl_destroy_counters(struct ibv_counters *counters)
{
	END_BARE(counters, dpa_destroy_counters(counters));
}
