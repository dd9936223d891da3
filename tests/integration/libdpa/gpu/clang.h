/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * clang.h - declarations of CUDA's own headers, for clang without them: only to check that it
 * compiles.
 */
#ifndef TEST_GPU_CLANG_H
#define TEST_GPU_CLANG_H

#define __device__	__attribute__((device))
#define __global__	__attribute__((global))
#define __shared__	__attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
extern "C" {
__device__ void __threadfence_system();
__device__ void __syncwarp(unsigned int mask);
__device__ unsigned int __activemask();
__device__ unsigned int __ballot_sync(unsigned int mask, int predicate);
__device__ int __ffs(int x);
__device__ int __popc(unsigned int x);
__device__ unsigned int atomicAdd(unsigned int *p, unsigned int v);
__device__ unsigned int atomicCAS(unsigned int *p, unsigned int compare, unsigned int v);
}
template <typename T> __device__ T __shfl_sync(unsigned int mask, T v, int lane);
template <typename T> __device__ T __shfl_xor_sync(unsigned int mask, T v, int lanes);
#endif
