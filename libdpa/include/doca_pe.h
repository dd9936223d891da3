/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_pe.h - the progress engine, which runs contexts whose data path is on the CPU, and tasks.
 *
 * An engine and its contexts belong to one thread at a time.
 */
#ifndef DOCA_PE_H_
#define DOCA_PE_H_

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h> /* programs rely on this and the next one */
#include <string.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_ctx;
struct doca_pe;
struct doca_task;
struct doca_task_batch;

/* The form of a task's completion callback. Each library declares one for its own kind of task. */
typedef void (*doca_task_completion_cb_t)(struct doca_task *task, union doca_data task_user_data,
					  union doca_data ctx_user_data);

enum doca_task_submit_flag {
	DOCA_TASK_SUBMIT_FLAG_NONE = 0U,
	DOCA_TASK_SUBMIT_FLAG_FLUSH = (1U << 0),	    /* send it off at once */
	DOCA_TASK_SUBMIT_FLAG_OPTIMIZE_REPORTS = (1U << 1), /* may be reported with a later one */
};

/* How doca_pe_progress() looks for work. Here both look at every context. */
enum doca_pe_event_mode {
	DOCA_PE_EVENT_MODE_PROGRESS_SELECTIVE,
	DOCA_PE_EVENT_MODE_PROGRESS_ALL,
};

/*
 * Create an engine.
 * @pe: receives it; the caller destroys it
 * INVALID_VALUE: NULL; NO_MEMORY: also when no file descriptor is left.
 */
DOCA_STABLE doca_error_t doca_pe_create(struct doca_pe **pe);

/* Destroy an engine. INVALID_VALUE: NULL; IN_USE: a connected context is not destroyed yet. */
DOCA_STABLE doca_error_t doca_pe_destroy(struct doca_pe *pe);

/*
 * Run the connected contexts once, and call back for tasks that have ended. Returns 1 if there was
 * work, else 0; 0 for NULL.
 */
DOCA_STABLE uint8_t doca_pe_progress(struct doca_pe *pe);

/*
 * Connect a context, which stays connected until its object is destroyed.
 * INVALID_VALUE: NULL; BAD_STATE: not idle; NOT_PERMITTED: connected to an engine already.
 */
DOCA_STABLE doca_error_t doca_pe_connect_ctx(struct doca_pe *pe, struct doca_ctx *ctx);

/*
 * Get the file descriptor that becomes readable once there is work, after
 * doca_pe_request_notification(). It belongs to the engine.
 * INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t doca_pe_get_notification_handle(const struct doca_pe *pe,
							 doca_notification_handle_t *handle);

/* Not available on Linux. INVALID_VALUE: NULL; NOT_SUPPORTED otherwise. */
DOCA_STABLE doca_error_t doca_pe_set_notification_handle(struct doca_pe *pe,
							 doca_notification_handle_t handle,
							 union doca_data completion_key);

/*
 * Make the file descriptor unreadable.
 * INVALID_VALUE: NULL; OPERATING_SYSTEM: not the engine's file descriptor, or it cannot be read.
 */
DOCA_STABLE doca_error_t doca_pe_clear_notification(struct doca_pe *pe,
						    doca_notification_handle_t handle);

/*
 * Request one notification, which comes at once if there is work already. INVALID_VALUE: NULL;
 * OPERATING_SYSTEM.
 */
DOCA_STABLE doca_error_t doca_pe_request_notification(struct doca_pe *pe);

/* Get the number of tasks in flight of all connected contexts. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_pe_get_num_inflight_tasks(const struct doca_pe *pe,
							size_t *num_inflight_tasks);

/* Set the mode; it changes nothing here. INVALID_VALUE: NULL or no such mode. */
DOCA_EXPERIMENTAL doca_error_t doca_pe_set_event_mode(struct doca_pe *pe,
						      enum doca_pe_event_mode event_mode);

/* ------------------------------------------------------------------ tasks */

/*
 * Submit a task, and send it off. On success the task belongs to the library until its callback.
 * INVALID_VALUE: NULL; BAD_STATE: its context is not running, or it is in flight already; AGAIN: no
 * room now; others: the task type's.
 */
DOCA_STABLE doca_error_t doca_task_submit(struct doca_task *task);

/*
 * Submit a task as doca_task_submit() does, and send it off according to flags.
 * @flags: enum doca_task_submit_flag; INVALID_VALUE also: an unknown one
 */
DOCA_EXPERIMENTAL doca_error_t doca_task_submit_ex(struct doca_task *task, uint32_t flags);

/* Do the same as doca_task_submit(), which makes all checks that this function is meant to make. */
DOCA_STABLE doca_error_t doca_task_try_submit(struct doca_task *task);

/*
 * Free a task that is not in flight. A task in flight, and NULL, are ignored. In the task's own
 * callback its place is free at once, and the getters of its type work until the callback returns:
 * the public samples read the bufs of a task after they have freed it.
 */
DOCA_STABLE void doca_task_free(struct doca_task *task);

/* Return the result of a completed task; NULL: INVALID_VALUE; IN_PROGRESS: it is in flight. */
DOCA_STABLE doca_error_t doca_task_get_status(const struct doca_task *task);

/* Set a word for the caller's use, which callbacks receive. A NULL task is ignored. */
DOCA_STABLE void doca_task_set_user_data(struct doca_task *task, union doca_data user_data);

/* Read it back; 0 for NULL. */
DOCA_STABLE union doca_data doca_task_get_user_data(const struct doca_task *task);

/* Return the context of a task; NULL for NULL. */
DOCA_STABLE struct doca_ctx *doca_task_get_ctx(const struct doca_task *task);

/* ---------------------------------------------------------------- batches */

/*
 * Batches: many tasks of one type in one. This library has no type with batches, so no pointer is a
 * batch: functions that return an error return INVALID_VALUE, those that return a pointer or a
 * number return 0, and the others do nothing. The names exist for sources that use them.
 */
enum doca_task_batch_max_tasks_number {
	DOCA_TASK_BATCH_MAX_TASKS_NUMBER_16,
	DOCA_TASK_BATCH_MAX_TASKS_NUMBER_32,
	DOCA_TASK_BATCH_MAX_TASKS_NUMBER_64,
	DOCA_TASK_BATCH_MAX_TASKS_NUMBER_128,
};

enum doca_event_batch_events_number {
	DOCA_EVENT_BATCH_EVENTS_NUMBER_1,
	DOCA_EVENT_BATCH_EVENTS_NUMBER_2,
	DOCA_EVENT_BATCH_EVENTS_NUMBER_4,
	DOCA_EVENT_BATCH_EVENTS_NUMBER_8,
	DOCA_EVENT_BATCH_EVENTS_NUMBER_16,
	DOCA_EVENT_BATCH_EVENTS_NUMBER_32,
	DOCA_EVENT_BATCH_EVENTS_NUMBER_64,
	DOCA_EVENT_BATCH_EVENTS_NUMBER_128,
};

DOCA_EXPERIMENTAL doca_error_t doca_task_batch_submit(struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL doca_error_t doca_task_batch_try_submit(struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL void doca_task_batch_free(struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL doca_error_t doca_task_batch_get_status(const struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL void doca_task_batch_set_user_data(struct doca_task_batch *task_batch,
						     union doca_data user_data);
DOCA_EXPERIMENTAL union doca_data
doca_task_batch_get_user_data(const struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL struct doca_ctx *
doca_task_batch_get_ctx(const struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL union doca_data
doca_task_batch_get_ctx_user_data(const struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL uint16_t doca_task_batch_get_tasks_num(struct doca_task_batch *task_batch);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_PE_H_ */
