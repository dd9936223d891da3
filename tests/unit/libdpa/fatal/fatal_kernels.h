/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fatal_kernels.h - structures shared by the tests and their device code. */
#ifndef TEST_FATAL_KERNELS_H
#define TEST_FATAL_KERNELS_H

#include <stdint.h>

struct fatal_shared {
	uint64_t comp;	   /* handle of the completion context */
	uint64_t address;  /* to write to, or jump to */
	uint64_t begun;	   /* activations */
	uint64_t survived; /* code ran that should have been killed */
	uint64_t rounds;
	uint64_t event; /* handle of a sync event */
};

#endif
