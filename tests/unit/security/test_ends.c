/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_ends.c - remains of a destroyed QP: memory, list entries, answers. */
#include <criterion/criterion.h>
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/lane.h"
#include "harness.h"
#include "link/udp/wire.h"
#include "transport/api.h"

/* A request of A, n packets before its turn at B; from the wire. */
static void ahead(struct th *th, uint32_t n)
{
	struct th_pkt p;

	th_forge(&th->a, &p, DPA_BTH_SEND_ONLY, n, 64);
	p.s.flags |= dpa_pkt_mtu_flags(th->b.qp->mtu) | DPA_PKT_ACKREQ;
	th_give(&th->b, &p);
}

/* B's QP ends; another one gets its structure. */
static void replace(struct th *th)
{
	struct dpa_qp_attr_create a = {.type = DPA_QP_RC,
				       .pdn = th->pdn,
				       .log_sq = TH_LOG_SQ,
				       .dbrec = &th->b.dbrec,
				       .send_cq = th->b.scq.cq,
				       .recv_cq = th->b.rcq.cq,
				       .sq = th->b.sq};
	struct dpa_hw_qp *was = th->b.qp;
	uint32_t lane = was->lane;
	struct dpa_qp_info info;

	cr_assert_eq(dpa_hw_destroy_qp(was), 0);
	cr_assert_eq(dpa_hw_create_qp(&th->ctx, &a, &th->b.qp, &info), 0);
	cr_assert_eq(th->b.qp, was);
	was->lane = lane; /* packets of the old one are there */
}

static uint32_t taken(const struct dpa_hw *hw)
{
	return atomic_load(&hw->kept.bytes);
}

/* They were dropped, not freed: after 16 MiB nothing was queued any more. */
Test(security_ends, queued_packets_go_with_their_qp)
{
	struct th *th = th_new(&(struct th_opt){0});

	ahead(th, 3);
	ahead(th, 5);
	cr_assert_eq(th->b.qp->ooo.n, 2);
	cr_assert_gt(taken(th->hw), 0);
	replace(th);
	cr_expect_eq(taken(th->hw), 0);
	th_free(th);
}

/* An ACK that waits for an idle moment, of a QP whose structure belongs to another QP by then. */
Test(security_ends, an_ack_that_waits_is_sent_before_its_qp_ends)
{
	struct th *th = th_new(&(struct th_opt){0});
	struct dpa_qp_attr a = {.state = DPA_QPS_RESET};
	struct th_pkt p;

	for (int reset = 0; reset < 2; reset++) {
		struct th_side *s = reset ? &th->a : &th->b;

		th_drop_all(s);
		dpa_qp_set_flags(s->qp, dpa_pkt_mtu_flags(s->qp->mtu));
		dpa_qplock_lock(&s->qp->lock);
		s->qp->resp.ack_owed = true;
		s->qp->resp.ack_psn = 9;
		dpa_pkt_done(s->qp, false);
		cr_assert_eq(atomic_load(&th->hw->acks.owed), 1);
		cr_assert_not(th_take(s, &p), "it waits");
		if (reset)
			cr_assert_eq(dpa_hw_modify_qp(s->qp, &a, DPA_QPM_STATE), 0);
		else
			replace(th);
		cr_assert(th_take(s, &p), "its sender would send again to nobody");
		cr_expect_eq(p.s.opcode, DPA_BTH_ACK);
		cr_expect_eq(p.s.psn, 9);
		if (!reset)
			cr_expect_null(th->hw->acks.list);
	}
	th_free(th);
}

/* A separate ring may be waiting for more packets, with that ACK in it, when the process ends. */
Test(security_ends, no_ring_waits_when_a_qp_ends)
{
	struct th *th = th_new(&(struct th_opt){0});

	atomic_store(&th->hw->cork.any, 1);
	replace(th);
	cr_expect_eq(atomic_load(&th->hw->cork.any), 0);
	th_free(th);
}

/*
 * An attacker that guesses PSNs hits one in 2^24; if each packet out of order were queued, one in
 * two would be executed in order.
 */
Test(security_ends, packets_far_ahead_are_not_queued)
{
	struct th *th = th_new(&(struct th_opt){0});

	ahead(th, 1025);
	ahead(th, 5000);
	ahead(th, 0x7fffff);
	cr_expect_eq(th->b.qp->ooo.n, 0);
	ahead(th, 1024);
	cr_expect_eq(th->b.qp->ooo.n, 1);
	th_free(th);
}

/* A packet of more than a path MTU is invalid; out of order it was taken for a burst of several. */
Test(security_ends, too_long_a_packet_is_none_out_of_order_either)
{
	struct th *th = th_new(&(struct th_opt){0});
	struct th_pkt p;

	th_recv(&th->b, 1, 0, 8192);
	th_recv(&th->b, 2, 0, 8192);
	th_forge(&th->a, &p, DPA_BTH_SEND_ONLY, 1, 4096);
	p.s.flags |= dpa_pkt_mtu_flags(1024);
	th_give(&th->b, &p);
	ahead(th, 0);
	cr_expect_eq(th->b.qp->resp.epsn, 1, "epsn %x", th->b.qp->resp.epsn);
	th_free(th);
}
