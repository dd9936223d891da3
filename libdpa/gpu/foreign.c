/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * foreign.c - GPU memory as a region of the adapter. The CPU cannot access it: copies of the driver
 * move the bytes through host memory that is registered with the GPU. A call of the driver costs
 * microseconds, and a batch of copies little more than one copy.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "../common/log/log.h"
#include "../eu/clock.h"
#include "gpu.h"

#define BATCH 512 /* copies of one call */

/* ------------------------------------------------------------- owner of memory */

static bool is_gpu_memory(const struct dpa_cuda *cuda, uint64_t addr)
{
	unsigned int type = 0, managed = 0;

	if (cuda->attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, addr) ||
	    type != CU_MEMORYTYPE_DEVICE)
		return false;
	return cuda->attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, addr) || !managed;
}

static bool is_all_of_it(const struct dpa_cuda *cuda, uint64_t addr, size_t length)
{
	CUdeviceptr base;
	size_t size;

	return !cuda->range(&base, &size, addr) && addr - base <= size &&
	       length <= size - (addr - base);
}

struct dpa_gpu_dev *dpa_gpu_of_memory(const void *addr, size_t length, bool *bad)
{
	const struct dpa_cuda *cuda = dpa_cuda_if_used();
	struct dpa_gpu_dev *dev = NULL;
	int ordinal = 0;
	CUdevice device;

	*bad = false;
	if (!cuda || !is_gpu_memory(cuda, (uintptr_t)addr))
		return NULL;
	if (!cuda->attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (uintptr_t)addr) &&
	    !cuda->device_get(&device, ordinal))
		dev = dpa_gpu_dev_get(cuda, device);
	if (dev && !dpa_gpu_enter(dev)) {
		*bad = !is_all_of_it(cuda, (uintptr_t)addr, length);
		dpa_gpu_leave(dev);
	} else {
		*bad = true;
	}
	if (*bad && dev) {
		dpa_gpu_dev_put(dev);
		dev = NULL;
	}
	return dev;
}

/* ------------------------------------------------------------------------ copies */

/* Destination of a segment that comes from the GPU. */
struct scatter {
	void *to;
	const void *from;
	size_t length;
};

/* Copies between the bounce memory and the GPU, collected for one call. */
struct gpu_batch {
	CUdeviceptr dst[BATCH], src[BATCH];
	size_t length[BATCH];
	unsigned int n;
	bool to_gpu;
	size_t used;		     /* of the bounce memory */
	struct scatter after[BATCH]; /* !to_gpu */
	unsigned int nafter;
};

static CUresult call_batch(struct dpa_gpu_dev *dev, struct gpu_batch *b)
{
	struct cu_batch_attr attr = {.order = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	const struct dpa_cuda *cuda = dev->cuda;
	size_t first = 0, failed;
	CUresult ret = CUDA_SUCCESS;

	/* a driver that has the call but refuses it gets single copies */
	if (b->n > 1 && cuda->batch &&
	    !cuda->batch(b->dst, b->src, b->length, b->n, &attr, &first, 1, dev->stream))
		return CUDA_SUCCESS;
	if (b->n > 1 && !cuda->batch && cuda->batch12 &&
	    !cuda->batch12(b->dst, b->src, b->length, b->n, &attr, &first, 1, &failed, dev->stream))
		return CUDA_SUCCESS;
	if (b->n > 1)
		dev->count.refused++;
	for (unsigned int i = 0; i < b->n && !ret; i++)
		ret = b->to_gpu ? cuda->to_device(b->dst[i], (void *)(uintptr_t)b->src[i],
						  b->length[i], dev->stream)
				: cuda->to_host((void *)(uintptr_t)b->dst[i], b->src[i],
						b->length[i], dev->stream);
	return ret;
}

/* Call the driver for the collected copies, and wait until they are done. */
static CUresult call_driver(struct dpa_gpu_dev *dev, struct gpu_batch *b)
{
	struct dpa_gpu_count *c = &dev->count;
	const uint64_t begin = dpal_now_ns();
	CUresult ret = call_batch(dev, b), waited;
	uint64_t took;

	/* wait also if one failed: earlier copies use the bounce memory until then */
	waited = dev->cuda->stream_wait(dev->stream);
	took = dpal_now_ns() - begin;
	c->calls++;
	c->elements += b->n;
	c->bytes += b->used;
	c->ns += took;
	if (took > c->longest)
		c->longest = took;
	return ret ? ret : waited;
}

/* Carry out the collected copies. */
static CUresult flush_batch(struct dpa_gpu_dev *dev, struct gpu_batch *b)
{
	CUresult ret;

	if (!b->n)
		return CUDA_SUCCESS;
	ret = call_driver(dev, b);
	for (unsigned int i = 0; i < b->nafter && !ret; i++)
		memcpy(b->after[i].to, b->after[i].from, b->after[i].length);
	b->n = 0;
	b->nafter = 0;
	b->used = 0;
	return ret;
}

/*
 * Return whether a copy continues the last one in GPU memory; in the bounce memory all copies are
 * adjacent.
 */
static bool extends_last_copy(const struct gpu_batch *b, uint64_t gpu)
{
	const unsigned int i = b->n - 1;

	return b->n && (b->to_gpu ? b->dst[i] : b->src[i]) + b->length[i] == gpu;
}

static void add_element(struct gpu_batch *b, uint64_t gpu, const uint8_t *at, size_t length)
{
	if (extends_last_copy(b, gpu)) {
		b->length[b->n - 1] += length;
		return;
	}
	b->dst[b->n] = b->to_gpu ? gpu : (uintptr_t)at;
	b->src[b->n] = b->to_gpu ? (uintptr_t)at : gpu;
	b->length[b->n] = length;
	b->n++;
}

static CUresult add_copy_piece(struct dpa_gpu_dev *dev, struct gpu_batch *b, uint64_t gpu,
			       uint8_t *host, size_t length, bool to_gpu)
{
	CUresult ret = CUDA_SUCCESS;
	uint8_t *at;

	if (b->n == BATCH || b->nafter == BATCH || b->used + length > DPA_GPU_BOUNCE ||
	    (b->n && b->to_gpu != to_gpu))
		ret = flush_batch(dev, b);
	if (ret)
		return ret;
	b->to_gpu = to_gpu;
	at = dev->bounce + b->used;
	b->used += length;
	if (to_gpu)
		memcpy(at, host, length);
	else
		b->after[b->nafter++] = (struct scatter){.to = host, .from = at, .length = length};
	add_element(b, gpu, at, length);
	return CUDA_SUCCESS;
}

static CUresult add_copy(struct dpa_gpu_dev *dev, struct gpu_batch *b,
			 const struct dpa_foreign_copy *c)
{
	CUresult ret = c->flags & DPA_FOREIGN_BEHIND ? flush_batch(dev, b) : CUDA_SUCCESS;

	for (uint32_t done = 0, n; done < c->length && !ret; done += n) {
		n = c->length - done;
		if (n > DPA_GPU_BOUNCE / 2)
			n = DPA_GPU_BOUNCE / 2;
		ret = add_copy_piece(dev, b, c->foreign + done, (uint8_t *)c->host + done, n,
				     c->flags & DPA_FOREIGN_TO);
	}
	return ret;
}

int dpa_gpu_copies(struct dpa_gpu_dev *dev, const struct dpa_foreign_copy *list, uint32_t n)
{
	struct gpu_batch *b = dev->batch;
	CUresult ret = CUDA_SUCCESS;

	pthread_mutex_lock(&dev->lock);
	if (dpa_gpu_enter(dev)) {
		pthread_mutex_unlock(&dev->lock);
		return EIO;
	}
	b->n = 0;
	b->nafter = 0;
	b->used = 0;
	dev->count.asked++;
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = add_copy(dev, b, &list[i]);
	if (!ret)
		ret = flush_batch(dev, b);
	dpa_gpu_leave(dev);
	pthread_mutex_unlock(&dev->lock);
	return ret ? EIO : 0;
}

void dpa_gpu_log_count(const struct dpa_gpu_dev *dev)
{
	const struct dpa_gpu_count *c = &dev->count;

	DPA_LOG(DOCA_LOG_LEVEL_INFO,
		"GPU %d: %" PRIu64 " lists of copies, %" PRIu64 " calls of the driver, %" PRIu64
		" elements, %" PRIu64 " bytes; %.1f us each call, %.1f us the longest; %" PRIu64
		" batches refused",
		dev->device, c->asked, c->calls, c->elements, c->bytes,
		c->calls ? (double)c->ns / (double)c->calls / 1000 : 0.0, (double)c->longest / 1000,
		c->refused);
}

static int copy_region(void *arg, const struct dpa_foreign_copy *list, uint32_t n)
{
	return dpa_gpu_copies(arg, list, n);
}

const struct dpa_foreign_ops dpa_gpu_ops = {.copy = copy_region};

struct gpu_batch *dpa_gpu_batch_new(void)
{
	return calloc(1, sizeof(struct gpu_batch));
}
