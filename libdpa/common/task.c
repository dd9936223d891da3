/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* task.c - tasks: common part of all types. */
#include "pe.h"

#define SUBMIT_FLAGS (DOCA_TASK_SUBMIT_FLAG_FLUSH | DOCA_TASK_SUBMIT_FLAG_OPTIMIZE_REPORTS)

void dpa_task_init(struct doca_task *task, struct doca_ctx *ctx, const struct dpa_task_ops *ops,
		   union doca_data user_data)
{
	*task = (struct doca_task){.ctx = ctx, .ops = ops, .user_data = user_data};
	dpa_obj_add(task, DPA_T_TASK);
}

void dpa_task_complete(struct doca_task *task, doca_error_t status)
{
	task->status = status;
	task->inflight = false;
	task->ctx->inflight--;
	if (task->watch) {
		task->watch->ended(task);
		return;
	}
	task->callbacks++;
	task->ops->completed(task);
	if (!--task->callbacks && task->retired)
		task->ops->free(task);
}

doca_error_t doca_task_submit_ex(struct doca_task *task, uint32_t flags)
{
	doca_error_t ret;

	if (!dpa_live(task) || flags & ~SUBMIT_FLAGS)
		return DOCA_ERROR_INVALID_VALUE;
	if (task->inflight || task->ctx->state != DOCA_CTX_STATE_RUNNING)
		return DOCA_ERROR_BAD_STATE;
	/* set before, because the task may be completed within */
	task->inflight = true;
	task->ctx->inflight++;
	ret = task->ops->submit(task, flags);
	if (ret) {
		task->inflight = false;
		task->ctx->inflight--;
	}
	return ret;
}

doca_error_t doca_task_submit(struct doca_task *task)
{
	return doca_task_submit_ex(task, DOCA_TASK_SUBMIT_FLAG_FLUSH);
}

doca_error_t doca_task_try_submit(struct doca_task *task)
{
	return doca_task_submit(task);
}

void doca_task_free(struct doca_task *task)
{
	if (!dpa_live(task) || task->inflight)
		return;
	dpa_obj_remove(task, DPA_T_TASK);
	task->ops->retire(task);
	task->retired = true;
	if (!task->callbacks)
		task->ops->free(task);
}

doca_error_t doca_task_get_status(const struct doca_task *task)
{
	if (!dpa_live(task))
		return DOCA_ERROR_INVALID_VALUE;
	return task->inflight ? DOCA_ERROR_IN_PROGRESS : task->status;
}

void doca_task_set_user_data(struct doca_task *task, union doca_data user_data)
{
	if (dpa_live(task))
		task->user_data = user_data;
}

union doca_data doca_task_get_user_data(const struct doca_task *task)
{
	return dpa_live(task) ? task->user_data : (union doca_data){.u64 = 0};
}

struct doca_ctx *doca_task_get_ctx(const struct doca_task *task)
{
	return dpa_live(task) ? task->ctx : NULL;
}
