/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp.c - the queue pair of a connection: created and connected as by a verbs program. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include "rdma.h"

#define PORT 1

static unsigned int qp_access(uint32_t permissions)
{
	unsigned int a = 0;

	if (permissions & DOCA_ACCESS_FLAG_RDMA_READ)
		a |= IBV_ACCESS_REMOTE_READ;
	if (permissions & DOCA_ACCESS_FLAG_RDMA_WRITE)
		a |= IBV_ACCESS_REMOTE_WRITE;
	if (permissions & DOCA_ACCESS_FLAG_RDMA_ATOMIC)
		a |= IBV_ACCESS_REMOTE_ATOMIC;
	return a;
}

static int connection_to_init(struct doca_rdma_connection *c)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = qp_access(c->rdma->conf.permissions),
	};

	return ibv_modify_qp(c->qp, &a,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/*
 * Choose the first PSN at random: a PSN that can be guessed lets forged packets in. Without random
 * numbers there is no connection rather than a constant PSN, as there is no adapter state without
 * them (device/board/ident.c).
 */
static int random_psn(uint32_t *psn)
{
	ssize_t n;

	do
		n = getrandom(psn, sizeof(*psn), 0);
	while (n < 0 && errno == EINTR);
	*psn &= 0xffffff;
	return n == sizeof(*psn) ? 0 : n < 0 ? errno : EIO;
}

static int describe_qp(struct doca_rdma_connection *c)
{
	struct dpa_rdma_details *d = &c->details;
	uint32_t psn;
	int ret = random_psn(&psn);

	if (ret)
		return ret;
	d->magic = htobe32(DPA_RDMA_DETAILS_MAGIC);
	d->version = htobe16(DPA_RDMA_DETAILS_VERSION);
	d->size = htobe16(sizeof(*d));
	d->qpn = htobe32(c->qp->qp_num);
	d->psn = htobe32(psn);
	d->mtu = (uint8_t)(c->rdma->conf.mtu + IBV_MTU_256);
	d->rd_atomic = DPA_MAX_RD_ATOMIC;
	return dpa_rdma_own_gids(c->qp->context, c->rdma->conf.gid_index, d);
}

/*
 * Prepare a GPU data path. It has its own CQs: kernels find the CQE of an operation by the
 * operation's position.
 */
static int prepare_gpu(struct doca_rdma_connection *c, struct ibv_qp_init_attr *init)
{
	int ret = dpa_gpu_link_make(c);

	if (ret)
		return ret;
	init->send_cq = c->gpu->cq;
	init->recv_cq = c->rdma->gpu->recv_cq;
	init->cap.max_inline_data = 0;
	return 0;
}

int dpa_rdma_make_qp(struct doca_rdma_connection *c)
{
	const struct dpa_rdma_conf *conf = &c->rdma->conf;
	struct ibv_qp_init_attr init = {
		.send_cq = c->rdma->cq,
		.recv_cq = c->rdma->cq,
		.srq = c->rdma->srq,
		.cap = {.max_send_wr = conf->send_queue_size,
			.max_send_sge = conf->send_list_len,
			.max_inline_data = DPA_DEV_RDMA_INLINE},
		.qp_type = IBV_QPT_RC,
	};
	int ret = c->rdma->gpu ? prepare_gpu(c, &init) : 0;

	if (ret)
		return ret;
	c->qp = dpa_hwif_create_qp(c->rdma->srq->pd, &init, c->id);
	if (!c->qp)
		return errno;
	ret = dpa_hwif_view_qp(c->qp, &c->queues.view);
	if (!ret && c->gpu)
		ret = dpa_gpu_link_bind(c);
	if (!ret)
		ret = connection_to_init(c);
	if (!ret)
		ret = describe_qp(c);
	if (ret && !c->gpu) /* else it is freed with the memory that the GPU uses */
		ibv_destroy_qp(c->qp);
	return ret;
}

/* Make the path to a peer whose details came by the program: READs and MTU of the smaller side. */
static int path_of_details(struct doca_rdma_connection *c, const struct dpa_rdma_details *peer,
			   struct dpa_rdma_path *path)
{
	const struct dpa_rdma_details *own = &c->details;
	uint32_t own_gid, peer_gid;
	int index;

	dpa_rdma_choose_gids(own, peer, &own_gid, &peer_gid);
	index = dpa_rdma_gid_index(c->qp->context, own->gids[own_gid]);
	if (index < 0)
		return ENODATA;
	path->rtr = (struct ibv_qp_attr){
		.path_mtu = own->mtu < peer->mtu ? own->mtu : peer->mtu,
		.dest_qp_num = be32toh(peer->qpn),
		.rq_psn = be32toh(peer->psn),
		.max_dest_rd_atomic = DPA_MAX_RD_ATOMIC,
		.ah_attr = {.is_global = 1,
			    .port_num = PORT,
			    .grh = {.hop_limit = 64, .sgid_index = (uint8_t)index}},
	};
	memcpy(path->rtr.ah_attr.grh.dgid.raw, peer->gids[peer_gid], 16);
	path->rts = (struct ibv_qp_attr){
		.sq_psn = be32toh(own->psn),
		.max_rd_atomic = peer->rd_atomic,
	};
	return 0;
}

/* Add the attributes that do not depend on the path. */
static int connection_to_rts(struct doca_rdma_connection *c, struct dpa_rdma_path *path)
{
	struct ibv_qp_attr *rtr = &path->rtr, *rts = &path->rts;
	int ret;

	rtr->qp_state = IBV_QPS_RTR;
	rtr->min_rnr_timer = DPA_RDMA_RNR_TIMER;
	rtr->ah_attr.sl = (uint8_t)c->rdma->conf.sl;
	rts->qp_state = IBV_QPS_RTS;
	rts->timeout = DPA_RDMA_ACK_TIMEOUT;
	rts->retry_cnt = DPA_RDMA_RETRIES;
	rts->rnr_retry = c->rdma->conf.rnr_retry;
	if (rtr->max_dest_rd_atomic > DPA_MAX_RD_ATOMIC)
		rtr->max_dest_rd_atomic = DPA_MAX_RD_ATOMIC;
	if (rts->max_rd_atomic > DPA_MAX_RD_ATOMIC)
		rts->max_rd_atomic = DPA_MAX_RD_ATOMIC;
	ret = ibv_modify_qp(c->qp, rtr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;
	return ibv_modify_qp(c->qp, rts,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/*
 * Join by the path. Nothing has been posted yet: on failure the QP can be reset to its state
 * before.
 */
int dpa_rdma_join_path(struct doca_rdma_connection *c, struct dpa_rdma_path *path)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	int ret = connection_to_rts(c, path);

	if (!ret && c->gpu)
		ret = dpa_gpu_link_show(c);
	if (ret && !ibv_modify_qp(c->qp, &reset, IBV_QP_STATE))
		connection_to_init(c);
	return ret;
}

int dpa_rdma_join_qp(struct doca_rdma_connection *c, const struct dpa_rdma_details *peer)
{
	struct dpa_rdma_path path;
	int ret = path_of_details(c, peer, &path);

	return ret ? ret : dpa_rdma_join_path(c, &path);
}
