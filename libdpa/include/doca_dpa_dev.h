/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_dpa_dev.h - calls of device code.
 *
 * Include it in sources that dpacc compilesonly. An entry of the program is a function marked
 * __dpa_global__ (threads and launched kernels) or __dpa_rpc__. A thread's function runs once per
 * activation and ends it with doca_dpa_dev_thread_reschedule() or doca_dpa_dev_thread_finish();
 * returning means finish. A kernel and an RPC end by returning. Every function that is declared
 * here works; the other functions of the original header are not there yet.
 *
 * A bad handle, a bad pointer or a trap puts the program's context in the fatal state; so does a
 * call for threads only if a launched kernel or an RPC makes it.
 */
#ifndef DOCA_DPA_DEV_H_
#define DOCA_DPA_DEV_H_

#ifndef DOCA_DPA_DEVICE
#define DOCA_DPA_DEVICE
#endif

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* dpacc reads the annotations from the source text; the compiler ignores them. */
#ifndef __dpa_global__
#define __dpa_global__
#endif
#ifndef __dpa_rpc__
#define __dpa_rpc__
#endif
#ifndef __forceinline
#define __forceinline static inline __attribute__((always_inline))
#endif

__dpa_global__ typedef uint64_t doca_dpa_dev_t;
__dpa_global__ typedef uint64_t doca_dpa_dev_uintptr_t;
__dpa_global__ typedef uint64_t doca_dpa_dev_completion_t;
__dpa_global__ typedef uint64_t doca_dpa_dev_notification_completion_t;
__dpa_global__ typedef uint64_t doca_dpa_dev_async_ops_t;
__dpa_global__ typedef uint64_t doca_dpa_dev_hash_table_t;
/* One element of a completion queue; valid until it is acknowledged. */
__dpa_global__ typedef uint64_t doca_dpa_dev_completion_element_t;

__dpa_global__ typedef enum doca_dpa_dev_log_level {
	DOCA_DPA_DEV_LOG_LEVEL_DISABLE = 10,
	DOCA_DPA_DEV_LOG_LEVEL_CRIT = 20,
	DOCA_DPA_DEV_LOG_LEVEL_ERROR = 30,
	DOCA_DPA_DEV_LOG_LEVEL_WARNING = 40,
	DOCA_DPA_DEV_LOG_LEVEL_INFO = 50,
	DOCA_DPA_DEV_LOG_LEVEL_DEBUG = 60,
} doca_dpa_dev_log_level_t;

__dpa_global__ typedef enum {
	DOCA_DPA_DEV_COMP_SEND = 0x0,		     /* a posted send side operation is done */
	DOCA_DPA_DEV_COMP_RECV_RDMA_WRITE_IMM = 0x1, /* a WRITE with immediate took a receive */
	DOCA_DPA_DEV_COMP_RECV_SEND = 0x2,
	DOCA_DPA_DEV_COMP_RECV_SEND_IMM = 0x3,
	DOCA_DPA_DEV_COMP_SEND_ERR = 0xD, /* flushed ones included */
	DOCA_DPA_DEV_COMP_RECV_ERR = 0xE,
} doca_dpa_dev_completion_type_t;

/*
 * How an operation is submitted to the device. The comments of the calls that take the flags have
 * their meaning there.
 */
__dpa_global__ enum doca_dpa_dev_submit_flag {
	DOCA_DPA_DEV_SUBMIT_FLAG_NONE = 0U,
	DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH = (1U << 0), /* start it and all operations before it now */
	/* report it only with a later one that is reported, or when it fails */
	DOCA_DPA_DEV_SUBMIT_FLAG_OPTIMIZE_REPORTS = (1U << 1),
};

/* ---------------------------------------------------------------- threads */

/*
 * Return the word that doca_dpa_thread_set_local_storage() gave this thread. Thread functions only.
 */
DOCA_EXPERIMENTAL doca_dpa_dev_uintptr_t doca_dpa_dev_thread_get_local_storage(void);

/*
 * End this activation and free the EU; the thread may be activated again. Does not return. Thread
 * functions only.
 */
DOCA_EXPERIMENTAL void doca_dpa_dev_thread_reschedule(void);

/* End this activation; the thread never runs again. Does not return. Thread functions only. */
DOCA_EXPERIMENTAL void doca_dpa_dev_thread_finish(void);

/*
 * Activate the thread of a notification completion: now, or after its present activation. Several
 * notifications before it runs cause one activation.
 */
DOCA_EXPERIMENTAL void
doca_dpa_dev_thread_notify(doca_dpa_dev_notification_completion_t comp_handle);

/*
 * Select the device whose resources the following calls use, by the handle that
 * doca_dpa_get_dpa_handle() returned for its context. Code begins with the device of the context
 * that its thread was created on, or that it was launched or called on.
 *
 * Completion contexts, notification completions, RDMA contexts, async operations objects, exported
 * QPs and maps (their handles are keys) belong to one device: an object of another context, used
 * without this call, puts the program in the fatal state. Sync events, sync events of peers, hash
 * tables and DPA memory belong to the program: they work with any selected device.
 */
DOCA_EXPERIMENTAL void doca_dpa_dev_device_set(doca_dpa_dev_t dpa_handle);

/*
 * Return the rank: 0 .. N-1 in a launch of N threads, or in a started thread group of N; 0
 * elsewhere.
 */
DOCA_EXPERIMENTAL unsigned int doca_dpa_dev_thread_rank(void);

/* Return N, the number of threads of the launch or of the started thread group; 1 elsewhere. */
DOCA_EXPERIMENTAL unsigned int doca_dpa_dev_num_threads(void);

/*
 * Yield the EU: in a launched kernel, work that waits for an EU may take this one, and the kernel
 * continues on the next free EU.
 */
DOCA_EXPERIMENTAL void doca_dpa_dev_yield(void);

/* ------------------------------------------------------------ completions */

/*
 * Take the next element from the queue, without blocking.
 * @comp_element: receives the element
 * Returns 1 when there was one, 0 when not.
 * One thread at a time per completion context.
 */
DOCA_EXPERIMENTAL int doca_dpa_dev_get_completion(doca_dpa_dev_completion_t dpa_comp_handle,
						  doca_dpa_dev_completion_element_t *comp_element);

/* Return the type of the element. */
DOCA_EXPERIMENTAL doca_dpa_dev_completion_type_t
doca_dpa_dev_get_completion_type(doca_dpa_dev_completion_element_t comp_element);

/*
 * Return the user data of the source of the element: the id of the connection of an RDMA context,
 * the user data of an async operation, the user index of a QP attached by dpa_native.h
 * (dpadv_create_qp(); 0 of ibv_create_qp()).
 */
DOCA_EXPERIMENTAL uint32_t
doca_dpa_dev_get_completion_user_data(doca_dpa_dev_completion_element_t comp_element);

/*
 * Return the immediate as a number: the number that a sender on a DPA passed, or ntohl(imm_data) of
 * a verbs sender. Only for the two *_IMM types.
 */
DOCA_EXPERIMENTAL uint32_t
doca_dpa_dev_get_completion_immediate(doca_dpa_dev_completion_element_t comp_element);

/* Return num_comp elements to the queue, oldest first. */
DOCA_EXPERIMENTAL void doca_dpa_dev_completion_ack(doca_dpa_dev_completion_t dpa_comp_handle,
						   uint64_t num_comp);

/*
 * Request one activation of the thread of the completion context. It comes when there are elements
 * that are not taken yet: after the present activation, or later when one arrives. Without it no
 * completion activates the thread again. A second request before the activation has no effect.
 */
DOCA_EXPERIMENTAL void
doca_dpa_dev_completion_request_notification(doca_dpa_dev_completion_t dpa_comp_handle);

/* -------------------------------------------------------------------- log */

/*
 * Print a message, as printf() does, on the standard output of the program that owns the context,
 * or into its log file, behind "/<EU>/[DOCA][DPA DEVICE][<level>] ". The message includes its
 * newline; it is truncated to 1000 bytes. Messages above the context's log level are dropped.
 */
DOCA_EXPERIMENTAL void doca_dpa_dev_log(doca_dpa_dev_log_level_t log_level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Put five words into the trace: a line of the context's trace file, or of the standard output. It
 * is written when the trace's buffer fills, by doca_dpa_dev_trace_flush(), and when the context is
 * stopped.
 */
DOCA_EXPERIMENTAL void doca_dpa_dev_trace(uint64_t arg1, uint64_t arg2, uint64_t arg3,
					  uint64_t arg4, uint64_t arg5);

/* Write the trace collected so far now. */
DOCA_EXPERIMENTAL void doca_dpa_dev_trace_flush(void);

#define DOCA_DPA_DEV_LOG_CRIT(...) doca_dpa_dev_log(DOCA_DPA_DEV_LOG_LEVEL_CRIT, __VA_ARGS__)
#define DOCA_DPA_DEV_LOG_ERR(...)  doca_dpa_dev_log(DOCA_DPA_DEV_LOG_LEVEL_ERROR, __VA_ARGS__)
#define DOCA_DPA_DEV_LOG_WARN(...) doca_dpa_dev_log(DOCA_DPA_DEV_LOG_LEVEL_WARNING, __VA_ARGS__)
#define DOCA_DPA_DEV_LOG_INFO(...) doca_dpa_dev_log(DOCA_DPA_DEV_LOG_LEVEL_INFO, __VA_ARGS__)
#define DOCA_DPA_DEV_LOG_DBG(...)  doca_dpa_dev_log(DOCA_DPA_DEV_LOG_LEVEL_DEBUG, __VA_ARGS__)

/* ------------------------------------------------------------- hash tables */

/*
 * Tables of doca_dpa_hash_table_create(). Any thread of any kernel may call these functions; each
 * sees the keys that others have added.
 */

/*
 * Set the value of a key, and replace an earlier value. Adding a key to a table that is full puts
 * the context in the fatal state.
 */
DOCA_EXPERIMENTAL void doca_dpa_dev_hash_table_add(doca_dpa_dev_hash_table_t ht_handle,
						   uint32_t key, uint64_t value);

/* Remove a key. A key that is not in the table changes nothing. */
DOCA_EXPERIMENTAL void doca_dpa_dev_hash_table_remove(doca_dpa_dev_hash_table_t ht_handle,
						      uint32_t key);

/* Return 1 and the value of the key in *value, or 0 if the key is not in the table. */
DOCA_EXPERIMENTAL int doca_dpa_dev_hash_table_find(doca_dpa_dev_hash_table_t ht_handle,
						   uint32_t key, uint64_t *value);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_DPA_DEV_H_ */
