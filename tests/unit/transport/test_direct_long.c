/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_direct_long.c - the direct path: messages in segments, and in several calls. */
#include <criterion/criterion.h>
#include "link/lane.h"
#include "eu/progress.h"
#include "harness.h"
#include "direct/direct.h"

static struct th *direct(void)
{
	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
	return th_new(&(struct th_opt){.psn = 0xfffffeu, .pull = true, .direct = true});
}

static bool sent_packet(struct th_side *s)
{
	return dpa_lane_ready(&s->th->peer->rx[s->qp->lane]);
}

static void expect_done(struct th *th, uint8_t status)
{
	struct dpa_cqe e;

	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, status, "status %u", e.status);
	cr_expect_not(th_poll(&th->a.scq, &e));
}

#define MIB (1u << 20)

static struct th_wr long_one(struct th *th, uint8_t op, uint32_t n)
{
	return (struct th_wr){.op = op,
			      .flags = DPA_WQE_SIGNALED,
			      .nsge = 1,
			      .sge = {{(uintptr_t)th->a.mem + 1, n, th->a.key}},
			      .raddr = (uintptr_t)th->b.mem + 2,
			      .rkey = th->b.key};
}

/* Post two operations, neither complete in one call; return when the second one has begun. */
static struct th *begun(uint8_t op)
{
	struct th *th = direct();
	struct th_wr wr = long_one(th, op, 5 * MIB / 2);

	th_fill(th->a.mem + 1, 5 * MIB / 2, 1);
	th_fill(th->b.mem + 2, 5 * MIB / 2, op == DPA_OP_RDMA_READ ? 2 : 3);
	cr_assert(th_post(&th->a, &wr));
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_expect_not(sent_packet(&th->a));
	expect_done(th, DPA_CQE_OK);
	cr_expect_eq(th->a.qp->part.off, MIB);
	return th;
}

static void drain_sq(struct th *th)
{
	const struct dpa_qp_attr a = {.state = DPA_QPS_SQD, .sqd_async_notify = 1};

	cr_assert_eq(dpa_hw_modify_qp(th->a.qp, &a, DPA_QPM_STATE | DPA_QPM_EN_SQD_ASYNC_NOTIFY),
		     0);
}

static void runs_on(struct th *th)
{
	while (dpa_progress_once(th->hw))
		;
}

Test(transport_direct_long, a_long_one_goes_in_several_calls)
{
	static const uint8_t ops[] = {DPA_OP_RDMA_WRITE, DPA_OP_RDMA_READ};

	for (int i = 0; i < 2; i++) {
		struct th *th = begun(ops[i]);

		runs_on(th);
		cr_expect_not(sent_packet(&th->a));
		expect_done(th, DPA_CQE_OK);
		cr_expect(i ? th_check(th->a.mem + 1, 5 * MIB / 2, 2)
			    : th_check(th->b.mem + 2, 5 * MIB / 2, 1));
		cr_expect_eq(th_count(th, DPA_CNT_direct_bytes), 5ull * MIB);
		cr_expect_eq(th->a.qp->part.off, 0u);
		th_free(th);
	}
}

/* The responder reports a region that is removed in the middle. */
Test(transport_direct_long, the_region_of_a_long_operation_is_deregistered)
{
	struct th *th = begun(DPA_OP_RDMA_WRITE);

	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, th->b.key), 0);
	runs_on(th);
	cr_expect(sent_packet(&th->a));
	th_settle(th);
	expect_done(th, DPA_CQE_REM_ACCESS_ERR);
	th_free(th);
}

/* IBA 10.3.1: an operation that has begun is finished, then the QP is drained. */
Test(transport_direct_long, a_long_one_and_sqd)
{
	struct th *th = begun(DPA_OP_RDMA_WRITE);
	const struct dpa_qp_attr rts = {.state = DPA_QPS_RTS};
	struct th_wr wr = long_one(th, DPA_OP_RDMA_WRITE, 8);

	cr_assert(th_post(&th->a, &wr));
	drain_sq(th);
	runs_on(th);
	cr_expect_not(sent_packet(&th->a));
	expect_done(th, DPA_CQE_OK);
	cr_expect(th_check(th->b.mem + 2, 5 * MIB / 2, 1));
	cr_expect_eq(th->events[DPA_EVENT_SQ_DRAINED], 1u);
	cr_assert_eq(dpa_hw_modify_qp(th->a.qp, &rts, DPA_QPM_STATE), 0);
	th_settle(th);
	expect_done(th, DPA_CQE_OK);
	th_free(th);
}

/* An operation that has begun is not new in SQD, whichever path continues it. */
Test(transport_direct_long, a_long_one_that_goes_by_packet_in_sqd)
{
	struct th *th = begun(DPA_OP_RDMA_WRITE);

	atomic_store(&th->hw->export->qp_grant[th->b.qp->qpn & DPA_QPN_INDEX], 0);
	drain_sq(th);
	dpa_hw_ring_sq(th->a.qp);
	cr_expect(sent_packet(&th->a));
	cr_expect_eq(th->events[DPA_EVENT_SQ_DRAINED], 0u);
	th_settle(th);
	expect_done(th, DPA_CQE_OK);
	cr_expect(th_check(th->b.mem + 2, 5 * MIB / 2, 1));
	cr_expect_eq(th->events[DPA_EVENT_SQ_DRAINED], 1u);
	th_free(th);
}

/* The whole range is checked before the first byte moves. */
Test(transport_direct_long, a_long_one_that_does_not_fit)
{
	struct th *th = direct();
	struct th_wr wr = long_one(th, DPA_OP_RDMA_WRITE, 5 * MIB / 2);

	wr.raddr = (uintptr_t)th->b.mem + TH_MEM - 2 * MIB;
	memset(th->b.mem, 7, TH_MEM);
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_expect(sent_packet(&th->a));
	th_settle(th);
	expect_done(th, DPA_CQE_REM_ACCESS_ERR);
	for (uint32_t i = 0; i < TH_MEM; i++)
		cr_assert_eq(th->b.mem[i], 7);
	th_free(th);
}
