/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_errors.c - results of every call with NULL, and those when the system gives no more threads.
 */
#include "libdpa/eu/pool.h"
#include "rig.h"

TestSuite(errors, .timeout = 60);

Test(errors, nothing_at_all)
{
	IS(doca_dpa_destroy(NULL), INVALID_VALUE);
	IS(doca_dpa_stop(NULL), INVALID_VALUE);
	IS(doca_dpa_start(NULL), INVALID_VALUE);
	IS(doca_dpa_thread_destroy(NULL), INVALID_VALUE);
	IS(doca_dpa_thread_start(NULL), INVALID_VALUE);
	IS(doca_dpa_thread_stop(NULL), INVALID_VALUE);
	IS(doca_dpa_thread_run(NULL), INVALID_VALUE);
	IS(doca_dpa_completion_destroy(NULL), INVALID_VALUE);
	IS(doca_dpa_completion_start(NULL), INVALID_VALUE);
	IS(doca_dpa_completion_stop(NULL), INVALID_VALUE);
	IS(doca_dpa_notification_completion_start(NULL), INVALID_VALUE);
	IS(doca_dpa_notification_completion_stop(NULL), INVALID_VALUE);
}

Test(errors, not_started)
{
	struct rig r;

	rig_create(&r, test_app);
	IS(doca_dpa_kernel_launch_update_add(r.dpa, NULL, 0, NULL, 0, 1, &kernel_note, 0ull),
	   BAD_STATE);
	rig_destroy(&r);
}

/* A started context keeps its own place for an RPC and for one thread of a launch. */
Test(errors, no_more_threads)
{
	struct doca_sync_event *done;
	struct exec_thread t;
	uint64_t ret;
	struct rig r;

	exec_rig_start(&r);
	done = rig_event(&r, NULL);
	OK(doca_dpa_thread_create(r.dpa, &t.thread));
	OK(doca_dpa_thread_set_func_arg(t.thread, &thread_note, r.shared));
	cr_assert_eq(dpa_pool_reserve(DPA_EU_THREADS - 2), 0);
	IS(doca_dpa_thread_start(t.thread), DRIVER);
	OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	for (uint64_t i = 1; i <= 3; i++) {
		OK(doca_dpa_kernel_launch_update_add(r.dpa, NULL, 0, done, 1, 1, &kernel_note,
						     r.shared));
		OK(doca_sync_event_wait_gt(done, i - 1, ~0ull));
	}
	/* of two threads: it waits for room, and later launches wait after it */
	OK(doca_dpa_kernel_launch_update_add(r.dpa, NULL, 0, done, 1, 2, &kernel_note, r.shared));
	OK(doca_dpa_kernel_launch_update_add(r.dpa, NULL, 0, done, 1, 1, &kernel_note, r.shared));
	OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	cr_assert_eq(SHARED(&r, ran), 3u);
	dpa_pool_unreserve(DPA_EU_THREADS - 2);
	OK(doca_sync_event_wait_gt(done, 4, ~0ull));
	cr_assert_eq(SHARED(&r, ran), 6u);
	OK(doca_dpa_thread_start(t.thread));
	OK(doca_dpa_thread_destroy(t.thread));
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}
