/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* device.c - runtime API: the device. */
#include <stdio.h>
#include <string.h>

#include "../include/cuda_runtime_api.h"
#include "../run/fiber.h"
#include "../run/memory.h"
#include "../run/stream.h"
#include "device.h"
#include "runtime.h"

/* Check arguments: `bad` is true if they are wrong. */
static int check_device_args(bool bad, int device)
{
	int ret = gpu_enter();

	if (ret)
		return ret;
	if (bad)
		return cudaErrorInvalidValue;
	return device ? cudaErrorInvalidDevice : cudaSuccess;
}

DPA_GPU_API cudaError_t cudaGetDeviceCount(int *count)
{
	int ret = check_device_args(!count, 0);

	if (!ret)
		*count = 1;
	return gpu_last(ret);
}

DPA_GPU_API cudaError_t cudaGetDevice(int *device)
{
	int ret = check_device_args(!device, 0);

	if (!ret)
		*device = 0;
	return gpu_last(ret);
}

DPA_GPU_API cudaError_t cudaSetDevice(int device)
{
	return gpu_last(check_device_args(false, device));
}

static int device_attribute(int number)
{
	int value = 0;

	gpu_attribute(number, &value);
	return value;
}

const char *device_name(void)
{
	return "dpa CUDA stand-in (no GPU)";
}

static void fill_prop_limits(struct cudaDeviceProp *p)
{
	size_t unused;

	memory_info(&unused, &p->totalGlobalMem);
	p->sharedMemPerBlock = DPA_GPU_SHARED;
	p->sharedMemPerBlockOptin = p->sharedMemPerMultiprocessor = DPA_GPU_SHARED_OPTIN;
	p->regsPerBlock = device_attribute(12);
	p->warpSize = DPA_GPU_WARP;
	p->memPitch = 0x7fffffff;
	p->maxThreadsPerBlock = DPA_GPU_BLOCK_THREADS;
	for (int i = 0; i < 3; i++) {
		p->maxThreadsDim[i] = device_attribute(2 + i);
		p->maxGridSize[i] = device_attribute(5 + i);
	}
	p->totalConstMem = 65536;
	p->multiProcessorCount = DPA_GPU_SMS;
	p->maxThreadsPerMultiProcessor = DPA_GPU_SM_THREADS;
	p->maxBlocksPerMultiProcessor = DPA_GPU_SM_BLOCKS;
}

static void fill_prop(struct cudaDeviceProp *p)
{
	struct gpu_pci pci = gpu_pci();

	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "%s", device_name());
	device_uuid(p->uuid.bytes);
	fill_prop_limits(p);
	p->clockRate = device_attribute(13);
	p->major = DPA_GPU_MAJOR;
	p->minor = DPA_GPU_MINOR;
	p->textureAlignment = 512;
	p->deviceOverlap = 1;
	p->canMapHostMemory = 1;
	p->concurrentKernels = 1;
	p->pciBusID = (int)pci.bus;
	p->pciDeviceID = (int)pci.device;
	p->pciDomainID = (int)pci.domain;
	p->asyncEngineCount = device_attribute(40);
	p->unifiedAddressing = 1;
	p->memoryClockRate = device_attribute(36);
	p->memoryBusWidth = device_attribute(37);
	p->l2CacheSize = device_attribute(38);
	p->managedMemory = 1;
	p->hostNativeAtomicSupported = 1;
	p->concurrentManagedAccess = 1;
	p->canUseHostPointerForRegisteredMem = 1;
}

DPA_GPU_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	int ret = check_device_args(!prop, device);

	if (!ret)
		fill_prop(prop);
	return gpu_last(ret);
}

void device_uuid(char bytes[16])
{
	struct gpu_pci pci = gpu_pci();

	memcpy(bytes, "dpa-cuda", 8);
	memset(bytes + 8, 0, 8);
	bytes[8] = (char)(pci.domain >> 8);
	bytes[9] = (char)pci.domain;
	bytes[10] = (char)pci.bus;
	bytes[11] = (char)pci.device;
}

DPA_GPU_API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
	int ret = check_device_args(!value, device);

	if (!ret && !gpu_attribute((int)attr, value))
		ret = cudaErrorInvalidValue;
	return gpu_last(ret);
}

DPA_GPU_API cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pci_bus_id)
{
	int ret = check_device_args(!device || !pci_bus_id, 0);

	if (!ret && !gpu_pci_is(pci_bus_id))
		ret = cudaErrorInvalidDevice;
	if (!ret)
		*device = 0;
	return gpu_last(ret);
}

DPA_GPU_API cudaError_t cudaDeviceGetPCIBusId(char *pci_bus_id, int len, int device)
{
	int ret = check_device_args(!pci_bus_id || len < 13, device);
	struct gpu_pci pci = gpu_pci();

	if (!ret)
		snprintf(pci_bus_id, (size_t)len, "%04x:%02x:%02x.0", pci.domain, pci.bus,
			 pci.device);
	return gpu_last(ret);
}

DPA_GPU_API cudaError_t cudaDeviceSynchronize(void)
{
	RUNTIME_CALL(stream_synchronize_all());
}

DPA_GPU_API cudaError_t cudaDeviceReset(void)
{
	int ret = gpu_start();

	if (ret)
		return gpu_last(ret);
	stream_synchronize_all();
	memory_reset();
	atomic_store_explicit(&gpu.sticky, 0, memory_order_release);
	gpu_take_last(true);
	return cudaSuccess;
}

static unsigned int flags_set;

DPA_GPU_API cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	int ret = check_device_args((flags & ~0x1fu) != 0, 0);

	if (!ret)
		__atomic_store_n(&flags_set, flags, __ATOMIC_RELAXED);
	return gpu_last(ret);
}

DPA_GPU_API cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
	int ret = check_device_args(!flags, 0);

	if (!ret)
		*flags = __atomic_load_n(&flags_set, __ATOMIC_RELAXED) | cudaDeviceMapHost;
	return gpu_last(ret);
}

DPA_GPU_API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	int ret = gpu_enter();

	/* Both 0: the device has no priorities. */
	if (!ret && least)
		*least = 0;
	if (!ret && greatest)
		*greatest = 0;
	return gpu_last(ret);
}

DPA_GPU_API cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	int ret = check_device_args(!value, 0);

	if (!ret && limit != cudaLimitStackSize)
		ret = cudaErrorNotSupported;
	if (!ret)
		stack_set_size(value);
	return gpu_last(ret);
}

DPA_GPU_API cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
	int ret = check_device_args(!value, 0);

	if (!ret && limit != cudaLimitStackSize)
		ret = cudaErrorNotSupported;
	if (!ret)
		*value = stack_size();
	return gpu_last(ret);
}

DPA_GPU_API cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	int ret = check_device_args(!can, device ? device : peer);

	if (!ret)
		*can = 0;
	return gpu_last(ret);
}

DPA_GPU_API cudaError_t cudaDriverGetVersion(int *version)
{
	if (!version)
		return gpu_last(cudaErrorInvalidValue);
	*version = DPA_GPU_VERSION;
	return cudaSuccess;
}

DPA_GPU_API cudaError_t cudaRuntimeGetVersion(int *version)
{
	return cudaDriverGetVersion(version);
}

DPA_GPU_API cudaError_t cudaProfilerStart(void)
{
	return gpu_last(cudaErrorNotSupported);
}

DPA_GPU_API cudaError_t cudaProfilerStop(void)
{
	return gpu_last(cudaErrorNotSupported);
}
