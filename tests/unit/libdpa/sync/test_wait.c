/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_wait.c - waits of asynchronous operations for sync events, and operations behind them. */
#include <pthread.h>
#include <unistd.h>
#include "rig.h"
#include "../fake_qp.h"
#include "libdpa/sync/async/async.h"

extern doca_dpa_func_t post_in_rpc, wait_in_rpc;

TestSuite(sync_wait, .fini = sync_remove_files, .timeout = 60);

enum { SEND = 0, FLUSH = 1, RW = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE };

/*
 * Awake, or asleep by then; by a call, or by a store without a notification; greater, or not equal.
 */
Test(sync_wait, is_reported_once_it_holds)
{
	for (int i = 0; i < 8; i++) {
		struct doca_sync_event *se;
		uint64_t word = 3, h;
		uint32_t n = 0;
		struct async_rig a;
		struct rig r;

		sync_rig_start(&r);
		sync_async_start(&r, &a, 4, 77);
		se = sync_new_event(&r, i & 1 ? &word : NULL, &h);
		OK(doca_sync_event_update_set(se, 3));
		sync_command(&r, &n,
			     (struct command){.op = i & 4 ? WAIT_NE : WAIT_GT, .dst = h, .src = 3});
		sync_command(&r, &n, (struct command){.op = MARK});
		sync_command(&r, &n, (struct command){.op = TAKE, .length = 1});
		sync_run(&r);
		AWAIT_SHARED(&r, seen, 1);
		OK(doca_sync_event_update_set(se, 3)); /* still does not hold */
		if (i & 2)
			usleep(2000);
		cr_assert_eq(SHARED(&r, num_log), 0u);
		if (i & 1)
			__atomic_store_n(&word, 4, __ATOMIC_RELEASE);
		else
			OK(doca_sync_event_update_set(se, 4));
		sync_await_end(&r, 1);
		cr_assert_eq(SHARED(&r, num_log), 1u);
		cr_assert_eq(((struct sync_shared *)(uintptr_t)r.shared)->log[0].type,
			     (uint32_t)SEND);
		cr_assert_eq(((struct sync_shared *)(uintptr_t)r.shared)->log[0].user_data, 77u);
		sync_async_destroy(&a);
		OK(doca_sync_event_destroy(se));
		rig_destroy(&r);
	}
}

static struct command copy(uint64_t *dst, uint32_t dst_key, uint64_t *src, uint32_t src_key)
{
	return (struct command){.op = COPY,
				.flags = FLUSH,
				.dst_key = dst_key,
				.src_key = src_key,
				.dst = (uintptr_t)dst,
				.src = (uintptr_t)src,
				.length = 8};
}

/* copy, wait 1, copy, wait 2 (with an event that is reached already), copy: each in order. */
Test(sync_wait, what_is_posted_later_comes_later)
{
	uint64_t src[3] = {1, 2, 3}, dst[3] = {0};
	uint32_t src_key, dst_key, n = 0;
	struct doca_sync_event *se, *reached;
	struct doca_mmap *m1, *m2;
	struct async_rig a;
	struct rig r;
	uint64_t h, h2;

	sync_rig_start(&r);
	m1 = sync_map(&r, src, sizeof(src), 0, &src_key);
	m2 = sync_map(&r, dst, sizeof(dst), RW, &dst_key);
	sync_async_start(&r, &a, 8, 1);
	se = sync_new_event(&r, NULL, &h);
	reached = sync_new_event(&r, NULL, &h2);
	OK(doca_sync_event_update_set(reached, 9));
	sync_command(&r, &n, copy(&dst[0], dst_key, &src[0], src_key));
	sync_command(&r, &n, (struct command){.op = WAIT_GT, .dst = h, .src = 0});
	sync_command(&r, &n, copy(&dst[1], dst_key, &src[1], src_key));
	sync_command(&r, &n, (struct command){.op = WAIT_GT, .dst = h2, .src = 8});
	sync_command(&r, &n, copy(&dst[2], dst_key, &src[2], src_key));
	/* operations in the ring were copied at post time, too */
	sync_command(&r, &n, (struct command){.op = STORE, .dst = (uintptr_t)&src[1], .src = 99});
	sync_command(&r, &n, (struct command){.op = MARK});
	sync_command(&r, &n, (struct command){.op = TAKE, .length = 5});
	sync_run(&r);
	AWAIT_SHARED(&r, seen, 1);
	AWAIT_SHARED(&r, num_log, 1);
	for (int i = 0; i < 100; i++)
		sched_yield();
	cr_assert_eq(SHARED(&r, num_log), 1u);
	cr_assert_eq(__atomic_load_n(&dst[1], __ATOMIC_ACQUIRE), 0u);
	cr_assert_eq(__atomic_load_n(&dst[2], __ATOMIC_ACQUIRE), 0u);
	OK(doca_sync_event_update_set(se, 1));
	sync_await_end(&r, 1);
	cr_assert_eq(SHARED(&r, num_log), 5u);
	cr_assert_eq(dst[0], 1u);
	cr_assert_eq(dst[1], 2u);
	cr_assert_eq(dst[2], 3u);
	sync_async_destroy(&a);
	OK(doca_mmap_destroy(m1));
	OK(doca_mmap_destroy(m2));
	OK(doca_sync_event_destroy(se));
	OK(doca_sync_event_destroy(reached));
	rig_destroy(&r);
}

/* Four fit behind the wait; the fifth waits outside until the wait is over. */
Test(sync_wait, a_queue_that_waits_is_full_one_day)
{
	uint64_t src = 1, dst = 0, h;
	uint32_t src_key, dst_key, n = 0;
	struct doca_sync_event *se;
	struct doca_mmap *m1, *m2;
	struct async_rig a;
	struct rig r;

	sync_rig_start(&r);
	m1 = sync_map(&r, &src, sizeof(src), 0, &src_key);
	m2 = sync_map(&r, &dst, sizeof(dst), RW, &dst_key);
	sync_async_start(&r, &a, 4, 1);
	se = sync_new_event(&r, NULL, &h);
	sync_command(&r, &n, (struct command){.op = WAIT_NE, .dst = h, .src = 0});
	for (int i = 0; i < 10; i++) {
		sync_command(&r, &n, copy(&dst, dst_key, &src, src_key));
		if (i == 2)
			sync_command(&r, &n, (struct command){.op = MARK});
	}
	sync_command(&r, &n, (struct command){.op = WAIT_NE, .dst = h, .src = 0});
	sync_command(&r, &n, (struct command){.op = TAKE, .length = 12});
	sync_run(&r);
	AWAIT_SHARED(&r, seen, 1);
	for (int i = 0; i < 100; i++)
		sched_yield();
	cr_assert_eq(READ(&r, activations), 0u);
	OK(doca_sync_event_update_set(se, 1));
	sync_await_end(&r, 1);
	cr_assert_eq(SHARED(&r, num_log), 12u);
	sync_async_destroy(&a);
	OK(doca_mmap_destroy(m1));
	OK(doca_mmap_destroy(m2));
	OK(doca_sync_event_destroy(se));
	rig_destroy(&r);
}

/*
 * The end of the queue, of the context, of the event: nothing is reported after it, nothing is
 * left.
 */
Test(sync_wait, ends_with_what_it_belongs_to)
{
	for (int i = 0; i < 3; i++) {
		uint64_t word = 0, src = 1, dst = 0, h;
		uint32_t src_key, dst_key, n = 0;
		struct doca_sync_event *se;
		struct doca_mmap *m1, *m2;
		struct async_rig a;
		struct rig r;

		sync_rig_start(&r);
		m1 = sync_map(&r, &src, sizeof(src), 0, &src_key);
		m2 = sync_map(&r, &dst, sizeof(dst), RW, &dst_key);
		sync_async_start(&r, &a, 4, 1);
		se = sync_new_event(&r, &word, &h);
		sync_command(&r, &n, (struct command){.op = WAIT_GT, .dst = h, .src = 0});
		sync_command(&r, &n, copy(&dst, dst_key, &src, src_key));
		sync_run(&r);
		sync_await_end(&r, 1);
		if (i == 0) {
			OK(doca_dpa_async_ops_stop(a.ops));
			__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
			OK(doca_dpa_async_ops_start(a.ops)); /* and can start again, empty */
		} else if (i == 1) {
			OK(doca_sync_event_destroy(se));
			__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
			usleep(1000);
		} else {
			__atomic_store_n(&word, 1, __ATOMIC_RELEASE); /* at the same time */
			OK(doca_dpa_async_ops_stop(a.ops));
		}
		if (i < 2)
			cr_assert_eq(dst, 0u);
		sync_async_destroy(&a);
		if (i != 1)
			OK(doca_sync_event_destroy(se));
		OK(doca_mmap_destroy(m1));
		OK(doca_mmap_destroy(m2));
		rig_destroy(&r);
	}
}

Test(sync_wait, a_context_that_goes_takes_it_along)
{
	struct doca_sync_event *se;
	struct async_rig a;
	uint32_t n = 0;
	struct rig r;
	uint64_t h;

	sync_rig_start(&r);
	sync_async_start(&r, &a, 4, 1);
	se = sync_new_event(&r, NULL, &h);
	sync_command(&r, &n, (struct command){.op = WAIT_GT, .dst = h, .src = 0});
	sync_run(&r);
	sync_await_end(&r, 1);
	OK(doca_dpa_destroy(r.dpa));
	OK(doca_sync_event_update_set(se, 1));
	cr_assert_eq(fake_qps(), 0);
	IS(doca_dpa_async_ops_destroy(a.ops), BAD_STATE);
	IS(doca_dpa_completion_destroy(a.comp), BAD_STATE);
	IS(doca_dpa_completion_destroy(r.comp), BAD_STATE);
	IS(doca_dpa_thread_destroy(r.thread), BAD_STATE);
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(r.dev));
}

static void *count_up(void *arg)
{
	uint64_t v;

	for (int i = 0; i < 12; i++)
		OK(doca_sync_event_update_add(arg, 1, &v));
	return NULL;
}

/* Many rounds of posts concurrent with updates from two threads, and stops in the middle. */
Test(sync_wait, rounds)
{
	for (int round = 0; round < 40; round++) {
		struct doca_sync_event *se;
		struct async_rig a;
		pthread_t t[2];
		uint32_t n = 0;
		struct rig r;
		uint64_t h;

		sync_rig_start(&r);
		sync_async_start(&r, &a, 4, 1);
		se = sync_new_event(&r, NULL, &h);
		for (uint64_t i = 0; i < 24; i++)
			sync_command(&r, &n, (struct command){.op = WAIT_GT, .dst = h, .src = i});
		sync_command(&r, &n, (struct command){.op = TAKE, .length = 24});
		sync_run(&r);
		for (int i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, count_up, se);
		if (round % 4 == 3) {
			OK(doca_dpa_thread_stop(r.thread));
			OK(doca_dpa_async_ops_stop(a.ops));
		} else {
			sync_await_end(&r, 1);
			cr_assert_eq(SHARED(&r, num_log), 24u);
		}
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
		sync_async_destroy(&a);
		OK(doca_sync_event_destroy(se));
		rig_destroy(&r);
	}
}

Test(sync_wait, mistakes_end_the_context)
{
	for (int i = 0; i < 3; i++) {
		struct command c[] = {
			{.op = COPY, .flags = 4},
			{.op = WAIT_GT, .dst = 1, .src = 0},
			{.op = WAIT_GT, .src = 0},
		};
		struct doca_sync_event *se;
		struct async_rig a;
		uint32_t n = 0;
		struct rig r;
		uint64_t h;

		sync_rig_start(&r);
		sync_async_start(&r, &a, 4, 1);
		se = sync_new_event(&r, NULL, &h);
		if (i == 2) {
			c[i].dst = h;
			OK(doca_dpa_async_ops_stop(a.ops));
		}
		sync_command(&r, &n, c[i]);
		sync_command(&r, &n, (struct command){.op = MARK});
		sync_run(&r);
		rig_await_fatal(&r);
		cr_assert_eq(SHARED(&r, seen), 0u);
		sync_async_destroy(&a);
		OK(doca_sync_event_destroy(se));
		rig_destroy(&r);
	}
}

Test(sync_wait, posting_is_for_threads)
{
	for (uint32_t wait = 0; wait < 2; wait++) {
		struct doca_sync_event *se;
		struct async_rig a;
		struct rig r;
		uint64_t h, ret;

		sync_rig_start(&r);
		sync_async_start(&r, &a, 4, 1);
		se = sync_new_event(&r, NULL, &h);
		PUT(&r, se, h);
		cr_assert_neq(doca_dpa_rpc(r.dpa, &post_in_rpc, &ret, r.shared, wait),
			      DOCA_SUCCESS);
		IS(doca_dpa_peek_at_last_error(r.dpa), BAD_STATE);
		cr_assert_eq(SHARED(&r, seen), 0u);
		sync_async_destroy(&a);
		OK(doca_sync_event_destroy(se));
		rig_destroy(&r);
	}
}

static void *add_later(void *arg)
{
	uint64_t v;

	usleep(3000);
	OK(doca_sync_event_update_add(arg, 3, &v));
	return NULL;
}

Test(sync_wait, waiting_is_for_rpcs_too)
{
	struct doca_sync_event *se;
	uint64_t h, ret;
	struct rig r;
	pthread_t t;

	sync_rig_start(&r);
	se = sync_new_event(&r, NULL, &h);
	pthread_create(&t, NULL, add_later, se);
	OK(doca_dpa_rpc(r.dpa, &wait_in_rpc, &ret, h, (uint64_t)2));
	cr_assert_eq(ret, 3u);
	pthread_join(t, NULL);
	OK(doca_sync_event_destroy(se));
	rig_destroy(&r);
}
