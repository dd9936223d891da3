/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Failures that a tool requests of one process: seen by that process alone, and never half. */
#include "util.h"
#include "tables/tables.h"

TestSuite(board_inject, .init = bt_setup, .fini = bt_teardown);

static struct dpa_board *peek(void)
{
	struct dpa_board_cfg cfg = bt_cfg();
	struct dpa_board *b = NULL;
	int rc = dpa_board_peek(&cfg, &b, bt_err, sizeof(bt_err));

	cr_assert_eq(rc, 0, "%s", bt_err);
	return b;
}

Test(board_inject, one_process_sees_it)
{
	struct dpa_board *a = bt_open(), *b = bt_open(), *tool = peek();
	char text[DPA_BOARD_INJECT_TEXT];
	struct dpa_board_inject *r;
	uint32_t gen, want;

	cr_expect_null(dpa_board_inject_mine(a, false), "no record without a request");
	cr_expect_null(dpa_board_inject_of(tool, a->slot));
	cr_assert_eq(dpa_board_inject_put(tool, a->slot, a->gen, "reg_mr=EIO", &want), 0);
	r = dpa_board_inject_mine(a, false);
	cr_assert_not_null(r);
	cr_assert(dpa_board_inject_request(r, text, &gen));
	cr_expect_str_eq(text, "reg_mr=EIO");
	cr_expect_eq(gen, want);
	cr_expect_eq(dpa_board_inject_gen(r), want);
	cr_expect_null(dpa_board_inject_mine(b, false), "not the other one's");

	cr_expect_neq(dpa_board_inject_seen(dpa_board_inject_of(tool, a->slot)), want);
	dpa_board_inject_follow(r, gen, "reg_mr=EIO,n=1");
	cr_expect_eq(dpa_board_inject_seen(dpa_board_inject_of(tool, a->slot)), want);
	cr_assert(dpa_board_inject_now(dpa_board_inject_of(tool, a->slot), text));
	cr_expect_str_eq(text, "reg_mr=EIO,n=1");

	cr_assert_eq(dpa_board_inject_put(tool, a->slot, a->gen, "off", &gen), 0);
	cr_expect_neq(gen, want);
	cr_expect_eq(dpa_board_inject_mine(a, false), r, "the same record");
	dpa_board_unpeek(tool);
	dpa_board_close(b);
	dpa_board_close(a);
}

Test(board_inject, half_a_text_is_not_read)
{
	struct dpa_board *a = bt_open(), *tool = peek();
	char text[DPA_BOARD_INJECT_TEXT];
	struct dpa_board_inject *r;
	uint32_t gen;

	cr_assert_eq(dpa_board_inject_put(tool, a->slot, a->gen, "reg_mr=EIO", &gen), 0);
	r = dpa_board_inject_mine(a, false);
	atomic_fetch_add(&r->gen, 1); /* a tool began to write and died */
	cr_expect_not(dpa_board_inject_request(r, text, &gen));
	cr_assert_eq(dpa_board_inject_put(tool, a->slot, a->gen, "off", &gen), 0);
	cr_assert(dpa_board_inject_request(r, text, &gen));
	cr_expect_str_eq(text, "off");
	atomic_store(&r->gen, UINT32_MAX - 1);
	cr_assert_eq(dpa_board_inject_put(tool, a->slot, a->gen, "off", &gen), 0);
	cr_expect_eq(gen, 2u, "0 means no request ever");
	dpa_board_unpeek(tool);
	dpa_board_close(a);
}

Test(board_inject, by_the_process_itself)
{
	struct dpa_board *a = bt_open(), *tool = peek();
	struct dpa_board_inject *r = dpa_board_inject_mine(a, true);
	char text[DPA_BOARD_INJECT_TEXT];
	uint32_t gen;

	cr_assert_not_null(r);
	cr_expect_eq(dpa_board_inject_gen(r), 0u);
	dpa_board_inject_follow(r, 0, "alloc_pd=EIO,n=1");
	cr_assert(dpa_board_inject_now(dpa_board_inject_of(tool, a->slot), text));
	cr_expect_str_eq(text, "alloc_pd=EIO,n=1");
	cr_assert_eq(dpa_board_inject_put(tool, a->slot, a->gen, "off", &gen), 0);
	cr_expect_eq(dpa_board_inject_gen(r), gen);
	dpa_board_unpeek(tool);
	dpa_board_close(a);
}

/* An entry that is taken again has no record of the process before, whose record is free again. */
Test(board_inject, ends_with_its_process)
{
	struct dpa_board *keeper = bt_open(), *a, *tool = peek();
	uint32_t gen, before;
	struct dpa_board_inject *r;

	a = bt_open();
	before = a->gen;
	r = dpa_board_inject_mine(a, true);
	cr_assert_not_null(r);
	dpa_board_close(a);
	cr_expect_eq(dpa_board_inject_put(tool, 1, before, "off", &gen), ESRCH);
	for (uint32_t i = 0; i < 2 * DPA_BOARD_INJECTS; i++) {
		a = bt_open();
		cr_assert_null(dpa_board_inject_mine(a, false), "%u", i);
		cr_assert_not_null(dpa_board_inject_mine(a, true), "%u", i);
		dpa_board_close(a);
	}
	dpa_board_unpeek(tool);
	dpa_board_close(keeper);
}

Test(board_inject, refused)
{
	struct dpa_board *a = bt_open(), *tool = peek();
	char text[DPA_BOARD_INJECT_TEXT + 1];
	uint32_t gen, slot = a->slot, its = a->gen;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_expect_eq(dpa_board_inject_put(tool, slot, its, text, &gen), EINVAL);
	text[sizeof(text) - 2] = '\0';
	cr_expect_eq(dpa_board_inject_put(tool, slot, its, text, &gen), 0);
	cr_expect_eq(dpa_board_inject_put(tool, slot, its + 1, "off", &gen), ESRCH);
	dpa_board_close(a);
	cr_expect_eq(dpa_board_inject_put(tool, slot, its, "off", &gen), ENOENT);
	dpa_board_unpeek(tool);
}
