// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What launches refuse, and how faults of kernels end: the error stays, the process goes on. Each fault has a process.
#include <cassert>
#include <csignal>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void nothing()
{
}

__global__ void bad_pointer(int *p)
{
	if (threadIdx.x == 3)
		*p = 1;
}

__global__ void trap(int *)
{
	if (threadIdx.x == 31)
		__trap();
}

__global__ void assertion(int *p)
{
	assert(p == nullptr || threadIdx.x < 5);
}

__device__ volatile int depth_wanted = 1 << 30;

__device__ __noinline__ int recurse(int n, volatile int *sink)
{
	volatile int room[64];

	room[n & 63] = n;
	if (n > depth_wanted)
		return 0;
	return recurse(n + 1, sink) + room[n & 63] + (int)(long)sink;
}

__global__ void overflow(int *p)
{
	p[0] = recurse(0, p);
}

// A block of the same kernel that spins for good ends, too.
__global__ void one_faults(int *p)
{
	volatile int *word = p;

	if (blockIdx.x == 0) {
		while (*word == 0)
			;
	} else if (threadIdx.x == 0) {
		word[(size_t)1 << 45] = 1; // far behind all memory
	}
}

static int expect_fault(void (*kernel)(int *), int *arg, cudaError_t error, int blocks)
{
	int *p, value = 7;

	OK(cudaMalloc(&p, sizeof(*p)));
	OK(cudaMemset(p, 0, sizeof(*p)));
	kernel<<<blocks, 32>>>(arg ? arg : p);
	// the launch itself succeeds, but the kernel may have failed already
	if (cudaGetLastError() != cudaSuccess)
		GIVES(error, cudaGetLastError());
	GIVES(error, cudaDeviceSynchronize());
	GIVES(error, cudaMemcpy(&value, p, sizeof(value), cudaMemcpyDeviceToHost));
	GIVES(error, cudaMalloc(&p, 4));
	nothing<<<1, 1>>>();
	GIVES(error, cudaGetLastError());
	GIVES(error, cudaGetLastError());
	return report();
}

static int launch_limits(void)
{
	int n;

	nothing<<<0, 1>>>();
	GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
	OK(cudaGetLastError());
	nothing<<<1, 1025>>>();
	GIVES(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
	GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
	nothing<<<1, dim3(1, 1, 65)>>>();
	GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
	nothing<<<dim3(1, 65536), 1>>>();
	GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
	nothing<<<1, 1, 1 << 20>>>();
	GIVES(cudaErrorInvalidValue, cudaGetLastError());
	nothing<<<1, 1>>>();
	OK(cudaDeviceSynchronize());
	GIVES(cudaErrorInvalidDevice, cudaSetDevice(1000));
	GIVES(cudaErrorInvalidValue, cudaFree(&n));
	cudaGetLastError();
	return report();
}

static int copies(void)
{
	char *device, host[64];

	OK(cudaMalloc(&device, 64));
	GIVES(cudaErrorInvalidValue, cudaMemcpy(device, host, 64, cudaMemcpyDeviceToHost));
	GIVES(cudaErrorInvalidValue, cudaMemcpy(host, device, 64, cudaMemcpyHostToDevice));
	GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device, host, 64, (cudaMemcpyKind)9));
	OK(cudaMemcpy(device, host, 64, cudaMemcpyDefault));
	OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
	OK(cudaFree(device));
	OK(cudaFree(nullptr));
	cudaGetLastError();
	return report();
}

static int in_child_of_fork(void)
{
	pid_t pid;
	int status = 1;

	OK(cudaFree(nullptr));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		int n;
		void *p;
		cudaError_t ret = cudaGetDeviceCount(&n), alloc = cudaMalloc(&p, 4);

		_exit(ret == cudaErrorInitializationError && alloc == cudaErrorInitializationError ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	return report();
}

static int run_case(const char *name)
{
	if (!strcmp(name, "limits"))
		return launch_limits();
	if (!strcmp(name, "copies"))
		return copies();
	if (!strcmp(name, "fork"))
		return in_child_of_fork();
	if (!strcmp(name, "pointer"))
		return expect_fault(bad_pointer, (int *)64, cudaErrorIllegalAddress, 4);
	if (!strcmp(name, "trap"))
		return expect_fault(trap, nullptr, cudaErrorLaunchFailure, 1);
	if (!strcmp(name, "assert"))
		return expect_fault(assertion, nullptr, cudaErrorAssert, 1);
	if (!strcmp(name, "blocks"))
		return expect_fault(one_faults, nullptr, cudaErrorIllegalAddress, 3);
#ifdef __DPA_NVCC__ // a GPU may find no guard below the stack
	if (!strcmp(name, "stack"))
		return expect_fault(overflow, nullptr, cudaErrorHardwareStackError, 1);
#endif
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"limits", "copies", "fork", "pointer", "trap", "assert", "blocks", "stack"};
	int failed = 0;

	if (argc > 1)
		return run_case(argv[1]);
	for (const char *name : names) {
		char command[512];
		int ret;

		snprintf(command, sizeof(command), "'%s' %s", argv[0], name);
		ret = system(command);
		if (ret)
			printf("%s: status %d\n", name, ret);
		failed += ret != 0;
	}
	return failed != 0;
}
