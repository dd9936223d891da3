/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * memory.h - memory of the stand-in's GPU, and registered memory of the host.
 *
 * GPU memory is one memfd, mapped once for programs and once more for copies. With
 * DPACUDA_MEMORY=hidden only kernels can access the first mapping (memory_hidden()). All functions
 * may run in any thread, except threads of kernels.
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

/* Allocate memory. Result: 0 or a number of cudaError_t. */
int memory_alloc(enum region_kind kind, size_t size, unsigned int flags, void **ptr);
int memory_free(void *ptr, bool host);
int memory_register(void *ptr, size_t size, unsigned int flags);
int memory_unregister(void *ptr);
/* Free all GPU memory and drop all other regions: cudaDeviceReset(). */
void memory_reset(void);
/* Find the region that contains addr; false: none. */
bool memory_find(const void *addr, struct region *found);
void memory_info(size_t *free, size_t *total);

/*
 * Return the address that a copy may access: the same one, or that of the second mapping for GPU
 * memory.
 */
void *memory_view(const void *addr);

/* Protection of GPU memory from the program's own threads. */
enum memory_mode {
	MEMORY_OPEN,   /* none */
	MEMORY_KEYS,   /* protection keys: only kernels' threads have access */
	MEMORY_TOGGLE, /* no access while no kernel runs */
};
enum memory_mode memory_mode(void);
/*
 * Give access to the calling thread, which runs kernels; also after a signal handler has removed
 * it.
 */
void memory_open(void);
/* Called before and after a kernel. */
void memory_kernel_begin(void);
void memory_kernel_end(void);

#endif
