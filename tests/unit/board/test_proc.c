/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_proc.c - process slots, generations, counters. */
#include "util.h"
#include "tables/tables.h"
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

TestSuite(board_proc, .init = bt_setup, .fini = bt_teardown);

/* More than an index of 8 bits has room for. */
Test(board_proc, three_hundred_processes)
{
	enum { N = 300 };
	struct dpa_board *b[N];
	uint32_t qpn[N], slot, gen;

	for (int i = 0; i < N; i++) {
		b[i] = bt_open();
		cr_assert_eq(b[i]->slot, (uint32_t)i);
		cr_assert_eq(dpa_board_qpn_alloc(b[i], &qpn[i]), 0);
	}
	for (int i = 0; i < N; i++) {
		cr_expect(dpa_board_qpn_owner(b[0], qpn[i], &slot, &gen));
		cr_expect(slot == (uint32_t)i && gen == b[i]->gen, "%d: %u %u", i, slot, gen);
		cr_expect(dpa_board_alive(b[1], slot, gen));
	}
	dpa_board_close(b[277]);
	cr_expect_not(dpa_board_qpn_owner(b[0], qpn[277], &slot, &gen));
	b[277] = bt_open();
	cr_expect_eq(b[277]->slot, 277u);
	for (int i = 0; i < N; i++)
		dpa_board_close(b[i]);
	cr_expect_eq(access(bt_path, F_OK), -1);
}

/*
 * Stand-ins for processes [from, to): the data of a living process in the file, and their lock
 * bytes, all held by the returned descriptor. Closing it is their death.
 */
static int stand_ins(struct dpa_board *b, uint32_t from, uint32_t to)
{
	int fd = open(bt_path, O_RDWR | O_CLOEXEC);
	struct flock fl = {.l_type = F_WRLCK,
			   .l_whence = SEEK_SET,
			   .l_start = DPA_BOARD_LOCK_PROC + from,
			   .l_len = to - from};

	cr_assert_geq(fd, 0);
	for (uint32_t i = from; i < to; i++) {
		struct dpa_board_proc *p = &b->shm->procs[i];

		cr_assert_eq(dpa_board_reserve(b, DPA_BOARD_OFF_PROCS + i * sizeof(*p), sizeof(*p)),
			     0);
		atomic_store(&p->gen, 1);
		atomic_store(&p->state, DPA_PROC_LIVE);
	}
	cr_assert_eq(fcntl(fd, F_OFD_SETLK, &fl), 0);
	return fd;
}

/* The last index is usable like any other; one more is an error that names the limit. */
Test(board_proc, table_is_full)
{
	const uint32_t last = DPA_BOARD_PROCS - 1;
	struct dpa_board *a = bt_open(), *b, *more;
	int fd = stand_ins(a, 1, last);
	uint32_t qpn, xqpn, slot, gen, page, uar;

	b = bt_open();
	cr_assert_eq(b->slot, last);
	cr_expect(dpa_board_alive(a, last, b->gen));
	cr_assert_eq(dpa_board_qpn_alloc(b, &qpn), 0);
	cr_expect(dpa_board_qpn_owner(a, qpn, &slot, &gen));
	cr_expect(slot == last && gen == b->gen);
	cr_assert_eq(dpa_board_uar_alloc(b, &page, &uar), 0);
	cr_assert_eq(dpa_board_xrc_srq_add(b, 1, &xqpn), 0);
	cr_expect_not_null(dpa_board_counters(a, last));
	cr_expect_eq(bt_try(&more, BT_VERSION), ENOSPC);
	cr_expect_not_null(strstr(bt_err, "4096"), "%s", bt_err);
	cr_expect_eq(dpa_board_reap(a), 0, "all live");

	/* they die; the next process finds a place at once, and all are reaped when necessary */
	close(fd);
	more = bt_open();
	cr_expect_geq(more->slot, 1u);
	cr_expect_lt(more->slot, last);
	dpa_board_reap(a);
	cr_expect_eq(bt_procs(a), 3);
	cr_expect(dpa_board_qpn_owner(a, qpn, &slot, &gen), "the last one lives");
	dpa_board_close(more);
	dpa_board_close(b);
	cr_expect_eq(bt_qpns(a), 0);
	cr_expect_eq(bt_uars(a), 0);
	dpa_board_close(a);
	cr_expect_eq(access(bt_path, F_OK), -1);
}

/* Each open checks some processes for dead ones, not all, and each time others. */
Test(board_proc, dead_processes_are_found_round_robin)
{
	enum { N = 1000 };
	struct dpa_board *a = bt_open(), *b;
	int fd = stand_ins(a, 1, N), rounds = 0;

	close(fd);
	while (bt_procs(a) > 1 && rounds++ < 10) {
		b = bt_open();
		cr_expect_lt(b->slot, DPA_BOARD_REAP_SOME + 1);
		dpa_board_close(b);
	}
	cr_expect_leq(rounds, N / (int)DPA_BOARD_REAP_SOME + 1);
	dpa_board_close(a);
}

/* A process takes two pages at most, and nothing before it starts. */
Test(board_proc, costs_nothing_until_it_is_there)
{
	struct dpa_board *a = bt_open(), *b[40];
	struct stat st;
	blkcnt_t one;

	cr_assert_eq(fstat(a->fd, &st), 0);
	one = st.st_blocks;
	cr_expect_leq(one * 512, 64 << 10, "%ld", (long)one * 512);
	for (int i = 0; i < 40; i++)
		b[i] = bt_open();
	cr_assert_eq(fstat(a->fd, &st), 0);
	cr_expect_leq((st.st_blocks - one) * 512, 40 * 4096 + 3 * 4096);
	for (int i = 0; i < 40; i++)
		dpa_board_close(b[i]);
	dpa_board_close(a);
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

static void opens_as_another(void *arg)
{
	struct dpa_board *b;

	prctl(PR_SET_NAME, "another");
	_exit(bt_try(&b, BT_VERSION) ? 2 : 3);
}

/* A reader never takes the name of the next process for that of the last one: gen changes first. */
Test(board_proc, generation_changes_first)
{
	static const char *const steps[] = {"proc-byte", "proc-gen", "proc-named"};
	struct dpa_board *a = bt_open();

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct dpa_board *b = bt_open();
		const struct dpa_board_proc *p = dpa_board_proc(a, b->slot);
		const uint32_t gen = b->gen;
		char comm[sizeof(p->comm)];

		memcpy(comm, p->comm, sizeof(comm));
		dpa_board_close(b);
		cr_assert(bt_dies(opens_as_another, NULL, steps[i], 1), "%s", steps[i]);
		cr_assert(i == 0 || atomic_load(&p->gen) != gen, "%s: of another entry", steps[i]);
		if (atomic_load(&p->gen) == gen)
			cr_expect_eq(memcmp(p->comm, comm, sizeof(comm)), 0, "%s", steps[i]);
	}
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

static void open_and_reap(void *arg)
{
	dpa_board_reap(bt_open());
	(void)arg;
}

/* The second process that cleans up is killed as well: it lost the counter that it was adding. */
Test(board_proc, counters_are_right_at_each_step_of_keeping_them)
{
	static const char *const steps[] = {"count-fold", "count-folded", "count-past"};
	struct dpa_board *a = bt_open();
	_Atomic uint64_t *past = dpa_board_counters_past(a);

	for (uint32_t i = 0; i < 3; i++) {
		bt_wait(bt_fork(count_and_die, NULL));
		cr_expect(bt_dies(open_and_reap, NULL, steps[i], 1), "%s", steps[i]);
		dpa_board_reap(a);
		cr_expect_eq(atomic_load(&past[DPA_CNT_tx_packets]), 1000u * (i + 1), "%s: %lu",
			     steps[i], atomic_load(&past[DPA_CNT_tx_packets]));
		cr_expect_eq(atomic_load(&past[DPA_CNT_peers_died]), 3u * (i + 1), "%s", steps[i]);
	}
	dpa_board_close(a);
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
	cr_expect_null(dpa_board_proc(b, DPA_BOARD_PROCS - 1), "never used");
	cr_expect_eq(dpa_board_proc_next(b, 0), 0u);
	cr_expect_eq(dpa_board_proc_next(b, 16), DPA_BOARD_PROCS, "no further page");
	cr_expect_eq(dpa_board_proc_next(b, UINT32_MAX), DPA_BOARD_PROCS);
	cr_expect_null(dpa_board_counters(b, DPA_BOARD_PROCS));
	cr_expect_null(dpa_board_counters(b, 100), "never used");
	cr_expect_null(dpa_board_cqinfo(b, DPA_BOARD_PROCS));
	cr_expect_null(dpa_board_uar_page(b, DPA_BOARD_UAR_PAGES));
	cr_expect_null(dpa_board_uar_addr(b, 0, DPA_UAR_SLOTS));
	cr_expect_null(dpa_board_uar_addr(b, DPA_BOARD_UAR_PAGES, 0));
	cr_expect_null(dpa_board_qpinfo(b, 0xffffffff));
	dpa_board_close(b);
}
