/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* echo.h - structures that host and device of echo.c share. */
#ifndef TEST_ECHO_H
#define TEST_ECHO_H

#include <stdint.h>

enum { ECHO_SIDES = 2, ECHO_CONNECTIONS = 2, ECHO_SLOTS = 4, ECHO_SLOT = 20000 };

/* One DPA thread with its RDMA context; in device memory. */
struct echo {
	uint64_t comp, rdma, event;
	uint32_t mmap;
	uint32_t slots; /* receives that are posted: as many as the queue holds */
	/* their indices in the order of posts, wrapping around with count */
	uint32_t order[ECHO_SLOTS];
	uint64_t total;	 /* messages to answer */
	uint64_t turned; /* ended before an earlier post */
	uint64_t count, activations, errors, empty;
	uint64_t from[ECHO_CONNECTIONS];
	uint8_t in[ECHO_SLOTS][ECHO_SLOT];
	uint8_t out[ECHO_CONNECTIONS][ECHO_SLOT];
};

#endif
