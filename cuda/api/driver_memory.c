/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* driver_memory.c - driver API: memory. */
#include <string.h>

#include "../run/copy.h"
#include "../run/memory.h"
#include "../run/stream.h"
#include "driver.h"

static void *as_ptr(CUdeviceptr ptr)
{
	return (void *)(uintptr_t)ptr;
}

DPA_GPU_API CUresult cuMemGetInfo(size_t *avail, size_t *total)
{
	int ret = driver_enter_context();

	if (!ret && (!avail || !total))
		ret = cudaErrorInvalidValue;
	if (!ret)
		memory_info(avail, total);
	return driver_result(ret);
}

static CUresult driver_alloc(enum region_kind kind, void **ptr, size_t size, unsigned int flags)
{
	if (!ptr || !size)
		return driver_result(driver_enter_context() ? driver_enter_context()
							    : (int)cudaErrorInvalidValue);
	DRIVER_CALL(driver_enter_context, memory_alloc(kind, size, flags, ptr));
}

DPA_GPU_API CUresult cuMemAlloc(CUdeviceptr *ptr, size_t size)
{
	void *at = NULL;
	CUresult ret = driver_alloc(REGION_DEVICE, ptr ? &at : NULL, size, 0);

	if (!ret)
		*ptr = (CUdeviceptr)(uintptr_t)at;
	return ret;
}

static int driver_release(void *ptr, bool host)
{
	int ret = ptr ? stream_synchronize_all() : cudaErrorInvalidValue;

	return ret ? ret : memory_free(ptr, host);
}

DPA_GPU_API CUresult cuMemFree(CUdeviceptr ptr)
{
	DRIVER_CALL(driver_enter_context, driver_release(as_ptr(ptr), false));
}

DPA_GPU_API CUresult cuMemHostAlloc(void **ptr, size_t size, unsigned int flags)
{
	if (flags & ~(unsigned int)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
				    CU_MEMHOSTALLOC_WRITECOMBINED))
		return CUDA_ERROR_INVALID_VALUE;
	return driver_alloc(REGION_HOST, ptr, size, flags);
}

DPA_GPU_API CUresult cuMemAllocHost(void **ptr, size_t size)
{
	return cuMemHostAlloc(ptr, size, 0);
}

DPA_GPU_API CUresult cuMemFreeHost(void *ptr)
{
	DRIVER_CALL(driver_enter_context, driver_release(ptr, true));
}

DPA_GPU_API CUresult cuMemHostRegister(void *ptr, size_t size, unsigned int flags)
{
	DRIVER_CALL(driver_enter_context, memory_register(ptr, size, flags));
}

DPA_GPU_API CUresult cuMemHostUnregister(void *ptr)
{
	DRIVER_CALL(driver_enter_context, memory_unregister(ptr));
}

DPA_GPU_API CUresult cuMemHostGetDevicePointer(CUdeviceptr *device, void *host, unsigned int flags)
{
	int ret = driver_enter_context();
	struct region r;

	if (ret)
		return driver_result(ret);
	if (!device || flags || !memory_find(host, &r) ||
	    (r.kind != REGION_HOST && r.kind != REGION_REGISTERED))
		return CUDA_ERROR_INVALID_VALUE;
	*device = (CUdeviceptr)(uintptr_t)host;
	return CUDA_SUCCESS;
}

DPA_GPU_API CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr ptr)
{
	int ret = driver_enter_context();
	struct region r;

	if (ret)
		return driver_result(ret);
	if (!memory_find(as_ptr(ptr), &r))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = (CUdeviceptr)(uintptr_t)r.base;
	if (size)
		*size = r.size;
	return CUDA_SUCCESS;
}

/* No dma-buf of it is possible: CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED is 0. */
DPA_GPU_API CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr ptr, size_t size,
						   CUmemRangeHandleType type,
						   unsigned long long flags)
{
	DRIVER_CALL(driver_enter_context, cudaErrorNotSupported);
}

static CUmemorytype memory_type(const struct region *r)
{
	return r->kind == REGION_HOST || r->kind == REGION_REGISTERED ? CU_MEMORYTYPE_HOST
								      : CU_MEMORYTYPE_DEVICE;
}

static void put_attribute(void *data, const void *value, size_t size)
{
	memcpy(data, value, size);
}

/* Each attribute has its own type: see the table of cuPointerGetAttribute(). */
static int get_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr,
			 const struct region *r)
{
	CUdeviceptr base = (CUdeviceptr)(uintptr_t)r->base;
	unsigned int type = memory_type(r), flags = 3 /* read and write */;
	bool managed = r->kind == REGION_MANAGED;
	CUcontext context = driver_context();
	void *host = as_ptr(ptr);
	unsigned long long id = r->id, none = 0;
	int ordinal = 0;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		put_attribute(data, &context, sizeof(context));
		return cudaSuccess;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		put_attribute(data, &type, sizeof(type));
		return cudaSuccess;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		put_attribute(data, &ptr, sizeof(ptr));
		return cudaSuccess;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (r->kind == REGION_DEVICE)
			return cudaErrorInvalidValue;
		put_attribute(data, &host, sizeof(host));
		return cudaSuccess;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		put_attribute(data, &id, sizeof(id));
		return cudaSuccess;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		put_attribute(data, &managed, 1);
		return cudaSuccess;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		put_attribute(data, &ordinal, sizeof(ordinal));
		return cudaSuccess;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		put_attribute(data, &base, sizeof(base));
		return cudaSuccess;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		put_attribute(data, &r->size, sizeof(r->size));
		return cudaSuccess;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		put_attribute(data, &(bool){true}, 1);
		return cudaSuccess;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		put_attribute(data, &(bool){false}, 1);
		return cudaSuccess;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		put_attribute(data, &none, sizeof(none));
		return cudaSuccess;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		put_attribute(data, &flags, sizeof(flags));
		return cudaSuccess;
	}
	return cudaErrorInvalidValue;
}

DPA_GPU_API CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
					   CUdeviceptr ptr)
{
	int ret = driver_enter();
	struct region r;

	if (!ret && (!data || !memory_find(as_ptr(ptr), &r)))
		ret = cudaErrorInvalidValue;
	return driver_result(ret ? ret : get_attribute(data, attribute, ptr, &r));
}

/* An unknown address gives zeroes, and success, as the reference specifies. */
DPA_GPU_API CUresult cuPointerGetAttributes(unsigned int num, CUpointer_attribute *attributes,
					    void **data, CUdeviceptr ptr)
{
	int ret = driver_enter();
	struct region r;
	bool known;

	if (!ret && (!num || !attributes || !data))
		ret = cudaErrorInvalidValue;
	if (ret)
		return driver_result(ret);
	known = memory_find(as_ptr(ptr), &r);
	if (!known)
		r = (struct region){.kind = REGION_DEVICE};
	for (unsigned int i = 0; i < num && !ret; i++) {
		unsigned long long value = 0;
		CUdeviceptr none = 0;
		int error = get_attribute(&value, attributes[i], known ? ptr : none, &r);

		if (error && attributes[i] != CU_POINTER_ATTRIBUTE_HOST_POINTER)
			return driver_result(error);
		switch (attributes[i]) {
		case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		case CU_POINTER_ATTRIBUTE_MAPPED:
		case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
			put_attribute(data[i], known ? &value : &none, 1);
			break;
		case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
			put_attribute(data[i], known ? &value : &none, 4);
			if (!known && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
				put_attribute(data[i], &(int){-2}, 4);
			break;
		default:
			put_attribute(data[i], known ? &value : &none, 8);
		}
	}
	return CUDA_SUCCESS;
}

/* Copy are synchronous where the reference leaves it open: SYNC_MEMOPS requires no more. */
DPA_GPU_API CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
					   CUdeviceptr ptr)
{
	int ret = driver_enter();
	struct region r;

	if (!ret && (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
		     !memory_find(as_ptr(ptr), &r)))
		ret = cudaErrorInvalidValue;
	return driver_result(ret);
}

static CUresult driver_copy(void *dst, const void *src, size_t size, enum cudaMemcpyKind kind,
			    CUstream stream, bool wait)
{
	DRIVER_CALL(driver_enter_context, copy_submit(dst, src, size, kind, stream, wait));
}

DPA_GPU_API CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	return driver_copy(as_ptr(dst), as_ptr(src), size, cudaMemcpyDefault, NULL, true);
}

DPA_GPU_API CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
	return driver_copy(as_ptr(dst), as_ptr(src), size, cudaMemcpyDefault, stream, false);
}

DPA_GPU_API CUresult cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t size)
{
	return driver_copy(as_ptr(dst), src, size, cudaMemcpyHostToDevice, NULL, true);
}

DPA_GPU_API CUresult cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t size)
{
	return driver_copy(dst, as_ptr(src), size, cudaMemcpyDeviceToHost, NULL, true);
}

DPA_GPU_API CUresult cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	return driver_copy(as_ptr(dst), as_ptr(src), size, cudaMemcpyDeviceToDevice, NULL, true);
}

DPA_GPU_API CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t size,
				       CUstream stream)
{
	return driver_copy(as_ptr(dst), src, size, cudaMemcpyHostToDevice, stream, false);
}

DPA_GPU_API CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
	return driver_copy(dst, as_ptr(src), size, cudaMemcpyDeviceToHost, stream, false);
}

DPA_GPU_API CUresult cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t size,
				       CUstream stream)
{
	return driver_copy(as_ptr(dst), as_ptr(src), size, cudaMemcpyDeviceToDevice, stream, false);
}

/* Attributes are hints and orders of access; each must cover a range of copies, the first one from 0. */
static bool attributes_valid(size_t count, const CUmemcpyAttributes *attrs, const size_t *idxs,
			     size_t num)
{
	if (!attrs || !idxs || !num || num > count || idxs[0])
		return false;
	for (size_t i = 0; i < num; i++) {
		if (attrs[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
		    attrs[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY || attrs[i].flags > 1)
			return false;
		if (i && (idxs[i] <= idxs[i - 1] || idxs[i] >= count))
			return false;
	}
	return true;
}

static bool during_call(const CUmemcpyAttributes *attrs, size_t num)
{
	for (size_t i = 0; i < num; i++)
		if (attrs[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)
			return true;
	return false;
}

DPA_GPU_API CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
					   size_t count, CUmemcpyAttributes *attrs,
					   size_t *attrs_idxs, size_t num_attrs, CUstream stream)
{
	int ret = driver_enter_context();

	if (ret)
		return driver_result(ret);
	/* the default stream accepts no batch */
	if (!count || !stream || stream == CU_STREAM_LEGACY ||
	    !attributes_valid(count, attrs, attrs_idxs, num_attrs))
		return CUDA_ERROR_INVALID_VALUE;
	ret = copy_submit_batch((void *const *)dsts, (const void *const *)srcs, sizes, count,
				stream);
	if (!ret && during_call(attrs, num_attrs))
		ret = stream_synchronize(stream);
	return driver_result(ret);
}

DPA_GPU_API CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
					size_t count, CUmemcpyAttributes *attrs, size_t *attrs_idxs,
					size_t num_attrs, size_t *fail_idx, CUstream stream)
{
	if (fail_idx)
		*fail_idx = SIZE_MAX; /* not of one copy, but of the whole call */
	return cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attrs, attrs_idxs, num_attrs,
				     stream);
}

static CUresult driver_fill(CUdeviceptr ptr, unsigned int value, unsigned int unit, size_t num,
			    CUstream stream, bool wait)
{
	size_t size;

	if (__builtin_mul_overflow(num, (size_t)unit, &size) || ptr % unit)
		return CUDA_ERROR_INVALID_VALUE;
	DRIVER_CALL(driver_enter_context,
		    fill_submit(as_ptr(ptr), value, unit, size, stream, wait));
}

DPA_GPU_API CUresult cuMemsetD8(CUdeviceptr ptr, unsigned char value, size_t num)
{
	return driver_fill(ptr, value, 1, num, NULL, true);
}

DPA_GPU_API CUresult cuMemsetD32(CUdeviceptr ptr, unsigned int value, size_t num)
{
	return driver_fill(ptr, value, 4, num, NULL, true);
}

DPA_GPU_API CUresult cuMemsetD8Async(CUdeviceptr ptr, unsigned char value, size_t num,
				     CUstream stream)
{
	return driver_fill(ptr, value, 1, num, stream, false);
}

DPA_GPU_API CUresult cuMemsetD32Async(CUdeviceptr ptr, unsigned int value, size_t num,
				      CUstream stream)
{
	return driver_fill(ptr, value, 4, num, stream, false);
}
