/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* doca_dma: its context and its tasks. */
#include "dma.h"
#include "../common/buf/buf.h"

static struct doca_dma *of_ctx(struct doca_ctx *ctx)
{
	return container_of(ctx, struct doca_dma, ctx);
}

static struct doca_dma_task_memcpy *of_task(struct doca_task *task)
{
	return container_of(task, struct doca_dma_task_memcpy, task);
}

static void release(struct doca_dma *dma)
{
	if (!--dma->refs)
		dpa_obj_free(dma);
}

/* ---------------------------------------------------------------- the context */

static doca_error_t start(struct doca_ctx *ctx)
{
	return of_ctx(ctx)->done ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

static doca_error_t stop(struct doca_ctx *ctx)
{
	return ctx->inflight ? DOCA_ERROR_IN_PROGRESS : DOCA_SUCCESS; /* progress() ends them */
}

/* Takes what is queued now: what callbacks submit is for the next time. */
static struct doca_dma_task_memcpy *take(struct doca_dma *dma)
{
	struct doca_dma_task_memcpy *first = dma->queue;

	dma->queue = NULL;
	dma->queue_end = &dma->queue;
	return first;
}

static void work(struct doca_dma *dma, struct doca_dma_task_memcpy *t)
{
	struct doca_ctx *ctx = &dma->ctx;
	doca_error_t status = DOCA_ERROR_SHUTDOWN;

	if (ctx->state == DOCA_CTX_STATE_RUNNING)
		status = dpa_dma_copy(ctx->dev, t->src, t->dst);
	dpa_task_complete(&t->task, status);
	if (status && ctx->state == DOCA_CTX_STATE_RUNNING)
		dpa_core_move(ctx, DOCA_CTX_STATE_STOPPING);
}

static bool progress(struct doca_ctx *ctx)
{
	struct doca_dma *dma = of_ctx(ctx);
	struct doca_dma_task_memcpy *t = take(dma), *next;
	bool any = t != NULL;

	for (; t; t = next) {
		next = t->next;
		work(dma, t);
	}
	if (ctx->state == DOCA_CTX_STATE_STOPPING && !ctx->inflight) {
		dpa_core_move(ctx, DOCA_CTX_STATE_IDLE);
		any = true;
	}
	return any;
}

static bool arm(struct doca_ctx *ctx)
{
	return of_ctx(ctx)->queue || ctx->state == DOCA_CTX_STATE_STOPPING;
}

static const struct dpa_ctx_ops ctx_ops = {
	.start = start,
	.stop = stop,
	.progress = progress,
	.arm = arm,
};

doca_error_t doca_dma_create(struct doca_dev *dev, struct doca_dma **dma)
{
	struct doca_dma *d;

	if (!dpa_live(dev) || !dev->info.is_dpa || !dma)
		return DOCA_ERROR_INVALID_VALUE;
	d = dpa_obj_new(DPA_T_DMA, sizeof(*d));
	if (!d)
		return DOCA_ERROR_NO_MEMORY;
	dpa_core_init(&d->ctx, &ctx_ops, dev);
	dpa_dev_use(dev, 1);
	take(d);
	d->refs = 1;
	*dma = d;
	return DOCA_SUCCESS;
}

doca_error_t doca_dma_destroy(struct doca_dma *dma)
{
	doca_error_t ret;

	if (!dpa_live(dma))
		return DOCA_ERROR_INVALID_VALUE;
	ret = dpa_core_fini(&dma->ctx);
	if (ret)
		return ret;
	dpa_dev_use(dma->ctx.dev, -1);
	dpa_obj_remove(dma, DPA_T_DMA);
	release(dma);
	return DOCA_SUCCESS;
}

struct doca_ctx *doca_dma_as_ctx(struct doca_dma *dma)
{
	return dpa_live(dma) ? &dma->ctx : NULL;
}

/* ------------------------------------------------------------------ what it can */

doca_error_t doca_dma_cap_task_memcpy_is_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}

doca_error_t doca_dma_cap_get_max_num_tasks(struct doca_dma *dma, uint32_t *max_num_tasks)
{
	if (!dpa_live(dma) || !max_num_tasks)
		return DOCA_ERROR_INVALID_VALUE;
	*max_num_tasks = DPA_DMA_MAX_TASKS;
	return DOCA_SUCCESS;
}

doca_error_t doca_dma_cap_task_memcpy_get_max_buf_list_len(const struct doca_devinfo *devinfo,
							   uint32_t *max_buf_list_len)
{
	if (dpa_cap_if_dpa(devinfo) || !max_buf_list_len)
		return DOCA_ERROR_INVALID_VALUE;
	*max_buf_list_len = DPA_DMA_MAX_LIST;
	return DOCA_SUCCESS;
}

doca_error_t doca_dma_cap_task_memcpy_get_max_buf_size(const struct doca_devinfo *devinfo,
						       uint64_t *buf_size)
{
	if (dpa_cap_if_dpa(devinfo) || !buf_size)
		return DOCA_ERROR_INVALID_VALUE;
	*buf_size = DPA_DMA_MAX_SIZE;
	return DOCA_SUCCESS;
}

/* ----------------------------------------------------------------------- tasks */

doca_error_t doca_dma_task_memcpy_set_conf(struct doca_dma *dma,
					   doca_dma_task_memcpy_completion_cb_t task_completion_cb,
					   doca_dma_task_memcpy_completion_cb_t task_error_cb,
					   uint32_t num_memcpy_tasks)
{
	if (!dpa_live(dma) || !task_completion_cb || !task_error_cb ||
	    num_memcpy_tasks > DPA_DMA_MAX_TASKS || !dpa_core_idle(&dma->ctx))
		return DOCA_ERROR_INVALID_VALUE;
	dma->done = task_completion_cb;
	dma->failed = task_error_cb;
	dma->max_tasks = num_memcpy_tasks ? num_memcpy_tasks : DPA_DMA_MAX_TASKS;
	return DOCA_SUCCESS;
}

static doca_error_t submit(struct doca_task *task, uint32_t flags)
{
	struct doca_dma_task_memcpy *t = of_task(task);

	(void)flags;
	if (!dpa_buf_live(t->src) || !dpa_buf_live(t->dst))
		return DOCA_ERROR_INVALID_VALUE;
	t->next = NULL;
	*t->dma->queue_end = t;
	t->dma->queue_end = &t->next;
	dpa_pe_raise(task->ctx);
	return DOCA_SUCCESS;
}

static void call_back(struct doca_task *task)
{
	struct doca_dma_task_memcpy *t = of_task(task);

	(task->status ? t->dma->failed : t->dma->done)(t, task->user_data, task->ctx->user_data);
}

static void retire_task(struct doca_task *task)
{
	of_task(task)->dma->used--;
}

static void free_task(struct doca_task *task)
{
	struct doca_dma *dma = of_task(task)->dma;

	dpa_obj_free(of_task(task));
	release(dma);
}

static const struct dpa_task_ops task_ops = {
	.submit = submit,
	.completed = call_back,
	.retire = retire_task,
	.free = free_task,
};

doca_error_t doca_dma_task_memcpy_alloc_init(struct doca_dma *dma, const struct doca_buf *src,
					     struct doca_buf *dst, union doca_data user_data,
					     struct doca_dma_task_memcpy **task)
{
	struct doca_dma_task_memcpy *t;

	if (!dpa_live(dma) || !task || dma->ctx.state != DOCA_CTX_STATE_RUNNING)
		return DOCA_ERROR_INVALID_VALUE;
	if (dma->used >= dma->max_tasks)
		return DOCA_ERROR_NO_MEMORY;
	t = dpa_obj_new(DPA_T_DMA_TASK, sizeof(*t));
	if (!t)
		return DOCA_ERROR_NO_MEMORY;
	dpa_task_init(&t->task, &dma->ctx, &task_ops, user_data);
	t->dma = dma;
	t->src = src;
	t->dst = dst;
	dma->used++;
	dma->refs++;
	*task = t;
	return DOCA_SUCCESS;
}

struct doca_task *doca_dma_task_memcpy_as_task(struct doca_dma_task_memcpy *task)
{
	return dpa_live(task) ? &task->task : NULL;
}

void doca_dma_task_memcpy_set_src(struct doca_dma_task_memcpy *task, const struct doca_buf *src)
{
	if (dpa_live(task) && !task->task.inflight)
		task->src = src;
}

const struct doca_buf *doca_dma_task_memcpy_get_src(const struct doca_dma_task_memcpy *task)
{
	return dpa_live(task) ? task->src : NULL;
}

void doca_dma_task_memcpy_set_dst(struct doca_dma_task_memcpy *task, struct doca_buf *dst)
{
	if (dpa_live(task) && !task->task.inflight)
		task->dst = dst;
}

struct doca_buf *doca_dma_task_memcpy_get_dst(const struct doca_dma_task_memcpy *task)
{
	return dpa_live(task) ? task->dst : NULL;
}
