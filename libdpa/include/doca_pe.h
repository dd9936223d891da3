/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_pe.h - the progress engine, which works contexts whose data path is on the CPU, and tasks.
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

/* The form of a task's completion callback. Each library has one with its own kind of task. */
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
 * Creates an engine.
 * @pe: receives it; the caller destroys it
 * INVALID_VALUE: NULL; NO_MEMORY: also when no file descriptor is left.
 */
DOCA_STABLE doca_error_t doca_pe_create(struct doca_pe **pe);

/* Destroys it. INVALID_VALUE: NULL; IN_USE: a context is connected that is not destroyed. */
DOCA_STABLE doca_error_t doca_pe_destroy(struct doca_pe *pe);

/*
 * Works the connected contexts once, calling back for what has ended. Returns 1 when something was
 * done, else 0; 0 for NULL.
 */
DOCA_STABLE uint8_t doca_pe_progress(struct doca_pe *pe);

/*
 * Connects a context, which stays connected until its object is destroyed.
 * INVALID_VALUE: NULL; BAD_STATE: not idle; NOT_PERMITTED: connected to an engine already.
 */
DOCA_STABLE doca_error_t doca_pe_connect_ctx(struct doca_pe *pe, struct doca_ctx *ctx);

/*
 * The file descriptor that becomes readable once there is work, after
 * doca_pe_request_notification(). It is the engine's.
 * INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t doca_pe_get_notification_handle(const struct doca_pe *pe,
							 doca_notification_handle_t *handle);

/* For other operating systems. INVALID_VALUE: NULL; NOT_SUPPORTED: always else. */
DOCA_STABLE doca_error_t doca_pe_set_notification_handle(struct doca_pe *pe,
							 doca_notification_handle_t handle,
							 union doca_data completion_key);

/*
 * Makes the file descriptor unreadable.
 * INVALID_VALUE: NULL; OPERATING_SYSTEM: not the engine's file descriptor, or it cannot be read.
 */
DOCA_STABLE doca_error_t doca_pe_clear_notification(struct doca_pe *pe,
						    doca_notification_handle_t handle);

/*
 * Asks for one notification: at once when there is work already. INVALID_VALUE: NULL;
 * OPERATING_SYSTEM.
 */
DOCA_STABLE doca_error_t doca_pe_request_notification(struct doca_pe *pe);

/* Tasks in flight of all connected contexts. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_pe_get_num_inflight_tasks(const struct doca_pe *pe,
							size_t *num_inflight_tasks);

/* INVALID_VALUE: NULL or no such mode. */
DOCA_EXPERIMENTAL doca_error_t doca_pe_set_event_mode(struct doca_pe *pe,
						      enum doca_pe_event_mode event_mode);

/* ------------------------------------------------------------------ tasks */

/*
 * Hands a task in, and sends it off. On success it is the library's until its callback.
 * INVALID_VALUE: NULL; BAD_STATE: its context is not running, or it is in flight already; AGAIN: no
 * room now; others: the task type's.
 */
DOCA_STABLE doca_error_t doca_task_submit(struct doca_task *task);

/*
 * As doca_task_submit(), sent off according to flags.
 * @flags: enum doca_task_submit_flag; INVALID_VALUE also: an unknown one
 */
DOCA_EXPERIMENTAL doca_error_t doca_task_submit_ex(struct doca_task *task, uint32_t flags);

/* As doca_task_submit(), which checks all that this one is meant to check. */
DOCA_STABLE doca_error_t doca_task_try_submit(struct doca_task *task);

/*
 * Frees a task that is not in flight; one that is stays, and so does NULL. In the task's own
 * callback its place is free at once, and the getters of its type work until the callback returns:
 * the public samples ask a task for its bufs after they have freed it.
 */
DOCA_STABLE void doca_task_free(struct doca_task *task);

/* How a completed task has ended; NULL: INVALID_VALUE; IN_PROGRESS: it is in flight. */
DOCA_STABLE doca_error_t doca_task_get_status(const struct doca_task *task);

/* A word of the user's, which callbacks get. NULL task: nothing. */
DOCA_STABLE void doca_task_set_user_data(struct doca_task *task, union doca_data user_data);

/* Reads it back; 0 for NULL. */
DOCA_STABLE union doca_data doca_task_get_user_data(const struct doca_task *task);

/* The context of a task; NULL for NULL. */
DOCA_STABLE struct doca_ctx *doca_task_get_ctx(const struct doca_task *task);

/* ---------------------------------------------------------------- batches */

/*
 * Many tasks of one type as one. Types that have them allocate batches; none of those is here, so
 * that no pointer is a batch: functions that return an error return INVALID_VALUE, those that
 * return a pointer or a number return 0, and the others do nothing. The names are there for sources
 * that have them.
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
