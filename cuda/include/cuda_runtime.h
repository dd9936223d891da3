/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cuda_runtime.h - the runtime API with its C++ part; for dpa-nvcc the language of kernels, too.
 *
 * dpa-nvcc includes it before each .cu file.
 */
#ifndef DPA_CUDA_RUNTIME_H
#define DPA_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"
#include "vector_functions.h"

#ifdef __cplusplus
#include "dpa_cuda/host.h"
#endif
#ifdef __DPA_NVCC__
#include "dpa_cuda/launch.h"
#include "dpa_cuda/index.h"
#include "dpa_cuda/sync.h"
#include "dpa_cuda/warp.h"
#include "dpa_cuda/atomic.h"
#include "dpa_cuda/intrinsics.h"
#endif

#endif
