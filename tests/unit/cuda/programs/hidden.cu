// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory of the GPU that the CPU cannot reach: kernels and copies can, the program's threads and system calls cannot.
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

static sigjmp_buf back;

static void on_segv(int)
{
	siglongjmp(back, 1);
}

static bool reachable(volatile int *p)
{
	if (sigsetjmp(back, 1))
		return false;
	(void)*p;
	return true;
}

__global__ void add_one(int *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i]++;
}

__global__ void hold(volatile int *word, int *p)
{
	while (*word == 0)
		;
	*p = 5;
}

__global__ void fault_and_go_on(int *p, int *bad)
{
	*p = 1;
	*bad = 1;
}

// The program's thread, while a kernel runs: with protection keys it has no access then either.
static void test_beside_kernel(int *p)
{
	const char *mode = getenv("DPACUDA_TEST_KEYS");
	volatile int *word;
	int *memory, value = 0;

	OK(cudaMallocHost(&memory, sizeof(int)));
	word = memory;
	*word = 0;
	hold<<<1, 1>>>(word, p);
	if (mode)
		CHECK(!reachable(p));
	*word = 1;
	OK(cudaMemcpy(&value, p, sizeof(value), cudaMemcpyDeviceToHost));
	CHECK(value == 5);
	CHECK(!reachable(p));
	OK(cudaFreeHost(memory));
}

int main()
{
	enum { N = 3000 };
	struct sigaction act = {}, segv;
	int *p, *host = new int[N];
	char byte;

	setenv("DPACUDA_MEMORY", "hidden", 0);
	OK(cudaMalloc(&p, N * sizeof(int))); // the library's handlers come first, ours on top of them
	act.sa_handler = on_segv;
	sigaction(SIGSEGV, &act, &segv);
	CHECK(!reachable(p));
	struct iovec to = {&byte, 1}, from = {p, 1};
	if (getenv("DPACUDA_TEST_SECRET"))
		CHECK(process_vm_readv(getpid(), &to, 1, &from, 1, 0) == -1 && errno == EFAULT);
	CHECK(write(STDERR_FILENO, p, 1) == -1 && errno == EFAULT);
	for (int i = 0; i < N; i++)
		host[i] = i;
	OK(cudaMemcpy(p, host, N * sizeof(int), cudaMemcpyHostToDevice));
	add_one<<<(N + 127) / 128, 128>>>(p, N);
	OK(cudaMemcpy(host, p, N * sizeof(int), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++)
		CHECK(host[i] == i + 1);
	CHECK(!reachable(p));
	test_beside_kernel(p);
	OK(cudaMemset(p, 0, N * sizeof(int)));
	OK(cudaMemcpy(host, p, N * sizeof(int), cudaMemcpyDeviceToHost));
	CHECK(host[0] == 0 && host[N - 1] == 0);
	sigaction(SIGSEGV, &segv, nullptr);
	// After a fault the same threads run kernels again.
	fault_and_go_on<<<4, 32>>>(p, (int *)64);
	GIVES(cudaErrorIllegalAddress, cudaDeviceSynchronize());
	OK(cudaDeviceReset());
	OK(cudaMalloc(&p, N * sizeof(int)));
	OK(cudaMemset(p, 0, N * sizeof(int)));
	add_one<<<(N + 127) / 128, 128>>>(p, N);
	OK(cudaMemcpy(host, p, N * sizeof(int), cudaMemcpyDeviceToHost));
	CHECK(host[0] == 1 && host[N - 1] == 1);
	OK(cudaFree(p));
	delete[] host;
	return report();
}
