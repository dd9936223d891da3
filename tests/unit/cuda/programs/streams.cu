// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Order of operations: in a stream, between streams and the default stream, by events; functions of the host.
#include <cstring>
#include <pthread.h>

#include "check.h"

__global__ void append(int *log, int what)
{
	log[1 + atomicAdd(log, 1)] = what;
}

__global__ void wait_for(volatile int *word, int value)
{
	while (*word != value)
		;
}

static volatile int *word; // of the host, seen by kernels
static int *log_;

static void begin(void)
{
	*word = 0;
	memset(log_, 0, 64 * sizeof(int));
}

// A stream that does not block runs while the default stream waits.
static void test_non_blocking(void)
{
	cudaStream_t stream;

	begin();
	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	wait_for<<<1, 1>>>(word, 1);
	append<<<1, 1>>>(log_, 1);
	append<<<1, 1, 0, stream>>>(log_, 2);
	OK(cudaStreamSynchronize(stream));
	CHECK(log_[0] == 1 && log_[1] == 2);
	GIVES(cudaErrorNotReady, cudaStreamQuery(0));
	*word = 1;
	OK(cudaStreamSynchronize(0));
	OK(cudaStreamQuery(0));
	CHECK(log_[0] == 2 && log_[2] == 1);
	OK(cudaStreamDestroy(stream));
}

// Blocking streams and the default stream wait for each other.
static void test_legacy(void)
{
	cudaStream_t a, b;

	begin();
	OK(cudaStreamCreate(&a));
	OK(cudaStreamCreate(&b));
	wait_for<<<1, 1, 0, a>>>(word, 1);
	append<<<1, 1, 0, a>>>(log_, 1);
	append<<<1, 1>>>(log_, 2);
	append<<<1, 1, 0, b>>>(log_, 3);
	GIVES(cudaErrorNotReady, cudaStreamQuery(b));
	CHECK(*(volatile int *)log_ == 0);
	*word = 1;
	OK(cudaDeviceSynchronize());
	CHECK(log_[0] == 3 && log_[1] == 1 && log_[2] == 2 && log_[3] == 3);
	OK(cudaStreamDestroy(a));
	OK(cudaStreamDestroy(b));
}

static void test_events(void)
{
	cudaStream_t a, b;
	cudaEvent_t go, untimed;
	float ms = 0;

	begin();
	OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	OK(cudaEventCreate(&go));
	OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
	OK(cudaEventQuery(go)); // not recorded: done
	wait_for<<<1, 1, 0, a>>>(word, 1);
	append<<<1, 1, 0, a>>>(log_, 1);
	OK(cudaEventRecord(go, a));
	OK(cudaStreamWaitEvent(b, go, 0));
	append<<<1, 1, 0, b>>>(log_, 2);
	OK(cudaEventRecord(untimed, b));
	GIVES(cudaErrorNotReady, cudaEventQuery(go));
	GIVES(cudaErrorNotReady, cudaEventQuery(untimed));
	*word = 1;
	OK(cudaEventSynchronize(untimed));
	OK(cudaEventQuery(go));
	CHECK(log_[0] == 2 && log_[1] == 1 && log_[2] == 2);
	GIVES(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, go, untimed));
	cudaGetLastError();
	OK(cudaEventDestroy(go));
	OK(cudaEventDestroy(untimed));
	OK(cudaStreamDestroy(a));
	OK(cudaStreamDestroy(b));
}

static void test_elapsed(void)
{
	cudaEvent_t start, end;
	float ms = -1;

	begin();
	OK(cudaEventCreate(&start));
	OK(cudaEventCreate(&end));
	OK(cudaEventRecord(start));
	wait_for<<<1, 1>>>(word, 1);
	OK(cudaEventRecord(end));
	GIVES(cudaErrorNotReady, cudaEventElapsedTime(&ms, start, end));
	*word = 1;
	OK(cudaEventSynchronize(end));
	OK(cudaEventElapsedTime(&ms, start, end));
	CHECK(ms > 0);
	OK(cudaEventDestroy(start));
	OK(cudaEventDestroy(end));
}

static void CUDART_CB host_function(void *arg)
{
	int *out = (int *)arg, n;

	out[0] = log_[0];
	out[1] = cudaGetDeviceCount(&n) == cudaErrorNotPermitted;
}

static void test_host_function(void)
{
	int seen[2] = {-1, 0};

	begin();
	append<<<1, 1>>>(log_, 1);
	OK(cudaLaunchHostFunc(0, host_function, seen));
	append<<<1, 1>>>(log_, 2);
	OK(cudaDeviceSynchronize());
	CHECK(seen[0] == 1);
#ifdef __DPA_NVCC__ // the reference leaves the error open
	CHECK(seen[1] == 1);
#endif
}

/* Unregistered memory that is copied asynchronously may be changed at once. */
static void test_pageable(void)
{
	enum { N = 1000 };
	int host[N], back[N], *device;

	begin();
	OK(cudaMalloc(&device, sizeof(host)));
	for (int i = 0; i < N; i++)
		host[i] = i;
	wait_for<<<1, 1>>>(word, 1);
	OK(cudaMemcpyAsync(device, host, sizeof(host), cudaMemcpyHostToDevice));
	memset(host, 0, sizeof(host));
	*word = 1;
	OK(cudaMemcpyAsync(back, device, sizeof(back), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++)
		CHECK(back[i] == i);
	OK(cudaFree(device));
}

// More blocks and threads than the device holds: they run in waves.
__global__ void count(unsigned long long *sum)
{
	atomicAdd(sum, 1ull);
}

static void test_waves(void)
{
	unsigned long long *sum;

	OK(cudaMallocManaged(&sum, sizeof(*sum)));
	*sum = 0;
	count<<<3000, 64>>>(sum);
	count<<<40, 1024>>>(sum);
	count<<<dim3(7, 5, 3), dim3(4, 4, 4)>>>(sum);
	OK(cudaDeviceSynchronize());
	CHECK(*sum == 3000 * 64 + 40 * 1024 + 105 * 64);
	OK(cudaFree(sum));
}

/* Destroyed while it has work: the work is carried out. */
static void test_destroy(void)
{
	cudaStream_t stream;

	begin();
	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	wait_for<<<1, 1, 0, stream>>>(word, 1);
	append<<<1, 1, 0, stream>>>(log_, 1);
	OK(cudaStreamDestroy(stream));
	*word = 1;
	OK(cudaDeviceSynchronize());
	CHECK(log_[0] == 1);
}

#ifdef __DPA_NVCC__
enum { CHAIN = 15000 };

static void *wait_in_a_chain(void *arg)
{
	cudaStream_t stream;
	cudaEvent_t event;

	OK(cudaStreamCreate(&stream));
	OK(cudaEventCreate(&event));
	wait_for<<<1, 1>>>(word, 1);
	for (int i = 0; i < CHAIN; i++) {
		OK(cudaEventRecord(event, stream));
		OK(cudaEventRecord(event, 0));
	}
	*word = 1;
	OK(cudaDeviceSynchronize());
	OK(cudaEventRecord(event, stream));
	OK(cudaEventRecord(event, 0));
	OK(cudaDeviceSynchronize());
	OK(cudaEventDestroy(event));
	OK(cudaStreamDestroy(stream));
	return arg;
}

/* Each waits for the previous one, in the other stream: any number of them takes no stack. */
static void test_long_chain(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	begin();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	CHECK(!pthread_setattr_default_np(&attr)); // of the streams' threads
	CHECK(!pthread_create(&thread, &attr, wait_in_a_chain, NULL));
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}
#endif

int main()
{
	int *memory;

	OK(cudaHostAlloc(&memory, 4096, cudaHostAllocMapped));
	word = memory;
	OK(cudaMallocHost(&log_, 4096));
	test_non_blocking();
	test_legacy();
	test_events();
	test_elapsed();
	test_host_function();
	test_pageable();
	test_waves();
	test_destroy();
#ifdef __DPA_NVCC__
	test_long_chain();
#endif
	return report();
}
