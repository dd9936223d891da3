// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Atomic functions: what each returns and leaves, and that none is lost.
#include "check.h"

struct words {
	int i, imin, imax, icas, iexch, iand, ior, ixor, isub;
	unsigned int u, inc, dec;
	unsigned long long ull, ullcas, ullmax;
	float f;
	double d;
	int block, system, old[4];
	unsigned int lock;
	int guarded;
};

__global__ void all(words *w)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	atomicAdd(&w->i, 1);
	atomicSub(&w->isub, 2);
	atomicMin(&w->imin, -i);
	atomicMax(&w->imax, i);
	atomicAnd(&w->iand, ~(1 << i % 16));
	atomicOr(&w->ior, 1 << i % 16);
	atomicXor(&w->ixor, 1);
	atomicAdd(&w->u, 3u);
	atomicInc(&w->inc, 9);
	atomicDec(&w->dec, 9);
	atomicAdd(&w->ull, 1ull << 33);
	atomicMax(&w->ullmax, (unsigned long long)i << 32);
	atomicAdd(&w->f, 0.5f);
	atomicAdd(&w->d, 0.25);
	atomicAdd_block(&w->block, 0);
	atomicAdd_system(&w->system, 1);
}

__global__ void olds(words *w)
{
	w->old[0] = atomicCAS(&w->icas, 5, 6);
	w->old[1] = atomicCAS(&w->icas, 5, 7);
	w->old[2] = atomicExch(&w->iexch, 9);
	w->old[3] = (int)atomicCAS(&w->ullcas, 1ull << 40, 2ull);
}

// A lock by compare and swap, held by one thread of each block.
__global__ void locked(words *w)
{
	if (threadIdx.x)
		return;
	for (int k = 0; k < 50; k++) {
		while (atomicCAS(&w->lock, 0u, 1u))
			;
		__threadfence();
		*(volatile int *)&w->guarded = *(volatile int *)&w->guarded + 1;
		__threadfence();
		atomicExch(&w->lock, 0u);
	}
}

int main()
{
	enum { BLOCKS = 20, THREADS = 100, N = BLOCKS * THREADS };
	words *w;

	OK(cudaMallocManaged(&w, sizeof(*w)));
	*w = words();
	w->iand = 0x1ffff;
	w->dec = 0;
	w->icas = 5;
	w->iexch = 8;
	w->ullcas = 1ull << 40;
	all<<<BLOCKS, THREADS>>>(w);
	OK(cudaDeviceSynchronize());
	CHECK(w->i == N && w->isub == -2 * N && w->imin == -(N - 1) && w->imax == N - 1);
	CHECK(w->iand == 0x10000 && w->ior == 0xffff && w->ixor == 0 && w->u == 3u * N);
	CHECK(w->inc == N % 10 && w->dec == (10 - N % 10) % 10);
	CHECK(w->ull == (unsigned long long)N << 33 && w->ullmax == (unsigned long long)(N - 1) << 32);
	CHECK(w->f == 0.5f * N && w->d == 0.25 * N && w->system == N);
	olds<<<1, 1>>>(w);
	OK(cudaDeviceSynchronize());
	CHECK(w->old[0] == 5 && w->old[1] == 6 && w->icas == 6 && w->old[2] == 8 && w->iexch == 9);
	CHECK(w->ullcas == 2);
	locked<<<8, 32>>>(w);
	OK(cudaDeviceSynchronize());
	CHECK(w->guarded == 400);
	OK(cudaFree(w));
	return report();
}
