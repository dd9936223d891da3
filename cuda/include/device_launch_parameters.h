/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * device_launch_parameters.h - threadIdx and the like: for dpa-nvcc cuda_runtime.h declares them.
 */
#ifndef DPA_CUDA_DEVICE_LAUNCH_PARAMETERS_H
#define DPA_CUDA_DEVICE_LAUNCH_PARAMETERS_H

#include "cuda_runtime.h"

#endif
