/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * path.c - between librdmacm's ids and the QPs of connections. An id has no QP of its own, since
 * these QPs are of another context than librdmacm's: so this library sets the QP's states.
 */
#include "../rdma.h"
#include "link.h"

bool dpa_cm_is_ours(const struct rdma_cm_id *id)
{
	return id->verbs && dpa_hwif_is_dpa(id->verbs->device);
}

void dpa_cm_describe(const struct dpa_cm_link *l, struct rdma_conn_param *p)
{
	*p = (struct rdma_conn_param){
		.qp_num = l->c->qp->qp_num,
		.srq = 1,
		.responder_resources = DPA_MAX_RD_ATOMIC,
		.initiator_depth = DPA_MAX_RD_ATOMIC,
		.flow_control = 1,
		.retry_count = DPA_RDMA_RETRIES,
		.rnr_retry_count = l->rdma->conf.rnr_retry,
	};
}

/* The id may be of another function of the adapter: its address, in this one's table. */
static int own_gid_index(const struct dpa_cm_link *l, uint8_t index)
{
	union ibv_gid gid;

	if (ibv_query_gid(l->id->verbs, l->id->port_num, index, &gid))
		return -1;
	return dpa_rdma_gid_index(l->c->qp->context, gid.raw);
}

bool dpa_cm_join(const struct dpa_cm_link *l, struct rdma_conn_param *p)
{
	struct dpa_rdma_path path = {.rtr = {.qp_state = IBV_QPS_RTR},
				     .rts = {.qp_state = IBV_QPS_RTS}};
	struct ibv_global_route *grh = &path.rtr.ah_attr.grh;
	int mask, index;

	if (!dpa_cm_is_ours(l->id) || rdma_init_qp_attr(l->id, &path.rtr, &mask) ||
	    rdma_init_qp_attr(l->id, &path.rts, &mask))
		return false;
	index = own_gid_index(l, grh->sgid_index);
	if (index < 0)
		return false;
	grh->sgid_index = (uint8_t)index;
	if (dpa_rdma_join_path(l->c, &path))
		return false;
	p->responder_resources = path.rtr.max_dest_rd_atomic;
	p->initiator_depth = path.rts.max_rd_atomic;
	dpa_rdma_show_connection(l->c);
	return true;
}
