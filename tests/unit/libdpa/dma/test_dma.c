/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_dma.c - doca_dma: copies, the states of its context, and refused calls. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "host.h"
#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_dma.h>
#include <doca_mmap.h>
#include <doca_pe.h>

enum { MEM = 1 << 12, TASKS = 4 };

static struct doca_dev *dev;
static struct doca_pe *pe;
static struct doca_dma *dma;
static struct doca_ctx *ctx;
static struct doca_mmap *map;
static struct doca_buf_inventory *inventory;
static _Alignas(64) char mem[MEM];
static int done, failed;
static doca_error_t status;
static uint64_t own;
static bool frees;

static void note(struct doca_dma_task_memcpy *t, union doca_data task_data)
{
	status = doca_task_get_status(doca_dma_task_memcpy_as_task(t));
	own = task_data.u64;
	if (frees)
		doca_task_free(doca_dma_task_memcpy_as_task(t));
}

static void on_done(struct doca_dma_task_memcpy *t, union doca_data task_data, union doca_data data)
{
	cr_assert_eq(data.ptr, mem);
	done++;
	note(t, task_data);
}

static void on_error(struct doca_dma_task_memcpy *t, union doca_data task_data,
		     union doca_data data)
{
	cr_assert_eq(data.ptr, mem);
	failed++;
	note(t, task_data);
}

static struct doca_mmap *map_of(uint32_t access)
{
	struct doca_mmap *m;

	OK(doca_mmap_create(&m));
	OK(doca_mmap_set_memrange(m, mem, MEM));
	OK(doca_mmap_set_permissions(m, access));
	OK(doca_mmap_add_dev(m, dev));
	OK(doca_mmap_start(m));
	return m;
}

static void setup(void)
{
	dev = open_dpa0();
	map = map_of(DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
	OK(doca_buf_inventory_create(200, &inventory));
	OK(doca_buf_inventory_start(inventory));
	OK(doca_pe_create(&pe));
	OK(doca_dma_create(dev, &dma));
	ctx = doca_dma_as_ctx(dma);
	OK(doca_pe_connect_ctx(pe, ctx));
	OK(doca_ctx_set_user_data(ctx, (union doca_data){.ptr = mem}));
	OK(doca_dma_task_memcpy_set_conf(dma, on_done, on_error, TASKS));
	OK(doca_ctx_start(ctx));
	for (int i = 0; i < MEM; i++)
		mem[i] = (char)i;
}

static void teardown(void)
{
	OK(doca_ctx_stop(ctx));
	OK(doca_dma_destroy(dma));
	OK(doca_pe_destroy(pe));
	OK(doca_buf_inventory_destroy(inventory));
	OK(doca_mmap_destroy(map));
	OK(doca_dev_close(dev));
	cr_assert_eq(fake_opens(), 0);
}

TestSuite(dma, .init = setup, .fini = teardown, .timeout = 60);

static struct doca_buf *data_at(struct doca_mmap *m, size_t at, size_t len)
{
	struct doca_buf *b;

	OK(doca_buf_inventory_buf_get_by_data(inventory, m, mem + at, len, &b));
	return b;
}

static struct doca_buf *room_at(struct doca_mmap *m, size_t at, size_t len)
{
	struct doca_buf *b;

	OK(doca_buf_inventory_buf_get_by_addr(inventory, m, mem + at, len, &b));
	return b;
}

static struct doca_dma_task_memcpy *task_of(const struct doca_buf *src, struct doca_buf *dst)
{
	struct doca_dma_task_memcpy *t;

	OK(doca_dma_task_memcpy_alloc_init(dma, src, dst, (union doca_data){.u64 = 7}, &t));
	return t;
}

static struct doca_task *as_task(struct doca_dma_task_memcpy *t)
{
	return doca_dma_task_memcpy_as_task(t);
}

static enum doca_ctx_states state_of(void)
{
	enum doca_ctx_states s;

	OK(doca_ctx_get_state(ctx, &s));
	return s;
}

/* Run one copy that fails, free its resources, and start the context again. */
static doca_error_t fails(struct doca_buf *src, struct doca_buf *dst)
{
	struct doca_dma_task_memcpy *t = task_of(src, dst);
	int before = failed;

	OK(doca_task_submit(as_task(t)));
	doca_pe_progress(pe);
	cr_assert_eq(failed, before + 1);
	cr_assert_eq(state_of(), DOCA_CTX_STATE_IDLE, "an error stops the context");
	doca_task_free(as_task(t));
	OK(doca_buf_dec_refcount(src, NULL));
	OK(doca_buf_dec_refcount(dst, NULL));
	OK(doca_ctx_start(ctx));
	return status;
}

Test(dma, copies)
{
	struct doca_buf *src = data_at(map, 0, 100), *dst = room_at(map, 1000, 200);
	struct doca_dma_task_memcpy *t = task_of(src, dst);
	size_t len;

	OK(doca_task_submit(as_task(t)));
	cr_assert_eq(mem[1001], (char)1001, "nothing happens before progress");
	IS(doca_task_get_status(as_task(t)), IN_PROGRESS);
	cr_assert_eq(doca_pe_progress(pe), 1);
	cr_assert(done == 1 && !failed && own == 7 && status == DOCA_SUCCESS);
	cr_assert_arr_eq(mem + 1000, mem, 100);
	OK(doca_buf_get_data_len(dst, &len));
	cr_assert_eq(len, 100u);
	/* again: behind the present data */
	OK(doca_task_submit(as_task(t)));
	doca_pe_progress(pe);
	cr_assert_eq(done, 2);
	cr_assert_arr_eq(mem + 1100, mem, 100);
	OK(doca_buf_get_data_len(dst, &len));
	cr_assert_eq(len, 200u);
	doca_task_free(as_task(t));
	OK(doca_buf_dec_refcount(src, NULL));
	OK(doca_buf_dec_refcount(dst, NULL));
}

/* Source and destination are lists whose segments have different lengths. */
Test(dma, lists)
{
	struct doca_buf *src = data_at(map, 0, 10), *dst = room_at(map, 1000, 15);
	struct doca_dma_task_memcpy *t;
	char want[40];

	OK(doca_buf_chain_list(src, data_at(map, 50, 25)));
	OK(doca_buf_chain_list(dst, room_at(map, 2000, 30)));
	memcpy(want, mem, 10);
	memcpy(want + 10, mem + 50, 25);
	t = task_of(src, dst);
	OK(doca_task_submit(as_task(t)));
	doca_pe_progress(pe);
	cr_assert_eq(done, 1);
	cr_assert_arr_eq(mem + 1000, want, 15);
	cr_assert_arr_eq(mem + 2000, want + 15, 20);
	doca_task_free(as_task(t));
	OK(doca_buf_dec_refcount(src, NULL));
	OK(doca_buf_dec_refcount(dst, NULL));
}

Test(dma, ranges_that_overlap)
{
	struct doca_buf *src = data_at(map, 0, 100), *dst = room_at(map, 10, 100);
	struct doca_dma_task_memcpy *t = task_of(src, dst);

	OK(doca_task_submit(as_task(t)));
	doca_pe_progress(pe);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(mem[10 + i], (char)i);
	doca_task_free(as_task(t));
	OK(doca_buf_dec_refcount(src, NULL));
	OK(doca_buf_dec_refcount(dst, NULL));
}

Test(dma, failures)
{
	struct doca_mmap *readable = map_of(DOCA_ACCESS_FLAG_LOCAL_READ_ONLY), *peers;
	struct doca_mmap *exported = map_of(DOCA_ACCESS_FLAG_RDMA_READ);
	struct doca_buf *empty = data_at(map, 0, 10), *list;
	const void *blob;
	size_t len;

	OK(doca_buf_reset_data_len(empty));
	cr_assert_eq(fails(empty, room_at(map, 100, 10)), DOCA_ERROR_IO_FAILED);
	cr_assert_eq(fails(data_at(map, 0, 11), room_at(map, 100, 10)), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(fails(data_at(map, 0, 10), room_at(readable, 100, 10)),
		     DOCA_ERROR_NOT_PERMITTED);
	OK(doca_mmap_export_rdma(exported, dev, &blob, &len));
	OK(doca_mmap_create_from_export(NULL, blob, len, dev, &peers));
	cr_assert_eq(fails(data_at(peers, 0, 10), room_at(map, 100, 10)), DOCA_ERROR_NOT_SUPPORTED);
	list = data_at(map, 0, 1);
	for (int i = 0; i < 64; i++)
		OK(doca_buf_chain_list(list, data_at(map, 0, 1)));
	cr_assert_eq(fails(list, room_at(map, 100, 100)), DOCA_ERROR_INVALID_VALUE);
	OK(doca_mmap_destroy(peers));
	OK(doca_mmap_destroy(exported));
	OK(doca_mmap_destroy(readable));
}

/* The other tasks end, too, and the context is idle after the last report. */
Test(dma, an_error_stops_the_context)
{
	struct doca_buf *src = data_at(map, 0, 10), *dst = room_at(map, 100, 100);
	struct doca_buf *small = room_at(map, 300, 5);
	struct doca_dma_task_memcpy *t[3];

	t[0] = task_of(src, dst);
	t[1] = task_of(src, small);
	t[2] = task_of(src, dst);
	for (int i = 0; i < 3; i++)
		OK(doca_task_submit(as_task(t[i])));
	doca_pe_progress(pe);
	cr_assert(done == 1 && failed == 2);
	IS(doca_task_get_status(as_task(t[1])), INVALID_VALUE);
	IS(doca_task_get_status(as_task(t[2])), SHUTDOWN);
	cr_assert_eq(state_of(), DOCA_CTX_STATE_IDLE);
	IS(doca_task_submit(as_task(t[0])), BAD_STATE);
	for (int i = 0; i < 3; i++)
		doca_task_free(as_task(t[i]));
	OK(doca_buf_dec_refcount(src, NULL));
	OK(doca_buf_dec_refcount(dst, NULL));
	OK(doca_buf_dec_refcount(small, NULL));
}

Test(dma, stopping)
{
	struct doca_buf *src = data_at(map, 0, 10), *dst = room_at(map, 100, 100);
	struct doca_dma_task_memcpy *t = task_of(src, dst), *more;

	frees = true;
	OK(doca_task_submit(as_task(t)));
	IS(doca_dma_destroy(dma), IN_USE);
	IS(doca_ctx_stop(ctx), IN_PROGRESS);
	IS(doca_dma_task_memcpy_alloc_init(dma, src, dst, (union doca_data){0}, &more),
	   INVALID_VALUE);
	doca_pe_progress(pe);
	cr_assert(failed == 1 && status == DOCA_ERROR_SHUTDOWN);
	cr_assert_eq(state_of(), DOCA_CTX_STATE_IDLE);
	OK(doca_buf_dec_refcount(src, NULL));
	OK(doca_buf_dec_refcount(dst, NULL));
}

/* The engine's descriptor is readable while a copy is queued. */
Test(dma, notification)
{
	struct doca_buf *src = data_at(map, 0, 10), *dst = room_at(map, 100, 100);
	struct doca_dma_task_memcpy *t = task_of(src, dst);
	doca_notification_handle_t fd;
	struct pollfd p;

	OK(doca_pe_get_notification_handle(pe, &fd));
	p = (struct pollfd){.fd = fd, .events = POLLIN};
	OK(doca_pe_request_notification(pe));
	cr_assert_eq(poll(&p, 1, 0), 0);
	OK(doca_task_submit(as_task(t)));
	cr_assert_eq(poll(&p, 1, 0), 1);
	OK(doca_pe_clear_notification(pe, fd));
	doca_pe_progress(pe);
	cr_assert_eq(done, 1);
	doca_task_free(as_task(t));
	OK(doca_buf_dec_refcount(src, NULL));
	OK(doca_buf_dec_refcount(dst, NULL));
}

Test(dma, tasks)
{
	struct doca_buf *src = data_at(map, 0, 10), *dst = room_at(map, 100, 10), *other;
	struct doca_dma_task_memcpy *t[TASKS], *more;
	const union doca_data data = {0};

	IS(doca_dma_task_memcpy_alloc_init(NULL, src, dst, data, &more), INVALID_VALUE);
	IS(doca_dma_task_memcpy_alloc_init(dma, src, dst, data, NULL), INVALID_VALUE);
	for (int i = 0; i < TASKS; i++)
		t[i] = task_of(src, dst);
	IS(doca_dma_task_memcpy_alloc_init(dma, src, dst, data, &more), NO_MEMORY);
	cr_assert_eq(doca_dma_task_memcpy_get_src(t[0]), src);
	cr_assert_eq(doca_dma_task_memcpy_get_dst(t[0]), dst);
	other = data_at(map, 20, 10);
	doca_dma_task_memcpy_set_src(t[0], other);
	doca_dma_task_memcpy_set_dst(t[0], other);
	cr_assert_eq(doca_dma_task_memcpy_get_src(t[0]), other);
	cr_assert_eq(doca_dma_task_memcpy_get_dst(t[0]), other);
	OK(doca_buf_dec_refcount(other, NULL));
	IS(doca_task_submit(as_task(t[0])), INVALID_VALUE); /* not bufs any more */
	for (int i = 0; i < TASKS; i++)
		doca_task_free(as_task(t[i]));
	cr_assert_null(doca_dma_task_memcpy_as_task(t[0]));
	cr_assert_null(doca_dma_task_memcpy_get_src(t[0]));
	cr_assert_null(doca_dma_task_memcpy_get_dst(NULL));
	doca_dma_task_memcpy_set_src(NULL, src);
	doca_dma_task_memcpy_set_dst(t[0], dst);
	OK(doca_buf_dec_refcount(src, NULL));
	OK(doca_buf_dec_refcount(dst, NULL));
}

Test(dma, settings)
{
	struct doca_devinfo **list, *info = doca_dev_as_devinfo(dev);
	struct doca_dev *foreign;
	struct doca_dma *d;
	uint64_t size;
	uint32_t n;

	IS(doca_dma_create(NULL, &d), INVALID_VALUE);
	IS(doca_dma_create(dev, NULL), INVALID_VALUE);
	OK(doca_dma_create(dev, &d));
	IS(doca_dma_task_memcpy_set_conf(NULL, on_done, on_error, 1), INVALID_VALUE);
	IS(doca_dma_task_memcpy_set_conf(d, NULL, on_error, 1), INVALID_VALUE);
	IS(doca_dma_task_memcpy_set_conf(d, on_done, NULL, 1), INVALID_VALUE);
	OK(doca_dma_cap_get_max_num_tasks(d, &n));
	IS(doca_dma_task_memcpy_set_conf(d, on_done, on_error, n + 1), INVALID_VALUE);
	OK(doca_dma_task_memcpy_set_conf(d, on_done, on_error, 0));
	IS(doca_dma_task_memcpy_set_conf(dma, on_done, on_error, 1), INVALID_VALUE);
	IS(doca_dma_cap_get_max_num_tasks(NULL, &n), INVALID_VALUE);
	IS(doca_dma_cap_get_max_num_tasks(d, NULL), INVALID_VALUE);
	OK(doca_dma_destroy(d));
	IS(doca_dma_destroy(d), INVALID_VALUE);
	IS(doca_dma_destroy(NULL), INVALID_VALUE);
	cr_assert_null(doca_dma_as_ctx(d));

	OK(doca_dma_cap_task_memcpy_is_supported(info));
	OK(doca_dma_cap_task_memcpy_get_max_buf_list_len(info, &n));
	cr_assert_eq(n, 64u);
	OK(doca_dma_cap_task_memcpy_get_max_buf_size(info, &size));
	cr_assert_eq(size, UINT64_C(1) << 30);
	IS(doca_dma_cap_task_memcpy_is_supported(NULL), INVALID_VALUE);
	IS(doca_dma_cap_task_memcpy_get_max_buf_list_len(NULL, &n), INVALID_VALUE);
	IS(doca_dma_cap_task_memcpy_get_max_buf_size(info, NULL), INVALID_VALUE);
	OK(doca_devinfo_create_list(&list, &n));
	IS(doca_dma_cap_task_memcpy_is_supported(list[0]), NOT_SUPPORTED);
	OK(doca_dev_open(list[0], &foreign));
	IS(doca_dma_create(foreign, &d), INVALID_VALUE);
	OK(doca_dev_close(foreign));
	OK(doca_devinfo_destroy_list(list));
}
