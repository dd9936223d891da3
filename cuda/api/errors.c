/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* errors.c - names and texts of errors. */
#include "errors.h"
#include "../include/cuda_runtime_api.h"
#include "../run/gpu.h"

/* The number is the same in both APIs; if the name is NULL the driver API has no such error. */
static const struct {
	int number;
	const char *runtime, *driver, *text;
} errors[] = {
	{0, "cudaSuccess", "CUDA_SUCCESS", "no error"},
	{1, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE",
	 "an argument has a value that is not allowed"},
	{2, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED",
	 "not initialized, or in a forked child"},
	{4, "cudaErrorCudartUnloading", "CUDA_ERROR_DEINITIALIZED", "the driver is shutting down"},
	{9, "cudaErrorInvalidConfiguration", NULL,
	 "the grid, block or shared memory of the launch is out of range"},
	{12, "cudaErrorInvalidPitchValue", NULL, "a pitch is out of range"},
	{13, "cudaErrorInvalidSymbol", NULL, "no such symbol of the device"},
	{17, "cudaErrorInvalidDevicePointer", NULL, "not a pointer of the device"},
	{21, "cudaErrorInvalidMemcpyDirection", NULL, "no such direction of a copy"},
	{35, "cudaErrorInsufficientDriver", NULL, "the driver is older than the runtime needs"},
	{52, "cudaErrorMissingConfiguration", NULL,
	 "a kernel was called without <<<grid, block>>>"},
	{98, "cudaErrorInvalidDeviceFunction", NULL,
	 "the function is no kernel that can be launched this way"},
	{100, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no device"},
	{101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE",
	 "no device of that number or address"},
	{201, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT",
	 "no context, or one that is gone"},
	{300, "cudaErrorInvalidSource", "CUDA_ERROR_INVALID_SOURCE",
	 "the source of the kernel is not valid"},
	{301, "cudaErrorFileNotFound", "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
	{304, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM",
	 "a call of the operating system failed"},
	{400, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE",
	 "no such stream or event"},
	{401, "cudaErrorIllegalState", "CUDA_ERROR_ILLEGAL_STATE", "not allowed in this state"},
	{500, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "no such name"},
	{600, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "not done yet"},
	{700, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS",
	 "a kernel accessed memory that is not there"},
	{701, "cudaErrorLaunchOutOfResources", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
	 "no threads or memory for the kernel"},
	{702, "cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT",
	 "all threads of a block wait for each other"},
	{710, "cudaErrorAssert", "CUDA_ERROR_ASSERT", "an assertion of a kernel failed"},
	{712, "cudaErrorHostMemoryAlreadyRegistered", "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
	 "the memory is registered already"},
	{713, "cudaErrorHostMemoryNotRegistered", "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
	 "the address is not the begin of registered memory"},
	{714, "cudaErrorHardwareStackError", "CUDA_ERROR_HARDWARE_STACK_ERROR",
	 "the stack of a CUDA thread overflowed"},
	{715, "cudaErrorIllegalInstruction", "CUDA_ERROR_ILLEGAL_INSTRUCTION",
	 "an instruction of a kernel is not valid, or a thread is not in the mask of its warp "
	 "operation"},
	{716, "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS",
	 "an address is not aligned"},
	{719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED",
	 "a kernel trapped or divided by zero"},
	{800, "cudaErrorNotPermitted", "CUDA_ERROR_NOT_PERMITTED",
	 "not permitted in a kernel or in a function of cudaLaunchHostFunc()"},
	{801, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "not supported"},
	{999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "unknown error"},
};
enum { NUM_ERRORS = sizeof(errors) / sizeof(*errors) };

int error_driver(int error)
{
	for (int i = 0; i < NUM_ERRORS; i++)
		if (errors[i].number == error)
			return errors[i].driver ? error : 1;
	return 999;
}

const char *error_driver_name(int error)
{
	for (int i = 0; i < NUM_ERRORS; i++)
		if (errors[i].number == error)
			return errors[i].driver;
	return NULL;
}

const char *error_text(int error)
{
	for (int i = 0; i < NUM_ERRORS; i++)
		if (errors[i].number == error)
			return errors[i].text;
	return NULL;
}

DPA_GPU_API const char *cudaGetErrorName(cudaError_t error)
{
	for (int i = 0; i < NUM_ERRORS; i++)
		if (errors[i].number == (int)error)
			return errors[i].runtime;
	return "unrecognized error code";
}

DPA_GPU_API const char *cudaGetErrorString(cudaError_t error)
{
	const char *text = error_text((int)error);

	return text ? text : "unrecognized error code";
}

DPA_GPU_API cudaError_t cudaGetLastError(void)
{
	int ret = gpu_start();

	return (cudaError_t)(ret ? ret : gpu_take_last(true));
}

DPA_GPU_API cudaError_t cudaPeekAtLastError(void)
{
	int ret = gpu_start();

	return (cudaError_t)(ret ? ret : gpu_take_last(false));
}
