/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The public names of tasks of sync events: one type for each kind, all the same inside. */
#include <assert.h>
#include "sync_task.h"

/* The functions that differ between kinds only in their names. */
#define TASK(name, which)                                                                          \
	struct doca_sync_event_task_##name {                                                       \
		struct dpa_se_task t;                                                              \
	};                                                                                         \
	doca_error_t doca_sync_event_cap_task_##name##_is_supported(                               \
		const struct doca_devinfo *devinfo)                                                \
	{                                                                                          \
		return dpa_cap_if_dpa(devinfo);                                                    \
	}                                                                                          \
	doca_error_t doca_sync_event_task_##name##_set_conf(                                       \
		struct doca_sync_event *event,                                                     \
		doca_sync_event_task_##name##_completion_cb_t completion_cb,                       \
		doca_sync_event_task_##name##_completion_cb_t error_cb, uint32_t num_tasks)        \
	{                                                                                          \
		return dpa_se_task_set_conf(event, which, (dpa_se_task_fn *)completion_cb,         \
					    (dpa_se_task_fn *)error_cb, num_tasks);                \
	}                                                                                          \
	static bool is_##name(const struct doca_sync_event_task_##name *task)                      \
	{                                                                                          \
		return dpa_obj_is(task, DPA_T_EVENT_TASK) && task->t.kind == which;                \
	}                                                                                          \
	struct doca_task *doca_sync_event_task_##name##_as_doca_task(                              \
		struct doca_sync_event_task_##name *task)                                          \
	{                                                                                          \
		return is_##name(task) ? &task->t.task : NULL;                                     \
	}                                                                                          \
	static struct doca_sync_event_task_##name *new_##name(struct doca_sync_event *event,       \
							      union doca_data user_data)           \
	{                                                                                          \
		return (struct doca_sync_event_task_##name *)dpa_se_task_new(event, which,         \
									     user_data);           \
	}                                                                                          \
	static_assert(sizeof(struct doca_sync_event_task_##name) == sizeof(struct dpa_se_task), "")

TASK(get, DPA_SE_GET);
TASK(notify_set, DPA_SE_SET);
TASK(notify_add, DPA_SE_ADD);
TASK(wait_eq, DPA_SE_WAIT_EQ);
TASK(wait_neq, DPA_SE_WAIT_NEQ);

doca_error_t doca_sync_event_task_get_alloc_init(struct doca_sync_event *event,
						 uint64_t *ret_val_ptr, union doca_data user_data,
						 struct doca_sync_event_task_get **task)
{
	struct doca_sync_event_task_get *t;

	if (!dpa_live(event) || !task)
		return DOCA_ERROR_INVALID_VALUE;
	t = new_get(event, user_data);
	if (!t)
		return DOCA_ERROR_NO_MEMORY;
	t->t.out = ret_val_ptr;
	*task = t;
	return DOCA_SUCCESS;
}

void doca_sync_event_task_get_set_ret_val_ptr(struct doca_sync_event_task_get *task,
					      uint64_t *ret_val_ptr)
{
	if (is_get(task))
		task->t.out = ret_val_ptr;
}

uint64_t *doca_sync_event_task_get_get_ret_val_ptr(const struct doca_sync_event_task_get *task)
{
	return is_get(task) ? task->t.out : NULL;
}

doca_error_t
doca_sync_event_task_notify_set_alloc_init(struct doca_sync_event *event, uint64_t set_val,
					   union doca_data user_data,
					   struct doca_sync_event_task_notify_set **task)
{
	struct doca_sync_event_task_notify_set *t;

	if (!dpa_live(event) || !task)
		return DOCA_ERROR_INVALID_VALUE;
	t = new_notify_set(event, user_data);
	if (!t)
		return DOCA_ERROR_NO_MEMORY;
	t->t.value = set_val;
	*task = t;
	return DOCA_SUCCESS;
}

void doca_sync_event_task_notify_set_set_set_val(struct doca_sync_event_task_notify_set *task,
						 uint64_t set_val)
{
	if (is_notify_set(task))
		task->t.value = set_val;
}

uint64_t
doca_sync_event_task_notify_set_get_set_val(const struct doca_sync_event_task_notify_set *task)
{
	return is_notify_set(task) ? task->t.value : 0;
}

doca_error_t
doca_sync_event_task_notify_add_alloc_init(struct doca_sync_event *event, uint64_t inc_val,
					   uint64_t *fetched_val_ptr, union doca_data user_data,
					   struct doca_sync_event_task_notify_add **task)
{
	struct doca_sync_event_task_notify_add *t;

	if (!dpa_live(event) || !task)
		return DOCA_ERROR_INVALID_VALUE;
	t = new_notify_add(event, user_data);
	if (!t)
		return DOCA_ERROR_NO_MEMORY;
	t->t.value = inc_val;
	t->t.out = fetched_val_ptr;
	*task = t;
	return DOCA_SUCCESS;
}

void doca_sync_event_task_notify_add_set_inc_val(struct doca_sync_event_task_notify_add *task,
						 uint64_t inc_val)
{
	if (is_notify_add(task))
		task->t.value = inc_val;
}

uint64_t
doca_sync_event_task_notify_add_get_inc_val(const struct doca_sync_event_task_notify_add *task)
{
	return is_notify_add(task) ? task->t.value : 0;
}

void doca_sync_event_task_notify_add_set_fetched_val_ptr(
	struct doca_sync_event_task_notify_add *task, uint64_t *fetched_val_ptr)
{
	if (is_notify_add(task))
		task->t.out = fetched_val_ptr;
}

uint64_t *doca_sync_event_task_notify_add_get_fetched_val_ptr(
	const struct doca_sync_event_task_notify_add *task)
{
	return is_notify_add(task) ? task->t.out : NULL;
}

doca_error_t doca_sync_event_task_wait_eq_alloc_init(struct doca_sync_event *event,
						     uint64_t wait_val, uint64_t mask,
						     union doca_data user_data,
						     struct doca_sync_event_task_wait_eq **task)
{
	struct doca_sync_event_task_wait_eq *t;

	if (!dpa_live(event) || !task)
		return DOCA_ERROR_INVALID_VALUE;
	t = new_wait_eq(event, user_data);
	if (!t)
		return DOCA_ERROR_NO_MEMORY;
	t->t.value = wait_val;
	t->t.mask = mask;
	*task = t;
	return DOCA_SUCCESS;
}

void doca_sync_event_task_wait_eq_set_wait_val(struct doca_sync_event_task_wait_eq *task,
					       uint64_t wait_val)
{
	if (is_wait_eq(task))
		task->t.value = wait_val;
}

uint64_t doca_sync_event_task_wait_eq_get_wait_val(const struct doca_sync_event_task_wait_eq *task)
{
	return is_wait_eq(task) ? task->t.value : 0;
}

void doca_sync_event_task_wait_eq_set_mask(struct doca_sync_event_task_wait_eq *task, uint64_t mask)
{
	if (is_wait_eq(task))
		task->t.mask = mask;
}

uint64_t doca_sync_event_task_wait_eq_get_mask(const struct doca_sync_event_task_wait_eq *task)
{
	return is_wait_eq(task) ? task->t.mask : 0;
}

doca_error_t doca_sync_event_task_wait_neq_alloc_init(struct doca_sync_event *event,
						      uint64_t wait_val, uint64_t mask,
						      union doca_data user_data,
						      struct doca_sync_event_task_wait_neq **task)
{
	struct doca_sync_event_task_wait_neq *t;

	if (!dpa_live(event) || !task)
		return DOCA_ERROR_INVALID_VALUE;
	t = new_wait_neq(event, user_data);
	if (!t)
		return DOCA_ERROR_NO_MEMORY;
	t->t.value = wait_val;
	t->t.mask = mask;
	*task = t;
	return DOCA_SUCCESS;
}

void doca_sync_event_task_wait_neq_set_wait_val(struct doca_sync_event_task_wait_neq *task,
						uint64_t wait_val)
{
	if (is_wait_neq(task))
		task->t.value = wait_val;
}

uint64_t
doca_sync_event_task_wait_neq_get_wait_val(const struct doca_sync_event_task_wait_neq *task)
{
	return is_wait_neq(task) ? task->t.value : 0;
}

void doca_sync_event_task_wait_neq_set_mask(struct doca_sync_event_task_wait_neq *task,
					    uint64_t mask)
{
	if (is_wait_neq(task))
		task->t.mask = mask;
}

uint64_t doca_sync_event_task_wait_neq_get_mask(const struct doca_sync_event_task_wait_neq *task)
{
	return is_wait_neq(task) ? task->t.mask : 0;
}
