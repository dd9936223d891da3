/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * memory.h - memory of the stand-in's GPU, and memory of the host that it is told of.
 *
 * GPU memory is one memfd, mapped once where programs see it and once more for copies. With
 * DPACUDA_MEMORY=hidden the first mapping cannot be reached but by kernels (memory_hidden()).
 * All functions may be called by any thread but those of kernels.
 */
#ifndef DPA_CUDA_RUN_MEMORY_H
#define DPA_CUDA_RUN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum region_kind {
	REGION_DEVICE,	   /* cudaMalloc() */
	REGION_HOST,	   /* cudaHostAlloc() */
	REGION_REGISTERED, /* cudaHostRegister() */
	REGION_MANAGED,	   /* cudaMallocManaged() */
};

struct region {
	char *base;
	size_t size;
	enum region_kind kind;
	unsigned int flags;
	uint64_t id; /* unique while the process lives */
};

/* Result: 0 or a number of cudaError_t. */
int memory_alloc(enum region_kind kind, size_t size, unsigned int flags, void **ptr);
int memory_free(void *ptr, bool host);
int memory_register(void *ptr, size_t size, unsigned int flags);
int memory_unregister(void *ptr);
/* Frees all GPU memory and forgets the rest: cudaDeviceReset(). */
void memory_reset(void);
/* The region that holds addr; false: none. */
bool memory_find(const void *addr, struct region *found);
void memory_info(size_t *free, size_t *total);

/* The address that a copy may touch: the same one, or that of the second mapping for GPU memory. */
void *memory_view(const void *addr);

/* How the program's own threads are kept away from GPU memory. */
enum memory_mode {
	MEMORY_OPEN,   /* not at all */
	MEMORY_KEYS,   /* protection keys: kernels' threads alone have access */
	MEMORY_TOGGLE, /* no access while no kernel runs */
};
enum memory_mode memory_mode(void);
/* The calling thread runs kernels: gives it access, also after a signal handler has taken it. */
void memory_open(void);
/* Around a kernel. */
void memory_kernel_begin(void);
void memory_kernel_end(void);

#endif
