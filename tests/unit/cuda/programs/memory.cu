// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Kinds of memory and what is said of pointers; the device's properties.
#include <cstring>

#include "check.h"

__global__ void add_one(int *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i]++;
}

static cudaMemoryType type_of(const void *p)
{
	cudaPointerAttributes a;

	OK(cudaPointerGetAttributes(&a, p));
	return a.type;
}

static void test_kinds(void)
{
	enum { N = 5000 };
	int *device, *host, *managed, *registered, *mapped, local;

	OK(cudaMalloc(&device, N * sizeof(int)));
	OK(cudaMallocHost(&host, N * sizeof(int)));
	OK(cudaMallocManaged(&managed, N * sizeof(int)));
	registered = (int *)aligned_alloc(4096, 8 * 4096);
	OK(cudaHostRegister(registered, N * sizeof(int), cudaHostRegisterMapped));
	CHECK(type_of(device) == cudaMemoryTypeDevice && type_of(host) == cudaMemoryTypeHost);
	CHECK(type_of(managed) == cudaMemoryTypeManaged && type_of(registered) == cudaMemoryTypeHost);
	CHECK(type_of(&local) == cudaMemoryTypeUnregistered);
	OK(cudaHostGetDevicePointer(&mapped, registered, 0));
	for (int i = 0; i < N; i++)
		host[i] = registered[i] = managed[i] = i;
	OK(cudaMemcpy(device, host, N * sizeof(int), cudaMemcpyHostToDevice));
	add_one<<<(N + 255) / 256, 256>>>(device, N);
	add_one<<<(N + 255) / 256, 256>>>(mapped, N);
	add_one<<<(N + 255) / 256, 256>>>(managed, N);
	OK(cudaMemcpy(host, device, N * sizeof(int), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++)
		CHECK(host[i] == i + 1 && registered[i] == i + 1 && managed[i] == i + 1);
	OK(cudaMemset(device, 0x11, N * sizeof(int)));
	OK(cudaMemcpy(host, device + 1, 4, cudaMemcpyDeviceToHost));
	CHECK(host[0] == 0x11111111);
	OK(cudaHostUnregister(registered));
	GIVES(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(registered));
	cudaGetLastError();
	free(registered);
	OK(cudaFree(device));
	OK(cudaFreeHost(host));
	OK(cudaFree(managed));
}

// Free memory can be had again; what is left is told.
static void test_many(void)
{
	enum { N = 200 };
	char *p[N];
	size_t before, after, total;

	OK(cudaMemGetInfo(&before, &total));
	CHECK(before <= total && total > 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N; i++) {
			OK(cudaMalloc(&p[i], 1 + 37 * i * (round + 1)));
			CHECK((size_t)p[i] % 256 == 0);
		}
		for (int i = 0; i < N; i += 2)
			OK(cudaFree(p[i]));
		for (int i = 0; i < N; i += 2)
			OK(cudaMalloc(&p[i], 5000));
		for (int i = 0; i < N; i++)
			OK(cudaFree(p[i]));
	}
	OK(cudaMemGetInfo(&after, &total));
#ifdef __DPA_NVCC__
	CHECK(before == after);
#endif
	GIVES(cudaErrorMemoryAllocation, cudaMalloc(&p[0], total + 1));
	cudaGetLastError();
	GIVES(cudaErrorMemoryAllocation, cudaMalloc(&p[0], ~(size_t)0 - 100));
	cudaGetLastError();
}

static void test_device(void)
{
	cudaDeviceProp prop;
	int count = 0, value = 0, device = 9;
	char address[32];

	OK(cudaGetDeviceCount(&count));
	CHECK(count >= 1);
	OK(cudaGetDeviceProperties(&prop, 0));
	CHECK(prop.warpSize == 32 && prop.maxThreadsPerBlock >= 1024 && prop.major >= 7 && strlen(prop.name) > 0);
	OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
	CHECK(value == prop.multiProcessorCount);
	OK(cudaDeviceGetPCIBusId(address, sizeof(address), 0));
	OK(cudaDeviceGetByPCIBusId(&device, address));
	CHECK(device == 0);
	OK(cudaSetDevice(0));
	OK(cudaGetDevice(&device));
	CHECK(device == 0);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, add_one, 256, 0));
	CHECK(value >= 1);
	CHECK(!strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"));
	CHECK(strlen(cudaGetErrorString(cudaErrorIllegalAddress)) > 0);
}

int main()
{
	test_device();
	test_kinds();
	test_many();
	OK(cudaDeviceReset());
	test_kinds();
	return report();
}
