/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sync_task_api.c - the public names of tasks of sync events: one type for each kind, with the same
 * implementation.
 */
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
	static_assert(sizeof(struct doca_sync_event_task_##name) == sizeof(struct dpa_se_task), "")

/* A field of a kind: its setter and its getter. */
#define FIELD(name, field, type, member)                                                           \
	void doca_sync_event_task_##name##_set_##field(struct doca_sync_event_task_##name *task,   \
						       type value)                                 \
	{                                                                                          \
		if (is_##name(task))                                                               \
			task->t.member = value;                                                    \
	}                                                                                          \
	type doca_sync_event_task_##name##_get_##field(                                            \
		const struct doca_sync_event_task_##name *task)                                    \
	{                                                                                          \
		return is_##name(task) ? task->t.member : 0;                                       \
	}                                                                                          \
	static_assert(1, "")

/* The body of an alloc_init(): `set` sets the fields of *task. */
#define ALLOCATE(which, set)                                                                       \
	do {                                                                                       \
		struct dpa_se_task *t_;                                                            \
		if (!dpa_live(event) || !task)                                                     \
			return DOCA_ERROR_INVALID_VALUE;                                           \
		t_ = dpa_se_task_new(event, which, user_data);                                     \
		if (!t_)                                                                           \
			return DOCA_ERROR_NO_MEMORY;                                               \
		*task = (void *)t_;                                                                \
		set;                                                                               \
		return DOCA_SUCCESS;                                                               \
	} while (0)

typedef uint64_t *a_place;

TASK(get, DPA_SE_GET);
FIELD(get, ret_val_ptr, a_place, out);

doca_error_t doca_sync_event_task_get_alloc_init(struct doca_sync_event *event,
						 uint64_t *ret_val_ptr, union doca_data user_data,
						 struct doca_sync_event_task_get **task)
{
	ALLOCATE(DPA_SE_GET, (*task)->t.out = ret_val_ptr);
}

TASK(notify_set, DPA_SE_SET);
FIELD(notify_set, set_val, uint64_t, value);

doca_error_t
doca_sync_event_task_notify_set_alloc_init(struct doca_sync_event *event, uint64_t set_val,
					   union doca_data user_data,
					   struct doca_sync_event_task_notify_set **task)
{
	ALLOCATE(DPA_SE_SET, (*task)->t.value = set_val);
}

TASK(notify_add, DPA_SE_ADD);
FIELD(notify_add, inc_val, uint64_t, value);
FIELD(notify_add, fetched_val_ptr, a_place, out);

doca_error_t
doca_sync_event_task_notify_add_alloc_init(struct doca_sync_event *event, uint64_t inc_val,
					   uint64_t *fetched_val_ptr, union doca_data user_data,
					   struct doca_sync_event_task_notify_add **task)
{
	ALLOCATE(DPA_SE_ADD, ((*task)->t.value = inc_val, (*task)->t.out = fetched_val_ptr));
}

TASK(wait_eq, DPA_SE_WAIT_EQ);
FIELD(wait_eq, wait_val, uint64_t, value);
FIELD(wait_eq, mask, uint64_t, mask);

doca_error_t doca_sync_event_task_wait_eq_alloc_init(struct doca_sync_event *event,
						     uint64_t wait_val, uint64_t mask,
						     union doca_data user_data,
						     struct doca_sync_event_task_wait_eq **task)
{
	ALLOCATE(DPA_SE_WAIT_EQ, ((*task)->t.value = wait_val, (*task)->t.mask = mask));
}

TASK(wait_neq, DPA_SE_WAIT_NEQ);
FIELD(wait_neq, wait_val, uint64_t, value);
FIELD(wait_neq, mask, uint64_t, mask);

doca_error_t doca_sync_event_task_wait_neq_alloc_init(struct doca_sync_event *event,
						      uint64_t wait_val, uint64_t mask,
						      union doca_data user_data,
						      struct doca_sync_event_task_wait_neq **task)
{
	ALLOCATE(DPA_SE_WAIT_NEQ, ((*task)->t.value = wait_val, (*task)->t.mask = mask));
}
