/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_xrc.c - XRC domains by file, and the owners of XRC SRQs. */
#include "util.h"
#include "tables/tables.h"
#include <sched.h>
#include <sys/mman.h>

TestSuite(board_xrc, .init = bt_setup, .fini = bt_teardown, .timeout = 60);

static const struct dpa_xrcd_attr find = {.named = true, .dev = 5, .ino = 77};
static const struct dpa_xrcd_attr make = {.named = true, .create = true, .dev = 5, .ino = 77};
static const struct dpa_xrcd_attr make_new = {
	.named = true, .create = true, .exclusive = true, .dev = 5, .ino = 77};
static const struct dpa_xrcd_attr other = {.named = true, .create = true, .dev = 6, .ino = 77};
static const struct dpa_xrcd_attr unnamed = {.create = true};

Test(board_xrc, domains)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t n, m, k, at, at2, at3;

	cr_expect_eq(dpa_board_xrcd_open(a, &find, &n, &at), EAGAIN);
	cr_assert_eq(dpa_board_xrcd_open(a, &make_new, &n, &at), 0);
	cr_assert_eq(dpa_board_xrcd_open(b, &find, &m, &at2), 0);
	cr_expect_eq(n, m);
	cr_expect_eq(dpa_board_xrcd_open(b, &make_new, &k, &at3), EINVAL);
	cr_assert_eq(dpa_board_xrcd_open(b, &other, &k, &at3), 0);
	cr_expect_neq(k, n);
	dpa_board_xrcd_close(b, at3);
	cr_assert_eq(dpa_board_xrcd_open(b, &unnamed, &k, &at3), 0);
	cr_expect(k && k != n);
	dpa_board_xrcd_close(b, at3);
	dpa_board_xrcd_close(a, at);
	cr_assert_eq(dpa_board_xrcd_open(a, &find, &k, &at), 0);
	cr_expect_eq(k, n, "b has it open still");
	dpa_board_xrcd_close(a, at);
	dpa_board_xrcd_close(b, at2);
	cr_expect_eq(dpa_board_xrcd_open(a, &find, &k, &at), EAGAIN);
	cr_assert_eq(dpa_board_xrcd_open(a, &make_new, &k, &at), 0);
	cr_expect_neq(k, n, "another domain");
	dpa_board_close(a); /* without closing it */
	cr_expect_eq(dpa_board_xrcd_open(b, &find, &k, &at), EAGAIN);
	dpa_board_close(b);
}

static void opens(void *arg)
{
	struct dpa_board *b = bt_open();
	uint32_t n, at, srqn;

	if (dpa_board_xrcd_open(b, &make, &n, &at) || dpa_board_xrc_srq_add(b, n, &srqn))
		_exit(2);
	*(_Atomic uint32_t *)arg = srqn;
	for (;;)
		pause();
}

/* The domains of a process end with it, at any moment of its death. */
Test(board_xrc, ends_with_its_process)
{
	_Atomic uint32_t *told =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct dpa_board *b = bt_open();
	uint32_t n, at, xrcd, slot, gen;
	pid_t pid;

	cr_assert_neq((void *)told, MAP_FAILED);
	cr_assert(bt_dies(opens, (void *)told, "xrcd-written", 1));
	cr_expect_eq(dpa_board_xrcd_open(b, &find, &n, &at), EAGAIN);
	pid = bt_fork(opens, (void *)told);
	while (!*told)
		sched_yield();
	cr_assert_eq(dpa_board_xrcd_open(b, &find, &n, &at), 0);
	cr_assert(dpa_board_xrc_srq_owner(b, *told, &xrcd, &slot, &gen));
	cr_expect_eq(xrcd, n);
	cr_expect(slot != b->slot);
	dpa_board_xrcd_close(b, at);
	bt_kill(pid);
	cr_expect_eq(dpa_board_xrcd_open(b, &find, &n, &at), EAGAIN);
	cr_expect_not(dpa_board_xrc_srq_owner(b, *told, &xrcd, &slot, &gen));
	dpa_board_close(b);
}

/* The next use of a slot had the same number: a late packet found another SRQ. */
Test(board_xrc, srq_numbers_rest)
{
	uint32_t *last = calloc(DPA_MAX_SRQ, sizeof(*last)), n, xrcd, slot, gen;
	struct dpa_board *a = bt_open(), *b = bt_open();

	for (uint32_t i = 0; i < 3 * DPA_MAX_SRQ; i++) {
		struct dpa_board *mine = i % 2 ? a : b;

		cr_assert_eq(dpa_board_xrc_srq_add(mine, 9, &n), 0);
		cr_assert(n && n < 0xffffff, "%x", n);
		cr_assert_neq(n, last[n % DPA_MAX_SRQ], "SRQ %u", i);
		cr_assert(dpa_board_xrc_srq_owner(a, n, &xrcd, &slot, &gen));
		cr_assert(xrcd == 9 && slot == mine->slot && gen == mine->gen);
		if (last[n % DPA_MAX_SRQ])
			cr_assert_not(dpa_board_xrc_srq_owner(a, last[n % DPA_MAX_SRQ], &xrcd,
							      &slot, &gen));
		last[n % DPA_MAX_SRQ] = n;
		dpa_board_xrc_srq_remove(mine, n);
		cr_assert_not(dpa_board_xrc_srq_owner(b, n, &xrcd, &slot, &gen));
	}
	dpa_board_close(b);
	dpa_board_close(a);
	free(last);
}

Test(board_xrc, all_srqs_in_use)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t n;

	for (uint32_t i = 0; i < DPA_MAX_SRQ; i++)
		cr_assert_eq(dpa_board_xrc_srq_add(i % 2 ? a : b, 9, &n), 0);
	cr_expect_eq(dpa_board_xrc_srq_add(a, 9, &n), ENOMEM);
	dpa_board_close(b);
	cr_expect_eq(dpa_board_xrc_srq_add(a, 9, &n), 0);
	dpa_board_close(a);
}
