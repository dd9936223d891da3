/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * abi.h - the interface between code compiled by dpa-nvcc and the stand-in's library.
 *
 * Not for programs: names and meanings may change with the version.
 */
#ifndef DPA_CUDA_ABI_H
#define DPA_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>
#include "../driver_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The body of a kernel in the compiler's form: a closure with the arguments of a launch. */
struct dpa_cuda_body {
	size_t size;
	void (*copy)(void *to, const void *from);
	void (*destroy)(void *closure);
	void (*call)(const void *closure); /* runs as one CUDA thread; copies the arguments first */
};

/*
 * Set the configuration between <<< and >>>, for the next dpa_cuda_launch() of the calling thread.
 */
void dpa_cuda_config(dim3 grid, dim3 block, size_t shared_mem, cudaStream_t stream);
/* Launch the body. Copies the closure. Errors: cudaGetLastError(). */
void dpa_cuda_launch(const struct dpa_cuda_body *body, const void *closure);

/* Calls a kernel by an array of pointers to its arguments, for cudaLaunchKernel(). */
struct dpa_cuda_entry {
	struct dpa_cuda_entry *next;
	const void *func;
	void (*call)(const void *func, void **args);
};
void dpa_cuda_register(struct dpa_cuda_entry *entry);

void *dpa_cuda_dynamic_shared(void);

/* Barriers of a block. Result: the number of threads whose predicate is true; 0 or 1 for and, or. */
enum { DPA_CUDA_BARRIER, DPA_CUDA_BARRIER_AND, DPA_CUDA_BARRIER_OR, DPA_CUDA_BARRIER_COUNT };
int dpa_cuda_barrier(int kind, int predicate);

/* Operations of the threads of a warp that the mask names. */
enum {
	DPA_CUDA_WARP_SYNC,
	DPA_CUDA_WARP_SHFL,
	DPA_CUDA_WARP_SHFL_UP,
	DPA_CUDA_WARP_SHFL_DOWN,
	DPA_CUDA_WARP_SHFL_XOR,
	DPA_CUDA_WARP_BALLOT,
	DPA_CUDA_WARP_ALL,
	DPA_CUDA_WARP_ANY,
	DPA_CUDA_WARP_UNI,
	DPA_CUDA_WARP_MATCH_ANY,
	DPA_CUDA_WARP_MATCH_ALL,
	DPA_CUDA_WARP_ADD,
	DPA_CUDA_WARP_MIN,
	DPA_CUDA_WARP_MAX,
	DPA_CUDA_WARP_MIN_SIGNED,
	DPA_CUDA_WARP_MAX_SIGNED,
	DPA_CUDA_WARP_AND,
	DPA_CUDA_WARP_OR,
	DPA_CUDA_WARP_XOR,
};
struct dpa_cuda_pair {
	uint64_t first, second;
};
struct dpa_cuda_pair dpa_cuda_warp(int op, uint32_t mask, uint64_t value, int arg, int width);

uint32_t dpa_cuda_lane(void); /* number of the calling thread in its warp */
uint64_t dpa_cuda_time(void); /* nanoseconds */
void dpa_cuda_sleep(unsigned int ns);
void dpa_cuda_trap(void) __attribute__((noreturn));
int dpa_cuda_printf(const char *fmt, ...);
/* for programs <assert.h> declares it, under the name that __assert_fail has there */
#ifndef __cplusplus
void dpa_cuda_assert_fail(const char *text, const char *file, unsigned int line,
			  const char *function) __attribute__((noreturn));
#endif

#ifdef __cplusplus
}
#endif
#endif
