/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernels.h - structures shared by host and device of the tests of this folder. */
#ifndef TEST_SYNC_KERNELS_H
#define TEST_SYNC_KERNELS_H

#include "../kernels.h"

/* A program that run_commands carries out. */
enum command_op {
	END, /* finish */
	COPY,
	COPY_BUFS, /* dst, src: addresses of bufs */
	WAIT_GT,   /* dst: event, src: value */
	WAIT_NE,
	TAKE,  /* length elements of comp2 into log; blocks */
	STORE, /* src at address dst, as 8 bytes */
	MARK,  /* adds to seen */
};

struct command {
	uint32_t op, flags, dst_key, src_key;
	uint64_t dst, src, length;
};

struct element {
	uint32_t type, user_data;
};

/* In device memory; words that both write, by atomics. */
struct sync_shared {
	struct shared s; /* comp: the completion context of the thread */
	uint64_t se, se2;
	uint64_t value, mask;
	uint64_t seen;
	uint64_t async_ops;
	struct command commands[32];
	uint64_t num_log; /* written after the elements */
	struct element log[64];
};

#endif
