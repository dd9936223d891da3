/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_dpa.h - the host side of the DPA: contexts, threads, completion contexts, memory.
 *
 * Every function that is declared here works; the other functions of the original header are not
 * there yet. No object is thread-safe: calls on one context and on its objects must not overlap,
 * whichever threads make them. Device code runs beside them at any time. Contexts are independent
 * of each other.
 *
 * Order: context create, set_app, start; thread create, set_func_arg, start; completion create,
 * set_thread, start; thread run. Destroying a started object stops it first.
 * In a forked child the objects of the parent can only be destroyed; it may make its own.
 * A call on an object whose context was destroyed returns BAD_STATE; destroying it frees it all the
 * same.
 */
#ifndef DOCA_DPA_H_
#define DOCA_DPA_H_

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_dev;
struct doca_devinfo;
struct doca_dpa;
struct doca_dpa_app;
struct doca_dpa_async_ops;
struct doca_dpa_hash_table;
struct doca_dpa_completion;
struct doca_dpa_eu_affinity;
struct doca_dpa_notification_completion;
struct doca_dpa_tg;
struct doca_dpa_thread;
struct doca_sync_event;

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
typedef uint64_t doca_dpa_dev_async_ops_t;
typedef uint64_t doca_dpa_dev_hash_table_t;

/* Type of a device function on the host: `doca_dpa_func_t kernel;` declares what dpacc defines. */
typedef void(doca_dpa_func_t)(void);

/* ---------------------------------------------------------------- context */

/*
 * Report whether the device has a DPA. Thread-safe.
 * INVALID_VALUE: NULL; NOT_SUPPORTED: it has none.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_cap_is_supported(const struct doca_devinfo *devinfo);

/* Name of this function in DOCA 2.5; the guide still uses it. */
#define doca_devinfo_get_is_dpa_supported doca_dpa_cap_is_supported

/*
 * Create a context on a device. The context keeps the device in use until it is destroyed.
 * @dpa: receives the context; the caller destroys it
 * INVALID_VALUE: NULL; NOT_SUPPORTED: the device has no DPA, or is an SF (those extend a
 * context of the PF); NO_MEMORY; DRIVER.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_create(struct doca_dev *dev, struct doca_dpa **dpa);

/*
 * Destroy a context, stopping it and its threads first; block until their running activations have
 * ended. Objects of it that still exist become dead: their calls return BAD_STATE.
 * INVALID_VALUE: NULL; IN_USE: a QP exported to the context or a started context that extends it
 * exists, a QP uses the CQ of one of its completion contexts, or it is the data path of a doca_ctx.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_destroy(struct doca_dpa *dpa);

/*
 * Load the program (a copy of its own, so that statics of two contexts are apart) and allocate its
 * resources. The first start of a process installs handlers for faults in device code, which pass
 * every other fault to the previous handler.
 * INVALID_VALUE: NULL, or no application set; BAD_STATE: already started; DRIVER: the image cannot
 * be loaded; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_start(struct doca_dpa *dpa);

/*
 * Stop a context: unloads the program and writes what is left of the log. It may be started again.
 * INVALID_VALUE: NULL; IN_USE: a thread, completion context, exported QP or started extended
 * context of it exists; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_stop(struct doca_dpa *dpa);

/*
 * Set the program: the pointer variable that dpacc made under its --app-name.
 * INVALID_VALUE: NULL, or no application of this library's version; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_set_app(struct doca_dpa *dpa, struct doca_dpa_app *app);

/* Read it back; NULL when none is set. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_get_app(struct doca_dpa *dpa, struct doca_dpa_app **app);

/*
 * Get the name of an application.
 * @app_name_len: in: bytes at app_name; out: bytes written, the terminating zero included
 * INVALID_VALUE: NULL, or app_name too short (app_name_len then holds the required size).
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_app_get_name(struct doca_dpa_app *app, char *app_name,
						     uint32_t *app_name_len);

/*
 * Set the level up to which device messages are shown; DOCA_DPA_DEV_LOG_LEVEL_INFO unless set.
 * INVALID_VALUE: NULL or no such level; NOT_PERMITTED: an extended context; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_set_log_level(struct doca_dpa *dpa,
						      doca_dpa_dev_log_level_t log_level);

/* Read it back. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_get_log_level(struct doca_dpa *dpa,
						      doca_dpa_dev_log_level_t *log_level);

/*
 * Set the file for messages of device code, instead of the standard output; also the prefix of the
 * files that a fault leaves. It is truncated at once and closed when the context is destroyed.
 * INVALID_VALUE: NULL or empty; BAD_STATE: started, or an extended context; NO_MEMORY;
 * OPERATING_SYSTEM: it cannot be opened for writing.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_log_file_set_path(struct doca_dpa *dpa,
							  const char *file_path);

/*
 * Read it back; "" when none is set.
 * @file_path_len: in: bytes at file_path; out: bytes written, the terminating zero included
 * INVALID_VALUE: NULL, or file_path too short (file_path_len then holds the required size).
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_log_file_get_path(struct doca_dpa *dpa, char *file_path,
							  uint32_t *file_path_len);

/* Set the file for doca_dpa_dev_trace(), as doca_dpa_log_file_set_path(). */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_trace_file_set_path(struct doca_dpa *dpa,
							    const char *file_path);

/* Read it back, as doca_dpa_log_file_get_path(). */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_trace_file_get_path(struct doca_dpa *dpa, char *file_path,
							    uint32_t *file_path_len);

/*
 * Create a context by which the program of a started base context uses another device too. It has
 * objects of its own on that device; program, memory, log and fatal state are those of the base.
 * @extended_dpa: receives it, started; the caller destroys it before the base
 * INVALID_VALUE: NULL; BAD_STATE: the base is not started or is an extended context itself;
 * NO_MEMORY; DRIVER: the device has no DPA.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_device_extend(struct doca_dpa *dpa,
						      struct doca_dev *other_dev,
						      struct doca_dpa **extended_dpa);

/*
 * Get the handle of device code for the context, for doca_dpa_dev_device_set(). INVALID_VALUE:
 * NULL; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_get_dpa_handle(struct doca_dpa *dpa,
						       doca_dpa_dev_t *handle);

/*
 * Report whether a fault ended device code: a bad pointer, a trap, a bad handle. The state is not
 * cleared. May be called from any thread while the context exists.
 * INVALID_VALUE: NULL; BAD_STATE: the context is in the fatal state; only destroying it is
 * possible.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_peek_at_last_error(const struct doca_dpa *dpa);

/* ----------------------------------------------------------- running code */

/*
 * Call a __dpa_rpc__ function on an EU and wait for its end: it never waits for other code, and its
 * log is written when this returns.
 * @retval: receives its return value
 * @...:    its arguments, of the types of its parameters (structures by value too)
 * INVALID_VALUE: NULL, or func is no such function of the context's application; BAD_STATE: not
 * started, or in the fatal state; DRIVER: it entered the fatal state instead of returning, or the
 * system gives no thread for an EU; NOT_SUPPORTED: built by a dpacc that cannot pass arguments.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_rpc(struct doca_dpa *dpa, doca_dpa_func_t *func,
					    uint64_t *retval, ...);

/*
 * Launch a __dpa_global__ function on num_threads EUs; return at once. A launch waits only for its
 * event and for free EUs. Launches get EUs in the order in which they became ready. Any number of
 * them may wait for events. All contexts of the process together run at most 1,024 threads at a
 * time (DPA threads, threads of launches that have begun, RPCs). A launch that exceeds this number
 * begins when others have ended.
 * @wait_event:     started, with the context as subscriber; NULL: start at once
 * @wait_threshold: 0 to 254; starts when the event is at least this. Not used without an event
 * @comp_event:     started, with the context as publisher; set to comp_count when the last thread
 *                  has returned; not set if one faulted or was killed. NULL: none
 * @...:            the arguments, as for doca_dpa_rpc(); each thread gets all of them
 * INVALID_VALUE: NULL, func is no such function, an event or the threshold is not as above,
 * num_threads is 0 or above doca_dpa_get_max_threads_per_kernel(); BAD_STATE: not started, or in
 * the fatal state; DRIVER: no memory or no threads; NOT_SUPPORTED: as doca_dpa_rpc(). Stopping or
 * destroying the context drops launches that have not begun, waits one second for others and then
 * kills them.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_kernel_launch_update_set(
	struct doca_dpa *dpa, struct doca_sync_event *wait_event, uint64_t wait_threshold,
	struct doca_sync_event *comp_event, uint64_t comp_count, unsigned int num_threads,
	doca_dpa_func_t *func, ...);

/* Do the same, but add comp_count to comp_event. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_kernel_launch_update_add(
	struct doca_dpa *dpa, struct doca_sync_event *wait_event, uint64_t wait_threshold,
	struct doca_sync_event *comp_event, uint64_t comp_count, unsigned int num_threads,
	doca_dpa_func_t *func, ...);

/*
 * Get the largest number of threads of one launch: the EUs for code without an affinity.
 * INVALID_VALUE: NULL.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_get_max_threads_per_kernel(const struct doca_dpa *dpa,
								   unsigned int *value);

/*
 * Get the seconds that an activation, a thread of a launch or an RPC may run (setting
 * `max_run_time`); 0: without limit. INVALID_VALUE: NULL.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_get_kernel_max_run_time(const struct doca_dpa *dpa,
								unsigned long long *value);

/* -------------------------------------------------------------------- EUs */

/* Get the number of cores of the adapter. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_get_core_num(struct doca_dpa *dpa, unsigned int *num_cores);

/* Get the number of EUs of a core; EU e is on core e / this number. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_get_num_eus_per_core(struct doca_dpa *dpa,
							     unsigned int *eus_per_core);

/*
 * Get the number of EUs that the context may use: those of its partition (dpaeumgmt).
 * INVALID_VALUE: NULL.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_get_total_num_eus_available(struct doca_dpa *dpa,
								    unsigned int *total_num_eus);

/*
 * Create an affinity, which names no EU yet.
 * @affinity: receives it; the caller destroys it (threads that use it keep its EU) INVALID_VALUE:
 * NULL; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_eu_affinity_create(struct doca_dpa *dpa,
							   struct doca_dpa_eu_affinity **affinity);

/* Destroy an affinity. INVALID_VALUE: NULL; BAD_STATE: the context is destroyed. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_eu_affinity_destroy(struct doca_dpa_eu_affinity *affinity);

/*
 * Set the EU of an affinity, for threads that are started later.
 * INVALID_VALUE: NULL, no EU that the context may use, or the context is destroyed.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_eu_affinity_set(struct doca_dpa_eu_affinity *affinity,
							unsigned int eu_id);

/* Clear the EU of an affinity: it then acts like no affinity. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_eu_affinity_clear(struct doca_dpa_eu_affinity *affinity);

/* Read it back. INVALID_VALUE: NULL, or it names none. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_eu_affinity_get(struct doca_dpa_eu_affinity *affinity,
							unsigned int *eu_id);

/* ----------------------------------------------------------------- memory */

/*
 * Allocate device memory, aligned for any C type (64 bytes), not zeroed.
 * @size:    bytes
 * @dev_ptr: receives the address for device code, 0 on failure; freed by doca_dpa_mem_free()
 * INVALID_VALUE: NULL or size 0; BAD_STATE: not started; DRIVER: no memory.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_mem_alloc(struct doca_dpa *dpa, size_t size,
						  doca_dpa_dev_uintptr_t *dev_ptr);

/*
 * Free device memory; the caller ensures that no device code uses it. Memory that is still
 * allocated is freed when the context is stopped.
 * DRIVER: not an address that doca_dpa_mem_alloc() gave; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_mem_free(struct doca_dpa *dpa,
						 doca_dpa_dev_uintptr_t dev_ptr);

/*
 * Copy size bytes host to device; return when they are written.
 * INVALID_VALUE: NULL, size 0, or the range is not within one allocation; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_h2d_memcpy(struct doca_dpa *dpa,
						   doca_dpa_dev_uintptr_t dst_ptr, void *src_ptr,
						   size_t size);

/* Copy size bytes device to host. Errors: as doca_dpa_h2d_memcpy(). */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_d2h_memcpy(struct doca_dpa *dpa, void *dst_ptr,
						   doca_dpa_dev_uintptr_t src_ptr, size_t size);

/*
 * Copy size bytes from the data of a buf to device memory. Only the buf itself is read, not the
 * list behind it, and not past its end; its data length is not used.
 * INVALID_VALUE: as doca_dpa_h2d_memcpy(), or the buf's map is not local memory on the context's
 * device, or the buf ends before; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_h2d_buf_memcpy(struct doca_dpa *dpa,
						       doca_dpa_dev_uintptr_t dst_ptr,
						       struct doca_buf *buf, size_t size);

/*
 * Copy size bytes from device memory to where the data of a buf begin; its data length stays.
 * Errors: as doca_dpa_h2d_buf_memcpy(); INVALID_VALUE also: the map may only be read.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_d2h_buf_memcpy(struct doca_dpa *dpa, struct doca_buf *buf,
						       doca_dpa_dev_uintptr_t src_ptr, size_t size);

/* Set size bytes of device memory to (unsigned char)value. Errors: as doca_dpa_h2d_memcpy(). */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_memset(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t dev_ptr,
					       int value, size_t size);

/* ---------------------------------------------------------------- threads */

/*
 * Create a thread that completions activate.
 * @dpa_thread: receives the thread; the caller destroys it
 * INVALID_VALUE: NULL; NO_MEMORY: also when 256 exist, started RDMA contexts included.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_create(struct doca_dpa *dpa,
						      struct doca_dpa_thread **dpa_thread);

/*
 * Destroy a thread, stopping it first. Completion contexts that name it stay and activate nothing.
 * INVALID_VALUE: NULL; BAD_STATE: the context is destroyed.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_destroy(struct doca_dpa_thread *dpa_thread);

/*
 * Set the function of each activation: a `__dpa_global__ void f(uint64_t)`, called with arg.
 * INVALID_VALUE: NULL, or func is no such function of the context's application (found at
 * doca_dpa_thread_start() when no application is set yet); BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_set_func_arg(struct doca_dpa_thread *dpa_thread,
							    doca_dpa_func_t *func, uint64_t arg);

/* Read them back; func NULL when not set. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_get_func_arg(struct doca_dpa_thread *dpa_thread,
							    doca_dpa_func_t **func, uint64_t *arg);

/*
 * Set the word for doca_dpa_dev_thread_get_local_storage(), usually from doca_dpa_mem_alloc(); 0
 * unless set.
 * INVALID_VALUE: NULL thread; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_set_local_storage(struct doca_dpa_thread *dpa_thread,
								 doca_dpa_dev_uintptr_t dev_ptr);

/* Read it back. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_get_local_storage(struct doca_dpa_thread *dpa_thread,
								 doca_dpa_dev_uintptr_t *dev_ptr);

/*
 * Set the EU that the thread runs on; the thread waits for it while it is busy. Without an affinity
 * the thread runs on any free EU.
 * INVALID_VALUE: NULL, or the affinity is another context's; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_set_affinity(
	struct doca_dpa_thread *dpa_thread, const struct doca_dpa_eu_affinity *affinity);

/* Read it back; NULL when not set. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_get_affinity(
	struct doca_dpa_thread *dpa_thread, const struct doca_dpa_eu_affinity **affinity);

/*
 * Start the thread: the EUs can run it. Nothing runs before doca_dpa_thread_run(), but completions
 * that arrive from here on are kept for it.
 * INVALID_VALUE: NULL, or the function is not in the application; BAD_STATE: function not set,
 * context not started, thread already started; DRIVER: the system gives no thread for an EU.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_start(struct doca_dpa_thread *dpa_thread);

/*
 * End the thread's activations; block until a running one has ended, and kill it after one second.
 * INVALID_VALUE: NULL; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_stop(struct doca_dpa_thread *dpa_thread);

/*
 * Let completions activate the thread from now on. Completions that came earlier activate it at
 * once. Calling it again changes nothing.
 * INVALID_VALUE: NULL; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_run(struct doca_dpa_thread *dpa_thread);

/* ---------------------------------------------------------- thread groups */

/*
 * Create a group, which gives its threads a rank of 0 to num_threads - 1.
 * @tg: receives it; the caller destroys it
 * INVALID_VALUE: NULL, or not 1 to 256 threads; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_group_create(struct doca_dpa *dpa,
							    unsigned int num_threads,
							    struct doca_dpa_tg **tg);

/* Destroy a group, stopping it first. INVALID_VALUE: NULL; BAD_STATE: the context is destroyed. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_group_destroy(struct doca_dpa_tg *tg);

/* Get the number of threads of a group. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_group_get_num_threads(struct doca_dpa_tg *tg,
								     unsigned int *num_threads);

/*
 * Put a thread at a rank and replace the previous one. A thread that is destroyed leaves its group,
 * which is stopped then.
 * INVALID_VALUE: NULL, no such rank, or another context's thread; BAD_STATE: the context is not
 * started, group or thread is started, or the thread is in a group.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_group_set_thread(struct doca_dpa_tg *tg,
								struct doca_dpa_thread *thread,
								unsigned int rank);

/*
 * Start a group: its threads have their ranks from their next activation on.
 * INVALID_VALUE: NULL; BAD_STATE: the context is not started, the group is started, or a rank has
 * no thread or one that is not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_group_start(struct doca_dpa_tg *tg);

/*
 * Stop a group: its threads have no rank from their next activation on. INVALID_VALUE: NULL;
 * BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_thread_group_stop(struct doca_dpa_tg *tg);

/* ------------------------------------------------------------- hash tables */

/*
 * Create an empty table for device code that maps 32-bit keys to 64-bit values.
 * @num_entries: keys that it can hold, 1 to 2^28; rounded up to a power of two
 * @ht:		 receives it; the caller destroys it
 * INVALID_VALUE: NULL or out of range; BAD_STATE: context not started; DRIVER: no memory, or the
 * context has too many objects.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_hash_table_create(struct doca_dpa *dpa,
							  unsigned int num_entries,
							  struct doca_dpa_hash_table **ht);

/*
 * Destroy a table. Device code that uses its handle afterwards is in the fatal state.
 * INVALID_VALUE: NULL; BAD_STATE: the context is stopped or destroyed.
 */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_hash_table_destroy(struct doca_dpa_hash_table *ht);

/* Get the handle of device code for it. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_dpa_hash_table_get_dpa_handle(
	struct doca_dpa_hash_table *ht, doca_dpa_dev_hash_table_t *ht_handle);

#ifdef __cplusplus
}
#endif

#include <dpa/dpa_completion.h>

#endif /* DOCA_DPA_H_ */
