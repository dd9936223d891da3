/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_watchdog.c - code that does not end is killed, with the files of a crash; not under a
 * debugger.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "fatal_rig.h"

static void setup(void)
{
	crash_setup();
	fake_set_max_run_time(1);
}

TestSuite(watchdog, .init = setup, .fini = crash_teardown, .timeout = 100);

static void ends(doca_dpa_func_t *func, const char *frame)
{
	struct rig r;

	fatal_rig_start(&r);
	fatal_rig_run(&r, func, 0);
	fake_push_recv(r.cq, 1);
	OK(dpa_thread_wait(r.thread, -1));
	IS(doca_dpa_peek_at_last_error(r.dpa), BAD_STATE);
	has(crash_text(), "reason       used more than 1 s at a time\n");
#ifdef __SANITIZE_THREAD__
	/* it may have been killed in code of the sanitizer, which cannot be unwound */
	if (!strstr(crash_text(), "(no code)"))
#endif
		has(crash_text(), frame);
	rig_close(&r);
}

Test(watchdog, endless_loop)
{
	ends(&loop, " around (");
}

Test(watchdog, endless_loop_of_calls)
{
	ends(&loop_of_calls, " loop_of_calls (");
}

Test(watchdog, endless_wait)
{
	struct doca_sync_event *se;
	struct rig r;

	fatal_rig_start(&r);
	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_cpu(se, r.dev));
	OK(doca_sync_event_add_subscriber_location_dpa(se, r.dpa));
	OK(doca_sync_event_start(se));
	fatal_rig_run(&r, &wait_for_ever, 0);
	OK(doca_sync_event_get_dpa_handle(se, r.dpa,
					  &((struct fatal_shared *)(uintptr_t)r.shared)->event));
	fake_push_recv(r.cq, 1);
	OK(dpa_thread_wait(r.thread, -1));
	IS(doca_dpa_peek_at_last_error(r.dpa), BAD_STATE);
	cr_assert_eq(FATAL_READ(&r, survived), 0u);
	has(crash_text(), " wait_for_ever (");
	OK(doca_sync_event_stop(se));
	OK(doca_sync_event_destroy(se));
	rig_close(&r);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Many short activations together may take any time. Each leaves device code by a jump, which must
 * leave no entry on ThreadSanitizer's call stack of 65,536 entries: as many are needed there only.
 */
#ifdef __SANITIZE_THREAD__
#define MANY 30000
#else
#define MANY 300
#endif

Test(watchdog, short_activations_go_on)
{
	struct rig r;
	uint64_t end, n = 0;

	fatal_rig_start(&r);
	fatal_rig_run(&r, &work, 300000);
	for (end = cpu_ns() + 3000000000; cpu_ns() < end || n < MANY;) {
		fake_push_recv(r.cq, ++n);
		while (FATAL_READ(&r, begun) < n)
			sched_yield();
	}
	OK(doca_dpa_peek_at_last_error(r.dpa));
	rig_close(&r);
}

/* Two contexts: only that of the loop is killed. */
Test(watchdog, others_go_on)
{
	struct rig r, other;

	fatal_rig_start(&other);
	fatal_rig_run(&other, &work, 0);
	fatal_rig_start(&r);
	fatal_rig_run(&r, &loop, 0);
	fake_push_recv(r.cq, 1);
	OK(dpa_thread_wait(r.thread, -1));
	OK(doca_dpa_peek_at_last_error(other.dpa));
	fake_push_recv(other.cq, 1);
	while (FATAL_READ(&other, begun) < 1)
		sched_yield();
	rig_close(&r);
	rig_close(&other);
}

/* Trace the parent until it is told to detach. */
static void trace_parent(int go, int ready)
{
	pid_t parent = getppid();
	char c = ptrace(PTRACE_SEIZE, parent, 0, 0) ? 'n' : 'y';

	if (write(ready, &c, 1) != 1 || read(go, &c, 1) < 0)
		_exit(1);
	_exit(0); /* detaches */
}

Test(watchdog, not_under_a_debugger)
{
	int go[2], ready[2];
	struct rig r;
	uint64_t end;
	char c = 'n';
	pid_t child;

	cr_assert(!pipe(go) && !pipe(ready));
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	child = fork();
	if (!child) {
		close(go[1]);
		trace_parent(go[0], ready[1]);
	}
	cr_assert_eq(read(ready[0], &c, 1), 1);
	if (c != 'y')
		crash_skip("processes may not be traced here");
	fatal_rig_start(&r);
	fatal_rig_run(&r, &loop, 0);
	fake_push_recv(r.cq, 1);
	for (end = cpu_ns() + 3500000000; cpu_ns() < end;)
		sched_yield();
	OK(doca_dpa_peek_at_last_error(r.dpa));
	close(go[1]);
	waitpid(child, NULL, 0);
	OK(dpa_thread_wait(r.thread, -1));
	IS(doca_dpa_peek_at_last_error(r.dpa), BAD_STATE);
	rig_close(&r);
}
