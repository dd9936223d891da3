/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_credits.c - end-to-end credits of RC (IBA 9.7.7.2): the credits in ACKs, and the operations
 * that wait for them.
 */
#include "eu/progress.h"
#include "lossy.h"

/* IBA table 47 */
static const uint32_t table[31] = {0,	 1,    2,    3,	    4,	   6,	  8,	12,
				   16,	 24,   32,   48,    64,	   96,	  128,	192,
				   256,	 384,  512,  768,   1024,  1536,  2048, 3072,
				   4096, 6144, 8192, 12288, 16384, 24576, 32768};

/* IBA 9.7.7 (codes) */
Test(transport_credits, codes)
{
	for (uint8_t code = 0; code < 31; code++)
		cr_expect_eq(dpa_credits(code), table[code], "%u", code);
	for (uint32_t n = 0, code = 0; n < 70000; n++) {
		while (code < 30 && table[code + 1] <= n)
			code++;
		cr_assert_eq(dpa_credit_code(n), code, "%u", n);
	}
	cr_expect_eq(dpa_credit_code(UINT32_MAX), 30, "31 is: not used");
}

static void receives(struct th *th, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		cr_assert(th_recv(&th->b, i, i * 4096, 4096));
}

static void sends(struct th *th, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		th_send(&th->a, DPA_OP_SEND, 0, 100, 0);
}

/* IBA 9.7.5 (credits) */
Test(transport_credits, an_ack_has_the_number_of_receives)
{
	for (uint32_t n = 1; n <= 64; n++) {
		struct th *th = wire();
		struct th_pkt p;

		receives(th, n);
		sends(th, 1);
		cr_assert_eq(th_deliver(&th->a), 1);
		expect_answer(th, 0, DPA_AETH_ACK, &p);
		cr_expect_eq(th_ext(&p)->msn, 1);
		cr_expect_eq(th_ext(&p)->syndrome, dpa_credit_code(n - 1), "%u", n);
		th_free(th);
	}
}

/* READ responses and atomics' answers are acknowledgements, too. */
/* IBA 9.7.5 (credits) */
Test(transport_credits, so_do_answers)
{
	static const uint8_t ops[] = {DPA_OP_RDMA_READ, DPA_OP_ATOMIC_FA};

	for (int i = 0; i < 2; i++) {
		struct th *th = wire();
		struct th_pkt p;

		receives(th, 6);
		th_send(&th->a, ops[i], 0, 8, 0);
		th_deliver(&th->a);
		cr_assert(th_take(&th->b, &p));
		cr_expect_eq(th_ext(&p)->syndrome, 5, "six is code 5");
		cr_expect_eq(th_ext(&p)->msn, 1);
		th_free(th);
	}
}

/* The code of a NAK or RNR NAK has another meaning. */
Test(transport_credits, no_credits_are_read_from_a_nak)
{
	struct th *th = wire();

	sends(th, 2);
	th_drop_all(&th->a);
	answer(th, 0, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_not(th->a.qp->req.credits);
	answer(th, 0, RNR(1));
	cr_expect_not(th->a.qp->req.credits);
	th_free(th);
}

/* IBA 9.7.5 (credits) */
Test(transport_credits, not_on_shared_memory)
{
	struct th *th = rc();
	struct th_pkt p;

	receives(th, 5);
	sends(th, 1);
	th_deliver(&th->a);
	cr_assert(th_take(&th->b, &p));
	cr_expect_eq(th_ext(&p)->syndrome, DPA_AETH_NO_CREDITS);
	th_free(th);
}

/* IBA 9.7.7 (limit), 9.7.7 (wait) */
Test(transport_credits, sends_stop_at_the_limit)
{
	for (uint8_t code = 0; code < 8; code++) {
		struct th *th = wire();
		uint32_t n = table[code];

		sends(th, 1);
		cr_assert_eq(th_drop_all(&th->a), 1);
		ack_with(th, 0, 1, code);
		sends(th, 20);
		cr_expect_eq(th_drop_all(&th->a), n ? n : 1, "credits for %u; one goes always", n);
		/* no new credits: no more packets */
		cr_expect_eq(dpa_progress_once(th->hw) + (int)th_drop_all(&th->a), 0);
		ack_with(th, 1, 2, code);
		cr_expect_eq(th_drop_all(&th->a), 1, "one more message, one more");
		th_free(th);
	}
}

/* IBA 9.7.7 (limit) */
Test(transport_credits, the_limit_does_not_go_back)
{
	struct th *th = wire();

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 3 * MTU, 0);
	cr_assert_eq(th_drop_all(&th->a), 3);
	ack_with(th, 1, 0, 4);
	ack_with(th, 0, 0, 1); /* arrived later, was sent earlier */
	sends(th, 10);
	cr_expect_eq(th_drop_all(&th->a), 3, "the WRITE and three SENDs make four");
	ack_with(th, 2, 1, DPA_AETH_NO_CREDITS);
	cr_expect_eq(th_drop_all(&th->a), 7, "without credits nothing waits");
	th_free(th);
}

/* IBA 9.7.7 (wait) */
Test(transport_credits, what_takes_no_receive_does_not_wait)
{
	struct th *th = wire();

	sends(th, 1);
	th_drop_all(&th->a);
	ack_with(th, 0, 1, 0);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	th_send(&th->a, DPA_OP_RDMA_READ, 0, 10, 0);
	th_send(&th->a, DPA_OP_ATOMIC_FA, 0, 8, 0);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	cr_expect_eq(th_drop_all(&th->a), 4);
	th_send(&th->a, DPA_OP_RDMA_WRITE_IMM, 0, 10, 0);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	cr_expect_eq(th_drop_all(&th->a), 0, "an immediate takes one; the queue is in order");
	th_free(th);
}

/* A message that is sent again already has its credit. */
/* IBA 9.7.7 (wait) */
Test(transport_credits, repetitions_do_not_wait)
{
	struct th *th = wire();

	sends(th, 1);
	th_drop_all(&th->a);
	ack_with(th, 0, 1, 3);
	sends(th, 5);
	cr_assert_eq(th_drop_all(&th->a), 3);
	th_now += T14;
	dpa_progress_once(th->hw);
	cr_expect_eq(th_drop_all(&th->a), 3);
	th_free(th);
}

/* Each part of a READ that is requested in parts is a message in the peer's MSN. */
/* IBA 9.7.7 (limit) */
Test(transport_credits, parts_of_a_read_are_messages)
{
	struct th *th = wire();
	struct dpa_cqe e;

	receives(th, 12);
	sends(th, 1);
	th_settle(th);
	th_send(&th->a, DPA_OP_RDMA_READ, 1u << 20, 3 * DPA_READ_CHUNK + 1, 1u << 20);
	sends(th, 11);
	th_settle(th);
	cr_expect_eq(th->b.qp->resp.msn, 1 + 4 + 11);
	cr_expect_eq(th->a.qp->req.send_ssn, 1 + 4 + 11);
	cr_expect_eq(th_count(th, DPA_CNT_rnr_nak_retry_err), 0);
	for (int i = 0; i < 13; i++)
		cr_assert(th_poll(&th->a.scq, &e));
	th_free(th);
}

/* IBA 9.7.7 (wait), 9.7.5 (rnr) */
Test(transport_credits, exhausted_and_given_again)
{
	struct th *th = wire();
	struct dpa_cqe e;

	receives(th, 3);
	sends(th, 1);
	th_settle(th);
	sends(th, 9);
	th_settle(th);
	cr_expect_eq(th_count(th, DPA_CNT_rnr_nak_retry_err), 1, "the one that goes in any case");
	cr_expect_eq(th->a.qp->req.max_psn, dpa_psn_add(PSN0, 4));
	receives(th, 7);
	while (th->a.qp->req.una_idx != th->a.pi)
		if (!th_deliver(&th->a) && !th_deliver(&th->b))
			cr_assert(th_tick(th));
	cr_expect_eq(th_count(th, DPA_CNT_rnr_nak_retry_err), 1);
	for (uint64_t i = 1; i <= 10; i++) {
		expect_done(th, i, DPA_CQE_OK);
		cr_expect(th_poll(&th->b.rcq, &e));
	}
	cr_expect_not(th_poll(&th->b.rcq, &e));
	th_free(th);
}

/* Message numbers have 24 bits, like PSNs. */
/* IBA 9.7.7 (limit) */
Test(transport_credits, message_numbers_come_round)
{
	struct th *th = wire();

	/* the state after 2^24 - 2 messages */
	th->a.qp->req.una_ssn = th->a.qp->req.send_ssn = 0xfffffe;
	th->b.qp->resp.msn = 0xfffffe;
	receives(th, 32);
	sends(th, 1);
	th_settle(th);
	sends(th, 30);
	th_settle(th);
	for (uint64_t i = 1; i <= 31; i++)
		expect_done(th, i, DPA_CQE_OK);
	cr_expect_eq(th->b.qp->resp.msn, 29);
	cr_expect_eq(th_count(th, DPA_CNT_rnr_nak_retry_err), 0);
	sends(th, 3);
	cr_expect_eq(th_drop_all(&th->a), 1, "one receive is left");
	th_free(th);
}
