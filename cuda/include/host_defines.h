/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * host_defines.h - the qualifiers of CUDA C++.
 *
 * dpa-nvcc finds some of them as words after the preprocessor: such a macro expands to its own
 * name, so that #ifdef works. Other compilers ignore them.
 */
#ifndef DPA_CUDA_HOST_DEFINES_H
#define DPA_CUDA_HOST_DEFINES_H

#ifdef __DPA_NVCC__
#define __global__   __global__
#define __device__   __device__
#define __host__     __host__
#define __shared__   __shared__
#define __constant__ __constant__
#define __managed__  __managed__
#define __noinline__ __noinline__
#else
#define __global__
#define __device__
#define __host__
#define __shared__
#define __constant__
#define __managed__
#endif

#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n)	__attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define CUDARTAPI
#define CUDART_CB

#endif
