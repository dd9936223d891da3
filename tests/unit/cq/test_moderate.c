/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_moderate.c - moderation: the event waits for entries or for time, whichever comes first. */
#include <criterion/criterion.h>
#include "eu/progress.h"
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

static void make(uint16_t count, uint16_t period)
{
	struct dpa_cq_attr a = {.buf = buf, .ci = &ci, .log_size = LOG_CQ, .comp = on_comp};
	uint32_t cqn;

	th = th_new(&(struct th_opt){0});
	cr_assert_eq(dpa_hw_create_cq(&th->ctx, &a, &cq, &cqn), 0);
	cr_assert_eq(dpa_hw_modify_cq(cq, count, period), 0);
}

static void push(int n)
{
	struct dpa_cqe e = {.status = 0};

	while (n--)
		dpa_cq_push(cq, &e);
}

static uint32_t after(uint64_t us)
{
	uint32_t n;

	th_now += us * 1000;
	dpa_progress_once(th->hw);
	n = events;
	events = 0;
	return n;
}

static void done(void)
{
	cr_expect_eq(dpa_hw_destroy_cq(cq), 0);
	th_free(th);
}

Test(cq_moderate, so_many_entries)
{
	make(4, 1000);
	dpa_hw_arm_cq(cq, false);
	push(3);
	cr_expect_eq(after(0), 0u);
	push(1);
	cr_expect_eq(after(0), 1u);
	cr_expect_eq(after(5000), 0u, "once, and it is not armed any more");
	ci = 4;
	dpa_hw_arm_cq(cq, false);
	push(4);
	cr_expect_eq(after(0), 1u, "again");
	done();
}

Test(cq_moderate, so_long)
{
	make(100, 50);
	dpa_hw_arm_cq(cq, false);
	push(1);
	cr_expect_eq(after(49), 0u);
	push(1);
	cr_expect_eq(after(1), 1u, "since the first");
	done();
}

/* Entries that were polled meanwhile cause no event; the CQ stays armed. */
Test(cq_moderate, polled_before)
{
	make(100, 50);
	dpa_hw_arm_cq(cq, false);
	push(2);
	ci = 2;
	cr_expect_eq(after(60), 0u);
	push(1);
	cr_expect_eq(after(40), 0u);
	cr_expect_eq(after(10), 1u);
	done();
}

Test(cq_moderate, switched_off)
{
	make(100, 0);
	dpa_hw_arm_cq(cq, false);
	push(1);
	cr_expect_eq(after(0), 1u, "no period: no waiting");
	cr_expect_eq(dpa_hw_modify_cq(cq, 100, 50), 0);
	ci = 1;
	dpa_hw_arm_cq(cq, false);
	push(1);
	cr_expect_eq(after(0), 0u);
	cr_expect_eq(dpa_hw_modify_cq(cq, 0, 0), 0);
	cr_expect_eq(after(0), 1u, "what was held comes");
	done();
}

/* Destroyed while an event is held: no later access to it. */
Test(cq_moderate, destroyed_while_held)
{
	make(100, 50);
	dpa_hw_arm_cq(cq, false);
	push(1);
	cr_expect_eq(dpa_hw_destroy_cq(cq), 0);
	cr_expect_eq(after(100), 0u);
	th_free(th);
}
