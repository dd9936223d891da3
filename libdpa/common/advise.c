/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * advise.c - doca_mmap_advise: its context and its tasks. The thread of the engine owns all of it.
 */
#include <doca_mmap_advise.h>
#include "../host/libdpa.h"
#include "buf/buf.h"
#include "pe.h"

#define MAX_SIZE (UINT64_C(1) << 30)
#define LINE	 64 /* bytes: the smallest line of all supported CPUs */

struct doca_mmap_advise_task_invalidate_cache {
	struct doca_task task; /* first: doca_task_free() gets its address */
	struct doca_mmap_advise *advise;
	struct doca_buf *buf;
	struct doca_mmap_advise_task_invalidate_cache *next; /* of the queue, while in flight */
};

struct doca_mmap_advise {
	struct doca_ctx ctx;
	struct doca_mmap_advise_task_invalidate_cache *queue, **queue_end;
	doca_mmap_advise_task_invalidate_cache_completion_cb_t done, failed;
	uint32_t max_tasks, used; /* configured; those that exist */
	uint32_t refs;		  /* references: the user's, and one for each task */
};

static struct doca_mmap_advise *advise_of_ctx(struct doca_ctx *ctx)
{
	return container_of(ctx, struct doca_mmap_advise, ctx);
}

static struct doca_mmap_advise_task_invalidate_cache *advise_task_of(struct doca_task *task)
{
	return container_of(task, struct doca_mmap_advise_task_invalidate_cache, task);
}

static void advise_release(struct doca_mmap_advise *a)
{
	if (!--a->refs)
		dpa_obj_free(a);
}

/* ------------------------------------------------------------------ the caches */

#if defined(__x86_64__)
static void cache_drop_line(const char *p)
{
	__builtin_ia32_clflush(p);
}

static void cache_fence(void)
{
	__builtin_ia32_mfence();
}
#elif defined(__aarch64__)
static void cache_drop_line(const char *p)
{
	__asm__ volatile("dc civac, %0" : : "r"(p) : "memory");
}

static void cache_fence(void)
{
	__asm__ volatile("dsb sy" : : : "memory");
}
#else
#error "no instruction to write a cache line back is known for this CPU"
#endif

/* Write the lines before they are dropped: no store is lost. */
static void cache_drop(const char *p, size_t len)
{
	const char *end = p + len;

	cache_fence();
	for (p = (const char *)((uintptr_t)p & ~(uintptr_t)(LINE - 1)); p < end; p += LINE)
		cache_drop_line(p);
	cache_fence();
}

static doca_error_t advise_invalidate(const struct doca_dev *dev, const struct doca_buf *b)
{
	struct dpa_mmap_key key;
	struct dpa_buf_data d;

	if (dpa_buf_data(b, dev, &d) || d.len > MAX_SIZE)
		return DOCA_ERROR_INVALID_VALUE;
	if (d.key->remote || !dpa_mmap_lookup(dev, d.key->key, &key))
		return DOCA_ERROR_NOT_SUPPORTED;
	cache_drop(d.addr, d.len);
	return DOCA_SUCCESS;
}

/* ----------------------------------------------------------------- the context */

static doca_error_t advise_start(struct doca_ctx *ctx)
{
	return advise_of_ctx(ctx)->done ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

static doca_error_t advise_stop(struct doca_ctx *ctx)
{
	return ctx->inflight ? DOCA_ERROR_IN_PROGRESS : DOCA_SUCCESS; /* progress ends them */
}

/* Take the tasks that are queued now. Tasks that callbacks submit wait for the next call. */
static struct doca_mmap_advise_task_invalidate_cache *advise_take(struct doca_mmap_advise *a)
{
	struct doca_mmap_advise_task_invalidate_cache *first = a->queue;

	a->queue = NULL;
	a->queue_end = &a->queue;
	return first;
}

static bool advise_progress(struct doca_ctx *ctx)
{
	struct doca_mmap_advise_task_invalidate_cache *t = advise_take(advise_of_ctx(ctx)), *next;
	bool any = t != NULL;

	for (; t; t = next) {
		next = t->next;
		dpa_task_complete(&t->task, ctx->state == DOCA_CTX_STATE_RUNNING
						    ? advise_invalidate(ctx->dev, t->buf)
						    : DOCA_ERROR_SHUTDOWN);
	}
	if (ctx->state == DOCA_CTX_STATE_STOPPING && !ctx->inflight) {
		dpa_core_move(ctx, DOCA_CTX_STATE_IDLE);
		any = true;
	}
	return any;
}

static bool advise_arm(struct doca_ctx *ctx)
{
	return advise_of_ctx(ctx)->queue || ctx->state == DOCA_CTX_STATE_STOPPING;
}

static const struct dpa_ctx_ops ctx_ops = {
	.start = advise_start,
	.stop = advise_stop,
	.progress = advise_progress,
	.arm = advise_arm,
};

doca_error_t doca_mmap_advise_create(struct doca_dev *dev, struct doca_mmap_advise **mmap_advise)
{
	struct doca_mmap_advise *a;

	if (!dpa_live(dev) || !dev->info.is_dpa || !mmap_advise)
		return DOCA_ERROR_INVALID_VALUE;
	a = dpa_obj_new(DPA_T_ADVISE, sizeof(*a));
	if (!a)
		return DOCA_ERROR_NO_MEMORY;
	dpa_core_init(&a->ctx, &ctx_ops, dev);
	dpa_dev_use(dev, 1);
	advise_take(a);
	a->refs = 1;
	*mmap_advise = a;
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_advise_destroy(struct doca_mmap_advise *mmap_advise)
{
	doca_error_t ret;

	if (!dpa_live(mmap_advise))
		return DOCA_ERROR_INVALID_VALUE;
	ret = dpa_core_fini(&mmap_advise->ctx);
	if (ret)
		return ret;
	dpa_dev_use(mmap_advise->ctx.dev, -1);
	dpa_obj_remove(mmap_advise, DPA_T_ADVISE);
	advise_release(mmap_advise);
	return DOCA_SUCCESS;
}

struct doca_ctx *doca_mmap_advise_as_ctx(struct doca_mmap_advise *mmap_advise)
{
	return dpa_live(mmap_advise) ? &mmap_advise->ctx : NULL;
}

doca_error_t
doca_mmap_advise_cap_task_cache_invalidate_is_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}

doca_error_t
doca_mmap_advise_task_cache_invalidate_get_max_buf_size(const struct doca_devinfo *devinfo,
							uint64_t *buf_size)
{
	if (dpa_cap_if_dpa(devinfo) || !buf_size)
		return DOCA_ERROR_INVALID_VALUE;
	*buf_size = MAX_SIZE;
	return DOCA_SUCCESS;
}

/* ----------------------------------------------------------------------- tasks */

doca_error_t doca_mmap_advise_task_invalidate_cache_set_conf(
	struct doca_mmap_advise *mmap_advise,
	doca_mmap_advise_task_invalidate_cache_completion_cb_t completion_cb,
	doca_mmap_advise_task_invalidate_cache_completion_cb_t error_cb, uint32_t num_tasks)
{
	if (!dpa_live(mmap_advise) || !completion_cb || !error_cb || !num_tasks)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_core_idle(&mmap_advise->ctx))
		return DOCA_ERROR_NOT_PERMITTED;
	mmap_advise->done = completion_cb;
	mmap_advise->failed = error_cb;
	mmap_advise->max_tasks = num_tasks;
	return DOCA_SUCCESS;
}

static doca_error_t advise_submit_task(struct doca_task *task, uint32_t flags)
{
	struct doca_mmap_advise_task_invalidate_cache *t = advise_task_of(task);

	if (!dpa_buf_live(t->buf))
		return DOCA_ERROR_INVALID_VALUE;
	t->next = NULL;
	*t->advise->queue_end = t;
	t->advise->queue_end = &t->next;
	dpa_pe_raise(task->ctx);
	return DOCA_SUCCESS;
}

static void advise_call_back(struct doca_task *task)
{
	struct doca_mmap_advise_task_invalidate_cache *t = advise_task_of(task);

	(task->status ? t->advise->failed : t->advise->done)(t, task->user_data,
							     task->ctx->user_data);
}

static void advise_retire_task(struct doca_task *task)
{
	advise_task_of(task)->advise->used--;
}

static void advise_free_task(struct doca_task *task)
{
	struct doca_mmap_advise *a = advise_task_of(task)->advise;

	dpa_obj_free(advise_task_of(task));
	advise_release(a);
}

static const struct dpa_task_ops task_ops = {
	.submit = advise_submit_task,
	.completed = advise_call_back,
	.retire = advise_retire_task,
	.free = advise_free_task,
};

doca_error_t doca_mmap_advise_task_invalidate_cache_alloc_init(
	struct doca_mmap_advise *mmap_advise, struct doca_buf *buf, union doca_data user_data,
	struct doca_mmap_advise_task_invalidate_cache **task)
{
	struct doca_mmap_advise_task_invalidate_cache *t;

	if (!dpa_live(mmap_advise) || !task || mmap_advise->ctx.state != DOCA_CTX_STATE_RUNNING)
		return DOCA_ERROR_INVALID_VALUE;
	if (mmap_advise->used >= mmap_advise->max_tasks)
		return DOCA_ERROR_NO_MEMORY;
	t = dpa_obj_new(DPA_T_ADVISE_TASK, sizeof(*t));
	if (!t)
		return DOCA_ERROR_NO_MEMORY;
	dpa_task_init(&t->task, &mmap_advise->ctx, &task_ops, user_data);
	t->advise = mmap_advise;
	t->buf = buf;
	mmap_advise->used++;
	mmap_advise->refs++;
	*task = t;
	return DOCA_SUCCESS;
}

struct doca_task *doca_mmap_advise_task_invalidate_cache_as_doca_task(
	struct doca_mmap_advise_task_invalidate_cache *task)
{
	return dpa_live(task) ? &task->task : NULL;
}

void doca_mmap_advise_task_invalidate_cache_set_buf(
	struct doca_mmap_advise_task_invalidate_cache *task, struct doca_buf *buf)
{
	if (dpa_live(task) && !task->task.inflight)
		task->buf = buf;
}

struct doca_buf *doca_mmap_advise_task_invalidate_cache_get_buf(
	const struct doca_mmap_advise_task_invalidate_cache *task)
{
	return dpa_live(task) ? task->buf : NULL;
}
