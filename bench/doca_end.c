/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_end.c - the DOCA end: one context, one connection by exported details, tasks that are
 * submitted repeatedly.
 */
#define DOCA_ALLOW_EXPERIMENTAL_API
#include <stdlib.h>
#include <string.h>
#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include <doca_rdma.h>
#include "doca_end.h"
#include "doca_open.h"

struct doca_end {
	struct doca_dev *dev;
	struct doca_mmap *map, *peers;
	struct doca_buf_inventory *inventory;
	struct doca_pe *pe;
	struct doca_rdma *rdma;
	struct doca_rdma_connection *conn;
	uint8_t *mem, *peers_mem;
	uint32_t sent, received;
	bool ending;
	struct doca_buf *src[WINDOW], *far[WINDOW], *dst[WINDOW];
	struct doca_rdma_task_send *send[WINDOW];
	struct doca_rdma_task_write *write[WINDOW];
	struct doca_rdma_task_receive *receive[WINDOW];
};

static void on_send(struct doca_rdma_task_send *task, union doca_data own, union doca_data ctx)
{
	((struct doca_end *)ctx.ptr)->sent++;
}

static void on_write(struct doca_rdma_task_write *task, union doca_data own, union doca_data ctx)
{
	((struct doca_end *)ctx.ptr)->sent++;
}

static void on_receive(struct doca_rdma_task_receive *task, union doca_data own,
		       union doca_data ctx)
{
	((struct doca_end *)ctx.ptr)->received++;
}

static void bad_send(struct doca_rdma_task_send *task, union doca_data own, union doca_data ctx)
{
	CHECK(false, "a send failed");
}

static void bad_write(struct doca_rdma_task_write *task, union doca_data own, union doca_data ctx)
{
	CHECK(false, "a write failed");
}

static void bad_receive(struct doca_rdma_task_receive *task, union doca_data own,
			union doca_data ctx)
{
	CHECK(((struct doca_end *)ctx.ptr)->ending, "a receive failed");
}

static void make_map(struct doca_end *e)
{
	e->mem = aligned_alloc(4096, MAX_BYTES);
	CHECK(e->mem, "no memory");
	memset(e->mem, 1, MAX_BYTES);
	OK(doca_mmap_create(&e->map));
	OK(doca_mmap_set_permissions(e->map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
						     DOCA_ACCESS_FLAG_RDMA_WRITE));
	OK(doca_mmap_set_memrange(e->map, e->mem, MAX_BYTES));
	OK(doca_mmap_add_dev(e->map, e->dev));
	OK(doca_mmap_start(e->map));
	OK(doca_buf_inventory_create(3 * WINDOW, &e->inventory));
	OK(doca_buf_inventory_start(e->inventory));
}

static void make_context(struct doca_end *e)
{
	OK(doca_pe_create(&e->pe));
	OK(doca_rdma_create(e->dev, &e->rdma));
	OK(doca_ctx_set_user_data(doca_rdma_as_ctx(e->rdma), (union doca_data){.ptr = e}));
	OK(doca_rdma_set_permissions(e->rdma, DOCA_ACCESS_FLAG_RDMA_WRITE));
	OK(doca_rdma_set_send_queue_size(e->rdma, WINDOW));
	OK(doca_rdma_task_send_set_conf(e->rdma, on_send, bad_send, WINDOW));
	OK(doca_rdma_task_write_set_conf(e->rdma, on_write, bad_write, WINDOW));
	OK(doca_rdma_task_receive_set_conf(e->rdma, on_receive, bad_receive, WINDOW));
	OK(doca_pe_connect_ctx(e->pe, doca_rdma_as_ctx(e->rdma)));
	OK(doca_ctx_start(doca_rdma_as_ctx(e->rdma)));
}

/* Send a blob and receive that of the peer. The caller frees it. */
static void *swap(struct vt *t, const void *blob, size_t size, size_t *peers)
{
	void *out;

	vt_put(t, &size, sizeof(size));
	vt_put(t, blob, size);
	vt_get(t, peers, sizeof(*peers));
	out = malloc(*peers);
	CHECK(out, "no memory");
	vt_get(t, out, *peers);
	return out;
}

static void meet(struct vt *t, struct doca_end *e)
{
	size_t size, peers;
	const void *blob;
	void *theirs;

	OK(doca_rdma_export(e->rdma, &blob, &size, &e->conn));
	theirs = swap(t, blob, size, &peers);
	OK(doca_rdma_connect(e->rdma, theirs, peers, e->conn));
	free(theirs);
	OK(doca_mmap_export_rdma(e->map, e->dev, &blob, &size));
	theirs = swap(t, blob, size, &peers);
	OK(doca_mmap_create_from_export(NULL, theirs, peers, e->dev, &e->peers));
	free(theirs);
	OK(doca_mmap_get_memrange(e->peers, (void **)&e->peers_mem, &size));
	vt_sync(t);
}

static struct doca_buf *make_buf(struct doca_end *e, struct doca_mmap *map, uint8_t *mem)
{
	struct doca_buf *b;

	OK(doca_buf_inventory_buf_get_by_addr(e->inventory, map, mem, MAX_BYTES, &b));
	return b;
}

static void make_tasks(struct doca_end *e)
{
	const union doca_data none = {.u64 = 0};

	for (int i = 0; i < WINDOW; i++) {
		e->src[i] = make_buf(e, e->map, e->mem);
		e->dst[i] = make_buf(e, e->map, e->mem);
		e->far[i] = make_buf(e, e->peers, e->peers_mem);
		OK(doca_rdma_task_send_allocate_init(e->rdma, e->conn, e->src[i], none,
						     &e->send[i]));
		OK(doca_rdma_task_write_allocate_init(e->rdma, e->conn, e->src[i], e->far[i], none,
						      &e->write[i]));
		OK(doca_rdma_task_receive_allocate_init(e->rdma, e->dst[i], none, &e->receive[i]));
	}
}

struct doca_end *doca_end_make(struct vt *t)
{
	struct doca_end *e = calloc(1, sizeof(*e));

	CHECK(e, "no memory");
	e->dev = bench_open(vt_device);
	make_map(e);
	make_context(e);
	meet(t, e);
	make_tasks(e);
	return e;
}

static void free_tasks(struct doca_end *e)
{
	for (int i = 0; i < WINDOW; i++) {
		doca_task_free(doca_rdma_task_send_as_task(e->send[i]));
		doca_task_free(doca_rdma_task_write_as_task(e->write[i]));
		doca_task_free(doca_rdma_task_receive_as_task(e->receive[i]));
		OK(doca_buf_dec_refcount(e->src[i], NULL));
		OK(doca_buf_dec_refcount(e->dst[i], NULL));
		OK(doca_buf_dec_refcount(e->far[i], NULL));
	}
}

/*
 * Free it. Receives without a message end with the context, so the context stops before its tasks
 * are freed.
 */
void doca_end_free(struct vt *t, struct doca_end *e)
{
	struct doca_ctx *ctx = doca_rdma_as_ctx(e->rdma);
	enum doca_ctx_states state;

	vt_sync(t);
	e->ending = true;
	doca_ctx_stop(ctx);
	do
		doca_pe_progress(e->pe);
	while (!doca_ctx_get_state(ctx, &state) && state != DOCA_CTX_STATE_IDLE);
	free_tasks(e);
	OK(doca_rdma_destroy(e->rdma));
	OK(doca_pe_destroy(e->pe));
	OK(doca_mmap_destroy(e->peers));
	OK(doca_mmap_destroy(e->map));
	OK(doca_buf_inventory_destroy(e->inventory));
	OK(doca_dev_close(e->dev));
	free(e->mem);
	free(e);
}

void doca_end_resize(struct doca_end *e, uint32_t bytes)
{
	for (int i = 0; i < WINDOW; i++)
		OK(doca_buf_set_data(e->src[i], e->mem, bytes));
}

void doca_end_send(struct doca_end *e, uint32_t i)
{
	OK(doca_task_submit(doca_rdma_task_send_as_task(e->send[i % WINDOW])));
}

void doca_end_write(struct doca_end *e, uint32_t i)
{
	OK(doca_task_submit(doca_rdma_task_write_as_task(e->write[i % WINDOW])));
}

/*
 * Post a receive again. A message is appended to the buf's data: reset the length, so that the next
 * one begins at the start.
 */
void doca_end_receive(struct doca_end *e, uint32_t i)
{
	OK(doca_buf_reset_data_len(e->dst[i % WINDOW]));
	OK(doca_task_submit(doca_rdma_task_receive_as_task(e->receive[i % WINDOW])));
}

void doca_end_progress(struct doca_end *e, uint32_t *sent, uint32_t *received)
{
	doca_pe_progress(e->pe);
	*sent += e->sent;
	*received += e->received;
	e->sent = e->received = 0;
}
