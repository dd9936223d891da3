/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stream.h - streams: operations in order; events: operations that a caller can wait for.
 *
 * Each stream that was used has its own thread, which carries out its operations. The legacy
 * default stream (handle 0) and streams without cudaStreamNonBlocking wait for each other as the
 * CUDA Runtime API reference specifies (stream synchronization behavior).
 */
#ifndef DPA_CUDA_RUN_STREAM_H
#define DPA_CUDA_RUN_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "../include/driver_types.h"

/* An operation. The stream's thread calls `run`, unless a kernel has faulted, and then `free`. */
struct work {
	void (*run)(void *arg);
	void (*free)(void *arg); /* may be NULL */
	void *arg;
};

/* Results: 0 or a number of cudaError_t. */
int stream_create(unsigned int flags, cudaStream_t *stream);
/* Return at once; the stream's operations are carried out. */
int stream_destroy(cudaStream_t stream);
int stream_flags(cudaStream_t stream, unsigned int *flags);
/* Append an operation. wait: return after it. If it fails, work->free was called. */
int stream_submit(cudaStream_t stream, const struct work *work, bool wait);
/* Return 0 if all is done, else cudaErrorNotReady. */
int stream_query(cudaStream_t stream);
int stream_synchronize(cudaStream_t stream);
int stream_synchronize_all(void);
/* True in a function of cudaLaunchHostFunc(), which may not call CUDA. */
bool stream_in_host_function(void);
int stream_host_function(cudaStream_t stream, void (*fn)(void *), void *arg);

int event_create(unsigned int flags, cudaEvent_t *event);
int event_destroy(cudaEvent_t event);
int event_record(cudaEvent_t event, cudaStream_t stream);
int event_query(cudaEvent_t event);
int event_synchronize(cudaEvent_t event);
int event_elapsed(float *ms, cudaEvent_t start, cudaEvent_t end);
int event_wait_by(cudaStream_t stream, cudaEvent_t event);

#endif
