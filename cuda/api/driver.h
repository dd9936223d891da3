/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* driver.h - what the files of the driver's API share. */
#ifndef DPA_CUDA_API_DRIVER_H
#define DPA_CUDA_API_DRIVER_H

#include "../include/cuda.h"
#include "../run/gpu.h"

/* The result for a number of cudaError_t. */
CUresult driver_result(int error);
/* For calls that need cuInit(): 0, or a number of cudaError_t. */
int driver_enter(void);
/* For calls that need a current context. */
int driver_enter_context(void);
/* The one context there is. */
CUcontext driver_context(void);

/* Checks with `enter`, then makes the call; its error as the driver's API has it. */
#define DRIVER_CALL(enter, call)                                                                   \
	do {                                                                                       \
		int ret_ = enter();                                                                \
		return driver_result(ret_ ? ret_ : (int)(call));                                   \
	} while (0)

#endif
