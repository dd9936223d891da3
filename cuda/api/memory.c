/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* memory.c - runtime API: memory and copies. */
#include "../include/cuda_runtime_api.h"
#include "../run/copy.h"
#include "../run/memory.h"
#include "../run/stream.h"
#include "runtime.h"

static cudaError_t runtime_alloc(enum region_kind kind, void **ptr, size_t size, unsigned int flags)
{
	RUNTIME_CALL(memory_alloc(kind, size, flags, ptr));
}

DPA_GPU_API cudaError_t cudaMalloc(void **ptr, size_t size)
{
	return runtime_alloc(REGION_DEVICE, ptr, size, 0);
}

/* Memory pools: not supported. */
DPA_GPU_API cudaError_t cudaMallocAsync(void **ptr, size_t size, cudaStream_t stream)
{
	return gpu_last(cudaErrorNotSupported);
}

DPA_GPU_API cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream)
{
	return gpu_last(cudaErrorNotSupported);
}

DPA_GPU_API cudaError_t cudaMallocManaged(void **ptr, size_t size, unsigned int flags)
{
	if (!size || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
		return gpu_last(cudaErrorInvalidValue);
	return runtime_alloc(REGION_MANAGED, ptr, size, flags);
}

DPA_GPU_API cudaError_t cudaHostAlloc(void **ptr, size_t size, unsigned int flags)
{
	if (flags & ~(unsigned int)(cudaHostAllocPortable | cudaHostAllocMapped |
				    cudaHostAllocWriteCombined))
		return gpu_last(cudaErrorInvalidValue);
	return runtime_alloc(REGION_HOST, ptr, size, flags);
}

DPA_GPU_API cudaError_t cudaMallocHost(void **ptr, size_t size)
{
	return cudaHostAlloc(ptr, size, cudaHostAllocDefault);
}

DPA_GPU_API cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
	enum { PITCH = 512 };
	size_t line = (width + PITCH - 1) & ~(size_t)(PITCH - 1), size;

	if (!pitch || line < width || __builtin_mul_overflow(line, height, &size))
		return gpu_last(cudaErrorInvalidValue);
	*pitch = line;
	return cudaMalloc(ptr, size);
}

/* Memory that an operation may use is freed after it: cudaFree() waits for the device. */
static cudaError_t runtime_release(void *ptr, bool host)
{
	int ret = gpu_enter();

	if (!ret && ptr)
		ret = stream_synchronize_all();
	return gpu_last(ret ? ret : memory_free(ptr, host));
}

DPA_GPU_API cudaError_t cudaFree(void *ptr)
{
	return runtime_release(ptr, false);
}

DPA_GPU_API cudaError_t cudaFreeHost(void *ptr)
{
	return runtime_release(ptr, true);
}

DPA_GPU_API cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
	RUNTIME_CALL(memory_register(ptr, size, flags));
}

DPA_GPU_API cudaError_t cudaHostUnregister(void *ptr)
{
	RUNTIME_CALL(memory_unregister(ptr));
}

static bool find_host(const void *host, struct region *r)
{
	return memory_find(host, r) && (r->kind == REGION_HOST || r->kind == REGION_REGISTERED);
}

DPA_GPU_API cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
	int ret = gpu_enter();
	struct region r;

	if (ret)
		return gpu_last(ret);
	if (!device || flags || !find_host(host, &r))
		return gpu_last(cudaErrorInvalidValue);
	*device = host;
	return cudaSuccess;
}

DPA_GPU_API cudaError_t cudaHostGetFlags(unsigned int *flags, void *host)
{
	int ret = gpu_enter();
	struct region r;

	if (ret)
		return gpu_last(ret);
	if (!flags || !find_host(host, &r))
		return gpu_last(cudaErrorInvalidValue);
	*flags = r.flags | cudaHostAllocMapped;
	return cudaSuccess;
}

DPA_GPU_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
						 const void *ptr)
{
	int ret = gpu_enter();
	struct region r;

	if (ret || !attributes)
		return gpu_last(ret ? ret : cudaErrorInvalidValue);
	*attributes =
		(struct cudaPointerAttributes){.device = -2, .hostPointer = (void *)(uintptr_t)ptr};
	if (!memory_find(ptr, &r))
		return cudaSuccess;
	attributes->device = 0;
	attributes->devicePointer = (void *)(uintptr_t)ptr;
	attributes->type = r.kind == REGION_DEVICE    ? cudaMemoryTypeDevice
			   : r.kind == REGION_MANAGED ? cudaMemoryTypeManaged
						      : cudaMemoryTypeHost;
	if (r.kind == REGION_DEVICE)
		attributes->hostPointer = NULL;
	return cudaSuccess;
}

DPA_GPU_API cudaError_t cudaMemGetInfo(size_t *avail, size_t *total)
{
	int ret = gpu_enter();

	if (ret || !avail || !total)
		return gpu_last(ret ? ret : cudaErrorInvalidValue);
	memory_info(avail, total);
	return cudaSuccess;
}

static cudaError_t runtime_copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
				cudaStream_t stream, bool wait)
{
	RUNTIME_CALL(copy_submit(dst, src, count, kind, stream, wait));
}

DPA_GPU_API cudaError_t cudaMemcpy(void *dst, const void *src, size_t count,
				   enum cudaMemcpyKind kind)
{
	return runtime_copy(dst, src, count, kind, NULL, true);
}

DPA_GPU_API cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count,
					enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return runtime_copy(dst, src, count, kind, stream, false);
}

DPA_GPU_API cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
				     size_t width, size_t height, enum cudaMemcpyKind kind)
{
	cudaError_t ret = cudaSuccess;

	if (width > dpitch || width > spitch)
		return gpu_last(cudaErrorInvalidPitchValue);
	for (size_t i = 0; i < height && !ret; i++)
		ret = cudaMemcpy((char *)dst + i * dpitch, (const char *)src + i * spitch, width,
				 kind);
	return ret;
}

static cudaError_t runtime_fill(void *ptr, int value, size_t count, cudaStream_t stream, bool wait)
{
	RUNTIME_CALL(fill_submit(ptr, (unsigned char)value, 1, count, stream, wait));
}

DPA_GPU_API cudaError_t cudaMemset(void *ptr, int value, size_t count)
{
	return runtime_fill(ptr, value, count, NULL, true);
}

DPA_GPU_API cudaError_t cudaMemsetAsync(void *ptr, int value, size_t count, cudaStream_t stream)
{
	return runtime_fill(ptr, value, count, stream, false);
}

/*
 * Variables of the device are variables of the process: the copy is one between addresses of the
 * host. It blocks even where it may be asynchronous.
 */
static cudaError_t copy_symbol(void *dst, const void *src, size_t count, bool to,
			       enum cudaMemcpyKind kind, cudaStream_t stream)
{
	enum cudaMemcpyKind other = to ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;

	if (kind != other && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
		return gpu_last(cudaErrorInvalidMemcpyDirection);
	return runtime_copy(dst, src, count, cudaMemcpyDefault, stream, true);
}

DPA_GPU_API cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count,
					   size_t offset, enum cudaMemcpyKind kind)
{
	return copy_symbol((char *)(uintptr_t)symbol + offset, src, count, true, kind, NULL);
}

DPA_GPU_API cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count,
					     size_t offset, enum cudaMemcpyKind kind)
{
	return copy_symbol(dst, (const char *)symbol + offset, count, false, kind, NULL);
}

DPA_GPU_API cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
						size_t offset, enum cudaMemcpyKind kind,
						cudaStream_t stream)
{
	return copy_symbol((char *)(uintptr_t)symbol + offset, src, count, true, kind, stream);
}

DPA_GPU_API cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count,
						  size_t offset, enum cudaMemcpyKind kind,
						  cudaStream_t stream)
{
	return copy_symbol(dst, (const char *)symbol + offset, count, false, kind, stream);
}

DPA_GPU_API cudaError_t cudaGetSymbolAddress(void **ptr, const void *symbol)
{
	int ret = gpu_enter();

	if (ret || !ptr || !symbol)
		return gpu_last(ret ? ret : cudaErrorInvalidValue);
	*ptr = (void *)(uintptr_t)symbol;
	return cudaSuccess;
}
