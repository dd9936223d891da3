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
 * Creates a completion context: a queue that several QPs may share. One that is full loses its
 * oldest elements, and the log of the context has a line about it, once for each start.
 * @queue_size: elements, 1 to 2^22; rounded up to a power of two
 * @dpa_comp:   receives it; the caller destroys it
 * INVALID_VALUE: NULL or bad size; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_create(struct doca_dpa *dpa,
							  unsigned int queue_size,
							  struct doca_dpa_completion **dpa_comp);

/*
 * Destroys it, stopping it first.
 * INVALID_VALUE: NULL; BAD_STATE: the context is destroyed; IN_USE: a QP uses its CQ.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_destroy(struct doca_dpa_completion *dpa_comp);

/* The size in elements, rounded up as the queue is. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_completion_get_queue_size(struct doca_dpa_completion *dpa_comp, unsigned int *queue_size);

/*
 * The thread to activate. Without one, device code polls the queue.
 * INVALID_VALUE: NULL, or the thread is another context's; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_set_thread(struct doca_dpa_completion *dpa_comp,
							      struct doca_dpa_thread *dpa_thread);

/* Reads it back; NULL when none is set. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_get_thread(struct doca_dpa_completion *dpa_comp,
							      struct doca_dpa_thread **dpa_thread);

/*
 * Creates the CQ, armed: the first completion activates the thread.
 * INVALID_VALUE: NULL; BAD_STATE: context not started, its thread not started, already started;
 * DRIVER: the CQ cannot be had.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_start(struct doca_dpa_completion *dpa_comp);

/*
 * Destroys the CQ; its unread elements are lost.
 * INVALID_VALUE: NULL; BAD_STATE: not started; IN_USE: a QP uses the CQ.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_stop(struct doca_dpa_completion *dpa_comp);

/*
 * The handle of device code for the queue. Valid until it is stopped.
 * INVALID_VALUE: NULL; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_completion_get_dpa_handle(
	struct doca_dpa_completion *dpa_comp, doca_dpa_dev_completion_t *handle);

/* ------------------------------------------------- notification completions */

/*
 * Creates what device code activates a thread with: doca_dpa_dev_thread_notify(). It has no
 * elements.
 * @notify_comp: receives it; the caller destroys it
 * INVALID_VALUE: NULL, or the thread is another context's; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_notification_completion_create(struct doca_dpa *dpa, struct doca_dpa_thread *dpa_thread,
					struct doca_dpa_notification_completion **notify_comp);

/* Destroys it, stopping it first. INVALID_VALUE: NULL; BAD_STATE: the context is destroyed. */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_notification_completion_destroy(struct doca_dpa_notification_completion *notify_comp);

/* The thread it activates. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_notification_completion_get_thread(
	struct doca_dpa_notification_completion *notify_comp, struct doca_dpa_thread **dpa_thread);

/*
 * Makes it known to device code.
 * INVALID_VALUE: NULL; BAD_STATE: context or thread not started, already started; DRIVER: too many
 * objects.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_notification_completion_start(struct doca_dpa_notification_completion *notify_comp);

/* Device code that uses its handle afterwards is in the fatal state. BAD_STATE: not started. */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_notification_completion_stop(struct doca_dpa_notification_completion *notify_comp);

/* The handle of device code for it. INVALID_VALUE: NULL; BAD_STATE: not started. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_notification_completion_get_dpa_handle(
	struct doca_dpa_notification_completion *notify_comp,
	doca_dpa_dev_notification_completion_t *handle);

/* ---------------------------------------------------- asynchronous operations */

/*
 * Creates a queue of operations that device code posts: copies (doca_dpa_dev_buf.h) and waits for
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

/*
 * Destroys it, stopping it first. INVALID_VALUE: NULL; BAD_STATE: the context is destroyed.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_async_ops_destroy(struct doca_dpa_async_ops *async_ops);

/* The size in operations, rounded up as the queue is. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_async_ops_get_queue_size(struct doca_dpa_async_ops *async_ops, unsigned int *queue_size);

/* Reads it back. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t
doca_dpa_async_ops_get_user_data(struct doca_dpa_async_ops *async_ops, uint64_t *user_data);

/*
 * Where it reports. One completion context serves several.
 * INVALID_VALUE: NULL, or the completion context is another context's; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_async_ops_attach(struct doca_dpa_async_ops *async_ops,
							 struct doca_dpa_completion *dpa_comp);

/*
 * Makes it usable by device code. Its completion context cannot be stopped meanwhile (IN_USE).
 * INVALID_VALUE: NULL; BAD_STATE: context not started, no completion context attached or that one
 * not started, already started; DRIVER: the device gives no queues, or too many objects.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_async_ops_start(struct doca_dpa_async_ops *async_ops);

/*
 * Ends it: what is not done is not done any more, and is not reported. Device code that uses its
 * handle afterwards is in the fatal state.
 * INVALID_VALUE: NULL; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_async_ops_stop(struct doca_dpa_async_ops *async_ops);

/* The handle of device code for it. INVALID_VALUE: NULL; BAD_STATE: not started. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_async_ops_get_dpa_handle(
	struct doca_dpa_async_ops *async_ops, doca_dpa_dev_async_ops_t *handle);

#ifdef __cplusplus
}
#endif

#endif /* DPA_COMPLETION_H_ */
