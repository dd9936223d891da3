/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* driver_stream.c - driver API: streams and events. */
#include "../run/stream.h"
#include "driver.h"

DPA_GPU_API CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	DRIVER_CALL(driver_enter_context, stream_create(flags, stream));
}

DPA_GPU_API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	DRIVER_CALL(driver_enter_context, stream_create(flags, stream));
}

DPA_GPU_API CUresult cuStreamDestroy(CUstream stream)
{
	DRIVER_CALL(driver_enter, stream_destroy(stream));
}

DPA_GPU_API CUresult cuStreamQuery(CUstream stream)
{
	DRIVER_CALL(driver_enter, stream_query(stream));
}

DPA_GPU_API CUresult cuStreamSynchronize(CUstream stream)
{
	DRIVER_CALL(driver_enter, stream_synchronize(stream));
}

DPA_GPU_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	DRIVER_CALL(driver_enter,
		    flags ? (int)cudaErrorInvalidValue : event_wait_by(stream, event));
}

DPA_GPU_API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data)
{
	DRIVER_CALL(driver_enter, stream_host_function(stream, fn, data));
}

DPA_GPU_API CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	DRIVER_CALL(driver_enter_context, event_create(flags, event));
}

DPA_GPU_API CUresult cuEventDestroy(CUevent event)
{
	DRIVER_CALL(driver_enter, event_destroy(event));
}

DPA_GPU_API CUresult cuEventRecord(CUevent event, CUstream stream)
{
	DRIVER_CALL(driver_enter, event_record(event, stream));
}

DPA_GPU_API CUresult cuEventQuery(CUevent event)
{
	DRIVER_CALL(driver_enter, event_query(event));
}

DPA_GPU_API CUresult cuEventSynchronize(CUevent event)
{
	DRIVER_CALL(driver_enter, event_synchronize(event));
}

DPA_GPU_API CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	DRIVER_CALL(driver_enter, event_elapsed(ms, start, end));
}
