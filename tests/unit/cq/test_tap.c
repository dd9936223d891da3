/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_tap.c - a mirror CQ, which gets copies of another one's entries. */
#include <errno.h>
#include <criterion/criterion.h>
#include "harness.h"

#define LOG_CQ 2u

static struct th *th;
static struct queue {
	struct dpa_hw_cq *cq;
	struct dpa_cqe buf[1u << LOG_CQ];
	uint32_t ci, events;
} app, tap;

static void on_comp(void *arg)
{
	((struct queue *)arg)->events++;
}

static void make(struct queue *q, uint32_t flags)
{
	struct dpa_cq_attr a = {.buf = q->buf,
				.ci = &q->ci,
				.log_size = LOG_CQ,
				.flags = flags,
				.comp = on_comp,
				.comp_arg = q};
	uint32_t cqn;

	memset(q, 0, sizeof(*q));
	cr_assert_eq(dpa_hw_create_cq(&th->ctx, &a, &q->cq, &cqn), 0);
}

static void setup(void)
{
	th = th_new(&(struct th_opt){0});
	make(&app, 0);
	make(&tap, DPA_CQ_IGNORE_OVERRUN);
}

static void teardown(void)
{
	th_free(th);
}

TestSuite(cq_tap, .init = setup, .fini = teardown);

static void push(uint64_t wr_id)
{
	struct dpa_cqe e = {.wr_id = wr_id, .status = DPA_CQE_WR_FLUSH_ERR};

	dpa_cq_push(app.cq, &e);
}

static const struct dpa_cqe *at(const struct queue *q, uint32_t i)
{
	const struct dpa_cqe *e = &q->buf[i & ((1u << LOG_CQ) - 1)];

	return e->owner == dpa_cqe_owner(i, LOG_CQ) ? e : NULL;
}

Test(cq_tap, copies_with_an_event)
{
	cr_assert_eq(dpa_hw_tap_cq(app.cq, tap.cq), 0);
	dpa_hw_arm_cq(tap.cq, false);
	push(5);
	cr_assert(at(&app, 0) && at(&tap, 0));
	cr_expect_eq(at(&tap, 0)->wr_id, 5u);
	cr_expect_eq(at(&tap, 0)->status, DPA_CQE_WR_FLUSH_ERR);
	cr_expect_eq(tap.events, 1u);
	cr_expect_eq(app.events, 0u);
	dpa_hw_destroy_cq(app.cq);
	cr_expect_eq(dpa_hw_destroy_cq(tap.cq), 0);
}

/* The program's index and the observer's are independent. */
Test(cq_tap, each_has_its_own_indices)
{
	cr_assert_eq(dpa_hw_tap_cq(app.cq, tap.cq), 0);
	for (uint32_t i = 0; i < 10; i++) {
		push(i);
		app.ci = i + 1;
	}
	for (uint32_t i = 6; i < 10; i++)
		cr_expect(at(&tap, i) && at(&tap, i)->wr_id == i);
	cr_expect(at(&app, 9) && at(&app, 9)->wr_id == 9);
	dpa_hw_destroy_cq(app.cq);
	dpa_hw_destroy_cq(tap.cq);
}

Test(cq_tap, several_into_one_and_lives)
{
	static struct queue other;

	make(&other, 0);
	cr_assert_eq(dpa_hw_tap_cq(app.cq, tap.cq), 0);
	cr_assert_eq(dpa_hw_tap_cq(other.cq, tap.cq), 0);
	cr_expect_eq(dpa_hw_tap_cq(other.cq, tap.cq), EBUSY);
	cr_expect_eq(dpa_hw_destroy_cq(tap.cq), EBUSY);
	cr_expect_eq(dpa_hw_destroy_cq(app.cq), 0);
	cr_expect_eq(dpa_hw_destroy_cq(tap.cq), EBUSY);
	cr_expect_eq(dpa_hw_destroy_cq(other.cq), 0);
	cr_expect_eq(dpa_hw_destroy_cq(tap.cq), 0);
}

Test(cq_tap, what_cannot_be_one)
{
	cr_expect_eq(dpa_hw_tap_cq(app.cq, NULL), EINVAL);
	cr_expect_eq(dpa_hw_tap_cq(tap.cq, tap.cq), EINVAL);
	cr_expect_eq(dpa_hw_tap_cq(tap.cq, app.cq), EINVAL, "it could overrun");
	cr_assert_eq(dpa_hw_tap_cq(app.cq, tap.cq), 0);
	dpa_hw_destroy_cq(app.cq);
	dpa_hw_destroy_cq(tap.cq);
}
