/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_objects.c - GPUs, their memory, arrays, semaphores, life cycles of contexts on the GPU data
 * path.
 */
#include <string.h>
#include "rig.h"
#include "../open_dev.h"

TestSuite(gpu_objects, .timeout = 60);

Test(gpu_objects, gpu)
{
	struct doca_gpu *g, *h;

	IS(doca_gpu_create(NULL, &g), INVALID_VALUE);
	IS(doca_gpu_create("17:00.0", NULL), INVALID_VALUE);
	IS(doca_gpu_create("18:00.0", &g), NOT_FOUND);
	OK(doca_gpu_create("17:00.0", &g));
	OK(doca_gpu_create("17:00.0", &h));
	cr_assert_eq(fake_cuda_contexts(), 1);
	cr_assert_eq(fake_cuda_registrations(), 1); /* memory for copies */
	cr_assert(fake_cuda_stays());
	OK(doca_gpu_destroy(g));
	IS(doca_gpu_destroy(g), INVALID_VALUE);
	OK(doca_gpu_destroy(h));
	cr_assert_eq(fake_cuda_contexts(), 0);
	IS(doca_gpu_destroy(NULL), INVALID_VALUE);
	cr_assert_eq(fake_cuda_registrations(), 0);
}

Test(gpu_objects, memory)
{
	void *gpu, *cpu, *p;
	struct doca_gpu *g;
	int fd;

	OK(doca_gpu_create("17:00.0", &g));
	IS(doca_gpu_mem_alloc(NULL, 1, 0, DOCA_GPU_MEM_TYPE_GPU, &gpu, &cpu), INVALID_VALUE);
	IS(doca_gpu_mem_alloc(g, 0, 0, DOCA_GPU_MEM_TYPE_GPU, &gpu, &cpu), INVALID_VALUE);
	IS(doca_gpu_mem_alloc(g, 1, 3, DOCA_GPU_MEM_TYPE_GPU, &gpu, &cpu), INVALID_VALUE);
	IS(doca_gpu_mem_alloc(g, 1, 0, (enum doca_gpu_mem_type)3, &gpu, &cpu), INVALID_VALUE);
	IS(doca_gpu_mem_alloc(g, 1, 0, DOCA_GPU_MEM_TYPE_GPU, NULL, &cpu), INVALID_VALUE);
	for (int t = DOCA_GPU_MEM_TYPE_GPU; t <= DOCA_GPU_MEM_TYPE_CPU_GPU; t++)
		for (size_t align = 64; align <= 1 << 20; align <<= 7) {
			OK(doca_gpu_mem_alloc(g, 100, align, (enum doca_gpu_mem_type)t, &gpu,
					      &cpu));
			cr_assert_eq((uintptr_t)gpu % align, 0);
			cr_assert_eq(cpu, t == DOCA_GPU_MEM_TYPE_GPU ? NULL : gpu);
			if (cpu) {
				memset(cpu, 1, 100);
				cr_assert(fake_cuda_knows(gpu, 100));
			}
			IS(doca_gpu_mem_free(g, (char *)gpu + 1), INVALID_VALUE);
			OK(doca_gpu_mem_free(g, gpu));
			IS(doca_gpu_mem_free(g, gpu), INVALID_VALUE);
		}
	OK(doca_gpu_mem_alloc(g, 100, 0, DOCA_GPU_MEM_TYPE_GPU, &gpu, NULL));
	IS(doca_gpu_dmabuf_fd(g, gpu, 100, &fd), NOT_SUPPORTED);
	IS(doca_gpu_dmabuf_fd(g, NULL, 100, &fd), INVALID_VALUE);
	OK(doca_gpu_mem_free(g, gpu));
	for (int n = 0; n < 2; n++) {
		fake_cuda_fail_after(0);
		IS(doca_gpu_mem_alloc(g, 1, 0,
				      n ? DOCA_GPU_MEM_TYPE_GPU : DOCA_GPU_MEM_TYPE_CPU_GPU, &p,
				      NULL),
		   NO_MEMORY);
	}
	OK(doca_gpu_mem_alloc(g, 1, 0, DOCA_GPU_MEM_TYPE_GPU, &p, NULL));
	OK(doca_gpu_mem_alloc(g, 1, 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &p, NULL));
	OK(doca_gpu_destroy(g)); /* and frees them */
	cr_assert_eq(fake_cuda_allocs(), 0);
	cr_assert_eq(fake_cuda_registrations(), 0);
}

Test(gpu_objects, semaphores)
{
	static const enum doca_gpu_mem_type types[] = {DOCA_GPU_MEM_TYPE_GPU,
						       DOCA_GPU_MEM_TYPE_CPU_GPU};
	enum doca_gpu_semaphore_status st;
	struct doca_gpu_semaphore *s;
	struct doca_gpu_semaphore_gpu *k;
	struct doca_gpu *g;
	uint64_t buf;
	void *p, *q;
	uint32_t n;

	OK(doca_gpu_create("17:00.0", &g));
	for (int t = 0; t < 2; t++) {
		OK(doca_gpu_semaphore_create(g, &s));
		IS(doca_gpu_semaphore_start(s), BAD_STATE);
		IS(doca_gpu_semaphore_set_items_num(s, 0), INVALID_VALUE);
		OK(doca_gpu_semaphore_set_items_num(s, 10));
		OK(doca_gpu_semaphore_set_memory_type(s, types[t]));
		IS(doca_gpu_semaphore_set_custom_info(s, 0, types[t]), INVALID_VALUE);
		OK(doca_gpu_semaphore_set_custom_info(s, 24, types[t]));
		IS(doca_gpu_semaphore_get_gpu_handle(s, &k), BAD_STATE);
		IS(doca_gpu_semaphore_get_status(s, 0, &st), BAD_STATE);
		OK(doca_gpu_semaphore_start(s));
		IS(doca_gpu_semaphore_start(s), BAD_STATE);
		IS(doca_gpu_semaphore_set_items_num(s, 1), BAD_STATE);
		OK(doca_gpu_semaphore_get_gpu_handle(s, &k));
		OK(k_sem_get(k, 9, &st));
		cr_assert_eq(st, DOCA_GPU_SEMAPHORE_STATUS_FREE);
		IS(k_sem_get(k, 10, &st), INVALID_VALUE);
		OK(k_sem_set(k, 1, DOCA_GPU_SEMAPHORE_STATUS_HOLD));
		OK(k_sem_set_info(k, 2, DOCA_GPU_SEMAPHORE_STATUS_READY, 5, 1ull << 40));
		IS(k_sem_get_info(k, 2, DOCA_GPU_SEMAPHORE_STATUS_DONE, &n, &buf), NOT_FOUND);
		OK(k_sem_get_info(k, 2, DOCA_GPU_SEMAPHORE_STATUS_READY, &n, &buf));
		cr_assert(n == 5 && buf == 1ull << 40);
		OK(k_sem_custom(k, 3, &p));
		OK(k_sem_custom(k, 4, &q));
		cr_assert_eq((char *)q - (char *)p, 24);
		if (types[t] == DOCA_GPU_MEM_TYPE_GPU) {
			IS(doca_gpu_semaphore_get_status(s, 1, &st), NOT_SUPPORTED);
			IS(doca_gpu_semaphore_get_custom_info_addr(s, 3, &q), NOT_SUPPORTED);
		} else {
			OK(doca_gpu_semaphore_get_status(s, 1, &st));
			cr_assert_eq(st, DOCA_GPU_SEMAPHORE_STATUS_HOLD);
			OK(doca_gpu_semaphore_set_status(s, 1, DOCA_GPU_SEMAPHORE_STATUS_EXIT));
			OK(k_sem_get(k, 1, &st));
			cr_assert_eq(st, DOCA_GPU_SEMAPHORE_STATUS_EXIT);
			OK(doca_gpu_semaphore_get_custom_info_addr(s, 3, &q));
			cr_assert_eq(p, q);
			IS(doca_gpu_semaphore_get_status(s, 10, &st), INVALID_VALUE);
		}
		IS(doca_gpu_destroy(g), IN_USE);
		OK(doca_gpu_semaphore_stop(s));
		IS(doca_gpu_semaphore_stop(s), BAD_STATE);
		OK(doca_gpu_semaphore_destroy(s));
	}
	OK(doca_gpu_destroy(g));
	cr_assert_eq(fake_cuda_allocs(), 0);
}

Test(gpu_objects, semaphores_that_are_none)
{
	struct doca_gpu_semaphore *s, *none = NULL;
	struct doca_gpu_semaphore_gpu *k;
	struct doca_gpu *g;
	void *p;

	OK(doca_gpu_create("17:00.0", &g));
	IS(doca_gpu_semaphore_create(NULL, &s), INVALID_VALUE);
	IS(doca_gpu_semaphore_create(g, NULL), INVALID_VALUE);
	OK(doca_gpu_semaphore_create(g, &s));
	for (int i = 0; i < 2; i++) {
		IS(doca_gpu_semaphore_start(none), INVALID_VALUE);
		IS(doca_gpu_semaphore_stop(none), INVALID_VALUE);
		IS(doca_gpu_semaphore_destroy(none), INVALID_VALUE);
		IS(doca_gpu_semaphore_set_memory_type(none, DOCA_GPU_MEM_TYPE_GPU), INVALID_VALUE);
		IS(doca_gpu_semaphore_get_gpu_handle(none, &k), INVALID_VALUE);
		IS(doca_gpu_semaphore_set_status(none, 0, DOCA_GPU_SEMAPHORE_STATUS_FREE),
		   INVALID_VALUE);
		IS(doca_gpu_semaphore_get_custom_info_addr(none, 0, &p), INVALID_VALUE);
		none = (void *)g; /* another type */
	}
	IS(doca_gpu_semaphore_set_memory_type(s, (enum doca_gpu_mem_type)3), INVALID_VALUE);
	IS(doca_gpu_semaphore_get_gpu_handle(s, NULL), INVALID_VALUE);
	OK(doca_gpu_semaphore_destroy(s));
	OK(doca_gpu_destroy(g));
}

Test(gpu_objects, arrays)
{
	struct doca_gpu_buf_arr *h;
	struct doca_buf_arr *a;
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	OK(doca_buf_arr_create(4, &a));
	IS(doca_buf_arr_set_target_gpu(a, NULL), INVALID_VALUE);
	OK(doca_buf_arr_set_target_gpu(a, r.gpu));
	IS(doca_buf_arr_start(a), BAD_STATE);
	IS(doca_buf_arr_get_gpu_handle(a, &h), BAD_STATE);
	IS(doca_buf_arr_get_gpu_handle(NULL, &h), INVALID_VALUE);
	IS(doca_buf_arr_get_gpu_handle(a, NULL), INVALID_VALUE);
	OK(doca_buf_arr_set_params(a, r.a.map, RIG_MEM / 4, 1));
	IS(doca_buf_arr_start(a), NO_MEMORY); /* the map is too small */
	OK(doca_buf_arr_set_params(a, r.a.map, 100, 50));
	OK(doca_buf_arr_start(a));
	IS(doca_buf_arr_set_target_gpu(a, r.gpu), BAD_STATE);
	OK(doca_buf_arr_get_gpu_handle(a, &h));
	for (uint64_t i = 0; i < 4; i++)
		cr_assert_eq(k_addr(k_buf(h, i)), (uintptr_t)r.a.mem + 50 + i * 100);
	OK(doca_buf_arr_destroy(a));
	rig_down(&r);
}

Test(gpu_objects, context_states)
{
	struct doca_gpu_dev_rdma *k;
	struct side s = {0};
	struct rig r = {0};

	r.dev = open_dev("dpa0");
	OK(doca_gpu_create("17:00.0", &r.gpu));
	side_make(&r, &s);
	IS(doca_ctx_set_datapath_on_gpu(NULL, r.gpu), INVALID_VALUE);
	IS(doca_ctx_set_datapath_on_gpu(s.ctx, NULL), INVALID_VALUE);
	IS(doca_rdma_get_gpu_handle(s.rdma, &k), BAD_STATE);
	IS(doca_gpu_destroy(r.gpu), IN_USE);
	for (int round = 0; round < 3; round++) {
		OK(doca_ctx_start(s.ctx));
		IS(doca_ctx_set_datapath_on_gpu(s.ctx, r.gpu), BAD_STATE);
		OK(doca_rdma_get_gpu_handle(s.rdma, &k));
		OK(doca_ctx_stop(s.ctx));
	}
	OK(doca_rdma_destroy(s.rdma));
	OK(doca_gpu_destroy(r.gpu));
	OK(doca_dev_close(r.dev));
	cr_assert_eq(fake_cuda_registrations(), 0);
}

/* Each call of the driver that can fail fails once. */
Test(gpu_objects, start_without_resources)
{
	struct side s = {0};
	struct rig r = {0};
	doca_error_t ret;
	int n = 0;

	r.dev = open_dev("dpa0");
	OK(doca_gpu_create("17:00.0", &r.gpu));
	side_make(&r, &s);
	do {
		fake_cuda_fail_after(n++);
		ret = doca_ctx_start(s.ctx);
	} while (ret == DOCA_ERROR_INITIALIZATION);
	OK(ret);
	cr_assert_gt(n, 1);
	n = 0;
	do {
		const void *d;
		size_t size;

		fake_cuda_fail_after(n++);
		ret = doca_rdma_export(s.rdma, &d, &size, &s.conn[0]);
	} while (ret == DOCA_ERROR_CONNECTION_ABORTED);
	OK(ret);
	cr_assert_gt(n, 1);
	fake_cuda_fail_after(-1);
	OK(doca_ctx_stop(s.ctx));
	OK(doca_rdma_destroy(s.rdma));
	OK(doca_gpu_destroy(r.gpu));
	OK(doca_dev_close(r.dev));
	cr_assert_eq(fake_cuda_registrations(), 0);
	cr_assert_eq(fake_cuda_allocs(), 0);
}

/* The peer's context stops while operations are outstanding: they fail, the wait returns. */
Test(gpu_objects, peer_that_stops)
{
	struct k_op o;
	struct rig r;
	uint32_t n;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	o = op_of(&r.a, 0, 0, 0, 8);
	OK(k_write(r.a.k, &o));
	OK(k_commit_strong(r.a.k, 0));
	OK(k_wait(r.a.k, &n));
	OK(doca_ctx_stop(r.b.ctx));
	OK(k_write(r.a.k, &o));
	OK(k_commit_strong(r.a.k, 0));
	IS(k_wait(r.a.k, &n), IO_FAILED);
	cr_assert_eq(n, 1);
	rig_down(&r);
}
