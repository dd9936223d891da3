/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp.c - the queue pairs of both sides, and the message with the data that the other side needs. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include "../rdma/rdma.h"
#include "pci.h"

#define PORT	    1
#define ACK_TIMEOUT DPA_RDMA_ACK_TIMEOUT
#define RETRIES	    DPA_RDMA_RETRIES

bool dpa_pci_random(void *out, size_t len)
{
	ssize_t n;

	do
		n = getrandom(out, len, 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len;
}

bool dpa_pci_msg_is(const struct dpa_pci_msg *m, enum dpa_pci_type type)
{
	return be32toh(m->magic) == DPA_PCI_MAGIC && be16toh(m->version) == DPA_PCI_VERSION &&
	       m->type == type && m->mtu >= IBV_MTU_256 && m->mtu <= IBV_MTU_4096 &&
	       be32toh(m->qpn) <= 0xffffff && be32toh(m->psn) <= 0xffffff;
}

bool dpa_pci_socket_gid(int fd, bool peers, uint8_t gid[16])
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	const struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a;
	const struct sockaddr_in *in = (struct sockaddr_in *)&a;

	if (peers ? getpeername(fd, (struct sockaddr *)&a, &len)
		  : getsockname(fd, (struct sockaddr *)&a, &len))
		return false;
	memset(gid, 0, 16);
	if (a.ss_family == AF_INET6) {
		memcpy(gid, &in6->sin6_addr, 16);
	} else {
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, &in->sin_addr, 4);
	}
	return true;
}

bool dpa_pci_gid_is_peers(int fd, const struct dpa_pci_msg *m)
{
	uint8_t gid[16];

	return dpa_pci_socket_gid(fd, true, gid) && !memcmp(gid, m->gid, sizeof(gid));
}

static int describe_end(struct ibv_qp *qp, const uint8_t gid[16], struct dpa_pci_msg *own)
{
	struct ibv_port_attr port;
	uint32_t psn;

	if (dpa_rdma_gid_index(qp->context, gid) < 0 || ibv_query_port(qp->context, PORT, &port))
		return ENODATA;
	if (!dpa_pci_random(&psn, sizeof(psn)))
		return EIO;
	own->magic = htobe32(DPA_PCI_MAGIC);
	own->version = htobe16(DPA_PCI_VERSION);
	own->mtu = (uint8_t)port.active_mtu;
	own->qpn = htobe32(qp->qp_num);
	own->psn = htobe32(psn & 0xffffff);
	memcpy(own->gid, gid, 16);
	return 0;
}

struct ibv_qp *dpa_pci_make_qp(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t sends,
			       int remote_access, const uint8_t gid[16], struct dpa_pci_msg *own)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = sends,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = (unsigned int)remote_access,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	int ret;

	if (!qp)
		return NULL;
	ret = ibv_modify_qp(qp, &a,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (!ret)
		ret = describe_end(qp, gid, own);
	if (!ret)
		return qp;
	ibv_destroy_qp(qp);
	errno = ret;
	return NULL;
}

static int end_to_rtr(struct ibv_qp *qp, const struct dpa_pci_msg *own,
		      const struct dpa_pci_msg *peer)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = own->mtu < peer->mtu ? own->mtu : peer->mtu,
		.dest_qp_num = be32toh(peer->qpn),
		.rq_psn = be32toh(peer->psn),
		.max_dest_rd_atomic = DPA_MAX_RD_ATOMIC,
		.min_rnr_timer = DPA_RDMA_RNR_TIMER,
		.ah_attr = {.is_global = 1, .port_num = PORT, .grh = {.hop_limit = 64}},
	};
	int index = dpa_rdma_gid_index(qp->context, own->gid);

	if (index < 0)
		return ENODATA;
	a.ah_attr.grh.sgid_index = (uint8_t)index;
	memcpy(a.ah_attr.grh.dgid.raw, peer->gid, 16);
	return ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

int dpa_pci_join_qp(struct ibv_qp *qp, const struct dpa_pci_msg *own,
		    const struct dpa_pci_msg *peer)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS,
		.timeout = ACK_TIMEOUT,
		.retry_cnt = RETRIES,
		.rnr_retry = RETRIES,
		.sq_psn = be32toh(own->psn),
		.max_rd_atomic = DPA_MAX_RD_ATOMIC,
	};
	int ret = end_to_rtr(qp, own, peer);

	if (ret)
		return ret;
	return ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}
