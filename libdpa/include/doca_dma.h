/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_dma.h - copies of memory, on the data path of the CPU.
 *
 * A DMA is a context (doca_ctx.h) with tasks (doca_pe.h). The thread that calls doca_pe_progress()
 * makes a copy within the process: a task costs what memmove() costs, and no copy runs in the
 * background. Memory that another process has exported by doca_mmap_export_pci() is copied by RDMA
 * READs and WRITEs of an internal connection, which doca_pe_progress() sets up at the first such
 * task, without waiting. Tasks begin and end in the order of their submission. A task that fails
 * stops its context, as the adapter's queue would: doca_pe_progress() reports the other tasks with
 * SHUTDOWN.
 *
 * All calls on a DMA and its tasks belong to the thread of its progress engine. The errors are those
 * that the DOCA API 2.10 documents.
 */
#ifndef DOCA_DMA_H_
#define DOCA_DMA_H_

#include <inttypes.h>

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
struct doca_dma;
struct doca_dma_task_memcpy;

/* A copy has ended. The callback may free the task or submit it again. */
typedef void (*doca_dma_task_memcpy_completion_cb_t)(struct doca_dma_task_memcpy *task,
						     union doca_data task_user_data,
						     union doca_data ctx_user_data);

/*
 * Create a DMA on a device, which cannot be closed before doca_dma_destroy().
 * @dma: receives it
 * INVALID_VALUE: NULL, or not a device of this adapter; NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_dma_create(struct doca_dev *dev, struct doca_dma **dma);

/*
 * Destroy a DMA. Its remaining tasks can only be freed. INVALID_VALUE: NULL; IN_USE: it is not
 * idle.
 */
DOCA_STABLE doca_error_t doca_dma_destroy(struct doca_dma *dma);

/* Return the DMA as a context, valid until it is destroyed; NULL for NULL. */
DOCA_STABLE struct doca_ctx *doca_dma_as_ctx(struct doca_dma *dma);

/*
 * Report whether the device can copy. INVALID_VALUE: NULL; NOT_SUPPORTED: not a device of this
 * adapter.
 */
DOCA_STABLE doca_error_t doca_dma_cap_task_memcpy_is_supported(const struct doca_devinfo *devinfo);

/*
 * Get the largest number of tasks for doca_dma_task_memcpy_set_conf(): 65,536. INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t doca_dma_cap_get_max_num_tasks(struct doca_dma *dma,
							uint32_t *max_num_tasks);

/*
 * Get the largest number of bufs in a list of source or destination, 64, and of bytes in a copy, 1
 * GiB.
 * INVALID_VALUE: NULL, or not a device of this adapter.
 */
DOCA_STABLE doca_error_t doca_dma_cap_task_memcpy_get_max_buf_list_len(
	const struct doca_devinfo *devinfo, uint32_t *max_buf_list_len);
DOCA_STABLE doca_error_t
doca_dma_cap_task_memcpy_get_max_buf_size(const struct doca_devinfo *devinfo, uint64_t *buf_size);

/*
 * Configure the tasks. Call it before the context starts.
 * @task_completion_cb, @task_error_cb: called when a copy has succeeded, or failed
 * @num_memcpy_tasks: tasks that may exist at a time; 0: the largest number
 * INVALID_VALUE: NULL, more than doca_dma_cap_get_max_num_tasks(), or the context is not idle.
 */
DOCA_STABLE doca_error_t doca_dma_task_memcpy_set_conf(
	struct doca_dma *dma, doca_dma_task_memcpy_completion_cb_t task_completion_cb,
	doca_dma_task_memcpy_completion_cb_t task_error_cb, uint32_t num_memcpy_tasks);

/*
 * Allocate a task of a running context that copies the data of `src` behind the data of `dst`,
 * which grow by that length. Both may be the first buf of a list; they belong to the caller and
 * must exist until the task has ended. Ranges may overlap, but not those of a peer.
 * @task: receives the task; the caller frees it by doca_task_free()
 * INVALID_VALUE: dma or task is NULL, or the context is not running; NO_MEMORY: as many exist as
 * were configured, or no memory.
 *
 * doca_task_submit() returns INVALID_VALUE if src or dst is no buf. The status of a task that
 * fails: IO_FAILED: there are no data, or the peer is unreachable, has ended, or has stopped its
 * map; INVALID_VALUE: `dst` has no room for them, a list or a copy is too large, or a map is not
 * started or not of the device; NOT_PERMITTED: the map of `dst` may not be written; NOT_SUPPORTED:
 * the memory is a dma-buf, or a peer's by an export for RDMA; NO_MEMORY; SHUTDOWN: the context
 * stops. The data of `dst` do not grow then, but part of its room may have been written.
 */
DOCA_STABLE doca_error_t doca_dma_task_memcpy_alloc_init(struct doca_dma *dma,
							 const struct doca_buf *src,
							 struct doca_buf *dst,
							 union doca_data user_data,
							 struct doca_dma_task_memcpy **task);

/* Return the task as a doca_task; NULL for NULL. */
DOCA_STABLE struct doca_task *doca_dma_task_memcpy_as_task(struct doca_dma_task_memcpy *task);

/* Set or return the bufs of a task that is not in flight. NULL: no such task. */
DOCA_STABLE void doca_dma_task_memcpy_set_src(struct doca_dma_task_memcpy *task,
					      const struct doca_buf *src);
DOCA_STABLE const struct doca_buf *
doca_dma_task_memcpy_get_src(const struct doca_dma_task_memcpy *task);
DOCA_STABLE void doca_dma_task_memcpy_set_dst(struct doca_dma_task_memcpy *task,
					      struct doca_buf *dst);
DOCA_STABLE struct doca_buf *doca_dma_task_memcpy_get_dst(const struct doca_dma_task_memcpy *task);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_DMA_H_ */
