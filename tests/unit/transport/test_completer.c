/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_completer.c - RC completer: the test drops the packets of A, and makes up the answers of B.
 */
#include "link/lane.h"
#include "eu/progress.h"
#include "answers.h"

/* ----------------------------------------------------------- acknowledging */

/* IBA 9.7.5.1.2: an ACK acknowledges all earlier packets. */
/* IBA 9.7.5 (coalesce) */
Test(transport_completer, one_ack_for_many)
{
	struct th *th = rc();

	writes(th, 8);
	answer(th, 4, ACK);
	for (uint64_t i = 1; i <= 5; i++)
		expect_done(th, i, DPA_CQE_OK);
	expect_none(th);
	answer(th, 2, ACK); /* late */
	answer(th, 4, ACK); /* again */
	expect_none(th);
	answer(th, 7, ACK);
	for (uint64_t i = 6; i <= 8; i++)
		expect_done(th, i, DPA_CQE_OK);
	th_free(th);
}

/* IBA 9.7.6 (unsent) */
Test(transport_completer, what_was_never_sent_is_not_acknowledged)
{
	struct th *th = rc();

	writes(th, 2);
	answer(th, 2, ACK);
	answer(th, 0x400000, ACK);
	answer(th, (uint32_t)-1, ACK);
	answer(th, 2, NAK(DPA_NAK_REM_ACCESS));
	answer(th, (uint32_t)-1, NAK(DPA_NAK_REM_ACCESS));
	expect_none(th);
	cr_expect_eq(th->a.qp->state, DPA_QPS_RTS);
	th_free(th);
}

/* IBA 9.7.6 (whole) */
Test(transport_completer, a_message_is_done_with_its_last_packet)
{
	struct th *th = rc();

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 5 * MTU, 0);
	th_drop_all(&th->a);
	for (uint32_t n = 0; n < 4; n++) {
		answer(th, n, ACK);
		expect_none(th);
	}
	answer(th, 4, ACK);
	expect_done(th, 1, DPA_CQE_OK);
	th_free(th);
}

/* -------------------------------------------------------------------- NAKs */

/* IBA 9.7.5 (nak-codes) */
Test(transport_completer, naks_that_end_the_connection)
{
	static const struct {
		uint8_t code, status;
		uint32_t syndrome;
	} t[] = {{DPA_NAK_INV_REQ, DPA_CQE_REM_INV_REQ_ERR, DPA_SYN_NAK_INV_REQ},
		 {DPA_NAK_REM_ACCESS, DPA_CQE_REM_ACCESS_ERR, DPA_SYN_NAK_ACCESS},
		 {DPA_NAK_REM_OP, DPA_CQE_REM_OP_ERR, DPA_SYN_NAK_OP}};

	for (int i = 0; i < 3; i++) {
		for (uint32_t at = 0; at < 4; at++) {
			struct th *th = rc();

			writes(th, 4);
			answer(th, at, NAK(t[i].code));
			for (uint32_t k = 0; k < 4; k++)
				expect_done(th, k + 1,
					    k < at    ? DPA_CQE_OK
					    : k == at ? t[i].status
						      : DPA_CQE_WR_FLUSH_ERR);
			cr_expect_eq(th->a.qp->state, DPA_QPS_ERR);
			cr_expect_eq(th_drop_all(&th->a), 0);
			th_free(th);
		}
	}
}

/* IBA 9.7.5 (reserved-codes) */
Test(transport_completer, reserved_nak_codes_are_ignored)
{
	struct th *th = rc();

	writes(th, 2);
	for (uint8_t code = 4; code < 32; code++)
		answer(th, 1, NAK(code));
	answer(th, 1, 0x40 | 5);	/* reserved kind */
	expect_done(th, 1, DPA_CQE_OK); /* all earlier packets arrived */
	expect_none(th);
	cr_expect_eq(th->a.qp->state, DPA_QPS_RTS);
	th_free(th);
}

/* --------------------------------------------------------------------- RNR */

/* IBA 9.7.5 (rnr-timer), 9.7.6 (rnr-wait) */
Test(transport_completer, rnr_waits_for_the_timer_of_the_nak)
{
	for (uint8_t code = 0; code < 32; code++) {
		struct th *th = rc();
		uint64_t start = th_now;

		writes(th, 3);
		answer(th, 1, RNR(code));
		expect_done(th, 1, DPA_CQE_OK);
		answer(th, 1, RNR(code)); /* once more: no second wait */
		cr_expect_eq(th_count(th, DPA_CNT_rnr_nak_retry_err), 1);
		th_now += dpa_rnr_ns(code) - 1;
		dpa_progress_once(th->hw);
		cr_expect_eq(th_drop_all(&th->a), 0);
		cr_assert(th_tick(th));
		cr_expect_eq(th_now - start, dpa_rnr_ns(code));
		cr_expect_eq(th_drop_all(&th->a), 2);
		th_free(th);
	}
}

/* rnr_retry times, then RNR_RETRY_EXC; 7 means without limit; progress resets the count. */
/* IBA 9.7.6 (rnr-retries) */
Test(transport_completer, rnr_retries)
{
	for (uint8_t limit = 0; limit < 8; limit++) {
		struct th *th = rc_of(0, limit);

		writes(th, 2);
		for (uint32_t i = 0; i < (limit == 7 ? 100u : limit); i++) {
			answer(th, 0, RNR(1));
			expect_none(th);
			cr_assert(th_tick(th));
		}
		if (limit == 7) {
			answer(th, 1, ACK);
			expect_done(th, 1, DPA_CQE_OK);
			th_free(th);
			continue;
		}
		answer(th, 1, RNR(1)); /* the first is acknowledged: the count restarts */
		expect_done(th, 1, DPA_CQE_OK);
		for (uint32_t i = 1; i < limit; i++) {
			cr_assert(th_tick(th));
			answer(th, 1, RNR(1));
			expect_none(th);
		}
		if (limit) {
			cr_assert(th_tick(th));
			answer(th, 1, RNR(1));
		}
		expect_done(th, 2, DPA_CQE_RNR_RETRY_EXC_ERR);
		cr_expect_eq(th->a.qp->state, DPA_QPS_ERR);
		th_free(th);
	}
}

/* The two counters are separate. */
/* IBA 9.7.6 (rnr-separate) */
Test(transport_completer, rnr_does_not_use_up_retries)
{
	for (uint8_t rnr = 5; rnr <= 7; rnr++) {
		struct th *th = rc_of(1, rnr);

		writes(th, 1);
		for (int i = 0; i < (rnr == 7 ? 20 : rnr); i++) {
			answer(th, 0, RNR(1));
			cr_assert(th_tick(th));
		}
		cr_expect_eq(th->a.qp->req.retry_left, 1);
		expect_none(th);
		th_free(th);
	}
}

/* ----------------------------------------------------------------- retries */

/* IBA 9.7.6 (retries-nak) */
Test(transport_completer, retries_of_sequence_errors)
{
	for (uint8_t retry = 0; retry < 8; retry++) {
		struct th *th = rc_of(retry, 7);

		writes(th, 2);
		for (uint8_t i = 0; i < retry; i++)
			answer(th, 0, NAK(DPA_NAK_PSN_SEQ));
		expect_none(th);
		answer(th, 0, NAK(DPA_NAK_PSN_SEQ));
		expect_done(th, 1, DPA_CQE_RETRY_EXC_ERR);
		expect_done(th, 2, DPA_CQE_WR_FLUSH_ERR);
		cr_expect_eq(th_count(th, DPA_CNT_packet_seq_err), retry + 1u);
		th_free(th);
	}
}

/* IBA 9.7.6 (retries) */
Test(transport_completer, retries_of_losses)
{
	for (uint8_t retry = 0; retry < 8; retry++) {
		struct th *th = rc_of(retry, 7);

		writes(th, 1);
		for (uint8_t i = 0; i < retry; i++) {
			th_lost(&th->a);
			th_lost(&th->a); /* while it waits: the same loss */
			expect_none(th);
			cr_assert(th_tick(th));
			cr_expect_eq(th_drop_all(&th->a), 1);
		}
		th_lost(&th->a);
		expect_done(th, 1, DPA_CQE_RETRY_EXC_ERR);
		th_free(th);
	}
}

/*
 * Each NAK of a long message requested a later packet, and still they were counted against
 * retry_cnt.
 */
/* IBA 9.7.6 (retries-progress) */
Test(transport_completer, progress_within_a_message_restores_the_retries)
{
	struct th *th = rc_of(1, 7);

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 64 * MTU, 0);
	for (uint32_t n = 1; n < 63; n++) {
		th_drop_all(&th->a);
		answer(th, n, NAK(DPA_NAK_PSN_SEQ));
	}
	cr_expect_eq(th->a.qp->state, DPA_QPS_RTS);
	answer(th, 63, ACK);
	expect_done(th, 1, DPA_CQE_OK);
	th_free(th);
}

/* IBA 9.7.6 (retries-progress) */
Test(transport_completer, progress_within_a_read_restores_the_retries)
{
	struct th *th = rc_of(1, 7);

	th_fill(th->b.mem, 64 * MTU, 3);
	th_send(&th->a, DPA_OP_RDMA_READ, 0, 64 * MTU, 0);
	th_send(&th->a, DPA_OP_SEND, 0, 0, 0);
	answer(th, 64, ACK); /* all was received, but the READ's answers are lost */
	for (uint32_t n = 0; n < 64; n++) {
		th_drop_all(&th->a);
		response(th, n == 63 ? DPA_BTH_READ_RESP_ONLY : DPA_BTH_READ_RESP_FIRST, n, n * MTU,
			 MTU);
		if (n < 63) {
			th_lost(&th->a);
			cr_assert(th_tick(th));
		}
	}
	expect_done(th, 1, DPA_CQE_OK);
	cr_expect(th_check(th->a.mem, 64 * MTU, 3));
	th_free(th);
}

/* -------------------------------------------------------- READs and atomics */

/* IBA 9.4 (read-response) */
Test(transport_completer, a_read_response_in_several_packets)
{
	static const uint32_t cuts[][4] = {{16, 0}, {8, 8, 0}, {1, 7, 8, 0}, {8, 1, 7, 0}};

	for (int i = 0; i < 4; i++) {
		struct th *th = rc();
		uint32_t n = 0;

		th_fill(th->b.mem, 16 * MTU, 5);
		th_send(&th->a, DPA_OP_RDMA_READ, 0, 16 * MTU - 3, 0);
		for (int k = 0; k < 4 && cuts[i][k] && n < 16; k++) {
			uint32_t len = cuts[i][k] * MTU, left = 16 * MTU - 3 - n * MTU;
			bool last = len >= left;

			if (len > DPA_LANE_MTU)
				break;
			expect_none(th);
			response(th,
				 !n && last ? DPA_BTH_READ_RESP_ONLY
				 : last	    ? DPA_BTH_READ_RESP_LAST
				 : !n	    ? DPA_BTH_READ_RESP_FIRST
					    : DPA_BTH_READ_RESP_MIDDLE,
				 n, n * MTU, last ? left : len);
			n += cuts[i][k];
		}
		if (n == 16) {
			expect_done(th, 1, DPA_CQE_OK);
			cr_expect(th_check(th->a.mem, 16 * MTU - 3, 5));
		}
		th_free(th);
	}
}

/* Wrong PSN, wrong length, duplicate, too long: each is ignored. */
/* IBA 9.7.6 (response-order), 9.7.5 (no-ack-for-read) */
Test(transport_completer, stray_read_responses_are_ignored)
{
	struct th *th = rc();

	th_fill(th->b.mem, 4 * MTU, 5);
	th_send(&th->a, DPA_OP_RDMA_READ, 0, 4 * MTU, 0);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 8192, 10, 8192);
	response(th, DPA_BTH_READ_RESP_MIDDLE, 1, MTU, MTU);
	response(th, DPA_BTH_READ_RESP_FIRST, 0, 0, MTU - 1);
	response(th, DPA_BTH_READ_RESP_FIRST, 0, 0, 5 * MTU);
	response(th, DPA_BTH_READ_RESP_FIRST, 0, 0, 0);
	atomic_response(th, 0, 1);
	answer(th, 0, ACK);
	answer(th, 4, ACK);
	cr_expect_eq(th->a.mem[0], 0);
	cr_expect_eq(th->a.qp->req.read_off, 0);
	response(th, DPA_BTH_READ_RESP_FIRST, 0, 0, 2 * MTU);
	response(th, DPA_BTH_READ_RESP_FIRST, 0, 0, 2 * MTU);
	cr_expect_eq(th->a.qp->req.read_off, 2 * MTU);
	expect_none(th);
	response(th, DPA_BTH_READ_RESP_LAST, 2, 2 * MTU, 2 * MTU);
	expect_done(th, 1, DPA_CQE_OK);
	response(th, DPA_BTH_READ_RESP_LAST, 2, 2 * MTU, 2 * MTU);
	response(th, DPA_BTH_READ_RESP_ONLY, 4, 0, 10);
	expect_none(th);
	cr_expect(th_check(th->a.mem, 4 * MTU, 5));
	answer(th, 4, ACK);
	expect_done(th, 2, DPA_CQE_OK);
	th_free(th);
}

/* All packets but the last fill the path MTU: a shorter one counts as lost. */
/* IBA 9.4 (read-response) */
Test(transport_completer, pieces_that_are_not_whole_are_ignored)
{
	static const uint32_t wrong[] = {0, 1, MTU - 1, MTU + 1, 2 * MTU - 4};
	struct th *th = rc();

	th_fill(th->b.mem, 4 * MTU, 5);
	th_send(&th->a, DPA_OP_RDMA_READ, 0, 4 * MTU, 0);
	for (uint32_t n = 0; n < 3; n++) {
		uint8_t op = n ? DPA_BTH_READ_RESP_MIDDLE : DPA_BTH_READ_RESP_FIRST;

		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			response(th, op, n, 0, wrong[i]);
			cr_expect_eq(th->a.qp->req.read_off, n * MTU, "%u of %u", wrong[i], n);
		}
		response(th, op, n, n * MTU, MTU);
		cr_expect_eq(th->a.qp->req.read_off, (n + 1) * MTU);
	}
	expect_none(th);
	response(th, DPA_BTH_READ_RESP_LAST, 3, 3 * MTU, MTU);
	expect_done(th, 1, DPA_CQE_OK);
	cr_expect(th_check(th->a.mem, 4 * MTU, 5));
	th_free(th);
}

/* After a loss only the rest of a READ is requested. */
/* IBA 9.4.4 (rest) */
Test(transport_completer, the_rest_of_a_read)
{
	struct th *th = rc();
	struct th_pkt p;

	th_send(&th->a, DPA_OP_RDMA_READ, 0, 10 * MTU, 0);
	th_drop_all(&th->a);
	response(th, DPA_BTH_READ_RESP_FIRST, 0, 0, 4 * MTU);
	th_lost(&th->a);
	th_tick(th);
	cr_assert(th_take(&th->a, &p));
	cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, 4));
	cr_expect_eq(th_ext(&p)->dmalen, 6 * MTU);
	cr_expect_eq(th_ext(&p)->va, (uintptr_t)th->b.mem + 4 * MTU);
	th_free(th);
}

/* The answer comes after all while the requester waits to ask again. */
/* IBA 9.7.6 (late) */
Test(transport_completer, a_response_after_a_loss)
{
	struct th *th = rc();
	struct th_pkt p;

	th_send(&th->a, DPA_OP_RDMA_READ, 0, 3 * MTU, 0);
	th_drop_all(&th->a);
	th_lost(&th->a);
	response(th, DPA_BTH_READ_RESP_ONLY, 0, 0, 3 * MTU);
	expect_done(th, 1, DPA_CQE_OK);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	th_tick(th);
	cr_assert(th_take(&th->a, &p));
	cr_expect_eq(p.s.opcode, DPA_BTH_WRITE_ONLY);
	cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, 3));
	th_free(th);
}

/* A response acknowledges all earlier packets (IBA 9.7.5.1.2); an ACK is no response. */
/* IBA 9.7.5 (response-acks), 9.7.5 (no-ack-for-read) */
Test(transport_completer, responses_acknowledge)
{
	struct th *th = rc();
	uint64_t got;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	th_send(&th->a, DPA_OP_ATOMIC_FA, 64, 8, 0);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	answer(th, 2, ACK);
	expect_done(th, 1, DPA_CQE_OK);
	expect_none(th);
	atomic_response(th, 1, 0x1122334455667788ull);
	expect_done(th, 2, DPA_CQE_OK);
	memcpy(&got, th->a.mem + 64, 8);
	cr_expect_eq(got, 0x1122334455667788ull);
	answer(th, 2, ACK);
	expect_done(th, 3, DPA_CQE_OK);
	th_free(th);
}

/* IBA 9.7.6 (response-order) */
Test(transport_completer, an_atomic_is_answered_once)
{
	struct th *th = rc();
	uint64_t got;

	th_send(&th->a, DPA_OP_ATOMIC_CS, 64, 8, 0);
	th_send(&th->a, DPA_OP_ATOMIC_CS, 64, 8, 0);
	atomic_response(th, 1, 7); /* the answer to the first one is missing */
	expect_none(th);
	atomic_response(th, 0, 8);
	expect_done(th, 1, DPA_CQE_OK);
	atomic_response(th, 0, 9);
	expect_none(th);
	memcpy(&got, th->a.mem + 64, 8);
	cr_expect_eq(got, 8);
	th_free(th);
}

/* The destination of a READ is not registered any more when the data arrives. */
Test(transport_completer, memory_that_went_away)
{
	struct th *th = rc();
	struct dpa_mr_attr mr = {.pdn = 1, .access = TH_ALL, .length = 64};
	struct th_wr wr = {.op = DPA_OP_RDMA_READ, .nsge = 1, .rkey = th->b.key};
	uint32_t key;

	mr.addr = mr.iova = (uintptr_t)th->a.mem;
	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &mr, &key), 0);
	wr.raddr = (uintptr_t)th->b.mem;
	wr.sge[0] = (struct dpa_sge){mr.addr, 64, key};
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	dpa_hw_dereg_mr(&th->ctx, key);
	th_settle(th);
	expect_done(th, 1, DPA_CQE_LOC_PROT_ERR);
	cr_expect_eq(th->a.qp->state, DPA_QPS_ERR);
	th_free(th);
}

Test(transport_completer, unsignalled_work_frees_its_blocks)
{
	struct th *th = rc();
	struct th_wr wr = {.op = DPA_OP_RDMA_WRITE,
			   .inl = "x",
			   .inl_len = 1,
			   .raddr = (uintptr_t)th->b.mem,
			   .rkey = th->b.key};

	for (int i = 0; i < 5; i++)
		cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	answer(th, 3, ACK);
	expect_none(th);
	cr_expect_eq(th->a.dbrec.sq_ci, 4);
	th_free(th);
}

/* IBA 9.9 (flush) */
Test(transport_completer, nothing_is_heard_in_the_error_state)
{
	struct th *th = rc();

	writes(th, 2);
	answer(th, 0, NAK(DPA_NAK_REM_ACCESS));
	expect_done(th, 1, DPA_CQE_REM_ACCESS_ERR);
	expect_done(th, 2, DPA_CQE_WR_FLUSH_ERR);
	answer(th, 1, ACK);
	answer(th, 1, RNR(1));
	expect_none(th);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	expect_done(th, 3, DPA_CQE_WR_FLUSH_ERR);
	th_free(th);
}
