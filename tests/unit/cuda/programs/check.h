/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* check.h - for programs that any CUDA compiler takes: checks of the host that print and count. */
#ifndef DPA_TEST_CHECK_H
#define DPA_TEST_CHECK_H

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

static int check_failures;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition) && check_failures++ < 20)                                         \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                     \
	} while (0)

/* Check that the call returns this error. */
#define GIVES(error, call)                                                                         \
	do {                                                                                       \
		cudaError_t got_ = (call);                                                         \
		if (got_ != (error) && check_failures++ < 20)                                      \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                       \
			       cudaGetErrorName(got_));                                            \
	} while (0)

#define OK(call) GIVES(cudaSuccess, call)

/* Return the status of the program: 77 without a GPU. */
static inline int report(void)
{
	if (check_failures)
		printf("%d failed\n", check_failures);
	return check_failures != 0;
}

#endif
