/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_launch.c - kernel launches: threads, arguments, events, errors, ends. */
#include <string.h>
#include <unistd.h>
#include "rig.h"

TestSuite(launch, .timeout = 60);

#define LAUNCH(r, wait, at, done, count, n, ...)                                                   \
	doca_dpa_kernel_launch_update_set((r)->dpa, wait, at, done, count, n, __VA_ARGS__)
#define LAUNCH_ADD(r, wait, at, done, count, n, ...)                                               \
	doca_dpa_kernel_launch_update_add((r)->dpa, wait, at, done, count, n, __VA_ARGS__)

Test(launch, each_thread_has_its_rank)
{
	struct doca_sync_event *done;
	unsigned int max;
	struct rig r;

	exec_rig_start(&r);
	done = rig_event(&r, NULL);
	OK(doca_dpa_get_max_threads_per_kernel(r.dpa, &max));
	cr_assert_eq(max, 8u, "the fake's EUs");
	for (unsigned int n = 1; n <= max; n++) {
		PUT(&r, ranks, 0);
		PUT(&r, ran, 0);
		OK(LAUNCH(&r, NULL, 0, done, n, n, &kernel_note, r.shared));
		OK(doca_sync_event_wait_gt(done, n - 1, ~0ull));
		cr_assert_eq(SHARED(&r, ran), n);
		cr_assert_eq(SHARED(&r, ranks), (1ull << n) - 1);
		cr_assert_eq(SHARED(&r, num), n);
	}
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}

Test(launch, each_thread_gets_the_arguments)
{
	struct pair p = {5, 70000000000ull};
	struct doca_sync_event *done;
	struct rig r;

	exec_rig_start(&r);
	done = rig_event(&r, NULL);
	OK(LAUNCH_ADD(&r, NULL, 0, done, 3, 4, &kernel_args, r.shared, 100, p));
	OK(doca_sync_event_wait_gt(done, 2, ~0ull));
	cr_assert_eq(exec_value(done), 3u);
	cr_assert_eq(SHARED(&r, ended), 4 * (100 + 5 + 70000000000ull));
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}

Test(launch, update_sets_or_adds)
{
	struct doca_sync_event *done;
	struct rig r;

	exec_rig_start(&r);
	done = rig_event(&r, NULL);
	OK(doca_sync_event_update_set(done, 10));
	OK(LAUNCH_ADD(&r, NULL, 0, done, 5, 1, &kernel_note, r.shared));
	OK(doca_sync_event_wait_gt(done, 14, ~0ull));
	cr_assert_eq(exec_value(done), 15u);
	OK(LAUNCH(&r, NULL, 0, done, 3, 1, &kernel_note, r.shared));
	OK(doca_sync_event_wait_eq(done, 3, ~0ull));
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}

/* At least the threshold, set by any update. */
Test(launch, waits_for_its_event)
{
	struct doca_sync_event *wait, *done;
	uint64_t before;
	struct rig r;

	exec_rig_start(&r);
	wait = rig_event(&r, NULL);
	done = rig_event(&r, NULL);
	OK(LAUNCH(&r, wait, 4, done, 1, 2, &kernel_note, r.shared));
	OK(LAUNCH(&r, wait, 254, done, 2, 1, &kernel_note, r.shared));
	OK(doca_sync_event_update_set(wait, 3));
	cr_assert_eq(SHARED(&r, ran), 0u);
	OK(doca_sync_event_update_add(wait, 1, &before));
	OK(doca_sync_event_wait_gt(done, 0, ~0ull));
	cr_assert_eq(SHARED(&r, ran), 2u);
	OK(doca_sync_event_update_set(wait, 1000));
	OK(doca_sync_event_wait_gt(done, 1, ~0ull));
	cr_assert_eq(SHARED(&r, ran), 3u);
	/* reached already */
	OK(LAUNCH(&r, wait, 0, done, 9, 1, &kernel_note, r.shared));
	OK(doca_sync_event_wait_eq(done, 9, ~0ull));
	OK(doca_sync_event_destroy(wait));
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}

Test(launch, errors)
{
	struct doca_sync_event *se, *cpu, *idle;
	struct rig r;

	rig_create(&r, test_app);
	IS(LAUNCH(&r, NULL, 0, NULL, 0, 1, &kernel_note, 0ull), BAD_STATE);
	IS(LAUNCH_ADD(&r, NULL, 0, NULL, 0, 1, &kernel_note, 0ull), BAD_STATE);
	rig_go(&r, sizeof(struct exec_shared));
	se = rig_event(&r, NULL);
	OK(doca_sync_event_create(&idle));
	OK(doca_sync_event_create(&cpu));
	OK(doca_sync_event_add_publisher_location_cpu(cpu, r.dev));
	OK(doca_sync_event_add_subscriber_location_cpu(cpu, r.dev));
	OK(doca_sync_event_start(cpu));
	IS(doca_dpa_kernel_launch_update_set(NULL, NULL, 0, NULL, 0, 1, &kernel_note, r.shared),
	   INVALID_VALUE);
	IS(doca_dpa_kernel_launch_update_add(NULL, NULL, 0, NULL, 0, 1, &kernel_note, r.shared),
	   INVALID_VALUE);
	IS(LAUNCH(&r, NULL, 0, NULL, 0, 1, NULL, r.shared), INVALID_VALUE);
	IS(LAUNCH(&r, NULL, 0, NULL, 0, 0, &kernel_note, r.shared), INVALID_VALUE);
	IS(LAUNCH(&r, NULL, 0, NULL, 0, 9, &kernel_note, r.shared), INVALID_VALUE);
	IS(LAUNCH(&r, se, 255, NULL, 0, 1, &kernel_note, r.shared), INVALID_VALUE);
	IS(LAUNCH(&r, NULL, 0, NULL, 0, 1, &rpc_nothing, r.shared), INVALID_VALUE);
	IS(LAUNCH(&r, NULL, 0, NULL, 0, 1, (doca_dpa_func_t *)&exec_value, r.shared),
	   INVALID_VALUE);
	IS(LAUNCH(&r, cpu, 1, NULL, 0, 1, &kernel_note, r.shared), INVALID_VALUE);
	IS(LAUNCH(&r, NULL, 0, cpu, 0, 1, &kernel_note, r.shared), INVALID_VALUE);
	IS(LAUNCH(&r, idle, 1, NULL, 0, 1, &kernel_note, r.shared), INVALID_VALUE);
	IS(LAUNCH_ADD(&r, NULL, 0, idle, 0, 1, &kernel_note, r.shared), INVALID_VALUE);
	cr_assert_eq(SHARED(&r, ran), 0u);
	OK(doca_sync_event_destroy(se));
	OK(doca_sync_event_destroy(cpu));
	OK(doca_sync_event_destroy(idle));
	rig_destroy(&r);
}

/* A function of threads may be launched too: the types are the same. */
Test(launch, a_threshold_without_an_event_means_nothing)
{
	struct doca_sync_event *done;
	struct rig r;

	exec_rig_start(&r);
	done = rig_event(&r, NULL);
	OK(LAUNCH(&r, NULL, 255, done, 1, 1, &kernel_note, r.shared));
	OK(doca_sync_event_wait_gt(done, 0, ~0ull));
	OK(LAUNCH_ADD(&r, NULL, UINT64_MAX, done, 1, 1, &kernel_note, r.shared));
	OK(doca_sync_event_wait_gt(done, 1, ~0ull));
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}

Test(launch, a_function_for_threads)
{
	struct doca_sync_event *done;
	struct rig r;

	exec_rig_start(&r);
	done = rig_event(&r, NULL);
	OK(LAUNCH(&r, NULL, 0, done, 1, 3, &thread_log, r.shared));
	rig_await_fatal(&r); /* it reschedules, which a kernel may not */
	cr_assert_eq(exec_value(done), 0u);
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
	rig_drop_crash(CRASH);
}

Test(launch, a_fault_ends_the_other_threads_and_completes_nothing)
{
	struct doca_sync_event *done, *wait;
	struct rig r;

	exec_rig_start(&r);
	wait = rig_event(&r, NULL);
	done = rig_event(&r, NULL);
	OK(LAUNCH(&r, wait, 1, done, 7, 1, &kernel_note, r.shared));
	OK(LAUNCH(&r, NULL, 0, done, 7, 4, &kernel_fault, r.shared));
	rig_await_fatal(&r);
	IS(LAUNCH(&r, NULL, 0, done, 7, 1, &kernel_note, r.shared), BAD_STATE);
	OK(doca_sync_event_update_set(wait, 1)); /* the waiting launch does not begin any more */
	OK(doca_dpa_destroy(r.dpa));
	cr_assert_eq(exec_value(done), 0u);
	OK(doca_sync_event_destroy(wait));
	OK(doca_sync_event_destroy(done));
	OK(doca_dev_close(r.dev));
	rig_drop_crash(CRASH);
}

Test(launch, calls_of_threads_are_mistakes)
{
	static const char *const say[] = {
		"kernel_misuse: used doca_dpa_dev_thread_finish() outside of a DPA thread",
		"kernel_misuse: used doca_dpa_dev_thread_reschedule() outside of a DPA thread",
		"doca_dpa_dev_thread_get_local_storage() outside of a DPA thread",
	};
	char path[64];

	exec_new_file(path);
	for (uint32_t i = 0; i < 3; i++) {
		struct rig r;

		rig_create(&r, test_app);
		OK(doca_dpa_log_file_set_path(r.dpa, path));
		rig_go(&r, sizeof(struct exec_shared));
		OK(LAUNCH(&r, NULL, 0, NULL, 0, 2, &kernel_misuse, i));
		rig_await_fatal(&r);
		rig_destroy(&r);
		rig_drop_crash(path);
		cr_expect(strstr(exec_file(path), say[i]), "%s", exec_file(path));
	}
	unlink(path);
}

/* Waiting for an event, for an EU, or running for ever: the context can be destroyed. */
Test(launch, the_context_ends_with_launches_in_flight)
{
	struct doca_sync_event *wait, *done;
	struct rig r;

	fake_set_num_eus(2);
	exec_rig_start(&r);
	wait = rig_event(&r, NULL);
	done = rig_event(&r, NULL);
	for (int i = 0; i < 10; i++)
		OK(LAUNCH(&r, wait, 1, done, 1, 2, &kernel_note, r.shared));
	OK(LAUNCH(&r, NULL, 0, done, 1, 2, &kernel_spin, r.shared));
	AWAIT_SHARED(&r, ran, 2);
	for (int i = 0; i < 10; i++)
		OK(LAUNCH(&r, NULL, 0, done, 1, 2, &kernel_polite, r.shared));
	OK(doca_dpa_stop(r.dpa));
	cr_assert_eq(exec_value(done), 0u);
	OK(doca_sync_event_destroy(wait));
	OK(doca_sync_event_destroy(done));
	rig_go(&r, sizeof(struct exec_shared));
	rig_destroy(&r);
}

/* Kernels in the middle of yields, with and without an EU. */
Test(launch, the_context_ends_with_kernels_that_yield)
{
	struct rig r;

	fake_set_num_eus(2);
	exec_rig_start(&r);
	for (int i = 0; i < 4; i++)
		OK(LAUNCH(&r, NULL, 0, NULL, 0, 2, &kernel_polite, r.shared));
	AWAIT_SHARED(&r, ran, 8);
	rig_destroy(&r);
}

/* The event may be destroyed while launches wait for it. */
Test(launch, events_that_go_first)
{
	struct doca_sync_event *wait, *done;
	struct rig r;

	exec_rig_start(&r);
	wait = rig_event(&r, NULL);
	done = rig_event(&r, NULL);
	OK(LAUNCH(&r, wait, 1, done, 1, 1, &kernel_note, r.shared));
	OK(LAUNCH(&r, NULL, 0, done, 1, 1, &kernel_wait, r.shared));
	AWAIT_SHARED(&r, ran, 1);
	OK(doca_sync_event_destroy(wait));
	OK(doca_sync_event_destroy(done));
	PUT(&r, go, 1);
	AWAIT_SHARED(&r, ended, 1);
	rig_destroy(&r);
}

Test(launch, limits_are_those_of_the_adapter)
{
	unsigned long long seconds;
	unsigned int v;
	struct rig r;

	fake_set_num_eus(256);
	fake_set_max_run_time(12);
	rig_create(&r, test_app);
	for (int started = 0; started < 2; started++) {
		OK(doca_dpa_get_max_threads_per_kernel(r.dpa, &v));
		cr_assert_eq(v, 256u);
		OK(doca_dpa_get_total_num_eus_available(r.dpa, &v));
		cr_assert_eq(v, 256u);
		OK(doca_dpa_get_core_num(r.dpa, &v));
		cr_assert_eq(v, 16u);
		OK(doca_dpa_get_num_eus_per_core(r.dpa, &v));
		cr_assert_eq(v, 16u);
		OK(doca_dpa_get_kernel_max_run_time(r.dpa, &seconds));
		cr_assert_eq(seconds, 12u);
		if (!started)
			rig_go(&r, sizeof(struct exec_shared));
	}
	IS(doca_dpa_get_max_threads_per_kernel(NULL, &v), INVALID_VALUE);
	IS(doca_dpa_get_max_threads_per_kernel(r.dpa, NULL), INVALID_VALUE);
	IS(doca_dpa_get_total_num_eus_available(NULL, &v), INVALID_VALUE);
	IS(doca_dpa_get_total_num_eus_available(r.dpa, NULL), INVALID_VALUE);
	IS(doca_dpa_get_core_num(NULL, &v), INVALID_VALUE);
	IS(doca_dpa_get_core_num(r.dpa, NULL), INVALID_VALUE);
	IS(doca_dpa_get_num_eus_per_core(NULL, &v), INVALID_VALUE);
	IS(doca_dpa_get_num_eus_per_core(r.dpa, NULL), INVALID_VALUE);
	IS(doca_dpa_get_kernel_max_run_time(NULL, &seconds), INVALID_VALUE);
	IS(doca_dpa_get_kernel_max_run_time(r.dpa, NULL), INVALID_VALUE);
	rig_destroy(&r);
}

/* As many as the adapter has EUs, at the same time. */
Test(launch, a_kernel_on_every_eu)
{
	struct doca_sync_event *done;
	struct rig r;

	fake_set_num_eus(256);
	exec_rig_start(&r);
	done = rig_event(&r, NULL);
	OK(LAUNCH(&r, NULL, 0, done, 1, 256, &kernel_meet, r.shared, 256ull));
	OK(doca_sync_event_wait_gt(done, 0, ~0ull));
	cr_assert_eq(SHARED(&r, ended), 256u);
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}
