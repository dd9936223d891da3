/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_uc.c - unreliable connected: no answers, lost packets stay lost, and the next message is
 * whole again.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include "ctx/mr.h"
#include "transport/api.h"
#include "harness.h"
#include "inject/inject.h"

#define MTU 1024u

static struct th *uc(void)
{
	return th_new(&(struct th_opt){.type = DPA_QP_UC, .psn = 0xfffffe});
}

static void expect_recv(struct th *th, uint64_t wr_id, uint32_t len)
{
	struct dpa_cqe e = {0};

	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect_eq(e.wr_id, wr_id);
	cr_expect_eq(e.byte_len, len);
	cr_expect_not(th_poll(&th->b.rcq, &e));
}

static void expect_nothing(struct th *th)
{
	struct dpa_cqe e;
	struct th_pkt p;

	cr_expect_not(th_poll(&th->b.rcq, &e));
	cr_expect_not(th_take(&th->b, &p), "UC answers nothing");
}

/* IBA 9.8.2 (sent) */
Test(transport_uc, is_complete_when_it_was_sent)
{
	struct th *th = uc();
	struct dpa_cqe e;

	th_send(&th->a, DPA_OP_SEND, 0, 5000, 0);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 20000, 0);
	for (int i = 0; i < 2; i++) {
		cr_assert(th_poll(&th->a.scq, &e));
		cr_expect_eq(e.status, DPA_CQE_OK);
	}
	cr_expect_gt(th_drop_all(&th->a), 2u);
	th_free(th);
}

/* To another host, too: after the completion the program may write to the memory. */
Test(transport_uc, what_is_complete_is_not_read_again)
{
	struct th *th = th_new(&(struct th_opt){.type = DPA_QP_UC, .psn = 0xfffffe, .wire = true});
	struct dpa_cqe e;

	th_fill(th->a.mem, 20000, 1);
	th_recv(&th->b, 1, 100000, 20000);
	th_send(&th->a, DPA_OP_SEND, 0, 20000, 0);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	th_fill(th->a.mem, 20000, 2);
	th_settle(th);
	expect_recv(th, 1, 20000);
	cr_expect(th_check(th->b.mem + 100000, 20000, 1));
	th_free(th);
}

Test(transport_uc, send_and_write_arrive)
{
	struct th *th = uc();

	th_fill(th->a.mem, 20000, 1);
	th_recv(&th->b, 1, 100000, 20000);
	th_recv(&th->b, 2, 0, 0);
	th_send(&th->a, DPA_OP_SEND, 0, 20000, 0);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 20000, 200000);
	th_settle(th);
	expect_recv(th, 1, 20000);
	cr_expect(th_check(th->b.mem + 100000, 20000, 1));
	cr_expect(th_check(th->b.mem + 200000, 20000, 1));
	th_send(&th->a, DPA_OP_RDMA_WRITE_IMM, 0, 20000, 200000);
	th_settle(th);
	expect_recv(th, 2, 20000);
	expect_nothing(th);
	th_free(th);
}

/*
 * A WRITE without immediate data comes while a receive is held for a message that was cut off: it ends
 * no receive, so no injected failure of one may meet it.
 */
Test(transport_uc, a_write_fails_no_receive)
{
	struct dpa_inject_spec s;
	struct dpa_cqe e;
	struct th_pkt p;
	struct th *th = uc();

	cr_assert(dpa_inject_parse(
		"wc=LOC_PROT_ERR,n=1,op=RECV_RDMA_WITH_IMM+wc=LOC_PROT_ERR,n=1,op=RECV", &s));
	dpa_inject_set(&s);
	th->b.qp->slow.inspected = true;
	th_recv(&th->b, 7, 0, 30000);
	th_send(&th->a, DPA_OP_SEND, 0, 20000, 0);
	for (bool first = true; th_take(&th->a, &p); first = false)
		if (first)
			th_give(&th->b, &p);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 40000);
	th_settle(th);
	expect_nothing(th);
	th_send(&th->a, DPA_OP_SEND, 0, 10, 0);
	th_settle(th);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.status, DPA_CQE_LOC_PROT_ERR);
	cr_expect_eq(e.wr_id, 7);
	th_free(th);
}

static void *settle_cancelled(void *arg)
{
	pthread_cancel(pthread_self()); /* at the next cancellation point */
	th_now_step = 100000;
	th_settle(arg);
	th_now_step = 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return arg;
}

/* A thread of the program that is cancelled while it waits for slow pages keeps no lock of the QP. */
Test(transport_uc, slow_pages_are_no_cancellation_point)
{
	struct dpa_inject_spec s;
	pthread_t thread;
	struct th *th;
	void *end;

	cr_assert(dpa_inject_parse("mr=slow:2ms,times=all", &s));
	dpa_inject_set(&s);
	th = uc();
	th->b.qp->slow.inspected = true;
	th_recv(&th->b, 7, 0, 100);
	th_send(&th->a, DPA_OP_SEND, 0, 100, 0);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 40000);
	cr_assert_gt(dpa_mr_slow(th->hw, th->b.key), 0);
	cr_assert_eq(pthread_create(&thread, NULL, settle_cancelled, th), 0);
	cr_assert_eq(pthread_join(thread, &end), 0);
	cr_assert_eq(end, th, "the thread went on");
	expect_recv(th, 7, 100);
	th_free(th);
}

/*
 * A message of three entries, one of which is lost: it is dropped; its receive serves the next one.
 */
/* IBA 9.8.2 (gap) */
Test(transport_uc, a_hole_drops_the_message)
{
	for (int lost = 0; lost < 3; lost++) {
		struct th *th = uc();
		struct th_pkt p;

		th_recv(&th->b, 7, 0, 30000);
		th_send(&th->a, DPA_OP_SEND, 0, 20000, 0);
		for (int i = 0; th_take(&th->a, &p); i++)
			if (i != lost)
				th_give(&th->b, &p);
		expect_nothing(th);
		th_send(&th->a, DPA_OP_SEND, 0, 10, 0);
		th_settle(th);
		expect_recv(th, 7, 10);
		th_free(th);
	}
}

/* IBA 9.8.2 (no-receive) */
Test(transport_uc, no_receive_drops_the_message)
{
	struct th *th = uc();

	th_send(&th->a, DPA_OP_SEND, 0, 20000, 0);
	th_settle(th);
	expect_nothing(th);
	th_recv(&th->b, 9, 0, 100);
	th_send(&th->a, DPA_OP_SEND, 0, 10, 0);
	th_settle(th);
	expect_recv(th, 9, 10);
	th_free(th);
}

/*
 * No receive for the immediate at the end of a WRITE: the responder took the next message for its
 * rest.
 */
Test(transport_uc, after_a_write_without_a_receive_the_next_message_goes)
{
	struct th *th = uc();

	th_send(&th->a, DPA_OP_RDMA_WRITE_IMM, 0, 20000, 0);
	th_settle(th);
	expect_nothing(th);
	th_recv(&th->b, 9, 0, 100);
	th_send(&th->a, DPA_OP_SEND, 0, 10, 0);
	th_settle(th);
	expect_recv(th, 9, 10);
	th_free(th);
}

/*
 * A sender that dropped a message continues with the next PSN: a FIRST or ONLY starts a new
 * message.
 */
/* IBA 9.8.2 (start) */
Test(transport_uc, a_new_message_in_the_middle_of_another_goes)
{
	struct th *th = uc();
	struct th_pkt p;

	th_recv(&th->b, 9, 0, 5000);
	th_forge(&th->a, &p, DPA_BTH_UC | DPA_BTH_SEND_FIRST, 0xfffffe, MTU);
	th_give(&th->b, &p);
	th_forge(&th->a, &p, DPA_BTH_UC | DPA_BTH_SEND_ONLY, 0xffffff, 10);
	th_give(&th->b, &p);
	expect_recv(th, 9, 10);
	th_free(th);
}

/* A malformed packet of a message: the following packets were taken for the message's end. */
/* IBA 9.8.2 (bad) */
Test(transport_uc, a_bad_packet_drops_its_message)
{
	struct th *th = uc();
	struct th_pkt p;

	th_recv(&th->b, 9, 0, 5000);
	th_forge(&th->a, &p, DPA_BTH_UC | DPA_BTH_SEND_FIRST, 0xfffffe, MTU);
	th_give(&th->b, &p);
	th_forge(&th->a, &p, DPA_BTH_UC | DPA_BTH_SEND_MIDDLE, 0xffffff, MTU - 1);
	th_give(&th->b, &p);
	th_forge(&th->a, &p, DPA_BTH_UC | DPA_BTH_SEND_LAST, 0, 10);
	th_give(&th->b, &p);
	expect_nothing(th);
	th_forge(&th->a, &p, DPA_BTH_UC | DPA_BTH_SEND_ONLY, 1, 11);
	th_give(&th->b, &p);
	expect_recv(th, 9, 11);
	th_free(th);
}

/* IBA 9.8.2 (permission) */
Test(transport_uc, a_write_that_is_not_allowed_is_dropped)
{
	struct th *th = uc();
	struct dpa_cqe e;
	struct th_wr wr = {.op = DPA_OP_RDMA_WRITE,
			   .nsge = 1,
			   .sge = {{(uintptr_t)th->a.mem, 100, th->a.key}},
			   .raddr = (uintptr_t)th->b.mem,
			   .rkey = th->b.key ^ 1};

	th_fill(th->a.mem, 100, 1);
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	th_settle(th);
	cr_expect_eq(th->b.mem[3], 0);
	cr_expect_eq(th->b.qp->state, DPA_QPS_RTS);
	wr.rkey = th->b.key;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	th_settle(th);
	cr_expect(th_check(th->b.mem, 100, 1));
	cr_expect_not(th_poll(&th->b.rcq, &e));
	th_free(th);
}

/* IBA 10.3.1: a local fault stops the send queue only. */
/* IBA 9.9 (sqe) */
Test(transport_uc, a_local_fault_leads_to_sqe)
{
	struct th *th = uc();
	struct th_wr wr = {
		.op = DPA_OP_SEND, .nsge = 1, .sge = {{(uintptr_t)th->a.mem, 100, th->a.key ^ 1}}};
	struct dpa_cqe e;

	cr_assert(th_post(&th->a, &wr));
	wr.sge[0].lkey = th->a.key;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_LOC_PROT_ERR);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR);
	cr_expect_eq(th->a.qp->state, DPA_QPS_SQE);
	th_recv(&th->a, 5, 0, 100);
	th_send(&th->b, DPA_OP_SEND, 0, 10, 0);
	th_settle(th);
	cr_assert(th_poll(&th->a.rcq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	th_free(th);
}

/*
 * A message that is longer than its receive is lost; the QP and the receive stay usable for the
 * next one: a sender must not be able to stop the receiver.
 */
/* IBA 9.8.2 (bad), 9.8.2 (too-short) */
Test(transport_uc, too_long_for_its_receive)
{
	static const uint32_t longer[] = {101, MTU, 20000};
	struct th *th = uc();
	struct dpa_cqe e;

	th_fill(th->a.mem, 20000, 4);
	for (int i = 0; i < 3; i++) {
		th_recv(&th->b, (uint64_t)i + 1, 100000, 100);
		th_send(&th->a, DPA_OP_SEND, 0, longer[i], 0);
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 3000, 200000);
		th_settle(th);
		expect_nothing(th);
		cr_expect_eq(th->b.qp->state, DPA_QPS_RTS);
		th_send(&th->a, DPA_OP_SEND, 0, 100, 0);
		th_settle(th);
		expect_recv(th, (uint64_t)i + 1, 100);
		cr_expect(th_check(th->b.mem + 100000, 100, 4));
		cr_expect_eq(th_count(th, DPA_CNT_resp_local_length_error), (uint64_t)i + 1);
		while (th_poll(&th->a.scq, &e))
			cr_expect_eq(e.status, DPA_CQE_OK);
	}
	th_free(th);
}

/* A message that is too long ends in the middle: its receive is flushed once. */
Test(transport_uc, too_long_then_error)
{
	struct th *th = uc();
	struct dpa_qp_attr a = {.state = DPA_QPS_ERR};
	struct dpa_cqe e;

	th_recv(&th->b, 7, 0, 100);
	th_send(&th->a, DPA_OP_SEND, 0, 5000, 0);
	th_settle(th);
	expect_nothing(th);
	cr_assert_eq(dpa_hw_modify_qp(th->b.qp, &a, DPA_QPM_STATE), 0);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.wr_id, 7);
	cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR);
	cr_expect_not(th_poll(&th->b.rcq, &e));
	th_free(th);
}

/*
 * A packet without a receive waits in its ring for a receiver that keeps up, even if its round over
 * 16 QPs takes long, but not for one that has stopped posting; and only once until it posts again.
 */
Test(transport_uc, a_receiver_gets_a_moment_to_post)
{
	struct th *th = th_new(&(struct th_opt){.type = DPA_QP_UC});
	struct th_pkt p;

	th_send(&th->a, DPA_OP_SEND, 0, 8, 0);
	th_ring(&th->a);
	cr_assert(th_take(&th->a, &p));
	for (int again = 0; again < 2; again++) {
		cr_expect(dpa_rx_must_wait(th->b.qp, th->peer, &p.s));
		th_now += 40000000ull;
		cr_expect(dpa_rx_must_wait(th->b.qp, th->peer, &p.s), "it does so after 40 ms");
		th_now += 20000000ull;
		cr_expect_not(dpa_rx_must_wait(th->b.qp, th->peer, &p.s), "it does not");
		cr_expect_not(dpa_rx_must_wait(th->b.qp, th->peer, &p.s), "once");
		cr_assert(th_recv(&th->b, 1, 0, 100));
		cr_expect_not(dpa_rx_must_wait(th->b.qp, th->peer, &p.s), "there is one");
		th->b.qp->rq_ci = th->b.dbrec.rq_pi;
	}
	th_free(th);
}

/* Return the time that the end of a QP takes if its rate lets nothing leave for so long. */
static uint64_t ends_in(struct th_side *s, uint64_t ns)
{
	uint64_t from = th_now;

	cr_assert_eq(dpa_hw_set_rate(s->qp, &(struct dpa_rate){8000, 16384}), 0);
	s->qp->rate_at = th_now + ns;
	th_send(s, DPA_OP_SEND, 0, 100, 0);
	th_now_step = 1000000;
	dpa_hw_destroy_qp(s->qp);
	s->qp = NULL;
	th_now_step = 0;
	return th_now - from;
}

/* The peer has taken all packets: that is no reason to drop those of another QP. */
Test(transport_uc, a_rate_that_holds_up_an_end_is_not_the_peers)
{
	struct th *th = uc();
	struct dpa_tx *tx = &th->peer->tx[th->b.qp->lane];
	uint32_t head = tx->head;

	cr_expect_geq(ends_in(&th->a, 10000000000u), 900000000u);
	cr_expect_geq(ends_in(&th->b, 300000000), 200000000u);
	cr_expect_neq(tx->head, head, "it was sent");
	th_free(th);
}
