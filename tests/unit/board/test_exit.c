/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_exit.c - a process ends without closing the device: the board's file is removed with the
 * last one.
 */
#include "util.h"

TestSuite(board_exit, .init = bt_setup, .fini = bt_teardown);

static bool there(void)
{
	return access(bt_path, F_OK) == 0;
}

Test(board_exit, alone)
{
	struct dpa_board *b = bt_open(), *c;

	dpa_board_exit(b);
	cr_expect(!there());
	cr_expect(dpa_board_alive(b, b->slot, b->gen), "other threads go on");
	cr_expect(bt_list_whole(b));
	c = bt_open();
	cr_expect_str_neq(b->id, c->id, "who comes now makes one of its own");
	dpa_board_close(b);
	cr_expect(there(), "that is not ours");
	dpa_board_close(c);
	cr_expect(!there());
}

Test(board_exit, others_stay)
{
	struct dpa_board *a = bt_open(), *b = bt_open();

	dpa_board_exit(a);
	cr_expect(there());
	cr_expect(dpa_board_alive(b, b->slot, b->gen));
	/* a's byte is held for as long as its memory */
	dpa_board_close(b);
	cr_expect(!there());
	dpa_board_close(a);
}

Test(board_exit, both)
{
	struct dpa_board *a = bt_open(), *b = bt_open();

	dpa_board_exit(a);
	cr_expect(there());
	dpa_board_exit(b);
	cr_expect(!there(), "each held the byte of the other");
	dpa_board_close(a);
	dpa_board_close(b);
}

/* The record that a slot's last process left at its end does not apply to the next one. */
Test(board_exit, slot_taken_again)
{
	struct dpa_board *a = bt_open(), *b = bt_open(), *c;
	uint32_t slot = b->slot;

	dpa_board_exit(b);
	dpa_board_close(b);
	c = bt_open();
	cr_assert_eq(c->slot, slot);
	dpa_board_exit(a);
	cr_expect(there(), "c is on it");
	dpa_board_close(c);
	cr_expect(!there());
	dpa_board_close(a);
}

struct pair {
	struct bt_signal ready, go;
};

static void end(void *arg)
{
	struct pair *p = arg;
	struct dpa_board *b;

	if (bt_try(&b, BT_VERSION))
		_exit(1);
	bt_signal_send(&p->ready);
	bt_signal_wait(&p->go);
	dpa_board_exit(b);
}

Test(board_exit, at_the_same_time)
{
	struct pair p;

	bt_signal_init(&p.ready);
	bt_signal_init(&p.go);
	for (int i = 0; i < 100; i++) {
		pid_t pid[4];

		for (int j = 0; j < 4; j++) {
			pid[j] = bt_fork(end, &p);
			bt_signal_wait(&p.ready);
		}
		for (int j = 0; j < 4; j++)
			bt_signal_send(&p.go);
		for (int j = 0; j < 4; j++)
			cr_assert_eq(bt_wait(pid[j]), 0);
		cr_assert(!there(), "round %d", i);
	}
}

static void in_child(void *arg)
{
	dpa_board_exit(arg);
}

Test(board_exit, not_of_a_forked_child)
{
	struct dpa_board *b = bt_open();

	cr_assert_eq(bt_wait(bt_fork(in_child, b)), 0);
	cr_expect(there());
	dpa_board_close(b);
}
