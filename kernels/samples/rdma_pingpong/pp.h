/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pp.h - data for the thread of each side. */
#ifndef DPA_SAMPLE_PP_H
#define DPA_SAMPLE_PP_H

#include <stdint.h>

/* Arguments of an RPC, by value. */
struct pp_way {
	uint64_t dpa, rdma, comp, event;
	uint32_t connection;
	uint8_t is_ping;
};

struct pp_bufs {
	uint64_t send, recv; /* one number of 8 bytes each, in the heap */
	uint32_t mmap;
};

/* In the DPA's heap. */
struct pp_end {
	struct pp_way way;
	struct pp_bufs bufs;
	uint64_t rounds;
	uint64_t next; /* the next expected number */
	uint64_t failed, activations;
};

#endif
