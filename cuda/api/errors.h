/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* errors.h - what the driver's API needs of the table of errors. */
#ifndef DPA_CUDA_API_ERRORS_H
#define DPA_CUDA_API_ERRORS_H

/* The CUresult for a number of cudaError_t. */
int error_driver(int error);
/* NULL: no such error. */
const char *error_driver_name(int error);
const char *error_text(int error);

#endif
