/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_rpc.c - RPCs: arguments, results, errors, and work that they never wait for. */
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include "rig.h"

TestSuite(rpc, .timeout = 60);

static uint64_t call_mix(struct rig *r)
{
	struct pair p = {1000, 0x100000000ull};
	struct triple t = {3.5f, 'A', {1, 2, 30}};
	uint64_t word = 7, ret = 0;

	OK(doca_dpa_rpc(r->dpa, &rpc_mix, &ret, 200, -3, p, 40.25, t, &word, 1));
	return ret;
}

Test(rpc, arguments_come_out_as_they_went_in)
{
	uint64_t ret = 0;
	struct rig r;

	exec_rig_start(&r);
	OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	cr_assert_eq(ret, 77u);
	cr_assert_eq(call_mix(&r), 200 - 3 + 1000 + 0x100000000ull + 40 + 3 + 'A' + 30 + 7 + 1);
	OK(doca_dpa_rpc(r.dpa, &rpc_place, &ret));
	cr_assert_eq(ret, 1ull << 32, "rank 0 of 1");
	rig_destroy(&r);
}

Test(rpc, arguments_of_any_size)
{
	static struct big b;
	uint64_t ret = 0;
	struct rig r;

	for (uint64_t i = 0; i < 300; i++)
		b.words[i] = i * i;
	exec_rig_start(&r);
	OK(doca_dpa_rpc(r.dpa, &rpc_big, &ret, b, 299));
	cr_assert_eq(ret, 299u * 299);
	rig_destroy(&r);
}

Test(rpc, errors)
{
	struct rig r;
	uint64_t ret;

	rig_create(&r, test_app);
	IS(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret), BAD_STATE);
	rig_go(&r, sizeof(struct exec_shared));
	IS(doca_dpa_rpc(NULL, &rpc_nothing, &ret), INVALID_VALUE);
	IS(doca_dpa_rpc(r.dpa, NULL, &ret), INVALID_VALUE);
	IS(doca_dpa_rpc(r.dpa, &rpc_nothing, NULL), INVALID_VALUE);
	IS(doca_dpa_rpc(r.dpa, &kernel_note, &ret, r.shared), INVALID_VALUE);
	IS(doca_dpa_rpc(r.dpa, (doca_dpa_func_t *)&rig_await_fatal, &ret), INVALID_VALUE);
	OK(doca_dpa_stop(r.dpa));
	IS(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret), BAD_STATE);
	rig_destroy(&r);
}

/* Two EUs, two threads that hold them, and one more that waits for one. */
Test(rpc, never_waits_behind_other_code)
{
	struct exec_thread t[3];
	uint64_t ret;
	struct rig r;

	fake_set_num_eus(2);
	exec_rig_start(&r);
	for (int i = 0; i < 3; i++) {
		exec_thread_new(&r, &t[i], &thread_wait, NULL);
		exec_notify(&r, &t[i]);
	}
	AWAIT_SHARED(&r, ran, 2);
	for (int i = 0; i < 100; i++) {
		OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
		cr_assert_eq(ret, 77u);
	}
	cr_assert_eq(SHARED(&r, ran), 2u, "two EUs, two threads");
	PUT(&r, go, 1);
	AWAIT_SHARED(&r, ended, 3);
	for (int i = 0; i < 3; i++)
		exec_thread_free(&t[i]);
	rig_destroy(&r);
}

/* Even with one EU: the RPC only borrows it. Pinned to it, or not. */
Test(rpc, may_wait_for_a_thread)
{
	fake_set_num_eus(1);
	for (int pin = 0; pin < 2; pin++) {
		struct doca_dpa_eu_affinity *a;
		struct exec_thread t;
		uint64_t ret;
		struct rig r;

		exec_rig_start(&r);
		OK(doca_dpa_eu_affinity_create(r.dpa, &a));
		OK(doca_dpa_eu_affinity_set(a, 0));
		exec_thread_new(&r, &t, &thread_note, pin ? a : NULL);
		PUT(&r, notify, t.handle);
		for (uint64_t i = 1; i <= 200; i++)
			OK(doca_dpa_rpc(r.dpa, &rpc_await, &ret, r.shared, i));
		exec_thread_free(&t);
		OK(doca_dpa_eu_affinity_destroy(a));
		rig_destroy(&r);
	}
}

struct caller {
	pthread_t thread;
	struct rig *rig;
	doca_dpa_func_t *func;
	doca_error_t ret;
	uint64_t value;
};

static void *call(void *arg)
{
	struct caller *c = arg;

	c->ret = doca_dpa_rpc(c->rig->dpa, c->func, &c->value, c->rig->shared);
	return NULL;
}

static void call_beside(struct caller *c, struct rig *r, doca_dpa_func_t *func)
{
	*c = (struct caller){.rig = r, .func = func};
	cr_assert_eq(pthread_create(&c->thread, NULL, call, c), 0);
}

/* The caller sleeps by then, or not: both are woken. */
Test(rpc, sleeping_callers_are_woken)
{
	struct caller c;
	struct rig r;

	exec_rig_start(&r);
	for (int i = 0; i < 20; i++) {
		PUT(&r, ran, 0);
		PUT(&r, go, 0);
		call_beside(&c, &r, &rpc_wait);
		AWAIT_SHARED(&r, ran, 1);
		poll(NULL, 0, i / 4); /* ms: some callers sleep by then, none is waited for */
		PUT(&r, go, 1);
		pthread_join(c.thread, NULL);
		OK(c.ret);
		cr_assert_eq(c.value, 5u);
	}
	rig_destroy(&r);
}

Test(rpc, a_fault_ends_the_call_and_the_context)
{
	uint64_t ret = 9;
	struct rig r;

	exec_rig_start(&r);
	IS(doca_dpa_rpc(r.dpa, &rpc_fault, &ret, r.shared), DRIVER);
	cr_assert_eq(ret, 9u);
	IS(doca_dpa_peek_at_last_error(r.dpa), BAD_STATE);
	IS(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret), BAD_STATE);
	IS(doca_dpa_kernel_launch_update_set(r.dpa, NULL, 0, NULL, 0, 1, &kernel_note, r.shared),
	   BAD_STATE);
	rig_destroy(&r);
	rig_drop_crash(CRASH);
}

/* An RPC in flight ends with its context. */
Test(rpc, a_fault_elsewhere_ends_the_call)
{
	struct exec_thread t;
	struct caller c;
	struct rig r;

	exec_rig_start(&r);
	exec_thread_new(&r, &t, &thread_fault, NULL);
	PUT(&r, notify, t.handle);
	call_beside(&c, &r, &rpc_spin);
	AWAIT_SHARED(&r, ran, 1);
	/* not by an RPC: one is in flight */
	OK(doca_dpa_kernel_launch_update_set(r.dpa, NULL, 0, NULL, 0, 2, &kernel_fault, r.shared));
	pthread_join(c.thread, NULL);
	IS(c.ret, DRIVER);
	exec_thread_free(&t);
	rig_destroy(&r);
	rig_drop_crash(CRASH);
}

Test(rpc, calls_of_threads_are_mistakes)
{
	static const char *const say[] = {
		"rpc_misuse: used doca_dpa_dev_thread_finish() outside of a DPA thread",
		"rpc_misuse: used doca_dpa_dev_thread_reschedule() outside of a DPA thread",
		"rpc_misuse: used doca_dpa_dev_thread_get_local_storage() outside of a DPA thread",
	};
	char path[64];

	exec_new_file(path);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t ret;
		struct rig r;

		rig_create(&r, test_app);
		OK(doca_dpa_log_file_set_path(r.dpa, path));
		rig_go(&r, sizeof(struct exec_shared));
		IS(doca_dpa_rpc(r.dpa, &rpc_misuse, &ret, i), DRIVER);
		IS(doca_dpa_peek_at_last_error(r.dpa), BAD_STATE);
		rig_destroy(&r);
		rig_drop_crash(path);
		cr_expect(strstr(exec_file(path), say[i]), "%s", exec_file(path));
	}
	unlink(path);
}

/* All of the log is written when the call returns. */
Test(rpc, log_is_out_when_it_returns)
{
	char path[64], *p;
	uint64_t ret;
	struct rig r;
	int lines;

	exec_new_file(path);
	rig_create(&r, test_app);
	OK(doca_dpa_log_file_set_path(r.dpa, path));
	rig_go(&r, sizeof(struct exec_shared));
	for (int i = 1; i <= 10; i++) {
		OK(doca_dpa_rpc(r.dpa, &rpc_log, &ret, 20));
		lines = 0;
		for (p = (char *)exec_file(path); (p = strchr(p, '\n')); p++)
			lines++;
		cr_assert_eq(lines, 20 * i);
	}
	cr_assert(strstr(exec_file(path), "/  0/[DOCA][DPA DEVICE][INF] line 19\n"));
	rig_destroy(&r);
	unlink(path);
}

Test(rpc, two_contexts_from_two_threads)
{
	struct caller c[2];
	struct rig r[2];

	for (int i = 0; i < 2; i++)
		exec_rig_start(&r[i]);
	for (int n = 0; n < 100; n++) {
		for (int i = 0; i < 2; i++) {
			PUT(&r[i], ran, 0);
			PUT(&r[i], go, 0);
			call_beside(&c[i], &r[i], &rpc_wait);
		}
		for (int i = 0; i < 2; i++)
			AWAIT_SHARED(&r[i], ran, 1);
		for (int i = 0; i < 2; i++) {
			PUT(&r[i], go, 1);
			pthread_join(c[i].thread, NULL);
			OK(c[i].ret);
			cr_assert_eq(c[i].value, 5u);
		}
	}
	OK(doca_dpa_destroy(r[1].dpa));
	OK(doca_dev_close(r[1].dev));
	rig_destroy(&r[0]);
}

Test(rpc, not_in_a_forked_child)
{
	uint64_t ret;
	struct rig r;
	int status;
	pid_t pid;

	exec_rig_start(&r);
	OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	pid = fork();
	if (!pid) {
		bool ok =
			doca_dpa_rpc(r.dpa, &rpc_nothing, &ret) == DOCA_ERROR_BAD_STATE &&
			doca_dpa_kernel_launch_update_set(r.dpa, NULL, 0, NULL, 0, 1, &kernel_note,
							  r.shared) == DOCA_ERROR_BAD_STATE &&
			!doca_dpa_destroy(r.dpa);
#ifndef __SANITIZE_THREAD__ /* has no threads after a fork */
		struct rig mine;

		exec_rig_start(&mine);
		ok = ok && !doca_dpa_rpc(mine.dpa, &rpc_nothing, &ret) && ret == 77;
		ok = ok && !doca_dpa_destroy(mine.dpa);
#endif
		_exit(!ok);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	rig_destroy(&r);
}
