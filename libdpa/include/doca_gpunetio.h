/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_gpunetio.h - GPUs whose kernels post to RDMA contexts: the host's side. The functions of
 * kernels are in doca_gpunetio_dev_*.cuh.
 *
 * Order: a CUDA context (cudaFree(0)), doca_gpu_create(); doca_ctx_set_datapath_on_gpu() of an RDMA
 * context that is not started; doca_ctx_start(), doca_rdma_get_gpu_handle(); connections as usual.
 * A context must be stopped, and memory freed, only while no kernel uses it.
 *
 * The CUDA driver (libcuda.so.1) is looked up when the first GPU is created: neither this header nor
 * the library needs it to build. docs/gpu.md has the rest.
 *
 * Context of all functions: any thread, but an object by one thread at a time. The current CUDA
 * context stays current.
 */
#ifndef DOCA_GPUNETIO_H_
#define DOCA_GPUNETIO_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_ctx.h> /* programs that include this header call it */
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Access memory that the other side changes: the value is not cached in a register. */
#define DOCA_GPUNETIO_VOLATILE(x) (*(volatile __typeof__(x) *)&(x))

struct doca_gpu;
struct doca_gpu_semaphore;
struct doca_gpu_semaphore_gpu;

enum doca_gpu_semaphore_status {
	DOCA_GPU_SEMAPHORE_STATUS_FREE = 0,
	DOCA_GPU_SEMAPHORE_STATUS_READY = 1,
	DOCA_GPU_SEMAPHORE_STATUS_DONE = 2,
	DOCA_GPU_SEMAPHORE_STATUS_HOLD = 3,
	DOCA_GPU_SEMAPHORE_STATUS_ERROR = 4,
	DOCA_GPU_SEMAPHORE_STATUS_EXIT = 5,
};

/* ------------------------------------------------------------------------- GPUs */

/*
 * Open a GPU for this library. The same GPU may be opened several times.
 * @gpu_bus_id: its PCI address as CUDA has it, e.g. "17:00.0"
 * @gpu_dev:    receives it; the caller destroys it
 * INVALID_VALUE: NULL; NOT_FOUND: no CUDA driver, or no such GPU; NO_MEMORY; DRIVER: the driver
 * refused its primary context.
 */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_create(const char *gpu_bus_id, struct doca_gpu **gpu_dev);

/*
 * Close a GPU, and free memory of it that was not freed. INVALID_VALUE: NULL; IN_USE: contexts,
 * arrays or semaphores of it exist.
 */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_destroy(struct doca_gpu *gpu_dev);

/* ----------------------------------------------------------------------- memory */

/*
 * Allocate memory that kernels and the adapter use.
 * @size:      bytes, at least 1
 * @alignment: bytes, a power of two; 0: that of a page
 * @mtype:     GPU: of the GPU. CPU_GPU: of the host, the GPU reads it over the bus. GPU_CPU: of the
 *             GPU, the CPU has it mapped; where the driver cannot map it so, memory of the host
 * @memptr_gpu: receives the address for kernels
 * @memptr_cpu: receives that of the CPU, NULL with GPU; may be NULL
 * INVALID_VALUE: NULL, no size, not a power of two, an unknown type; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_mem_alloc(struct doca_gpu *gpu_dev, size_t size,
						  size_t alignment, enum doca_gpu_mem_type mtype,
						  void **memptr_gpu, void **memptr_cpu);

/* Free it. INVALID_VALUE: NULL, or not an address of doca_gpu_mem_alloc() of this GPU. */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_mem_free(struct doca_gpu *gpu, void *memptr_gpu);

/*
 * Get a dma-buf of GPU memory, for doca_mmap_set_dmabuf_memrange().
 * @memptr_gpu: page-aligned, of doca_gpu_mem_alloc() or of CUDA
 * @size:       bytes, whole pages
 * @dmabuf_fd:  receives a descriptor; the caller closes it
 * INVALID_VALUE: NULL or no size; NOT_SUPPORTED: the driver exports none, or one that this adapter
 * cannot map (pass the pointer itself to doca_mmap_set_memrange() then).
 */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_dmabuf_fd(struct doca_gpu *gpu_dev, void *memptr_gpu,
						  size_t size, int *dmabuf_fd);

/* ------------------------------------------------------------------- semaphores */

/*
 * Create a semaphore: entries that kernels and the host pass to each other by their status. Order:
 * create, set_memory_type, set_items_num, set_custom_info (or not), start, get_gpu_handle.
 * INVALID_VALUE: NULL; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_semaphore_create(struct doca_gpu *gpu_dev,
							 struct doca_gpu_semaphore **semaphore);
/* Destroy it, stopping it first. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_semaphore_destroy(struct doca_gpu_semaphore *semaphore);
/*
 * Allocate the entries of a semaphore; all are FREE. INVALID_VALUE: NULL; BAD_STATE: started, or no
 * number of entries; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_semaphore_start(struct doca_gpu_semaphore *semaphore);
/* Stop a semaphore, and free its entries. INVALID_VALUE: NULL; BAD_STATE: not started. */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_semaphore_stop(struct doca_gpu_semaphore *semaphore);
/*
 * Set the type of memory for its entries; GPU unless set. INVALID_VALUE: NULL or an unknown type;
 * BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_semaphore_set_memory_type(
	struct doca_gpu_semaphore *semaphore, enum doca_gpu_mem_type mtype);
/*
 * Set the number of its entries, 1 to 2^20. INVALID_VALUE: NULL or another number; BAD_STATE:
 * started.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_gpu_semaphore_set_items_num(struct doca_gpu_semaphore *semaphore, uint32_t num_items);
/*
 * Add memory for the program to each entry, of its own type.
 * @nbytes: 1 to 2^20
 * INVALID_VALUE: NULL, another number, an unknown type; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_semaphore_set_custom_info(
	struct doca_gpu_semaphore *semaphore, uint32_t nbytes, enum doca_gpu_mem_type mtype);
/* Get the handle for kernels. INVALID_VALUE: NULL; BAD_STATE: not started. */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_semaphore_get_gpu_handle(
	struct doca_gpu_semaphore *semaphore, struct doca_gpu_semaphore_gpu **semaphore_gpu);
/*
 * Read or write the status of an entry by the CPU. INVALID_VALUE: NULL, no such entry, an unknown
 * status; BAD_STATE: not started; NOT_SUPPORTED: the entries lie in memory of type GPU.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_gpu_semaphore_set_status(struct doca_gpu_semaphore *semaphore_cpu, uint32_t idx,
			      enum doca_gpu_semaphore_status status);
DOCA_EXPERIMENTAL doca_error_t
doca_gpu_semaphore_get_status(struct doca_gpu_semaphore *semaphore_cpu, uint32_t idx,
			      enum doca_gpu_semaphore_status *status);
/*
 * Get the program's memory of an entry, as the CPU addresses it. NOT_FOUND: it has none; else as
 * above.
 */
DOCA_EXPERIMENTAL doca_error_t doca_gpu_semaphore_get_custom_info_addr(
	struct doca_gpu_semaphore *semaphore_cpu, uint32_t idx, void **custom_info);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_GPUNETIO_H_ */
