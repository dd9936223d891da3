/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* error.c - names and phrases of doca_error_t. */
#include <doca_error.h>

#define ERRORS(X)                                                                                  \
	X(DOCA_SUCCESS, "Success")                                                                 \
	X(DOCA_ERROR_UNKNOWN, "Unknown error")                                                     \
	X(DOCA_ERROR_NOT_PERMITTED, "Operation not permitted")                                     \
	X(DOCA_ERROR_IN_USE, "Resource already in use")                                            \
	X(DOCA_ERROR_NOT_SUPPORTED, "Operation not supported")                                     \
	X(DOCA_ERROR_AGAIN, "Resource temporarily unavailable, try again")                         \
	X(DOCA_ERROR_INVALID_VALUE, "Invalid input")                                               \
	X(DOCA_ERROR_NO_MEMORY, "Memory allocation failure")                                       \
	X(DOCA_ERROR_INITIALIZATION, "Resource initialization failure")                            \
	X(DOCA_ERROR_TIME_OUT, "Timer expired waiting for resource")                               \
	X(DOCA_ERROR_SHUTDOWN, "Shut down in process or completed")                                \
	X(DOCA_ERROR_CONNECTION_RESET, "Connection reset by peer")                                 \
	X(DOCA_ERROR_CONNECTION_ABORTED, "Connection aborted")                                     \
	X(DOCA_ERROR_CONNECTION_INPROGRESS, "Connection in progress")                              \
	X(DOCA_ERROR_NOT_CONNECTED, "Not Connected")                                               \
	X(DOCA_ERROR_NO_LOCK, "Unable to acquire required lock")                                   \
	X(DOCA_ERROR_NOT_FOUND, "Resource Not Found")                                              \
	X(DOCA_ERROR_IO_FAILED, "Input/Output Operation Failed")                                   \
	X(DOCA_ERROR_BAD_STATE, "Bad State")                                                       \
	X(DOCA_ERROR_UNSUPPORTED_VERSION, "Unsupported version")                                   \
	X(DOCA_ERROR_OPERATING_SYSTEM, "Operating system call failure")                            \
	X(DOCA_ERROR_DRIVER, "DOCA Driver call failure")                                           \
	X(DOCA_ERROR_UNEXPECTED, "An unexpected scenario was detected")                            \
	X(DOCA_ERROR_ALREADY_EXIST, "Resource already exist")                                      \
	X(DOCA_ERROR_FULL, "No more space in resource")                                            \
	X(DOCA_ERROR_EMPTY, "No entry is available in resource")                                   \
	X(DOCA_ERROR_IN_PROGRESS, "Operation is in progress")                                      \
	X(DOCA_ERROR_TOO_BIG, "Requested operation too big to be contained")                       \
	X(DOCA_ERROR_AUTHENTICATION, "Authentication failure")                                     \
	X(DOCA_ERROR_BAD_CONFIG, "Configuration is not valid")                                     \
	X(DOCA_ERROR_SKIPPED, "Result is valid, but some previous output data was dropped")

static const struct {
	const char *name, *descr;
} texts[] = {
#define X(e, d) [e] = {#e, d},
	ERRORS(X)
#undef X
};

static const char unknown[] = "unrecognized error code";

const char *doca_error_get_name(doca_error_t error)
{
	return (unsigned int)error < sizeof(texts) / sizeof(texts[0]) ? texts[error].name : unknown;
}

const char *doca_error_get_descr(doca_error_t error)
{
	return (unsigned int)error < sizeof(texts) / sizeof(texts[0]) ? texts[error].descr
								      : unknown;
}
