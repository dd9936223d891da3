/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_race.c - creators, openers and removers at the same time. */
#include "util.h"
#include <fcntl.h>
#include <sys/mman.h>

TestSuite(board_race, .init = bt_setup, .fini = bt_teardown, .timeout = 100);

enum { RACERS = 6, ROUNDS = 40, LAPS = 400 };

struct shared {
	struct bt_signal go, ready, end;
	char (*id)[33]; /* id of each racer's board, in shared memory */
};

static void expect_end(pid_t pid)
{
	int status = bt_wait(pid);

	cr_assert(status == 0, "status %#x", (unsigned)status);
}

static void *shared_mem(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert(p != MAP_FAILED);
	return p;
}

struct racer {
	struct shared *s;
	int k;
};

static void races(void *arg)
{
	struct racer *r = arg;
	struct dpa_board *b;
	int rc;

	bt_signal_wait(&r->s->go);
	rc = bt_try(&b, BT_VERSION);
	if (rc)
		_exit(2);
	memcpy(r->s->id[r->k], b->id, sizeof(b->id));
	bt_signal_send(&r->s->ready);
	bt_signal_wait(&r->s->end);
	if (!dpa_board_file_named(dpa_board_fd(b), bt_path) || !bt_list_whole(b))
		_exit(3);
	dpa_board_close(b);
}

/* Started together without a board: one creates it, all use the same. */
Test(board_race, creators)
{
	struct shared s;
	struct racer r[RACERS];
	pid_t pid[RACERS];

	bt_signal_init(&s.go);
	bt_signal_init(&s.ready);
	bt_signal_init(&s.end);
	s.id = shared_mem(RACERS * sizeof(*s.id));
	for (int round = 0; round < ROUNDS; round++) {
		for (int k = 0; k < RACERS; k++) {
			r[k] = (struct racer){&s, k};
			pid[k] = bt_fork(races, &r[k]);
		}
		for (int k = 0; k < RACERS; k++)
			bt_signal_send(&s.go);
		for (int k = 0; k < RACERS; k++)
			bt_signal_wait(&s.ready);
		for (int k = 0; k < RACERS; k++)
			bt_signal_send(&s.end);
		for (int k = 0; k < RACERS; k++)
			expect_end(pid[k]);
		for (int k = 1; k < RACERS; k++)
			cr_assert_str_eq(s.id[0], s.id[k]);
		cr_assert_eq(access(bt_path, F_OK), -1);
	}
}

/* Open and close as fast as possible: often the last process leaves while another one enters. */
static void comes_and_goes(void *arg)
{
	struct dpa_board *b;
	uint32_t page, slot;

	bt_signal_wait(arg);
	for (int i = 0; i < LAPS; i++) {
		int rc = bt_try(&b, BT_VERSION);

		if (rc) {
			dprintf(2, "%s\n", bt_err);
			_exit(2);
		}
		if (!dpa_board_file_named(dpa_board_fd(b), bt_path))
			_exit(3);
		if (!dpa_board_proc_held(b, b->slot))
			_exit(4);
		if (dpa_board_uar_alloc(b, &page, &slot))
			_exit(5);
		if (atomic_load(&dpa_board_uar_page(b, page)->slot_owner[slot]) != dpa_board_me(b))
			_exit(6);
		dpa_board_close(b);
	}
}

Test(board_race, last_out_and_openers)
{
	struct bt_signal go;
	pid_t pid[RACERS];

	bt_signal_init(&go);
	for (int k = 0; k < RACERS; k++)
		pid[k] = bt_fork(comes_and_goes, &go);
	for (int k = 0; k < RACERS; k++)
		bt_signal_send(&go);
	for (int k = 0; k < RACERS; k++)
		expect_end(pid[k]);
	cr_expect_eq(access(bt_path, F_OK), -1);
}

/* Read while others create and remove boards: never a fault, never an incomplete board. */
static void peeks(void *arg)
{
	struct dpa_board_cfg cfg = bt_cfg();
	struct dpa_board *p;

	bt_signal_wait(arg);
	for (int i = 0; i < LAPS * 4; i++) {
		int rc = dpa_board_peek(&cfg, &p, bt_err, sizeof(bt_err));

		if (rc == ENOENT)
			continue;
		if (rc) {
			dprintf(2, "%s\n", bt_err);
			_exit(2);
		}
		/* the counts change meanwhile: only read everything */
		if (bt_procs(p) > DPA_BOARD_PROCS || bt_uars(p) > DPA_MAX_QP)
			_exit(3);
		dpa_board_unpeek(p);
	}
}

Test(board_race, peekers)
{
	struct bt_signal go;
	pid_t pid[4];

	bt_signal_init(&go);
	for (int k = 0; k < 4; k++)
		pid[k] = bt_fork(k % 2 ? peeks : comes_and_goes, &go);
	for (int k = 0; k < 4; k++)
		bt_signal_send(&go);
	for (int k = 0; k < 4; k++)
		expect_end(pid[k]);
	cr_expect_eq(access(bt_path, F_OK), -1);
}
