/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_responder.c - RC responder: packets that the test made go to B, and the test checks the
 * answers of B.
 */
#include "link/lane.h"
#include "requests.h"

/* ----------------------------------------------------------- acknowledging */

/* IBA 9.7.5 (coalesce), C9-148, 9.7.5 (credits) */
Test(transport_responder, one_ack_for_a_batch)
{
	struct th *th = rc();
	struct dpa_cqe e;

	for (uint32_t i = 0; i < 5; i++)
		th_recv(&th->b, i, i * 4096, 100);
	for (uint32_t i = 0; i < 5; i++)
		give(th, DPA_BTH_SEND_ONLY, i, 10 + i);
	expect_ack(th, 4, ACK);
	cr_expect_eq(th->b.qp->resp.msn, 5);
	expect_silence(th);
	for (uint32_t i = 0; i < 5; i++) {
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.wr_id, i);
		cr_expect_eq(e.byte_len, 10 + i);
		cr_expect(th_check(th->b.mem + i * 4096, 10 + i, i + 1));
	}
	th_free(th);
}

/* IBA 9.7.5 (rnr) */
Test(transport_responder, rnr_then_success)
{
	struct th *th = rc();
	struct dpa_cqe e;

	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	expect_ack(th, 0, DPA_AETH_RNR | 5);
	give(th, DPA_BTH_SEND_ONLY, 1, 10);
	give(th, DPA_BTH_SEND_ONLY, 2, 10);
	expect_silence(th); /* no NAK for the gap: the requester has the PSN to start again */
	th_recv(&th->b, 7, 0, 100);
	th_recv(&th->b, 8, 4096, 100);
	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	give(th, DPA_BTH_SEND_ONLY, 1, 10);
	expect_ack(th, 1, ACK);
	give(th, DPA_BTH_SEND_ONLY, 2, 10);
	expect_ack(th, 2, DPA_AETH_RNR | 5);
	for (uint64_t id = 7; id < 9; id++) {
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.wr_id, id);
	}
	cr_expect_not(th_poll(&th->b.rcq, &e));
	th_free(th);
}

/* IBA 9.4 (write-imm) */
Test(transport_responder, a_write_with_immediate_needs_its_receive_at_the_end)
{
	struct th *th = rc();
	struct th_pkt p;
	struct dpa_cqe e;

	th_forge(&th->a, &p, DPA_BTH_WRITE_FIRST, PSN0, MTU);
	*th_ext(&p) =
		(struct dpa_ext){.va = (uintptr_t)th->b.mem, .rkey = th->b.key, .dmalen = MTU + 5};
	th_fill(p.data, MTU, 1);
	th_give(&th->b, &p);
	for (int i = 0; i < 2; i++) {
		th_forge(&th->a, &p, DPA_BTH_WRITE_LAST_IMM, PSN0 + 1, 5);
		p.s.flags = DPA_PKT_ACKREQ;
		th_ext(&p)->imm = 0xfeed;
		th_give(&th->b, &p);
		expect_ack(th, 1, i ? ACK : DPA_AETH_RNR | 5);
		th_recv(&th->b, 3, 0, 0);
	}
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.opcode, DPA_CQE_RECV_RDMA_WITH_IMM);
	cr_expect_eq(e.imm, 0xfeed);
	cr_expect_eq(e.byte_len, MTU + 5);
	cr_expect(th_check(th->b.mem, MTU, 1));
	th_free(th);
}

/* One NAK for each gap, and another for the next gap. */
/* IBA 9.7.5 (one-nak) */
Test(transport_responder, one_nak_a_hole)
{
	struct th *th = rc();

	for (uint32_t i = 0; i < 8; i++)
		th_recv(&th->b, i, 0, 100);
	give(th, DPA_BTH_SEND_ONLY, 1, 10);
	give(th, DPA_BTH_SEND_ONLY, 2, 10);
	expect_ack(th, 0, NAK(DPA_NAK_PSN_SEQ));
	give(th, DPA_BTH_SEND_ONLY, 3, 10);
	give(th, DPA_BTH_SEND_ONLY, 1, 10);
	expect_silence(th);
	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	expect_ack(th, 0, ACK);
	give(th, DPA_BTH_SEND_ONLY, 2, 10);
	expect_ack(th, 1, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_eq(th->b.qp->state, DPA_QPS_RTS);
	cr_expect_eq(th->b.qp->rq_ci, 1, "nothing was taken out of order");
	th_free(th);
}

/* A duplicate after it in the same batch: the requester must get the NAK. */
/* IBA 9.7.5 (nak-stays) */
Test(transport_responder, a_nak_is_not_taken_back)
{
	struct th *th = rc();

	give(th, DPA_BTH_WRITE_ONLY, 0, 10);
	expect_ack(th, 0, ACK);
	give(th, DPA_BTH_WRITE_ONLY, 2, 10);
	give(th, DPA_BTH_WRITE_ONLY, 0, 10);
	expect_ack(th, 1, NAK(DPA_NAK_PSN_SEQ));
	give(th, DPA_BTH_SEND_ONLY, 1, 10);
	give(th, DPA_BTH_WRITE_ONLY, 0, 10);
	expect_ack(th, 1, DPA_AETH_RNR | 5);
	th_free(th);
}

/* -------------------------------------------------------------- duplicates */

/* IBA C9-105 */
Test(transport_responder, a_duplicate_send_or_write_is_acknowledged_again)
{
	struct th *th = rc();
	struct dpa_cqe e;

	th_recv(&th->b, 1, 8192, 100);
	th_recv(&th->b, 2, 8192, 100);
	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	give(th, DPA_BTH_WRITE_ONLY, 1, 10);
	expect_ack(th, 1, ACK);
	memset(th->b.mem, 0, 10);
	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	expect_ack(th, 1, ACK);
	give(th, DPA_BTH_WRITE_ONLY, 1, 10);
	expect_ack(th, 1, ACK);
	cr_expect_eq(th->b.mem[0], 0, "not written twice");
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_not(th_poll(&th->b.rcq, &e), "not received twice");
	cr_expect_eq(th_count(th, DPA_CNT_duplicate_request), 2);
	th_free(th);
}

static void expect_read(struct th *th, uint32_t n, uint32_t off, uint32_t len)
{
	uint32_t got = 0;
	struct th_pkt p;

	th_flush(&th->b);
	while (got < len) {
		cr_assert(th_take(&th->b, &p));
		cr_expect(dpa_op_props(p.s.opcode) & DPA_OPP_READ);
		cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, n + got / MTU));
		cr_expect_arr_eq(p.data, th->b.mem + off + got, p.s.len);
		got += p.s.len;
	}
	cr_expect_eq(got, len);
}

/* IBA 9.7.5.1.5: a READ is executed again, over all of its range or the rest of it. */
/* IBA 9.7.5 (read-again), C9-148 */
Test(transport_responder, a_duplicate_read_runs_again)
{
	struct th *th = rc();

	th_fill(th->b.mem, 20 * MTU, 4);
	give_remote(th, DPA_BTH_READ_REQUEST, 0, (uintptr_t)th->b.mem, th->b.key, 20 * MTU);
	expect_read(th, 0, 0, 20 * MTU);
	for (uint32_t k = 0; k < 20; k++) {
		give_remote(th, DPA_BTH_READ_REQUEST, k, (uintptr_t)th->b.mem + k * MTU, th->b.key,
			    (20 - k) * MTU);
		expect_read(th, k, k * MTU, (20 - k) * MTU);
	}
	cr_expect_eq(th->b.qp->resp.epsn, dpa_psn_add(PSN0, 20));
	cr_expect_eq(th->b.qp->resp.msn, 1);
	th_free(th);
}

/* IBA 9.7.5.1.5: the saved result, any number of times; the memory changes once. */
/* IBA 9.7.5 (atomic-replay) */
Test(transport_responder, a_duplicate_atomic_is_replayed)
{
	struct th *th = rc();
	uint64_t *word = (uint64_t *)th->b.mem;

	*word = 100;
	give_remote(th, DPA_BTH_FETCH_ADD, 0, (uintptr_t)word, th->b.key, 5);
	cr_expect_eq(atomic_answer(th, 0), 100);
	give_remote(th, DPA_BTH_FETCH_ADD, 1, (uintptr_t)word, th->b.key, 7);
	cr_expect_eq(atomic_answer(th, 1), 105);
	for (int i = 0; i < 50; i++) {
		give_remote(th, DPA_BTH_FETCH_ADD, 0, (uintptr_t)word, th->b.key, 5);
		cr_expect_eq(atomic_answer(th, 0), 100);
		give_remote(th, DPA_BTH_FETCH_ADD, 1, (uintptr_t)word, th->b.key, 7);
		cr_expect_eq(atomic_answer(th, 1), 105);
	}
	cr_expect_eq(*word, 112);
	give_remote(th, DPA_BTH_COMPARE_SWAP, 0, (uintptr_t)word, th->b.key, 9);
	expect_silence(th); /* another operation than that PSN's */
	th_free(th);
}

/* Replays and repeated READs displaced the saved results of other atomics. */
/* IBA 9.7.5 (atomic-saved) */
Test(transport_responder, saved_atomics_survive_the_duplicates_of_others)
{
	struct th *th = th_new(&(struct th_opt){.psn = PSN0, .rd = 16, .dest_rd = 16});
	uint64_t *word = (uint64_t *)th->b.mem;

	for (uint32_t i = 0; i < 15; i++)
		give_remote(th, DPA_BTH_FETCH_ADD, i, (uintptr_t)word, th->b.key, 1);
	give_remote(th, DPA_BTH_READ_REQUEST, 15, (uintptr_t)th->b.mem, th->b.key, 8);
	th_flush(&th->b);
	th_drop_all(&th->b);
	for (int k = 0; k < 3; k++) {
		for (uint32_t i = 0; i < 8; i++) {
			give_remote(th, DPA_BTH_FETCH_ADD, i, (uintptr_t)word, th->b.key, 1);
			cr_expect_eq(atomic_answer(th, i), i);
		}
		for (uint32_t i = 0; i < 8; i++)
			give_remote(th, DPA_BTH_READ_REQUEST, 15, (uintptr_t)th->b.mem, th->b.key,
				    8);
		th_flush(&th->b);
		th_drop_all(&th->b);
	}
	for (uint32_t i = 0; i < 15; i++) {
		give_remote(th, DPA_BTH_FETCH_ADD, i, (uintptr_t)word, th->b.key, 1);
		cr_expect_eq(atomic_answer(th, i), i);
	}
	cr_expect_eq(*word, 15);
	th_free(th);
}

/* A duplicate and the next new one in one batch were one too many: NAK, connection over. */
Test(transport_responder, duplicates_do_not_use_up_read_resources)
{
	static const uint8_t ops[] = {DPA_BTH_READ_REQUEST, DPA_BTH_FETCH_ADD};

	for (int k = 0; k < 2; k++) {
		struct th *th = th_new(&(struct th_opt){.psn = PSN0, .rd = 1, .dest_rd = 1});
		uint64_t va = (uintptr_t)th->b.mem;

		give_remote(th, ops[k], 0, va, th->b.key, 8);
		th_flush(&th->b);
		cr_assert_eq(th_drop_all(&th->b), 1u);
		for (int i = 0; i < 40; i++)
			give_remote(th, ops[k], 0, va, th->b.key, 8);
		give_remote(th, ops[k], 1, va, th->b.key, 8);
		th_flush(&th->b);
		cr_expect_geq(th_drop_all(&th->b), 2u);
		cr_expect_eq(th->b.qp->state, DPA_QPS_RTS);
		cr_expect_eq(th->b.qp->resp.epsn, dpa_psn_add(PSN0, 2));
		th_free(th);
	}
}

/* A PSN before the expected one bypassed the QP's own permission. */
/* IBA 9.7.5 (read-again-checks) */
Test(transport_responder, a_duplicate_read_needs_the_permission_too)
{
	struct th *th = rc();

	give_remote(th, DPA_BTH_READ_REQUEST, 0, (uintptr_t)th->b.mem, th->b.key, 8);
	expect_read(th, 0, 0, 8);
	th->b.qp->attr.access = DPA_ACCESS_LOCAL_WRITE;
	give_remote(th, DPA_BTH_READ_REQUEST, 0, (uintptr_t)th->b.mem, th->b.key, 8);
	expect_ack(th, 0, NAK(DPA_NAK_INV_REQ));
	th_free(th);
}

/*
 * Only an executed request can be a duplicate: with any other PSN of the old half, a stranger's
 * wrong key ended the connection.
 */
/* IBA 9.7.5 (read-known) */
Test(transport_responder, a_duplicate_of_no_read_is_dropped)
{
	struct th *th = th_new(&(struct th_opt){.psn = PSN0, .rd = 16, .dest_rd = 16});

	for (uint32_t i = 0; i < 17; i++) {
		give_remote(th, DPA_BTH_READ_REQUEST, 2 * i, (uintptr_t)th->b.mem, th->b.key,
			    2 * MTU);
		expect_read(th, 2 * i, 0, 2 * MTU);
	}
	for (uint32_t bad = 0; bad < 2; bad++) {
		give_remote(th, DPA_BTH_READ_REQUEST, (uint32_t)-1, (uintptr_t)th->b.mem,
			    th->b.key ^ bad, 8);
		expect_silence(th); /* before the first */
		give_remote(th, DPA_BTH_READ_REQUEST, 1, (uintptr_t)th->b.mem, th->b.key ^ bad, 8);
		expect_silence(th); /* 16 followed: its requester has the answer */
		give_remote(th, DPA_BTH_FLUSH, 20, (uintptr_t)th->b.mem, th->b.key ^ bad, 8);
		expect_silence(th); /* another operation than that PSN's */
	}
	cr_expect_eq(th_count(th, DPA_CNT_duplicate_request), 6);
	for (uint32_t i = 1; i < 17; i++) {
		give_remote(th, DPA_BTH_READ_REQUEST, 2 * i + 1, (uintptr_t)th->b.mem + MTU,
			    th->b.key, MTU);
		expect_read(th, 2 * i + 1, MTU, MTU);
	}
	give_remote(th, DPA_BTH_READ_REQUEST, 32, (uintptr_t)th->b.mem, th->b.key ^ 1, 8);
	expect_silence(th); /* another key than that PSN's */
	th_free(th);
}
