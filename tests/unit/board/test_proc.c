/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Process slots, generations, counters. */
#include "util.h"

TestSuite(board_proc, .init = bt_setup, .fini = bt_teardown);

Test(board_proc, all_slots)
{
	struct dpa_board *b[DPA_BOARD_PROCS], *more;

	for (int i = 0; i < DPA_BOARD_PROCS; i++) {
		b[i] = bt_open();
		cr_assert_eq(b[i]->slot, (uint32_t)i);
	}
	cr_expect_eq(bt_try(&more, BT_VERSION), ENOSPC);
	cr_expect_not_null(strstr(bt_err, "256"), "%s", bt_err);
	dpa_board_close(b[77]);
	b[77] = bt_open();
	cr_expect_eq(b[77]->slot, 77u);
	for (int i = 0; i < DPA_BOARD_PROCS; i++)
		dpa_board_close(b[i]);
	cr_expect_eq(access(bt_path, F_OK), -1);
}

Test(board_proc, generations)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t slot = b->slot, gen = b->gen;

	cr_expect(dpa_board_alive(a, slot, gen));
	dpa_board_close(b);
	cr_expect_not(dpa_board_alive(a, slot, gen));
	b = bt_open();
	cr_expect_eq(b->slot, slot);
	cr_expect_neq(b->gen, gen);
	cr_expect_not(dpa_board_alive(a, slot, gen), "the one before is still dead");
	cr_expect(dpa_board_alive(a, slot, b->gen));
	cr_expect_not(dpa_board_alive(a, DPA_BOARD_PROCS, 1));
	cr_expect_not(dpa_board_alive(a, 200, 0), "never used");
	dpa_board_close(b);
	dpa_board_close(a);
}

/* A generation that wraps skips 0, which would make an owner word of slot 0 read as free. */
Test(board_proc, generation_never_zero)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t slot = b->slot;

	dpa_board_close(b);
	atomic_store(&dpa_board_proc(a, slot)->gen, UINT32_MAX);
	b = bt_open();
	cr_expect_eq(b->slot, slot);
	cr_expect_eq(b->gen, 1u);
	dpa_board_close(b);
	dpa_board_close(a);
}

static void count_and_die(void *arg)
{
	struct dpa_board *b;

	if (bt_try(&b, BT_VERSION))
		_exit(2);
	atomic_store(&b->counters[DPA_CNT_tx_packets], 1000);
	atomic_store(&b->counters[DPA_CNT_peers_died], 3);
	dpa_board_cqinfo(b, b->slot)[0].cqn = 7;
	kill(getpid(), SIGKILL);
}

Test(board_proc, counters_of_the_dead_are_kept)
{
	struct dpa_board *a = bt_open(), *b = bt_open();

	atomic_store(&b->counters[DPA_CNT_tx_packets], 10);
	dpa_board_close(b);
	cr_expect_eq(atomic_load(&dpa_board_counters_past(a)[DPA_CNT_tx_packets]), 10u);
	bt_wait(bt_fork(count_and_die, NULL));
	cr_expect_eq(dpa_board_reap(a), 1);
	cr_expect_eq(dpa_board_reap(a), 0);
	cr_expect_eq(atomic_load(&dpa_board_counters_past(a)[DPA_CNT_tx_packets]), 1010u);
	cr_expect_eq(atomic_load(&dpa_board_counters_past(a)[DPA_CNT_peers_died]), 3u);
	b = bt_open();
	cr_expect_eq(atomic_load(&b->counters[DPA_CNT_tx_packets]), 0u, "a clean start");
	cr_expect_eq(dpa_board_cqinfo(b, b->slot)[0].cqn, 0u);
	dpa_board_close(b);
	dpa_board_close(a);
}

Test(board_proc, counter_names)
{
	for (int i = 0; i < DPA_CNT_NUM; i++)
		cr_expect(dpa_counter_names[i] && dpa_counter_names[i][0]);
	cr_expect_str_eq(dpa_counter_names[DPA_CNT_tx_packets], "tx_packets");
	cr_expect_str_eq(dpa_counter_names[DPA_CNT_peers_died], "peers_died");
}

Test(board_proc, out_of_range)
{
	struct dpa_board *b = bt_open();

	cr_expect_null(dpa_board_proc(b, DPA_BOARD_PROCS));
	cr_expect_null(dpa_board_counters(b, DPA_BOARD_PROCS));
	cr_expect_null(dpa_board_counters(b, 100), "never used");
	cr_expect_null(dpa_board_cqinfo(b, DPA_BOARD_PROCS));
	cr_expect_null(dpa_board_uar_page(b, DPA_BOARD_UAR_PAGES));
	cr_expect_null(dpa_board_uar_addr(b, 0, DPA_UAR_SLOTS));
	cr_expect_null(dpa_board_uar_addr(b, DPA_BOARD_UAR_PAGES, 0));
	cr_expect_null(dpa_board_qpinfo(b, 0xffffffff));
	dpa_board_close(b);
}
