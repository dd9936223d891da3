/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* driver.c - driver API: start, device, contexts. */
#include <stdio.h>

#include "../run/memory.h"
#include "../run/stream.h"
#include "device.h"
#include "driver.h"
#include "errors.h"

struct CUctx_st {
	_Atomic unsigned int retained;
};
static struct CUctx_st primary;
static _Atomic bool initialized;

enum { DEPTH = 16 };
/* The contexts of the calling thread; NULL counts as a context that was set. */
static __thread struct {
	CUcontext context[DEPTH];
	unsigned int num;
} stack;

CUresult driver_result(int error)
{
	return (CUresult)error_driver(error);
}

CUcontext driver_context(void)
{
	return &primary;
}

int driver_enter(void)
{
	int ret = gpu_enter_driver();

	if (ret)
		return ret;
	return atomic_load(&initialized) || gpu_used() ? cudaSuccess : cudaErrorInitializationError;
}

static CUcontext current_context(void)
{
	if (stack.num)
		return stack.context[stack.num - 1];
	/* The first call of the runtime API makes the primary context current. */
	return gpu_used_by_thread() ? &primary : NULL;
}

int driver_enter_context(void)
{
	int ret = driver_enter();

	return ret ? ret : current_context() ? cudaSuccess : cudaErrorDeviceUninitialized;
}

DPA_GPU_API CUresult cuInit(unsigned int flags)
{
	int ret = gpu_start();

	if (ret)
		return driver_result(ret);
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	atomic_store(&initialized, true);
	return CUDA_SUCCESS;
}

DPA_GPU_API CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = DPA_GPU_VERSION;
	return CUDA_SUCCESS;
}

static CUresult give_text(const char *found, const char **text)
{
	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = found;
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DPA_GPU_API CUresult cuGetErrorName(CUresult error, const char **text)
{
	return give_text(error_driver_name((int)error), text);
}

DPA_GPU_API CUresult cuGetErrorString(CUresult error, const char **text)
{
	return give_text(error_driver_name((int)error) ? error_text((int)error) : NULL, text);
}

static int check_driver_args(bool bad, CUdevice device)
{
	int ret = driver_enter();

	if (ret)
		return ret;
	if (bad)
		return cudaErrorInvalidValue;
	return device ? cudaErrorInvalidDevice : cudaSuccess;
}

DPA_GPU_API CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	int ret = check_driver_args(!device, ordinal);

	if (!ret)
		*device = 0;
	return driver_result(ret);
}

DPA_GPU_API CUresult cuDeviceGetCount(int *count)
{
	int ret = check_driver_args(!count, 0);

	if (!ret)
		*count = 1;
	return driver_result(ret);
}

DPA_GPU_API CUresult cuDeviceGetName(char *name, int len, CUdevice device)
{
	int ret = check_driver_args(!name || len < 1, device);

	if (!ret)
		snprintf(name, (size_t)len, "%s", device_name());
	return driver_result(ret);
}

DPA_GPU_API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	int ret = check_driver_args(!uuid, device);

	if (!ret)
		device_uuid(uuid->bytes);
	return driver_result(ret);
}

DPA_GPU_API CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
	int ret = check_driver_args(!bytes, device);
	size_t avail;

	if (!ret)
		memory_info(&avail, bytes);
	return driver_result(ret);
}

DPA_GPU_API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	int ret = check_driver_args(!value, device);

	if (!ret && !gpu_attribute((int)attribute, value))
		ret = cudaErrorInvalidValue;
	return driver_result(ret);
}

DPA_GPU_API CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *pci_bus_id)
{
	int ret = check_driver_args(!device || !pci_bus_id, 0);

	if (!ret && !gpu_pci_is(pci_bus_id))
		ret = cudaErrorInvalidDevice;
	if (!ret)
		*device = 0;
	return driver_result(ret);
}

DPA_GPU_API CUresult cuDeviceGetPCIBusId(char *pci_bus_id, int len, CUdevice device)
{
	int ret = check_driver_args(!pci_bus_id || len < 13, device);
	struct gpu_pci pci = gpu_pci();

	if (!ret)
		snprintf(pci_bus_id, (size_t)len, "%04x:%02x:%02x.0", pci.domain, pci.bus,
			 pci.device);
	return driver_result(ret);
}

DPA_GPU_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	int ret = check_driver_args(!context, device);

	if (!ret) {
		atomic_fetch_add(&primary.retained, 1);
		*context = &primary;
	}
	return driver_result(ret);
}

DPA_GPU_API CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
	int ret = check_driver_args(false, device);
	unsigned int num = atomic_load(&primary.retained);

	while (!ret && !(num && atomic_compare_exchange_weak(&primary.retained, &num, num - 1)))
		if (!num)
			ret = cudaErrorDeviceUninitialized;
	return driver_result(ret);
}

#undef cuDevicePrimaryCtxRelease
DPA_GPU_API CUresult cuDevicePrimaryCtxRelease(CUdevice device);
DPA_GPU_API CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
	return cuDevicePrimaryCtxRelease_v2(device);
}

DPA_GPU_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
	int ret = check_driver_args(!flags || !active, device);

	if (!ret) {
		*flags = 0;
		*active = atomic_load(&primary.retained) || gpu_used();
	}
	return driver_result(ret);
}

DPA_GPU_API CUresult cuCtxGetCurrent(CUcontext *context)
{
	int ret = check_driver_args(!context, 0);

	if (!ret)
		*context = current_context();
	return driver_result(ret);
}

static int push_context(CUcontext context)
{
	if (context && context != &primary)
		return cudaErrorDeviceUninitialized;
	if (stack.num == DEPTH)
		return cudaErrorMemoryAllocation;
	stack.context[stack.num++] = context;
	return cudaSuccess;
}

DPA_GPU_API CUresult cuCtxSetCurrent(CUcontext context)
{
	int ret = check_driver_args(false, 0);

	if (ret)
		return driver_result(ret);
	if (context && context != &primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!stack.num)
		return driver_result(push_context(context));
	stack.context[stack.num - 1] = context;
	return CUDA_SUCCESS;
}

DPA_GPU_API CUresult cuCtxPushCurrent(CUcontext context)
{
	int ret = check_driver_args(!context, 0);

	return driver_result(ret ? ret : push_context(context));
}

DPA_GPU_API CUresult cuCtxPopCurrent(CUcontext *context)
{
	int ret = driver_enter_context();

	if (ret)
		return driver_result(ret);
	if (context)
		*context = current_context();
	if (stack.num)
		stack.num--;
	else
		push_context(NULL); /* of the runtime API: no context is current now */
	return CUDA_SUCCESS;
}

DPA_GPU_API CUresult cuCtxGetDevice(CUdevice *device)
{
	int ret = driver_enter_context();

	if (!ret && !device)
		ret = cudaErrorInvalidValue;
	if (!ret)
		*device = 0;
	return driver_result(ret);
}

DPA_GPU_API CUresult cuCtxSynchronize(void)
{
	DRIVER_CALL(driver_enter_context, stream_synchronize_all());
}
