/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_arm.c - events of a CQ: for entries after the arming, and for entries that were not polled
 * before it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include "harness.h"

#define LOG_CQ 4u

static struct th *th;
static struct dpa_hw_cq *cq;
static struct dpa_cqe buf[1u << LOG_CQ];
static uint32_t ci, events;

static void on_comp(void *arg)
{
	events++;
}

static void make(uint32_t flags)
{
	struct dpa_cq_attr a = {
		.buf = buf, .ci = &ci, .log_size = LOG_CQ, .flags = flags, .comp = on_comp};
	uint32_t cqn;

	th = th_new(&(struct th_opt){0});
	ci = events = 0;
	memset(buf, 0, sizeof(buf));
	cr_assert_eq(dpa_hw_create_cq(&th->ctx, &a, &cq, &cqn), 0);
}

static void done(void)
{
	cr_expect_eq(dpa_hw_destroy_cq(cq), 0);
	th_free(th);
}

static void push(uint8_t status, uint8_t flags)
{
	struct dpa_cqe e = {.status = status, .flags = flags};

	dpa_cq_push(cq, &e);
}

/* Return the number of events since the last call. */
static uint32_t came(void)
{
	uint32_t n = events;

	events = 0;
	return n;
}

/* A shift by 32 is one by 0 on some processors: such a CQ had a mask of its driver's choice. */
Test(cq_arm, more_entries_than_there_are)
{
	struct dpa_cq_attr a = {.buf = buf, .ci = &ci};
	struct dpa_hw_cq *none;
	uint32_t cqn;

	th = th_new(&(struct th_opt){0});
	for (a.log_size = 26; a.log_size < 70; a.log_size++)
		cr_expect_eq(dpa_hw_create_cq(&th->ctx, &a, &none, &cqn), EINVAL, "%u", a.log_size);
	th_free(th);
}

Test(cq_arm, what_comes_after)
{
	make(0);
	push(0, 0);
	cr_expect_eq(came(), 0u, "not armed");
	ci = 1;
	dpa_hw_arm_cq(cq, false);
	cr_expect_eq(came(), 0u, "all was polled");
	push(0, 0);
	push(0, 0);
	cr_expect_eq(came(), 1u, "one an arming");
	done();
}

/*
 * A program that takes some entries for each event and arms for the others must not wait for ever.
 */
Test(cq_arm, what_was_left)
{
	make(0);
	dpa_hw_arm_cq(cq, false);
	for (int i = 0; i < 10; i++)
		push(0, 0);
	cr_expect_eq(came(), 1u);
	for (ci = 0; ci < 10; ci += 3) {
		dpa_hw_arm_cq(cq, false);
		cr_expect_eq(came(), 1u, "%u were polled", ci);
	}
	ci = 10;
	dpa_hw_arm_cq(cq, false);
	cr_expect_eq(came(), 0u, "all were");
	push(0, 0);
	cr_expect_eq(came(), 1u, "and it is armed");
	push(0, 0);
	cr_expect_eq(came(), 0u, "once");
	done();
}

/*
 * An event, arming, then polling the reported entry: the next event is for the next entry;
 * otherwise a program that posts after each event finds no room.
 */
Test(cq_arm, one_at_a_time)
{
	make(0);
	dpa_hw_arm_cq(cq, false);
	for (uint32_t i = 0; i < 40; i++) {
		push(0, 0);
		cr_expect_eq(came(), 1u, "entry %u", i);
		dpa_hw_arm_cq(cq, false);
		cr_expect_eq(came(), 0u, "told of %u", i);
		ci = i + 1;
	}
	done();
}

/* IBA 9.2 (se) */
Test(cq_arm, left_ones_that_are_asked_for)
{
	make(0);
	push(0, 0);
	dpa_hw_arm_cq(cq, true);
	cr_expect_eq(came(), 0u, "no solicited one");
	push(0, DPA_CQE_F_SOLICITED);
	cr_expect_eq(came(), 1u);
	dpa_hw_arm_cq(cq, true);
	cr_expect_eq(came(), 0u, "it was told of");
	dpa_hw_arm_cq(cq, true);
	cr_expect_eq(came(), 1u, "it was left");
	ci = 2;
	dpa_hw_arm_cq(cq, true);
	cr_expect_eq(came(), 0u);
	push(DPA_CQE_WR_FLUSH_ERR, 0);
	cr_expect_eq(came(), 1u, "errors are");
	push(DPA_CQE_WR_FLUSH_ERR, 0);
	dpa_hw_arm_cq(cq, true);
	cr_expect_eq(came(), 1u, "nobody was told of the second");
	done();
}

/* The ring wraps around, and the record holds any value that the application wrote. */
Test(cq_arm, wrapped_and_wild)
{
	make(0);
	for (uint32_t i = 0; i < 40; i++) {
		push(0, i % 16 == 15 ? DPA_CQE_F_SOLICITED : 0);
		came(); /* of the previous arming */
		ci = i;
		dpa_hw_arm_cq(cq, true);
		came(); /* it may have been reported */
		dpa_hw_arm_cq(cq, true);
		cr_expect_eq(came(), i % 16 == 15, "%u", i);
		ci = i + 1;
	}
	ci = 0x80000000u;
	dpa_hw_arm_cq(cq, true);
	cr_expect_eq(came(), 1u, "one of the last sixteen");
	ci = 40;
	done();
}

/* If overruns are ignored, the consumer index may be stale: it is not used. */
Test(cq_arm, overrun_ignored)
{
	make(DPA_CQ_IGNORE_OVERRUN);
	push(0, 0);
	dpa_hw_arm_cq(cq, false);
	cr_expect_eq(came(), 0u);
	push(0, 0);
	cr_expect_eq(came(), 1u);
	done();
}
