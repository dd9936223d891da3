/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_checks_cases.c - the order of checks and the errors on both sides: as on adapters, on every
 * link alike.
 */
#include "vt.h"

#include <endian.h>

enum { MTU = 1024 };

#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* A key that does not exist: bits of its index and of its random part differ. */
static uint32_t no_key(uint32_t key)
{
	return key ^ 0x5a5a00;
}

/* --------------------------------------------------------------- datagrams */

static void datagram(struct vt *t, struct ibv_ah *ah, uint32_t len, uint64_t wr_id)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(t, IBV_WR_SEND_WITH_IMM, &sge, 0, 0, len);

	wr.wr_id = wr_id;
	wr.imm_data = htobe32(7);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = t->peer.qpn;
	wr.wr.ud.remote_qkey = t->peer.qkey;
	CHECK_EQ(vt_post(t->qp, &wr), 0);
}

/* The length in the IPv4 or IPv6 header in front of a datagram covers all bytes behind it. */
static void check_grh(const uint8_t *grh, uint32_t len)
{
	const uint32_t rest = 8 + 12 + 8 + 4 + ((len + 3) & ~3u) + 4; /* UDP to ICRC */

	if (grh[0] >> 4 == 6)
		CHECK_EQ(grh[4] << 8 | grh[5], rest);
	else
		CHECK_EQ(grh[22] << 8 | grh[23], 20 + rest);
}

/* One byte more than the port's active MTU is an error of the sender; nothing arrives. */
static void ud_longer_than_the_port(struct vt *t)
{
	struct vt_opt o = {.type = IBV_QPT_UD};
	uint32_t mtu[2]; /* that of another host may be larger */
	struct ibv_ah *ah;

	vt_setup(t, &o);
	ah = vt_ah(t, &t->peer);
	mtu[0] = mtu[1] = vt_active_mtu(t);
	vt_put(t, mtu, sizeof(mtu[0]));
	vt_get(t, &mtu[1], sizeof(mtu[1]));
	if (t->side == 1) {
		CHECK_EQ(vt_recv(t, 0, 16384, 1), 0);
		CHECK_EQ(vt_recv(t, 16384, 16384, 2), 0);
	}
	vt_sync(t);
	if (t->side == 0) {
		datagram(t, ah, mtu[0] < mtu[1] ? mtu[0] : mtu[1], 3);
		vt_wc_is(t, 3, IBV_WC_SUCCESS);
		datagram(t, ah, mtu[0] + 1, 4);
		vt_wc_is(t, 4, IBV_WC_LOC_LEN_ERR);
		CHECK_EQ(vt_state(t->qp), IBV_QPS_SQE);
	} else {
		uint32_t len = mtu[0] < mtu[1] ? mtu[0] : mtu[1];

		CHECK_EQ(vt_wc_is(t, 1, IBV_WC_SUCCESS).byte_len, 40 + len);
		check_grh(t->buf, len);
	}
	vt_sync(t);
	vt_wc_none(t, t->cq);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	vt_close(t);
}

/*
 * The first datagrams of a process, to one that it has not met, and directly after them the end of
 * their QP and of all else: they have left by then. With and without completions.
 */
static void ud_posted_before_the_end(struct vt *t)
{
	enum { FEW = 5, MANY = 100 }; /* of the latter more than a device may send in one go */
	struct vt_opt o = {.type = IBV_QPT_UD, .send_wr = 128, .recv_wr = 256};
	struct ibv_ah *ah;

	vt_setup(t, &o);
	ah = vt_ah(t, &t->peer);
	for (uint64_t i = 0; t->side == 1 && i < FEW + MANY; i++)
		CHECK_EQ(vt_recv(t, 0, 256, i), 0);
	vt_sync(t);
	for (int many = 0; many < 2; many++) {
		for (int i = 0; t->side == 0 && i < (many ? MANY : FEW); i++) {
			struct ibv_sge sge;
			struct ibv_send_wr wr = vt_wr(t, IBV_WR_SEND, &sge, 0, 0, 100);

			wr.send_flags = 0;
			wr.wr.ud.ah = ah;
			wr.wr.ud.remote_qpn = t->peer.qpn;
			wr.wr.ud.remote_qkey = t->peer.qkey;
			CHECK_EQ(vt_post(t->qp, &wr), 0);
		}
		if (t->side == 0) {
			CHECK_EQ(ibv_destroy_qp(t->qp), 0);
			t->qp = many ? NULL : vt_qp_create(t, &o, t->cq);
			if (!many) {
				vt_qp_init(t, t->qp, &o);
				vt_qp_rtr(t, t->qp, &o, &t->peer);
				vt_qp_rts(t, t->qp, &o, 0);
			}
		}
	}
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	if (t->side == 0 && !t->threads) { /* nor is there a process any more */
		vt_sync(t);
		CHECK_EQ(ibv_destroy_cq(t->cq), 0);
		CHECK_EQ(ibv_dereg_mr(t->mr), 0);
		CHECK_EQ(ibv_dealloc_pd(t->pd), 0);
		CHECK_EQ(ibv_close_device(t->ctx), 0);
		return;
	}
	if (t->side == 1 && !t->threads)
		vt_sync(t);
	for (int i = 0; t->side == 1 && i < FEW + MANY; i++)
		CHECK_EQ(vt_wc_is(t, (uint64_t)i, IBV_WC_SUCCESS).byte_len, 140);
	if (t->threads) {
		vt_close(t);
		return;
	}
	CHECK_EQ(ibv_destroy_qp(t->qp), 0);
	CHECK_EQ(ibv_destroy_cq(t->cq), 0);
	CHECK_EQ(ibv_dereg_mr(t->mr), 0);
	CHECK_EQ(ibv_dealloc_pd(t->pd), 0);
	CHECK_EQ(ibv_close_device(t->ctx), 0);
}

/* --------------------------------------------------------- READs and atomics */

enum { LKEY = 1, RKEY = 2, ODD = 4 };

struct check {
	enum ibv_wr_opcode op;
	uint32_t len, wrong;
	enum ibv_wc_status status;
	uint64_t word; /* value at the responder afterwards; it was 2 */
};

/* The responder checks first; the answer meets a bad local key. This covers lengths. */
static const struct check checks[] = {
	{IBV_WR_RDMA_READ, 8, LKEY, IBV_WC_LOC_PROT_ERR, 2},
	{IBV_WR_RDMA_READ, 8, LKEY | RKEY, IBV_WC_REM_ACCESS_ERR, 2},
	{IBV_WR_RDMA_READ, 40000, LKEY, IBV_WC_LOC_PROT_ERR, 2},
	{IBV_WR_RDMA_READ, 40000, LKEY | RKEY, IBV_WC_REM_ACCESS_ERR, 2},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, LKEY, IBV_WC_LOC_PROT_ERR, 5},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, LKEY | RKEY, IBV_WC_REM_ACCESS_ERR, 2},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, LKEY | ODD, IBV_WC_REM_INV_REQ_ERR, 2},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, RKEY | ODD, IBV_WC_REM_INV_REQ_ERR, 2},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 7, LKEY | RKEY, IBV_WC_LOC_LEN_ERR, 2},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 9, LKEY | RKEY, IBV_WC_LOC_LEN_ERR, 2},
	{IBV_WR_ATOMIC_CMP_AND_SWP, 8, LKEY, IBV_WC_LOC_PROT_ERR, 3},
	{IBV_WR_ATOMIC_CMP_AND_SWP, 8, LKEY | RKEY, IBV_WC_REM_ACCESS_ERR, 2},
	{IBV_WR_ATOMIC_CMP_AND_SWP, 8, LKEY | RKEY | ODD, IBV_WC_REM_INV_REQ_ERR, 2},
	{IBV_WR_ATOMIC_CMP_AND_SWP, 9, 0, IBV_WC_LOC_LEN_ERR, 2},
};

static void post_check(struct vt *t, const struct check *c)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(t, c->op, &sge, 0, 0, c->len);
	const uint32_t rkey = c->wrong & RKEY ? no_key(t->peer.rkey) : t->peer.rkey;
	const uint64_t addr = t->peer.addr + (c->wrong & ODD ? 1 : 0);

	wr.wr_id = 9;
	if (c->wrong & LKEY)
		sge.lkey = no_key(sge.lkey);
	if (c->op == IBV_WR_RDMA_READ) {
		wr.wr.rdma.rkey = rkey;
		wr.wr.rdma.remote_addr = addr;
	} else {
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.compare_add = c->op == IBV_WR_ATOMIC_CMP_AND_SWP ? 2 : 3;
		wr.wr.atomic.swap = 3;
	}
	CHECK_EQ(vt_post(t->qp, &wr), 0);
}

static void read_atomic_bad_keys(struct vt *t)
{
	struct vt_opt o = {0};

	vt_setup(t, &o);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		const struct check *c = &checks[i];
		uint64_t word = 2;

		memset(t->buf, 0, 64);
		if (t->side == 1)
			memcpy(t->buf, &word, 8);
		vt_sync(t);
		if (t->side == 0) {
			post_check(t, c);
			vt_wc_is(t, 9, c->status);
		}
		vt_sync(t);
		memcpy(&word, t->buf, 8);
		CHECK(word == (t->side == 1 ? c->word : 0), "check %zu: %llu", i,
		      (unsigned long long)word);
		vt_reconnect(t, &o);
	}
	vt_close(t);
}

/* --------------------------------------------------------- WRITE with immediate */

/* One packet: the receive has its own error. A longer message had no receive. */
static void write_imm_bad_rkey(struct vt *t)
{
	static const uint32_t lens[] = {8, MTU, MTU + 1, 8192, 40000};
	struct vt_opt o = {0};

	vt_setup(t, &o);
	for (int i = 0; i < 5; i++) {
		if (t->side == 1)
			CHECK_EQ(vt_recv(t, 0, 64, 1), 0);
		vt_sync(t);
		if (t->side == 0) {
			struct ibv_sge sge;
			struct ibv_send_wr wr =
				vt_wr(t, IBV_WR_RDMA_WRITE_WITH_IMM, &sge, 0, 0, lens[i]);

			wr.wr_id = 2;
			wr.wr.rdma.rkey = no_key(t->peer.rkey);
			CHECK_EQ(vt_post(t->qp, &wr), 0);
			vt_wc_is(t, 2, IBV_WC_REM_ACCESS_ERR);
		} else {
			vt_wc_is(t, 1,
				 lens[i] <= MTU ? IBV_WC_LOC_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
		}
		vt_reconnect(t, &o);
	}
	vt_close(t);
}

/* ------------------------------------------------------- SEND with invalidate */

/*
 * A key that cannot be invalidated, of a region and of nothing: the receive fails, earlier ones
 * succeed, and the sender ends when its retries are used up: no NAK is sent.
 */
static void inv_of_no_window(struct vt *t)
{
	static const uint32_t lens[] = {8, 40000};
	struct vt_opt o = {.timeout = 8, .retry_cnt = 3};

	vt_setup(t, &o);
	for (int i = 0; i < 4; i++) {
		if (t->side == 1) {
			CHECK_EQ(vt_recv(t, 0, 40000, 1), 0);
			CHECK_EQ(vt_recv(t, 0, 40000, 2), 0);
		}
		vt_sync(t);
		if (t->side == 0) {
			struct ibv_sge sge;
			struct ibv_send_wr wr =
				vt_wr(t, IBV_WR_SEND_WITH_INV, &sge, 0, 0, lens[i / 2]);

			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, lens[i / 2], 3, IBV_SEND_SIGNALED),
				 0);
			wr.wr_id = 4;
			wr.invalidate_rkey = i % 2 ? no_key(t->peer.rkey) : t->peer.rkey;
			CHECK_EQ(vt_post(t->qp, &wr), 0);
			vt_wc_is(t, 3, IBV_WC_SUCCESS);
			vt_wc_is(t, 4, IBV_WC_RETRY_EXC_ERR);
		} else {
			vt_wc_is(t, 1, IBV_WC_SUCCESS);
			vt_wc_is(t, 2, IBV_WC_REM_INV_REQ_ERR);
			CHECK_EQ(vt_state(t->qp), IBV_QPS_ERR);
		}
		vt_reconnect(t, &o);
	}
	vt_close(t);
}

/* -------------------------------------------------------------------- SRQs */

static void srq_recv(struct vt *t, struct ibv_srq *srq, uint32_t lkey, uint64_t wr_id)
{
	struct ibv_sge sge = {(uintptr_t)t->buf + 8192, 8192, lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	CHECK_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
}

/* Return the keys of its receives belong to the SRQ's PD, R_Keys to the QP's. */
static void srq_of_another_pd(struct vt *t)
{
	static const uint32_t lens[] = {8, 5000};
	struct ibv_srq_init_attr sa = {.attr = {.max_wr = 16, .max_sge = 1}};
	uint32_t rkey[2] = {0};
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct vt_opt o = {0};

	vt_open(t);
	pd = ibv_alloc_pd(t->ctx);
	CHECK(pd, "alloc_pd: %s", strerror(errno));
	o.srq = ibv_create_srq(pd, &sa);
	CHECK(o.srq, "create_srq: %s", strerror(errno));
	vt_setup(t, &o);
	mr = ibv_reg_mr(pd, t->buf, t->len, ALL);
	CHECK(mr, "reg_mr: %s", strerror(errno));
	rkey[0] = mr->rkey;
	vt_put(t, &rkey[0], sizeof(rkey[0]));
	vt_get(t, &rkey[1], sizeof(rkey[1]));
	for (int i = 0; i < 2; i++) {
		vt_fill(t->buf, 8192, 5);
		if (t->side == 1) { /* filled before the device uses them */
			vt_fill(t->buf + 8192, 8192, 1);
			srq_recv(t, o.srq, mr->lkey, 1);
			srq_recv(t, o.srq, t->mr->lkey, 2);
		}
		vt_sync(t);
		if (t->side == 0) {
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, lens[i], 3, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, 3, IBV_WC_SUCCESS);
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, lens[i], 4, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, 4, IBV_WC_REM_OP_ERR);
		} else {
			vt_wc_is(t, 1, IBV_WC_SUCCESS);
			CHECK_EQ(vt_differs(t->buf + 8192, lens[i], 5), lens[i]);
			vt_wc_is(t, 2, IBV_WC_LOC_PROT_ERR);
		}
		vt_reconnect(t, &o);
	}
	if (t->side == 0) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, IBV_WR_RDMA_WRITE, &sge, 0, 0, 8);

		wr.wr_id = 5;
		wr.wr.rdma.rkey = rkey[1];
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, 5, IBV_WC_REM_ACCESS_ERR);
	}
	vt_sync(t);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_destroy_qp(t->qp), 0);
	t->qp = NULL;
	CHECK_EQ(ibv_destroy_srq(o.srq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	vt_close(t);
}

/* --------------------------------------------------------- windows, regions */

static void write_to(struct vt *t, uint32_t rkey, uint32_t len, enum ibv_wc_status status)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(t, IBV_WR_RDMA_WRITE, &sge, 0, 0, len);

	wr.wr_id = 6;
	wr.wr.rdma.rkey = rkey;
	CHECK_EQ(vt_post(t->qp, &wr), 0);
	vt_wc_is(t, 6, status);
}

static void bind(struct vt *t, struct ibv_mw *mw, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.wr_id = 7, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
	const uint32_t first = mw->rkey;

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){t->mr, (uintptr_t)t->buf, t->len,
							 IBV_ACCESS_REMOTE_WRITE};
	CHECK_EQ(vt_post(t->qp, &wr), 0);
	vt_wc_is(t, 7, IBV_WC_SUCCESS);
	CHECK_EQ(mw->rkey, (first & ~0xffu) | (rkey & 0xff));
}

/*
 * Return the poster owns only the low 8 bits of the key of a bind; then the window has the whole
 * key.
 */
static void window_of_any_number(struct vt *t)
{
	static const uint32_t wanted[] = {0xba, 0xdeadbe07, 0, 0xffffffff};
	struct vt_opt o = {.mr_access = ALL | IBV_ACCESS_MW_BIND};

	vt_setup(t, &o);
	for (int i = 0; i < 4; i++) {
		struct ibv_mw *mw = NULL;
		uint32_t key = 0;

		if (t->side == 1) {
			mw = ibv_alloc_mw(t->pd, IBV_MW_TYPE_2);
			CHECK(mw, "alloc_mw: %s", strerror(errno));
			bind(t, mw, wanted[i]);
			key = mw->rkey;
			vt_put(t, &key, sizeof(key));
		} else {
			vt_get(t, &key, sizeof(key));
			write_to(t, key, 8, IBV_WC_SUCCESS);
			write_to(t, key, 50000, IBV_WC_SUCCESS);
		}
		vt_sync(t);
		if (mw) {
			mw->rkey = 0; /* field of the application: nothing depends on it */
			CHECK_EQ(ibv_dealloc_mw(mw), 0);
		}
		vt_sync(t);
		if (t->side == 0)
			write_to(t, key, 8, IBV_WC_REM_ACCESS_ERR);
		vt_reconnect(t, &o);
	}
	vt_close(t);
}

static void rereg(struct vt *t, int access)
{
	const uint32_t lkey = t->mr->lkey, rkey = t->mr->rkey;

	CHECK_EQ(ibv_rereg_mr(t->mr, IBV_REREG_MR_CHANGE_ACCESS, t->pd, NULL, 0, access), 0);
	CHECK(t->mr->lkey == lkey && t->mr->rkey == rkey, "the keys changed");
}

/* Only other rights: the keys stay; the last requested rights apply. */
static void rereg_access_keeps_keys(struct vt *t)
{
	static const uint32_t lens[] = {8, 50000};
	struct vt_opt o = {0};

	vt_setup(t, &o);
	for (int i = 0; i < 4; i++) {
		const bool may = i % 2 == 0;

		if (t->side == 1)
			rereg(t, may ? ALL : ALL & ~IBV_ACCESS_REMOTE_WRITE);
		vt_sync(t);
		if (t->side == 0)
			write_to(t, t->peer.rkey, lens[i / 2],
				 may ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
		if (!may)
			vt_reconnect(t, &o);
		else
			vt_sync(t);
	}
	if (t->side == 1) { /* nor may this side write any more */
		rereg(t, IBV_ACCESS_REMOTE_READ);
		CHECK_EQ(vt_recv(t, 0, 64, 1), 0);
	}
	vt_sync(t);
	if (t->side == 0) {
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 8, 2, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 2, IBV_WC_REM_OP_ERR);
	} else {
		vt_wc_is(t, 1, IBV_WC_LOC_PROT_ERR);
	}
	vt_close(t);
}

/* Rights are added and removed while the other side uses those that stay: it never notices. */
static void rereg_beside_traffic(struct vt *t)
{
	static const int other[] = {0, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_ATOMIC};
	const int base = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct vt_opt o = {0};
	char done = 0;

	vt_setup(t, &o);
	if (t->side == 1) {
		for (int i = 0; i < 300; i++)
			rereg(t, base | other[i % 3]);
		vt_put(t, &done, 1);
	} else {
		for (int i = 0; i < 3000; i++)
			write_to(t, t->peer.rkey, i % 8 ? 64 : 40000, IBV_WC_SUCCESS);
		vt_get(t, &done, 1);
	}
	vt_close(t);
}

/* QPs may have the rights to FLUSH that no region here has. */
static void qp_may_persist(struct vt *t)
{
	enum { GLOBAL = 1 << 8, PERSISTENT = 1 << 9 }; /* older headers have no names for them */
	struct vt_opt o = {0};

	vt_setup(t, &o);
	for (unsigned int i = 0; i < 4; i++) {
		struct ibv_qp_attr a = {.qp_access_flags = ALL | i << 8};
		struct ibv_qp_init_attr ia;

		CHECK_EQ(ibv_modify_qp(t->qp, &a, IBV_QP_ACCESS_FLAGS), 0);
		CHECK_EQ(ibv_query_qp(t->qp, &a, IBV_QP_ACCESS_FLAGS, &ia), 0);
		CHECK_EQ(a.qp_access_flags & (GLOBAL | PERSISTENT), i << 8);
	}
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"ud_longer_than_the_port", ud_longer_than_the_port, VT_BOTH, 0},
	{"ud_posted_before_the_end", ud_posted_before_the_end, VT_BOTH, 0},
	{"read_atomic_bad_keys", read_atomic_bad_keys, VT_BOTH, 0},
	{"write_imm_bad_rkey", write_imm_bad_rkey, VT_BOTH, 0},
	{"inv_of_no_window", inv_of_no_window, VT_BOTH, 0},
	{"srq_of_another_pd", srq_of_another_pd, VT_BOTH, 0},
	{"window_of_any_number", window_of_any_number, VT_BOTH, 0},
	{"rereg_access_keeps_keys", rereg_access_keeps_keys, VT_BOTH, 0},
	{"rereg_beside_traffic", rereg_beside_traffic, VT_BOTH, 0},
	{"qp_may_persist", qp_may_persist, VT_BOTH, 0},
};

VT_MAIN(cases)
