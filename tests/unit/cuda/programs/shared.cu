// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory of a block, constants, variables of the device; barriers.
#include <cstring>

#include "check.h"

__constant__ int table[4] = {2, 3, 5, 7};
__constant__ float factor;
__device__ int counter = 100;
__device__ unsigned int words[8];

extern __shared__ double global_dynamic[];

// Histogram: atomics on memory of the block, then of the device.
__global__ void histogram(const unsigned char *in, int n, unsigned int *out)
{
	__shared__ unsigned int mine[256];

	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		mine[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
		atomicAdd(&mine[in[i]], 1);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		atomicAdd(&out[i], mine[i]);
}

template <int N> struct tile {
	int cell[N][N];
};

// Static memory in a template, of two dimensions; each block has its own.
template <int N> __global__ void transpose(const int *in, int *out)
{
	__shared__ tile<N> t;
	int base = blockIdx.x * N * N;

	t.cell[threadIdx.y][threadIdx.x] = in[base + threadIdx.y * N + threadIdx.x];
	__syncthreads();
	out[base + threadIdx.y * N + threadIdx.x] = t.cell[threadIdx.x][threadIdx.y];
}

__global__ void reverse(int *data, int n)
{
	extern __shared__ __align__(16) int local_dynamic[];
	int i = threadIdx.x;

	local_dynamic[i] = data[blockIdx.x * n + i];
	__syncthreads();
	data[blockIdx.x * n + i] = local_dynamic[n - 1 - i];
}

__device__ double sum_of_block()
{
	double sum = 0;

	__syncthreads();
	for (unsigned int i = 0; i < blockDim.x; i++)
		sum += global_dynamic[i];
	return sum;
}

__global__ void sums(double *out)
{
	global_dynamic[threadIdx.x] = threadIdx.x + blockIdx.x;
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum_of_block();
}

__global__ void constants(int *out)
{
	out[threadIdx.x] = table[threadIdx.x] * (int)factor;
	if (threadIdx.x == 0)
		words[7] = atomicAdd(&counter, 1);
}

/* Threads that have ended count as arrived; predicates only of present threads. */
__global__ void barriers(int *out)
{
	int i = threadIdx.x;

	if (i >= 50)
		return;
	out[i] = __syncthreads_count(i % 5 == 0);
	out[64 + i] = __syncthreads_and(i < 50) + 2 * __syncthreads_and(i < 49);
	out[128 + i] = __syncthreads_or(i == 49) + 2 * __syncthreads_or(i == 50);
	for (int k = 0; k < 100; k++) {
		__shared__ int turn;

		if (i == k % 50)
			turn = k;
		__syncthreads();
		if (turn != k)
			out[192] = 1;
		__syncthreads();
	}
}

static void test_histogram(void)
{
	enum { N = 100000 };
	unsigned char *in;
	unsigned int *out, expected[256] = {0};

	OK(cudaMallocManaged(&in, N));
	OK(cudaMallocManaged(&out, sizeof(expected)));
	memset(out, 0, sizeof(expected));
	for (int i = 0; i < N; i++)
		expected[in[i] = (unsigned char)(i * i)]++;
	histogram<<<16, 128>>>(in, N, out);
	OK(cudaDeviceSynchronize());
	CHECK(!memcmp(out, expected, sizeof(expected)));
	OK(cudaFree(in));
	OK(cudaFree(out));
}

static void test_blocks(void)
{
	int *in, *out;

	OK(cudaMallocManaged(&in, 40 * 256 * sizeof(int)));
	OK(cudaMallocManaged(&out, 40 * 256 * sizeof(int)));
	for (int i = 0; i < 40 * 256; i++)
		in[i] = i;
	transpose<16><<<40, dim3(16, 16)>>>(in, out);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 40 * 256; i++)
		CHECK(out[i] == i / 256 * 256 + i % 16 * 16 + i % 256 / 16);
	reverse<<<40, 256, 256 * sizeof(int)>>>(in, 256);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 40 * 256; i++)
		CHECK(in[i] == i / 256 * 256 + 255 - i % 256);
	OK(cudaFree(in));
	OK(cudaFree(out));
}

static void test_dynamic(void)
{
	double *out;

	OK(cudaMallocManaged(&out, 200 * sizeof(double)));
	sums<<<20, 10, 10 * sizeof(double)>>>(out);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 200; i++)
		CHECK(out[i] == 45 + 10 * (i / 10));
	OK(cudaFuncSetAttribute(sums, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
	sums<<<1, 10, 64 * 1024>>>(out);
	OK(cudaDeviceSynchronize());
	OK(cudaFree(out));
}

static void test_variables(void)
{
	float value = 10;
	int *out, now = 0;
	unsigned int word = 0;
	void *address;

	OK(cudaMallocManaged(&out, 4 * sizeof(int)));
	OK(cudaMemcpyToSymbol(factor, &value, sizeof(value)));
	constants<<<1, 4>>>(out);
	OK(cudaMemcpyFromSymbol(&now, counter, sizeof(now)));
	OK(cudaMemcpyFromSymbol(&word, words, sizeof(word), 7 * sizeof(word)));
	CHECK(now == 101 && word == 100);
	CHECK(out[0] == 20 && out[1] == 30 && out[2] == 50 && out[3] == 70);
	OK(cudaGetSymbolAddress(&address, words));
	CHECK(address);
	OK(cudaFree(out));
}

static void test_barriers(void)
{
	int *out;

	OK(cudaMallocManaged(&out, 256 * sizeof(int)));
	memset(out, 0, 256 * sizeof(int));
	barriers<<<1, 64>>>(out);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 50; i++)
		CHECK(out[i] == 10 && out[64 + i] == 1 && out[128 + i] == 1);
	CHECK(!out[192]);
	OK(cudaFree(out));
}

int main()
{
	test_histogram();
	test_blocks();
	test_dynamic();
	test_variables();
	test_barriers();
	return report();
}
