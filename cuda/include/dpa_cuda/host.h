/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* host.h - the runtime API's functions with types (C++). */
#ifndef DPA_CUDA_HOST_H
#define DPA_CUDA_HOST_H

#include <utility>

#include "../cuda_runtime_api.h"

template <class T> inline cudaError_t cudaMalloc(T **ptr, size_t size)
{
	return ::cudaMalloc(reinterpret_cast<void **>(ptr), size);
}

template <class T>
inline cudaError_t cudaMallocManaged(T **ptr, size_t size, unsigned int flags = cudaMemAttachGlobal)
{
	return ::cudaMallocManaged(reinterpret_cast<void **>(ptr), size, flags);
}

template <class T> inline cudaError_t cudaMallocHost(T **ptr, size_t size, unsigned int flags = 0)
{
	return ::cudaHostAlloc(reinterpret_cast<void **>(ptr), size, flags);
}

template <class T> inline cudaError_t cudaHostAlloc(T **ptr, size_t size, unsigned int flags)
{
	return ::cudaHostAlloc(reinterpret_cast<void **>(ptr), size, flags);
}

template <class T>
inline cudaError_t cudaMallocPitch(T **ptr, size_t *pitch, size_t width, size_t height)
{
	return ::cudaMallocPitch(reinterpret_cast<void **>(ptr), pitch, width, height);
}

template <class T> inline cudaError_t cudaMallocAsync(T **ptr, size_t size, cudaStream_t stream)
{
	return ::cudaMallocAsync(reinterpret_cast<void **>(ptr), size, stream);
}

template <class T>
inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned int flags)
{
	return ::cudaHostGetDevicePointer(reinterpret_cast<void **>(device), host, flags);
}

inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags)
{
	return ::cudaEventCreateWithFlags(event, flags);
}

/* A symbol of the device is a variable of the process. */
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *src, size_t count,
				      size_t offset = 0,
				      cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
	return ::cudaMemcpyToSymbol(reinterpret_cast<const void *>(&symbol), src, count, offset,
				    kind);
}

template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t count, size_t offset = 0,
					cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
	return ::cudaMemcpyFromSymbol(dst, reinterpret_cast<const void *>(&symbol), count, offset,
				      kind);
}

template <class T>
inline cudaError_t
cudaMemcpyToSymbolAsync(const T &symbol, const void *src, size_t count, size_t offset = 0,
			cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0)
{
	return ::cudaMemcpyToSymbolAsync(reinterpret_cast<const void *>(&symbol), src, count,
					 offset, kind, stream);
}

template <class T>
inline cudaError_t
cudaMemcpyFromSymbolAsync(void *dst, const T &symbol, size_t count, size_t offset = 0,
			  cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = 0)
{
	return ::cudaMemcpyFromSymbolAsync(dst, reinterpret_cast<const void *>(&symbol), count,
					   offset, kind, stream);
}

template <class T> inline cudaError_t cudaGetSymbolAddress(void **ptr, const T &symbol)
{
	return ::cudaGetSymbolAddress(ptr, reinterpret_cast<const void *>(&symbol));
}

template <class T> inline cudaError_t cudaGetSymbolSize(size_t *size, const T &)
{
	*size = sizeof(T);
	return cudaSuccess;
}

template <class R, class... P> inline const void *dpa_cuda_func(R (*func)(P...))
{
	return reinterpret_cast<const void *>(func);
}

template <class... P>
inline cudaError_t cudaFuncSetAttribute(void (*func)(P...), cudaFuncAttribute attr, int value)
{
	return ::cudaFuncSetAttribute(dpa_cuda_func(func), attr, value);
}

template <class... P>
inline cudaError_t cudaFuncSetCacheConfig(void (*func)(P...), cudaFuncCache config)
{
	return ::cudaFuncSetCacheConfig(dpa_cuda_func(func), config);
}

template <class... P>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*func)(P...),
								 int block_size, size_t shared_mem)
{
	return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, dpa_cuda_func(func),
							       block_size, shared_mem);
}

/* The largest block is the best one: each has a thread of the operating system. */
template <class... P>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *min_grid, int *block_size,
						      void (*)(P...), size_t = 0, int limit = 0)
{
	int sms = 0, max = 0;
	cudaError_t ret = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);

	if (ret == cudaSuccess)
		ret = cudaDeviceGetAttribute(&max, cudaDevAttrMaxThreadsPerBlock, 0);
	if (ret == cudaSuccess) {
		*block_size = limit > 0 && limit < max ? limit : max;
		*min_grid = sms;
	}
	return ret;
}

#endif
