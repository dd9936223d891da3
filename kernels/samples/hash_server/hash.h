/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hash.h - messages between client and server, and from the hosts to their device code. */
#ifndef DPA_SAMPLE_HASH_H
#define DPA_SAMPLE_HASH_H

#include <stdint.h>

struct hash_question {
	uint32_t key, rsvd;
};

struct hash_answer {
	uint32_t key, found;
	uint64_t value;
};

/* Objects of one side; an argument of RPCs, and in the heap for the server's thread. */
struct hash_end {
	uint64_t dpa, rdma, comp;
	uint64_t table;		   /* for the server */
	uint64_t question, answer; /* addresses */
	uint32_t mmap;		   /* of both words */
	uint32_t connection;
};

struct hash_server {
	struct hash_end end;
	uint64_t questions, hits, activations, failed;
};

#endif
