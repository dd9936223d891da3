/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_together.c - completions that go to their CQ together: those of one batch of packets become
 * visible at once.
 */
#include <criterion/criterion.h>
#include <string.h>
#include "ctx/cq.h"
#include "eu/progress.h"
#include "harness.h"
#include "link/sock.h"
#include "eu/drain.h"

#define LOG_CQ 4u
#define FULL   (1u << LOG_CQ)

static struct th *th;
static struct dpa_hw_cq *cq;
static struct dpa_cqe buf[FULL];
static uint32_t ci, events, seen;

static uint32_t entries(void)
{
	uint32_t n = 0;

	while (n < FULL && buf[(ci + n) % FULL].owner == dpa_cqe_owner(ci + n, LOG_CQ))
		n++;
	return n;
}

/* Record how many entries the callback finds. */
static void on_comp(void *arg)
{
	events++;
	seen = entries();
}

static void make(void)
{
	struct dpa_cq_attr a = {.buf = buf, .ci = &ci, .log_size = LOG_CQ, .comp = on_comp};
	uint32_t cqn;

	th = th_new(&(struct th_opt){0});
	ci = events = seen = 0;
	memset(buf, 0, sizeof(buf));
	cr_assert_eq(dpa_hw_create_cq(&th->ctx, &a, &cq, &cqn), 0);
}

static void done(void)
{
	cr_expect_eq(dpa_hw_destroy_cq(cq), 0);
	th_free(th);
}

static void put(uint32_t n, uint32_t first)
{
	struct dpa_cqe e[FULL + 4] = {0};

	for (uint32_t i = 0; i < n; i++)
		e[i].wr_id = first + i;
	cr_expect_eq(dpa_cq_push_all(cq, e, n), n);
}

Test(cq_together, one_event_behind_all)
{
	make();
	put(3, 0);
	cr_expect_eq(events, 0u, "nobody asked");
	ci = 3;
	dpa_hw_arm_cq(cq, false);
	put(5, 3);
	cr_expect_eq(events, 1u);
	cr_expect_eq(seen, 5u, "all of them are there");
	for (uint64_t i = 0; i < 8; i++)
		cr_expect_eq(buf[i].wr_id, i);
	put(2, 8);
	cr_expect_eq(events, 1u, "not armed again");
	ci = 10;
	put(FULL, 10); /* around the end */
	cr_expect_eq(entries(), FULL);
	done();
}

Test(cq_together, one_that_is_solicited_among_others)
{
	struct dpa_cqe e[4] = {{.wr_id = 0}, {.wr_id = 1}, {.wr_id = 2}, {.wr_id = 3}};

	make();
	dpa_hw_arm_cq(cq, true);
	cr_expect_eq(dpa_cq_push_all(cq, e, 4), 4u);
	cr_expect_eq(events, 0u);
	e[2].flags = DPA_CQE_F_SOLICITED;
	cr_expect_eq(dpa_cq_push_all(cq, e, 4), 4u);
	cr_expect_eq(events, 1u);
	cr_expect_eq(seen, 8u);
	done();
}

Test(cq_together, as_many_as_there_is_room_for)
{
	struct dpa_cqe e[FULL] = {0};

	make();
	put(FULL - 3, 0);
	cr_expect_eq(dpa_cq_push_all(cq, e, 5), 3u);
	cr_expect_eq(th->events[DPA_EVENT_CQ_ERR], 1u);
	cr_expect_eq(entries(), FULL);
	cr_expect_eq(dpa_cq_push_all(cq, e, 1), 0u, "it stays in error");
	done();
}

static void on_batch(void *arg)
{
	const struct dpa_hw_cq *of = arg;

	events++;
	for (seen = 0; of->buf[seen].owner == dpa_cqe_owner(seen, of->log_size); seen++)
		;
}

/* Receive a batch through the ring, as it arrives. */
Test(cq_together, what_one_batch_brings)
{
	struct th *t = th_new(&(struct th_opt){0});
	struct dpa_hw_cq *rcq = t->b.rcq.cq;
	struct dpa_cqe e;

	th = t;
	for (uint32_t i = 0; i < 40; i++) {
		cr_assert(th_recv(&t->b, i, i * 64, 64));
		th_send(&t->a, DPA_OP_SEND, i * 64, 8, 0);
	}
	rcq->comp = on_batch;
	rcq->comp_arg = rcq;
	events = seen = 0;
	dpa_hw_arm_cq(rcq, false);
	cr_assert_gt(dpa_lane_drain(&t->peer->rx[t->a.qp->lane]), 1);
	cr_expect_eq(events, 1u);
	cr_expect_eq(seen, DPA_RUN, "%u were there when it was told", seen);
	for (uint64_t i = 0; i < 40; i++) {
		cr_assert(th_poll(&t->b.rcq, &e), "%u", (unsigned)i);
		cr_expect_eq(e.wr_id, i);
		cr_expect_eq(e.status, DPA_CQE_OK);
	}
	cr_expect_not(th_poll(&t->b.rcq, &e));
	th_settle(t);
	for (uint32_t i = 0; i < 40; i++)
		cr_assert(th_poll(&t->a.scq, &e) && e.status == DPA_CQE_OK);
	th_free(t);
}

/* Messages for which a CQ has no room end their QP; completions with room are written. */
Test(cq_together, a_batch_that_is_too_long)
{
	struct th *t = th_new(&(struct th_opt){0});
	static struct dpa_cqe small[FULL];
	struct dpa_cqe e;
	uint32_t n = 0;

	cr_assert_eq(dpa_hw_resize_cq(t->b.rcq.cq, small, LOG_CQ), 0);
	for (uint32_t i = 0; i < FULL + 5; i++) {
		cr_assert(th_recv(&t->b, i, i * 64, 64));
		th_send(&t->a, DPA_OP_SEND, i * 64, 8, 0);
	}
	while (dpa_lane_drain(&t->peer->rx[t->a.qp->lane]))
		;
	for (; n < FULL && small[n].owner == dpa_cqe_owner(n, LOG_CQ); n++) {
		e = small[n];
		cr_expect_eq(e.wr_id, n);
		cr_expect_eq(e.status, DPA_CQE_OK);
	}
	cr_expect_eq(n, FULL);
	cr_expect_eq(t->events[DPA_EVENT_CQ_ERR], 1u);
	cr_expect(t->b.qp->slow.cqe_lost || t->b.qp->state == DPA_QPS_ERR);
	while (dpa_progress_once(t->hw))
		;
	cr_expect_eq(t->b.qp->state, DPA_QPS_ERR);
	cr_expect_eq(t->events[DPA_EVENT_QP_FATAL], 1u);
	th_free(t);
}
