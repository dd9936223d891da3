/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_dpa.h - the host side of the DPA: contexts, threads, completion contexts, memory.
 *
 * What is declared here works; what the original header has beyond it is not there yet.
 * No object is thread-safe: calls on one context and on what belongs to it must not overlap,
 * whatever the threads. Device code runs beside them at any time. Contexts are independent of
 * each other.
 *
 * Order: context create, set_app, start; thread create, set_func_arg, start; completion create,
 * set_thread, start; thread run. Destroying a started object stops it first.
 * In a forked child the objects of the parent can only be destroyed; it may make its own.
 * A call on an object whose context was destroyed returns BAD_STATE; destroying it frees it all the
 * same.
 */
#ifndef DOCA_DPA_H_
#define DOCA_DPA_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_dev;
struct doca_devinfo;
struct doca_dpa;
struct doca_dpa_app;
struct doca_dpa_completion;
struct doca_dpa_notification_completion;
struct doca_dpa_thread;

#define DOCA_DPA_COMPLETION_LOG_MAX_USER_DATA (24)

/* Messages of a device program whose level is not above the context's are shown. */
typedef enum doca_dpa_dev_log_level {
	DOCA_DPA_DEV_LOG_LEVEL_DISABLE = 10,
	DOCA_DPA_DEV_LOG_LEVEL_CRIT = 20,
	DOCA_DPA_DEV_LOG_LEVEL_ERROR = 30,
	DOCA_DPA_DEV_LOG_LEVEL_WARNING = 40,
	DOCA_DPA_DEV_LOG_LEVEL_INFO = 50,
	DOCA_DPA_DEV_LOG_LEVEL_DEBUG = 60,
} doca_dpa_dev_log_level_t;

typedef uint64_t doca_dpa_dev_t;
typedef uint64_t doca_dpa_dev_uintptr_t; /* an address that device code can use */
typedef uint64_t doca_dpa_dev_completion_t;
typedef uint64_t doca_dpa_dev_notification_completion_t;

/* The host's name of a device function: `doca_dpa_func_t kernel;` declares what dpacc defines. */
typedef void(doca_dpa_func_t)(void);

/* ---------------------------------------------------------------- context */

/*
 * Whether the device has a DPA. Thread-safe.
 * INVALID_VALUE: NULL; NOT_SUPPORTED: it has none.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_cap_is_supported(const struct doca_devinfo *devinfo);

/*
 * Creates a context on a device. The context keeps the device in use until it is destroyed.
 * @dpa: receives the context; the caller destroys it
 * INVALID_VALUE: NULL; NOT_SUPPORTED: the device has no DPA; NO_MEMORY; DRIVER.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_create(struct doca_dev *dev, struct doca_dpa **dpa);

/*
 * Destroys a context, stopping it and its threads first; blocks until their running activations
 * have ended. Objects of it that still exist become dead: their calls return BAD_STATE.
 * INVALID_VALUE: NULL; IN_USE: a QP exported to the context exists, or a QP uses the CQ of one of
 * its completion contexts.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_destroy(struct doca_dpa *dpa);

/*
 * Loads the program (a copy of its own, so that statics of two contexts are apart) and
 * allocates what it needs to run. The first start of a process installs handlers for faults in
 * device code, which pass on every other fault to the handler that was there.
 * INVALID_VALUE: NULL, or no application set; BAD_STATE: already started; DRIVER: the image cannot
 * be loaded; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_start(struct doca_dpa *dpa);

/*
 * Stops a context: unloads the program and writes what is left of the log. It may be started
 * again.
 * INVALID_VALUE: NULL; IN_USE: a thread, completion context or exported QP of it exists;
 * BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_stop(struct doca_dpa *dpa);

/*
 * Sets the program: the pointer variable that dpacc made under its --app-name.
 * INVALID_VALUE: NULL, or no application of this library's version; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_set_app(struct doca_dpa *dpa, struct doca_dpa_app *app);

/* Reads it back; NULL when none is set. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_get_app(struct doca_dpa *dpa, struct doca_dpa_app **app);

/*
 * The name of an application.
 * @app_name_len: in: bytes at app_name; out: bytes written, the terminating zero included
 * INVALID_VALUE: NULL, or app_name too short (app_name_len then holds what is needed).
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_app_get_name(struct doca_dpa_app *app, char *app_name,
						     uint32_t *app_name_len);

/*
 * Which device messages are shown; DOCA_DPA_DEV_LOG_LEVEL_INFO unless set.
 * INVALID_VALUE: NULL or no such level; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_set_log_level(struct doca_dpa *dpa,
						      doca_dpa_dev_log_level_t log_level);

/* Reads it back. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_get_log_level(struct doca_dpa *dpa,
						      doca_dpa_dev_log_level_t *log_level);

/*
 * Whether device code has done something that ended it: a bad pointer, a trap, a bad handle.
 * Does not clear. May be called from any thread while the context exists.
 * INVALID_VALUE: NULL; BAD_STATE: the context is in the fatal state; only destroy is left.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_peek_at_last_error(const struct doca_dpa *dpa);

/* ----------------------------------------------------------------- memory */

/*
 * Allocates device memory, aligned for any C type (64 bytes), not zeroed.
 * @size:    bytes
 * @dev_ptr: receives the address for device code, 0 on failure; freed by doca_dpa_mem_free()
 * INVALID_VALUE: NULL or size 0; BAD_STATE: not started; DRIVER: no memory.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_mem_alloc(struct doca_dpa *dpa, size_t size,
						  doca_dpa_dev_uintptr_t *dev_ptr);

/*
 * Frees device memory; the caller sees to it that no device code uses it. Memory that is left is
 * freed when the context is stopped.
 * DRIVER: not an address that doca_dpa_mem_alloc() gave; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_mem_free(struct doca_dpa *dpa,
						 doca_dpa_dev_uintptr_t dev_ptr);

/*
 * Copies size bytes host to device; returns when they are there.
 * INVALID_VALUE: NULL, size 0, or the range is not within one allocation; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_h2d_memcpy(struct doca_dpa *dpa,
						   doca_dpa_dev_uintptr_t dst_ptr, void *src_ptr,
						   size_t size);

/* Copies size bytes device to host; errors as doca_dpa_h2d_memcpy(). */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_d2h_memcpy(struct doca_dpa *dpa, void *dst_ptr,
						   doca_dpa_dev_uintptr_t src_ptr, size_t size);

/* Sets size bytes of device memory to (unsigned char)value; errors as doca_dpa_h2d_memcpy(). */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_memset(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t dev_ptr,
					       int value, size_t size);

/* ---------------------------------------------------------------- threads */

/*
 * Creates a thread that completions activate.
 * @dpa_thread: receives the thread; the caller destroys it
 * INVALID_VALUE: NULL; NO_MEMORY: also when as many exist as the adapter has EUs.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_create(struct doca_dpa *dpa,
						      struct doca_dpa_thread **dpa_thread);

/*
 * Destroys a thread, stopping it first. Completion contexts that name it stay and activate
 * nothing.
 * INVALID_VALUE: NULL; BAD_STATE: the context is destroyed.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_destroy(struct doca_dpa_thread *dpa_thread);

/*
 * What the thread runs at each activation: a `__dpa_global__ void f(uint64_t)`, called with arg.
 * INVALID_VALUE: NULL, or func is no such function of the context's application (found at
 * doca_dpa_thread_start() when no application is set yet); BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_set_func_arg(struct doca_dpa_thread *dpa_thread,
							    doca_dpa_func_t *func, uint64_t arg);

/* Reads them back; func NULL when not set. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_get_func_arg(struct doca_dpa_thread *dpa_thread,
							    doca_dpa_func_t **func, uint64_t *arg);

/*
 * A word for doca_dpa_dev_thread_get_local_storage(), usually from doca_dpa_mem_alloc(); 0 unless
 * set.
 * INVALID_VALUE: NULL thread; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_set_local_storage(struct doca_dpa_thread *dpa_thread,
								 doca_dpa_dev_uintptr_t dev_ptr);

/* Reads it back. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_get_local_storage(struct doca_dpa_thread *dpa_thread,
								 doca_dpa_dev_uintptr_t *dev_ptr);

/*
 * Makes the thread known to the EUs. Nothing runs before doca_dpa_thread_run(), but what arrives
 * from here on is kept for it.
 * INVALID_VALUE: NULL, or the function is not in the application; BAD_STATE: function not set,
 * context not started, thread already started; DRIVER: the system gives no thread for an EU.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_start(struct doca_dpa_thread *dpa_thread);

/*
 * Ends the thread's activations; blocks until a running one has ended, and ends it by force after
 * a second.
 * INVALID_VALUE: NULL; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_stop(struct doca_dpa_thread *dpa_thread);

/*
 * From now on completions activate the thread; what came before activates it at once. Calling it
 * again changes nothing.
 * INVALID_VALUE: NULL; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_run(struct doca_dpa_thread *dpa_thread);

/* ---------------------------------------------------- completion contexts */

/*
 * Creates a completion context: a queue that several QPs may share.
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
 * The name under which device code knows the queue. Valid until it is stopped.
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

/* The name under which device code knows it. INVALID_VALUE: NULL; BAD_STATE: not started. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_notification_completion_get_dpa_handle(
	struct doca_dpa_notification_completion *notify_comp,
	doca_dpa_dev_notification_completion_t *handle);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_DPA_H_ */
