/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pair.c - two QPs of one process that are connected to each other. */
#include <errno.h>
#include "async.h"

#define PORT	     1
#define SINK_ENTRIES 4 /* never read: it ignores overrun */

static struct ibv_qp *create_pair_qp(struct doca_dev *dev, struct ibv_qp_init_attr *init,
				     uint32_t user_index, struct dpa_qp_queues *q)
{
	struct ibv_pd *pd = dpa_dev_pd(dev);
	struct ibv_qp *qp = pd ? dpa_hwif_create_qp(pd, init, user_index) : NULL;
	int ret;

	if (!qp)
		return NULL;
	ret = dpa_hwif_view_qp(qp, &q->view);
	if (ret) {
		ibv_destroy_qp(qp);
		errno = ret;
		return NULL;
	}
	q->sq_pi = q->rq_pi = 0;
	return qp;
}

static int pair_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE, /* for an empty WRITE, without a key */
	};

	return ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int pair_to_rtr(struct ibv_qp *qp, uint32_t dest, const union ibv_gid *gid)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = dest,
		.ah_attr = {.is_global = 1,
			    .port_num = PORT,
			    .grh = {.dgid = *gid, .hop_limit = 64}},
	};

	return ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

static int pair_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};

	return ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Connect the pair. Both QPs are in this process: the path is shared memory, with any address. */
static int join_pair(struct dpa_pair *p, struct ibv_context *ctx)
{
	union ibv_gid gid;
	int ret = ibv_query_gid(ctx, PORT, 0, &gid);

	if (ret)
		return errno ? errno : EIO;
	ret = pair_to_init(p->from);
	if (!ret)
		ret = pair_to_init(p->to);
	if (!ret)
		ret = pair_to_rtr(p->from, p->to->qp_num, &gid);
	if (!ret)
		ret = pair_to_rtr(p->to, p->from->qp_num, &gid);
	if (!ret)
		ret = pair_to_rts(p->from);
	if (!ret)
		ret = pair_to_rts(p->to);
	return ret;
}

int dpa_pair_create(struct dpa_pair *p, struct doca_dev *dev, struct ibv_cq *cq, uint32_t room,
		    uint32_t user_index)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .send_cq = cq};
	struct dpa_cq_view sink;
	int ret;

	ret = dpa_hwif_create_cq(dev->ctx, SINK_ENTRIES, NULL, NULL, &p->sink, &sink);
	if (ret)
		return ret;
	init.recv_cq = p->sink;
	init.cap = (struct ibv_qp_cap){
		.max_send_wr = room, .max_send_sge = 1, .max_inline_data = DPA_DEV_ASYNC_INLINE};
	p->from = create_pair_qp(dev, &init, user_index, &p->send);
	if (!p->from)
		goto err_sink;
	/* one receive for each send that the SQ may hold */
	init.send_cq = p->sink;
	init.cap = (struct ibv_qp_cap){.max_recv_wr = 1u << p->send.view.log_sq, .max_recv_sge = 1};
	p->to = create_pair_qp(dev, &init, 0, &p->recv);
	if (!p->to)
		goto err_from;
	ret = join_pair(p, dev->ctx);
	if (!ret)
		return 0;
	errno = ret;
	ibv_destroy_qp(p->to);
err_from:
	ret = errno;
	ibv_destroy_qp(p->from);
	errno = ret;
err_sink:
	ret = errno ? errno : EIO;
	dpa_hwif_destroy_cq(p->sink);
	return ret;
}

void dpa_pair_destroy(struct dpa_pair *p)
{
	ibv_destroy_qp(p->from);
	ibv_destroy_qp(p->to);
	dpa_hwif_destroy_cq(p->sink);
}
