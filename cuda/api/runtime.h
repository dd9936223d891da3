/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* runtime.h - declarations shared by the files of the runtime API. */
#ifndef DPA_CUDA_API_RUNTIME_H
#define DPA_CUDA_API_RUNTIME_H

#include "../run/gpu.h"

/* Call gpu_enter(), then the function; its error becomes the caller's last one. */
#define RUNTIME_CALL(call)                                                                         \
	do {                                                                                       \
		int ret_ = gpu_enter();                                                            \
		return gpu_last(ret_ ? ret_ : (int)(call));                                        \
	} while (0)

#endif
