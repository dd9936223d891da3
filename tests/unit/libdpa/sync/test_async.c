/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_async.c - asynchronous operations: life cycle and errors, copies, waits, and operations
 * queued behind them.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "rig.h"
#include "../fake_qp.h"
#include "libdpa/sync/async/async.h"

extern doca_dpa_func_t copy_again;

TestSuite(sync_async, .timeout = 60);

enum { SEND = 0, SEND_ERR = 0xd, FLUSH = 1, OPTIMIZE = 2, RW = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE };

static struct element logged(struct rig *r, uint64_t i)
{
	return ((struct sync_shared *)(uintptr_t)r->shared)->log[i];
}

Test(sync_async, errors)
{
	struct doca_dpa_async_ops *a;
	struct doca_dpa_completion *comp, *foreign;
	struct doca_dpa *other;
	unsigned int size;
	uint64_t v;
	struct rig r;

	sync_rig_start(&r);
	IS(doca_dpa_async_ops_create(NULL, 4, 1, &a), INVALID_VALUE);
	IS(doca_dpa_async_ops_create(r.dpa, 0, 1, &a), INVALID_VALUE);
	IS(doca_dpa_async_ops_create(r.dpa, DPA_ASYNC_MAX + 1, 1, &a), INVALID_VALUE);
	IS(doca_dpa_async_ops_create(r.dpa, 4, 1 << 24, &a), INVALID_VALUE);
	IS(doca_dpa_async_ops_create(r.dpa, 4, 1, NULL), INVALID_VALUE);
	OK(doca_dpa_async_ops_create(r.dpa, 5, (1 << 24) - 1, &a));
	OK(doca_dpa_async_ops_get_queue_size(a, &size));
	cr_assert_eq(size, 8u);
	OK(doca_dpa_async_ops_get_user_data(a, &v));
	cr_assert_eq(v, (1u << 24) - 1);
	IS(doca_dpa_async_ops_get_queue_size(NULL, &size), INVALID_VALUE);
	IS(doca_dpa_async_ops_get_queue_size(a, NULL), INVALID_VALUE);
	IS(doca_dpa_async_ops_get_user_data(NULL, &v), INVALID_VALUE);
	IS(doca_dpa_async_ops_get_user_data(a, NULL), INVALID_VALUE);

	OK(doca_dpa_completion_create(r.dpa, 4, &comp));
	OK(doca_dpa_create(r.dev, &other));
	OK(doca_dpa_completion_create(other, 4, &foreign));
	IS(doca_dpa_async_ops_attach(NULL, comp), INVALID_VALUE);
	IS(doca_dpa_async_ops_attach(a, NULL), INVALID_VALUE);
	IS(doca_dpa_async_ops_attach(a, foreign), INVALID_VALUE);
	OK(doca_dpa_completion_destroy(foreign));
	OK(doca_dpa_destroy(other));

	IS(doca_dpa_async_ops_start(NULL), INVALID_VALUE);
	IS(doca_dpa_async_ops_start(a), BAD_STATE);
	OK(doca_dpa_async_ops_attach(a, comp));
	IS(doca_dpa_async_ops_start(a), BAD_STATE);
	IS(doca_dpa_async_ops_stop(a), BAD_STATE);
	IS(doca_dpa_async_ops_stop(NULL), INVALID_VALUE);
	IS(doca_dpa_async_ops_get_dpa_handle(a, &v), BAD_STATE);
	OK(doca_dpa_completion_start(comp));
	for (int i = 0; i < 2; i++) {
		fake_fail_qp_after(i);
		IS(doca_dpa_async_ops_start(a), DRIVER);
		cr_assert_eq(fake_qps(), 0);
	}
	for (int i = 0; i < 6; i++) {
		fake_fail_modify_after(i);
		IS(doca_dpa_async_ops_start(a), DRIVER);
		cr_assert_eq(fake_qps(), 0);
	}
	fake_fail_qp_after(-1);
	fake_fail_modify_after(-1);
	OK(doca_dpa_async_ops_start(a));
	IS(doca_dpa_async_ops_start(a), BAD_STATE);
	IS(doca_dpa_async_ops_attach(a, comp), BAD_STATE);
	IS(doca_dpa_async_ops_get_dpa_handle(NULL, &v), INVALID_VALUE);
	IS(doca_dpa_async_ops_get_dpa_handle(a, NULL), INVALID_VALUE);
	OK(doca_dpa_async_ops_get_dpa_handle(a, &v));
	IS(doca_dpa_completion_stop(comp), IN_USE);
	IS(doca_dpa_completion_destroy(comp), IN_USE);
	OK(doca_dpa_async_ops_stop(a));
	cr_assert_eq(fake_qps(), 0);
	IS(doca_dpa_async_ops_get_dpa_handle(a, &v), BAD_STATE);
	OK(doca_dpa_completion_destroy(comp));
	/* the attached completion context is destroyed */
	IS(doca_dpa_async_ops_start(a), BAD_STATE);
	IS(doca_dpa_async_ops_destroy(NULL), INVALID_VALUE);
	OK(doca_dpa_async_ops_destroy(a));
	rig_destroy(&r);
}

Test(sync_async, not_without_a_started_context)
{
	struct doca_dpa_async_ops *a;
	struct doca_dpa_completion *comp;
	struct doca_dpa *dpa;
	struct doca_dev *dev = open_dpa0();

	OK(doca_dpa_create(dev, &dpa));
	OK(doca_dpa_async_ops_create(dpa, 4, 1, &a));
	OK(doca_dpa_completion_create(dpa, 4, &comp));
	OK(doca_dpa_async_ops_attach(a, comp));
	IS(doca_dpa_async_ops_start(a), BAD_STATE);
	OK(doca_dpa_completion_destroy(comp));
	OK(doca_dpa_destroy(dpa));
	IS(doca_dpa_async_ops_start(a), BAD_STATE);
	IS(doca_dpa_async_ops_stop(a), BAD_STATE);
	IS(doca_dpa_async_ops_destroy(a), BAD_STATE); /* and is destroyed */
	OK(doca_dev_close(dev));
}

Test(sync_async, objects_of_a_destroyed_context)
{
	struct async_rig a;
	struct rig r;

	sync_rig_start(&r);
	sync_async_start(&r, &a, 4, 1);
	OK(doca_dpa_destroy(r.dpa));
	cr_assert_eq(fake_qps(), 0);
	IS(doca_dpa_async_ops_stop(a.ops), BAD_STATE);
	IS(doca_dpa_async_ops_attach(a.ops, a.comp), BAD_STATE);
	IS(doca_dpa_async_ops_destroy(a.ops), BAD_STATE);
	IS(doca_dpa_completion_destroy(a.comp), BAD_STATE);
	OK(doca_dev_close(r.dev));
}

Test(sync_async, handles_run_out)
{
	enum { MANY = 5000 };
	static struct doca_sync_event *se[MANY];
	struct doca_dpa_completion *comp;
	struct doca_dpa_async_ops *a;
	doca_error_t ret = DOCA_SUCCESS;
	struct rig r;
	uint64_t h;
	int n = 0;

	sync_rig_start(&r);
	OK(doca_dpa_completion_create(r.dpa, 4, &comp));
	OK(doca_dpa_completion_start(comp));
	OK(doca_dpa_async_ops_create(r.dpa, 4, 1, &a));
	OK(doca_dpa_async_ops_attach(a, comp));
	while (n < MANY && !ret) {
		OK(doca_sync_event_create(&se[n]));
		OK(doca_sync_event_add_publisher_location_dpa(se[n], r.dpa));
		OK(doca_sync_event_add_subscriber_location_cpu(se[n], r.dev));
		OK(doca_sync_event_start(se[n]));
		ret = doca_sync_event_get_dpa_handle(se[n++], r.dpa, &h);
	}
	IS(doca_dpa_async_ops_start(a), DRIVER);
	cr_assert_eq(fake_qps(), 0);
	while (n)
		OK(doca_sync_event_destroy(se[--n]));
	OK(doca_dpa_async_ops_destroy(a));
	OK(doca_dpa_completion_destroy(comp));
	rig_destroy(&r);
}

Test(sync_async, copies_of_all_sizes_are_reported_with_the_user_data)
{
	static const size_t sizes[] = {0, 1, 8, 63, 64, 65, 4096, 100000};
	enum { N = sizeof(sizes) / sizeof(sizes[0]), SPACE = 100000 };
	char *src = malloc((size_t)N * SPACE), *dst = calloc(N, SPACE);
	uint32_t src_key, dst_key, n = 0;
	struct doca_mmap *m1, *m2;
	struct async_rig a;
	struct rig r;

	for (int i = 0; i < N * SPACE; i++)
		src[i] = (char)(i * 31 + i / 256);
	sync_rig_start(&r);
	m1 = sync_map(&r, src, (size_t)N * SPACE, DOCA_ACCESS_FLAG_LOCAL_READ_ONLY, &src_key);
	m2 = sync_map(&r, dst, (size_t)N * SPACE, RW, &dst_key);
	sync_async_start(&r, &a, 16, 0xabcdef);
	for (size_t i = 0; i < N; i++)
		sync_command(&r, &n,
			     (struct command){.op = COPY,
					      .flags = FLUSH,
					      .dst_key = dst_key,
					      .src_key = src_key,
					      .dst = (uintptr_t)dst + i * SPACE,
					      .src = (uintptr_t)src + i * SPACE,
					      .length = sizes[i]});
	sync_command(&r, &n, (struct command){.op = TAKE, .length = N});
	sync_run(&r);
	sync_await_end(&r, 1);
	cr_assert_eq(SHARED(&r, num_log), (uint64_t)N);
	for (uint64_t i = 0; i < N; i++) {
		cr_assert_eq(logged(&r, i).type, (uint32_t)SEND);
		cr_assert_eq(logged(&r, i).user_data, 0xabcdefu);
		cr_assert_arr_eq(dst + i * SPACE, src + i * SPACE, sizes[i]);
		for (size_t k = sizes[i]; k < SPACE; k++)
			cr_assert_eq(dst[i * SPACE + k], 0);
	}
	sync_async_destroy(&a);
	OK(doca_mmap_destroy(m1));
	OK(doca_mmap_destroy(m2));
	free(src);
	free(dst);
	rig_destroy(&r);
}

/* The source changes after the post and before the work is done. */
Test(sync_async, up_to_64_bytes_are_copied_at_post_time)
{
	uint64_t src[32], dst[32];
	uint32_t src_key, dst_key, n = 0;
	struct doca_mmap *m1, *m2;
	struct async_rig a;
	struct rig r;

	for (int i = 0; i < 32; i++)
		src[i] = 1;
	sync_rig_start(&r);
	m1 = sync_map(&r, src, sizeof(src), DOCA_ACCESS_FLAG_LOCAL_READ_ONLY, &src_key);
	m2 = sync_map(&r, dst, sizeof(dst), RW, &dst_key);
	sync_async_start(&r, &a, 16, 1);
	fake_hold_qps(true);
	for (int i = 0; i < 2; i++) {
		sync_command(&r, &n,
			     (struct command){.op = COPY,
					      .flags = FLUSH,
					      .dst_key = dst_key,
					      .src_key = src_key,
					      .dst = (uintptr_t)&dst[i * 16],
					      .src = (uintptr_t)&src[i * 16],
					      .length = i ? 65 : 64});
		sync_command(
			&r, &n,
			(struct command){.op = STORE, .dst = (uintptr_t)&src[i * 16], .src = 2});
	}
	sync_command(&r, &n, (struct command){.op = MARK});
	sync_command(&r, &n, (struct command){.op = TAKE, .length = 2});
	sync_run(&r);
	AWAIT_SHARED(&r, seen, 1);
	fake_hold_qps(false);
	sync_await_end(&r, 1);
	cr_assert_eq(dst[0], 1u);
	cr_assert_eq(dst[16], 2u, "read when it is sent");
	sync_async_destroy(&a);
	OK(doca_mmap_destroy(m1));
	OK(doca_mmap_destroy(m2));
	rig_destroy(&r);
}

Test(sync_async, flush_starts_and_optimized_reports_are_none)
{
	uint64_t src[4] = {1, 2, 3, 4}, dst[4] = {0};
	uint32_t src_key, dst_key, n = 0;
	struct doca_mmap *m1, *m2;
	struct async_rig a;
	struct rig r;
	int rings;

	sync_rig_start(&r);
	m1 = sync_map(&r, src, sizeof(src), DOCA_ACCESS_FLAG_LOCAL_READ_ONLY, &src_key);
	m2 = sync_map(&r, dst, sizeof(dst), RW, &dst_key);
	sync_async_start(&r, &a, 16, 1);
	rings = fake_qp_rings();
	for (uint32_t i = 0; i < 4; i++)
		sync_command(&r, &n,
			     (struct command){.op = COPY,
					      .flags = i < 2	? OPTIMIZE
						       : i == 2 ? FLUSH | OPTIMIZE
								: FLUSH,
					      .dst_key = dst_key,
					      .src_key = src_key,
					      .dst = (uintptr_t)&dst[i],
					      .src = (uintptr_t)&src[i],
					      .length = 8});
	sync_command(&r, &n, (struct command){.op = TAKE, .length = 1});
	sync_run(&r);
	sync_await_end(&r, 1);
	cr_assert_eq(fake_qp_rings() - rings, 2);
	cr_assert_arr_eq(dst, src, sizeof(src));
	cr_assert_eq(SHARED(&r, num_log), 1u);
	cr_assert_eq(atomic_load(&a.comp->read), 1u);
	cr_assert_neq(a.comp->view.buf[1].owner, 1, "one element for the four");
	sync_async_destroy(&a);
	OK(doca_mmap_destroy(m1));
	OK(doca_mmap_destroy(m2));
	rig_destroy(&r);
}

Test(sync_async, bufs)
{
	struct {
		uint64_t addr, len;
		uint32_t mmap;
		uint8_t rsvd[12];
	} bufs[2];
	uint64_t src[16], dst[16] = {0};
	uint32_t src_key, dst_key, n = 0;
	struct doca_mmap *m1, *m2;
	struct async_rig a;
	struct rig r;
	uint64_t mem;

	for (uint64_t i = 0; i < 16; i++)
		src[i] = i + 1;
	sync_rig_start(&r);
	m1 = sync_map(&r, src, sizeof(src), DOCA_ACCESS_FLAG_LOCAL_READ_ONLY, &src_key);
	m2 = sync_map(&r, dst, sizeof(dst), RW, &dst_key);
	memset(bufs, 0, sizeof(bufs));
	bufs[0].addr = (uintptr_t)dst, bufs[0].len = sizeof(dst), bufs[0].mmap = dst_key;
	bufs[1].addr = (uintptr_t)src, bufs[1].len = 72, bufs[1].mmap = src_key;
	OK(doca_dpa_mem_alloc(r.dpa, sizeof(bufs), &mem));
	OK(doca_dpa_h2d_memcpy(r.dpa, mem, bufs, sizeof(bufs)));
	sync_async_start(&r, &a, 16, 1);
	sync_command(
		&r, &n,
		(struct command){.op = COPY_BUFS, .flags = FLUSH, .dst = mem, .src = mem + 32});
	sync_command(&r, &n, (struct command){.op = TAKE, .length = 1});
	sync_run(&r);
	sync_await_end(&r, 1);
	for (uint64_t i = 0; i < 16; i++)
		cr_assert_eq(dst[i], i < 9 ? i + 1 : 0);
	sync_async_destroy(&a);
	OK(doca_mmap_destroy(m1));
	OK(doca_mmap_destroy(m2));
	rig_destroy(&r);
}

/* Local memory that is refused: a bad key, past the end, no right to write. */
Test(sync_async, a_copy_that_is_not_allowed_is_an_error_element)
{
	for (int i = 0; i < 4; i++) {
		uint64_t src[32] = {1}, dst[32] = {0};
		uint32_t src_key, dst_key, n = 0;
		struct doca_mmap *m1, *m2;
		struct async_rig a;
		struct rig r;

		sync_rig_start(&r);
		m1 = sync_map(&r, src, sizeof(src), 0, &src_key);
		m2 = sync_map(&r, dst, sizeof(dst), i == 3 ? 0 : RW, &dst_key);
		sync_async_start(&r, &a, 16, 9);
		sync_command(&r, &n,
			     (struct command){.op = COPY,
					      .flags = FLUSH | OPTIMIZE,
					      .dst_key = dst_key,
					      .src_key = i == 0 ? src_key + 100 : src_key,
					      .dst = (uintptr_t)&dst[i == 1 ? 31 : 0],
					      .src = (uintptr_t)&src[i == 2 ? 31 : 0],
					      .length = 16});
		sync_command(&r, &n, (struct command){.op = TAKE, .length = 1});
		sync_run(&r);
		sync_await_end(&r, 1);
		cr_assert_eq(logged(&r, 0).type, (uint32_t)SEND_ERR);
		cr_assert_eq(logged(&r, 0).user_data, 9u);
		cr_assert_eq(dst[0], 0u);
		sync_async_destroy(&a);
		OK(doca_mmap_destroy(m1));
		OK(doca_mmap_destroy(m2));
		rig_destroy(&r);
	}
}

/* More than the queue holds, and the device does nothing at first: the poster waits. */
Test(sync_async, a_full_queue_makes_the_poster_wait)
{
	uint64_t src[2] = {7, 8}, dst[2] = {0};
	uint32_t src_key, dst_key, n = 0;
	struct doca_mmap *m1, *m2;
	struct async_rig a;
	struct rig r;

	sync_rig_start(&r);
	m1 = sync_map(&r, src, sizeof(src), 0, &src_key);
	m2 = sync_map(&r, dst, sizeof(dst), RW, &dst_key);
	sync_async_start(&r, &a, 4, 1);
	fake_hold_qps(true);
	for (int i = 0; i < 20; i++) {
		sync_command(&r, &n,
			     (struct command){.op = COPY,
					      .dst_key = dst_key,
					      .src_key = src_key,
					      .dst = (uintptr_t)dst,
					      .src = (uintptr_t)src,
					      .length = 16,
					      .flags = i == 19 ? FLUSH : 0});
		if (i == 3)
			sync_command(&r, &n, (struct command){.op = MARK});
	}
	sync_command(&r, &n, (struct command){.op = TAKE, .length = 20});
	sync_run(&r);
	AWAIT_SHARED(&r, seen, 1); /* four fit, flushed or not */
	for (int i = 0; i < 100; i++)
		sched_yield();
	cr_assert_eq(READ(&r, activations), 0u);
	fake_hold_qps(false);
	sync_await_end(&r, 1);
	cr_assert_eq(SHARED(&r, num_log), 20u);
	cr_assert_eq(dst[1], 8u);
	sync_async_destroy(&a);
	OK(doca_mmap_destroy(m1));
	OK(doca_mmap_destroy(m2));
	rig_destroy(&r);
}

Test(sync_async, reports_activate_the_thread)
{
	uint64_t src = 5, dst = 0, h;
	uint32_t src_key, dst_key, n = 0;
	struct doca_dpa_async_ops *ops;
	struct doca_mmap *m1, *m2;
	struct rig r;

	sync_rig_start(&r);
	m1 = sync_map(&r, &src, sizeof(src), 0, &src_key);
	m2 = sync_map(&r, &dst, sizeof(dst), RW, &dst_key);
	PUT(&r, value, 100);
	sync_command(&r, &n,
		     (struct command){.op = COPY,
				      .flags = FLUSH,
				      .dst_key = dst_key,
				      .src_key = src_key,
				      .dst = (uintptr_t)&dst,
				      .src = (uintptr_t)&src,
				      .length = 8});
	rig_run(&r, &copy_again);
	OK(doca_dpa_async_ops_create(r.dpa, 2, 3, &ops));
	OK(doca_dpa_async_ops_attach(ops, r.comp));
	OK(doca_dpa_async_ops_start(ops));
	OK(doca_dpa_async_ops_get_dpa_handle(ops, &h));
	PUT(&r, async_ops, h);
	fake_push_recv(r.cq, 1);
	sync_await_end(&r, 101);
	cr_assert_eq(READ(&r, found), 101u);
	cr_assert_eq(dst, 5u);
	OK(doca_dpa_async_ops_destroy(ops));
	OK(doca_mmap_destroy(m1));
	OK(doca_mmap_destroy(m2));
	rig_destroy(&r);
}
