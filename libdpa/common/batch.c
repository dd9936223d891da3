/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * batch.c - batches of tasks. No task type of this library has batches, so no pointer is a batch.
 */
#include "pe.h"

doca_error_t doca_task_batch_submit(struct doca_task_batch *task_batch)
{
	return DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_task_batch_try_submit(struct doca_task_batch *task_batch)
{
	return doca_task_batch_submit(task_batch);
}

void doca_task_batch_free(struct doca_task_batch *task_batch)
{
}

doca_error_t doca_task_batch_get_status(const struct doca_task_batch *task_batch)
{
	return DOCA_ERROR_INVALID_VALUE;
}

void doca_task_batch_set_user_data(struct doca_task_batch *task_batch, union doca_data user_data)
{
}

union doca_data doca_task_batch_get_user_data(const struct doca_task_batch *task_batch)
{
	return (union doca_data){.u64 = 0};
}

struct doca_ctx *doca_task_batch_get_ctx(const struct doca_task_batch *task_batch)
{
	return NULL;
}

union doca_data doca_task_batch_get_ctx_user_data(const struct doca_task_batch *task_batch)
{
	return doca_task_batch_get_user_data(task_batch);
}

uint16_t doca_task_batch_get_tasks_num(struct doca_task_batch *task_batch)
{
	return 0;
}
