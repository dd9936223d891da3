/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_handlers.c - signal handlers of the program and those of libdpa, in every order. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include "fatal_rig.h"

/* ThreadSanitizer puts its own handlers between the program and the kernel. */
static void setup(void)
{
#ifdef __SANITIZE_THREAD__
	cr_skip_test("ThreadSanitizer has handlers of its own");
#endif
	crash_setup();
}

TestSuite(handlers, .init = setup, .fini = crash_teardown, .timeout = 60);

static sigjmp_buf caught;
static volatile sig_atomic_t first_calls, second_calls;
static volatile uintptr_t nowhere = 8;
static struct sigaction before_second;

static void first(int sig)
{
	first_calls++;
	siglongjmp(caught, 1);
}

/* Pass on to the previous handler, as crash reporters do. */
static void second(int sig, siginfo_t *si, void *uc)
{
	second_calls++;
	if (second_calls < 5)
		before_second.sa_sigaction(sig, si, uc);
}

static void second_alone(int sig)
{
	second_calls++;
	siglongjmp(caught, 1);
}

static void own_fault(void)
{
	if (sigsetjmp(caught, 1))
		return;
	*(volatile int *)nowhere = 1;
	cr_assert_fail("not reached");
}

static void install_first(void)
{
	struct sigaction act = {.sa_handler = first};

	sigaction(SIGSEGV, &act, NULL);
}

static void one_fault_of_the_device(void)
{
	struct rig r;

	fatal_rig_start(&r);
	fatal_rig_run(&r, &bad_write, 8);
	fake_push_recv(r.cq, 1);
	OK(dpa_thread_wait(r.thread, -1));
	IS(doca_dpa_peek_at_last_error(r.dpa), BAD_STATE);
	rig_close(&r);
}

Test(handlers, the_programs_fault_is_the_programs)
{
	install_first();
	one_fault_of_the_device();
	cr_assert_eq(first_calls, 0);
	own_fault();
	own_fault();
	cr_assert_eq(first_calls, 2);
	one_fault_of_the_device();
}

/* Ours, then the program's, then ours again before it: no fault loops for ever. */
Test(handlers, a_handler_that_chains_to_ours_makes_no_loop)
{
	struct sigaction act = {.sa_sigaction = second, .sa_flags = SA_SIGINFO | SA_NODEFER};

	install_first();
	one_fault_of_the_device();
	sigaction(SIGSEGV, &act, &before_second);
	one_fault_of_the_device();
	cr_assert_eq(second_calls, 0);
	own_fault();
	cr_assert_eq(second_calls, 1);
	cr_assert_eq(first_calls, 1);
	own_fault();
	cr_assert_eq(second_calls, 2);
	cr_assert_eq(first_calls, 2);
}

static bool handler_is(void (*fn)(int))
{
	struct sigaction now;

	sigaction(SIGSEGV, NULL, &now);
	return now.sa_handler == fn;
}

/* Check that an EU that wakes up detects that its handlers are gone. */
static void is_asleep(struct dpal_eu *eu, void *arg)
{
	if (!atomic_load(&eu->asleep))
		*(bool *)arg = false;
}

static void until_eus_sleep(void)
{
	bool all;

	do {
		sched_yield();
		all = true;
		dpa_pool_each(is_asleep, &all);
	} while (!all);
}

Test(handlers, taken_back_when_an_eu_wakes_up)
{
	struct sigaction act = {.sa_handler = second_alone};
	struct rig r, bad;
	uint64_t n = 0;

	fatal_rig_start(&bad);
	fatal_rig_run(&bad, &bad_write, 8);
	fatal_rig_start(&r);
	fatal_rig_run(&r, &work, 0);
	sigaction(SIGSEGV, &act, NULL);
	while (handler_is(second_alone)) {
		until_eus_sleep();
		fake_push_recv(r.cq, ++n);
		while (FATAL_READ(&r, begun) < n)
			sched_yield();
	}
	fake_push_recv(bad.cq, 1);
	OK(dpa_thread_wait(bad.thread, -1));
	IS(doca_dpa_peek_at_last_error(bad.dpa), BAD_STATE);
	cr_assert_eq(second_calls, 0);
	own_fault();
	cr_assert_eq(second_calls, 1);
	rig_close(&bad);
	rig_close(&r);
}

/* Any number of times, no entries are used up. */
Test(handlers, installed_alternately)
{
	struct sigaction act = {.sa_handler = second_alone};

	install_first();
	for (int i = 0; i < 50; i++) {
		one_fault_of_the_device();
		sigaction(SIGSEGV, &act, NULL);
	}
	one_fault_of_the_device();
	own_fault();
	cr_assert_eq(second_calls, 1);
}
