/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * side.h - common part of the programs here: a server and a client, RDMA connections on the GPU
 * data path by export, memory of both, and a TCP connection beside them.
 */
#ifndef BENCH_GPU_SIDE_H
#define BENCH_GPU_SIDE_H

#include <stddef.h>
#include <stdint.h>
#include <cuda_runtime.h>
#include <doca_buf_array.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_gpunetio.h>
#include <doca_log.h>
#include <doca_mmap.h>
#include <doca_rdma.h>

struct side_options {
	const char *gpu, *device;
	const char *server; /* NULL: this is the server */
	uint16_t port;
	bool host_memory; /* CPU_GPU instead of GPU */
	size_t bytes;	  /* of the memory */
	uint32_t queue;	  /* operations */
	uint16_t conns;	  /* connections; 0: 1 */
};

struct side {
	struct side_options opt;
	int peer; /* TCP */
	struct doca_dev *dev;
	struct doca_gpu *gpu;
	struct doca_rdma *rdma;
	struct doca_ctx *ctx;
	uint32_t conn_id;	     /* of the first connection; those of the others follow */
	struct doca_gpu_dev_rdma *k; /* for kernels */
	uint8_t *mem;		     /* for kernels */
	struct doca_mmap *map, *peer_map;
};

/* An array of n elements over one of the maps. */
struct side_array {
	struct doca_buf_arr *arr;
	struct doca_gpu_buf_arr *k;
};

/* Each ends the program with a line on stderr if it fails. */
void side_need(doca_error_t ret, const char *what);
void side_need_cuda(cudaError_t ret, const char *what);
/* Options -g GPU -d DEVICE [-c SERVER] [-p PORT] [-m gpu|host]; the index of the next argument. */
int side_parse(int argc, char **argv, struct side_options *opt);
void side_open(struct side *s, const struct side_options *opt);
void side_close(struct side *s);
struct side_array side_array_make(struct side *s, struct doca_mmap *map, size_t n, size_t size);
void side_array_free(struct side_array *a);
/* Send bytes to the peer, and receive them. False: the peer has gone. */
bool side_tell(struct side *s, const void *p, size_t n);
bool side_hear(struct side *s, void *p, size_t n);

#endif
