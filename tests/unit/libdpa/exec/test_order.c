/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_order.c - launches that wait for each other: chains, diamonds, more than there are EUs. */
#include <pthread.h>
#include <string.h>
#include "rig.h"

TestSuite(order, .timeout = 100);

/* Each launch waits for the previous one's update. */
Test(order, linear)
{
	struct doca_sync_event *se;
	struct rig r;

	exec_rig_start(&r);
	se = rig_event(&r, NULL);
	for (uint64_t i = 0; i < 100; i++)
		OK(doca_dpa_kernel_launch_update_add(r.dpa, se, i, se, 1, 1, &kernel_order,
						     r.shared, i));
	OK(doca_sync_event_wait_gt(se, 99, ~0ull));
	for (uint64_t i = 0; i < 100; i++)
		cr_assert_eq(SHARED(&r, order[i]), i);
	OK(doca_sync_event_destroy(se));
	rig_destroy(&r);
}

Test(order, diamond)
{
	struct doca_sync_event *a, *bc, *d;
	struct rig r;

	exec_rig_start(&r);
	a = rig_event(&r, NULL);
	bc = rig_event(&r, NULL);
	d = rig_event(&r, NULL);
	for (int round = 0; round < 100; round++) {
		PUT(&r, at, 0);
		OK(doca_sync_event_update_set(a, 0));
		OK(doca_sync_event_update_set(bc, 0));
		OK(doca_sync_event_update_set(d, 0));
		OK(doca_dpa_kernel_launch_update_set(r.dpa, NULL, 0, a, 1, 1, &kernel_order,
						     r.shared, 1ull));
		OK(doca_dpa_kernel_launch_update_add(r.dpa, a, 1, bc, 1, 1, &kernel_order, r.shared,
						     2ull));
		OK(doca_dpa_kernel_launch_update_add(r.dpa, a, 1, bc, 1, 1, &kernel_order, r.shared,
						     3ull));
		OK(doca_dpa_kernel_launch_update_set(r.dpa, bc, 2, d, 1, 1, &kernel_order, r.shared,
						     4ull));
		OK(doca_sync_event_wait_gt(d, 0, ~0ull));
		cr_assert_eq(SHARED(&r, order[0]), 1u);
		cr_assert_eq(SHARED(&r, order[1]) + SHARED(&r, order[2]), 5u);
		cr_assert_eq(SHARED(&r, order[3]), 4u);
	}
	OK(doca_sync_event_destroy(a));
	OK(doca_sync_event_destroy(bc));
	OK(doca_sync_event_destroy(d));
	rig_destroy(&r);
}

/* One EU: the launch that became ready first runs first. */
Test(order, first_come_first_served)
{
	struct doca_sync_event *done;
	struct rig r;

	fake_set_num_eus(1);
	exec_rig_start(&r);
	done = rig_event(&r, NULL);
	OK(doca_dpa_kernel_launch_update_add(r.dpa, NULL, 0, done, 1, 1, &kernel_wait, r.shared));
	AWAIT_SHARED(&r, ran, 1);
	for (uint64_t i = 0; i < 100; i++)
		OK(doca_dpa_kernel_launch_update_add(r.dpa, NULL, 0, done, 1, 1, &kernel_order,
						     r.shared, i));
	cr_assert_eq(SHARED(&r, at), 0u, "the EU is taken");
	PUT(&r, go, 1);
	OK(doca_sync_event_wait_gt(done, 100, ~0ull));
	for (uint64_t i = 0; i < 100; i++)
		cr_assert_eq(SHARED(&r, order[i]), i);
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}

/* 16 threads that must all have begun, on two EUs: by yields. */
Test(order, yield_lets_others_have_the_eu)
{
	struct doca_sync_event *done;
	struct rig r;

	fake_set_num_eus(2);
	exec_rig_start(&r);
	done = rig_event(&r, NULL);
	for (int i = 0; i < 8; i++)
		OK(doca_dpa_kernel_launch_update_add(r.dpa, NULL, 0, done, 1, 2, &kernel_meet,
						     r.shared, 16ull));
	OK(doca_sync_event_wait_gt(done, 7, ~0ull));
	cr_assert_eq(SHARED(&r, ended), 16u);
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}

static void *update(void *arg)
{
	struct doca_sync_event **se = arg;
	uint64_t before;

	for (int i = 0; i < 200; i++) {
		OK(doca_sync_event_update_add(se[0], 1, &before));
		while (exec_value(se[1]) <= (uint64_t)i)
			sched_yield();
	}
	return NULL;
}

/* Triggered by another thread of the program, which is allowed, while this one launches. */
Test(order, triggers_race_with_launches)
{
	struct doca_sync_event *se[2];
	pthread_t t;
	struct rig r;

	exec_rig_start(&r);
	se[0] = rig_event(&r, NULL);
	se[1] = rig_event(&r, NULL);
	cr_assert_eq(pthread_create(&t, NULL, update, se), 0);
	for (uint64_t i = 0; i < 200; i++)
		OK(doca_dpa_kernel_launch_update_add(r.dpa, se[0], i + 1, se[1], 1, 1, &kernel_note,
						     r.shared));
	pthread_join(t, NULL);
	cr_assert_eq(SHARED(&r, ran), 200u);
	OK(doca_sync_event_destroy(se[0]));
	OK(doca_sync_event_destroy(se[1]));
	rig_destroy(&r);
}

/* Launches, RPCs and threads on fewer EUs than their number, for a while. */
Test(order, everything_at_once)
{
	struct doca_sync_event *done;
	struct exec_thread t[3];
	uint64_t ret;
	struct rig r;

	fake_set_num_eus(2);
	exec_rig_start(&r);
	done = rig_event(&r, NULL);
	for (int i = 0; i < 3; i++)
		exec_thread_new(&r, &t[i], &thread_note, NULL);
	for (int i = 0; i < 300; i++) {
		OK(doca_dpa_kernel_launch_update_add(r.dpa, NULL, 0, done, 1, 2, &kernel_note,
						     r.shared));
		exec_notify(&r, &t[i % 3]);
		OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	}
	OK(doca_sync_event_wait_gt(done, 299, ~0ull));
	for (int i = 0; i < 3; i++)
		exec_thread_free(&t[i]);
	/* notifications coalesce; at least the last of each has run, or was stopped */
	cr_assert_geq(SHARED(&r, ran), 600u);
	cr_assert_leq(SHARED(&r, ran), 900u);
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}
