/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* indices.h - the built-in variables of the running CUDA thread; written by block.c only. */
#ifndef DPA_CUDA_RUN_INDICES_H
#define DPA_CUDA_RUN_INDICES_H

#include "../include/vector_types.h"

#define DPA_GPU_TLS                                                                                \
	extern __thread __attribute__((tls_model("initial-exec"), visibility("default")))
DPA_GPU_TLS uint3 threadIdx;
DPA_GPU_TLS uint3 blockIdx;
DPA_GPU_TLS dim3 blockDim;
DPA_GPU_TLS dim3 gridDim;

#endif
