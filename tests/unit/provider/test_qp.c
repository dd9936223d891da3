/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_qp.c - create, modify, query, destroy. */
#include <criterion/criterion.h>
#include "dpa.h"
#include "dpadv.h"
#include "fake_hw.h"

static const struct ibv_qp_cap cap = {
	.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1};

static int create_errno(struct fake_setup *s, const struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr a = *attr;
	struct ibv_qp *qp = ibv_create_qp(s->pd, &a);

	if (!qp)
		return errno;
	ibv_destroy_qp(qp);
	return 0;
}

Test(qp, bad_attributes)
{
	struct fake_setup s;
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC, .cap = cap}, b;
	struct fake_counts before;

	fake_setup(&s, IBV_QPT_RC, &cap);
	before = fake;
	a.send_cq = s.scq;
	a.recv_cq = s.rcq;
	cr_expect_eq(create_errno(&s, &a), 0);
	b = a;
	b.send_cq = NULL;
	cr_expect_eq(create_errno(&s, &b), EINVAL);
	b = a;
	b.recv_cq = NULL;
	cr_expect_eq(create_errno(&s, &b), EINVAL);
	b = a;
	b.qp_type = IBV_QPT_DRIVER;
	cr_expect_eq(create_errno(&s, &b), EOPNOTSUPP);
	b = a;
	b.cap.max_send_wr = DPA_MAX_WR + 1;
	cr_expect_eq(create_errno(&s, &b), EINVAL);
	fake_fail_create_qp = ENOMEM;
	cr_expect_eq(create_errno(&s, &a), ENOMEM);
	fake_fail_alloc_queue = ENOMEM;
	b = a;
	b.cap.max_send_wr = DPA_MAX_WR;
	cr_expect_eq(create_errno(&s, &b), ENOMEM);
	cr_expect_eq(fake.qps, before.qps);
	fake_teardown(&s);
}

Test(qp, create_ex)
{
	struct fake_setup s;
	struct ibv_qp_init_attr_ex a = {
		.qp_type = IBV_QPT_RC, .cap = cap, .comp_mask = IBV_QP_INIT_ATTR_PD};
	struct ibv_qp *qp;

	fake_setup(&s, IBV_QPT_RC, &cap);
	a.send_cq = a.recv_cq = s.scq;
	a.pd = s.pd;
	qp = ibv_create_qp_ex(s.ctx, &a);
	cr_assert(qp);
	cr_assert_eq(qp->pd, s.pd);
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	a.comp_mask = 0;
	cr_expect_null(ibv_create_qp_ex(s.ctx, &a));
	cr_expect_eq(errno, EINVAL);
	a.comp_mask = IBV_QP_INIT_ATTR_PD | 1u << 20;
	cr_expect_null(ibv_create_qp_ex(s.ctx, &a));
	cr_expect_eq(errno, EINVAL);
	a.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	a.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	cr_expect_null(ibv_create_qp_ex(s.ctx, &a));
	cr_expect_eq(errno, EINVAL);
	a.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB; /* of UD only */
	cr_expect_null(ibv_create_qp_ex(s.ctx, &a));
	cr_expect_eq(errno, EINVAL);
	a.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	cr_expect_null(ibv_create_qp_ex(s.ctx, &a));
	cr_expect_eq(errno, EOPNOTSUPP);
	fake_teardown(&s);
}

/* Each value just past its range, in an otherwise valid call. */
Test(qp, values_out_of_range)
{
	struct fake_setup s;
	const int rts = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	const int init = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
	const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET}, b;

	fake_setup(&s, IBV_QPT_RC, &cap);
	cr_assert_eq(ibv_modify_qp(s.qp, &a, IBV_QP_STATE), 0);
#define BAD(mask, field, value)                                                                    \
	do {                                                                                       \
		b = a;                                                                             \
		b.field = value;                                                                   \
		cr_expect_eq(ibv_modify_qp(s.qp, &b, mask), EINVAL, #field);                       \
	} while (0)
	a.qp_state = IBV_QPS_INIT;
	a.port_num = 1;
	BAD(init, port_num, 0);
	BAD(init, port_num, 2);
	BAD(init, pkey_index, 1);
	BAD(init, qp_access_flags, 1 << 17);
	cr_assert_eq(ibv_modify_qp(s.qp, &a, init), 0);
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_4096;
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 1;
	BAD(rtr, path_mtu, 0);
	BAD(rtr, path_mtu, 6);
	BAD(rtr, dest_qp_num, 1 << 24);
	BAD(rtr, max_dest_rd_atomic, DPA_MAX_RD_ATOMIC + 1);
	BAD(rtr, min_rnr_timer, 32);
	BAD(rtr, ah_attr.is_global, 0);
	BAD(rtr, ah_attr.port_num, 3);
	BAD(rtr, ah_attr.grh.sgid_index, 1);
	cr_assert_eq(ibv_modify_qp(s.qp, &a, rtr), 0);
	a.qp_state = IBV_QPS_RTS;
	BAD(rts, timeout, 32);
	BAD(rts, retry_cnt, 8);
	BAD(rts, rnr_retry, 8);
	BAD(rts, max_rd_atomic, DPA_MAX_INIT_RD_ATOMIC + 1);
	a.max_rd_atomic = DPA_MAX_INIT_RD_ATOMIC;
	BAD(rts | IBV_QP_CUR_STATE, cur_qp_state, IBV_QPS_INIT);
	a.cur_qp_state = IBV_QPS_RTR;
	cr_assert_eq(ibv_modify_qp(s.qp, &a, rts | IBV_QP_CUR_STATE), 0);
	cr_assert_eq(s.qp->state, IBV_QPS_RTS);
	fake_teardown(&s);
}

/* The device's state counts: it changes on its own when work fails. */
Test(qp, the_device_has_the_state)
{
	struct fake_setup s;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS};
	struct ibv_qp_init_attr init;

	fake_setup(&s, IBV_QPT_UC, &cap);
	s.hw->state.state = DPA_QPS_SQE;
	cr_assert_eq(ibv_query_qp(s.qp, &a, IBV_QP_STATE, &init), 0);
	cr_assert_eq(a.qp_state, IBV_QPS_SQE);
	cr_assert_eq(s.qp->state, IBV_QPS_SQE);
	a.qp_state = IBV_QPS_RTS;
	cr_assert_eq(ibv_modify_qp(s.qp, &a, IBV_QP_STATE), 0);
	s.hw->state.state = DPA_QPS_ERR;
	cr_assert_eq(ibv_modify_qp(s.qp, &a, IBV_QP_STATE), EINVAL);
	fake_teardown(&s);
}

Test(qp, query_returns_what_was_set)
{
	struct fake_setup s;
	struct ibv_qp_attr a;
	struct ibv_qp_init_attr init;

	fake_setup(&s, IBV_QPT_RC, &cap);
	s.hw->state = (struct dpa_qp_attr){.state = DPA_QPS_RTS,
					   .access = IBV_ACCESS_REMOTE_READ,
					   .rq_psn = 5,
					   .sq_psn = 6,
					   .dest_qpn = 7,
					   .av = {.dgid = {1, 2, 3}, .is_global = 1, .sl = 2},
					   .port = 1,
					   .path_mtu = 4,
					   .timeout = 8,
					   .retry_cnt = 3,
					   .rnr_retry = 4,
					   .min_rnr_timer = 9,
					   .max_rd_atomic = 10,
					   .max_dest_rd_atomic = 11,
					   .sq_draining = 1};
	cr_assert_eq(ibv_query_qp(s.qp, &a, 0, &init), 0);
	cr_assert_eq(a.qp_access_flags, IBV_ACCESS_REMOTE_READ);
	cr_assert_eq(a.rq_psn, 5);
	cr_assert_eq(a.sq_psn, 6);
	cr_assert_eq(a.dest_qp_num, 7);
	cr_assert_eq(a.ah_attr.grh.dgid.raw[2], 3);
	cr_assert_eq(a.ah_attr.sl, 2);
	cr_assert_eq(a.path_mtu, IBV_MTU_2048);
	cr_assert_eq(a.timeout, 8);
	cr_assert_eq(a.retry_cnt, 3);
	cr_assert_eq(a.rnr_retry, 4);
	cr_assert_eq(a.min_rnr_timer, 9);
	cr_assert_eq(a.max_rd_atomic, 10);
	cr_assert_eq(a.max_dest_rd_atomic, 11);
	cr_assert_eq(a.sq_draining, 1);
	cr_assert_eq(a.cap.max_send_wr, s.cap.max_send_wr);
	cr_assert_eq(init.send_cq, s.scq);
	cr_assert_eq(init.qp_type, IBV_QPT_RC);
	fake_teardown(&s);
}

/* IBA 10.2.4.4: nothing of a destroyed QP may be polled. */
Test(qp, destroy_and_reset_purge_the_cqs)
{
	struct fake_setup s;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = cap};
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct dpa_cqe e = {.wr_id = 1}, other = {.wr_id = 2};
	struct ibv_qp *qp;
	struct ibv_wc wc;

	fake_setup(&s, IBV_QPT_RC, &cap);
	init.send_cq = s.scq;
	init.recv_cq = s.rcq;
	qp = ibv_create_qp(s.pd, &init);
	fake_to_rts(qp);
	e.qpn = qp->qp_num;
	other.qpn = s.qp->qp_num;
	for (int round = 0; round < 2; round++) {
		fake_cqe(fake_cq(s.scq), &e);
		fake_cqe(fake_cq(s.scq), &other);
		fake_cqe(fake_cq(s.rcq), &e);
		if (!round)
			cr_assert_eq(ibv_modify_qp(qp, &reset, IBV_QP_STATE), 0);
		else
			cr_assert_eq(ibv_destroy_qp(qp), 0);
		cr_assert_eq(ibv_poll_cq(s.scq, 1, &wc), 1);
		cr_assert_eq(wc.wr_id, 2);
		cr_assert_eq(ibv_poll_cq(s.scq, 1, &wc), 0);
		cr_assert_eq(ibv_poll_cq(s.rcq, 1, &wc), 0);
	}
	fake_teardown(&s);
}

Test(qp, a_cq_in_use_stays)
{
	struct fake_setup s;

	fake_setup(&s, IBV_QPT_RC, &cap);
	cr_assert_eq(ibv_destroy_cq(s.scq), EBUSY);
	fake_teardown(&s);
}

/* --------------------------------------------------------- direct verbs */

static int comp_calls;

static void comp(void *arg)
{
	comp_calls += *(int *)arg;
}

Test(dpadv, objects)
{
	static const uint64_t word;
	struct fake_setup s;
	struct dpadv_qp q = {0};
	struct dpadv_pd pd = {0};
	struct dpadv_obj obj = {0};

	fake_setup(&s, IBV_QPT_RC, &cap);
	cr_assert(dpadv_is_supported(s.ctx->device));
	obj.qp.in = s.qp;
	obj.qp.out = &q;
	obj.pd.in = s.pd;
	obj.pd.out = &pd;
	cr_assert_eq(dpadv_init_obj(&obj, DPADV_OBJ_QP | DPADV_OBJ_PD), 0);
	cr_assert_eq(q.sq, s.hw->attr.sq);
	cr_assert_eq(q.rq, s.hw->attr.rq);
	cr_assert_eq(q.log_sq, s.hw->attr.log_sq);
	cr_assert_eq(q.slot, &s.hw->slot);
	cr_assert_eq(pd.pdn, s.hw->attr.pdn);
	cr_assert_eq(dpadv_init_obj(&obj, 0), EINVAL);
	cr_assert_eq(dpadv_init_obj(&obj, 1 << 9), EINVAL);
	cr_assert_eq(dpadv_init_obj(&obj, DPADV_OBJ_MR), EINVAL, "no object");
	q.comp_mask = 1;
	cr_assert_eq(dpadv_init_obj(&obj, DPADV_OBJ_QP), EINVAL);
	cr_assert_eq(dpadv_set_placement(s.qp, DPA_PLACE_EU, -1), 0);
	cr_assert_eq(s.hw->placement, DPA_PLACE_EU);
	cr_assert_eq(dpadv_watch_sq(s.qp, &word), 0);
	cr_assert_eq(s.hw->watched, &word);
	cr_assert_eq(dpadv_num_eus(s.ctx), 256);
	fake_teardown(&s);
}

static int no_copy(void *arg, const struct dpa_foreign_copy *list, uint32_t n)
{
	return EIO;
}

Test(dpadv, foreign_memory)
{
	static const struct dpa_foreign_ops ops = {.copy = no_copy};
	struct dpadv_foreign_mr a = {.addr = 0x7000000,
				     .length = 100,
				     .iova = 0x1000,
				     .access = IBV_ACCESS_LOCAL_WRITE,
				     .ops = &ops,
				     .arg = &a};
	struct fake_setup s;
	struct ibv_mr *mr;

	fake_setup(&s, IBV_QPT_RC, &cap);
	mr = dpadv_reg_foreign_mr(s.pd, &a);
	cr_assert_not_null(mr);
	cr_expect_eq(fake_last_mr.type, (uint32_t)DPA_MR_FOREIGN);
	cr_expect_eq(fake_last_mr.addr, 0x7000000u);
	cr_expect_eq(fake_last_mr.iova, 0x1000u);
	cr_expect_eq(fake_last_mr.foreign, &ops);
	cr_expect_eq(fake_last_mr.foreign_arg, &a);
	cr_expect_eq(mr->addr, (void *)0x7000000);
	cr_expect_eq(mr->length, 100u);
	cr_expect_eq(ibv_dereg_mr(mr), 0);
	a.rsvd = 1;
	cr_expect_null(dpadv_reg_foreign_mr(s.pd, &a));
	cr_expect_eq(errno, EINVAL);
	fake_teardown(&s);
}

Test(dpadv, a_qp_with_an_index)
{
	struct dpadv_qp_init_attr dv = {.user_index = 0xabcdef01u};
	struct ibv_qp_init_attr a = {.cap = cap, .qp_type = IBV_QPT_RC};
	struct dpadv_qp q = {0};
	struct dpadv_obj obj = {.qp = {.out = &q}};
	struct fake_setup s;
	struct ibv_qp *qp;

	fake_setup(&s, IBV_QPT_RC, &cap);
	cr_assert_eq(s.hw->attr.user_index, 0u);
	a.send_cq = a.recv_cq = s.qp->send_cq;
	qp = dpadv_create_qp(s.pd, &a, &dv);
	cr_assert(qp);
	obj.qp.in = qp;
	cr_assert_eq(dpadv_init_obj(&obj, DPADV_OBJ_QP), 0);
	cr_assert_eq(q.hw->attr.user_index, 0xabcdef01u);
	cr_assert(dpadv_may_read(q.hw, 0x11, 0x1000, 8));
	cr_assert(!dpadv_may_read(q.hw, 0x11, 0x1000, 9));
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	dv.rsvd = 1;
	cr_assert_null(dpadv_create_qp(s.pd, &a, &dv));
	cr_assert_eq(errno, EINVAL);
	dv.rsvd = 0;
	dv.comp_mask = 1;
	cr_assert_null(dpadv_create_qp(s.pd, &a, &dv));
	cr_assert_eq(errno, EINVAL);
	fake_teardown(&s);
}

Test(dpadv, a_cq_with_a_callback)
{
	struct fake_setup s;
	int step = 3;
	struct dpadv_cq_init_attr a = {.cqe = 4,
				       .flags = DPA_CQ_IGNORE_OVERRUN,
				       .comp = comp,
				       .comp_arg = &step,
				       .cq_context = &s};
	struct dpa_cqe e = {.wr_id = 1};
	struct ibv_cq *cq;

	fake_setup(&s, IBV_QPT_RC, &cap);
	cq = dpadv_create_cq(s.ctx, &a);
	cr_assert(cq);
	cr_assert_eq(cq->cq_context, &s);
	cr_assert_eq(fake_cq(cq)->attr.flags, DPA_CQ_IGNORE_OVERRUN);
	ibv_req_notify_cq(cq, 0);
	fake_cqe(fake_cq(cq), &e);
	fake_cqe(fake_cq(cq), &e);
	cr_assert_eq(comp_calls, 3);
	/* laps ahead: a purge cannot distinguish the entries, and ends */
	for (int i = 0; i < 100; i++)
		fake_cqe(fake_cq(cq), &e);
	dpa_cq_purge(to_dpa_cq(cq), 0);
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	a.comp_mask = 1;
	cr_assert_null(dpadv_create_cq(s.ctx, &a));
	cr_assert_eq(errno, EINVAL);
	fake_teardown(&s);
}
