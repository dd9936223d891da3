/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fake_raw.c - the commands for raw packets: WQs, indirection tables, flow rules. */
#include "fake_hw.h"

static uint32_t wq_state, next_wqn = 4000;

int dpa_hw_create_wq(struct dpa_hw_ctx *ctx, const struct dpa_wq_attr *attr, struct dpa_hw_wq **wq,
		     uint32_t *wqn)
{
	*wq = (void *)&wq_state;
	*wqn = next_wqn++;
	return 0;
}

int dpa_hw_modify_wq(struct dpa_hw_wq *wq, uint32_t state)
{
	wq_state = state;
	return 0;
}

uint32_t dpa_hw_wq_state(struct dpa_hw_wq *wq)
{
	return wq_state;
}

void dpa_hw_ring_wq(struct dpa_hw_wq *wq)
{
}

int dpa_hw_destroy_wq(struct dpa_hw_wq *wq)
{
	return 0;
}

int dpa_hw_create_ind_table(struct dpa_hw_ctx *ctx, struct dpa_hw_wq *const *wqs, uint32_t log_size,
			    struct dpa_hw_ind_table **table)
{
	*table = (void *)&wq_state;
	return 0;
}

int dpa_hw_destroy_ind_table(struct dpa_hw_ind_table *table)
{
	return 0;
}

struct dpa_flow_attr fake_flow;
static uint32_t flows;

int dpa_hw_create_flow(struct dpa_hw_qp *qp, const struct dpa_flow_attr *attr, uint32_t *handle)
{
	fake_flow = *attr;
	*handle = flows++;
	qp->flows++;
	return 0;
}

int dpa_hw_destroy_flow(struct dpa_hw_qp *qp, uint32_t handle)
{
	flows--;
	qp->flows--;
	return 0;
}

uint64_t fake_flow_packets[8], fake_flow_bytes[8]; /* by handle */

int dpa_hw_flow_counts(struct dpa_hw_qp *qp, uint32_t handle, uint64_t *packets, uint64_t *bytes)
{
	*packets = fake_flow_packets[handle];
	*bytes = fake_flow_bytes[handle];
	return 0;
}

uint32_t dpa_hw_num_flows(struct dpa_hw_qp *qp)
{
	return qp->flows;
}
