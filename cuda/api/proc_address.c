/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* proc_address.c - driver API: functions by name. */
#include <string.h>

#include "driver.h"

/*
 * The function of a name from that version on; of several entries the last one whose version is
 * reached.
 */
#define PLAIN(name)                                                                                \
	{                                                                                          \
#name, (void *)name, 2000                                                          \
	}
static const struct {
	const char *name;
	void *function;
	int since;
} functions[] = {
	PLAIN(cuCtxGetCurrent),
	PLAIN(cuCtxGetDevice),
	{"cuCtxPopCurrent", (void *)cuCtxPopCurrent, 4000},
	{"cuCtxPushCurrent", (void *)cuCtxPushCurrent, 4000},
	PLAIN(cuCtxSetCurrent),
	PLAIN(cuCtxSynchronize),
	PLAIN(cuDeviceGet),
	PLAIN(cuDeviceGetAttribute),
	PLAIN(cuDeviceGetByPCIBusId),
	PLAIN(cuDeviceGetCount),
	PLAIN(cuDeviceGetName),
	PLAIN(cuDeviceGetPCIBusId),
	{"cuDeviceGetUuid", (void *)cuDeviceGetUuid, 11040},
	PLAIN(cuDevicePrimaryCtxGetState),
	{"cuDevicePrimaryCtxRelease", (void *)cuDevicePrimaryCtxRelease, 7000},
	PLAIN(cuDevicePrimaryCtxRetain),
	{"cuDeviceTotalMem", (void *)cuDeviceTotalMem, 3020},
	PLAIN(cuDriverGetVersion),
	PLAIN(cuEventCreate),
	{"cuEventDestroy", (void *)cuEventDestroy, 4000},
	PLAIN(cuEventElapsedTime),
	PLAIN(cuEventQuery),
	PLAIN(cuEventRecord),
	PLAIN(cuEventSynchronize),
	PLAIN(cuGetErrorName),
	PLAIN(cuGetErrorString),
	{"cuGetProcAddress", (void *)cuGetProcAddress, 12000},
	PLAIN(cuInit),
	PLAIN(cuLaunchHostFunc),
	{"cuMemAlloc", (void *)cuMemAlloc, 3020},
	{"cuMemAllocHost", (void *)cuMemAllocHost, 3020},
	{"cuMemFree", (void *)cuMemFree, 3020},
	PLAIN(cuMemFreeHost),
	{"cuMemGetAddressRange", (void *)cuMemGetAddressRange, 3020},
	{"cuMemGetHandleForAddressRange", (void *)cuMemGetHandleForAddressRange, 11070},
	{"cuMemGetInfo", (void *)cuMemGetInfo, 3020},
	PLAIN(cuMemHostAlloc),
	{"cuMemHostGetDevicePointer", (void *)cuMemHostGetDevicePointer, 3020},
	{"cuMemHostRegister", (void *)cuMemHostRegister, 6050},
	PLAIN(cuMemHostUnregister),
	PLAIN(cuMemcpy),
	PLAIN(cuMemcpyAsync),
	{"cuMemcpyBatchAsync", (void *)cuMemcpyBatchAsync, 12080},
	{"cuMemcpyBatchAsync", (void *)cuMemcpyBatchAsync_v2, 13000},
	{"cuMemcpyDtoD", (void *)cuMemcpyDtoD, 3020},
	{"cuMemcpyDtoDAsync", (void *)cuMemcpyDtoDAsync, 3020},
	{"cuMemcpyDtoH", (void *)cuMemcpyDtoH, 3020},
	{"cuMemcpyDtoHAsync", (void *)cuMemcpyDtoHAsync, 3020},
	{"cuMemcpyHtoD", (void *)cuMemcpyHtoD, 3020},
	{"cuMemcpyHtoDAsync", (void *)cuMemcpyHtoDAsync, 3020},
	{"cuMemsetD32", (void *)cuMemsetD32, 3020},
	PLAIN(cuMemsetD32Async),
	{"cuMemsetD8", (void *)cuMemsetD8, 3020},
	PLAIN(cuMemsetD8Async),
	PLAIN(cuPointerGetAttribute),
	PLAIN(cuPointerGetAttributes),
	PLAIN(cuPointerSetAttribute),
	PLAIN(cuStreamCreate),
	PLAIN(cuStreamCreateWithPriority),
	{"cuStreamDestroy", (void *)cuStreamDestroy, 4000},
	PLAIN(cuStreamQuery),
	PLAIN(cuStreamSynchronize),
	PLAIN(cuStreamWaitEvent),
};

DPA_GPU_API CUresult cuGetProcAddress(const char *symbol, void **pfn, int cuda_version,
				      cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

	if (!symbol || !pfn || (flags & ~3ull))
		return CUDA_ERROR_INVALID_VALUE;
	*pfn = NULL;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		if (strcmp(functions[i].name, symbol))
			continue;
		if (functions[i].since <= cuda_version) {
			*pfn = functions[i].function;
			found = CU_GET_PROC_ADDRESS_SUCCESS;
		} else if (!*pfn) {
			found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		}
	}
	/* with a status the call itself succeeds */
	if (status)
		*status = found;
	return *pfn || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

#undef cuGetProcAddress
DPA_GPU_API CUresult cuGetProcAddress(const char *symbol, void **pfn, int cuda_version,
				      cuuint64_t flags);
DPA_GPU_API CUresult cuGetProcAddress(const char *symbol, void **pfn, int cuda_version,
				      cuuint64_t flags)
{
	return cuGetProcAddress_v2(symbol, pfn, cuda_version, flags, NULL);
}
