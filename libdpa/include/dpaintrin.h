/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpaintrin.h - fences, counters and fixed-point numbers for device code.
 *
 * Memory of the DPA, of the host and of the device is one coherent memory here, so a fence orders
 * accesses to all of them. The spaces are kept apart for programs that also run on hardware.
 */
#ifndef DPAINTRIN_H_
#define DPAINTRIN_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A program may ask for an older version, before it includes this. */
#define DPA_INTRIN_VERSION(major, minor) ((major)*1000 + (minor))
#ifndef DPA_INTRIN_VERSION_USED
#define DPA_INTRIN_VERSION_USED DPA_INTRIN_VERSION(1, 3)
#endif
#if DPA_INTRIN_VERSION_USED < DPA_INTRIN_VERSION(1, 0) ||                                          \
	DPA_INTRIN_VERSION_USED > DPA_INTRIN_VERSION(1, 3)
#error "DPA_INTRIN_VERSION_USED: the versions are 1.0 to 1.3"
#endif

/* ------------------------------------------------------------------ fences */

/* Kinds of memory: a heap, all memory of the DPA, memory mapped from elsewhere, everything. */
#define __DPA_HEAP   1
#define __DPA_MEMORY 2
#define __DPA_MMIO   4
#define __DPA_SYSTEM 7

/* Kinds of accesses. */
#define __DPA_R	 1
#define __DPA_W	 2
#define __DPA_RW 3

/*
 * Order earlier accesses of kind pred before later accesses of kind succ, as other threads, the
 * host and the device see them. Constants only. The compiler keeps the same order.
 */
static inline __attribute__((always_inline, unused)) void dpa_dev_fence(int space, int pred,
									int succ)
{
	(void)space;
	if ((pred & __DPA_W) && (succ & __DPA_R)) /* the only reordering that the machine may do */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	else if (pred & __DPA_R && !(pred & __DPA_W))
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	else
		__atomic_thread_fence(__ATOMIC_ACQ_REL);
}

#define __dpa_thread_fence(space, pred, succ) dpa_dev_fence((space), (pred), (succ))
#define __dpa_thread_memory_fence(op1, op2)   __dpa_thread_fence(__DPA_MEMORY, op1, op2)
#define __dpa_thread_outbox_fence(op1, op2)   __dpa_thread_fence(__DPA_MMIO, op1, op2)
#define __dpa_thread_window_fence(op1, op2)   __dpa_thread_fence(__DPA_MMIO, op1, op2)
#define __dpa_thread_system_fence()	      __dpa_thread_fence(__DPA_SYSTEM, __DPA_RW, __DPA_RW)

/* Let later reads of host memory return its contents at this time or later. */
#define __dpa_thread_window_read_inv()	__dpa_thread_fence(__DPA_MMIO, __DPA_R, __DPA_R)
/* Make earlier stores to host memory visible before later stores. */
#define __dpa_thread_window_writeback() __dpa_thread_fence(__DPA_MMIO, __DPA_W, __DPA_W)
/* Do the same for memory of the DPA. */
#define __dpa_thread_memory_writeback() __dpa_thread_fence(__DPA_MEMORY, __DPA_W, __DPA_W)

/* Let the compiler move no memory access across it; the machine may. */
#define __dpa_compiler_barrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#if defined(__NV_DPA) && __NV_DPA >= __NV_DPA_CX8
/* With -mcpu=nv-dpa-cx8 only: leave nothing in a cache that others do not see. */
#define __dpa_thread_l1_flush() __dpa_thread_system_fence()
#endif

/* A hint that the cache line at addr need not be written back. It is ignored here. */
#define __dpa_data_ignore(addr) ((void)(addr))

/* ---------------------------------------------------------------- counters */

/*
 * The functions that the macros call. Any entry may call them; each returns within a microsecond or
 * so.
 */
uint64_t dpa_dev_inst_ret(void);
uint64_t dpa_dev_time(void);

static inline __attribute__((always_inline, unused)) uint64_t dpa_dev_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
	return dpa_dev_time();
#endif
}

/* Return the cycles of the machine's constant-rate counter (on x86 the time stamp counter). */
#define __dpa_thread_cycles()	dpa_dev_cycles()
/*
 * Return the instructions retired by the operating-system thread that the EU runs on; use it for
 * differences within one activation. Always 0 where Linux has no such counter or does not let the
 * program read it (virtual machines often have none; /proc/sys/kernel/perf_event_paranoid above 2
 * forbids it).
 */
#define __dpa_thread_inst_ret() dpa_dev_inst_ret()
/* Return the microseconds since some point in the past. */
#define __dpa_thread_time()	dpa_dev_time()

/* ------------------------------------------------------------- fixed point */

/* Numbers with 16 bits before and 16 bits behind the point. */
int dpa_dev_fxp_rcp(int x);
int dpa_dev_fxp_pow2(int x);
int dpa_dev_fxp_log2(unsigned int x);

/*
 * Return 1/x, rounded to the nearest; the largest number for 0 and where the result is too large.
 */
#define __dpa_fxp_rcp(x)  dpa_dev_fxp_rcp(x)
/*
 * Return 2 to the power of x, off by at most 2^-16 of the result or one bit; the largest number
 * from 15.
 */
#define __dpa_fxp_pow2(x) dpa_dev_fxp_pow2(x)
/* Return the base 2 logarithm of x, off by at most one bit; the least number for 0. */
#define __dpa_fxp_log2(x) dpa_dev_fxp_log2(x)

#ifdef __cplusplus
}
#endif

#endif /* DPAINTRIN_H_ */
