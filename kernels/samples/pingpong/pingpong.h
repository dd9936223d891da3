/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pingpong.h - the device memory that both parts of the server share. */
#ifndef DPA_SAMPLE_PINGPONG_H
#define DPA_SAMPLE_PINGPONG_H

#include <stdint.h>

struct pingpong {
	/* set by the host before the thread runs */
	uint64_t comp, qp; /* handles */
	uint64_t buf;	   /* registered memory: receives go into it, sends come from it */
	uint32_t lkey;
	uint32_t size; /* bytes of a message */
	uint64_t iters;
	uint64_t rx_depth; /* number of receives to keep posted */
	uint64_t posted;   /* number of them that are posted */
	/* set by the device */
	uint64_t received, sent;
	uint64_t activations;
	uint64_t error; /* ibv_wc_status of the completion that ended the thread */
};

#endif
