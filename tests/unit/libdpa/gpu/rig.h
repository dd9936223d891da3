/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rig.h - two RDMA contexts on the GPU data path, in one process, with memory that both share. */
#ifndef TEST_GPU_RIG_H
#define TEST_GPU_RIG_H

#define DOCA_ALLOW_EXPERIMENTAL_API
#include <criterion/criterion.h>
#include <doca_buf_array.h>
#include <doca_ctx.h>
#include <doca_gpunetio.h>
#include <doca_mmap.h>
#include <doca_rdma.h>
#include "fake_cuda.h"
#include "kernels.h"

#define OK(call)       cr_assert_eq((call), DOCA_SUCCESS)
#define IS(call, code) cr_assert_eq((call), DOCA_ERROR_##code)

enum {
	RIG_CONNS = 2,
	RIG_QUEUE = 16,
	RIG_ELEMS = 64,
	RIG_ELEM = 8192,
	RIG_MEM = RIG_ELEMS * RIG_ELEM
};

struct side {
	struct doca_rdma *rdma;
	struct doca_ctx *ctx;
	struct doca_rdma_connection *conn[RIG_CONNS];
	struct doca_gpu_dev_rdma *k; /* for kernels */
	struct doca_gpu_dev_rdma_r *kr;
	uint8_t *mem, *cpu;
	struct doca_mmap *map, *other; /* its own, the peer's */
	struct doca_buf_arr *arr, *remote_arr;
	struct doca_gpu_buf_arr *local, *remote; /* for kernels */
};

struct rig {
	struct doca_dev *dev;
	struct doca_gpu *gpu;
	struct side a, b;
};

/* Make two contexts with RIG_CONNS connections; type: of their memory. */
void rig_up(struct rig *r, enum doca_gpu_mem_type type);
void rig_down(struct rig *r);
/* Make a context that is not started. */
void side_make(struct rig *r, struct side *s);
void side_connect(struct side *a, struct side *b, int i);

/* Make an operation from element `from` of a side to element `to` of the other. */
static inline struct k_op op_of(struct side *s, uint32_t conn, int from, int to, size_t length)
{
	return (struct k_op){.conn = conn,
			     .local = k_buf(s->local, (uint64_t)from),
			     .remote = k_buf(s->remote, (uint64_t)to),
			     .length = length};
}

static inline uint8_t *elem(struct side *s, int i)
{
	return s->cpu + (size_t)i * RIG_ELEM;
}

#endif
