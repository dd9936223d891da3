/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * main.c - dpa_memcpy [-n BYTES]: a DPA thread copies the host's memory into the DPA's heap (by
 * mmap and address) and inverts it. Then it copies it back to another place of the host (by bufs).
 * The copies are asynchronous.
 */
#include <stdio.h>
#include <stdlib.h>
#include <doca_buf_array.h>
#include "copy.h"
#include "res.h"

extern struct doca_dpa_app *memcpy_app;
extern doca_dpa_func_t copy_thread, copy_go;

struct demo {
	struct res res;
	struct copy shared;
	struct doca_sync_event *event;
	struct doca_dpa_thread *thread;
	struct doca_dpa_notification_completion *notify;
	struct doca_dpa_completion *comp;
	struct doca_dpa_async_ops *async_ops;
	doca_dpa_dev_notification_completion_t notify_handle;
	doca_dpa_dev_uintptr_t state, heap;
	uint8_t *host; /* the source, followed by the destination */
	size_t len;
	struct doca_mmap *in_map, *out_map, *heap_map;
	struct doca_buf_arr *heap_buf, *out_buf;
};

/* Creates a buf array with one element that covers the whole map. */
static bool make_buf(struct demo *d, struct doca_mmap *map, struct doca_buf_arr **arr,
		     uint64_t *handle)
{
	TRY(doca_buf_arr_create(1, arr));
	TRY(doca_buf_arr_set_target_dpa(*arr, d->res.dpa));
	TRY(doca_buf_arr_set_params(*arr, map, d->len, 0));
	TRY(doca_buf_arr_start(*arr));
	TRY(doca_buf_arr_get_dpa_handle(*arr, handle));
	return true;
}

static bool make_memory(struct demo *d)
{
	const uint32_t access = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE;
	struct copy *s = &d->shared;
	doca_dpa_dev_mmap_t out;

	d->host = calloc(2, d->len);
	if (!d->host)
		return false;
	for (size_t i = 0; i < d->len; i++)
		d->host[i] = (uint8_t)(i * 7 + i / 256);
	if (!res_alloc(&d->res, sizeof(struct copy), &d->state) ||
	    !res_alloc(&d->res, d->len, &d->heap) ||
	    !res_map(&d->res, d->host, d->len, access, &d->in_map, &s->in_mmap) ||
	    !res_map(&d->res, d->host + d->len, d->len, access, &d->out_map, &out) ||
	    !res_map_heap(&d->res, d->heap, d->len, access, &d->heap_map, &s->heap_mmap))
		return false;
	s->in = (uint64_t)(uintptr_t)d->host;
	s->heap = d->heap;
	s->len = d->len;
	return make_buf(d, d->heap_map, &d->heap_buf, &s->heap_buf) &&
	       make_buf(d, d->out_map, &d->out_buf, &s->out_buf);
}

static bool make_thread(struct demo *d)
{
	struct copy *s = &d->shared;

	s->dpa = d->res.dpa_handle;
	if (!res_event(&d->res, RES_EVENT_TO_HOST, &d->event, &s->event) ||
	    !res_thread(&d->res, &copy_thread, d->state, &d->thread) ||
	    !res_notification(&d->res, d->thread, &d->notify, &d->notify_handle) ||
	    !res_completion(&d->res, 4, d->thread, &d->comp, &s->comp))
		return false;
	TRY(doca_dpa_async_ops_create(d->res.dpa, 4, COPY_USER_DATA, &d->async_ops));
	TRY(doca_dpa_async_ops_attach(d->async_ops, d->comp));
	TRY(doca_dpa_async_ops_start(d->async_ops));
	TRY(doca_dpa_async_ops_get_dpa_handle(d->async_ops, &s->async_ops));
	return true;
}

static bool run_memcpy(struct demo *d, const struct args *a)
{
	size_t wrong = 0;
	uint64_t ret;

	if (!res_open(&d->res, a, memcpy_app) || !make_memory(d) || !make_thread(d))
		return false;
	TRY(doca_dpa_h2d_memcpy(d->res.pf_dpa, d->state, &d->shared, sizeof(d->shared)));
	TRY(doca_dpa_thread_run(d->thread));
	TRY(doca_dpa_rpc(d->res.pf_dpa, &copy_go, &ret, d->res.dpa_handle, d->notify_handle));
	if (!res_await(&d->res, d->event, 0))
		return false;
	TRY(doca_dpa_d2h_memcpy(d->res.pf_dpa, &d->shared, d->state, sizeof(d->shared)));
	for (size_t i = 0; i < d->len; i++)
		wrong += d->host[d->len + i] != 255 - d->host[i];
	printf("%zu bytes there and back, %zu of them wrong\n", d->len, wrong);
	return !wrong && !d->shared.failed;
}

int main(int argc, char **argv)
{
	struct args a = {.count = 100000};
	struct demo d = {0};
	bool ok;

	if (!args_parse(&a, "dpa_memcpy", ARGS_COUNT, argc, argv))
		return 1;
	d.len = (size_t)a.count;
	ok = run_memcpy(&d, &a);
	END(&ok, d.async_ops, doca_dpa_async_ops_destroy(d.async_ops));
	END(&ok, d.comp, doca_dpa_completion_destroy(d.comp));
	END(&ok, d.notify, doca_dpa_notification_completion_destroy(d.notify));
	END(&ok, d.thread, doca_dpa_thread_destroy(d.thread));
	END(&ok, d.event, doca_sync_event_destroy(d.event));
	END(&ok, d.heap_buf, doca_buf_arr_destroy(d.heap_buf));
	END(&ok, d.out_buf, doca_buf_arr_destroy(d.out_buf));
	END(&ok, d.heap_map, doca_mmap_destroy(d.heap_map));
	END(&ok, d.out_map, doca_mmap_destroy(d.out_map));
	END(&ok, d.in_map, doca_mmap_destroy(d.in_map));
	END(&ok, d.heap, doca_dpa_mem_free(d.res.pf_dpa, d.heap));
	END(&ok, d.state, doca_dpa_mem_free(d.res.pf_dpa, d.state));
	ok = res_close(&d.res) && ok;
	free(d.host);
	return ok ? 0 : 1;
}
