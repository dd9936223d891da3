/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* driver.h - declarations shared by the files of the driver API. */
#ifndef DPA_CUDA_API_DRIVER_H
#define DPA_CUDA_API_DRIVER_H

#include "../include/cuda.h"
#include "../run/gpu.h"

/* Return the result for a number of cudaError_t. */
CUresult driver_result(int error);
/* Enter a call that needs cuInit(): 0, or a number of cudaError_t. */
int driver_enter(void);
/* Enter a call that needs a current context. */
int driver_enter_context(void);
/* Return the only context. */
CUcontext driver_context(void);

/* Check with `enter`, then make the call; errors in the numbers of the driver API. */
#define DRIVER_CALL(enter, call)                                                                   \
	do {                                                                                       \
		int ret_ = enter();                                                                \
		return driver_result(ret_ ? ret_ : (int)(call));                                   \
	} while (0)

#endif
