/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* errors.h - the table of errors, for the driver API. */
#ifndef DPA_CUDA_API_ERRORS_H
#define DPA_CUDA_API_ERRORS_H

/* Return the CUresult for a number of cudaError_t. */
int error_driver(int error);
/* Return the name. NULL: no such error. */
const char *error_driver_name(int error);
const char *error_text(int error);

#endif
