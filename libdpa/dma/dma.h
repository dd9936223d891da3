/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dma.h - a doca_dma: a queue of copies, which progress() makes one after another.
 *
 * All of it belongs to the thread of the progress engine; no lock is taken.
 */
#ifndef DPA_DMA_H
#define DPA_DMA_H

#include <doca_dma.h>
#include "../common/pe.h"
#include "../host/libdpa.h"

#define DPA_DMA_MAX_TASKS 65536u
#define DPA_DMA_MAX_LIST  64u
#define DPA_DMA_MAX_SIZE  (UINT64_C(1) << 30)

struct doca_dma_task_memcpy {
	struct doca_task task; /* first: doca_task_free() gets its address */
	struct doca_dma *dma;
	const struct doca_buf *src;
	struct doca_buf *dst;
	struct doca_dma_task_memcpy *next; /* of the queue, while in flight */
};

struct doca_dma {
	struct doca_ctx ctx;
	struct doca_dma_task_memcpy *queue, **queue_end;
	doca_dma_task_memcpy_completion_cb_t done, failed;
	uint32_t max_tasks, used; /* configured; those that exist */
	uint32_t refs;		  /* the user's, and one for each task */
};

/* Makes the copy. SUCCESS, or the status of a task that fails: doca_dma.h. */
doca_error_t dpa_dma_copy(const struct doca_dev *dev, const struct doca_buf *src,
			  struct doca_buf *dst);

#endif
