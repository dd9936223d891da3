/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* index.h - built-in variables (CUDA C++ Programming Guide, built-in variables). */
#ifndef DPA_CUDA_INDEX_H
#define DPA_CUDA_INDEX_H

#include "../vector_types.h"

/*
 * The library writes them when it switches to another CUDA thread; to a thread they are constant.
 */
#define DPA_CUDA_BUILTIN extern __thread const __attribute__((tls_model("initial-exec")))
extern "C" {
DPA_CUDA_BUILTIN uint3 threadIdx;
DPA_CUDA_BUILTIN uint3 blockIdx;
DPA_CUDA_BUILTIN dim3 blockDim;
DPA_CUDA_BUILTIN dim3 gridDim;
}
static constexpr int warpSize = 32;

#endif
