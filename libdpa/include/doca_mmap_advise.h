/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_mmap_advise.h - caches of mapped memory.
 *
 * An advise is a context (doca_ctx.h) with tasks (doca_pe.h). Its task writes changed cache lines
 * of a buf to memory and drops the buf's lines from all caches of the CPU. Copies of this adapter
 * are coherent with the caches: no program needs the task for its results, and the next access of
 * the lines is slower. The thread that calls doca_pe_progress() runs it.
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
 * Create an advise on a device, which cannot be closed before doca_mmap_advise_destroy().
 * INVALID_VALUE: NULL, or not a device of this adapter; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_advise_create(struct doca_dev *dev,
						       struct doca_mmap_advise **mmap_advise);

/*
 * Destroy an advise. Its remaining tasks can only be freed. INVALID_VALUE: NULL; IN_USE: it is not
 * idle.
 */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_advise_destroy(struct doca_mmap_advise *mmap_advise);

/* Return the advise as a context, valid until it is destroyed; NULL for NULL. */
DOCA_EXPERIMENTAL struct doca_ctx *doca_mmap_advise_as_ctx(struct doca_mmap_advise *mmap_advise);

/*
 * Report whether the device has it. INVALID_VALUE: NULL; NOT_SUPPORTED: not a device of this
 * adapter.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_mmap_advise_cap_task_cache_invalidate_is_supported(const struct doca_devinfo *devinfo);

/*
 * Get the largest number of bytes of a task: 1 GiB. INVALID_VALUE: NULL, or not a device of this
 * adapter.
 */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_advise_task_cache_invalidate_get_max_buf_size(
	const struct doca_devinfo *devinfo, uint64_t *buf_size);

/*
 * Configure the tasks. Call it before the context starts.
 * @num_tasks: tasks that may exist at a time
 * INVALID_VALUE: NULL, or 0 tasks; NOT_PERMITTED: the context is not idle.
 */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_advise_task_invalidate_cache_set_conf(
	struct doca_mmap_advise *mmap_advise,
	doca_mmap_advise_task_invalidate_cache_completion_cb_t completion_cb,
	doca_mmap_advise_task_invalidate_cache_completion_cb_t error_cb, uint32_t num_tasks);

/*
 * Allocate a task of a running context for the data of a buf. The buf belongs to the caller and
 * must exist until the task has ended. The caller frees the task by doca_task_free().
 * INVALID_VALUE: mmap_advise or task is NULL, or the context is not running; NO_MEMORY: as many exist
 * as were configured, or no memory.
 *
 * doca_task_submit() returns INVALID_VALUE if buf is no buf. The status of a task that fails:
 * INVALID_VALUE: the map is not started or not of the device; NOT_SUPPORTED: the memory is a
 * peer's, or a dma-buf; SHUTDOWN: the context stops.
 */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_advise_task_invalidate_cache_alloc_init(
	struct doca_mmap_advise *mmap_advise, struct doca_buf *buf, union doca_data user_data,
	struct doca_mmap_advise_task_invalidate_cache **task);

/* Return the task as a doca_task; NULL for NULL. */
DOCA_EXPERIMENTAL struct doca_task *doca_mmap_advise_task_invalidate_cache_as_doca_task(
	struct doca_mmap_advise_task_invalidate_cache *task);

/* Set or return the buf of a task that is not in flight. NULL: no such task. */
DOCA_EXPERIMENTAL void
doca_mmap_advise_task_invalidate_cache_set_buf(struct doca_mmap_advise_task_invalidate_cache *task,
					       struct doca_buf *buf);
DOCA_EXPERIMENTAL struct doca_buf *doca_mmap_advise_task_invalidate_cache_get_buf(
	const struct doca_mmap_advise_task_invalidate_cache *task);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_MMAP_ADVISE_H_ */
