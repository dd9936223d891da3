/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_direct_fits.c - the direct path refuses the same operations as the packet path: PSNs and
 * path MTUs that do not fit, a peer that was set up again.
 */
#include <criterion/criterion.h>
#include "link/lane.h"
#include "harness.h"
#include "direct/direct.h"

#define AT  (1u << 20) /* offset in the peer's memory */
#define PSN 0xfffffeu

static bool sent_packet(struct th_side *s)
{
	return dpa_lane_ready(&s->th->peer->rx[s->qp->lane]);
}

static const uint8_t one_sided[] = {DPA_OP_RDMA_WRITE, DPA_OP_RDMA_READ};

static uint8_t ends_with(struct th *th)
{
	struct dpa_cqe e;

	for (int i = 0; i < 100; i++) {
		th_settle(th);
		if (th_poll(&th->a.scq, &e))
			return e.status;
		if (!th_tick(th))
			break;
	}
	return UINT8_MAX;
}

static struct th *unlike(uint32_t skew, uint32_t mtu_b)
{
	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
	return th_new(&(struct th_opt){.psn = PSN,
				       .skew = skew,
				       .mtu_b = mtu_b,
				       .timeout = 12,
				       .retry = 2,
				       .pull = true,
				       .direct = true});
}

/* It succeeded, although the peer would not have taken the packet. */
Test(transport_direct_fits, psns_that_do_not_fit)
{
	static const uint32_t lens[] = {8, 4096, 65536};

	for (size_t o = 0; o < 2; o++) {
		for (size_t l = 0; l < 3; l++) {
			/* far behind: none of its packets is the expected one */
			struct th *th = unlike(0xff0000, 0);
			uint8_t got;

			th_fill(th->b.mem, lens[l], 7);
			th_send(&th->a, one_sided[o], AT, lens[l], 0);
			got = ends_with(th);
			cr_expect_eq(got, DPA_CQE_RETRY_EXC_ERR, "op %u, %u bytes: %u",
				     one_sided[o], lens[l], got);
			cr_expect(th_check(th->b.mem, lens[l], 7), "nothing was written");
			cr_expect_eq(th_count(th, DPA_CNT_direct_ops), 0);
			th_free(th);
		}
	}
}

/* IBA 9.7.4 (mtu) */
Test(transport_direct_fits, path_mtus_that_differ)
{
	static const uint32_t lens[] = {8, 1024, 1025, 65536};

	for (size_t o = 0; o < 2; o++) {
		for (size_t l = 0; l < 4; l++) {
			struct th *th = unlike(0, 5);
			uint8_t want = lens[l] <= 1024			  ? DPA_CQE_OK
				       : one_sided[o] == DPA_OP_RDMA_READ ? DPA_CQE_RETRY_EXC_ERR
									  : DPA_CQE_REM_INV_REQ_ERR;
			uint8_t got;

			th_send(&th->a, one_sided[o], AT, lens[l], 0);
			got = ends_with(th);
			cr_expect_eq(got, want, "op %u, %u bytes: %u, not %u", one_sided[o],
				     lens[l], got, want);
			cr_expect_eq(th_count(th, DPA_CNT_direct_ops), want == DPA_CQE_OK);
			th_free(th);
		}
	}
}

static void set_up_again(struct th_side *s, uint32_t rq_psn, uint32_t sq_psn)
{
	struct dpa_qp_attr a = s->qp->attr;
	uint32_t mask = DPA_QPM_STATE | DPA_QPM_ACCESS | DPA_QPM_RQ_PSN | DPA_QPM_SQ_PSN |
			DPA_QPM_DEST_QPN | DPA_QPM_AV | DPA_QPM_PORT | DPA_QPM_PATH_MTU |
			DPA_QPM_TIMEOUT | DPA_QPM_RETRY_CNT | DPA_QPM_RNR_RETRY |
			DPA_QPM_MIN_RNR_TIMER | DPA_QPM_MAX_RD_ATOMIC | DPA_QPM_MAX_DEST_RD_ATOMIC;

	a.rq_psn = rq_psn;
	a.sq_psn = sq_psn;
	a.state = DPA_QPS_RESET;
	cr_assert_eq(dpa_hw_modify_qp(s->qp, &a, DPA_QPM_STATE), 0);
	s->pi = s->rpi = s->dbrec.sq_pi = s->dbrec.rq_pi = 0;
	for (a.state = DPA_QPS_INIT; a.state <= DPA_QPS_RTS; a.state++, mask = DPA_QPM_STATE)
		cr_assert_eq(dpa_hw_modify_qp(s->qp, &a, mask), 0);
}

/* Some packets, then direct operations, then one side is set up again, and one more operation. */
static uint8_t after(bool b_again, uint32_t packets, uint32_t directs, uint32_t psn, uint8_t op)
{
	struct th *th = unlike(0, 0);
	uint64_t before;
	uint8_t got;

	for (uint32_t i = 0; i < packets; i++) {
		cr_assert(th_recv(&th->b, i, 0, 100));
		th_send(&th->a, DPA_OP_SEND, 0, 10, 0);
		cr_assert_eq(ends_with(th), DPA_CQE_OK);
	}
	before = th_count(th, DPA_CNT_direct_ops);
	for (uint32_t i = 0; i < directs; i++) {
		th_send(&th->a, op, AT, 8, 0);
		cr_assert_eq(ends_with(th), DPA_CQE_OK);
	}
	cr_expect_eq(th_count(th, DPA_CNT_direct_ops), before + directs, "%u packets", packets);
	if (b_again)
		set_up_again(&th->b, psn, 0);
	else
		set_up_again(&th->a, 0, psn);
	th_send(&th->a, op, AT, 8, 0);
	got = ends_with(th);
	th_free(th);
	return got;
}

/*
 * It succeeds if a packet with the next PSN would. A WRITE with the PSN before that counts as a
 * duplicate, and is acknowledged.
 */
static void again(uint8_t op, uint32_t packets, uint32_t directs, uint32_t d)
{
	uint8_t got = after(true, packets, directs, dpa_psn_add(PSN, d), op), want;

	want = d == packets || (op == DPA_OP_RDMA_WRITE && d == packets + 1)
		       ? DPA_CQE_OK
		       : DPA_CQE_RETRY_EXC_ERR;
	cr_expect_eq(got, want, "B, %u packets, %u direct, +%u: %u", packets, directs, d, got);
	got = after(false, packets, directs, dpa_psn_add(PSN, d), op);
	want = d == packets || (op == DPA_OP_RDMA_WRITE && d + 1 == packets)
		       ? DPA_CQE_OK
		       : DPA_CQE_RETRY_EXC_ERR;
	cr_expect_eq(got, want, "A, %u packets, %u direct, +%u: %u", packets, directs, d, got);
}

Test(transport_direct_fits, one_side_is_set_up_again)
{
	for (size_t o = 0; o < 2; o++) {
		for (uint32_t packets = 0; packets < 3; packets++) {
			for (uint32_t directs = 0; directs < 3; directs++) {
				for (uint32_t d = 0; d < 3; d++)
					again(one_sided[o], packets, directs, d);
			}
		}
	}
}

/*
 * A connection whose first packet was not seen counts as known after a packet was acknowledged in
 * it.
 */
Test(transport_direct_fits, in_step_again_behind_a_packet)
{
	struct th *th = unlike(0, 0);

	th_recv(&th->b, 1, 0, 100);
	th_send(&th->a, DPA_OP_SEND, 0, 10, 0);
	cr_assert_eq(ends_with(th), DPA_CQE_OK);
	set_up_again(&th->a, PSN, dpa_psn_add(PSN, 1)); /* as B expects it */
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 8, AT);
	cr_expect(sent_packet(&th->a), "it may be duplicate");
	cr_assert_eq(ends_with(th), DPA_CQE_OK);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 8, AT);
	cr_expect_not(sent_packet(&th->a));
	cr_assert_eq(ends_with(th), DPA_CQE_OK);
	cr_expect_eq(th_count(th, DPA_CNT_direct_ops), 1u);
	th_free(th);
}
