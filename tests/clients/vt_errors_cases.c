/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vt_errors_cases.c - each error gets the completion status of the specification. */
#include "vt.h"

#include <sys/mman.h>

#define REMOTE_ALL (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* The local side of a bad WR: LOC_PROT_ERR, and the QP is in the error state. */
static void local_key(struct vt *t)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						 IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct vt_opt o = {0};
	struct ibv_mr *ro;

	vt_setup(t, &o);
	ro = ibv_reg_mr(t->pd, t->buf, 4096, 0);
	CHECK(ro, "reg_mr: %s", strerror(errno));
	for (int i = 0; i < 4; i++)
		for (int kind = 0; kind < 3; kind++) {
			/* no such key; past the end; not writable */
			if (kind == 2 && i < 2)
				continue;
			if (t->side == 1)
				CHECK_EQ(vt_recv(t, 0, 64, 1), 0);
			vt_sync(t);
			if (t->side == 0) {
				struct ibv_sge sge;
				struct ibv_send_wr wr = vt_wr(t, ops[i], &sge, 64, 64, 8);

				wr.wr_id = 7;
				sge.lkey = kind == 0   ? t->mr->lkey ^ 0x5a5a00
					   : kind == 1 ? t->mr->lkey
						       : ro->lkey;
				if (kind == 1)
					sge.addr = (uintptr_t)t->buf + t->len - 7;
				CHECK_EQ(vt_post(t->qp, &wr), 0);
				vt_wc_is(t, 7, IBV_WC_LOC_PROT_ERR);
				CHECK_EQ(vt_state(t->qp), IBV_QPS_ERR);
			}
			vt_reconnect(t, &o);
		}
	CHECK_EQ(ibv_dereg_mr(ro), 0);
	vt_close(t);
}

/* A receive buffer that cannot be written: the responder's error, REM_OP_ERR at the requester. */
static void recv_key(struct vt *t)
{
	struct vt_opt o = {0};
	struct ibv_mr *ro;

	vt_setup(t, &o);
	ro = ibv_reg_mr(t->pd, t->buf, 4096, 0);
	CHECK(ro, "reg_mr: %s", strerror(errno));
	for (int kind = 0; kind < 2; kind++) {
		if (t->side == 1) {
			struct ibv_sge sge = {(uintptr_t)t->buf, 4096,
					      kind ? ro->lkey : t->mr->lkey ^ 0x5a5a00};
			struct ibv_recv_wr wr = {.wr_id = 3, .sg_list = &sge, .num_sge = 1}, *bad;

			vt_fill(t->buf, 4096, 1);
			CHECK_EQ(ibv_post_recv(t->qp, &wr, &bad), 0);
			vt_sync(t);
			vt_wc_is(t, 3, IBV_WC_LOC_PROT_ERR);
			CHECK_EQ(vt_differs(t->buf, 4096, 1), 4096);
		} else {
			vt_sync(t);
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 64, 4, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, 4, IBV_WC_REM_OP_ERR);
		}
		vt_reconnect(t, &o);
	}
	CHECK_EQ(ibv_dereg_mr(ro), 0);
	vt_close(t);
}

/* A message longer than the receive: 1 byte over, and many packets over. */
static void recv_too_small(struct vt *t)
{
	static const uint32_t over[] = {1, 5000, 40000};
	struct vt_opt o = {0};

	vt_setup(t, &o);
	for (int i = 0; i < 3; i++) {
		if (t->side == 1) {
			vt_fill(t->buf, 8192, 2);
			CHECK_EQ(vt_recv(t, 0, 1000, 3), 0);
			vt_sync(t);
			vt_wc_is(t, 3, IBV_WC_LOC_LEN_ERR);
			CHECK_EQ(vt_differs(t->buf + 1000, 1000, 2 + 1000), 1000);
		} else {
			vt_sync(t);
			CHECK_EQ(
				vt_send(t, IBV_WR_SEND, 0, 0, 1000 + over[i], 4, IBV_SEND_SIGNALED),
				0);
			vt_wc_is(t, 4, IBV_WC_REM_INV_REQ_ERR);
		}
		vt_reconnect(t, &o);
	}
	vt_close(t);
}

struct remote_op {
	enum ibv_wr_opcode op;
	int access;
};

static const struct remote_op remote_ops[] = {
	{IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE},
	{IBV_WR_RDMA_WRITE_WITH_IMM, IBV_ACCESS_REMOTE_WRITE},
	{IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ},
	{IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_REMOTE_ATOMIC},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC},
};
#define NREMOTE (sizeof(remote_ops) / sizeof(remote_ops[0]))

/* One remote operation at side 0 with this key and address, and its expected result. */
static void remote_try(struct vt *t, const struct vt_opt *o, const struct remote_op *r,
		       uint32_t rkey, uint64_t addr, bool good)
{
	if (t->side == 1)
		CHECK_EQ(vt_recv(t, 0, 0, 1), 0);
	vt_sync(t);
	if (t->side == 0) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, r->op, &sge, 0, 0, 8);

		wr.wr_id = 9;
		if (r->op >= IBV_WR_ATOMIC_CMP_AND_SWP) {
			wr.wr.atomic.rkey = rkey;
			wr.wr.atomic.remote_addr = addr;
		} else {
			wr.wr.rdma.rkey = rkey;
			wr.wr.rdma.remote_addr = addr;
		}
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, 9, good ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
	}
	vt_reconnect(t, o);
}

/* Every combination of the three remote permissions against every operation. */
static void access_matrix(struct vt *t)
{
	struct vt_opt o = {0};

	vt_setup(t, &o);
	for (int bits = 0; bits < 8; bits++) {
		int access = IBV_ACCESS_LOCAL_WRITE | bits << 1;
		struct ibv_mr *mr = ibv_reg_mr(t->pd, t->buf, 4096, access);
		uint32_t rkey;

		CHECK(mr, "reg_mr access %#x: %s", access, strerror(errno));
		vt_put(t, &mr->rkey, sizeof(rkey));
		vt_get(t, &rkey, sizeof(rkey));
		for (size_t i = 0; i < NREMOTE; i++)
			remote_try(t, &o, &remote_ops[i], rkey, t->peer.addr,
				   access & remote_ops[i].access);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	}
	vt_close(t);
}

/* Keys: unknown, of a deregistered region, of another PD; ranges: before, across, past the end. */
static void remote_key(struct vt *t)
{
	struct vt_opt o = {0};
	struct ibv_pd *pd2;
	struct ibv_mr *gone, *other;
	uint32_t keys[2];

	vt_setup(t, &o);
	pd2 = ibv_alloc_pd(t->ctx);
	CHECK(pd2, "alloc_pd");
	gone = ibv_reg_mr(t->pd, t->buf, 4096, IBV_ACCESS_LOCAL_WRITE | REMOTE_ALL);
	other = ibv_reg_mr(pd2, t->buf, 4096, IBV_ACCESS_LOCAL_WRITE | REMOTE_ALL);
	CHECK(gone && other, "reg_mr");
	keys[0] = gone->rkey;
	keys[1] = other->rkey;
	CHECK_EQ(ibv_dereg_mr(gone), 0);
	vt_put(t, keys, sizeof(keys));
	vt_get(t, keys, sizeof(keys));
	for (size_t i = 0; i < NREMOTE; i++) {
		const struct remote_op *r = &remote_ops[i];
		bool atomic = r->op >= IBV_WR_ATOMIC_CMP_AND_SWP;

		remote_try(t, &o, r, t->peer.rkey ^ 0x5a5a00, t->peer.addr, false);
		remote_try(t, &o, r, keys[0], t->peer.addr, false);
		remote_try(t, &o, r, keys[1], t->peer.addr, false);
		remote_try(t, &o, r, t->peer.rkey, t->peer.addr - 8, false);
		remote_try(t, &o, r, t->peer.rkey, t->peer.addr + t->len - (atomic ? 0 : 7), false);
		remote_try(t, &o, r, t->peer.rkey, t->peer.addr + t->len, false);
		remote_try(t, &o, r, t->peer.rkey, UINT64_MAX - 7, false);
		remote_try(t, &o, r, t->peer.rkey, t->peer.addr + t->len - 8, true);
	}
	CHECK_EQ(ibv_dereg_mr(other), 0);
	CHECK_EQ(ibv_dealloc_pd(pd2), 0);
	vt_close(t);
}

/*
 * The one answer to the first packet of a QP must arrive, whatever its number: its sender is in the
 * error state behind it. Numbers are allocated in blocks, and a new block is not known to the
 * kernel yet.
 */
static void ever_new_qps(struct vt *t)
{
	enum { QPS = 160 };
	struct vt_opt o = {0};
	struct ibv_qp *qp[QPS];

	vt_setup(t, &o);
	for (int i = 0; i < QPS; i++) {
		struct vt_addr peer;

		qp[i] = vt_qp_create(t, &o, t->cq);
		vt_connect(t, qp[i], &o, &peer);
		if (t->side == i % 2) {
			struct ibv_sge sge;
			struct ibv_send_wr wr =
				vt_wr(t, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 0, 0, 8);

			wr.wr_id = (uint64_t)i;
			wr.wr.atomic.rkey ^= 0x5a5a00;
			CHECK_EQ(vt_post(qp[i], &wr), 0);
			vt_wc_is(t, (uint64_t)i, IBV_WC_REM_ACCESS_ERR);
		}
		vt_sync(t);
	}
	for (int i = 0; i < QPS; i++)
		CHECK_EQ(ibv_destroy_qp(qp[i]), 0);
	vt_close(t);
}

/*
 * The QP's own permissions, with any of the region's: the peer gets an error, nothing is written.
 */
static void qp_access(struct vt *t)
{
	struct vt_opt o = {.no_qp_access = true};

	vt_setup(t, &o);
	for (size_t i = 0; i < NREMOTE; i++) {
		vt_fill(t->buf, 64, 5);
		if (t->side == 1)
			CHECK_EQ(vt_recv(t, 0, 0, 1), 0);
		vt_sync(t);
		if (t->side == 0) {
			struct ibv_sge sge;
			struct ibv_send_wr wr = vt_wr(t, remote_ops[i].op, &sge, 64, 0, 8);
			struct ibv_wc wc;

			CHECK_EQ(vt_post(t->qp, &wr), 0);
			wc = vt_wc(t, t->cq);
			CHECK(wc.status == IBV_WC_REM_ACCESS_ERR ||
				      wc.status == IBV_WC_REM_INV_REQ_ERR,
			      "op %d: %s", remote_ops[i].op, ibv_wc_status_str(wc.status));
		}
		vt_sync(t);
		CHECK_EQ(vt_differs(t->buf, 64, 5), 64);
		vt_reconnect(t, &o);
	}
	vt_close(t);
}

static void unaligned_atomic(struct vt *t)
{
	struct vt_opt o = {0};

	vt_setup(t, &o);
	if (t->side == 0) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 0, 4, 8);

		wr.wr_id = 2;
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, 2, IBV_WC_REM_INV_REQ_ERR);
	}
	vt_close(t);
}

/* A responder that refused access reports it to its own application: an asynchronous event. */
static void access_event(struct vt *t)
{
	struct vt_opt o = {0};

	vt_setup(t, &o);
	if (t->side == 0) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, IBV_WR_RDMA_WRITE, &sge, 0, 0, 8);

		wr.wr.rdma.rkey ^= 0x5a5a00;
		wr.wr_id = 2;
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, 2, IBV_WC_REM_ACCESS_ERR);
	} else {
		struct ibv_async_event ev;

		do {
			CHECK_EQ(ibv_get_async_event(t->ctx, &ev), 0);
			ibv_ack_async_event(&ev);
		} while (ev.event_type == IBV_EVENT_COMM_EST);
		CHECK_EQ(ev.event_type, IBV_EVENT_QP_ACCESS_ERR);
		CHECK(ev.element.qp == t->qp, "another QP's event");
		CHECK_EQ(vt_state(t->qp), IBV_QPS_ERR);
	}
	vt_close(t);
}

/* No receive: rnr_retry of 0 and of 2 run out. SEND and WRITE with immediate. */
static void rnr_exhausted(struct vt *t)
{
	for (int i = 0; i < 4; i++) {
		struct vt_opt o = {.no_rnr = i < 2, .rnr_retry = 2};

		if (i == 0)
			vt_setup(t, &o);
		else
			vt_reconnect(t, &o);
		if (t->side == 0) {
			CHECK_EQ(vt_send(t, i % 2 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND, 0, 0,
					 8, 5, IBV_SEND_SIGNALED),
				 0);
			vt_wc_is(t, 5, IBV_WC_RNR_RETRY_EXC_ERR);
			CHECK_EQ(vt_state(t->qp), IBV_QPS_ERR);
		}
	}
	vt_close(t);
}

/* A receive that comes late: rnr_retry 7 waits for it. */
static void rnr_recovers(struct vt *t)
{
	struct vt_opt o = {0};

	vt_setup(t, &o);
	for (uint64_t i = 0; i < 20; i++) {
		if (t->side == 0)
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 3000, i, IBV_SEND_SIGNALED), 0);
		vt_sync(t);
		if (t->side == 1)
			CHECK_EQ(vt_recv(t, 0, 4096, i), 0);
		vt_wc_is(t, i, IBV_WC_SUCCESS);
		vt_sync(t);
	}
	vt_close(t);
}

/*
 * The queues have the size that create_qp returned, one more is ENOMEM; in ERR all of it is
 * flushed.
 */
static void flush(struct vt *t)
{
	struct vt_opt o = {.send_wr = 16, .recv_wr = 16, .cqe = 256};

	vt_setup(t, &o);
	if (t->side == 0) {
		struct ibv_qp_attr a;
		struct ibv_qp_init_attr ia;
		uint32_t s = 0, r = 0;

		CHECK_EQ(ibv_query_qp(t->qp, &a, IBV_QP_CAP, &ia), 0);
		CHECK(ia.cap.max_send_wr >= 16 && ia.cap.max_recv_wr >= 16, "caps");
		while (s <= 1000 && !vt_send(t, IBV_WR_SEND, 0, 0, 8, s, IBV_SEND_SIGNALED))
			s++;
		CHECK(s >= 16 && s <= ia.cap.max_send_wr, "%u sends were taken, cap %u", s,
		      ia.cap.max_send_wr);
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 8, s, IBV_SEND_SIGNALED), ENOMEM);
		while (r <= 1000 && !vt_recv(t, 0, 64, 5000 + r))
			r++;
		CHECK(r >= 16 && r <= ia.cap.max_recv_wr, "%u receives were taken, cap %u", r,
		      ia.cap.max_recv_wr);
		CHECK_EQ(vt_recv(t, 0, 64, 1), ENOMEM);
		a.qp_state = IBV_QPS_ERR;
		CHECK_EQ(ibv_modify_qp(t->qp, &a, IBV_QP_STATE), 0);
		for (uint32_t i = 0, si = 0, ri = 0; i < s + r; i++) {
			struct ibv_wc wc = vt_wc(t, t->cq);

			CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
			CHECK_EQ(wc.wr_id, wc.wr_id >= 5000 ? 5000 + ri++ : si++);
		}
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 8, 77, 0), 0);
		vt_wc_is(t, 77, IBV_WC_WR_FLUSH_ERR);
		CHECK_EQ(vt_recv(t, 0, 64, 78), 0);
		vt_wc_is(t, 78, IBV_WC_WR_FLUSH_ERR);
	}
	vt_close(t);
}

/* After the first failed WR the later ones are flushed, unsignalled ones too, in order. */
static void error_then_flush(struct vt *t)
{
	struct vt_opt o = {0};

	vt_setup(t, &o);
	if (t->side == 0) {
		struct ibv_sge sge[8];
		struct ibv_send_wr wr[8];

		for (int i = 0; i < 8; i++) {
			wr[i] = vt_wr(t, IBV_WR_RDMA_WRITE, &sge[i], 0, 0, 8);
			wr[i].wr_id = (uint64_t)i;
			wr[i].send_flags = i == 5 ? 0 : IBV_SEND_SIGNALED;
			wr[i].next = i < 7 ? &wr[i + 1] : NULL;
		}
		wr[2].wr.rdma.rkey ^= 0x5a5a00;
		CHECK_EQ(vt_post(t->qp, wr), 0);
		vt_wc_is(t, 0, IBV_WC_SUCCESS);
		vt_wc_is(t, 1, IBV_WC_SUCCESS);
		vt_wc_is(t, 2, IBV_WC_REM_ACCESS_ERR);
		for (uint64_t i = 3; i < 8; i++)
			vt_wc_is(t, i, IBV_WC_WR_FLUSH_ERR);
	}
	vt_close(t);
}

/* UD: a wrong Q_Key and a wrong QPN are dropped without a report; later datagrams still arrive. */
static void ud_dropped(struct vt *t)
{
	struct vt_opt o = {.type = IBV_QPT_UD};
	struct ibv_ah *ah;

	vt_setup(t, &o);
	ah = vt_ah(t, &t->peer);
	if (t->side == 1) {
		CHECK_EQ(vt_recv(t, 0, 4096, 1), 0);
		CHECK_EQ(vt_recv(t, 4096, 4096, 2), 0);
	}
	vt_sync(t);
	for (uint64_t i = 0; i < 3 && t->side == 0; i++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, IBV_WR_SEND, &sge, 0, 0, 10 + (uint32_t)i);

		wr.wr_id = i;
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = i == 1 ? t->me.qpn : t->peer.qpn;
		wr.wr.ud.remote_qkey = i == 0 ? 0x2222 : t->peer.qkey + (i == 1);
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, i, IBV_WC_SUCCESS);
	}
	if (t->side == 1) {
		CHECK_EQ(vt_wc_is(t, 1, IBV_WC_SUCCESS).byte_len, 40 + 12);
		vt_wc_none(t, t->cq);
	}
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	vt_close(t);
}

/*
 * ibv_post_send() accepts operations that the transport does not have; they fail in order with
 * LOC_QP_OP_ERR, and the send queue is in SQE then.
 */
static void not_of_transport(struct vt *t, enum ibv_qp_type type, const enum ibv_wr_opcode *ops,
			     int n)
{
	struct vt_opt o = {.type = type};
	struct ibv_ah *ah;

	vt_setup(t, &o);
	ah = vt_ah(t, &t->peer);
	for (int i = 0; i < n; i++) {
		if (t->side == 0) {
			struct ibv_sge sge[3];
			struct ibv_send_wr wr[3];

			for (int k = 0; k < 3; k++) {
				wr[k] = vt_wr(t, k == 1 ? ops[i] : IBV_WR_SEND, &sge[k], 0, 0, 8);
				wr[k].wr_id = (uint64_t)k;
				wr[k].next = k < 2 ? &wr[k + 1] : NULL;
				if (type == IBV_QPT_UD && k != 1) {
					wr[k].wr.ud.ah = ah;
					wr[k].wr.ud.remote_qpn = t->peer.qpn;
					wr[k].wr.ud.remote_qkey = t->peer.qkey;
				}
			}
			wr[1].send_flags = 0;
			CHECK_EQ(vt_post(t->qp, wr), 0);
			vt_wc_is(t, 0, IBV_WC_SUCCESS);
			CHECK_EQ(vt_wc_is(t, 1, IBV_WC_LOC_QP_OP_ERR).qp_num, t->qp->qp_num);
			vt_wc_is(t, 2, IBV_WC_WR_FLUSH_ERR);
			CHECK_EQ(vt_state(t->qp), IBV_QPS_SQE);
		}
		vt_reconnect(t, &o);
	}
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	vt_close(t);
}

static void not_of_ud(struct vt *t)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD};

	not_of_transport(t, IBV_QPT_UD, ops, 5);
}

static void not_of_uc(struct vt *t)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
						 IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV};

	not_of_transport(t, IBV_QPT_UC, ops, 4);
}

/* The peer destroys its QP: retries run out. timeout 8: 1 ms, so that the test is short. */
static void peer_gone(struct vt *t)
{
	struct vt_opt o = {.timeout = 8, .retry_cnt = 3};

	vt_setup(t, &o);
	if (t->side == 1) {
		CHECK_EQ(ibv_destroy_qp(t->qp), 0);
		t->qp = NULL;
	}
	vt_sync(t);
	if (t->side == 0) {
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, 6, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 6, IBV_WC_RETRY_EXC_ERR);
		CHECK_EQ(vt_state(t->qp), IBV_QPS_ERR);
	}
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"local_key", local_key, VT_BOTH, 0},
	{"recv_key", recv_key, VT_BOTH, 0},
	{"recv_too_small", recv_too_small, VT_BOTH, 0},
	{"access_matrix", access_matrix, VT_BOTH, 0},
	{"remote_key", remote_key, VT_BOTH, 0},
	{"ever_new_qps", ever_new_qps, VT_BOTH, 0},
	{"qp_access", qp_access, VT_BOTH, 0},
	{"unaligned_atomic", unaligned_atomic, VT_BOTH, 0},
	{"access_event", access_event, VT_BOTH, 0},
	{"rnr_exhausted", rnr_exhausted, VT_BOTH, 0},
	{"rnr_recovers", rnr_recovers, VT_BOTH, 0},
	{"flush", flush, VT_BOTH, 0},
	{"error_then_flush", error_then_flush, VT_BOTH, 0},
	{"ud_dropped", ud_dropped, VT_BOTH, 0},
	{"not_of_ud", not_of_ud, VT_BOTH, 0},
	{"not_of_uc", not_of_uc, VT_BOTH, 0},
	{"peer_gone", peer_gone, VT_BOTH, 0},
};

VT_MAIN(cases)
