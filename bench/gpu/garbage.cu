/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * garbage - a kernel that writes garbage into the queues of its connections: WQEs of random bytes,
 * good ones with a wrong word, invalid producer indices. Each connection but the first is spoiled
 * once; then the first one must still write, and memory that was not registered with the adapter
 * must be unchanged, on both sides.
 *
 *   garbage -g GPU -d DEVICE [-c SERVER] [-p PORT] [-m gpu|host] [-- [seed]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>
#include <doca_gpunetio_dev_buf.cuh>
#include <doca_gpunetio_dev_rdma.cuh>
#include "side.h"

enum { CONNS = 64, BYTES = 1 << 16, CANARY = 1 << 16, LOOKS = 4096 };
enum outcome { SILENT, GOOD, BAD, OUTCOMES };

__device__ __forceinline__ uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

__device__ __forceinline__ uint64_t *block_of(struct dpa_gpu_conn *c, uint32_t i)
{
	return (uint64_t *)(c->sq + (uint64_t)(i & ((1u << c->log_sq) - 1)) * DPA_GPU_WQEBB);
}

/* Write random words; or valid WQEs with one wrong word. */
__device__ __forceinline__ void spoil(struct dpa_gpu_conn *c, uint32_t n, bool half,
				      const struct dpa_gpu_op *op, uint64_t *rnd)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *w = block_of(c, i);

		if (half) {
			dpa_gpu_put(c, i, op);
			w[next_random(rnd) % 8] ^= 1ull << next_random(rnd) % 64;
			continue;
		}
		for (int j = 0; j < 8; j++)
			w[j] = next_random(rnd);
	}
}

/* One thread of the kernel, one connection. */
__global__ void garbage(struct doca_gpu_dev_rdma *rdma, uint64_t seed,
			const struct doca_gpu_buf_arr *local_arr,
			const struct doca_gpu_buf_arr *remote_arr, int *outcome)
{
	const uint32_t conn = threadIdx.x + 1;
	struct dpa_gpu_conn *c = (struct dpa_gpu_conn *)rdma->conns + conn;
	struct doca_gpu_buf *local, *remote;
	uint64_t rnd = seed * 0x9e3779b97f4a7c15ull + conn, word;
	struct dpa_gpu_op op;
	uint32_t n;
	bool copy;

	doca_gpu_dev_buf_get_buf(local_arr, conn, &local);
	doca_gpu_dev_buf_get_buf(remote_arr, conn, &remote);
	dpa_gpu_set_remote(&op, remote, 0);
	dpa_gpu_set_local(&op, local, 0, 64, &copy);
	op.opcode = DPA_GPU_OP_WRITE;
	op.imm = 0;
	n = 1 + (uint32_t)(next_random(&rnd) % 16);
	spoil(c, n, next_random(&rnd) & 1, &op, &rnd);
	word = n;
	switch (next_random(&rnd) % 6) {
	case 0:
		word = next_random(&rnd); /* any */
		break;
	case 1:
		word = n | next_random(&rnd) << 32;
		break;
	case 2:
		word = ~0ull >> 32; /* behind its present value */
		break;
	}
	__threadfence_system();
	*(volatile uint64_t *)c->word = word;
	outcome[conn] = SILENT;
	for (int look = 0; look < LOOKS && outcome[conn] != BAD; look++) {
		for (uint32_t i = 0; i < 32; i++) {
			const uint32_t last =
				dpa_gpu_load_at(dpa_gpu_cqe(c->cq, c->log_cq, i), DPA_GPU_CQE_LAST);

			if (dpa_gpu_cqe_is(last, c->log_cq, i))
				outcome[conn] = dpa_gpu_cqe_failed(last) ? BAD : GOOD;
		}
		DPA_GPU_RELAX();
	}
}

/* The first connection writes correctly. */
__global__ void good(struct doca_gpu_dev_rdma *rdma, const struct doca_gpu_buf_arr *local_arr,
		     const struct doca_gpu_buf_arr *remote_arr, int *outcome)
{
	struct doca_gpu_buf *local, *remote;

	doca_gpu_dev_buf_get_buf(local_arr, 0, &local);
	doca_gpu_dev_buf_get_buf(remote_arr, 0, &remote);
	outcome[0] = doca_gpu_dev_rdma_write_strong(rdma, 0, remote, 0, local, 0, 256, 0,
						    DOCA_GPU_RDMA_WRITE_FLAG_NONE);
	if (!outcome[0])
		outcome[0] = doca_gpu_dev_rdma_commit_strong(rdma, 0);
	if (!outcome[0])
		outcome[0] = doca_gpu_dev_rdma_wait_all(rdma, nullptr);
}

struct canary {
	uint8_t *gpu;
	std::vector<uint8_t> host;
};

static void make_canary(struct canary *c)
{
	c->host.assign(CANARY, 0x5a);
	side_need_cuda(cudaMalloc((void **)&c->gpu, CANARY), "memory");
	side_need_cuda(cudaMemset(c->gpu, 0x5a, CANARY), "memory");
}

static bool canary_lives(struct canary *c)
{
	std::vector<uint8_t> gpu(CANARY);

	side_need_cuda(cudaMemcpy(gpu.data(), c->gpu, CANARY, cudaMemcpyDeviceToHost), "memory");
	for (size_t i = 0; i < CANARY; i++)
		if (gpu[i] != 0x5a || c->host[i] != 0x5a)
			return false;
	return true;
}

static void print_outcomes(const std::vector<int> &outcome)
{
	int count[OUTCOMES] = {};

	for (int i = 1; i < CONNS; i++)
		count[outcome[i]]++;
	printf("%d connections: %d with an error completion, %d with good ones, %d with none\n",
	       CONNS - 1, count[BAD], count[GOOD], count[SILENT]);
}

static bool run_client(struct side *s, uint64_t seed)
{
	struct side_array local = side_array_make(s, s->map, CONNS, 256);
	struct side_array remote = side_array_make(s, s->peer_map, CONNS, 256);
	std::vector<int> outcome(CONNS);
	int *k;

	side_need_cuda(cudaMalloc((void **)&k, CONNS * sizeof(int)), "memory");
	garbage<<<1, CONNS - 1>>>(s->k, seed, local.k, remote.k, k);
	side_need_cuda(cudaDeviceSynchronize(), "garbage");
	good<<<1, 1>>>(s->k, local.k, remote.k, k);
	side_need_cuda(cudaDeviceSynchronize(), "good");
	side_need_cuda(cudaMemcpy(outcome.data(), k, CONNS * sizeof(int), cudaMemcpyDeviceToHost),
		       "outcomes");
	print_outcomes(outcome);
	if (outcome[0])
		printf("the first connection: %s\n",
		       doca_error_get_descr((doca_error_t)outcome[0]));
	cudaFree(k);
	side_array_free(&local);
	side_array_free(&remote);
	return !outcome[0];
}

int main(int argc, char **argv)
{
	struct side_options opt = {};
	struct canary canary;
	struct side s;
	uint64_t seed;
	char bye = 'y';
	bool ok = true;
	int at;

	opt.port = 18517;
	at = side_parse(argc, argv, &opt);
	seed = at < argc ? strtoull(argv[at], NULL, 0) : 1;
	opt.bytes = BYTES;
	opt.queue = 32;
	opt.conns = CONNS;
	side_open(&s, &opt);
	make_canary(&canary);
	if (opt.server) {
		printf("seed %llu\n", (unsigned long long)seed);
		ok = run_client(&s, seed);
		side_tell(&s, &bye, 1);
	} else {
		side_hear(&s, &bye, 1);
	}
	if (!canary_lives(&canary)) {
		printf("memory that was not given away has changed\n");
		ok = false;
	}
	printf(ok ? "nothing else was touched\n" : "failed\n");
	cudaFree(canary.gpu);
	side_close(&s);
	return ok ? 0 : 1;
}
