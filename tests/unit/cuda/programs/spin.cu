// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Spinning threads let other threads run: of their warp, of another block, of another stream, of
// the host.
#include "check.h"

__global__ void spin_in_warp(volatile int *word)
{
	if (threadIdx.x == 0)
		while (*word != 31)
			;
	else
		atomicAdd((int *)word, 1);
}

__global__ void spin_between_blocks(volatile int *word, int rounds)
{
	for (int i = 0; i < rounds; i++)
		if (threadIdx.x == 0) {
			while (*word != 2 * i + (int)blockIdx.x)
				;
			__threadfence();
			*word = 2 * i + blockIdx.x + 1;
		}
}

__global__ void spin_then_set(volatile int *wait, volatile int *set)
{
	while (*wait == 0)
		;
	__threadfence_system();
	*set = 1;
}

static void test_host(volatile int *word)
{
	cudaStream_t stream;

	word[0] = word[1] = 0;
	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	spin_then_set<<<1, 1, 0, stream>>>(word, word + 1);
	GIVES(cudaErrorNotReady, cudaStreamQuery(stream));
	word[0] = 1;
	while (word[1] == 0)
		;
	OK(cudaStreamSynchronize(stream));
	OK(cudaStreamDestroy(stream));
}

static void test_streams(volatile int *word)
{
	cudaStream_t a, b;

	word[0] = word[1] = word[2] = 0;
	OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	spin_then_set<<<1, 1, 0, a>>>(word + 1, word + 2);
	spin_then_set<<<1, 1, 0, b>>>(word, word + 1);
	word[0] = 1;
	OK(cudaDeviceSynchronize());
	CHECK(word[2] == 1);
	OK(cudaStreamDestroy(a));
	OK(cudaStreamDestroy(b));
}

int main()
{
	volatile int *word;
	int *memory;

	OK(cudaHostAlloc(&memory, 4096, cudaHostAllocMapped));
	word = memory;
	word[0] = 0;
	spin_in_warp<<<1, 32>>>(word);
	OK(cudaDeviceSynchronize());
	CHECK(word[0] == 31);
	word[0] = 0;
	spin_between_blocks<<<2, 32>>>(word, 100);
	OK(cudaDeviceSynchronize());
	CHECK(word[0] == 200);
	test_host(word);
	test_streams(word);
	OK(cudaFreeHost(memory));
	return report();
}
