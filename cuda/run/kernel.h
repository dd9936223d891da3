/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernel.h - a launch: its body, its grid, and the workers that run its blocks. */
#ifndef DPA_CUDA_RUN_KERNEL_H
#define DPA_CUDA_RUN_KERNEL_H

#include "../include/dpa_cuda/abi.h"
#include "gpu.h"

struct kernel {
	const struct dpa_cuda_body *body;
	void *closure; /* the body's state; owned */
	dim3 grid, block;
	size_t shared;	     /* dynamic shared memory, bytes */
	uint32_t threads;    /* of a block */
	uint64_t num_blocks; /* of the grid */
	struct kernel *next; /* list of kernels with blocks to place; under gpu.lock */
	uint64_t placed;     /* blocks that began or are about to; under gpu.lock */
	uint64_t workers;    /* workers that run a block; under gpu.lock */
	_Atomic bool
		abort; /* set once by a thread of the kernel that faults; read by all of them */
	_Atomic bool printed;
};

/*
 * Run the kernel on the device; blocks until its last block has ended. Called by the thread of a
 * stream.
 */
void kernel_run(struct kernel *k);
void kernel_free(struct kernel *k);

#endif
