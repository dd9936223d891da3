/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gpu.h - GPUs, their memory, and RDMA contexts whose data path is a kernel.
 *
 *   doca_gpu ----> dpa_gpu_dev: a GPU of the process, by its primary CUDA context
 *   doca_mmap of GPU memory --^
 *
 * Locks: dpa_gpu_dev.lock (one copy at a time) is taken last; the driver's own may be taken under it.
 */
#ifndef DPA_GPU_GPU_H
#define DPA_GPU_GPU_H

#include <pthread.h>
#include <stdbool.h>
#ifndef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_ALLOW_EXPERIMENTAL_API
#endif
#include <doca_gpunetio.h>
#include <dpa/dpa_gpu.h>
#include "../host/libdpa.h"
#include "cuda.h"

struct doca_rdma;
struct doca_rdma_connection;

/* Copies of a GPU, for the log. */
struct dpa_gpu_count {
	uint64_t asked;		  /* lists of copies requested */
	uint64_t calls, elements; /* calls of the driver, and their elements */
	uint64_t bytes, ns, longest;
	uint64_t refused; /* batches that the driver refused */
};

/* A GPU of the process. */
struct dpa_gpu_dev {
	const struct dpa_cuda *cuda;
	CUdevice device;
	CUcontext ctx; /* the primary context; referenced */
	uint32_t refs; /* under the list's lock */
	struct dpa_gpu_dev *next;
	pthread_mutex_t lock;	 /* protects the members below */
	CUstream stream;	 /* for copies: independent of all other streams */
	uint8_t *bounce;	 /* memory of the host that the GPU copies to and from */
	struct gpu_batch *batch; /* copies that are being collected */
	struct dpa_gpu_count count;
};

#define DPA_GPU_BOUNCE (4u << 20) /* bytes */

/* Memory of doca_gpu_mem_alloc(), or for the library itself. */
struct dpa_gpu_mem {
	enum doca_gpu_mem_type type;
	CUdeviceptr base; /* address on the GPU */
	uint64_t gpu;	  /* address for kernels */
	void *map;	  /* CPU_GPU, GPU_CPU: mapping */
	size_t size;	  /* bytes from base, or of map */
	struct dpa_gpu_mem *next;
};

struct doca_gpu {
	struct dpa_gpu_dev *dev;
	pthread_mutex_t lock;	  /* protects the members below */
	struct dpa_gpu_mem *mems; /* of the user */
	struct dpa_gpu_mem
		*spare; /* of the library, not in use: freeing GPU memory would wait for kernels */
	uint32_t users; /* contexts, arrays, semaphores */
};

/* ---------------------------------------------------------------------- gpu.c */

/* Make the GPU's context current; restore the previous one. DRIVER: the driver refused. */
doca_error_t dpa_gpu_enter(const struct dpa_gpu_dev *dev);
void dpa_gpu_leave(const struct dpa_gpu_dev *dev);
/*
 * Return a GPU by its number, with a reference. NULL: the driver refused it, or no memory (the log
 * has it).
 */
struct dpa_gpu_dev *dpa_gpu_dev_get(const struct dpa_cuda *cuda, CUdevice device);
void dpa_gpu_dev_put(struct dpa_gpu_dev *dev);
/* Count an object in or out. */
void dpa_gpu_use(struct doca_gpu *gpu, int n);

/* ---------------------------------------------------------------------- mem.c */

/*
 * Map memory of the host that CUDA may register: a shared mapping, whose pages this process keeps
 * when it forks. size: bytes, whole pages. NULL: no memory. Free it by munmap().
 */
void *dpa_gpu_map_host(size_t size);
/*
 * Allocate memory like doca_gpu_mem_alloc(), for the library itself: GPU, or CPU_GPU. NULL: no
 * memory.
 */
struct dpa_gpu_mem *dpa_gpu_mem_new(struct doca_gpu *gpu, size_t size, size_t align,
				    enum doca_gpu_mem_type type);
void dpa_gpu_mem_free(struct doca_gpu *gpu, struct dpa_gpu_mem *mem);
/* Allocate GPU memory for the library itself, from returned memory if there is some. */
struct dpa_gpu_mem *dpa_gpu_obj_new(struct doca_gpu *gpu, size_t size);
void dpa_gpu_obj_free(struct doca_gpu *gpu, struct dpa_gpu_mem *mem);
/* Copy n bytes to GPU memory; kernels may run meanwhile. 0 or EIO. */
int dpa_gpu_write(struct dpa_gpu_dev *dev, uint64_t dst, const void *src, size_t n);

/* ---------------------------------------------------------------------- pin.c */

/*
 * Register the pages of a range of host memory with the GPUs; ranges may share pages. 0 or errno.
 * Context: the GPU is entered.
 */
int dpa_gpu_pin(const struct dpa_cuda *cuda, const void *addr, size_t length);
/* Undo it. No kernel uses the range. */
void dpa_gpu_unpin(const struct dpa_cuda *cuda, const void *addr, size_t length);

/* ------------------------------------------------------------------ foreign.c */

/*
 * Return the GPU that owns this memory, with a reference. NULL: it is host memory, or the process
 * uses no GPU. *bad: only a part of it is GPU memory, or its GPU cannot be used.
 */
struct dpa_gpu_dev *dpa_gpu_of_memory(const void *addr, size_t length, bool *bad);

/* Allocate memory for the batch of a GPU; free it by free(). NULL: no memory. */
struct gpu_batch *dpa_gpu_batch_new(void);
/* Carry out n copies, as dpa_hw_cmd.h specifies. 0 or EIO. Any thread; blocks. */
int dpa_gpu_copies(struct dpa_gpu_dev *dev, const struct dpa_foreign_copy *list, uint32_t n);
/* The same as ops of foreign regions; their argument is the GPU. */
extern const struct dpa_foreign_ops dpa_gpu_ops;
/* Log the number of copies at level INFO. */
void dpa_gpu_log_count(const struct dpa_gpu_dev *dev);

/* ----------------------------------------------------------------------- path.c */

/* Kernel data path of a started RDMA context. */
struct dpa_gpu_path {
	struct doca_gpu *gpu;
	struct dpa_gpu_mem *obj; /* struct doca_gpu_dev_rdma and the connections */
	struct ibv_cq *recv_cq;
	struct dpa_cq_view recv_view;
	struct dpa_srq_view srq;
	bool pinned_cq, pinned_srq, pinned_db;
	struct dpa_gpu_link *ended; /* objects of ended connections: a kernel may still read them */
};

/* Kernel data path of a connection. */
struct dpa_gpu_link {
	struct dpa_gpu_link *next; /* next of the ended ones */
	struct ibv_qp *qp;	   /* QP of an ended one */
	struct ibv_cq *cq;	   /* CQ of its sends */
	struct dpa_cq_view view;
	struct dpa_qp_view qpv;
	struct dpa_gpu_mem *mem; /* the doorbell word and the places for payloads */
	struct ibv_mr *mr;
	bool pinned_cq, pinned_sq, pinned_db, watched;
};

/* Create it when the context starts: its SRQ exists. 0 or errno. */
int dpa_gpu_path_make(struct doca_rdma *rdma);
/* Free it. Its connections are gone. */
void dpa_gpu_path_unmake(struct doca_rdma *rdma);
/* Prepare before the QP of a connection is created; finish after it. 0 or errno. */
int dpa_gpu_link_make(struct doca_rdma_connection *c);
int dpa_gpu_link_bind(struct doca_rdma_connection *c);
/* Undo both, and destroy the QP if there is one: c->qp is NULL then. */
void dpa_gpu_link_unmake(struct doca_rdma_connection *c);
/* Publish the connection to kernels: the QP is in RTS. 0 or errno. */
int dpa_gpu_link_show(struct doca_rdma_connection *c);
/*
 * End the connection: kernels get errors from now on. The path owns the QP and destroys it at its
 * end.
 */
void dpa_gpu_link_end(struct doca_rdma_connection *c);

#endif
