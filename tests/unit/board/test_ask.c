/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_ask.c - requests of tools to all processes: each process sees each request, complete, and
 * only processes of that adapter instance.
 */
#include "util.h"
#include "tables/tables.h"

TestSuite(board_ask, .init = bt_setup, .fini = bt_teardown);

static struct dpa_board *peek(void)
{
	struct dpa_board_cfg cfg = bt_cfg();
	struct dpa_board *b = NULL;
	int rc = dpa_board_peek(&cfg, &b, bt_err, sizeof(bt_err));

	cr_assert_eq(rc, 0, "%s", bt_err);
	return b;
}

Test(board_ask, everybody_sees_it)
{
	struct dpa_board *a = bt_open(), *b = bt_open(), *tool = peek();
	char text[DPA_BOARD_ASK_TEXT];
	uint32_t gen, first;

	cr_expect_eq(dpa_board_ask_gen(a, DPA_ASK_FAULT), 0u);
	cr_assert_eq(dpa_board_ask_put(tool, DPA_ASK_FAULT, "drop=1%", &first), 0);
	cr_assert(dpa_board_ask_get(a, DPA_ASK_FAULT, text, &gen));
	cr_expect_str_eq(text, "drop=1%");
	cr_expect_eq(gen, first);
	cr_expect_eq(dpa_board_ask_gen(b, DPA_ASK_FAULT), first);
	cr_expect_eq(dpa_board_ask_gen(b, DPA_ASK_CAPTURE), 0u, "the other is not touched");
	cr_assert_eq(dpa_board_ask_put(tool, DPA_ASK_FAULT, "", &gen), 0);
	cr_expect_neq(gen, first);
	cr_assert(dpa_board_ask_get(b, DPA_ASK_FAULT, text, &gen));
	cr_expect_str_eq(text, "");
	dpa_board_unpeek(tool);
	dpa_board_close(a);
	dpa_board_close(b);
}

Test(board_ask, a_writer_that_died_is_not_believed)
{
	struct dpa_board *a = bt_open(), *tool = peek();
	char text[DPA_BOARD_ASK_TEXT];
	uint32_t gen;

	cr_assert_eq(dpa_board_ask_put(tool, DPA_ASK_FAULT, "drop=1%", &gen), 0);
	atomic_fetch_add(&a->shm->head.ask[DPA_ASK_FAULT].gen, 1); /* the write has begun */
	cr_expect_not(dpa_board_ask_get(a, DPA_ASK_FAULT, text, &gen));
	cr_assert_eq(dpa_board_ask_put(tool, DPA_ASK_FAULT, "dup=1%", &gen), 0);
	cr_assert(dpa_board_ask_get(a, DPA_ASK_FAULT, text, &gen));
	cr_expect_str_eq(text, "dup=1%");
	dpa_board_unpeek(tool);
	dpa_board_close(a);
}

Test(board_ask, the_generation_never_comes_to_0_again)
{
	struct dpa_board *a = bt_open(), *tool = peek();
	uint32_t gen;

	atomic_store(&a->shm->head.ask[DPA_ASK_FAULT].gen, UINT32_MAX - 1);
	cr_assert_eq(dpa_board_ask_put(tool, DPA_ASK_FAULT, "", &gen), 0);
	cr_expect_eq(gen, 2u);
	dpa_board_unpeek(tool);
	dpa_board_close(a);
}

Test(board_ask, too_long_is_refused)
{
	struct dpa_board *a = bt_open(), *tool = peek();
	char text[DPA_BOARD_ASK_TEXT + 1];
	uint32_t gen;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_expect_eq(dpa_board_ask_put(tool, DPA_ASK_CAPTURE, text, &gen), EINVAL);
	text[sizeof(text) - 2] = '\0';
	cr_expect_eq(dpa_board_ask_put(tool, DPA_ASK_CAPTURE, text, &gen), 0);
	dpa_board_unpeek(tool);
	dpa_board_close(a);
}

Test(board_ask, a_board_that_is_gone)
{
	struct dpa_board *a = bt_open(), *tool = peek(), *next;
	uint32_t gen;

	dpa_board_close(a);
	cr_expect_eq(dpa_board_ask_put(tool, DPA_ASK_FAULT, "off", &gen), ENOENT);
	next = bt_open(); /* another board with the same name */
	cr_expect_eq(dpa_board_ask_put(tool, DPA_ASK_FAULT, "off", &gen), ENOENT);
	cr_expect_eq(dpa_board_ask_gen(next, DPA_ASK_FAULT), 0u);
	dpa_board_unpeek(tool);
	dpa_board_close(next);
}

Test(board_ask, a_slot_taken_anew_follows_nobody)
{
	struct dpa_board *a = bt_open(), *keeper = bt_open();

	atomic_store(&a->self->asked[0], 8);
	dpa_board_close(a);
	a = bt_open();
	cr_expect_eq(atomic_load(&a->self->asked[0]), 0u);
	dpa_board_close(a);
	dpa_board_close(keeper);
}
