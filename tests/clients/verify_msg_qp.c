/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* verify_msg_qp.c - queues of each kind, connected to the peer's. */
#include "verify_msg.h"

#include <fcntl.h>
#include <unistd.h>

enum { QKEY = 0x11111111, DEPTH = 4 * MSG_SOURCES, CQES = 4096 };

/* The addresses and keys of a side, for its peer. */
struct card {
	union ibv_gid gid;
	uint64_t base;
	uint32_t rkey, srqn;
	struct {
		uint32_t tx, rx, tx_psn, rx_psn;
	} end[MSG_FLOWS];
};

static uint32_t qps(const struct msgs *m)
{
	return m->v->qps;
}

static bool shares(const struct msgs *m)
{
	return m->o.kind >= MSG_XRC;
}

/* ---------------------------------------------------------------------- making */

static void make_cqs(struct msgs *m)
{
	struct ibv_cq_init_attr_ex a = {.cqe = CQES,
					.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO};

	m->scq = ibv_create_cq(m->t->ctx, CQES, NULL, NULL, 0);
	if (m->o.kind == MSG_TAG) {
		m->rcq_ex = ibv_create_cq_ex(m->t->ctx, &a);
		m->rcq = m->rcq_ex ? ibv_cq_ex_to_cq(m->rcq_ex) : NULL;
	} else {
		m->rcq = ibv_create_cq(m->t->ctx, CQES, NULL, NULL, 0);
	}
	CHECK(m->scq && m->rcq, "create_cq: %s", strerror(errno));
}

static void open_domain(struct msgs *m)
{
	struct ibv_xrcd_init_attr a = {.comp_mask =
					       IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = -1,
				       .oflags = O_CREAT};

	if (m->o.xrcd)
		a.fd = m->xrcd_fd = open(m->o.xrcd, O_RDONLY | O_CLOEXEC);
	CHECK(!m->o.xrcd || a.fd >= 0, "%s: %s", m->o.xrcd, strerror(errno));
	m->xrcd = ibv_open_xrcd(m->t->ctx, &a);
	CHECK(m->xrcd, "open_xrcd: %s", strerror(errno));
}

static void make_srq(struct msgs *m)
{
	struct ibv_srq_init_attr_ex a = {
		.attr = {.max_wr = 2 * MSG_RECVS, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = m->t->pd,
		.cq = m->rcq,
		.tm_cap = {.max_num_tags = 2 * MSG_RECVS, .max_ops = 2 * MSG_RECVS},
	};

	if (m->o.kind == MSG_XRC) {
		open_domain(m);
		a.srq_type = IBV_SRQT_XRC;
		a.xrcd = m->xrcd;
		a.comp_mask |= IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_XRCD;
	} else if (m->o.kind == MSG_TAG) {
		a.srq_type = IBV_SRQT_TM;
		a.comp_mask |= IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
	}
	m->srq = ibv_create_srq_ex(m->t->ctx, &a);
	CHECK(m->srq, "create_srq_ex: %s", strerror(errno));
}

static struct ibv_qp *make_qp(struct msgs *m, enum ibv_qp_type type, bool tx, bool rx)
{
	struct ibv_qp_init_attr_ex a = {
		.qp_type = type,
		.comp_mask = type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD,
		.pd = m->t->pd,
		.xrcd = m->xrcd,
		.send_cq = m->scq,
		.recv_cq = rx ? m->rcq : m->scq,
		.srq = rx && type != IBV_QPT_XRC_RECV ? m->srq : NULL,
		.cap = {.max_send_sge = 2, .max_recv_sge = 1},
	};
	struct ibv_qp *qp;

	if (tx) {
		a.cap.max_send_wr = DEPTH;
		a.cap.max_inline_data = m->v->inl;
	}
	if (type != IBV_QPT_XRC_SEND && type != IBV_QPT_XRC_RECV && !a.srq)
		a.cap.max_recv_wr = MSG_RECVS;
	qp = ibv_create_qp_ex(m->t->ctx, &a);
	CHECK(qp, "create_qp: %s", strerror(errno));
	return qp;
}

static void make_end(struct msgs *m, struct msg_end *e)
{
	static const enum ibv_qp_type type[MSG_KINDS] = {
		[MSG_RC] = IBV_QPT_RC,	      [MSG_UC] = IBV_QPT_UC,  [MSG_UD] = IBV_QPT_UD,
		[MSG_XRC] = IBV_QPT_XRC_SEND, [MSG_SRQ] = IBV_QPT_RC, [MSG_UDSRQ] = IBV_QPT_UD,
		[MSG_TAG] = IBV_QPT_RC,
	};
	bool apart = m->o.kind == MSG_XRC || m->o.kind == MSG_TAG;

	e->tx = make_qp(m, type[m->o.kind], true, !apart);
	e->rx = apart ? make_qp(m, m->o.kind == MSG_XRC ? IBV_QPT_XRC_RECV : IBV_QPT_RC, false,
				true)
		      : e->tx;
}

/* ------------------------------------------------------------------ connecting */

static struct ibv_ah_attr path_to(const struct msgs *m, const struct card *peer)
{
	return (struct ibv_ah_attr){.is_global = 1,
				    .port_num = (uint8_t)m->v->ib_port,
				    .grh = {.dgid = peer->gid,
					    .sgid_index = (uint8_t)m->v->gid_index,
					    .hop_limit = 64}};
}

static void to_init(struct msgs *m, struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = (uint8_t)m->v->ib_port, .qkey = QKEY};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (qp->qp_type == IBV_QPT_UC)
		a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	else if (qp->qp_type != IBV_QPT_XRC_SEND)
		a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	mask |= qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	CHECK_EQ(ibv_modify_qp(qp, &a, mask), 0);
}

static void to_rts(struct msgs *m, struct ibv_qp *qp, const struct card *peer, uint32_t dest,
		   uint32_t rq_psn, uint32_t sq_psn)
{
	enum ibv_qp_type type = qp->qp_type;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.path_mtu = m->v->mtu,
				.dest_qp_num = dest,
				.rq_psn = rq_psn,
				.max_dest_rd_atomic = 4,
				.min_rnr_timer = 1,
				.ah_attr = path_to(m, peer)};
	int rtr = IBV_QP_STATE, rts = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (type != IBV_QPT_UD)
		rtr |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV)
		rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	CHECK_EQ(ibv_modify_qp(qp, &a, rtr), 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				 .sq_psn = sq_psn,
				 .timeout = m->v->timeout,
				 .retry_cnt = m->v->retry_cnt,
				 .rnr_retry = m->v->rnr_retry,
				 .max_rd_atomic = 4};
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
		rts |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	else if (type == IBV_QPT_XRC_RECV)
		rts |= IBV_QP_TIMEOUT;
	CHECK_EQ(ibv_modify_qp(qp, &a, rts), 0);
}

static uint32_t first_psn(const struct msgs *m, uint32_t qpn)
{
	return (uint32_t)mix(m->v->seed * 3 + qpn) & 0xffffff;
}

static void meet(struct msgs *m, struct card *me, struct card *peer)
{
	memset(me, 0, sizeof(*me));
	me->gid = m->t->me.gid;
	me->base = (uintptr_t)m->t->buf;
	me->rkey = m->t->mr->rkey;
	if (m->o.kind == MSG_XRC)
		CHECK_EQ(ibv_get_srq_num(m->srq, &me->srqn), 0);
	for (uint32_t i = 0; i < qps(m); i++) {
		me->end[i].tx = m->end[i].tx->qp_num;
		me->end[i].rx = m->end[i].rx->qp_num;
		me->end[i].tx_psn = first_psn(m, me->end[i].tx);
		me->end[i].rx_psn = first_psn(m, me->end[i].rx);
	}
	vt_put(m->t, me, sizeof(*me));
	vt_get(m->t, peer, sizeof(*peer));
}

static void set_flow(struct msgs *m, uint32_t f, const struct card *me, const struct card *peer)
{
	const bool own = msg_is_own(m, f);
	const uint32_t i = m->o.kind == MSG_XRC ? f / 2 : f;
	const struct card *to = own ? me : peer;
	struct ibv_ah_attr path = path_to(m, peer);
	struct msg_out *o = &m->out[f];

	if (own && !m->o.xrcd)
		return; /* its target is not of the domain of our SRQ */
	*o = (struct msg_out){.qp = m->end[i].tx,
			      .dqpn = peer->end[i].rx,
			      .srqn = to->srqn,
			      .rkey = to->rkey,
			      .base = to->base,
			      .total = m->o.count ? (uint32_t)m->o.count : UINT32_MAX};
	if (msg_datagrams(m)) {
		o->ah = ibv_create_ah(m->t->pd, &path);
		CHECK(o->ah, "create_ah: %s", strerror(errno));
	}
	m->in[f].qpn = own ? peer->end[i].rx : me->end[i].rx;
	m->in[f].src_qpn = msg_datagrams(m) ? peer->end[i].tx : 0;
	m->in[f].total = UINT32_MAX;
	m->in[f].bits = calloc(1, (1u << 24) / 8);
	CHECK(m->in[f].bits, "no memory");
}

static void set_pools(struct msgs *m)
{
	for (uint32_t i = 0; i < m->pools; i++) {
		struct msg_pool *p = &m->pool[i];

		p->n = shares(m) ? 2 * MSG_RECVS : MSG_RECVS;
		p->first = i * p->n;
		p->srq = m->srq;
		p->qp = m->srq ? NULL : m->end[i].rx;
		for (uint32_t k = 0; k < p->n; k++)
			p->free[p->nfree++] = p->first + k;
	}
}

/* Receive of the FINs that end rendezvous. */
static void post_fins(struct msgs *m, uint32_t flow)
{
	for (uint32_t i = 0; i < MSG_RECVS; i++)
		msg_post_fin(m, flow, i);
}

void msg_connect(struct msgs *m)
{
	struct card me, peer;

	make_cqs(m);
	if (shares(m))
		make_srq(m);
	for (uint32_t i = 0; i < qps(m); i++) {
		make_end(m, &m->end[i]);
		to_init(m, m->end[i].tx);
		if (m->end[i].rx != m->end[i].tx)
			to_init(m, m->end[i].rx);
		if (m->o.kind == MSG_TAG)
			post_fins(m, i);
	}
	meet(m, &me, &peer);
	for (uint32_t i = 0; i < qps(m); i++) {
		to_rts(m, m->end[i].tx, &peer, peer.end[i].rx, peer.end[i].rx_psn,
		       me.end[i].tx_psn);
		if (m->end[i].rx != m->end[i].tx)
			to_rts(m, m->end[i].rx, &peer, peer.end[i].tx, peer.end[i].tx_psn,
			       me.end[i].rx_psn);
	}
	set_pools(m);
	for (uint32_t f = 0; f < m->flows; f++)
		set_flow(m, f, &me, &peer);
}

/* ------------------------------------------------------------------------- end */

void msg_to_error(struct msgs *m)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};

	for (uint32_t i = 0; i < qps(m); i++) {
		CHECK_EQ(ibv_modify_qp(m->end[i].rx, &a, IBV_QP_STATE), 0);
		if (m->end[i].rx != m->end[i].tx)
			CHECK_EQ(ibv_modify_qp(m->end[i].tx, &a, IBV_QP_STATE), 0);
	}
}

void msg_disconnect(struct msgs *m)
{
	for (uint32_t f = 0; f < m->flows; f++) {
		if (m->out[f].ah)
			CHECK_EQ(ibv_destroy_ah(m->out[f].ah), 0);
		free(m->in[f].bits);
	}
	for (uint32_t i = 0; i < qps(m); i++) {
		CHECK_EQ(ibv_destroy_qp(m->end[i].tx), 0);
		if (m->end[i].rx != m->end[i].tx)
			CHECK_EQ(ibv_destroy_qp(m->end[i].rx), 0);
	}
	if (m->srq)
		CHECK_EQ(ibv_destroy_srq(m->srq), 0);
	if (m->xrcd)
		CHECK_EQ(ibv_close_xrcd(m->xrcd), 0);
	if (m->o.xrcd)
		close(m->xrcd_fd);
	CHECK_EQ(ibv_destroy_cq(m->scq), 0);
	CHECK_EQ(ibv_destroy_cq(m->rcq), 0);
}
