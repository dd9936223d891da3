/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_xrc_cases.c - extended reliable connections, and atomic writes. Each side has an initiator and
 * a target; both targets take receives of SRQs of their side's domain.
 */
#include <fcntl.h>
#include <unistd.h>
#include "vt.h"

#define SRQS 2

struct xrc {
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq[SRQS];
	struct ibv_cq *srq_cq[SRQS];
	struct ibv_pd *pd[SRQS]; /* each SRQ has its own */
	struct ibv_mr *mr[SRQS];
	struct ibv_qp *ini, *tgt;
	struct {
		uint32_t srqn[SRQS], rkey[SRQS], ini, tgt;
		uint64_t addr;
		union ibv_gid gid;
	} me, peer;
};

static const int all_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

static struct ibv_xrcd *open_domain(struct vt *t, int fd, int oflags)
{
	struct ibv_xrcd_init_attr a = {.comp_mask =
					       IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = fd,
				       .oflags = oflags};

	return ibv_open_xrcd(t->ctx, &a);
}

static void make_srq(struct vt *t, struct xrc *x, int i)
{
	struct ibv_srq_init_attr_ex a = {
		.attr = {.max_wr = 16, .max_sge = 2},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_XRCD,
		.srq_type = IBV_SRQT_XRC,
		.xrcd = x->xrcd,
	};

	x->pd[i] = ibv_alloc_pd(t->ctx);
	x->srq_cq[i] = ibv_create_cq(t->ctx, 16, NULL, NULL, 0);
	CHECK(x->pd[i] && x->srq_cq[i], "%s", strerror(errno));
	a.pd = x->pd[i];
	a.cq = x->srq_cq[i];
	x->srq[i] = ibv_create_srq_ex(t->ctx, &a);
	CHECK(x->srq[i], "create_srq_ex: %s", strerror(errno));
	CHECK_EQ(ibv_get_srq_num(x->srq[i], &x->me.srqn[i]), 0);
	x->mr[i] = ibv_reg_mr(x->pd[i], t->buf, t->len, all_access);
	CHECK(x->mr[i], "reg_mr: %s", strerror(errno));
	x->me.rkey[i] = x->mr[i]->rkey;
}

static void to_rts(struct vt *t, struct xrc *x, struct ibv_qp *qp, uint32_t dest)
{
	bool ini = qp == x->ini;
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ini ? 0 : (unsigned int)all_access,
	};

	CHECK_EQ(
		ibv_modify_qp(qp, &a,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.rq_psn = 77,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = x->peer.gid, .sgid_index = (uint8_t)t->gid_index}},
	};
	CHECK_EQ(
		ibv_modify_qp(qp, &a,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN |
				      (ini ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)),
		0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				 .sq_psn = 77,
				 .timeout = 14,
				 .retry_cnt = 7,
				 .rnr_retry = 7,
				 .max_rd_atomic = 4};
	CHECK_EQ(ibv_modify_qp(qp, &a,
			       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				       (ini ? IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
							IBV_QP_MAX_QP_RD_ATOMIC
					    : 0)),
		 0);
}

static void reset(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};

	CHECK_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE), 0);
}

static void connect_both(struct vt *t, struct xrc *x)
{
	x->me.gid = t->me.gid;
	x->me.addr = (uintptr_t)t->buf;
	x->me.ini = x->ini->qp_num;
	x->me.tgt = x->tgt->qp_num;
	vt_put(t, &x->me, sizeof(x->me));
	vt_get(t, &x->peer, sizeof(x->peer));
	to_rts(t, x, x->ini, x->peer.tgt);
	to_rts(t, x, x->tgt, x->peer.ini);
	vt_sync(t);
}

static struct ibv_qp *make_target(struct vt *t, struct xrc *x)
{
	struct ibv_qp_init_attr_ex ta = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = x->xrcd};
	struct ibv_qp *qp = ibv_create_qp_ex(t->ctx, &ta);

	CHECK(qp, "target: %s", strerror(errno));
	return qp;
}

static void setup_in(struct vt *t, struct xrc *x, int fd)
{
	struct vt_opt o = {0};
	struct ibv_qp_init_attr_ex ia = {
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.cap = {.max_send_wr = 16, .max_send_sge = 2, .max_inline_data = 64}};

	memset(x, 0, sizeof(*x));
	vt_setup(t, &o);
	x->xrcd = open_domain(t, fd, O_CREAT);
	CHECK(x->xrcd, "open_xrcd: %s", strerror(errno));
	for (int i = 0; i < SRQS; i++)
		make_srq(t, x, i);
	x->tgt = make_target(t, x);
	ia.pd = t->pd;
	ia.send_cq = t->cq;
	x->ini = ibv_create_qp_ex(t->ctx, &ia);
	CHECK(x->ini, "initiator: %s", strerror(errno));
	connect_both(t, x);
}

static void setup(struct vt *t, struct xrc *x)
{
	setup_in(t, x, -1);
}

static void destroy_all(struct vt *t, struct xrc *x)
{
	CHECK_EQ(ibv_destroy_qp(x->ini), 0);
	CHECK_EQ(ibv_destroy_qp(x->tgt), 0);
	for (int i = 0; i < SRQS; i++) {
		if (!x->srq[i])
			continue;
		CHECK_EQ(ibv_destroy_cq(x->srq_cq[i]), EBUSY);
		CHECK_EQ(ibv_destroy_srq(x->srq[i]), 0);
		CHECK_EQ(ibv_destroy_cq(x->srq_cq[i]), 0);
	}
	for (int i = 0; i < SRQS; i++) {
		CHECK_EQ(ibv_dereg_mr(x->mr[i]), 0);
		CHECK_EQ(ibv_dealloc_pd(x->pd[i]), 0);
	}
	CHECK_EQ(ibv_close_xrcd(x->xrcd), 0);
	vt_close(t);
}

static void teardown(struct vt *t, struct xrc *x)
{
	vt_sync(t);
	CHECK_EQ(ibv_close_xrcd(x->xrcd), EBUSY);
	destroy_all(t, x);
}

static void post_receive(struct vt *t, struct xrc *x, int i, size_t off, uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)t->buf + off, .length = len, .lkey = x->mr[i]->lkey};
	struct ibv_recv_wr wr = {.wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1}, *bad;

	CHECK_EQ(ibv_post_srq_recv(x->srq[i], &wr, &bad), 0);
}

static void send_to(struct vt *t, struct xrc *x, enum ibv_wr_opcode op, uint32_t srqn,
		    uint32_t rkey, size_t off, size_t roff, uint32_t len)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(t, op, &sge, off, roff, len);

	wr.wr_id = 9;
	wr.qp_type.xrc.remote_srqn = srqn;
	wr.imm_data = 0x01020304;
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = x->peer.addr + roff;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 5;
	} else {
		wr.wr.rdma.remote_addr = x->peer.addr + roff;
		wr.wr.rdma.rkey = rkey;
	}
	CHECK_EQ(vt_post(x->ini, &wr), 0);
}

/* IBA 9.4 (xrc-srq) */
/* One target, two SRQs with a PD and a CQ each: the number in the packet selects one. */
static void srqs(struct vt *t)
{
	static const uint32_t lens[] = {0, 30, 1024, 5000, 40000};
	struct xrc x;

	setup(t, &x);
	for (int n = 0; n < 10; n++) {
		uint32_t len = lens[n / 2];
		int i = n % 2;

		if (t->side == 0) {
			vt_fill(t->buf, len, (uint32_t)n);
			send_to(t, &x, IBV_WR_SEND_WITH_IMM, x.peer.srqn[i], 0, 0, 0, len);
			vt_wc_is(t, 9, IBV_WC_SUCCESS);
		} else {
			struct ibv_wc wc;

			post_receive(t, &x, i, 0, 60000);
			wc = vt_wc(t, x.srq_cq[i]);
			CHECK_EQ(wc.status, IBV_WC_SUCCESS);
			CHECK_EQ(wc.wr_id, i);
			CHECK_EQ(wc.byte_len, len);
			CHECK_EQ(wc.imm_data, 0x01020304);
			CHECK_EQ(wc.qp_num, x.tgt->qp_num);
			CHECK(vt_differs(t->buf, len, (uint32_t)n) == len, "data");
			vt_wc_none(t, x.srq_cq[!i]);
		}
		vt_sync(t);
	}
	teardown(t, &x);
}

/* READ, WRITE, atomic; only a region of the SRQ's PD is accessible. */
static void one_sided(struct vt *t)
{
	struct xrc x;

	setup(t, &x);
	vt_fill(t->buf + 30000, 20000, (uint32_t)t->side + 1);
	*(uint64_t *)(void *)(t->buf + 56) = 37;
	vt_sync(t);
	if (t->side == 0) {
		send_to(t, &x, IBV_WR_RDMA_READ, x.peer.srqn[1], x.peer.rkey[1], 100, 30000, 20000);
		vt_wc_is(t, 9, IBV_WC_SUCCESS);
		CHECK(vt_differs(t->buf + 100, 20000, 2) == 20000, "READ");
		send_to(t, &x, IBV_WR_ATOMIC_FETCH_AND_ADD, x.peer.srqn[0], x.peer.rkey[0], 48, 56,
			8);
		vt_wc_is(t, 9, IBV_WC_SUCCESS);
		CHECK_EQ(*(uint64_t *)(void *)(t->buf + 48), 37);
		send_to(t, &x, IBV_WR_RDMA_WRITE, x.peer.srqn[0], x.peer.rkey[0], 30000, 100,
			20000);
		vt_wc_is(t, 9, IBV_WC_SUCCESS);
	}
	vt_sync(t);
	if (t->side == 1) {
		CHECK_EQ(*(uint64_t *)(void *)(t->buf + 56), 42);
		CHECK(vt_differs(t->buf + 100, 20000, 1) == 20000, "WRITE");
	}
	vt_sync(t);
	if (t->side == 0) {
		send_to(t, &x, IBV_WR_RDMA_WRITE, x.peer.srqn[0], x.peer.rkey[1], 0, 100, 8);
		vt_wc_is(t, 9, IBV_WC_REM_ACCESS_ERR);
	}
	teardown(t, &x);
}

/* No such SRQ, one of another domain, one that was destroyed. */
static void wrong_srq(struct vt *t)
{
	struct ibv_xrcd *other;
	struct ibv_srq *foreign;
	struct xrc x, y;

	setup(t, &x);
	y = x;
	other = open_domain(t, -1, O_CREAT);
	y.xrcd = other;
	make_srq(t, &y, 0);
	foreign = y.srq[0];
	for (int i = 0; i < 3; i++) {
		uint32_t srqn = i == 0 ? 0xabcdef : i == 1 ? y.me.srqn[0] : x.me.srqn[1];

		if (i == 2) {
			CHECK_EQ(ibv_destroy_srq(x.srq[1]), 0);
			CHECK_EQ(ibv_destroy_cq(x.srq_cq[1]), 0);
			x.srq[1] = NULL;
		}
		vt_put(t, &srqn, sizeof(srqn));
		vt_get(t, &srqn, sizeof(srqn));
		if (t->side == 0) {
			send_to(t, &x, IBV_WR_SEND, srqn, 0, 0, 0, 64);
			vt_wc_is(t, 9, IBV_WC_REM_INV_REQ_ERR);
		}
		vt_sync(t);
		reset(x.ini);
		reset(x.tgt);
		vt_sync(t);
		connect_both(t, &x);
	}
	CHECK_EQ(ibv_destroy_srq(foreign), 0);
	CHECK_EQ(ibv_destroy_cq(y.srq_cq[0]), 0);
	CHECK_EQ(ibv_dereg_mr(y.mr[0]), 0);
	CHECK_EQ(ibv_dealloc_pd(y.pd[0]), 0);
	CHECK_EQ(ibv_close_xrcd(other), 0);
	teardown(t, &x);
}

/* A context of the domain is closed with its SRQ: its receives are gone with it. */
static void srq_of_a_closed_context(struct vt *t)
{
	char name[] = "/tmp/vt_xrc.XXXXXX";
	int fd = mkstemp(name);
	struct vt other;
	struct xrc x, y = {0};
	uint32_t srqn;

	CHECK(fd >= 0, "%s", strerror(errno));
	unlink(name);
	setup_in(t, &x, fd);
	other = *t;
	other.ctx = ibv_open_device(t->ctx->device);
	CHECK(other.ctx, "%s", strerror(errno));
	y.xrcd = open_domain(&other, fd, 0);
	CHECK(y.xrcd, "open_xrcd: %s", strerror(errno));
	make_srq(&other, &y, 0);
	post_receive(&other, &y, 0, 0, 64);
	post_receive(&other, &y, 0, 0, 64);
	vt_put(t, &y.me.srqn[0], sizeof(srqn));
	vt_get(t, &srqn, sizeof(srqn));
	for (int n = 0; n < 2; n++) {
		if (t->side == 0) {
			send_to(t, &x, IBV_WR_SEND, srqn, 0, 0, 0, n ? 0 : 64);
			vt_wc_is(t, 9, n ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_SUCCESS);
		}
		vt_sync(t);
		if (!n && t->side == 1)
			CHECK_EQ(ibv_close_device(other.ctx), 0);
		vt_sync(t);
	}
	close(fd);
	destroy_all(t, &x);
}

static struct ibv_qp *open_target(struct vt *t, struct ibv_xrcd *xrcd, uint32_t qpn)
{
	struct ibv_qp_open_attr a = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						  IBV_QP_OPEN_ATTR_TYPE | IBV_QP_OPEN_ATTR_CONTEXT,
				     .qp_num = qpn,
				     .xrcd = xrcd,
				     .qp_context = t,
				     .qp_type = IBV_QPT_XRC_RECV};

	return ibv_open_qp(t->ctx, &a);
}

/* IBA 9.4 (xrc-sides) */
/* An initiator does not receive: messages to one are lost. */
static void to_an_initiator(struct vt *t)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS};
	struct ibv_qp_init_attr init;
	struct xrc x;

	setup(t, &x);
	reset(x.ini);
	vt_sync(t);
	to_rts(t, &x, x.ini, x.peer.ini);
	CHECK_EQ(ibv_query_qp(x.ini, &a, IBV_QP_STATE, &init), 0);
	CHECK_EQ(init.qp_type, IBV_QPT_XRC_SEND);
	vt_sync(t);
	if (t->side == 0) {
		send_to(t, &x, IBV_WR_SEND, x.peer.srqn[0], 0, 0, 0, 64);
		vt_wc_is(t, 9, IBV_WC_RETRY_EXC_ERR);
	}
	teardown(t, &x);
}

/* A target lives until the last process that opened it has closed it. */
static void opened_twice(struct vt *t)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *again;
	struct xrc x;

	setup(t, &x);
	CHECK(!open_target(t, x.xrcd, x.ini->qp_num) && errno == EINVAL, "not a target");
	again = open_target(t, x.xrcd, x.tgt->qp_num);
	CHECK(again, "open_qp: %s", strerror(errno));
	CHECK(again->qp_context == t && again->qp_num == x.tgt->qp_num, "open_qp");
	CHECK_EQ(ibv_query_qp(again, &attr, IBV_QP_STATE, &init), 0);
	CHECK_EQ(attr.qp_state, IBV_QPS_RTS);
	CHECK_EQ(ibv_destroy_qp(x.tgt), 0);
	x.tgt = again;
	vt_sync(t);
	if (t->side == 0) {
		send_to(t, &x, IBV_WR_SEND, x.peer.srqn[0], 0, 0, 0, 64);
		vt_wc_is(t, 9, IBV_WC_SUCCESS);
	} else {
		post_receive(t, &x, 0, 0, 64);
		CHECK_EQ(vt_wc(t, x.srq_cq[0]).status, IBV_WC_SUCCESS);
	}
	teardown(t, &x);
}

/* Domains by file: man ibv_open_xrcd. */
static void domains(struct vt *t)
{
	char name[] = "/tmp/vt_xrc.XXXXXX";
	struct ibv_xrcd *a, *b;
	int fd;

	vt_open(t);
	fd = mkstemp(name);
	CHECK(fd >= 0, "%s", strerror(errno));
	unlink(name);
	CHECK(!open_domain(t, fd, 0) && errno == EAGAIN, "nobody has made it");
	a = open_domain(t, fd, O_CREAT | O_EXCL);
	CHECK(a, "%s", strerror(errno));
	CHECK(!open_domain(t, fd, O_CREAT | O_EXCL) && errno == EINVAL, "not the first");
	b = open_domain(t, fd, 0);
	CHECK(b, "%s", strerror(errno));
	CHECK(!open_domain(t, -1, 0) && errno == EINVAL, "no file, nothing to create");
	CHECK(!open_domain(t, fd, O_TRUNC) && errno == EINVAL, "unknown flag");
	CHECK_EQ(ibv_close_xrcd(a), 0);
	CHECK_EQ(ibv_close_xrcd(b), 0);
	CHECK(!open_domain(t, fd, 0) && errno == EAGAIN, "gone with the last");
	close(fd);
	vt_close(t);
}

/* ---------------------------------------------------------------- atomic write */

static void post_atomic_write(struct vt *t, size_t off, size_t roff, uint32_t len,
			      enum ibv_wc_status want)
{
	if (t->side == 0) {
		CHECK_EQ(vt_send(t, IBV_WR_ATOMIC_WRITE, off, roff, len, 5, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 5, want);
	}
	vt_sync(t);
}

static void atomic_write(struct vt *t)
{
	struct vt_opt o = {0};

	vt_setup(t, &o);
	if (t->side == 0)
		vt_fill(t->buf, 64, 4);
	else
		memset(t->buf, 0, 64);
	vt_sync(t);
	for (int i = 0; i < 6; i++)
		post_atomic_write(t, 8 * (size_t)i, 8 * (size_t)i, 8, IBV_WC_SUCCESS);
	if (t->side == 1) {
		CHECK(vt_differs(t->buf, 48, 4) == 48, "not written");
		CHECK_EQ(t->buf[48], 0);
	}
	vt_sync(t);
	post_atomic_write(t, 0, 4, 8, IBV_WC_REM_INV_REQ_ERR);
	vt_reconnect(t, &o);
	post_atomic_write(t, 0, 0, 16, IBV_WC_LOC_QP_OP_ERR);
	vt_close(t);
}

/* The target is set up again while its initiator continues: their PSNs do not match any more. */
static void target_set_up_again(struct vt *t)
{
	struct xrc x;

	setup(t, &x);
	for (int n = 0; n < 2; n++) {
		if (t->side == 1) {
			reset(x.tgt);
			to_rts(t, &x, x.tgt, x.peer.ini);
			post_receive(t, &x, 0, 0, 64);
		}
		vt_sync(t);
		if (t->side == 0) {
			send_to(t, &x, IBV_WR_SEND, x.peer.srqn[0], 0, 0, 0, 64);
			/* the first time nothing was sent before */
			vt_wc_is(t, 9, n ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
		} else if (n == 0) {
			CHECK_EQ(vt_wc(t, x.srq_cq[0]).status, IBV_WC_SUCCESS);
		}
		vt_sync(t);
	}
	if (t->side == 1)
		vt_wc_none(t, x.srq_cq[0]);
	teardown(t, &x);
}

/* One message to the peer's SRQ; its completion is left in t->cq. */
static void ping(struct vt *t, struct xrc *x, uint32_t len)
{
	send_to(t, x, IBV_WR_SEND, x->peer.srqn[0], 0, 0, 0, len);
}

/*
 * Check the next message, and the completion of the one that it answers, which is present already.
 */
static void answered(struct vt *t, struct xrc *x, int n)
{
	struct ibv_wc wc = vt_wc(t, x->srq_cq[0]);

	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK(ibv_poll_cq(t->cq, 1, &wc) == 1, "message %d: the answer came before the ACK", n);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, 9);
}

/*
 * An answer comes by another QP than the ACK of the message that it answers. The specification
 * orders no two QPs, but on a wire the ACK comes first, and programs rely on it (perftest before
 * 23.07).
 */
static void acks_come_before_answers(struct vt *t)
{
	static const uint32_t lens[] = {8, 8, 8, 8, 8, 8, 8, 3000, 20000, 50000};
	enum { ROUNDS = 5000 };
	struct xrc x;

	setup(t, &x);
	for (int n = 0; n < ROUNDS; n++) {
		post_receive(t, &x, 0, 0, 60000);
		if (n == 0)
			vt_sync(t); /* both have one */
		if (t->side == 0) {
			ping(t, &x, lens[n % 10]);
			answered(t, &x, n);
		} else {
			if (n > 0)
				answered(t, &x, n);
			else
				CHECK_EQ(vt_wc(t, x.srq_cq[0]).status, IBV_WC_SUCCESS);
			ping(t, &x, lens[n % 10]);
		}
	}
	if (t->side == 1)
		vt_wc_is(t, 9, IBV_WC_SUCCESS);
	teardown(t, &x);
}

static const struct vt_case cases[] = {
	{"srqs", srqs, VT_BOTH, 0},
	{"one_sided", one_sided, VT_BOTH, 0},
	{"wrong_srq", wrong_srq, VT_BOTH, 0},
	{"srq_of_a_closed_context", srq_of_a_closed_context, VT_BOTH, 0},
	{"to_an_initiator", to_an_initiator, VT_BOTH, 0},
	{"opened_twice", opened_twice, VT_BOTH, 0},
	{"domains", domains, VT_BOTH, 0},
	{"atomic_write", atomic_write, VT_BOTH, 0},
	{"target_set_up_again", target_set_up_again, VT_BOTH, 0},
	{"acks_come_before_answers", acks_come_before_answers, VT_BOTH, 0},
};

VT_MAIN(cases)
