/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * launch.c - runtime API: launches, and the functions that kernels call besides their built-in
 * ones.
 */
#include <stdlib.h>

#include "../include/cuda_runtime_api.h"
#include "../run/gpu.h"
#include "../run/kernel.h"
#include "../run/stream.h"

static __thread struct config {
	bool set;
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
} config;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dpa_cuda_entry *entries; /* under lock */

DPA_GPU_API void dpa_cuda_config(dim3 grid, dim3 block, size_t shared_mem, cudaStream_t stream)
{
	config = (struct config){true, grid, block, shared_mem, stream};
}

static bool in_range(const dim3 *d, unsigned int x, unsigned int y, unsigned int z)
{
	return d->x && d->y && d->z && d->x <= x && d->y <= y && d->z <= z;
}

static int check_launch(const struct config *c)
{
	int ret = gpu_enter();

	if (ret)
		return ret;
	if (!c->set)
		return cudaErrorMissingConfiguration;
	if (!in_range(&c->grid, 0x7fffffff, 65535, 65535) || !in_range(&c->block, 1024, 1024, 64) ||
	    (uint64_t)c->block.x * c->block.y * c->block.z > DPA_GPU_BLOCK_THREADS)
		return cudaErrorInvalidConfiguration;
	return c->shared > DPA_GPU_SHARED_OPTIN ? cudaErrorInvalidValue : cudaSuccess;
}

static struct kernel *kernel_new(const struct config *c, const struct dpa_cuda_body *body,
				 const void *closure)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->closure = malloc(body->size);
	if (!k->closure) {
		free(k);
		return NULL;
	}
	body->copy(k->closure, closure);
	k->body = body;
	k->grid = c->grid;
	k->block = c->block;
	k->shared = c->shared;
	k->threads = c->block.x * c->block.y * c->block.z;
	k->num_blocks = (uint64_t)c->grid.x * c->grid.y * c->grid.z;
	return k;
}

static void run_kernel(void *arg)
{
	kernel_run(arg);
}

static void drop_kernel(void *arg)
{
	kernel_free(arg);
}

DPA_GPU_API void dpa_cuda_launch(const struct dpa_cuda_body *body, const void *closure)
{
	struct config c = config;
	struct kernel *k;
	int ret = check_launch(&c);

	config.set = false;
	if (ret) {
		gpu_last(ret);
		return;
	}
	k = kernel_new(&c, body, closure);
	gpu_last(k ? stream_submit(c.stream, &(struct work){run_kernel, drop_kernel, k}, false)
		   : cudaErrorMemoryAllocation);
}

DPA_GPU_API void dpa_cuda_register(struct dpa_cuda_entry *entry)
{
	pthread_mutex_lock(&lock);
	entry->next = entries;
	entries = entry;
	pthread_mutex_unlock(&lock);
}

static struct dpa_cuda_entry *find_kernel_entry(const void *func)
{
	struct dpa_cuda_entry *e;

	pthread_mutex_lock(&lock);
	for (e = entries; e && e->func != func; e = e->next)
		;
	pthread_mutex_unlock(&lock);
	return e;
}

DPA_GPU_API cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args,
					 size_t shared_mem, cudaStream_t stream)
{
	struct dpa_cuda_entry *e = find_kernel_entry(func);
	int before, ret;

	if (!e)
		return gpu_last(cudaErrorInvalidDeviceFunction);
	before = gpu_take_last(true);
	dpa_cuda_config(grid, block, shared_mem, stream);
	e->call(func, args);
	ret = gpu_take_last(true);
	gpu_last(ret ? ret : before);
	return (cudaError_t)ret;
}

DPA_GPU_API cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr,
					     int value)
{
	int ret = gpu_enter();

	if (ret)
		return gpu_last(ret);
	if (attr == cudaFuncAttributeMaxDynamicSharedMemorySize)
		return gpu_last(func && value >= 0 && value <= DPA_GPU_SHARED_OPTIN
					? cudaSuccess
					: cudaErrorInvalidValue);
	/* a hint: the whole carve-out is always available */
	if (attr == cudaFuncAttributePreferredSharedMemoryCarveout)
		return gpu_last(func && value >= -1 && value <= 100 ? cudaSuccess
								    : cudaErrorInvalidValue);
	return gpu_last(cudaErrorInvalidValue);
}

/* A hint: the stand-in has nothing to divide. */
DPA_GPU_API cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cache)
{
	int ret = gpu_enter();

	return gpu_last(ret					    ? ret
			: func && cache <= cudaFuncCachePreferEqual ? cudaSuccess
								    : cudaErrorInvalidValue);
}

DPA_GPU_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func,
								      int block_size,
								      size_t shared_mem)
{
	int ret = gpu_enter();
	int num;

	if (ret)
		return gpu_last(ret);
	if (!blocks || !func || block_size < 1)
		return gpu_last(cudaErrorInvalidValue);
	num = DPA_GPU_SM_THREADS / block_size;
	if (num > DPA_GPU_SM_BLOCKS)
		num = DPA_GPU_SM_BLOCKS;
	if (block_size > DPA_GPU_BLOCK_THREADS || shared_mem > DPA_GPU_SHARED_OPTIN)
		num = 0;
	*blocks = num;
	return cudaSuccess;
}
