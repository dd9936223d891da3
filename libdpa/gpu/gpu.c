/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* gpu.c - GPUs: opening, contexts, objects that use them. */
#include <stdlib.h>
#include <sys/mman.h>
#include "../common/log/log.h"
#include "gpu.h"

static struct {
	pthread_mutex_t lock;
	struct dpa_gpu_dev *devs;
} gpus = {.lock = PTHREAD_MUTEX_INITIALIZER};

doca_error_t dpa_gpu_enter(const struct dpa_gpu_dev *dev)
{
	return dev->cuda->push(dev->ctx) ? DOCA_ERROR_DRIVER : DOCA_SUCCESS;
}

void dpa_gpu_leave(const struct dpa_gpu_dev *dev)
{
	CUcontext ctx;

	dev->cuda->pop(&ctx);
}

/* ---------------------------------------------------------- GPUs of the process */

static void close_dev(struct dpa_gpu_dev *dev)
{
	dpa_gpu_log_count(dev);
	if (dev->stream && !dpa_gpu_enter(dev)) {
		dev->cuda->stream_destroy(dev->stream);
		if (dev->bounce)
			dpa_gpu_unpin(dev->cuda, dev->bounce, DPA_GPU_BOUNCE);
		dpa_gpu_leave(dev);
	}
	if (dev->bounce)
		munmap(dev->bounce, DPA_GPU_BOUNCE);
	free(dev->batch);
	if (dev->ctx)
		dev->cuda->release(dev->device);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

/* Create the stream and the memory for copies. */
static bool prepare_copies(struct dpa_gpu_dev *dev)
{
	CUresult ret;
	void *p = NULL;

	if (dpa_gpu_enter(dev))
		return false;
	ret = dev->cuda->stream_create(&dev->stream, CU_STREAM_NON_BLOCKING);
	if (ret)
		dev->stream = NULL;
	else
		p = dpa_gpu_map_host(DPA_GPU_BOUNCE);
	if (p && dpa_gpu_pin(dev->cuda, p, DPA_GPU_BOUNCE) == 0)
		dev->bounce = p;
	else if (p)
		munmap(p, DPA_GPU_BOUNCE);
	dpa_gpu_leave(dev);
	return dev->bounce;
}

static struct dpa_gpu_dev *open_gpu(const struct dpa_cuda *cuda, CUdevice device)
{
	struct dpa_gpu_dev *dev = calloc(1, sizeof(*dev));
	CUresult ret;

	if (!dev)
		return NULL;
	dev->cuda = cuda;
	dev->device = device;
	dev->refs = 1;
	pthread_mutex_init(&dev->lock, NULL);
	ret = cuda->retain(&dev->ctx, device);
	if (ret) {
		DPA_LOG(DOCA_LOG_LEVEL_ERROR, "no CUDA context of GPU %d: %s", device,
			dpa_cuda_error(ret));
		dev->ctx = NULL;
	}
	dev->batch = dpa_gpu_batch_new();
	if (ret || !dev->batch || !prepare_copies(dev)) {
		close_dev(dev);
		return NULL;
	}
	return dev;
}

struct dpa_gpu_dev *dpa_gpu_dev_get(const struct dpa_cuda *cuda, CUdevice device)
{
	struct dpa_gpu_dev *dev;

	pthread_mutex_lock(&gpus.lock);
	for (dev = gpus.devs; dev; dev = dev->next)
		if (dev->device == device)
			break;
	if (dev) {
		dev->refs++;
	} else {
		dev = open_gpu(cuda, device);
		if (dev) {
			dev->next = gpus.devs;
			gpus.devs = dev;
		}
	}
	pthread_mutex_unlock(&gpus.lock);
	return dev;
}

void dpa_gpu_dev_put(struct dpa_gpu_dev *dev)
{
	struct dpa_gpu_dev **p = &gpus.devs;

	pthread_mutex_lock(&gpus.lock);
	if (!--dev->refs) {
		while (*p != dev)
			p = &(*p)->next;
		*p = dev->next;
		close_dev(dev);
	}
	pthread_mutex_unlock(&gpus.lock);
}

/* -------------------------------------------------------------------- doca_gpu */

doca_error_t doca_gpu_create(const char *gpu_bus_id, struct doca_gpu **gpu_dev)
{
	const struct dpa_cuda *cuda;
	struct doca_gpu *gpu;
	CUdevice device;

	if (!gpu_bus_id || !gpu_dev)
		return DOCA_ERROR_INVALID_VALUE;
	cuda = dpa_cuda();
	if (!cuda || cuda->device_by_pci(&device, gpu_bus_id))
		return DOCA_ERROR_NOT_FOUND;
	gpu = dpa_obj_new(DPA_T_GPU, sizeof(*gpu));
	if (!gpu)
		return DOCA_ERROR_NO_MEMORY;
	gpu->dev = dpa_gpu_dev_get(cuda, device);
	if (!gpu->dev) {
		dpa_obj_free(gpu);
		return DOCA_ERROR_DRIVER;
	}
	pthread_mutex_init(&gpu->lock, NULL);
	*gpu_dev = gpu;
	return DOCA_SUCCESS;
}

static void free_all(struct doca_gpu *gpu, struct dpa_gpu_mem *mem)
{
	while (mem) {
		struct dpa_gpu_mem *next = mem->next;

		dpa_gpu_mem_free(gpu, mem);
		mem = next;
	}
}

doca_error_t doca_gpu_destroy(struct doca_gpu *gpu_dev)
{
	bool used;

	if (!dpa_live(gpu_dev))
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gpu_dev->lock);
	used = gpu_dev->users;
	pthread_mutex_unlock(&gpu_dev->lock);
	if (used)
		return DOCA_ERROR_IN_USE;
	free_all(gpu_dev, gpu_dev->spare);
	free_all(gpu_dev, gpu_dev->mems);
	dpa_gpu_dev_put(gpu_dev->dev);
	pthread_mutex_destroy(&gpu_dev->lock);
	dpa_obj_free(gpu_dev);
	return DOCA_SUCCESS;
}

void dpa_gpu_use(struct doca_gpu *gpu, int n)
{
	pthread_mutex_lock(&gpu->lock);
	gpu->users += (uint32_t)n;
	pthread_mutex_unlock(&gpu->lock);
}
