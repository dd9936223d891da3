/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_kill.c - two hundred processes killed at random instants; afterwards everything is free
 * again.
 */
#include "util.h"
#include "tables/tables.h"
#include <sys/wait.h>
#include <time.h>

TestSuite(board_kill, .init = bt_setup, .fini = bt_teardown, .timeout = 100);

enum { KILLS = 200, AT_ONCE = 4, HELD = 16 };

static const struct dpa_xrcd_attr domain = {.named = true, .create = true, .dev = 1, .ino = 2};

static void lives_dangerously(void *arg)
{
	uint32_t num, at, srqn;
	unsigned int seed = *(unsigned int *)arg;

	for (;;) {
		uint32_t page[HELD], slot[HELD], qpn[HELD];
		struct dpa_board *b;
		int n = 1 + rand_r(&seed) % HELD;

		if (bt_try(&b, BT_VERSION)) {
			dprintf(2, "%s\n", bt_err);
			_exit(2);
		}
		for (int i = 0; i < n; i++) {
			if (dpa_board_uar_alloc(b, &page[i], &slot[i]) ||
			    dpa_board_qpn_alloc(b, &qpn[i]))
				_exit(3);
			atomic_fetch_add(&b->counters[DPA_CNT_doorbells], 1);
		}
		if (dpa_board_xrcd_open(b, &domain, &num, &at) ||
		    dpa_board_xrc_srq_add(b, num, &srqn))
			_exit(4);
		dpa_board_reap(b);
		if (n % 2) {
			dpa_board_xrc_srq_remove(b, srqn);
			dpa_board_xrcd_close(b, at);
		}
		for (int i = 0; i < n / 2; i++) {
			dpa_board_uar_free(b, page[i], slot[i]);
			dpa_board_qpn_free(b, qpn[i]);
		}
		dpa_board_close(b);
	}
}

/* No synchronisation: the test needs a random instant. */
static void some_time(unsigned int *seed)
{
	struct timespec ts = {.tv_nsec = rand_r(seed) % 4000000};

	nanosleep(&ts, NULL);
}

static void kill_many(bool survivor)
{
	static const struct dpa_xrcd_attr none = {.named = true, .dev = 1, .ino = 2};
	struct dpa_board *b = survivor ? bt_open() : NULL;
	uint32_t page, slot;
	unsigned int seed = bt_seed(), life = seed;
	pid_t pid[AT_ONCE];

	for (int k = 0; k < AT_ONCE; k++, life++)
		pid[k] = bt_fork(lives_dangerously, &life);
	for (int i = 0; i < KILLS; i++) {
		int k = i % AT_ONCE;
		int status;

		some_time(&seed);
		kill(pid[k], SIGKILL);
		status = bt_wait(pid[k]);
		cr_assert(WIFSIGNALED(status), "ended by itself: %#x", (unsigned)status);
		life++;
		pid[k] = bt_fork(lives_dangerously, &life);
		if (b && i % 10 == 0) {
			cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
			dpa_board_uar_free(b, page, slot);
		}
	}
	for (int k = 0; k < AT_ONCE; k++)
		bt_kill(pid[k]);
	if (!b)
		b = bt_open();
	dpa_board_reap(b);
	cr_expect_eq(bt_procs(b), 1u);
	cr_expect_eq(bt_uars(b), 0u);
	cr_expect_eq(bt_qpns(b), 0u);
	cr_expect_eq(dpa_board_xrcd_open(b, &none, &page, &slot), EAGAIN);
	for (uint32_t i = 0; i < DPA_MAX_SRQ; i++)
		cr_assert_eq(dpa_board_xrc_srq_add(b, 1, &slot), 0);
	cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
	cr_expect(bt_list_whole(b));
	dpa_board_close(b);
	cr_expect_eq(access(bt_path, F_OK), -1);
}

/* One process survives: the board with it. */
Test(board_kill, beside_a_survivor)
{
	kill_many(true);
}

/* No process survives: the file itself is created, found stale and replaced in between. */
Test(board_kill, everybody)
{
	kill_many(false);
}
