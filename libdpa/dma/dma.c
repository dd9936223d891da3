/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dma.c - doca_dma: its context and its tasks. */
#include "dma.h"
#include "../common/buf/buf.h"
#include "../run/inject.h"

static struct doca_dma *dma_of_ctx(struct doca_ctx *ctx)
{
	return container_of(ctx, struct doca_dma, ctx);
}

static struct doca_dma_task_memcpy *dma_task_of(struct doca_task *task)
{
	return container_of(task, struct doca_dma_task_memcpy, task);
}

static void dma_release(struct doca_dma *dma)
{
	if (!--dma->refs)
		dpa_obj_free(dma);
}

/* ---------------------------------------------------------------- the context */

static doca_error_t dma_start(struct doca_ctx *ctx)
{
	dpa_inject_begin();
	return dma_of_ctx(ctx)->done ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

static doca_error_t dma_stop(struct doca_ctx *ctx)
{
	if (ctx->inflight)
		return DOCA_ERROR_IN_PROGRESS; /* progress ends them */
	dpa_dma_remote_close(dma_of_ctx(ctx));
	return DOCA_SUCCESS;
}

/* Take the tasks that are queued now. Tasks that callbacks submit wait for the next call. */
static void dma_take(struct doca_dma *dma)
{
	if (!dma->queue)
		return;
	*dma->work_end = dma->queue;
	dma->work_end = dma->queue_end;
	if (!dma->post)
		dma->post = dma->queue;
	dma->queue = NULL;
	dma->queue_end = &dma->queue;
}

/*
 * Begin tasks in their order, and post those with a peer's memory. A task within the process is
 * copied when it is the next to end.
 */
static void dma_pump(struct doca_dma *dma)
{
	struct doca_dma_task_memcpy *t;
	uint64_t ns;

	for (; (t = dma->post); dma->post = t->next) {
		if (!t->begun) {
			if (t != dma->work && dpa_dma_must_wait(t))
				return;
			t->failed = dpa_dma_begin(t);
			if (!t->failed && dpa_injected(DPA_HW_INJECT_DMA, &ns))
				t->failed = DOCA_ERROR_IO_FAILED;
			if (!t->failed && t->remote)
				dpa_dma_mark(t, true);
		}
		if (t->failed || !t->remote || !dpa_dma_remote_post(dma, t))
			return;
	}
}

/* Return the status of a task of a context that stops; AGAIN: it has not ended. */
static doca_error_t dma_cancel(struct doca_dma *dma, const struct doca_dma_task_memcpy *t)
{
	if (!t->begun || !t->remote)
		return DOCA_ERROR_SHUTDOWN;
	dpa_dma_remote_abort(dma);
	if (t->posted && t->last <= dma->remote.good)
		return DOCA_SUCCESS;
	return dpa_dma_remote_quiet(dma) ? DOCA_ERROR_SHUTDOWN : DOCA_ERROR_AGAIN;
}

/* Return the status of the first task of all; AGAIN: it has not ended. */
static doca_error_t dma_finish(struct doca_dma *dma, struct doca_dma_task_memcpy *t)
{
	bool quiet = dpa_dma_remote_quiet(dma);

	if (dma->ctx.state != DOCA_CTX_STATE_RUNNING)
		return dma_cancel(dma, t);
	if (t->remote && t->posted && t->last <= dma->remote.good)
		return DOCA_SUCCESS;
	if (!quiet || !t->begun)
		return DOCA_ERROR_AGAIN;
	if (t->failed)
		return t->failed;
	if (t->remote)
		return dma->remote.failed ? dma->remote.failed : DOCA_ERROR_AGAIN;
	dpa_dma_copy(&t->walk);
	return DOCA_SUCCESS;
}

/* Complete the first task of `work`. */
static void dma_complete(struct doca_dma *dma, struct doca_dma_task_memcpy *t, doca_error_t status)
{
	struct doca_ctx *ctx = &dma->ctx;

	dma->work = t->next;
	if (!dma->work)
		dma->work_end = &dma->work;
	if (dma->post == t)
		dma->post = t->next;
	if (!status)
		dpa_dma_fill(t);
	if (t->marked)
		dpa_dma_mark(t, false);
	dpa_task_complete(&t->task, status);
	if (status && ctx->state == DOCA_CTX_STATE_RUNNING)
		dpa_core_move(ctx, DOCA_CTX_STATE_STOPPING);
}

static bool dma_work(struct doca_dma *dma)
{
	struct doca_dma_task_memcpy *t;
	doca_error_t status;
	bool any = false;

	for (; (t = dma->work); any = true) {
		if (dma->ctx.state == DOCA_CTX_STATE_RUNNING)
			dma_pump(dma);
		if (!any)
			any = dpa_dma_remote_poll(dma); /* small copies end at once */
		status = dma_finish(dma, t);
		if (status == DOCA_ERROR_AGAIN)
			break;
		dma_complete(dma, t, status);
	}
	return any;
}

static bool dma_progress(struct doca_ctx *ctx)
{
	struct doca_dma *dma = dma_of_ctx(ctx);
	bool any = dpa_dma_remote_poll(dma);

	dma_take(dma);
	any |= dma_work(dma);
	if (ctx->state == DOCA_CTX_STATE_STOPPING && !ctx->inflight) {
		dpa_dma_remote_close(dma);
		dpa_core_move(ctx, DOCA_CTX_STATE_IDLE);
		any = true;
	}
	return any;
}

static bool dma_arm(struct doca_ctx *ctx)
{
	struct doca_dma *dma = dma_of_ctx(ctx);

	return dma->queue || (ctx->state == DOCA_CTX_STATE_STOPPING && dpa_dma_remote_quiet(dma)) ||
	       dpa_dma_remote_arm(dma);
}

static const struct dpa_ctx_ops ctx_ops = {
	.start = dma_start,
	.stop = dma_stop,
	.progress = dma_progress,
	.arm = dma_arm,
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
	d->queue_end = &d->queue;
	d->work_end = &d->work;
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
	dma_release(dma);
	return DOCA_SUCCESS;
}

struct doca_ctx *doca_dma_as_ctx(struct doca_dma *dma)
{
	return dpa_live(dma) ? &dma->ctx : NULL;
}

/* ----------------------------------------------------------------- capabilities */

doca_error_t doca_dma_cap_task_memcpy_is_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}

doca_error_t doca_dma_cap_get_max_num_tasks(struct doca_dma *dma, uint32_t *max_num_tasks)
{
	DPA_RETURN_VALUE(dma, max_num_tasks, DPA_DMA_MAX_TASKS);
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

static doca_error_t dma_submit_task(struct doca_task *task, uint32_t flags)
{
	struct doca_dma_task_memcpy *t = dma_task_of(task);

	if (!dpa_buf_live(t->src) || !dpa_buf_live(t->dst))
		return DOCA_ERROR_INVALID_VALUE;
	t->next = NULL;
	t->begun = false;
	*t->dma->queue_end = t;
	t->dma->queue_end = &t->next;
	dpa_pe_raise(task->ctx);
	return DOCA_SUCCESS;
}

static void dma_call_back(struct doca_task *task)
{
	struct doca_dma_task_memcpy *t = dma_task_of(task);

	(task->status ? t->dma->failed : t->dma->done)(t, task->user_data, task->ctx->user_data);
}

static void dma_retire_task(struct doca_task *task)
{
	dma_task_of(task)->dma->used--;
}

static void dma_free_task(struct doca_task *task)
{
	struct doca_dma *dma = dma_task_of(task)->dma;

	dpa_obj_free(dma_task_of(task));
	dma_release(dma);
}

static const struct dpa_task_ops task_ops = {
	.submit = dma_submit_task,
	.completed = dma_call_back,
	.retire = dma_retire_task,
	.free = dma_free_task,
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
