/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* doca_pcc_dev_utils.h - arithmetic, fences and time for congestion control programs. */
#ifndef DOCA_PCC_DEV_UTILS_H_
#define DOCA_PCC_DEV_UTILS_H_

#include <dpaintrin.h>
#include <doca_pcc_dev_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers with 16 fraction bits: dpaintrin.h. */
#define doca_pcc_dev_fxp_recip(a_fp)  __dpa_fxp_rcp(a_fp)
#define doca_pcc_dev_fxp_power2(a_fp) __dpa_fxp_pow2(a_fp)
#define doca_pcc_dev_fxp_log2(a_fp)   __dpa_fxp_log2(a_fp)
/* The number of the highest bit that is set, from 1 on; a is not 0. */
#define doca_pcc_dev_fls(a)	      (32 - __builtin_clz(a))
#define doca_pcc_dev_mult(a, b)	      ((uint64_t)(a) * (uint64_t)(b))
#define doca_pcc_dev_fxp_mult(a, b)   ((uint32_t)((doca_pcc_dev_mult((a), (b)) >> 16) & 0xffffffff))

#define doca_pcc_dev_fence_all()    __dpa_thread_fence(__DPA_SYSTEM, __DPA_RW, __DPA_RW)
#define doca_pcc_dev_fence_memory() __dpa_thread_fence(__DPA_MEMORY, __DPA_RW, __DPA_RW)
#define doca_pcc_dev_fence_io()	    __dpa_thread_fence(__DPA_MMIO, __DPA_RW, __DPA_RW)
#define doca_pcc_dev_fence_w_r()    __dpa_thread_fence(__DPA_MEMORY, __DPA_W, __DPA_R)

/* Return the microseconds since a fixed moment, the same on all EUs. */
#define doca_pcc_dev_get_thread_time() __dpa_thread_time()

FORCE_INLINE uint32_t doca_pcc_dev_get_timer_lo(void)
{
	return (uint32_t)(doca_pcc_dev_get_thread_time() & 0xffffffff);
}

FORCE_INLINE uint64_t doca_pcc_dev_get_timer(void)
{
	return doca_pcc_dev_get_thread_time();
}

#ifdef __cplusplus
}
#endif

#endif /* DOCA_PCC_DEV_UTILS_H_ */
