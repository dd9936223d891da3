/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* it.h - data shared by the target's host and its threads. */
#ifndef DPA_SAMPLE_IT_H
#define DPA_SAMPLE_IT_H

#include <stdint.h>

enum { IT_MESSAGES = 4, IT_IMMEDIATE = 0x1dea };

/* In the DPA's heap. Handles are those of the objects' device. */
struct it_target {
	/* set by the host */
	uint64_t dpa, rdma, comp, event, notify;
	uint64_t addr; /* address where messages of 8 bytes arrive, also in the heap */
	uint64_t expected;
	uint32_t mmap;
	/* set by the threads */
	uint32_t failed;
	uint64_t num;
	uint64_t value[IT_MESSAGES];
	uint32_t from[IT_MESSAGES]; /* connection ids */
	uint32_t immediate[IT_MESSAGES];
};

#endif
