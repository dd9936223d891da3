/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* translate.h - translation of preprocessed CUDA C++ into C++. */
#ifndef DPA_NVCC_TRANSLATE_H
#define DPA_NVCC_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct translate_options {
	bool separate; /* -rdc=true: other files see the device's variables */
};

/*
 * Translate the text. Lines keep their numbers, so that messages and debuggers name those of the
 * program.
 *
 * messages: one line for each construct that is not supported. Result: the text, owned by the
 * caller, *out_len bytes; NULL if there was a message.
 */
char *translate(const char *text, size_t len, const struct translate_options *options,
		FILE *messages, size_t *out_len);

#endif
