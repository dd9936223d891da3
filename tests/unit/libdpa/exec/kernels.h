/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernels.h - structures shared by host and device of these tests. */
#ifndef TEST_EXEC_KERNELS_H
#define TEST_EXEC_KERNELS_H

#include <stdint.h>

#define ORDER 128

/* In device memory; written by kernels with atomics, read by the host. */
struct exec_shared {
	uint64_t comp; /* handles, written by the host */
	uint64_t notify, other, base;
	uint64_t go;
	uint64_t ran, ended;
	uint64_t ranks;	    /* bits */
	uint64_t num, rank; /* of the last one */
	uint64_t local;
	uint64_t order[ORDER]; /* ids in the order in which kernels ran */
	uint64_t at;
};

struct pair {
	uint32_t a;
	uint64_t b;
};

struct triple {
	float x;
	char c;
	uint16_t y[3];
};

struct big {
	uint64_t words[300];
};

#endif
