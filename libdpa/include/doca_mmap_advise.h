/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_mmap_advise.h - caches of mapped memory.
 *
 * An advise is a context (doca_ctx.h) with tasks (doca_pe.h). Its task writes the lines of a buf that
 * caches of the CPU have changed to memory, and drops them from all caches. Copies of this adapter are
 * coherent with the caches: no program needs the task for its results, and the next access of the
 * lines is slower. The thread of doca_pe_progress() does it.
 *
 * All calls on an advise and its tasks belong to the thread of its progress engine. The errors are
 * those that the DOCA API 2.10 documents.
 */
#ifndef DOCA_MMAP_ADVISE_H_
#define DOCA_MMAP_ADVISE_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_ctx;
struct doca_dev;
struct doca_devinfo;
struct doca_mmap_advise;
struct doca_mmap_advise_task_invalidate_cache;

/* A task has ended. The callback may free the task or submit it again. */
typedef void (*doca_mmap_advise_task_invalidate_cache_completion_cb_t)(
	struct doca_mmap_advise_task_invalidate_cache *task, union doca_data task_user_data,
	union doca_data ctx_user_data);

/*
 * Makes an advise on a device, which cannot be closed before doca_mmap_advise_destroy().
 * INVALID_VALUE: NULL, or not a device of this adapter; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_advise_create(struct doca_dev *dev,
						       struct doca_mmap_advise **mmap_advise);

/* Frees it; tasks that are left can only be freed. INVALID_VALUE: NULL; IN_USE: it is not idle. */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_advise_destroy(struct doca_mmap_advise *mmap_advise);

/* The advise as a context, valid until it is destroyed; NULL for NULL. */
DOCA_EXPERIMENTAL struct doca_ctx *doca_mmap_advise_as_ctx(struct doca_mmap_advise *mmap_advise);

/* INVALID_VALUE: NULL; NOT_SUPPORTED: not a device of this adapter. */
DOCA_EXPERIMENTAL doca_error_t
doca_mmap_advise_cap_task_cache_invalidate_is_supported(const struct doca_devinfo *devinfo);

/* The most bytes of a task: 1 GiB. INVALID_VALUE: NULL, or not a device of this adapter. */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_advise_task_cache_invalidate_get_max_buf_size(
	const struct doca_devinfo *devinfo, uint64_t *buf_size);

/*
 * Has to be called before the context starts.
 * @num_tasks: that may exist at a time
 * INVALID_VALUE: NULL, or 0 tasks; NOT_PERMITTED: the context is not idle.
 */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_advise_task_invalidate_cache_set_conf(
	struct doca_mmap_advise *mmap_advise,
	doca_mmap_advise_task_invalidate_cache_completion_cb_t completion_cb,
	doca_mmap_advise_task_invalidate_cache_completion_cb_t error_cb, uint32_t num_tasks);

/*
 * Makes a task, of a running context, for the data of a buf, which is the caller's and must stay until
 * the task has ended. The caller frees the task by doca_task_free().
 * INVALID_VALUE: mmap_advise or task is NULL, or the context is not running; NO_MEMORY: as many exist
 * as were configured, or no memory.
 *
 * doca_task_submit() returns INVALID_VALUE if buf is none. The status of a task that fails:
 * INVALID_VALUE: the map is not started or not of the device; NOT_SUPPORTED: the memory is a peer's, or
 * a dma-buf; SHUTDOWN: the context stops.
 */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_advise_task_invalidate_cache_alloc_init(
	struct doca_mmap_advise *mmap_advise, struct doca_buf *buf, union doca_data user_data,
	struct doca_mmap_advise_task_invalidate_cache **task);

/* The task as a doca_task; NULL for NULL. */
DOCA_EXPERIMENTAL struct doca_task *doca_mmap_advise_task_invalidate_cache_as_doca_task(
	struct doca_mmap_advise_task_invalidate_cache *task);

/* The buf of a task that is not in flight. NULL: no such task. */
DOCA_EXPERIMENTAL void
doca_mmap_advise_task_invalidate_cache_set_buf(struct doca_mmap_advise_task_invalidate_cache *task,
					       struct doca_buf *buf);
DOCA_EXPERIMENTAL struct doca_buf *doca_mmap_advise_task_invalidate_cache_get_buf(
	const struct doca_mmap_advise_task_invalidate_cache *task);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_MMAP_ADVISE_H_ */
