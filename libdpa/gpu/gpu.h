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
	uint64_t asked;		  /* lists of copies */
	uint64_t calls, elements; /* of the driver */
	uint64_t bytes, ns, longest;
	uint64_t refused; /* batches that the driver did not take as such */
};

/* A GPU of the process. */
struct dpa_gpu_dev {
	const struct dpa_cuda *cuda;
	CUdevice device;
	CUcontext ctx; /* the primary one; held */
	uint32_t refs; /* under the list's lock */
	struct dpa_gpu_dev *next;
	pthread_mutex_t lock;	 /* of what follows */
	CUstream stream;	 /* of copies: waits for no other, and none waits for it */
	uint8_t *bounce;	 /* memory of the host that the GPU copies to and from */
	struct gpu_batch *batch; /* copies that are being collected */
	struct dpa_gpu_count count;
};

#define DPA_GPU_BOUNCE (4u << 20) /* bytes */

/* Memory of doca_gpu_mem_alloc(), or of the library's own. */
struct dpa_gpu_mem {
	enum doca_gpu_mem_type type;
	CUdeviceptr base; /* GPU */
	uint64_t gpu;	  /* as kernels address it */
	void *map;	  /* CPU_GPU, GPU_CPU */
	size_t size;	  /* bytes from base, or of map */
	struct dpa_gpu_mem *next;
};

struct doca_gpu {
	struct dpa_gpu_dev *dev;
	pthread_mutex_t lock;	  /* of what follows */
	struct dpa_gpu_mem *mems; /* of the user */
	struct dpa_gpu_mem
		*spare; /* of the library's, not in use: freeing GPU memory waits for kernels */
	uint32_t users; /* contexts, arrays, semaphores */
};

/* ---------------------------------------------------------------------- gpu.c */

/* Makes the GPU's context current, and the one before again. DRIVER: the driver refused. */
doca_error_t dpa_gpu_enter(const struct dpa_gpu_dev *dev);
void dpa_gpu_leave(const struct dpa_gpu_dev *dev);
/* The GPU by its number, held. NULL: the driver refused it, or no memory (the log has it). */
struct dpa_gpu_dev *dpa_gpu_dev_get(const struct dpa_cuda *cuda, CUdevice device);
void dpa_gpu_dev_put(struct dpa_gpu_dev *dev);
/* Counts an object in or out. */
void dpa_gpu_use(struct doca_gpu *gpu, int n);

/* ---------------------------------------------------------------------- mem.c */

/*
 * Memory of the host that CUDA may register: a shared mapping, whose pages stay those of this process
 * when it forks. size: bytes, whole pages. NULL: no memory. munmap() ends it.
 */
void *dpa_gpu_map_host(size_t size);
/* As doca_gpu_mem_alloc(), for the library's own: GPU, or CPU_GPU. NULL: no memory. */
struct dpa_gpu_mem *dpa_gpu_mem_new(struct doca_gpu *gpu, size_t size, size_t align,
				    enum doca_gpu_mem_type type);
void dpa_gpu_mem_free(struct doca_gpu *gpu, struct dpa_gpu_mem *mem);
/* GPU memory of the library's own, taken from what was given back before if there is such. */
struct dpa_gpu_mem *dpa_gpu_obj_new(struct doca_gpu *gpu, size_t size);
void dpa_gpu_obj_free(struct doca_gpu *gpu, struct dpa_gpu_mem *mem);
/* Copies n bytes to GPU memory; kernels may run. 0 or EIO. */
int dpa_gpu_write(struct dpa_gpu_dev *dev, uint64_t dst, const void *src, size_t n);

/* ---------------------------------------------------------------------- pin.c */

/*
 * Makes the pages of a range of the host's memory known to the GPUs; ranges may share pages. 0 or
 * errno. Context: the GPU is entered.
 */
int dpa_gpu_pin(const struct dpa_cuda *cuda, const void *addr, size_t length);
/* Undoes it. No kernel uses the range. */
void dpa_gpu_unpin(const struct dpa_cuda *cuda, const void *addr, size_t length);

/* ------------------------------------------------------------------ foreign.c */

/*
 * The GPU whose memory this is, held; NULL: it is the host's, or the process uses no GPU. *bad: it is
 * GPU memory, but not all of it, or its GPU cannot be used.
 */
struct dpa_gpu_dev *dpa_gpu_of_memory(const void *addr, size_t length, bool *bad);

/* Memory for the batch of a GPU; free() ends it. NULL: none. */
struct gpu_batch *dpa_gpu_batch_new(void);
/* Carries out n copies, as dpa_hw_cmd.h has it. 0 or EIO. Any thread; blocks. */
int dpa_gpu_copies(struct dpa_gpu_dev *dev, const struct dpa_foreign_copy *list, uint32_t n);
/* The same for regions; their argument is the GPU. */
extern const struct dpa_foreign_ops dpa_gpu_ops;
/* Logs what was copied, as information. */
void dpa_gpu_log_count(const struct dpa_gpu_dev *dev);

/* ----------------------------------------------------------------------- path.c */

/* Of a started RDMA context. */
struct dpa_gpu_path {
	struct doca_gpu *gpu;
	struct dpa_gpu_mem *obj; /* struct doca_gpu_dev_rdma and the connections */
	struct ibv_cq *recv_cq;
	struct dpa_cq_view recv_view;
	struct dpa_srq_view srq;
	bool pinned_cq, pinned_srq, pinned_db;
	struct dpa_gpu_link
		*ended; /* of connections that are gone: a kernel may still look at them */
};

/* Of a connection. */
struct dpa_gpu_link {
	struct dpa_gpu_link *next; /* of ended ones */
	struct ibv_qp *qp;	   /* of one that has ended */
	struct ibv_cq *cq;	   /* of its sends */
	struct dpa_cq_view view;
	struct dpa_qp_view qpv;
	struct dpa_gpu_mem *mem; /* the doorbell word, places of payloads */
	struct ibv_mr *mr;
	bool pinned_cq, pinned_sq, pinned_db, watched;
};

/* When the context starts: its SRQ is there. 0 or errno. */
int dpa_gpu_path_make(struct doca_rdma *rdma);
/* Its connections are gone. */
void dpa_gpu_path_unmake(struct doca_rdma *rdma);
/* Before and after the QP of a connection is made. 0 or errno. */
int dpa_gpu_link_make(struct doca_rdma_connection *c);
int dpa_gpu_link_bind(struct doca_rdma_connection *c);
/* Undoes the two, and destroys the QP if there is one: c->qp is NULL then. */
void dpa_gpu_link_unmake(struct doca_rdma_connection *c);
/* The QP is in RTS: kernels may post. 0 or errno. */
int dpa_gpu_link_show(struct doca_rdma_connection *c);
/* Kernels get errors from now on. The QP goes to the path, which destroys it at its end. */
void dpa_gpu_link_end(struct doca_rdma_connection *c);

#endif
