/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_recv.c - posting receives, to a QP's own queue and to an SRQ. */
#include <criterion/criterion.h>
#include "dpa.h"
#include "fake_hw.h"

static const struct ibv_qp_cap cap = {.max_send_wr = 1, .max_recv_wr = 5, .max_recv_sge = 3};

Test(recv, wqes_lie_in_the_ring)
{
	struct fake_setup s;
	struct ibv_sge sg[3] = {{0x1000, 1, 11}, {0x2000, 2, 12}, {0x3000, 3, 13}};
	struct ibv_recv_wr wr = {.sg_list = sg, .num_sge = 3}, *bad;
	uint32_t stride, size;

	fake_setup(&s, IBV_QPT_RC, &cap);
	stride = dpa_rwqe_stride(s.hw->attr.max_recv_sge);
	size = 1u << s.hw->attr.log_rq;
	cr_assert_eq(s.cap.max_recv_wr, size);
	for (uint32_t i = 0; i < 100; i++) {
		uint8_t *at = (uint8_t *)s.hw->attr.rq + (size_t)(i % size) * stride;
		struct dpa_sge *d = (void *)(at + sizeof(struct dpa_rwqe));

		wr.wr_id = i;
		cr_assert_eq(ibv_post_recv(s.qp, &wr, &bad), 0);
		cr_assert_eq(((struct dpa_rwqe *)at)->wr_id, i);
		cr_assert_eq(((struct dpa_rwqe *)at)->nsge, 3);
		cr_assert_eq(d[2].addr, 0x3000);
		cr_assert_eq(d[1].lkey, 12);
		cr_assert_eq(s.hw->attr.dbrec->rq_pi, i + 1);
		fake_take_rq(s.hw->attr.dbrec, 1);
	}
	cr_assert_eq(s.hw->rq_rings, 100);
	fake_teardown(&s);
}

Test(recv, limits_and_lists)
{
	struct fake_setup s;
	struct ibv_sge sg[33] = {{0x1000, 1, 11}};
	struct ibv_recv_wr wr[20] = {{.sg_list = sg}}, *bad = NULL;

	fake_setup(&s, IBV_QPT_RC, &cap);
	for (int i = 0; i < 19; i++)
		wr[i].next = &wr[i + 1];
	cr_assert_eq(ibv_post_recv(s.qp, wr, &bad), ENOMEM);
	cr_assert_eq(bad, &wr[s.cap.max_recv_wr]);
	cr_assert_eq(s.hw->attr.dbrec->rq_pi, s.cap.max_recv_wr);
	fake_take_rq(s.hw->attr.dbrec, 2);
	wr[2].num_sge = (int)s.cap.max_recv_sge + 1;
	wr[1].next = &wr[2];
	cr_assert_eq(ibv_post_recv(s.qp, &wr[1], &bad), EINVAL);
	cr_assert_eq(bad, &wr[2]);
	wr[0].num_sge = -1;
	cr_assert_eq(ibv_post_recv(s.qp, wr, &bad), EINVAL);
	fake_teardown(&s);
}

Test(recv, not_in_reset)
{
	struct fake_setup s;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
	struct ibv_recv_wr wr = {0}, *bad;

	fake_setup(&s, IBV_QPT_RC, &cap);
	cr_assert_eq(ibv_post_recv(s.qp, &wr, &bad), 0);
	cr_assert_eq(ibv_modify_qp(s.qp, &a, IBV_QP_STATE), 0);
	cr_assert_eq(s.hw->attr.dbrec->rq_pi, 0);
	cr_assert_eq(ibv_post_recv(s.qp, &wr, &bad), EINVAL);
	a.qp_state = IBV_QPS_INIT;
	a.port_num = 1;
	cr_assert_eq(
		ibv_modify_qp(s.qp, &a,
			      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS),
		0);
	cr_assert_eq(ibv_post_recv(s.qp, &wr, &bad), 0);
	cr_assert_eq(s.hw->attr.dbrec->rq_pi, 1);
	fake_teardown(&s);
}

/* --------------------------------------------------------------------- SRQ */

struct srq_setup {
	struct fake_setup s;
	struct ibv_srq *srq;
	struct dpa_hw_srq *hw;
	struct ibv_srq_init_attr init;
};

static void srq_setup(struct srq_setup *s, uint32_t max_wr)
{
	fake_setup(&s->s, IBV_QPT_RC, &cap);
	s->init = (struct ibv_srq_init_attr){.attr = {.max_wr = max_wr, .max_sge = 1}};
	s->srq = ibv_create_srq(s->s.pd, &s->init);
	cr_assert(s->srq);
	s->hw = fake_srq(s->srq);
}

static void srq_teardown(struct srq_setup *s)
{
	cr_assert_eq(ibv_destroy_srq(s->srq), 0);
	fake_teardown(&s->s);
}

static uint64_t srq_wr_id(struct srq_setup *s, uint32_t index)
{
	uint32_t at = index & ((1u << s->hw->attr.log_size) - 1);

	return ((struct dpa_rwqe *)((uint8_t *)s->hw->attr.buf +
				    (size_t)at * dpa_rwqe_stride(s->hw->attr.max_sge)))
		->wr_id;
}

static int srq_post(struct srq_setup *s, uint64_t wr_id)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id}, *bad;

	return ibv_post_srq_recv(s->srq, &wr, &bad);
}

Test(srq, post_and_limit)
{
	struct srq_setup s;
	struct ibv_srq_attr a = {.srq_limit = 3};

	srq_setup(&s, 5);
	cr_assert_eq(s.init.attr.max_wr, 8);
	for (uint32_t i = 0; i < 8; i++)
		cr_assert_eq(srq_post(&s, i), 0);
	cr_assert_eq(srq_post(&s, 8), ENOMEM);
	fake_take_rq(s.hw->attr.dbrec, 1);
	cr_assert_eq(srq_post(&s, 8), 0);
	cr_assert_eq(srq_wr_id(&s, 8), 8);
	cr_assert_eq(ibv_modify_srq(s.srq, &a, IBV_SRQ_LIMIT), 0);
	cr_assert_eq(s.hw->limit, 3);
	memset(&a, 0, sizeof(a));
	cr_assert_eq(ibv_query_srq(s.srq, &a), 0);
	cr_assert_eq(a.srq_limit, 3);
	cr_assert_eq(a.max_wr, 8);
	a.srq_limit = 9;
	cr_assert_eq(ibv_modify_srq(s.srq, &a, IBV_SRQ_LIMIT), EINVAL);
	cr_assert_eq(ibv_modify_srq(s.srq, &a, 1 << 6), EINVAL);
	srq_teardown(&s);
}

Test(srq, resize_keeps_the_posted)
{
	struct srq_setup s;
	struct ibv_srq_attr a = {.max_wr = 30};

	srq_setup(&s, 4);
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(srq_post(&s, i), 0);
	fake_take_rq(s.hw->attr.dbrec, 3);
	for (uint32_t i = 4; i < 7; i++)
		cr_assert_eq(srq_post(&s, i), 0);
	cr_assert_eq(ibv_modify_srq(s.srq, &a, IBV_SRQ_MAX_WR), 0);
	cr_assert_eq(ibv_query_srq(s.srq, &a), 0);
	cr_assert_eq(a.max_wr, 32);
	for (uint32_t i = 7; i < 35; i++)
		cr_assert_eq(srq_post(&s, i), 0);
	for (uint32_t i = 3; i < 35; i++)
		cr_assert_eq(srq_wr_id(&s, i), i);
	a.max_wr = 16;
	cr_assert_eq(ibv_modify_srq(s.srq, &a, IBV_SRQ_MAX_WR), EINVAL, "32 are posted");
	fake_take_rq(s.hw->attr.dbrec, 20);
	cr_assert_eq(ibv_modify_srq(s.srq, &a, IBV_SRQ_MAX_WR), 0);
	for (uint32_t i = 23; i < 35; i++)
		cr_assert_eq(srq_wr_id(&s, i), i);
	a.max_wr = DPA_MAX_WR + 1;
	cr_assert_eq(ibv_modify_srq(s.srq, &a, IBV_SRQ_MAX_WR), EINVAL);
	srq_teardown(&s);
}

Test(srq, a_qp_with_an_srq_takes_no_receives)
{
	struct srq_setup s;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = cap};
	struct ibv_recv_wr wr = {0}, *bad;
	struct ibv_qp *qp;

	srq_setup(&s, 4);
	init.send_cq = init.recv_cq = s.s.scq;
	init.srq = s.srq;
	qp = ibv_create_qp(s.s.pd, &init);
	cr_assert(qp);
	cr_assert_eq(init.cap.max_recv_wr, 0);
	cr_assert_null(fake_qp(qp)->attr.rq);
	cr_assert_eq(fake_qp(qp)->attr.srq, s.hw);
	fake_to_rts(qp);
	cr_assert_eq(ibv_post_recv(qp, &wr, &bad), EINVAL);
	ibv_destroy_qp(qp);
	srq_teardown(&s);
}

Test(srq, limits_and_kinds)
{
	struct srq_setup s;
	struct ibv_srq_init_attr bad = {.attr = {.max_wr = DPA_MAX_WR + 1, .max_sge = 1}};
	struct ibv_srq_init_attr_ex ex = {.attr = {.max_wr = 1},
					  .comp_mask =
						  IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
					  .srq_type = IBV_SRQT_XRC};

	srq_setup(&s, 4);
	cr_assert_null(ibv_create_srq(s.s.pd, &bad));
	cr_assert_eq(errno, EINVAL);
	bad.attr.max_wr = 0;
	cr_assert_null(ibv_create_srq(s.s.pd, &bad));
	bad.attr.max_wr = 1;
	bad.attr.max_sge = DPA_MAX_SGE + 1;
	cr_assert_null(ibv_create_srq(s.s.pd, &bad));
	ex.pd = s.s.pd;
	cr_assert_null(ibv_create_srq_ex(s.s.ctx, &ex));
	cr_assert_eq(errno, EINVAL, "XRC without a domain and a CQ");
	ex.srq_type = IBV_SRQT_TM;
	cr_assert_null(ibv_create_srq_ex(s.s.ctx, &ex));
	cr_assert_eq(errno, EINVAL, "tag matching without a CQ and tags");
	ex.srq_type = (enum ibv_srq_type)7;
	cr_assert_null(ibv_create_srq_ex(s.s.ctx, &ex));
	cr_assert_eq(errno, EOPNOTSUPP);
	ex.comp_mask = 1 << 20;
	cr_assert_null(ibv_create_srq_ex(s.s.ctx, &ex));
	cr_assert_eq(errno, EINVAL);
	srq_teardown(&s);
}
