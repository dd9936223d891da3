/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sync.h - barriers, fences, clocks, traps (CUDA C++ Programming Guide, sections of these names). */
#ifndef DPA_CUDA_SYNC_H
#define DPA_CUDA_SYNC_H

#include "abi.h"

static inline void __syncthreads(void)
{
	dpa_cuda_barrier(DPA_CUDA_BARRIER, 0);
}

static inline int __syncthreads_count(int predicate)
{
	return dpa_cuda_barrier(DPA_CUDA_BARRIER_COUNT, predicate);
}

static inline int __syncthreads_and(int predicate)
{
	return dpa_cuda_barrier(DPA_CUDA_BARRIER_AND, predicate);
}

static inline int __syncthreads_or(int predicate)
{
	return dpa_cuda_barrier(DPA_CUDA_BARRIER_OR, predicate);
}

static inline void __syncwarp(unsigned int mask = 0xffffffffu)
{
	dpa_cuda_warp(DPA_CUDA_WARP_SYNC, mask, 0, 0, 32);
}

/*
 * Threads of a block take turns on one thread of the operating system: only the compiler could
 * reorder.
 */
static inline void __threadfence_block(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void __threadfence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void __threadfence_system(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline long long int clock64(void)
{
	return (long long int)dpa_cuda_time();
}

static inline void __nanosleep(unsigned int ns)
{
	dpa_cuda_sleep(ns);
}

static inline void __trap(void)
{
	dpa_cuda_trap();
}

/* A breakpoint for a debugger; without one it ends the kernel as __trap() does. */
static inline void __brkpt(void)
{
	dpa_cuda_trap();
}

#endif
