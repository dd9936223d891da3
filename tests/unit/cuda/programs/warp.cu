// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Warp vote, match, reduce and shuffle functions, with whole and partial masks, and threads that have ended.
#include "check.h"

#define FULL 0xffffffffu

struct results {
	int shfl[32], up[32], down[32], x[32], up8[32], idx8[32];
	double wide[32];
	unsigned long long big[32];
	unsigned int ballot[32], any_group[32], all_group[32];
	int all[32], any[32], all_same[32];
	unsigned int evens[32], ended[32];
	int last;
};

__global__ void shuffles(results *r)
{
	int lane = threadIdx.x;

	r->shfl[lane] = __shfl_sync(FULL, lane * 3, 7);
	r->up[lane] = __shfl_up_sync(FULL, lane, 2);
	r->down[lane] = __shfl_down_sync(FULL, lane, 5);
	r->x[lane] = __shfl_xor_sync(FULL, lane, 16);
	r->up8[lane] = __shfl_up_sync(FULL, lane, 1, 8);
	r->idx8[lane] = __shfl_sync(FULL, lane, 3, 8);
	r->wide[lane] = __shfl_sync(FULL, lane + 0.5, 31 - lane);
	r->big[lane] = __shfl_xor_sync(FULL, (unsigned long long)lane << 40, 1);
}

__global__ void votes(results *r)
{
	int lane = threadIdx.x, same;

	r->ballot[lane] = __ballot_sync(FULL, lane % 3 == 0);
	r->all[lane] = __all_sync(FULL, lane < 32) + 2 * __all_sync(FULL, lane < 31);
	r->any[lane] = __any_sync(FULL, lane == 31) + 2 * __any_sync(FULL, lane == 32);
	r->any_group[lane] = __match_any_sync(FULL, lane / 8);
	r->all_group[lane] = __match_all_sync(FULL, lane / 32, &same);
	r->all_same[lane] = same;
	if (__match_all_sync(FULL, lane / 16, &same) == 0 && !same)
		r->all_same[lane] += 2;
}

// Two groups of the warp use their own functions at the same time, the even lanes twice as often.
__global__ void groups(results *r)
{
	int lane = threadIdx.x;

	if (lane % 2 == 0) {
		int sum = 0;

		for (int i = 0; i < 10; i++)
			sum += __popc(__ballot_sync(0x55555555u, i % 2));
		r->evens[lane] = sum;
	} else {
		r->evens[lane] = __ballot_sync(0xaaaaaaaau, 1);
	}
	__syncwarp();
	r->last = lane;
}

/* Threads that have ended do not block other threads of the same mask. */
__global__ void ended(results *r)
{
	int lane = threadIdx.x;

	if (lane >= 20)
		return;
	__syncwarp(0x000fffffu);
	r->ended[lane] = __ballot_sync(0x000fffffu, 1);
}

/* A last warp of 8 threads; reduction as in CUDA courses. */
__global__ void reduce(const int *in, int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, value = i < n ? in[i] : 0;

	for (int d = 16; d; d /= 2)
		value += __shfl_down_sync(FULL, value, d);
	if (threadIdx.x % warpSize == 0)
		atomicAdd(out, value);
}

static void test_shuffles(results *r)
{
	shuffles<<<1, 32>>>(r);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 32; i++) {
		CHECK(r->shfl[i] == 21);
		CHECK(r->up[i] == (i < 2 ? i : i - 2));
		CHECK(r->down[i] == (i + 5 > 31 ? i : i + 5));
		CHECK(r->x[i] == (i ^ 16));
		CHECK(r->up8[i] == (i % 8 ? i - 1 : i));
		CHECK(r->idx8[i] == i / 8 * 8 + 3);
		CHECK(r->wide[i] == 31 - i + 0.5);
		CHECK(r->big[i] == (unsigned long long)(i ^ 1) << 40);
	}
}

static void test_votes(results *r)
{
	votes<<<1, 32>>>(r);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 32; i++) {
		CHECK(r->ballot[i] == 0x49249249u);
		CHECK(r->all[i] == 1);
		CHECK(r->any[i] == 1);
		CHECK(r->any_group[i] == 0xffu << i / 8 * 8);
		CHECK(r->all_group[i] == FULL);
		CHECK(r->all_same[i] == 3);
	}
}

static void test_groups(results *r)
{
	groups<<<1, 32>>>(r);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 32; i++)
		CHECK(r->evens[i] == (i % 2 ? 0xaaaaaaaau : 80));
	ended<<<1, 32>>>(r);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 20; i++)
		CHECK(r->ended[i] == 0x000fffffu);
}

static void test_reduce(void)
{
	enum { N = 10007 };
	int *in, *out, sum = 0;

	OK(cudaMallocManaged(&in, N * sizeof(int)));
	OK(cudaMallocManaged(&out, sizeof(int)));
	for (int i = 0; i < N; i++)
		sum += in[i] = i % 101;
	*out = 0;
	reduce<<<(N + 1023) / 1024, 1024>>>(in, out, N);
	OK(cudaDeviceSynchronize());
	CHECK(*out == sum);
	*out = 0;
	reduce<<<(N + 63) / 64, 64>>>(in, out, N);
	OK(cudaDeviceSynchronize());
	CHECK(*out == sum);
	OK(cudaFree(in));
	OK(cudaFree(out));
}

int main()
{
	results *r;

	OK(cudaMallocManaged(&r, sizeof(*r)));
	test_shuffles(r);
	test_votes(r);
	test_groups(r);
	test_reduce();
	OK(cudaFree(r));
	return report();
}
