/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Structures that host and device of echo.c share. */
#ifndef TEST_ECHO_H
#define TEST_ECHO_H

#include <stdint.h>

enum { ECHO_SIDES = 2, ECHO_CONNECTIONS = 2, ECHO_SLOTS = 4, ECHO_SLOT = 512, ECHO_RING = 64 };

/* One DPA thread with its RDMA context; in device memory. */
struct echo {
	uint64_t comp, rdma, event;
	uint32_t mmap;
	uint32_t slots; /* receives that are posted */
	uint32_t posted;
	uint32_t at[ECHO_RING]; /* by a receive's index, its slot: they end out of order */
	uint64_t total;		/* messages to answer */
	uint64_t count, activations, errors, empty;
	uint64_t from[ECHO_CONNECTIONS];
	uint8_t in[ECHO_SLOTS][ECHO_SLOT];
	uint8_t out[ECHO_CONNECTIONS][ECHO_SLOT];
};

#endif
