/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_foreign_room.c - a QP with memory that is copied more slowly than packets arrive
 * (foreign/foreign.h): its window is full, and only this QP waits (transport/ask.c). A thread of
 * the device copies.
 */
#include "foreign_two.h"
#include "eu/drain.h"
#include "eu/progress.h"
#include "transport/api.h"
#include "send/req_state.h"

static struct th_wr plain_write(struct two *t, struct th_side *s, uint32_t off, uint32_t len)
{
	return (struct th_wr){.op = DPA_OP_RDMA_WRITE,
			      .nsge = 1,
			      .sge = {{(uintptr_t)s->mem + off, len, s->key}},
			      .raddr = (uintptr_t)s->other->mem + off,
			      .rkey = s->other->key};
}

enum { BIG = 64 << 10, BIGS = SIZE / BIG + 20 };

/* Send more than the window holds, from plain memory of A into memory of B whose copies wait. */
static void overfill(struct two *t)
{
	struct th_side *a = &t->th->a;
	struct th_wr wr;

	th_fill(a->mem, BIG, 5);
	atomic_store(&t->b.closed, true);
	for (uint32_t i = 0; i < BIGS; i++) {
		wr = plain_write(t, a, 0, BIG);
		wr.raddr = (uintptr_t)t->b.view + i % (SIZE / BIG) * BIG;
		wr.rkey = t->b.key;
		wr.flags = DPA_WQE_SIGNALED;
		cr_assert(th_post(a, &wr));
	}
	th_ring(a);
}

static void expect_big_bytes(struct two *t)
{
	for (uint32_t i = 0; i < SIZE / BIG; i++)
		cr_expect(th_check(t->b.bytes + i * BIG, BIG, 5), "%u", i);
}

/* It costs no retry (none are allowed); its timer only covers a lost message. */
Test(transport_foreign_room, a_full_window_costs_no_retry, .timeout = 60)
{
	struct dpa_cqe e;
	struct two t;

	begin(&t, &(struct th_opt){.timeout = 8});
	overfill(&t);
	for (int i = 0; i < 20; i++) {
		th_settle(t.th);
		cr_expect_eq(dpa_req_state(t.th->a.qp), DPA_REQ_TIMER);
		cr_assert_not(th_poll(&t.th->a.scq, &e));
		if (i % 2)
			th_tick(t.th);
	}
	atomic_store(&t.b.closed, false);
	for (uint32_t i = 0; i < BIGS; i++)
		expect_ok(&t, &t.th->a.scq, 0);
	expect_big_bytes(&t);
	cr_expect_eq(th_count(t.th, DPA_CNT_packet_seq_err), 0u);
	cr_expect_eq(th_count(t.th, DPA_CNT_local_ack_timeout_err), 0u);
	end(&t);
}

/* One ring for the packets of both, as for QPs between two processes. */
static void begin_in_one_ring(struct two *t, const struct th_opt *opt)
{
	begin(t, opt);
	t->th->b.qp->lane = t->th->a.qp->lane;
}

static void drain_all(struct two *t)
{
	while (dpa_lane_drain(&t->th->peer->rx[t->th->a.qp->lane]) + dpa_progress_once(t->th->hw))
		;
	th_flush(&t->th->a);
	th_flush(&t->th->b);
}

static void drain_until_ok(struct two *t, struct th_cq *cq)
{
	struct dpa_cqe e;

	while (!th_poll(cq, &e)) {
		drain_all(t);
		sched_yield();
	}
	cr_assert_eq(e.status, DPA_CQE_OK, "status %u, reason %#x", e.status, e.vendor_err);
}

/* Packets of another QP, after those that find no room in the same ring. */
static void others_pass(struct two *t)
{
	struct th_side *b = &t->th->b;
	struct th_wr wr;

	for (uint32_t i = 0; i < 10; i++) {
		th_fill(b->mem + SIZE / 2, 100, 100 + i);
		wr = plain_write(t, b, SIZE / 2, 100);
		cr_assert(th_post(b, &wr));
		th_ring(b);
		for (int k = 0; k < 20; k++)
			drain_all(t);
		cr_assert(th_check(t->th->a.mem + SIZE / 2, 100, 100 + i), "they wait");
	}
}

Test(transport_foreign_room, a_full_window_holds_up_its_qp_alone, .timeout = 60)
{
	struct two t;

	begin_in_one_ring(&t, &(struct th_opt){0});
	overfill(&t);
	for (int k = 0; k < 20; k++)
		drain_all(&t);
	others_pass(&t);
	atomic_store(&t.b.closed, false);
	for (uint32_t i = 0; i < BIGS; i++)
		drain_until_ok(&t, &t.th->a.scq);
	expect_big_bytes(&t);
	end(&t);
}

/* READs into memory whose copies wait: no more is requested than there is room for. */
Test(transport_foreign_room, reads_ask_for_what_has_room, .timeout = 60)
{
	struct two t;

	begin_in_one_ring(&t, &(struct th_opt){.rd = 16, .dest_rd = 16});
	th_fill(t.b.bytes, SIZE, 9);
	atomic_store(&t.a.closed, true);
	for (uint32_t i = 0; i < 3; i++)
		post(&t, &t.th->a, one_sided(&t, DPA_OP_RDMA_READ, 0, SIZE));
	for (int k = 0; k < 2000; k++) {
		drain_all(&t);
		sched_yield();
	}
	cr_expect_gt(puts_of(t.th->a.qp), 0u);
	others_pass(&t);
	atomic_store(&t.a.closed, false);
	for (uint32_t i = 0; i < 3; i++)
		drain_until_ok(&t, &t.th->a.scq);
	cr_expect(th_check(t.a.bytes, SIZE, 9));
	end(&t);
}

/*
 * A state change at the end reports to the requester, too: the QP that could take nothing
 * continues.
 */
Test(transport_foreign_room, a_refused_requester_sees_the_error, .timeout = 60)
{
	struct late l = {.act = fail_qp};
	pthread_t thread;
	struct dpa_cqe e;
	struct two t;

	begin(&t, &(struct th_opt){.timeout = 8, .retry = 1});
	overfill(&t);
	th_settle(t.th);
	l.t = &t;
	cr_assert_eq(pthread_create(&thread, NULL, late_main, &l), 0);
	for (int i = 0; i < 200; i++)
		sched_yield();
	atomic_store(&t.b.closed, false);
	pthread_join(thread, NULL);
	do
		e = until_cqe(&t, &t.th->a.scq);
	while (e.status == DPA_CQE_OK);
	cr_expect_eq(e.status, DPA_CQE_RETRY_EXC_ERR, "%u", e.status);
	end(&t);
}
