/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_rewind.c - RC completer: retransmission from each position of a window of all operations. */
#include "wire/opcode.h"
#include "eu/progress.h"
#include "answers.h"

/* ------------------------------------------------------------------ rewind */

/* SEND of 3 packets, READ of 4, atomic, WRITE of 10 (two entries), SEND of nothing, READ of 1. */
#define WINDOW 20u
static const struct {
	uint8_t op;
	uint32_t len, first, npsn;
} window[] = {{DPA_OP_SEND, 2 * MTU + 9, 0, 3}, {DPA_OP_RDMA_READ, 3 * MTU + 1, 3, 4},
	      {DPA_OP_ATOMIC_FA, 8, 7, 1},	{DPA_OP_RDMA_WRITE, 10 * MTU, 8, 10},
	      {DPA_OP_SEND_IMM, 0, 18, 1},	{DPA_OP_RDMA_READ, 5, 19, 1}};
#define NWINDOW (sizeof(window) / sizeof(window[0]))

static void post_window(struct th *th)
{
	th_fill(th->a.mem, 16 * MTU, 21);
	for (size_t i = 0; i < NWINDOW; i++)
		th_send(&th->a, window[i].op, 0, window[i].len, 0);
	cr_assert_eq(th->a.qp->req.max_psn, dpa_psn_add(PSN0, WINDOW));
}

/* The packets from PSN n on: each starts where the previous one ended, with the expected bytes. */
static void expect_from(struct th *th, uint32_t n)
{
	size_t i = 0;
	struct th_pkt p;

	while (n < WINDOW) {
		uint32_t off, psns;

		while (n >= window[i].first + window[i].npsn)
			i++;
		off = (n - window[i].first) * MTU;
		cr_assert(th_take(&th->a, &p), "a packet from PSN %u on", n);
		cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, n), "%u", n);
		if (p.s.len)
			cr_expect_arr_eq(p.data, th->a.mem + off, p.s.len);
		cr_expect_leq(off + p.s.len, window[i].len);
		if (window[i].op == DPA_OP_RDMA_READ) { /* the rest of it */
			cr_expect_eq(th_ext(&p)->dmalen, window[i].len - off);
			psns = window[i].first + window[i].npsn - n;
		} else {
			cr_expect_eq(!!(dpa_op_props(p.s.opcode) & DPA_OPP_START), off == 0);
			psns = dpa_npkts(p.s.len, MTU);
		}
		n += psns;
	}
	cr_expect_not(th_take(&th->a, &p));
}

/* IBA 9.7.6 (rewind) */
Test(transport_rewind, rewind_to_each_psn)
{
	for (uint32_t n = 0; n < WINDOW; n++) {
		struct th *th = rc();

		post_window(th);
		expect_from(th, 0);
		answer(th, n, NAK(DPA_NAK_PSN_SEQ));
		expect_from(th, n);
		/* packets before the READ are acknowledged by it */
		cr_expect_eq(th->a.qp->req.una_psn, dpa_psn_add(PSN0, n < 3 ? 0 : 3));
		th_free(th);
	}
}

/* IBA 9.7.6 (resume) */
Test(transport_rewind, loss_rewinds_to_the_oldest)
{
	for (uint32_t n = 0; n < WINDOW; n++) {
		struct th *th = rc();

		post_window(th);
		expect_from(th, 0);
		if (n)
			answer(th, n - 1, ACK);
		th_lost(&th->a);
		cr_expect_eq(th_drop_all(&th->a), 0, "not before its time");
		cr_assert(th_tick(th));
		expect_from(th, n < 3 ? 0 : 3);
		th_free(th);
	}
}

/* From each PSN of the window on: the rest, carried to the real B, is correct. */
Test(transport_rewind, the_rest_is_right_after_a_loss)
{
	for (uint32_t lost = 0; lost < 7; lost++) {
		struct th *th = rc();
		struct th_pkt p;

		th_recv(&th->b, 1, 1u << 20, 4 * MTU);
		th_recv(&th->b, 2, 1u << 20, 4 * MTU);
		th_fill(th->a.mem, 16 * MTU, 21);
		th_fill(th->b.mem + 65536, 4 * MTU, 22);
		th_send(&th->a, DPA_OP_SEND, 0, 2 * MTU + 9, 0);
		th_send(&th->a, DPA_OP_RDMA_READ, 65536, 3 * MTU + 1, 65536);
		th_send(&th->a, DPA_OP_ATOMIC_FA, 131072, 8, 262144);
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10 * MTU, 131072);
		th_send(&th->a, DPA_OP_SEND_IMM, 0, 0, 0);
		th_send(&th->a, DPA_OP_RDMA_READ, 65536, 3 * MTU + 1, 65536);
		for (uint32_t i = 0; th_take(&th->a, &p); i++)
			if (i != lost)
				th_give(&th->b, &p);
		th_flush(&th->b);
		th_settle(th);
		if (lost == 6) { /* no later packet would have shown the gap */
			th_lost(&th->a);
			th_tick(th);
			th_settle(th);
		}
		for (uint64_t i = 1; i <= 6; i++)
			expect_done(th, i, DPA_CQE_OK);
		cr_expect(th_check(th->b.mem + (1u << 20), 2 * MTU + 9, 21));
		cr_expect(th_check(th->b.mem + 131072, 10 * MTU, 21));
		cr_expect(th_check(th->a.mem + 65536, 3 * MTU + 1, 22));
		th_free(th);
	}
}

Test(transport_rewind, acknowledgements_after_a_rewind)
{
	for (uint32_t n = 0; n < 6; n++) {
		struct th *th = rc();
		struct th_pkt p;

		writes(th, 6);
		th_lost(&th->a); /* it was not */
		answer(th, n, ACK);
		for (uint64_t i = 1; i <= n + 1; i++)
			expect_done(th, i, DPA_CQE_OK);
		th_tick(th);
		for (uint32_t k = n + 1; k < 6; k++) {
			cr_assert(th_take(&th->a, &p));
			cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, k));
		}
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 1, 0);
		cr_assert(th_take(&th->a, &p));
		cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, 6), "the next one");
		th_free(th);
	}
}

/*
 * A loss moved the requester back to a READ, and the NAK for a later packet came late: the
 * requester moved forward into the middle of another message, past its end.
 */
/* IBA 9.7.6 (not-forward) */
Test(transport_rewind, a_late_nak_does_not_move_the_sender_forward)
{
	for (uint32_t n = 1; n < 8; n++) {
		struct th *th = th_new(&(struct th_opt){
			.psn = PSN0, .retry = 7, .rnr_retry = 7, .timeout = 14, .rd = 1});
		struct th_pkt p;

		th_send(&th->a, DPA_OP_RDMA_READ, 4096, 8, 0);
		for (int i = 0; i < 8; i++)
			th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
		th_drop_all(&th->a);
		th_lost(&th->a);
		answer(th, n, NAK(DPA_NAK_PSN_SEQ));
		th_tick(th);
		for (uint32_t k = 0; k < 9; k++) {
			cr_assert(th_take(&th->a, &p));
			cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, k));
			cr_expect_eq(p.s.len, k ? 100 : 0);
		}
		cr_expect_eq(th->a.qp->state, DPA_QPS_RTS);
		th_free(th);
	}
}

/* The same when the sender has sent some of it again. */
/* IBA 9.7.6 (not-forward) */
Test(transport_rewind, a_late_nak_does_not_skip_what_is_not_sent_again_yet)
{
	struct th *th = rc();
	struct th_pkt p;

	th_send(&th->a, DPA_OP_RDMA_READ, 4096, 8, 0);
	for (int i = 0; i < 100; i++)
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	do
		th_drop_all(&th->a);
	while (dpa_progress_once(th->hw));
	cr_assert_eq(th->a.qp->req.max_psn, dpa_psn_add(PSN0, 101));
	th_lost(&th->a);
	th_tick(th); /* as many as one call sends */
	cr_assert_neq(th->a.qp->req.send_idx, th->a.pi);
	answer(th, 90, NAK(DPA_NAK_PSN_SEQ));
	for (uint32_t k = 0; k < 101; k++) {
		while (!th_take(&th->a, &p))
			cr_assert(dpa_progress_once(th->hw));
		cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, k));
		cr_expect_eq(p.s.len, k ? 100 : 0);
	}
	th_free(th);
}

/* Moved back to the middle of a message, whose late acknowledgement then arrives. */
Test(transport_rewind, an_acknowledgement_after_a_rewind_into_the_message)
{
	struct th *th = rc();
	struct th_pkt p;

	th_send(&th->a, DPA_OP_RDMA_WRITE_IMM, 0, 10 * MTU, 0);
	th_drop_all(&th->a);
	answer(th, 8, RNR(1));
	answer(th, 9, ACK);
	expect_done(th, 1, DPA_CQE_OK);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	th_tick(th);
	cr_assert(th_take(&th->a, &p));
	cr_expect_eq(p.s.opcode, DPA_BTH_WRITE_ONLY);
	cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, 10));
	cr_expect_eq(p.s.len, 100);
	th_free(th);
}

/*
 * All packets that were considered lost are acknowledged: the next operation waited for the old
 * timer.
 */
Test(transport_rewind, nothing_waits_for_a_timer_that_has_no_cause)
{
	struct th *th = rc();

	writes(th, 3);
	th_lost(&th->a);
	answer(th, 1, ACK);
	cr_expect(th->a.qp->slow.wait_timer);
	answer(th, 2, ACK);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	cr_expect_eq(th_drop_all(&th->a), 1);
	th_free(th);
}

/*
 * A retransmission waited for the ring, and its operation is complete by now: sending continued in
 * the middle of a WQE that belonged to its poster again.
 */
Test(transport_rewind, not_before_what_is_done)
{
	struct th *th = rc();
	struct dpa_req *r = &th->a.qp->req;

	post_window(th);
	expect_from(th, 0);
	answer(th, 2, DPA_AETH_ACK);
	cr_assert_eq(r->una_psn, dpa_psn_add(PSN0, 3));
	dpa_qplock_lock(&th->a.qp->lock);
	dpa_rewind(th->a.qp, dpa_psn_add(PSN0, 1));
	cr_expect_eq(r->send_psn, r->una_psn);
	cr_expect_eq(r->send_idx, r->una_idx);
	cr_expect_eq(r->send_off, 0u);
	dpa_qp_leave(th->a.qp);
	th_free(th);
}
