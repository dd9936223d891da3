/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vt_keys_cases.c - ended keys, states without a way out, memory windows. */
#include "vt.h"

#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_MW_BIND)

/* ------------------------------------------------------------- keys and states */

/* Side 0 writes with this key over this QP; side 1 only takes part. */
static void write_with(struct vt *t, struct ibv_qp *qp, uint32_t rkey, size_t roff, bool good)
{
	if (t->side == 0) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, IBV_WR_RDMA_WRITE, &sge, 0, roff, 64);

		wr.wr_id = 5;
		wr.wr.rdma.rkey = rkey;
		CHECK_EQ(vt_post(qp, &wr), 0);
		vt_wc_is(t, 5, good ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
	}
	vt_sync(t);
}

/* Reregister the same range; arguments without their flag must be ignored. */
static int rereg(struct vt *t, struct ibv_mr *mr, int change)
{
	bool where = change == IBV_REREG_MR_CHANGE_TRANSLATION;

	return ibv_rereg_mr(mr, change, change == IBV_REREG_MR_CHANGE_PD ? t->pd : NULL,
			    where ? t->buf : NULL, where ? 4096 : 0, 0);
}

/* rereg_mr ends the old keys when it changes the memory or the PD. */
static void rereg_old_keys(struct vt *t)
{
	static const int changes[] = {IBV_REREG_MR_CHANGE_TRANSLATION, IBV_REREG_MR_CHANGE_PD};
	struct vt_opt o = {0};

	vt_setup(t, &o);
	for (int i = 0; i < 2; i++) {
		struct ibv_mr *mr =
			ibv_reg_mr(t->pd, t->buf, 4096, ACCESS | IBV_ACCESS_REMOTE_ATOMIC);
		uint32_t old_lkey, keys[2];

		CHECK(mr, "reg_mr: %s", strerror(errno));
		old_lkey = mr->lkey;
		keys[0] = mr->rkey;
		CHECK_EQ(rereg(t, mr, changes[i]), 0);
		keys[1] = mr->rkey;
		CHECK(keys[0] != keys[1] && old_lkey != mr->lkey, "the key stayed");
		vt_put(t, keys, sizeof(keys));
		vt_get(t, keys, sizeof(keys));
		write_with(t, t->qp, keys[1], 0, true);
		write_with(t, t->qp, keys[0], 0, false);
		vt_reconnect(t, &o);
		if (t->side == 0) {
			struct ibv_sge sge;
			struct ibv_send_wr wr = vt_wr(t, IBV_WR_RDMA_WRITE, &sge, 0, 0, 64);

			wr.wr_id = 6;
			sge.lkey = old_lkey;
			CHECK_EQ(vt_post(t->qp, &wr), 0);
			vt_wc_is(t, 6, IBV_WC_LOC_PROT_ERR);
		}
		vt_reconnect(t, &o);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	}
	vt_close(t);
}

/* The device moved the QP to the error state, unnoticed: only RESET leads out of it. */
static void error_stays(struct vt *t)
{
	static const int masks[] = {IBV_QP_STATE, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER,
				    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					    IBV_QP_MAX_QP_RD_ATOMIC};
	struct vt_opt o = {0};

	vt_setup(t, &o);
	for (int i = 0; i < 3; i++) {
		if (t->side == 0) {
			struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS,
						.cur_qp_state = IBV_QPS_RTS,
						.timeout = 14,
						.min_rnr_timer = 1,
						.max_rd_atomic = 1};
			struct ibv_sge sge;
			struct ibv_send_wr wr = vt_wr(t, IBV_WR_RDMA_WRITE, &sge, 0, 0, 64);

			wr.wr_id = 4;
			sge.lkey ^= 0x5a5a00;
			CHECK_EQ(vt_post(t->qp, &wr), 0);
			vt_wc_is(t, 4, IBV_WC_LOC_PROT_ERR);
			CHECK(ibv_modify_qp(t->qp, &a, masks[i]) > 0, "to RTS");
			CHECK(ibv_modify_qp(t->qp, &a, masks[i] | IBV_QP_CUR_STATE) > 0,
			      "to RTS as if it were there");
			CHECK_EQ(vt_state(t->qp), IBV_QPS_ERR);
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, 5, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, 5, IBV_WC_WR_FLUSH_ERR);
		}
		vt_reconnect(t, &o);
		write_with(t, t->qp, t->peer.rkey, 0, true);
	}
	vt_close(t);
}

/* The last pages of the address space are never mapped, and their end is 0. */
static void reg_mr_top(struct vt *t)
{
	static const size_t before[] = {4096, 4096, 8192, 1, 4096, 1u << 20};
	static const size_t len[] = {4096, 4095, 8192, 1, 4097, 1u << 20};

	vt_open(t);
	for (int i = 0; i < 6; i++) {
		struct ibv_mr *mr = ibv_reg_mr(t->pd, (void *)(UINTPTR_MAX - before[i] + 1), len[i],
					       IBV_ACCESS_LOCAL_WRITE);

		CHECK(!mr, "%zu bytes from %zu below the top", len[i], before[i]);
		CHECK(errno == EFAULT || errno == EINVAL, "errno %d", errno);
	}
	vt_close(t);
}

/* ------------------------------------------------------------- memory windows */

static const struct vt_opt with_mw = {.mr_access = ACCESS};

/* A window of type 2 over 4 KiB at `off` of a region that covers t->buf. */
static struct ibv_mw *bound_window(struct vt *t, struct ibv_qp *qp, struct ibv_mr *mr, size_t off)
{
	struct ibv_mw *mw = ibv_alloc_mw(t->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = {
		.wr_id = 40, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};

	CHECK(mw, "alloc_mw: %s", strerror(errno));
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){mr, (uintptr_t)t->buf + off, 4096,
							 IBV_ACCESS_REMOTE_WRITE};
	CHECK_EQ(vt_post(qp, &wr), 0);
	CHECK_EQ(vt_wc_is(t, 40, IBV_WC_SUCCESS).opcode, IBV_WC_BIND_MW);
	mw->rkey = wr.bind_mw.rkey;
	return mw;
}

static struct ibv_wc send_with_inv(struct vt *t, uint32_t rkey)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(t, IBV_WR_SEND_WITH_INV, &sge, 0, 0, 64);

	wr.wr_id = 41;
	wr.invalidate_rkey = rkey;
	CHECK_EQ(vt_post(t->qp, &wr), 0);
	return vt_wc(t, t->cq);
}

/* IBA 9.4 (invalidate) */
static void mw_send_with_inv(struct vt *t)
{
	struct ibv_mw *mw = NULL;
	uint32_t key = 0;

	vt_setup(t, &with_mw);
	if (t->side == 1) {
		mw = bound_window(t, t->qp, t->mr, 4096);
		key = mw->rkey;
		CHECK_EQ(vt_recv(t, 0, 64, 42), 0);
		vt_put(t, &key, sizeof(key));
	} else {
		vt_get(t, &key, sizeof(key));
	}
	write_with(t, t->qp, key, 4096 + 4096 - 64, true);
	if (t->side == 0) {
		CHECK_EQ(send_with_inv(t, key).status, IBV_WC_SUCCESS);
	} else {
		struct ibv_wc wc = vt_wc_is(t, 42, IBV_WC_SUCCESS);

		CHECK(wc.wc_flags & IBV_WC_WITH_INV, "flags %#x", wc.wc_flags);
		CHECK_EQ(wc.invalidated_rkey, key);
	}
	write_with(t, t->qp, key, 4096, false);
	if (mw)
		CHECK_EQ(ibv_dealloc_mw(mw), 0);
	vt_close(t);
}

/* A region is not deregistered under a window; after invalidation or deallocation it is. */
static void mw_dereg_busy(struct vt *t)
{
	vt_setup(t, &with_mw);
	for (int i = 0; i < 2; i++) {
		struct ibv_mr *mr = ibv_reg_mr(t->pd, t->buf, t->len, ACCESS);
		struct ibv_send_wr wr = {
			.wr_id = 43, .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED};
		struct ibv_mw *mw;

		CHECK(mr, "reg_mr: %s", strerror(errno));
		mw = bound_window(t, t->qp, mr, 0);
		wr.invalidate_rkey = mw->rkey;
		CHECK_EQ(ibv_dereg_mr(mr), EBUSY);
		if (i == 0) {
			CHECK_EQ(vt_post(t->qp, &wr), 0);
			vt_wc_is(t, 43, IBV_WC_SUCCESS);
			CHECK_EQ(ibv_dereg_mr(mr), 0);
			CHECK_EQ(ibv_dealloc_mw(mw), 0);
		} else {
			CHECK_EQ(ibv_dealloc_mw(mw), 0);
			CHECK_EQ(ibv_dereg_mr(mr), 0);
		}
	}
	vt_close(t);
}

/* A window of type 2 belongs to its QP: another one may neither use nor invalidate it. */
static void mw_other_qp(struct vt *t)
{
	struct vt_addr peer2;
	struct ibv_mw *mw = NULL;
	struct ibv_qp *qp2;
	uint32_t key = 0;

	vt_setup(t, &with_mw);
	qp2 = vt_qp_create(t, &with_mw, t->cq);
	vt_connect(t, qp2, &with_mw, &peer2);
	if (t->side == 1) {
		mw = bound_window(t, qp2, t->mr, 0);
		key = mw->rkey;
		vt_put(t, &key, sizeof(key));
	} else {
		vt_get(t, &key, sizeof(key));
	}
	write_with(t, qp2, key, 0, true);
	write_with(t, t->qp, key, 0, false);
	vt_reconnect(t, &with_mw);
	if (t->side == 1)
		CHECK_EQ(vt_recv(t, 8192, 64, 44), 0);
	vt_sync(t);
	if (t->side == 0) /* no NAK comes: its retries are used up */
		CHECK_EQ(send_with_inv(t, key).status, IBV_WC_RETRY_EXC_ERR);
	vt_reconnect(t, &with_mw);
	write_with(t, qp2, key, 0, true);
	if (mw)
		CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_destroy_qp(qp2), 0);
	vt_close(t);
}

/* A window of type 1 and its region are of another PD than the QP: the bind fails in order. */
static void mw1_other_pd(struct vt *t)
{
	struct ibv_mw_bind b = {.wr_id = 45, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	vt_setup(t, &with_mw);
	pd = ibv_alloc_pd(t->ctx);
	CHECK(pd, "alloc_pd: %s", strerror(errno));
	mr = ibv_reg_mr(pd, t->buf, t->len, ACCESS);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	CHECK(mr && mw, "reg_mr, alloc_mw: %s", strerror(errno));
	b.bind_info =
		(struct ibv_mw_bind_info){mr, (uintptr_t)t->buf, 4096, IBV_ACCESS_REMOTE_WRITE};
	CHECK_EQ(ibv_bind_mw(t->qp, mw, &b), 0);
	vt_wc_is(t, 45, IBV_WC_MW_BIND_ERR);
	CHECK_EQ(vt_state(t->qp), IBV_QPS_ERR);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"rereg_old_keys", rereg_old_keys, VT_BOTH, 0},
	{"error_stays", error_stays, VT_BOTH, 0},
	{"reg_mr_top", reg_mr_top, VT_BOTH, 0},
	{"mw_send_with_inv", mw_send_with_inv, VT_BOTH, 0},
	{"mw_dereg_busy", mw_dereg_busy, VT_BOTH, 0},
	{"mw_other_qp", mw_other_qp, VT_BOTH, 0},
	{"mw1_other_pd", mw1_other_pd, VT_BOTH, 0},
};

VT_MAIN(cases)
