/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_ends_cases.c - two ends that do not fit: PSNs, path MTUs, a side that was set up again. Each
 * operation ends with the completion of an adapter, on every link alike; no refused data moves.
 */
#include "vt.h"

enum { AREA = 64 << 10, SRC = 0, DST = AREA };

static const struct vt_opt opt = {
	.type = IBV_QPT_RC, .len = 2 * AREA, .timeout = 12, .retry_cnt = 2, .sig_all = true};

static const enum ibv_wr_opcode every[] = {
	IBV_WR_SEND,	  IBV_WR_RDMA_WRITE,	     IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD};

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Both sides: RESET, and connected again with `skew` more than the PSN that side 0 begins with. */
static void join(struct vt *t, const struct vt_opt *o, uint32_t skew)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
	struct vt_addr me = t->me;
	struct ibv_wc wc;

	vt_sync(t);
	CHECK_EQ(ibv_modify_qp(t->qp, &a, IBV_QP_STATE), 0);
	while (ibv_poll_cq(t->cq, 1, &wc) > 0)
		;
	vt_sync(t);
	me.qpn = t->qp->qp_num;
	me.psn = (me.psn + 0x155555) & 0xffffff;
	vt_qp_init(t, t->qp, o);
	vt_put(t, &me, sizeof(me));
	vt_get(t, &t->peer, sizeof(t->peer));
	if (t->side == 1)
		t->peer.psn = (t->peer.psn + skew) & 0xffffff;
	vt_qp_rtr(t, t->qp, o, &t->peer);
	vt_qp_rts(t, t->qp, o, me.psn);
	t->me = me;
	vt_sync(t);
}

/* Side 0 reads or writes there; a READ brings it back to SRC. */
static void post(struct vt *t, enum ibv_wr_opcode op, uint32_t len)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(t, op, &sge, SRC, DST, is_atomic(op) ? 8 : len);

	wr.wr_id = 5;
	if (is_atomic(op)) {
		wr.wr.atomic.remote_addr = t->peer.addr + DST;
		wr.wr.atomic.rkey = t->peer.rkey;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.swap = 2;
	}
	CHECK_EQ(vt_post(t->qp, &wr), 0);
}

/* Receive may be flushed by now, but none has a message. */
static void nothing_came(struct vt *t)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(t->cq, 1, &wc) > 0)
		CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
}

/* Side 1 has a receive, and its memory must be unchanged. */
static void refused(struct vt *t, enum ibv_wr_opcode op, uint32_t len, enum ibv_wc_status status)
{
	if (t->side == 1) {
		vt_fill(t->buf, 2 * AREA, 3);
		CHECK_EQ(vt_recv(t, DST, AREA, 9), 0);
		vt_sync(t);
		vt_sync(t);
		nothing_came(t);
		CHECK(vt_differs(t->buf, 2 * AREA, 3) == 2 * AREA,
		      "opcode %d, %u bytes: written to", op, len);
		return;
	}
	vt_sync(t);
	post(t, op, len);
	vt_wc_is(t, 5, status);
	CHECK_EQ(vt_state(t->qp), IBV_QPS_ERR);
	vt_sync(t);
}

static void psns(struct vt *t)
{
	/* far ahead and far behind: no packet of a message is the expected one */
	static const uint32_t skews[] = {0x100000, 0xf00000};

	vt_setup(t, &opt);
	for (size_t s = 0; s < 2; s++) {
		for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
			for (uint32_t len = 8; len <= AREA; len *= AREA / 8) {
				join(t, &opt, skews[s]);
				refused(t, every[i], len, IBV_WC_RETRY_EXC_ERR);
			}
		}
	}
	vt_close(t);
}

/* Earlier operations succeed; then side 1 starts again, and side 0 does not notice. */
static void set_up_again(struct vt *t)
{
	vt_setup(t, &opt);
	for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
		join(t, &opt, 0);
		for (uint32_t k = 0; k < 3; k++) {
			if (t->side == 1)
				CHECK_EQ(vt_recv(t, DST, AREA, 8), 0);
			vt_sync(t);
			if (t->side == 0) {
				post(t, IBV_WR_SEND, 100);
				vt_wc_is(t, 5, IBV_WC_SUCCESS);
				post(t, IBV_WR_RDMA_WRITE, 100);
				vt_wc_is(t, 5, IBV_WC_SUCCESS);
			} else {
				vt_wc_is(t, 8, IBV_WC_SUCCESS);
			}
		}
		vt_sync(t);
		if (t->side == 1) {
			struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};

			CHECK_EQ(ibv_modify_qp(t->qp, &a, IBV_QP_STATE), 0);
			vt_qp_init(t, t->qp, &opt);
			vt_qp_rtr(t, t->qp, &opt, &t->peer);
			vt_qp_rts(t, t->qp, &opt, t->me.psn);
		}
		vt_sync(t);
		refused(t, every[i], 8, IBV_WC_RETRY_EXC_ERR);
	}
	vt_close(t);
}

static void fits(struct vt *t, const struct vt_opt *o, enum ibv_wr_opcode op, uint32_t len)
{
	struct ibv_wc wc;

	join(t, o, 0);
	vt_fill(t->buf, 2 * AREA, t->side);
	if (t->side == 1)
		CHECK_EQ(vt_recv(t, DST, AREA, 9), 0);
	vt_sync(t);
	if (t->side == 0) {
		post(t, op, len);
		vt_wc_is(t, 5, IBV_WC_SUCCESS);
	} else if (op == IBV_WR_SEND) {
		wc = vt_wc_is(t, 9, IBV_WC_SUCCESS);
		CHECK_EQ(wc.byte_len, len);
	}
	vt_sync(t);
	if (op == IBV_WR_SEND && t->side == 1)
		CHECK(vt_differs(t->buf + DST, len, 0) == len, "%u bytes", len);
	vt_sync(t);
}

/* One packet that fits both is delivered; nothing else is. */
static void path_mtus(struct vt *t)
{
	static const enum ibv_mtu of[][2] = {{IBV_MTU_1024, IBV_MTU_4096},
					     {IBV_MTU_4096, IBV_MTU_1024}};
	static const uint32_t good[] = {8, 1024}, bad[] = {1025, 4096, 9000, AREA};
	struct vt_opt o = opt;

	vt_setup(t, &opt);
	for (size_t m = 0; m < 2; m++) {
		o.mtu = of[m][t->side];
		for (size_t op = 0; op < sizeof(every) / sizeof(every[0]); op++) {
			for (size_t i = 0; i < 2; i++)
				fits(t, &o, every[op], good[i]);
			for (size_t i = 0; i < 4 && !is_atomic(every[op]); i++) {
				join(t, &o, 0);
				refused(t, every[op], bad[i],
					every[op] == IBV_WR_RDMA_READ ? IBV_WC_RETRY_EXC_ERR
								      : IBV_WC_REM_INV_REQ_ERR);
			}
		}
	}
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"psns", psns, VT_BOTH, 0},
	{"set_up_again", set_up_again, VT_BOTH, 0},
	{"path_mtus", path_mtus, VT_BOTH, 0},
};

VT_MAIN(cases)
