/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vt_flush_cases.c - FLUSH by ibv_wr_flush(), where libibverbs has it (rdma-core 45 on). */
#include "vt.h"

#ifdef DPA_HAVE_FLUSH

#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct flush {
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct vt_addr peer;
};

static void allow(struct ibv_qp *qp, unsigned int access)
{
	struct ibv_qp_attr a = {.qp_access_flags = access};

	CHECK_EQ(ibv_modify_qp(qp, &a, IBV_QP_ACCESS_FLAGS), 0);
}

static void connect_anew(struct vt *t, struct flush *f, const struct vt_opt *o)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};

	vt_sync(t);
	CHECK_EQ(ibv_modify_qp(f->qp, &a, IBV_QP_STATE), 0);
	vt_sync(t);
	vt_connect(t, f->qp, o, &f->peer);
	allow(f->qp, ALL | IBV_ACCESS_FLUSH_GLOBAL);
	vt_sync(t);
}

static void setup(struct vt *t, struct flush *f, const struct vt_opt *o)
{
	struct ibv_qp_init_attr_ex a = {
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_FLUSH,
		.cap = {.max_send_wr = 8, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1}};

	vt_setup(t, o);
	a.pd = t->pd;
	a.send_cq = a.recv_cq = t->cq;
	f->qp = ibv_create_qp_ex(t->ctx, &a);
	CHECK(f->qp, "create_qp_ex: %s", strerror(errno));
	f->ex = ibv_qp_to_qp_ex(f->qp);
	vt_connect(t, f->qp, o, &f->peer);
	allow(f->qp, ALL | IBV_ACCESS_FLUSH_GLOBAL);
	vt_sync(t);
}

static void end(struct vt *t, struct flush *f)
{
	vt_sync(t);
	CHECK_EQ(ibv_destroy_qp(f->qp), 0);
	vt_close(t);
}

static int flush(struct flush *f, uint32_t rkey, size_t off, size_t len, uint8_t type,
		 uint8_t level)
{
	ibv_wr_start(f->ex);
	f->ex->wr_id = 2;
	f->ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(f->ex, rkey, f->peer.addr + off, len, type, level);
	return ibv_wr_complete(f->ex);
}

/* IBA 9.4 (flush) */
/* A WRITE and its FLUSH in one batch, by range and by region. */
static void write_and_flush(struct vt *t)
{
	struct vt_opt o = {.mr_access = ALL | IBV_ACCESS_FLUSH_GLOBAL};
	struct flush f;

	setup(t, &f, &o);
	for (int i = 0; i < 40; i++) {
		uint32_t len = 1 + (uint32_t)i * 1500,
			 level = i & 1 ? IBV_FLUSH_MR : IBV_FLUSH_RANGE;

		if (t->side == 0) {
			struct ibv_wc wc;

			vt_fill(t->buf, len, (uint32_t)i);
			ibv_wr_start(f.ex);
			f.ex->wr_id = 1;
			f.ex->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_rdma_write(f.ex, f.peer.rkey, f.peer.addr);
			ibv_wr_set_sge(f.ex, t->mr->lkey, (uintptr_t)t->buf, len);
			f.ex->wr_id = 2;
			ibv_wr_flush(f.ex, f.peer.rkey, f.peer.addr, len, IBV_FLUSH_GLOBAL,
				     (uint8_t)level);
			CHECK_EQ(ibv_wr_complete(f.ex), 0);
			vt_wc_is(t, 1, IBV_WC_SUCCESS);
			wc = vt_wc_is(t, 2, IBV_WC_SUCCESS);
			CHECK_EQ(wc.opcode, IBV_WC_FLUSH);
		}
		vt_sync(t);
		if (t->side == 1)
			CHECK_EQ(vt_differs(t->buf, len, (uint32_t)i), len);
		vt_sync(t);
	}
	end(t, &f);
}

/* A FLUSH that the key, the range or the QP does not allow; one that cannot be posted. */
static void refused(struct vt *t)
{
	struct vt_opt o = {.mr_access = ALL | IBV_ACCESS_FLUSH_GLOBAL};
	struct ibv_mr *plain;
	struct flush f;
	uint32_t key;

	setup(t, &f, &o);
	CHECK(!ibv_reg_mr(t->pd, t->buf, t->len, ALL | IBV_ACCESS_FLUSH_PERSISTENT) &&
		      errno == EINVAL, /* rdma-core's tests skip on this one only */
	      "memory that persists");
	plain = ibv_reg_mr(t->pd, t->buf, t->len, ALL);
	CHECK(plain, "reg_mr: %s", strerror(errno));
	key = plain->rkey;
	vt_put(t, &key, sizeof(key));
	vt_get(t, &key, sizeof(key));
	CHECK_EQ(flush(&f, f.peer.rkey, 0, 8, 0, IBV_FLUSH_RANGE), EINVAL);
	CHECK_EQ(flush(&f, f.peer.rkey, 0, 8, 4, IBV_FLUSH_RANGE), EINVAL);
	CHECK_EQ(flush(&f, f.peer.rkey, 0, 8, IBV_FLUSH_GLOBAL, 2), EINVAL);
	CHECK_EQ(flush(&f, f.peer.rkey, 0, 1ull << 32, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE), EINVAL);
	if (t->side == 0) {
		CHECK_EQ(flush(&f, key, 0, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE), 0);
		vt_wc_is(t, 2, IBV_WC_REM_ACCESS_ERR);
	}
	connect_anew(t, &f, &o);
	if (t->side == 0) {
		CHECK_EQ(flush(&f, f.peer.rkey, t->len - 7, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE),
			 0);
		vt_wc_is(t, 2, IBV_WC_REM_ACCESS_ERR);
	}
	connect_anew(t, &f, &o);
	allow(f.qp, ALL);
	vt_sync(t);
	if (t->side == 0) {
		CHECK_EQ(flush(&f, f.peer.rkey, 0, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE), 0);
		vt_wc_is(t, 2, IBV_WC_REM_INV_REQ_ERR);
	}
	vt_sync(t);
	CHECK_EQ(ibv_dereg_mr(plain), 0);
	end(t, &f);
}

static const struct vt_case cases[] = {
	{"write_and_flush", write_and_flush, VT_BOTH, 0},
	{"refused", refused, VT_BOTH, 0},
};

#else

static void none(struct vt *t)
{
	(void)t;
	vt_skip("this libibverbs has no ibv_wr_flush()");
}

static const struct vt_case cases[] = {{"none", none, VT_THREADS, 0}};

#endif

VT_MAIN(cases)
