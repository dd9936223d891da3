/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_recover.c - death in the middle of changes to the board: at every named step, and at
 * instructions without a name.
 */
#include "util.h"
#include <sys/ptrace.h>
#include <sys/wait.h>

TestSuite(board_recover, .init = bt_setup, .fini = bt_teardown, .timeout = 100);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static void works(void *arg)
{
	struct dpa_board *b;
	uint32_t page[6], slot[6], qpn[6];

	if (bt_try(&b, BT_VERSION))
		_exit(2);
	for (int i = 0; i < 6; i++)
		if (dpa_board_uar_alloc(b, &page[i], &slot[i]) || dpa_board_qpn_alloc(b, &qpn[i]))
			_exit(3);
	for (int i = 0; i < 3; i++) {
		dpa_board_uar_free(b, page[i], slot[i]);
		dpa_board_qpn_free(b, qpn[i]);
	}
	dpa_board_reap(b);
	dpa_board_close(b);
}

/* After a death: one check by a survivor restores the state before. */
static void expect_clean(struct dpa_board *b, const char *step, int nth)
{
	struct dpa_board *c = bt_open(); /* must not disturb */
	uint32_t page, slot, qpn;

	dpa_board_reap(b);
	cr_assert_eq(bt_procs(b), 2u, "%s %d: %u processes", step, nth, bt_procs(b));
	cr_assert_eq(bt_uars(b), 0u, "%s %d: %u slots", step, nth, bt_uars(b));
	cr_assert_eq(bt_qpns(b), 0u, "%s %d: %u QPNs", step, nth, bt_qpns(b));
	cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0, "%s %d", step, nth);
	cr_assert_eq(dpa_board_qpn_alloc(b, &qpn), 0, "%s %d", step, nth);
	cr_assert(bt_list_whole(b), "%s %d: list", step, nth);
	dpa_board_uar_free(b, page, slot);
	dpa_board_qpn_free(b, qpn);
	dpa_board_close(c);
}

Test(board_recover, every_step)
{
	static const char *const steps[] = {
		"proc-byte",	 "proc-gen",	     "proc-named",	  "proc-live",
		"reserved",	 "list-take",	     "list-take-forward", "list-take-backward",
		"list-add-page", "list-add-forward", "list-add-backward", "slot-clean",
		"slot-owned",	 "qpn-owned",	     "sweep-uar",	  "sweep-qpn",
		"proc-leave",	 "detached"};
	struct dpa_board *b = bt_open();

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (int nth = 1; nth <= 3; nth++) {
			bool died = bt_dies(works, NULL, steps[i], nth);

			cr_assert(died || nth > 1, "%s is never reached", steps[i]);
			expect_clean(b, steps[i], nth);
		}
	}
	dpa_board_close(b);
}

static void takes_one(void *arg)
{
	struct dpa_board *b;
	uint32_t page, slot;

	if (bt_try(&b, BT_VERSION) || dpa_board_uar_alloc(b, &page, &slot))
		_exit(2);
	kill(getpid(), SIGKILL);
}

/* The page that was being moved reaches its destination: order is kept. */
Test(board_recover, order_is_kept)
{
	static const char *const steps[] = {"list-take",	  "list-take-forward",
					    "list-take-backward", "list-add-page",
					    "list-add-forward",	  "list-add-backward"};
	struct dpa_board *b = bt_open();
	uint32_t page, slot, next = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		cr_assert(bt_dies(takes_one, NULL, steps[i], 1));
		cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
		/* before the first store nothing had changed, after it all of it */
		if (strcmp(steps[i], "list-take") != 0)
			next++;
		cr_expect_eq(page, next, "%s: page %u", steps[i], page);
		next++;
	}
	cr_expect(bt_list_whole(b));
	dpa_board_close(b);
}

static void dies_owning(void *arg)
{
	struct dpa_board *b;
	uint32_t page, slot, qpn;

	if (bt_try(&b, BT_VERSION))
		_exit(2);
	for (int i = 0; i < 5; i++)
		if (dpa_board_uar_alloc(b, &page, &slot) || dpa_board_qpn_alloc(b, &qpn))
			_exit(3);
	kill(getpid(), SIGKILL);
}

static void just_opens(void *arg)
{
	struct dpa_board *b;

	if (bt_try(&b, BT_VERSION))
		_exit(2);
	dpa_board_close(b);
}

/* A process that cleans up after a dead one can die too, and so can the next one that cleans up. */
Test(board_recover, reaper_dies)
{
	static const char *const steps[] = {"reap-marked", "sweep-uar", "sweep-qpn", "reap-free"};
	struct dpa_board *b = bt_open();

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (int nth = 1; nth <= 2; nth++) {
			bt_wait(bt_fork(dies_owning, NULL));
			bt_wait(bt_fork(dies_owning, NULL));
			cr_assert(bt_dies(just_opens, NULL, steps[i], nth) || nth > 1);
			cr_assert(bt_dies(just_opens, NULL, "repair-walked", 1) || nth > 1);
			expect_clean(b, steps[i], nth);
		}
	}
	dpa_board_close(b);
}

Test(board_recover, repairer_dies)
{
	static const char *const steps[] = {"repair-walked", "list-add-page", "list-add-forward",
					    "list-add-backward", "repaired"};
	struct dpa_board *b = bt_open();

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		cr_assert(bt_dies(works, NULL, "list-take-forward", 1));
		cr_assert(bt_dies(just_opens, NULL, steps[i], 1), "%s", steps[i]);
		expect_clean(b, steps[i], 1);
	}
	dpa_board_close(b);
}

/* ------------------------------------------------------ instruction by instruction */

static void stop_here(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(2);
	raise(SIGSTOP);
}

static void traced_work(void *arg)
{
	struct dpa_board *b;
	uint32_t page, slot, qpn;

	if (bt_try(&b, BT_VERSION))
		_exit(2);
	stop_here();
	dpa_board_uar_alloc(b, &page, &slot);
	dpa_board_qpn_alloc(b, &qpn);
	dpa_board_uar_free(b, page, slot);
	dpa_board_qpn_free(b, qpn);
	_exit(0);
}

static void traced_visit(void *arg)
{
	struct dpa_board *b;

	stop_here();
	if (bt_try(&b, BT_VERSION) == 0)
		dpa_board_close(b);
	_exit(0);
}

/* Run n instructions of the child, then kill it; false if it ended before. */
static bool kill_after(pid_t pid, long n)
{
	int status;

	while (n-- > 0) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL))
			return false;
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return false;
	}
	bt_kill(pid);
	return true;
}

/* Kill one child after the other, each some instructions later than the previous one. */
static void kill_at_instructions(void (*fn)(void *), struct dpa_board *survivor, int stride,
				 int least)
{
	unsigned int seed = bt_seed();
	int kills = 0;
	long n = 0;

	for (;;) {
		pid_t pid = bt_fork(fn, NULL);
		struct dpa_board *b;
		bool more;
		int status;

		cr_assert_eq(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status)) {
			if (survivor)
				dpa_board_close(survivor);
			bt_skip("ptrace is not allowed here");
		}
		more = kill_after(pid, n);
		b = survivor ? survivor : bt_open();
		expect_clean(b, "instruction", (int)n);
		if (!survivor)
			dpa_board_close(b);
		if (!more)
			break;
		kills++;
		n += 1 + rand_r(&seed) % stride;
	}
	cr_expect_gt(kills, least, "%d kills in %ld instructions", kills, n);
}

Test(board_recover, at_instructions)
{
	struct dpa_board *b;

	if (SANITIZED)
		bt_skip("too many instructions in a sanitizer build");
	b = bt_open();
	kill_at_instructions(traced_work, b, 40, 30);
	dpa_board_close(b);
}

/* While it attaches to a board that other processes use, or detaches from it. */
Test(board_recover, at_instructions_of_a_visit)
{
	struct dpa_board *b;

	if (SANITIZED)
		bt_skip("too many instructions in a sanitizer build");
	b = bt_open();
	kill_at_instructions(traced_visit, b, 4000, 3);
	dpa_board_close(b);
}

/* While it creates the board, or removes it as the last process. */
Test(board_recover, at_instructions_of_a_life)
{
	if (SANITIZED)
		bt_skip("too many instructions in a sanitizer build");
	kill_at_instructions(traced_visit, NULL, 12000, 3);
}
