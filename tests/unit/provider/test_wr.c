/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_wr.c - the ibv_wr_* way of posting writes the same WQEs as ibv_post_send. */
#include <criterion/criterion.h>
#include "dpa.h"
#include "fake_hw.h"

struct ex_setup {
	struct fake_setup s;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct dpa_hw_qp *hw;
	struct ibv_qp_init_attr_ex init;
};

static struct ibv_qp_cap cap = {.max_send_wr = 4,
				.max_recv_wr = 1,
				.max_send_sge = 2,
				.max_recv_sge = 1,
				.max_inline_data = 64};

static void setup(struct ex_setup *s, enum ibv_qp_type type)
{
	fake_setup(&s->s, type, &cap);
	s->init = (struct ibv_qp_init_attr_ex){
		.qp_type = type,
		.cap = cap,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->s.pd,
		.send_cq = s->s.scq,
		.recv_cq = s->s.rcq,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				  (type == IBV_QPT_RC ? IBV_QP_EX_WITH_BIND_MW : 0),
	};
	s->qp = ibv_create_qp_ex(s->s.ctx, &s->init);
	cr_assert(s->qp);
	s->ex = ibv_qp_to_qp_ex(s->qp);
	cr_assert(s->ex);
	s->hw = fake_qp(s->qp);
	fake_to_rts(s->qp);
}

static void teardown(struct ex_setup *s)
{
	cr_assert_eq(ibv_destroy_qp(s->qp), 0);
	fake_teardown(&s->s);
}

static void *wqe_at(struct dpa_hw_qp *hw, uint32_t index)
{
	uint32_t mask = (1u << hw->attr.log_sq) - 1;

	return (uint8_t *)hw->attr.sq + (size_t)(index & mask) * 64;
}

/* Post by both and compare, byte for byte, except the bytes behind the data of the last block. */
static void same(struct ex_setup *s, struct ibv_send_wr *wr, void (*put)(struct ex_setup *),
		 uint32_t bytes)
{
	uint32_t at = s->hw->attr.dbrec->sq_pi;
	struct ibv_send_wr *bad;
	struct dpa_wqe_ctrl *a, *b;

	ibv_wr_start(s->ex);
	s->ex->wr_id = wr->wr_id;
	s->ex->wr_flags = wr->send_flags & ~(unsigned)IBV_SEND_INLINE;
	put(s);
	cr_assert_eq(ibv_wr_complete(s->ex), 0);
	a = wqe_at(s->hw, at);
	fake_finish_sq(s->hw);
	/* the same place of another QP's ring has another index: copy that too */
	at = s->s.hw->attr.dbrec->sq_pi;
	cr_assert_eq(ibv_post_send(s->s.qp, wr, &bad), 0);
	b = wqe_at(s->s.hw, at);
	fake_finish_sq(s->s.hw);
	a->index = b->index;
	cr_assert_arr_eq(a, b, bytes);
}

static struct ibv_sge sg[2] = {{0x1000, 100, 1}, {0x2000, 200, 2}};
static char text[] = "a line of text";

static void put_write_imm(struct ex_setup *s)
{
	ibv_wr_rdma_write_imm(s->ex, 7, 0x123456, 0xab);
	ibv_wr_set_sge_list(s->ex, 2, sg);
}

static void put_read(struct ex_setup *s)
{
	ibv_wr_rdma_read(s->ex, 7, 0x123456);
	ibv_wr_set_sge(s->ex, 1, 0x1000, 100);
}

static void put_cs(struct ex_setup *s)
{
	ibv_wr_atomic_cmp_swp(s->ex, 7, 0x1000, 3, 4);
	ibv_wr_set_sge(s->ex, 1, 0x1000, 100);
}

static void put_fa(struct ex_setup *s)
{
	ibv_wr_atomic_fetch_add(s->ex, 7, 0x1000, 3);
	ibv_wr_set_sge(s->ex, 1, 0x1000, 100);
}

static void put_inline(struct ex_setup *s)
{
	ibv_wr_send(s->ex);
	ibv_wr_set_inline_data(s->ex, text, sizeof(text));
}

static void put_inv(struct ex_setup *s)
{
	ibv_wr_send_inv(s->ex, 0x77);
}

static void put_local_inv(struct ex_setup *s)
{
	ibv_wr_local_inv(s->ex, 0x78);
}

Test(wr, same_wqes_as_post_send)
{
	struct ex_setup s;
	struct ibv_sge line = {(uintptr_t)text, sizeof(text), 0};
	struct ibv_send_wr wr = {.wr_id = 5, .sg_list = sg, .num_sge = 2};

	setup(&s, IBV_QPT_RC);
	wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED;
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.imm_data = 0xab;
	wr.wr.rdma.remote_addr = 0x123456;
	wr.wr.rdma.rkey = 7;
	same(&s, &wr, put_write_imm, 32 + 16 + 32);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.imm_data = 0;
	wr.num_sge = 1;
	same(&s, &wr, put_read, 32 + 16 + 16);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.remote_addr = 0x1000;
	wr.wr.atomic.compare_add = 3;
	wr.wr.atomic.swap = 4;
	wr.wr.atomic.rkey = 7;
	same(&s, &wr, put_cs, 32 + 32 + 16);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	same(&s, &wr, put_fa, 32 + 32 + 16);
	wr.opcode = IBV_WR_SEND;
	wr.sg_list = &line;
	wr.send_flags = IBV_SEND_INLINE;
	same(&s, &wr, put_inline, 32 + sizeof(text));
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.num_sge = 0;
	wr.send_flags = 0;
	wr.invalidate_rkey = 0x77;
	same(&s, &wr, put_inv, 32);
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = 0x78;
	same(&s, &wr, put_local_inv, 32);
	teardown(&s);
}

Test(wr, a_batch_rings_once)
{
	struct ex_setup s;

	setup(&s, IBV_QPT_RC);
	ibv_wr_start(s.ex);
	for (uint64_t i = 0; i < 3; i++) {
		s.ex->wr_id = i;
		ibv_wr_send_imm(s.ex, (uint32_t)i);
		ibv_wr_set_sge(s.ex, 1, 0x1000, 8);
	}
	cr_assert_eq(s.hw->attr.dbrec->sq_pi, 0, "nothing is visible before complete");
	cr_assert_eq(ibv_wr_complete(s.ex), 0);
	cr_assert_eq(s.hw->rings, 1);
	cr_assert_eq(s.hw->attr.dbrec->sq_pi, 3);
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(((struct dpa_wqe_ctrl *)wqe_at(s.hw, i))->wr_id, i);
	teardown(&s);
}

/*
 * A bind gives its windows their new keys at once; a batch that is aborted restores the old ones.
 */
Test(wr, a_bind_takes_8_bits_of_the_key)
{
	struct ex_setup s;
	struct ibv_mw *mw[2];
	uint32_t first[2];

	setup(&s, IBV_QPT_RC);
	for (int i = 0; i < 2; i++) {
		mw[i] = ibv_alloc_mw(s.s.pd, IBV_MW_TYPE_2);
		cr_assert(mw[i]);
		first[i] = mw[i]->rkey;
	}
	for (int posted = 0; posted < 2; posted++) {
		const struct ibv_mw_bind_info info = {0};

		ibv_wr_start(s.ex);
		ibv_wr_bind_mw(s.ex, mw[0], 0xdeadbe07, &info);
		ibv_wr_bind_mw(s.ex, mw[1], 8, &info);
		ibv_wr_bind_mw(s.ex, mw[0], 9, &info);
		if (posted)
			cr_assert_eq(ibv_wr_complete(s.ex), 0);
		else
			ibv_wr_abort(s.ex);
		cr_expect_eq(mw[0]->rkey, posted ? (first[0] & ~0xffu) | 9 : first[0]);
		cr_expect_eq(mw[1]->rkey, posted ? (first[1] & ~0xffu) | 8 : first[1]);
	}
	cr_expect_eq(((struct dpa_wqe_ctrl *)wqe_at(s.hw, 0))->imm, (first[0] & ~0xffu) | 7);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(ibv_dealloc_mw(mw[i]), 0);
	teardown(&s);
}

Test(wr, abort_and_errors_undo_the_batch)
{
	struct ex_setup s;

	setup(&s, IBV_QPT_RC);
	ibv_wr_start(s.ex);
	ibv_wr_send(s.ex);
	ibv_wr_send(s.ex);
	ibv_wr_abort(s.ex);
	cr_assert_eq(s.hw->attr.dbrec->sq_pi, 0);
	ibv_wr_start(s.ex);
	ibv_wr_send(s.ex);
	for (uint32_t i = 0; i < s.init.cap.max_send_wr; i++)
		ibv_wr_send(s.ex);
	cr_assert_eq(ibv_wr_complete(s.ex), ENOMEM);
	ibv_wr_start(s.ex);
	ibv_wr_send(s.ex);
	ibv_wr_set_sge_list(s.ex, s.init.cap.max_send_sge + 1, sg);
	ibv_wr_send(s.ex);
	cr_assert_eq(ibv_wr_complete(s.ex), EINVAL);
	ibv_wr_start(s.ex);
	ibv_wr_set_sge(s.ex, 1, 1, 1);
	cr_assert_eq(ibv_wr_complete(s.ex), EINVAL, "a setter without a request");
	ibv_wr_start(s.ex);
	ibv_wr_rdma_read(s.ex, 1, 1);
	ibv_wr_set_inline_data(s.ex, text, 4);
	cr_assert_eq(ibv_wr_complete(s.ex), EINVAL, "READ has no data");
	ibv_wr_start(s.ex);
	s.ex->wr_flags = IBV_SEND_IP_CSUM;
	ibv_wr_send(s.ex);
	cr_assert_eq(ibv_wr_complete(s.ex), EINVAL);
	s.ex->wr_flags = 0;
	ibv_wr_start(s.ex);
	cr_assert_eq(ibv_wr_complete(s.ex), 0, "an empty batch");
	cr_assert_eq(s.hw->rings, 0);
	cr_assert_eq(s.hw->attr.dbrec->sq_pi, 0);
	teardown(&s);
}

Test(wr, ud_needs_an_address_in_whatever_order)
{
	struct ex_setup s;
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct ibv_ah *ah;
	struct dpa_wqe_av *av;

	setup(&s, IBV_QPT_UD);
	ah = ibv_create_ah(s.s.pd, &attr);
	ibv_wr_start(s.ex);
	ibv_wr_send(s.ex);
	ibv_wr_set_sge(s.ex, 1, 0x1000, 8);
	ibv_wr_set_ud_addr(s.ex, ah, 5, 6);
	ibv_wr_send(s.ex);
	ibv_wr_set_ud_addr(s.ex, ah, 7, 8);
	ibv_wr_set_sge(s.ex, 1, 0x2000, 8);
	cr_assert_eq(ibv_wr_complete(s.ex), 0);
	av = (void *)((uint8_t *)wqe_at(s.hw, 0) + 32);
	cr_assert_eq(av->dqpn, 5);
	cr_assert_eq(((struct dpa_sge *)(av + 1))->addr, 0x1000);
	av = (void *)((uint8_t *)wqe_at(s.hw, 2) + 32);
	cr_assert_eq(av->qkey, 8);
	cr_assert_eq(((struct dpa_sge *)(av + 1))->addr, 0x2000);
	ibv_wr_start(s.ex);
	ibv_wr_send(s.ex);
	cr_assert_eq(ibv_wr_complete(s.ex), EINVAL, "no address");
	ibv_destroy_ah(ah);
	teardown(&s);
}

Test(wr, requests_wrap_at_the_end_of_the_ring)
{
	struct ex_setup s;
	uint8_t data[64];
	uint32_t index = 0;

	setup(&s, IBV_QPT_RC);
	for (uint32_t i = 0; i < 300; i++) {
		uint8_t *ring = s.hw->attr.sq;
		uint32_t size = 64u << s.hw->attr.log_sq, at = index * 64 % size;
		struct dpa_wqe_ctrl *c = wqe_at(s.hw, index);

		memset(data, (int)i, sizeof(data));
		ibv_wr_start(s.ex);
		ibv_wr_rdma_write(s.ex, 1, 2);
		ibv_wr_set_inline_data(s.ex, data, i % 65);
		cr_assert_eq(ibv_wr_complete(s.ex), 0);
		cr_assert_eq(c->index, index);
		for (uint32_t j = 0; j < i % 65; j++)
			cr_assert_eq(ring[(at + 48 + j) % size], (uint8_t)i);
		index += c->nbb;
		fake_finish_sq(s.hw);
	}
	teardown(&s);
}

Test(wr, what_the_type_does_not_have)
{
	struct ex_setup s;
	struct ibv_qp_init_attr_ex init;

	setup(&s, IBV_QPT_RC);
	init = s.init;
	init.qp_type = IBV_QPT_UD;
	init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	cr_assert_null(ibv_create_qp_ex(s.s.ctx, &init));
	cr_assert_eq(errno, EOPNOTSUPP);
	init = s.init;
	init.send_ops_flags = IBV_QP_EX_WITH_TSO;
	cr_assert_null(ibv_create_qp_ex(s.s.ctx, &init));
	cr_assert_eq(errno, EOPNOTSUPP);
	cr_assert_null(ibv_qp_to_qp_ex(s.s.qp), "a plain QP");
	teardown(&s);
}
