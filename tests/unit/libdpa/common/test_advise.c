/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_advise.c - doca_mmap_advise: its task, the states of its context, and refused calls. */
#include <poll.h>
#include <string.h>
#include "../host.h"
#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_mmap.h>
#include <doca_mmap_advise.h>
#include <doca_pe.h>

typedef struct doca_mmap_advise_task_invalidate_cache task_t;

static struct doca_dev *dev;
static struct doca_pe *pe;
static struct doca_mmap_advise *advise;
static struct doca_ctx *ctx;
static struct doca_mmap *map;
static struct doca_buf_inventory *inventory;
static struct doca_buf *buf;
static char mem[4096];
static int done, failed;
static doca_error_t status;

static struct doca_task *as_task(task_t *t)
{
	return doca_mmap_advise_task_invalidate_cache_as_doca_task(t);
}

static void on_done(task_t *t, union doca_data task_data, union doca_data data)
{
	cr_assert(task_data.u64 == 7 && data.ptr == mem);
	done++;
}

static void on_error(task_t *t, union doca_data task_data, union doca_data data)
{
	cr_assert(task_data.u64 == 7 && data.ptr == mem);
	status = doca_task_get_status(as_task(t));
	failed++;
}

static void setup(void)
{
	dev = open_dpa0();
	OK(doca_mmap_create(&map));
	OK(doca_mmap_set_memrange(map, mem, sizeof(mem)));
	OK(doca_mmap_add_dev(map, dev));
	OK(doca_mmap_set_permissions(map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
						  DOCA_ACCESS_FLAG_RDMA_READ));
	OK(doca_mmap_start(map));
	OK(doca_buf_inventory_create(4, &inventory));
	OK(doca_buf_inventory_start(inventory));
	OK(doca_buf_inventory_buf_get_by_data(inventory, map, mem + 3, 1000, &buf));
	OK(doca_pe_create(&pe));
	OK(doca_mmap_advise_create(dev, &advise));
	ctx = doca_mmap_advise_as_ctx(advise);
	OK(doca_pe_connect_ctx(pe, ctx));
	OK(doca_ctx_set_user_data(ctx, (union doca_data){.ptr = mem}));
	OK(doca_mmap_advise_task_invalidate_cache_set_conf(advise, on_done, on_error, 2));
	OK(doca_ctx_start(ctx));
}

static void teardown(void)
{
	OK(doca_ctx_stop(ctx));
	OK(doca_mmap_advise_destroy(advise));
	OK(doca_pe_destroy(pe));
	OK(doca_buf_dec_refcount(buf, NULL));
	OK(doca_buf_inventory_destroy(inventory));
	OK(doca_mmap_destroy(map));
	OK(doca_dev_close(dev));
	cr_assert_eq(fake_opens(), 0);
}

TestSuite(advise, .init = setup, .fini = teardown, .timeout = 60);

static task_t *task_of(struct doca_buf *b)
{
	task_t *t;

	OK(doca_mmap_advise_task_invalidate_cache_alloc_init(advise, b, (union doca_data){.u64 = 7},
							     &t));
	return t;
}

/* No byte is lost, not even around the buf. */
Test(advise, invalidates)
{
	doca_notification_handle_t fd;
	task_t *t = task_of(buf);
	struct pollfd p;

	for (size_t i = 0; i < sizeof(mem); i++)
		mem[i] = (char)(i * 7);
	OK(doca_pe_get_notification_handle(pe, &fd));
	p = (struct pollfd){.fd = fd, .events = POLLIN};
	OK(doca_pe_request_notification(pe));
	OK(doca_task_submit(as_task(t)));
	cr_assert_eq(poll(&p, 1, 0), 1);
	IS(doca_task_get_status(as_task(t)), IN_PROGRESS);
	cr_assert_eq(doca_pe_progress(pe), 1);
	cr_assert(done == 1 && !failed);
	for (size_t i = 0; i < sizeof(mem); i++)
		cr_assert_eq(mem[i], (char)(i * 7));
	OK(doca_buf_reset_data_len(buf)); /* no data: no work */
	OK(doca_task_submit(as_task(t)));
	doca_pe_progress(pe);
	cr_assert_eq(done, 2);
	doca_task_free(as_task(t));
}

Test(advise, stopping)
{
	task_t *t = task_of(buf), *more;

	OK(doca_task_submit(as_task(t)));
	IS(doca_mmap_advise_destroy(advise), IN_USE);
	IS(doca_ctx_stop(ctx), IN_PROGRESS);
	IS(doca_mmap_advise_task_invalidate_cache_alloc_init(advise, buf, (union doca_data){0},
							     &more),
	   INVALID_VALUE);
	doca_pe_progress(pe);
	cr_assert(failed == 1 && status == DOCA_ERROR_SHUTDOWN);
	doca_task_free(as_task(t));
}

/* The memory of a peer. */
Test(advise, fails)
{
	struct doca_buf *far;
	struct doca_mmap *peers;
	const void *blob;
	size_t len;
	task_t *t;

	OK(doca_mmap_export_rdma(map, dev, &blob, &len));
	OK(doca_mmap_create_from_export(NULL, blob, len, dev, &peers));
	OK(doca_buf_inventory_buf_get_by_data(inventory, peers, mem, 10, &far));
	t = task_of(far);
	OK(doca_task_submit(as_task(t)));
	doca_pe_progress(pe);
	cr_assert(failed == 1 && status == DOCA_ERROR_NOT_SUPPORTED);
	doca_mmap_advise_task_invalidate_cache_set_buf(t, buf);
	cr_assert_eq(doca_mmap_advise_task_invalidate_cache_get_buf(t), buf);
	OK(doca_task_submit(as_task(t)));
	doca_pe_progress(pe);
	cr_assert_eq(done, 1);
	doca_mmap_advise_task_invalidate_cache_set_buf(t, NULL);
	IS(doca_task_submit(as_task(t)), INVALID_VALUE);
	doca_task_free(as_task(t));
	OK(doca_buf_dec_refcount(far, NULL));
	OK(doca_mmap_destroy(peers));
}

Test(advise, refused)
{
	struct doca_devinfo **list, *info = doca_dev_as_devinfo(dev);
	struct doca_mmap_advise *a, *none = NULL;
	const union doca_data data = {0};
	task_t *t[2], *more;
	struct doca_dev *foreign;
	uint64_t size;
	uint32_t n;

	IS(doca_mmap_advise_create(NULL, &a), INVALID_VALUE);
	IS(doca_mmap_advise_create(dev, NULL), INVALID_VALUE);
	IS(doca_mmap_advise_task_invalidate_cache_set_conf(none, on_done, on_error, 1),
	   INVALID_VALUE);
	OK(doca_mmap_advise_create(dev, &a));
	IS(doca_mmap_advise_task_invalidate_cache_set_conf(a, NULL, on_error, 1), INVALID_VALUE);
	IS(doca_mmap_advise_task_invalidate_cache_set_conf(a, on_done, NULL, 1), INVALID_VALUE);
	IS(doca_mmap_advise_task_invalidate_cache_set_conf(a, on_done, on_error, 0), INVALID_VALUE);
	OK(doca_pe_connect_ctx(pe, doca_mmap_advise_as_ctx(a)));
	IS(doca_ctx_start(doca_mmap_advise_as_ctx(a)), INVALID_VALUE);
	OK(doca_mmap_advise_destroy(a));
	IS(doca_mmap_advise_destroy(a), INVALID_VALUE);
	IS(doca_mmap_advise_destroy(NULL), INVALID_VALUE);
	cr_assert_null(doca_mmap_advise_as_ctx(a));
	IS(doca_mmap_advise_task_invalidate_cache_set_conf(advise, on_done, on_error, 1),
	   NOT_PERMITTED);

	IS(doca_mmap_advise_task_invalidate_cache_alloc_init(none, buf, data, &more),
	   INVALID_VALUE);
	IS(doca_mmap_advise_task_invalidate_cache_alloc_init(advise, buf, data, NULL),
	   INVALID_VALUE);
	t[0] = task_of(buf);
	t[1] = task_of(buf);
	IS(doca_mmap_advise_task_invalidate_cache_alloc_init(advise, buf, data, &more), NO_MEMORY);
	for (int i = 0; i < 2; i++)
		doca_task_free(as_task(t[i]));
	cr_assert_null(as_task(t[0]));
	cr_assert_null(doca_mmap_advise_task_invalidate_cache_get_buf(t[0]));
	doca_mmap_advise_task_invalidate_cache_set_buf(NULL, buf);

	OK(doca_mmap_advise_cap_task_cache_invalidate_is_supported(info));
	IS(doca_mmap_advise_cap_task_cache_invalidate_is_supported(NULL), INVALID_VALUE);
	OK(doca_mmap_advise_task_cache_invalidate_get_max_buf_size(info, &size));
	cr_assert_eq(size, UINT64_C(1) << 30);
	IS(doca_mmap_advise_task_cache_invalidate_get_max_buf_size(NULL, &size), INVALID_VALUE);
	IS(doca_mmap_advise_task_cache_invalidate_get_max_buf_size(info, NULL), INVALID_VALUE);
	OK(doca_devinfo_create_list(&list, &n));
	IS(doca_mmap_advise_cap_task_cache_invalidate_is_supported(list[0]), NOT_SUPPORTED);
	OK(doca_dev_open(list[0], &foreign));
	IS(doca_mmap_advise_create(foreign, &a), INVALID_VALUE);
	OK(doca_dev_close(foreign));
	OK(doca_devinfo_destroy_list(list));
}
