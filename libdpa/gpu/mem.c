/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mem.c - memory for kernels and the adapter. Memory of the host is a shared mapping of a memfd:
 * its pages stay when the process forks, and CUDA registers them.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../common/log/log.h"
#include "gpu.h"

/* ------------------------------------------------------------------------- host */

void *dpa_gpu_map_host(size_t size)
{
	int fd = memfd_create("dpa-gpu", MFD_CLOEXEC);
	void *p = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (ftruncate(fd, (off_t)size) == 0)
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

/* Return whether kernels use the address of the CPU, as all GPUs of 64-bit systems do. */
static bool is_unified(const struct dpa_cuda *cuda, void *p)
{
	CUdeviceptr gpu;

	return !cuda->host_pointer(&gpu, p, 0) && gpu == (uintptr_t)p;
}

static bool alloc_host(struct doca_gpu *gpu, struct dpa_gpu_mem *mem, size_t size, size_t align)
{
	const struct dpa_cuda *cuda = gpu->dev->cuda;
	const size_t page = (size_t)getpagesize();
	const size_t more = align > page ? align : 0;

	mem->size = (size + more + page - 1) & ~(page - 1);
	mem->map = dpa_gpu_map_host(mem->size);
	if (!mem->map)
		return false;
	if (dpa_gpu_pin(cuda, mem->map, mem->size)) {
		munmap(mem->map, mem->size);
		return false;
	}
	if (!is_unified(cuda, mem->map)) {
		dpa_gpu_unpin(cuda, mem->map, mem->size);
		munmap(mem->map, mem->size);
		return false;
	}
	mem->gpu = (uintptr_t)mem->map;
	if (more)
		mem->gpu = (mem->gpu + align - 1) & ~(uint64_t)(align - 1);
	return true;
}

/* -------------------------------------------------------------------------- GPU */

#define GPU_ALIGN 256u /* of cuMemAlloc() */

static bool alloc_gpu(struct doca_gpu *gpu, struct dpa_gpu_mem *mem, size_t size, size_t align)
{
	const size_t more = align > GPU_ALIGN ? align : 0;
	CUresult ret = gpu->dev->cuda->mem_alloc(&mem->base, size + more);

	if (ret) {
		DPA_LOG(DOCA_LOG_LEVEL_ERROR, "no GPU memory of %zu bytes: %s", size + more,
			dpa_cuda_error(ret));
		return false;
	}
	mem->size = size + more;
	mem->gpu = mem->base;
	if (more)
		mem->gpu = (mem->gpu + align - 1) & ~(uint64_t)(align - 1);
	return true;
}

struct dpa_gpu_mem *dpa_gpu_mem_new(struct doca_gpu *gpu, size_t size, size_t align,
				    enum doca_gpu_mem_type type)
{
	struct dpa_gpu_mem *mem = calloc(1, sizeof(*mem));
	bool ok;

	if (!mem || size + align < size || dpa_gpu_enter(gpu->dev)) {
		free(mem);
		return NULL;
	}
	mem->type = type;
	ok = type == DOCA_GPU_MEM_TYPE_GPU ? alloc_gpu(gpu, mem, size, align)
					   : alloc_host(gpu, mem, size, align);
	dpa_gpu_leave(gpu->dev);
	if (ok)
		return mem;
	free(mem);
	return NULL;
}

void dpa_gpu_mem_free(struct doca_gpu *gpu, struct dpa_gpu_mem *mem)
{
	const struct dpa_cuda *cuda = gpu->dev->cuda;
	const bool entered = !dpa_gpu_enter(gpu->dev);

	if (mem->map) {
		dpa_gpu_unpin(cuda, mem->map, mem->size);
		munmap(mem->map, mem->size);
	} else {
		cuda->mem_free(mem->base);
	}
	if (entered)
		dpa_gpu_leave(gpu->dev);
	free(mem);
}

/* --------------------------------------------------------------- the library's own */

static size_t obj_class(size_t size)
{
	size_t n = 4096;

	while (n < size)
		n <<= 1;
	return n;
}

struct dpa_gpu_mem *dpa_gpu_obj_new(struct doca_gpu *gpu, size_t size)
{
	struct dpa_gpu_mem **p, *mem;
	const size_t n = obj_class(size);

	pthread_mutex_lock(&gpu->lock);
	for (p = &gpu->spare; (mem = *p) && mem->size != n; p = &mem->next)
		;
	if (mem)
		*p = mem->next;
	pthread_mutex_unlock(&gpu->lock);
	return mem ? mem : dpa_gpu_mem_new(gpu, n, 0, DOCA_GPU_MEM_TYPE_GPU);
}

void dpa_gpu_obj_free(struct doca_gpu *gpu, struct dpa_gpu_mem *mem)
{
	pthread_mutex_lock(&gpu->lock);
	mem->next = gpu->spare;
	gpu->spare = mem;
	pthread_mutex_unlock(&gpu->lock);
}

#define PIECE (1u << 30)

int dpa_gpu_write(struct dpa_gpu_dev *dev, uint64_t dst, const void *src, size_t n)
{
	while (n) {
		struct dpa_foreign_copy copy = {.foreign = dst,
						.host = (void *)(uintptr_t)src,
						.length = n < PIECE ? (uint32_t)n : PIECE,
						.flags = DPA_FOREIGN_TO};

		if (dpa_gpu_copies(dev, &copy, 1))
			return EIO;
		dst += copy.length;
		src = (const uint8_t *)src + copy.length;
		n -= copy.length;
	}
	return 0;
}

/* ---------------------------------------------------------------------- the user's */

doca_error_t doca_gpu_mem_alloc(struct doca_gpu *gpu_dev, size_t size, size_t alignment,
				enum doca_gpu_mem_type mtype, void **memptr_gpu, void **memptr_cpu)
{
	struct dpa_gpu_mem *mem;

	if (!dpa_live(gpu_dev) || !size || alignment & (alignment - 1) ||
	    (uint32_t)mtype > DOCA_GPU_MEM_TYPE_CPU_GPU || !memptr_gpu)
		return DOCA_ERROR_INVALID_VALUE;
	if (!alignment)
		alignment = (size_t)getpagesize();
	mem = dpa_gpu_mem_new(gpu_dev, size, alignment, mtype);
	if (!mem)
		return DOCA_ERROR_NO_MEMORY;
	if (mtype == DOCA_GPU_MEM_TYPE_GPU_CPU)
		DPA_LOG(DOCA_LOG_LEVEL_INFO, "memory of type GPU_CPU lies in the host: the CPU has "
					     "no mapping of this GPU's memory");
	pthread_mutex_lock(&gpu_dev->lock);
	mem->next = gpu_dev->mems;
	gpu_dev->mems = mem;
	pthread_mutex_unlock(&gpu_dev->lock);
	*memptr_gpu = (void *)(uintptr_t)mem->gpu;
	if (memptr_cpu)
		*memptr_cpu = mem->map ? *memptr_gpu : NULL;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_mem_free(struct doca_gpu *gpu, void *memptr_gpu)
{
	struct dpa_gpu_mem **p, *mem;

	if (!dpa_live(gpu) || !memptr_gpu)
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gpu->lock);
	for (p = &gpu->mems; (mem = *p) && mem->gpu != (uintptr_t)memptr_gpu; p = &mem->next)
		;
	if (mem)
		*p = mem->next;
	pthread_mutex_unlock(&gpu->lock);
	if (!mem)
		return DOCA_ERROR_INVALID_VALUE;
	dpa_gpu_mem_free(gpu, mem);
	return DOCA_SUCCESS;
}

/*
 * Return whether a dma-buf can be mapped. This adapter cannot use one that cannot; then it uses the
 * pointer.
 */
static bool can_map(int fd)
{
	const size_t page = (size_t)getpagesize();
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return false;
	munmap(p, page);
	return true;
}

doca_error_t doca_gpu_dmabuf_fd(struct doca_gpu *gpu_dev, void *memptr_gpu, size_t size,
				int *dmabuf_fd)
{
	const struct dpa_cuda *cuda;
	CUresult ret;
	int fd = -1;

	if (!dpa_live(gpu_dev) || !memptr_gpu || !size || !dmabuf_fd)
		return DOCA_ERROR_INVALID_VALUE;
	cuda = gpu_dev->dev->cuda;
	if (!cuda->range_handle || dpa_gpu_enter(gpu_dev->dev))
		return DOCA_ERROR_NOT_SUPPORTED;
	ret = cuda->range_handle(&fd, (uintptr_t)memptr_gpu, size,
				 CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
	dpa_gpu_leave(gpu_dev->dev);
	if (ret || fd < 0)
		return DOCA_ERROR_NOT_SUPPORTED;
	if (!can_map(fd)) {
		close(fd);
		return DOCA_ERROR_NOT_SUPPORTED;
	}
	*dmabuf_fd = fd;
	return DOCA_SUCCESS;
}
