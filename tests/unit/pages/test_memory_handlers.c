/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_memory_handlers.c - calls from an allocator or a handler, and handlers that run during a
 * call.
 */
#include <signal.h>
#include "memory.h"
#include "stand_in.h"

#define BASE 1 /* MUST() */

/* Pages that must not be returned: nothing is logged, because a log may allocate. */
static void changes_what_is_held(void)
{
	int fd;

	MUST(why(key) == DPA_SHARE_YES);
	fd = open_stand_in("/dev/nvidia-uvm");
	if (fd < 0)
		_exit(1);
	th_logged[0] = 0;
	MUST(mprotect(mem, PAGE, PROT_READ) == 0);
	MUST(area_of(key) == 0);
	MUST(th->hw->share->nlive == 1);
	MUST(!th_logged[0]);
	MUST(mprotect(mem, PAGE, PROT_READ | PROT_WRITE) == 0);
	MUST(!th_logged[0]);
	close(fd);
	MUST(dpa_hw_dereg_mr(&th->ctx, key) == 0);
	MUST(th->hw->share->nlive == 0);
}

Test(memory_handlers, nothing_is_logged)
{
	alone(changes_what_is_held);
}

static volatile pid_t forked = -1;

/* It runs within a call of the device: at the page by which the device detects a fork. */
static void fork_in_handler(int sig)
{
	(void)sig;
	mprotect(th->hw->alive, PAGE, PROT_READ | PROT_WRITE);
	forked = fork();
	if (!forked)
		dpa_share_child(th->hw);
}

static void forks_within_a_call(void)
{
	struct sigaction act = {.sa_handler = fork_in_handler};
	int status;

	MUST(why(key) == DPA_SHARE_YES);
	MUST(sigaction(SIGSEGV, &act, NULL) == 0);
	MUST(mprotect(th->hw->alive, PAGE, PROT_NONE) == 0);
	MUST(madvise(mem, PAGE, MADV_DONTNEED) == 0);
	MUST(forked >= 0);
	if (!forked) { /* it has its own device, which closes */
		alarm(20);
		dpa_share_watch(th->hw);
		dpa_share_unwatch(th->hw);
		_exit(0);
	}
	MUST(waitpid(forked, &status, 0) == forked);
	MUST(status == 0);
	dpa_share_unwatch(th->hw);
}

Test(memory_handlers, a_fork_within_a_call)
{
	alone(forks_within_a_call);
}
