/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* translate.h - preprocessed CUDA C++ into C++. */
#ifndef DPA_NVCC_TRANSLATE_H
#define DPA_NVCC_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct translate_options {
	bool separate; /* -rdc=true: variables of the device are seen by other files */
};

/*
 * Translates the text. Lines stay where they are, so that messages and debuggers name the program's own.
 *
 * messages: one line for each thing that is not supported. Result: the text, owned by the caller, *out_len
 * bytes; NULL if there was a message.
 */
char *translate(const char *text, size_t len, const struct translate_options *options,
		FILE *messages, size_t *out_len);

#endif
