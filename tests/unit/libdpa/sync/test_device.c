/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_device.c - sync events in device code. */
#include <unistd.h>
#include "rig.h"

extern doca_dpa_func_t event_data, event_wait, event_pong, event_get_nowhere;

TestSuite(sync_device, .fini = sync_remove_files, .timeout = 60);

Test(sync_device, get_add_and_set)
{
	struct doca_sync_event *se, *se2;
	uint64_t h, h2, v;
	struct rig r;

	sync_rig_start(&r);
	se = sync_new_event(&r, NULL, &h);
	se2 = sync_new_event(&r, NULL, &h2);
	PUT(&r, se, h);
	PUT(&r, se2, h2);
	OK(doca_sync_event_update_set(se, 40));
	rig_run(&r, &event_data);
	fake_push_recv(r.cq, 1);
	OK(doca_sync_event_wait_eq(se2, 40, ~0ull));
	OK(doca_sync_event_get(se, &v));
	cr_assert_eq(v, 45u);
	AWAIT(&r, activations, 1);
	OK(doca_sync_event_destroy(se));
	OK(doca_sync_event_destroy(se2));
	rig_destroy(&r);
}

/* Awake, or asleep by then; by a call, or by a store without a notification. */
Test(sync_device, wait_gt_ends_when_it_holds)
{
	for (int i = 0; i < 4; i++) {
		struct doca_sync_event *se, *se2;
		uint64_t word = 0, h, h2;
		struct rig r;

		sync_rig_start(&r);
		se = sync_new_event(&r, i & 1 ? &word : NULL, &h);
		se2 = sync_new_event(&r, NULL, &h2);
		PUT(&r, se, h);
		PUT(&r, se2, h2);
		PUT(&r, value, 4);
		PUT(&r, mask, 0xff);
		rig_run(&r, &event_wait);
		fake_push_recv(r.cq, 1);
		AWAIT(&r, activations, 1);
		OK(doca_sync_event_update_set(se, 0x104)); /* masked value is not above 4 */
		if (i & 2)
			usleep(20000);
		cr_assert_eq(SHARED(&r, seen), 0u);
		if (i & 1)
			__atomic_store_n(&word, 5, __ATOMIC_RELEASE);
		else
			OK(doca_sync_event_update_set(se, 5));
		OK(doca_sync_event_wait_gt(se2, 0, ~0ull));
		cr_assert_eq(SHARED(&r, seen), 1u);
		OK(doca_sync_event_destroy(se));
		OK(doca_sync_event_destroy(se2));
		rig_destroy(&r);
	}
}

Test(sync_device, ping_pong_of_host_and_device)
{
	enum { ROUNDS = 500 };
	struct doca_sync_event *se, *se2;
	uint64_t h, h2, v;
	struct rig r;

	sync_rig_start(&r);
	se = sync_new_event(&r, NULL, &h);
	se2 = sync_new_event(&r, NULL, &h2);
	PUT(&r, se, h);
	PUT(&r, se2, h2);
	PUT(&r, value, ROUNDS);
	rig_run(&r, &event_pong);
	fake_push_recv(r.cq, 1);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		OK(doca_sync_event_update_add(se, 1, &v));
		OK(doca_sync_event_wait_gt(se2, i, ~0ull));
		OK(doca_sync_event_get(se2, &v));
		cr_assert_eq(v, i + 1);
	}
	AWAIT(&r, activations, 1);
	OK(doca_sync_event_destroy(se));
	OK(doca_sync_event_destroy(se2));
	rig_destroy(&r);
}

Test(sync_device, a_waiting_thread_can_be_stopped)
{
	struct doca_sync_event *se;
	uint64_t h;
	struct rig r;

	sync_rig_start(&r);
	se = sync_new_event(&r, NULL, &h);
	PUT(&r, se, h);
	PUT(&r, mask, ~0ull);
	rig_run(&r, &event_wait);
	fake_push_recv(r.cq, 1);
	AWAIT(&r, activations, 1);
	OK(doca_dpa_thread_stop(r.thread));
	cr_assert_eq(SHARED(&r, seen), 0u);
	OK(doca_dpa_peek_at_last_error(r.dpa));
	OK(doca_sync_event_destroy(se));
	rig_destroy(&r);
}

Test(sync_device, a_stopped_event_is_a_bad_handle)
{
	struct doca_sync_event *se;
	uint64_t h;
	struct rig r;

	sync_rig_start(&r);
	se = sync_new_event(&r, NULL, &h);
	PUT(&r, se, h);
	PUT(&r, mask, ~0ull);
	rig_run(&r, &event_wait);
	fake_push_recv(r.cq, 1);
	AWAIT(&r, activations, 1);
	OK(doca_sync_event_stop(se)); /* during the wait */
	rig_await_fatal(&r);
	cr_assert_eq(SHARED(&r, seen), 0u);
	OK(doca_sync_event_destroy(se));
	rig_destroy(&r);
}

Test(sync_device, a_bad_pointer_is_a_fault)
{
	struct doca_sync_event *se;
	uint64_t h;
	struct rig r;

	sync_rig_start(&r);
	se = sync_new_event(&r, NULL, &h);
	PUT(&r, se, h);
	rig_run(&r, &event_get_nowhere);
	fake_push_recv(r.cq, 1);
	rig_await_fatal(&r);
	cr_assert_eq(READ(&r, activations), 0u);
	OK(doca_sync_event_destroy(se));
	rig_destroy(&r);
}
