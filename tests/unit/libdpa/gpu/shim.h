/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * shim.h - the parts of CUDA that the device functions need, as plain C++: a kernel's thread is a
 * thread of the test.
 */
#ifndef TEST_GPU_SHIM_H
#define TEST_GPU_SHIM_H

#include <sched.h>
#include <stdint.h>

#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define DPA_GPU_RELAX() sched_yield()

static inline void __threadfence_system()
{
#ifdef __SANITIZE_THREAD__ /* which does not model fences: as dpa_full_fence() */
	static uint32_t word;

	__atomic_fetch_add(&word, 1u, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

template <typename T> static inline T atomicAdd(T *p, T v)
{
	return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

template <typename T> static inline T atomicCAS(T *p, T compare, T v)
{
	__atomic_compare_exchange_n(p, &compare, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return compare;
}

#endif
