/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "rig.h"
#include <stdlib.h>
#include "../../open_dev.h"

static void note(struct doca_task *task, union doca_data own, union doca_data ctx)
{
	struct side *s = ctx.ptr;

	s->status = doca_task_get_status(task);
	s->user_data = own.u64;
	s->task = task;
	if (s->status)
		s->failed++;
	else
		s->done++;
}

#define CALLBACK(kind)                                                                             \
	static void on_##kind(struct doca_rdma_task_##kind *task, union doca_data own,             \
			      union doca_data ctx)                                                 \
	{                                                                                          \
		note(doca_rdma_task_##kind##_as_task(task), own, ctx);                             \
	}

CALLBACK(receive)
CALLBACK(send)
CALLBACK(send_imm)
CALLBACK(read)
CALLBACK(write)
CALLBACK(write_imm)
CALLBACK(atomic_cmp_swp)
CALLBACK(atomic_fetch_add)
CALLBACK(remote_net_sync_event_get)
CALLBACK(remote_net_sync_event_notify_set)
CALLBACK(remote_net_sync_event_notify_add)

static void configure(struct doca_rdma *r)
{
	OK(doca_rdma_task_receive_set_conf(r, on_receive, on_receive, TASKS));
	OK(doca_rdma_task_send_set_conf(r, on_send, on_send, TASKS));
	OK(doca_rdma_task_send_imm_set_conf(r, on_send_imm, on_send_imm, TASKS));
	OK(doca_rdma_task_read_set_conf(r, on_read, on_read, TASKS));
	OK(doca_rdma_task_write_set_conf(r, on_write, on_write, TASKS));
	OK(doca_rdma_task_write_imm_set_conf(r, on_write_imm, on_write_imm, TASKS));
	OK(doca_rdma_task_atomic_cmp_swp_set_conf(r, on_atomic_cmp_swp, on_atomic_cmp_swp, TASKS));
	OK(doca_rdma_task_atomic_fetch_add_set_conf(r, on_atomic_fetch_add, on_atomic_fetch_add,
						    TASKS));
	OK(doca_rdma_task_remote_net_sync_event_get_set_conf(r, on_remote_net_sync_event_get,
							     on_remote_net_sync_event_get, TASKS));
	OK(doca_rdma_task_remote_net_sync_event_notify_set_set_conf(
		r, on_remote_net_sync_event_notify_set, on_remote_net_sync_event_notify_set,
		TASKS));
	OK(doca_rdma_task_remote_net_sync_event_notify_add_set_conf(
		r, on_remote_net_sync_event_notify_add, on_remote_net_sync_event_notify_add,
		TASKS));
}

static void make_side(struct task_rig *r, struct side *s, uint32_t permissions)
{
	s->mem = aligned_alloc(4096, MEM);
	memset(s->mem, 0, MEM);
	OK(doca_mmap_create(&s->map));
	OK(doca_mmap_set_permissions(
		s->map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |
				DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC));
	OK(doca_mmap_set_memrange(s->map, s->mem, MEM));
	OK(doca_mmap_add_dev(s->map, r->dev));
	OK(doca_mmap_start(s->map));
	OK(doca_pe_create(&s->pe));
	OK(doca_rdma_create(r->dev, &s->rdma));
	s->ctx = doca_rdma_as_ctx(s->rdma);
	OK(doca_ctx_set_user_data(s->ctx, (union doca_data){.ptr = s}));
	OK(doca_rdma_set_permissions(s->rdma, permissions));
	OK(doca_rdma_set_send_queue_size(s->rdma, QUEUE));
	OK(doca_rdma_set_max_send_buf_list_len(s->rdma, 3));
	OK(doca_rdma_task_receive_set_dst_buf_list_len(s->rdma, 2));
	configure(s->rdma);
	OK(doca_pe_connect_ctx(s->pe, s->ctx));
}

static void import(struct task_rig *r, struct side *from, struct side *to)
{
	const void *blob;
	size_t size;

	OK(doca_mmap_export_rdma(from->map, r->dev, &blob, &size));
	OK(doca_mmap_create_from_export(NULL, blob, size, r->dev, &to->peers));
}

void task_rig_make(struct task_rig *r, uint32_t permissions)
{
	memset(r, 0, sizeof(*r));
	r->dev = open_dev("dpa0"); /* found with dpa-run */
	OK(doca_buf_inventory_create(64, &r->inventory));
	OK(doca_buf_inventory_start(r->inventory));
	make_side(r, &r->a, DOCA_ACCESS_FLAG_RDMA_READ | DOCA_ACCESS_FLAG_RDMA_WRITE);
	make_side(r, &r->b, permissions);
	import(r, &r->a, &r->b);
	import(r, &r->b, &r->a);
}

void task_rig_connect(struct task_rig *r)
{
	const void *of_a, *of_b;
	size_t size_a, size_b;

	OK(doca_rdma_export(r->a.rdma, &of_a, &size_a, &r->a.conn));
	OK(doca_rdma_export(r->b.rdma, &of_b, &size_b, &r->b.conn));
	OK(doca_rdma_connect(r->a.rdma, of_b, size_b, r->a.conn));
	OK(doca_rdma_connect(r->b.rdma, of_a, size_a, r->b.conn));
}

void task_rig_start(struct task_rig *r, uint32_t permissions)
{
	task_rig_make(r, permissions);
	OK(doca_ctx_start(r->a.ctx));
	OK(doca_ctx_start(r->b.ctx));
	task_rig_connect(r);
}

static void stop_side(struct side *s)
{
	enum doca_ctx_states state;
	doca_error_t ret;

	OK(doca_ctx_get_state(s->ctx, &state));
	if (state != DOCA_CTX_STATE_IDLE) {
		ret = doca_ctx_stop(s->ctx);
		cr_assert(ret == DOCA_SUCCESS || ret == DOCA_ERROR_IN_PROGRESS);
		while (doca_ctx_get_state(s->ctx, &state) == DOCA_SUCCESS &&
		       state != DOCA_CTX_STATE_IDLE)
			doca_pe_progress(s->pe);
	}
	OK(doca_rdma_destroy(s->rdma));
	OK(doca_pe_destroy(s->pe));
	OK(doca_mmap_destroy(s->peers));
}

void task_rig_stop(struct task_rig *r)
{
	stop_side(&r->a);
	stop_side(&r->b);
	OK(doca_mmap_destroy(r->a.map));
	OK(doca_mmap_destroy(r->b.map));
	OK(doca_buf_inventory_destroy(r->inventory));
	OK(doca_dev_close(r->dev));
	free(r->a.mem);
	free(r->b.mem);
}

static struct doca_buf *buf(struct task_rig *r, struct doca_mmap *map, uint8_t *at, size_t len,
			    size_t data)
{
	struct doca_buf *b;

	OK(doca_buf_inventory_buf_get_by_args(r->inventory, map, at, len, at, data, &b));
	return b;
}

struct doca_buf *local_buf(struct task_rig *r, struct side *s, size_t offset, size_t len,
			   size_t data)
{
	return buf(r, s->map, s->mem + offset, len, data);
}

struct doca_buf *remote_buf(struct task_rig *r, struct side *s, size_t offset, size_t len,
			    size_t data)
{
	struct side *peer = s == &r->a ? &r->b : &r->a;

	return buf(r, s->peers, peer->mem + offset, len, data);
}

void put_buf(struct doca_buf *b)
{
	OK(doca_buf_dec_refcount(b, NULL));
}

size_t data_len(struct doca_buf *b)
{
	size_t n;

	OK(doca_buf_get_data_len(b, &n));
	return n;
}

void await(struct task_rig *r, struct side *s, int n)
{
	while (s->done + s->failed < n)
		if (!(doca_pe_progress(r->a.pe) | doca_pe_progress(r->b.pe)))
			sched_yield();
	cr_assert_eq(s->done + s->failed, n);
}

doca_error_t run(struct task_rig *r, struct side *s, struct doca_task *task)
{
	int before = s->done + s->failed;

	OK(doca_task_submit(task));
	await(r, s, before + 1);
	cr_assert_eq(s->task, task);
	return s->status;
}

struct doca_rdma_task_receive *receive(struct task_rig *r, size_t offset, size_t len)
{
	struct doca_buf *b = len ? local_buf(r, &r->b, offset, len, 0) : NULL;
	struct doca_rdma_task_receive *t;

	OK(doca_rdma_task_receive_allocate_init(r->b.rdma, b, number(offset), &t));
	OK(doca_task_submit(doca_rdma_task_receive_as_task(t)));
	return t;
}
