/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* stream.c - runtime API: streams and events. */
#include <stdlib.h>

#include "../include/cuda_runtime_api.h"
#include "../run/stream.h"
#include "runtime.h"

DPA_GPU_API cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	RUNTIME_CALL(stream_create(cudaStreamDefault, stream));
}

DPA_GPU_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	RUNTIME_CALL(stream_create(flags, stream));
}

/* Any priority counts as the only existing one (cudaDeviceGetStreamPriorityRange()). */
DPA_GPU_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags,
						     int priority)
{
	RUNTIME_CALL(stream_create(flags, stream));
}

DPA_GPU_API cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	RUNTIME_CALL(stream_destroy(stream));
}

DPA_GPU_API cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	RUNTIME_CALL(stream_query(stream));
}

DPA_GPU_API cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	RUNTIME_CALL(stream_synchronize(stream));
}

DPA_GPU_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
	RUNTIME_CALL(stream_flags(stream, flags));
}

DPA_GPU_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
					    unsigned int flags)
{
	RUNTIME_CALL(flags ? (int)cudaErrorInvalidValue : event_wait_by(stream, event));
}

DPA_GPU_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *data)
{
	RUNTIME_CALL(stream_host_function(stream, fn, data));
}

struct callback {
	cudaStream_t stream;
	cudaStreamCallback_t call;
	void *data;
};

static void run_callback(void *arg)
{
	struct callback *c = arg;

	c->call(c->stream, cudaSuccess, c->data);
	free(c);
}

DPA_GPU_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
					      void *data, unsigned int flags)
{
	struct callback *c;

	if (!callback || flags)
		return gpu_last(cudaErrorInvalidValue);
	c = malloc(sizeof(*c));
	if (!c)
		return gpu_last(cudaErrorMemoryAllocation);
	*c = (struct callback){stream, callback, data};
	RUNTIME_CALL(stream_host_function(stream, run_callback, c));
}

DPA_GPU_API cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	RUNTIME_CALL(event_create(cudaEventDefault, event));
}

DPA_GPU_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	RUNTIME_CALL(event_create(flags, event));
}

DPA_GPU_API cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	RUNTIME_CALL(event_destroy(event));
}

DPA_GPU_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	RUNTIME_CALL(event_record(event, stream));
}

DPA_GPU_API cudaError_t cudaEventQuery(cudaEvent_t event)
{
	RUNTIME_CALL(event_query(event));
}

DPA_GPU_API cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	RUNTIME_CALL(event_synchronize(event));
}

DPA_GPU_API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	RUNTIME_CALL(event_elapsed(ms, start, end));
}
