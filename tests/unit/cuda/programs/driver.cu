// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The driver's API: order of calls, contexts, memory, attributes of pointers, batches, names at run time.
#include <cstring>

#include <cuda.h>

#include "check.h"

#define CU(expected, call)                                                                         \
	do {                                                                                       \
		CUresult got_ = (call);                                                            \
		if (got_ != (expected) && check_failures++ < 20)                                   \
			printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)got_);           \
	} while (0)
#define CU_OK(call) CU(CUDA_SUCCESS, call)

static CUcontext context;

static void test_start(void)
{
	CUdevice device = 7;
	CUcontext now = (CUcontext)1;
	CUdeviceptr ptr;
	int n = 0;

	CU(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&n));
	CU(CUDA_ERROR_INVALID_VALUE, cuInit(1));
	CU_OK(cuInit(0));
	CU_OK(cuDeviceGetCount(&n));
	CHECK(n >= 1);
	CU_OK(cuDeviceGet(&device, 0));
	CU(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, n));
	CU_OK(cuCtxGetCurrent(&now));
	CHECK(!now);
	CU(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&ptr, 64));
	CU_OK(cuDevicePrimaryCtxRetain(&context, device));
	CU_OK(cuCtxPushCurrent(context));
	CU_OK(cuCtxGetCurrent(&now));
	CHECK(now == context);
	CU_OK(cuCtxPopCurrent(&now));
	CHECK(now == context);
	CU(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&now));
	CU_OK(cuCtxSetCurrent(context));
	CU_OK(cuCtxGetDevice(&device));
	CHECK(!device);
}

static void test_address(void)
{
	CUdevice device = 7;
	char address[32];
	int domain = -1, bus = -1, number = -1;
	unsigned int d, b, n;

	CU_OK(cuDeviceGetPCIBusId(address, sizeof(address), 0));
	CHECK(sscanf(address, "%x:%x:%x.0", &d, &b, &n) == 3);
	CU_OK(cuDeviceGetByPCIBusId(&device, address));
	CHECK(!device);
	CU(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, "0000:fe:1f.0"));
	CU_OK(cuDeviceGetAttribute(&domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0));
	CU_OK(cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0));
	CU_OK(cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0));
	CHECK((int)d == domain && (int)b == bus && (int)n == number);
}

static void test_pointers(void)
{
	CUdeviceptr ptr, base = 0, host_device = 0;
	unsigned int type = 0;
	size_t size = 0;
	char *host;
	int fd;

	CU_OK(cuMemAlloc(&ptr, 10000));
	CHECK(ptr % 256 == 0);
	CU_OK(cuMemGetAddressRange(&base, &size, ptr + 9999));
	CHECK(base == ptr && size == 10000);
	CU_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr + 5));
	CHECK(type == CU_MEMORYTYPE_DEVICE);
	CU_OK(cuMemAllocHost((void **)&host, 4096));
	CU_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)host));
	CHECK(type == CU_MEMORYTYPE_HOST);
	CU_OK(cuMemHostGetDevicePointer(&host_device, host, 0));
	CHECK(host_device == (CUdeviceptr)host);
	CU(CUDA_ERROR_INVALID_VALUE,
	   cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&type));
	if (cuMemGetHandleForAddressRange(&fd, ptr, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) !=
	    CUDA_ERROR_NOT_SUPPORTED)
		CHECK(fd >= 0);
	CU(CUDA_ERROR_INVALID_VALUE, cuMemFree(ptr + 1));
	CU_OK(cuMemFree(ptr));
	CU_OK(cuMemFreeHost(host));
}

static void test_attributes(void)
{
	CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
				       CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	unsigned int type = 99;
	size_t size = 99;
	bool managed = true;
	int ordinal = 99;
	void *data[] = {&type, &size, &managed, &ordinal};
	CUdeviceptr ptr;

	CU_OK(cuMemAlloc(&ptr, 777));
	CU_OK(cuPointerGetAttributes(4, names, data, ptr + 3));
	CHECK(type == CU_MEMORYTYPE_DEVICE && size == 777 && !managed && ordinal == 0);
	CU_OK(cuPointerGetAttributes(4, names, data, (CUdeviceptr)&type));
	CHECK(type == 0 && size == 0 && ordinal == -2);
	CU_OK(cuMemFree(ptr));
}

static void test_register(void)
{
	size_t size = 1 << 20;
	char *host = (char *)aligned_alloc(4096, size);
	CUdeviceptr device = 0;

	memset(host, 0, size);
	CU_OK(cuMemHostRegister(host, size, CU_MEMHOSTREGISTER_DEVICEMAP));
	CU(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(host, 4096, 0));
	CU_OK(cuMemHostGetDevicePointer(&device, host, 0));
	CHECK(device == (CUdeviceptr)host);
	CU_OK(cuMemHostUnregister(host));
	CU(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(host));
	free(host);
}

static void test_copies(void)
{
	char out[512], in[512];
	CUdeviceptr a, b;
	CUstream stream;
	CUevent start, end;
	float ms = -1;

	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (char)i;
	CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CU_OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
	CU_OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
	CU_OK(cuMemAlloc(&a, 512));
	CU_OK(cuMemAlloc(&b, 512));
	CU_OK(cuEventRecord(start, stream));
	CU_OK(cuMemcpyHtoDAsync(a, out, 512, stream));
	CU_OK(cuMemcpyDtoDAsync(b, a, 512, stream));
	CU_OK(cuMemcpyDtoHAsync(in, b, 512, stream));
	CU_OK(cuEventRecord(end, stream));
	CU_OK(cuStreamSynchronize(stream));
	CU_OK(cuEventElapsedTime(&ms, start, end));
	CHECK(!memcmp(in, out, 512) && ms >= 0);
	CU_OK(cuMemsetD32(a, 0x01020304, 128));
	CU_OK(cuMemcpyDtoH(in, a, 512));
	CHECK(in[0] == 4 && in[511] == 1);
	CU_OK(cuEventDestroy(start));
	CU(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy((CUevent)&ms));
	CU_OK(cuEventDestroy(end));
	CU_OK(cuStreamDestroy(stream));
	CU_OK(cuMemFree(a));
	CU_OK(cuMemFree(b));
}

/* The signature that CUDA 12.8 has, found by name as a program does that is built against another version. */
static void test_batch(void)
{
	typedef CUresult (*batch_fn)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *,
				     size_t, size_t *, CUstream);
	CUmemcpyAttributes attributes = {};
	CUdeviceptr dst[16], src[16], gpu, host_at;
	size_t sizes[16], first = 0, fail = 0;
	CUdriverProcAddressQueryResult status;
	batch_fn batch = nullptr;
	CUstream stream;
	char *host;

	CU_OK(cuGetProcAddress("cuMemcpyBatchAsync", (void **)&batch, 12080, 0, &status));
	CHECK(batch && status == CU_GET_PROC_ADDRESS_SUCCESS);
	if (!batch)
		return;
	CU_OK(cuMemAllocHost((void **)&host, 8192));
	CU_OK(cuMemAlloc(&gpu, 4096));
	CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	host_at = (CUdeviceptr)host;
	for (int i = 0; i < 4096; i++)
		host[i] = (char)(i * 7);
	memset(host + 4096, 0, 4096);
	attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
	for (int i = 0; i < 16; i++) {
		dst[i] = gpu + 256 * i;
		src[i] = host_at + 256 * (15 - i);
		sizes[i] = 256;
	}
	CU_OK(batch(dst, src, sizes, 16, &attributes, &first, 1, &fail, stream));
	CU_OK(cuMemcpyDtoHAsync(host + 4096, gpu, 4096, stream));
	CU_OK(cuStreamSynchronize(stream));
	for (int i = 0; i < 16; i++)
		CHECK(!memcmp(host + 4096 + 256 * i, host + 256 * (15 - i), 256));
	CU(CUDA_ERROR_INVALID_VALUE, batch(dst, src, sizes, 16, &attributes, &first, 1, &fail, nullptr));
	CU_OK(cuStreamDestroy(stream));
	CU_OK(cuMemFree(gpu));
	CU_OK(cuMemFreeHost(host));
}

static void test_names(void)
{
	CUdriverProcAddressQueryResult status;
	const char *text = nullptr;
	void *fn = nullptr;

	CU_OK(cuGetProcAddress("cuMemcpyBatchAsync", &fn, 12000, 0, &status));
	CHECK(!fn && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	CU_OK(cuGetProcAddress("cuNoSuchFunction", &fn, 12080, 0, &status));
	CHECK(!fn && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CU_OK(cuGetErrorName(CUDA_ERROR_NOT_READY, &text));
	CHECK(!strcmp(text, "CUDA_ERROR_NOT_READY"));
	CU_OK(cuGetErrorString(CUDA_ERROR_NOT_READY, &text));
	CHECK(strlen(text) > 0);
	CU(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &text));
}

int main()
{
	test_start();
	test_address();
	test_pointers();
	test_attributes();
	test_register();
	test_copies();
	test_batch();
	test_names();
	CU_OK(cuDevicePrimaryCtxRelease(0));
	return report();
}
