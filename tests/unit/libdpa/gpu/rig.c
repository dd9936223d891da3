/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "rig.h"
#include <string.h>
#include "../open_dev.h"

#define ACCESS                                                                                     \
	(DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |                          \
	 DOCA_ACCESS_FLAG_RDMA_WRITE)

void side_make(struct rig *r, struct side *s)
{
	OK(doca_rdma_create(r->dev, &s->rdma));
	s->ctx = doca_rdma_as_ctx(s->rdma);
	OK(doca_rdma_set_permissions(s->rdma, ACCESS));
	OK(doca_rdma_set_send_queue_size(s->rdma, RIG_QUEUE));
	OK(doca_ctx_set_datapath_on_gpu(s->ctx, r->gpu));
	OK(doca_rdma_set_recv_queue_size(s->rdma, RIG_QUEUE));
	OK(doca_rdma_set_max_num_connections(s->rdma, RIG_CONNS));
}

void side_connect(struct side *a, struct side *b, int i)
{
	const void *da, *db;
	size_t na, nb;

	OK(doca_rdma_export(a->rdma, &da, &na, &a->conn[i]));
	OK(doca_rdma_export(b->rdma, &db, &nb, &b->conn[i]));
	OK(doca_rdma_connect(a->rdma, db, nb, a->conn[i]));
	OK(doca_rdma_connect(b->rdma, da, na, b->conn[i]));
}

static void make_memory(struct rig *r, struct side *s, enum doca_gpu_mem_type type)
{
	OK(doca_gpu_mem_alloc(r->gpu, RIG_MEM, 0, type, (void **)&s->mem, (void **)&s->cpu));
	if (!s->cpu)
		s->cpu = s->mem; /* of the fake driver */
	OK(doca_mmap_create(&s->map));
	OK(doca_mmap_set_permissions(s->map, ACCESS));
	OK(doca_mmap_set_memrange(s->map, s->mem, RIG_MEM));
	OK(doca_mmap_add_dev(s->map, r->dev));
	OK(doca_mmap_start(s->map));
}

static void make_arr(struct rig *r, struct doca_mmap *map, struct doca_buf_arr **arr,
		     struct doca_gpu_buf_arr **handle)
{
	OK(doca_buf_arr_create(RIG_ELEMS, arr));
	OK(doca_buf_arr_set_target_gpu(*arr, r->gpu));
	OK(doca_buf_arr_set_params(*arr, map, RIG_ELEM, 0));
	OK(doca_buf_arr_start(*arr));
	OK(doca_buf_arr_get_gpu_handle(*arr, handle));
}

static void make_arrays(struct rig *r, struct side *s, struct side *peer)
{
	const void *export;
	size_t n;

	OK(doca_mmap_export_rdma(peer->map, r->dev, &export, &n));
	OK(doca_mmap_create_from_export(NULL, export, n, r->dev, &s->other));
	make_arr(r, s->map, &s->arr, &s->local);
	make_arr(r, s->other, &s->remote_arr, &s->remote);
}

static void start_side(struct side *s)
{
	OK(doca_ctx_start(s->ctx));
	OK(doca_rdma_get_gpu_handle(s->rdma, &s->k));
	s->kr = k_get_recv(s->k);
	cr_assert(s->kr);
}

void rig_up(struct rig *r, enum doca_gpu_mem_type type)
{
	memset(r, 0, sizeof(*r));
	r->dev = open_dev("dpa0");
	OK(doca_gpu_create("17:00.0", &r->gpu));
	side_make(r, &r->a);
	side_make(r, &r->b);
	start_side(&r->a);
	start_side(&r->b);
	for (int i = 0; i < RIG_CONNS; i++)
		side_connect(&r->a, &r->b, i);
	make_memory(r, &r->a, type);
	make_memory(r, &r->b, type);
	make_arrays(r, &r->a, &r->b);
	make_arrays(r, &r->b, &r->a);
}

static void side_down(struct rig *r, struct side *s)
{
	OK(doca_ctx_stop(s->ctx));
	OK(doca_rdma_destroy(s->rdma));
	OK(doca_buf_arr_destroy(s->arr));
	OK(doca_buf_arr_destroy(s->remote_arr));
	OK(doca_mmap_destroy(s->other));
	OK(doca_mmap_stop(s->map));
	OK(doca_mmap_destroy(s->map));
	OK(doca_gpu_mem_free(r->gpu, s->mem));
}

void rig_down(struct rig *r)
{
	side_down(r, &r->a);
	side_down(r, &r->b);
	OK(doca_gpu_destroy(r->gpu));
	OK(doca_dev_close(r->dev));
	cr_assert_eq(fake_cuda_allocs(), 0);
	cr_assert_eq(fake_cuda_registrations(), 0);
	cr_assert_eq(fake_cuda_contexts(), 0);
	cr_assert_eq(fake_cuda_pushed(), 0);
}
