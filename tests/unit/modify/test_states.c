/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_states.c - the driver reads a QP's state, finds the transition legal and requests it; the
 * device moved the QP to the error state in between (IBA 10.3.1). The state that the driver read no
 * longer counts.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include "harness.h"

#define ATTRS                                                                                      \
	(DPA_QPM_ACCESS | DPA_QPM_SQ_PSN | DPA_QPM_RQ_PSN | DPA_QPM_TIMEOUT | DPA_QPM_RETRY_CNT |  \
	 DPA_QPM_RNR_RETRY | DPA_QPM_MIN_RNR_TIMER | DPA_QPM_MAX_RD_ATOMIC)

/* Post a request with a local error: RC goes to the error state, UC to SQE. */
static void fail(struct th_side *s)
{
	struct th_wr wr = {.op = DPA_OP_RDMA_WRITE,
			   .flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)s->mem, 64, s->key ^ 0x5a5a00}},
			   .raddr = (uintptr_t)s->other->mem,
			   .rkey = s->other->key};
	struct dpa_cqe e;

	cr_assert(th_post(s, &wr));
	th_ring(s);
	cr_assert(th_poll(&s->scq, &e));
	cr_assert_eq(e.status, DPA_CQE_LOC_PROT_ERR, "%u", e.status);
}

static uint32_t state_of(struct th_side *s)
{
	struct dpa_qp_attr a;

	cr_assert_eq(dpa_hw_query_qp(s->qp, &a), 0);
	return a.state;
}

/* Request the state, with and without attributes: refused, and nothing is changed. */
static void refused(struct th_side *s, uint32_t from, uint32_t to)
{
	static const uint32_t masks[] = {DPA_QPM_STATE, DPA_QPM_STATE | ATTRS};
	struct dpa_qp_attr a = {.state = to,
				.access = DPA_ACCESS_LOCAL_WRITE,
				.sq_psn = 0x777,
				.rq_psn = 0x777,
				.timeout = 9,
				.retry_cnt = 1,
				.rnr_retry = 1,
				.min_rnr_timer = 9,
				.max_rd_atomic = 1};
	struct dpa_qp_attr was, is;

	for (int i = 0; i < 2; i++) {
		cr_assert_eq(dpa_hw_query_qp(s->qp, &was), 0);
		cr_expect_eq(dpa_hw_modify_qp(s->qp, &a, masks[i]), EINVAL, "%u to %u", from, to);
		cr_assert_eq(dpa_hw_query_qp(s->qp, &is), 0);
		cr_expect_eq(is.state, from, "%u to %u: is %u", from, to, is.state);
		cr_expect_eq(memcmp(&was, &is, sizeof(is)), 0, "%u to %u: attributes", from, to);
	}
}

static void asks(struct th_side *s, uint32_t to)
{
	struct dpa_qp_attr a = {.state = to};

	cr_expect_eq(dpa_hw_modify_qp(s->qp, &a, DPA_QPM_STATE), 0, "to %u", to);
	cr_expect_eq(state_of(s), to);
}

Test(modify_states, error_stays)
{
	static const uint32_t to[] = {DPA_QPS_INIT, DPA_QPS_RTR, DPA_QPS_RTS, DPA_QPS_SQD,
				      DPA_QPS_SQE};
	struct th *th = th_new(&(struct th_opt){0});
	struct dpa_qp_attr a = {.timeout = 9};
	struct dpa_cqe e;

	fail(&th->a);
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++)
		refused(&th->a, DPA_QPS_ERR, to[i]);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 8, 0);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR, "%u", e.status);
	cr_expect_eq(th_drop_all(&th->a), 0u, "nothing is sent");
	/* only attributes: the present state is no transition */
	cr_expect_eq(dpa_hw_modify_qp(th->a.qp, &a, DPA_QPM_TIMEOUT), 0);
	asks(&th->a, DPA_QPS_ERR);
	asks(&th->a, DPA_QPS_RESET);
	asks(&th->a, DPA_QPS_INIT);
	th_free(th);
}

/* An error of the send queue only: RTS is its way out (IBA 10.3.1.6). */
Test(modify_states, send_queue_error_stays)
{
	static const uint32_t to[] = {DPA_QPS_INIT, DPA_QPS_RTR, DPA_QPS_SQD};
	struct th *th = th_new(&(struct th_opt){.type = DPA_QP_UC});
	struct dpa_cqe e;

	fail(&th->a);
	cr_assert_eq(state_of(&th->a), DPA_QPS_SQE);
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++)
		refused(&th->a, DPA_QPS_SQE, to[i]);
	asks(&th->a, DPA_QPS_RTS);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 8, 0);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, 0, "%u", e.status);
	th_free(th);
}
