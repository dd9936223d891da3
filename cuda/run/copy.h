/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* copy.h - copies and fills, by a stream or before the call returns. */
#ifndef DPA_CUDA_RUN_COPY_H
#define DPA_CUDA_RUN_COPY_H

#include <stdbool.h>
#include <stddef.h>

#include "../include/driver_types.h"

/*
 * Append a copy to the stream. wait: return after the copy. Unregistered memory of the host is read
 * or written before the call returns, as the CUDA Runtime API reference specifies (API
 * synchronization behavior). Result: 0 or a number of cudaError_t.
 */
int copy_submit(void *dst, const void *src, size_t size, enum cudaMemcpyKind kind,
		cudaStream_t stream, bool wait);
/* Append many copies as one operation of the stream. The lists are copied. */
int copy_submit_batch(void *const *dst, const void *const *src, const size_t *size, size_t num,
		      cudaStream_t stream);
/* Append a fill. unit: 1, 2 or 4 bytes; size: bytes, a multiple. */
int fill_submit(void *dst, unsigned int value, unsigned int unit, size_t size, cudaStream_t stream,
		bool wait);

#endif
