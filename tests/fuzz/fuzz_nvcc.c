/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fuzz_nvcc.c - any text as preprocessed CUDA C++: it ends, with a text or a message. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/dpa-nvcc/translate.h"
#include "tools/text/text.h"

const char text_program[] = "fuzz_nvcc";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *messages;
	struct translate_options options = {.separate = size & 1};
	size_t len;

	if (!messages)
		messages = fopen("/dev/null", "w");
	free(translate((const char *)data, size, &options, messages, &len));
	return 0;
}
