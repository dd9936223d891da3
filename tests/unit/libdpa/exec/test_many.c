/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_many.c - more launches than the pool has threads: they wait for their event or for room. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include "rig.h"

TestSuite(many, .timeout = 100);

#define MANY 3000 /* the pool runs 1,024 threads */

static void launch(struct rig *r, struct doca_sync_event *wait, uint64_t at,
		   struct doca_sync_event *done, unsigned int threads)
{
	OK(doca_dpa_kernel_launch_update_add(r->dpa, wait, at, done, 1, threads, &kernel_note,
					     r->shared));
}

/* The 1,024th waiting launch failed; so did all calls that needed a thread meanwhile. */
Test(many, launches_wait_for_their_event)
{
	struct doca_sync_event *go, *done, *other;
	struct exec_thread t;
	uint64_t ret;
	struct rig r;

	exec_rig_start(&r);
	go = rig_event(&r, NULL);
	done = rig_event(&r, NULL);
	other = rig_event(&r, NULL);
	for (int i = 0; i < MANY; i++)
		launch(&r, go, 1, done, i % 2 + 1);
	exec_thread_new(&r, &t, &thread_note, NULL);
	exec_notify(&r, &t);
	AWAIT_SHARED(&r, ran, 1);
	exec_thread_free(&t);
	launch(&r, NULL, 0, other, 8);
	OK(doca_sync_event_wait_gt(other, 0, ~0ull));
	OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	cr_assert_eq(exec_value(done), 0u);
	OK(doca_sync_event_update_set(go, 1));
	OK(doca_sync_event_wait_gt(done, MANY - 1, ~0ull));
	cr_assert_eq(SHARED(&r, ran), 1u + 8 + MANY / 2 * 3);
	OK(doca_sync_event_destroy(go));
	OK(doca_sync_event_destroy(done));
	OK(doca_sync_event_destroy(other));
	rig_destroy(&r);
}

/* One EU, which is busy: ready launches wait for room, in order. */
Test(many, launches_wait_for_room)
{
	struct doca_sync_event *done;
	struct rig r;

	fake_set_num_eus(1);
	exec_rig_start(&r);
	done = rig_event(&r, NULL);
	OK(doca_dpa_kernel_launch_update_add(r.dpa, NULL, 0, done, 1, 1, &kernel_wait, r.shared));
	AWAIT_SHARED(&r, ran, 1);
	for (int i = 1; i < MANY - ORDER; i++)
		launch(&r, NULL, 0, done, 1);
	for (uint64_t i = 0; i < ORDER; i++)
		OK(doca_dpa_kernel_launch_update_add(r.dpa, NULL, 0, done, 1, 1, &kernel_order,
						     r.shared, i));
	PUT(&r, go, 1);
	OK(doca_sync_event_wait_gt(done, MANY - 1, ~0ull));
	for (uint64_t i = 0; i < ORDER; i++)
		cr_assert_eq(SHARED(&r, order[i]), i);
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}

/* Two contexts share the pool: one may wait for the room that the other returns. */
Test(many, room_of_another_context)
{
	struct doca_sync_event *done[2];
	struct rig a, b;

	fake_set_num_eus(1);
	exec_rig_start(&a);
	b = a;
	OK(doca_dpa_create(a.dev, &b.dpa));
	OK(doca_dpa_set_app(b.dpa, test_app));
	OK(doca_dpa_start(b.dpa));
	OK(doca_dpa_mem_alloc(b.dpa, sizeof(struct exec_shared), &b.shared));
	OK(doca_dpa_memset(b.dpa, b.shared, 0, sizeof(struct exec_shared)));
	done[0] = rig_event(&a, NULL);
	done[1] = rig_event(&b, NULL);
	OK(doca_dpa_kernel_launch_update_add(a.dpa, NULL, 0, done[0], 1, 1, &kernel_wait,
					     a.shared));
	AWAIT_SHARED(&a, ran, 1);
	for (int i = 1; i < MANY / 2; i++) {
		launch(&a, NULL, 0, done[0], 1);
		launch(&b, NULL, 0, done[1], 1);
	}
	PUT(&a, go, 1);
	OK(doca_sync_event_wait_gt(done[0], MANY / 2 - 1, ~0ull));
	OK(doca_sync_event_wait_gt(done[1], MANY / 2 - 2, ~0ull));
	OK(doca_sync_event_destroy(done[0]));
	OK(doca_sync_event_destroy(done[1]));
	OK(doca_dpa_destroy(b.dpa));
	rig_destroy(&a);
}

/* A launch that waits for its event, for room or for an EU is dropped with its context. */
Test(many, a_context_ends_with_them)
{
	struct doca_sync_event *never, *done;
	struct rig r;

	fake_set_num_eus(1);
	exec_rig_start(&r);
	never = rig_event(&r, NULL);
	done = rig_event(&r, NULL);
	OK(doca_dpa_kernel_launch_update_add(r.dpa, NULL, 0, done, 1, 1, &kernel_spin, r.shared));
	AWAIT_SHARED(&r, ran, 1);
	for (int i = 0; i < MANY; i++)
		launch(&r, i % 2 ? never : NULL, 1, done, 1);
	OK(doca_dpa_stop(r.dpa));
	cr_assert_eq(exec_value(done), 0u);
	OK(doca_dpa_start(r.dpa));
	OK(doca_sync_event_destroy(never));
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}

static _Atomic int refuse; /* threads */

int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	return atomic_load(&refuse) ? EAGAIN : __real_pthread_create(t, attr, fn, arg);
}

/* The call fails if the system gives no thread, and nothing of it is left. */
Test(many, no_threads_from_the_system)
{
	struct doca_sync_event *go, *done;
	struct rig r;

	exec_rig_start(&r);
	go = rig_event(&r, NULL);
	done = rig_event(&r, NULL);
	atomic_store(&refuse, 1);
	IS(doca_dpa_kernel_launch_update_set(r.dpa, NULL, 0, done, 1, 8, &kernel_note, r.shared),
	   DRIVER);
	IS(doca_dpa_kernel_launch_update_add(r.dpa, go, 1, done, 1, 8, &kernel_note, r.shared),
	   DRIVER);
	launch(&r, NULL, 0, done, 1); /* it has its context's place */
	OK(doca_sync_event_wait_gt(done, 0, ~0ull));
	atomic_store(&refuse, 0);
	launch(&r, go, 1, done, 8);
	OK(doca_sync_event_update_set(go, 1));
	OK(doca_sync_event_wait_gt(done, 1, ~0ull));
	cr_assert_eq(SHARED(&r, ran), 9u);
	OK(doca_sync_event_destroy(go));
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
}
