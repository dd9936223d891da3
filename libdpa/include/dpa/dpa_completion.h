/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_completion.h - the part of doca_dpa.h for completion contexts, notification completions and
 * asynchronous operations; include that.
 */
#ifndef DPA_COMPLETION_H_
#define DPA_COMPLETION_H_

#include <doca_dpa.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------- completion contexts */

/*
 * Create a completion context: a queue that several QPs may share. A full queue loses its oldest
 * elements; the context logs one line about it for each start.
 * @queue_size: elements, 1 to 2^22; rounded up to a power of two
 * @dpa_comp:   receives it; the caller destroys it
 * INVALID_VALUE: NULL or bad size; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_create(struct doca_dpa *dpa,
							  unsigned int queue_size,
							  struct doca_dpa_completion **dpa_comp);

/*
 * Destroy it, stopping it first.
 * INVALID_VALUE: NULL; BAD_STATE: the context is destroyed; IN_USE: a QP uses its CQ.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_destroy(struct doca_dpa_completion *dpa_comp);

/* Get the size in elements, after rounding. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_completion_get_queue_size(struct doca_dpa_completion *dpa_comp, unsigned int *queue_size);

/*
 * Set the thread to activate. Without one, device code polls the queue.
 * INVALID_VALUE: NULL, or the thread is another context's; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_set_thread(struct doca_dpa_completion *dpa_comp,
							      struct doca_dpa_thread *dpa_thread);

/* Read it back; NULL when none is set. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_get_thread(struct doca_dpa_completion *dpa_comp,
							      struct doca_dpa_thread **dpa_thread);

/*
 * Create the CQ, armed: the first completion activates the thread.
 * INVALID_VALUE: NULL; BAD_STATE: context not started, its thread not started, already started;
 * DRIVER: the CQ cannot be created.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_start(struct doca_dpa_completion *dpa_comp);

/*
 * Destroy the CQ; its unread elements are lost.
 * INVALID_VALUE: NULL; BAD_STATE: not started; IN_USE: a QP uses the CQ.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_stop(struct doca_dpa_completion *dpa_comp);

/*
 * Get the handle of device code for the queue. Valid until it is stopped.
 * INVALID_VALUE: NULL; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_get_dpa_handle(
	struct doca_dpa_completion *dpa_comp, doca_dpa_dev_completion_t *handle);

/* ------------------------------------------------- notification completions */

/*
 * Create a notification completion, by which device code activates a thread:
 * doca_dpa_dev_thread_notify(). It has no elements.
 * @notify_comp: receives it; the caller destroys it
 * INVALID_VALUE: NULL, or the thread is another context's; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_notification_completion_create(struct doca_dpa *dpa, struct doca_dpa_thread *dpa_thread,
					struct doca_dpa_notification_completion **notify_comp);

/* Destroy it, stopping it first. INVALID_VALUE: NULL; BAD_STATE: the context is destroyed. */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_notification_completion_destroy(struct doca_dpa_notification_completion *notify_comp);

/* Get the thread that it activates. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_notification_completion_get_thread(
	struct doca_dpa_notification_completion *notify_comp, struct doca_dpa_thread **dpa_thread);

/*
 * Start it: device code can use it.
 * INVALID_VALUE: NULL; BAD_STATE: context or thread not started, already started; DRIVER: too many
 * objects.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_notification_completion_start(struct doca_dpa_notification_completion *notify_comp);

/*
 * Stop it. Device code that uses its handle afterwards enters the fatal state. BAD_STATE: not
 * started.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_notification_completion_stop(struct doca_dpa_notification_completion *notify_comp);

/* Get the handle of device code for it. INVALID_VALUE: NULL; BAD_STATE: not started. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_notification_completion_get_dpa_handle(
	struct doca_dpa_notification_completion *notify_comp,
	doca_dpa_dev_notification_completion_t *handle);

/* ---------------------------------------------------- asynchronous operations */

/*
 * Create a queue of operations that device code posts: copies (doca_dpa_dev_buf.h) and waits for
 * sync events (doca_dpa_dev_sync_event.h).
 * @queue_size: operations, 1 to 8192; rounded up to a power of two
 * @user_data:  of its completion elements; below 2^DOCA_DPA_COMPLETION_LOG_MAX_USER_DATA
 * @async_ops:  receives it; the caller destroys it
 * INVALID_VALUE: NULL or out of range; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_async_ops_create(struct doca_dpa *dpa,
							 unsigned int queue_size,
							 uint64_t user_data,
							 struct doca_dpa_async_ops **async_ops);

/* Destroy it, stopping it first. INVALID_VALUE: NULL; BAD_STATE: the context is destroyed. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_async_ops_destroy(struct doca_dpa_async_ops *async_ops);

/* Get the size in operations, after rounding. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_async_ops_get_queue_size(struct doca_dpa_async_ops *async_ops, unsigned int *queue_size);

/* Read it back. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_async_ops_get_user_data(struct doca_dpa_async_ops *async_ops, uint64_t *user_data);

/*
 * Set the completion context to which it reports. Several objects may share one.
 * INVALID_VALUE: NULL, or the completion context is another context's; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_async_ops_attach(struct doca_dpa_async_ops *async_ops,
							 struct doca_dpa_completion *dpa_comp);

/*
 * Start it: device code can use it. Its completion context cannot be stopped while it is started
 * (IN_USE).
 * INVALID_VALUE: NULL; BAD_STATE: context not started, no completion context attached or that one
 * not started, already started; DRIVER: the device gives no queues, or too many objects.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_async_ops_start(struct doca_dpa_async_ops *async_ops);

/*
 * Stop it: operations that are not done are dropped and not reported. Device code that uses its
 * handle afterwards enters the fatal state.
 * INVALID_VALUE: NULL; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_async_ops_stop(struct doca_dpa_async_ops *async_ops);

/* Get the handle of device code for it. INVALID_VALUE: NULL; BAD_STATE: not started. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_async_ops_get_dpa_handle(
	struct doca_dpa_async_ops *async_ops, doca_dpa_dev_async_ops_t *handle);

#ifdef __cplusplus
}
#endif

#endif /* DPA_COMPLETION_H_ */
