/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * notify - data and a signal, as plug-ins of collective libraries use GPUNetIO: both sides write
 * into each other's memory and tell it by an empty SEND with an immediate, in one commit of two
 * operations. The peer's memory is known by address and key alone. A slot is written again when the
 * peer's signal shows that it has read it.
 *
 *   notify -g GPU -d DEVICE [-c SERVER] [-p PORT] [-m gpu|host] [-- [rounds [bytes]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <doca_gpunetio_dev_buf.cuh>
#include <doca_gpunetio_dev_rdma.cuh>
#include "side.h"

enum { THREADS = 64, RECVS = 16, SLOTS = 2, MAX_BYTES = 1 << 16 };

/* Data about the memory for the peer: 2 slots to send from, then 2 to receive into. */
struct address {
	uint64_t addr;
	uint32_t key, rsvd;
};

enum wrong { RIGHT, CALL, SIGNAL, DATA };

struct result {
	int wrong; /* enum wrong */
	int round;
	uint32_t got; /* CALL: doca_error_t; SIGNAL: the immediate; DATA: the byte's index */
};

__device__ __forceinline__ uint8_t byte_of(uint32_t side, uint32_t round, uint32_t i)
{
	return (uint8_t)(side * 101 + round * 7 + i * 31 + (i >> 8));
}

__device__ void fail(struct result *r, int wrong, int round, uint32_t got)
{
	r->round = round;
	r->got = got;
	r->wrong = wrong;
}

__global__ void look_up(const struct doca_gpu_buf_arr *arr, struct address *to)
{
	struct doca_gpu_buf *buf;
	uintptr_t addr;

	doca_gpu_dev_buf_get_buf(arr, 0, &buf);
	doca_gpu_dev_buf_get_addr(buf, &addr);
	doca_gpu_dev_buf_get_mkey(buf, &to->key);
	to->addr = addr;
}

/* Offer `n` receives without memory: each takes one immediate. */
__device__ int offer(struct doca_gpu_dev_rdma_r *recv, uint32_t n)
{
	uint32_t at, mask;
	int ret = doca_gpu_dev_rdma_recv_get_info(recv, &at, &mask);

	for (uint32_t i = 0; i < n && !ret; i++)
		ret = doca_gpu_dev_rdma_recv_weak(recv, nullptr, 0, 0, 0, (at + i) & mask);
	return ret ? ret : doca_gpu_dev_rdma_recv_commit_weak(recv, n);
}

/* The slot to the peer and its signal: a commit of two operations. */
__device__ int put(struct doca_gpu_dev_rdma *rdma, uint32_t conn, const struct address *peer,
		   struct doca_gpu_buf *from, uint32_t bytes, uint32_t round)
{
	const uint64_t slot = (uint64_t)(round % SLOTS) * MAX_BYTES;
	struct doca_gpu_buf *to;
	uint32_t at, mask;
	int ret;

	doca_gpu_dev_buf_create(peer->addr + SLOTS * MAX_BYTES + slot, peer->key, &to);
	ret = doca_gpu_dev_rdma_get_info(rdma, conn, &at, &mask);
	if (!ret)
		ret = doca_gpu_dev_rdma_write_weak(rdma, conn, to, 0, from, slot, bytes, 0,
						   DOCA_GPU_RDMA_WRITE_FLAG_NONE, at);
	if (!ret)
		ret = doca_gpu_dev_rdma_send_weak(rdma, conn, nullptr, 0, 0, round,
						  DOCA_GPU_RDMA_SEND_FLAG_IMM, (at + 1) & mask);
	return ret ? ret : doca_gpu_dev_rdma_commit_weak(rdma, conn, 2);
}

/*
 * Wait for the peer's signal of this round, and offer receives in place of those that were taken.
 * The peer may be a round ahead: *heard counts its signals.
 */
__device__ void hear(struct doca_gpu_dev_rdma_r *recv, uint32_t round, uint32_t *heard,
		     struct result *r)
{
	uint32_t imm[RECVS], n;
	int ret = 0;

	while (*heard <= round && !ret) {
		ret = doca_gpu_dev_rdma_recv_wait_all(recv, DOCA_GPU_RDMA_RECV_WAIT_FLAG_NB, &n,
						      imm);
		for (uint32_t i = 0; i < n && !ret; i++)
			if (imm[i] != (*heard)++) {
				fail(r, SIGNAL, (int)round, imm[i]);
				return;
			}
		if (n && !ret)
			ret = offer(recv, n);
	}
	if (ret)
		fail(r, CALL, (int)round, (uint32_t)ret);
}

__global__ void exchange(struct doca_gpu_dev_rdma *rdma, uint32_t conn, uint32_t side, uint8_t *mem,
			 const struct doca_gpu_buf_arr *local_arr, struct address peer,
			 uint32_t bytes, uint32_t rounds, struct result *r)
{
	struct doca_gpu_dev_rdma_r *recv;
	struct doca_gpu_buf *local;
	uint32_t heard = 0;
	int ret;

	doca_gpu_dev_rdma_get_recv(rdma, &recv);
	doca_gpu_dev_buf_get_buf(local_arr, 0, &local);
	for (uint32_t round = 0; round < rounds; round++) {
		volatile uint8_t *out = mem + (uint64_t)(round % SLOTS) * MAX_BYTES;
		volatile uint8_t *in = out + SLOTS * MAX_BYTES;

		for (uint32_t i = threadIdx.x; i < bytes; i += blockDim.x)
			out[i] = byte_of(side, round, i);
		__threadfence_system();
		__syncthreads();
		if (threadIdx.x == 0 && r->wrong == RIGHT) {
			ret = put(rdma, conn, &peer, local, bytes, round);
			if (!ret)
				ret = doca_gpu_dev_rdma_wait_all(rdma, nullptr);
			if (ret)
				fail(r, CALL, (int)round, (uint32_t)ret);
			else
				hear(recv, round, &heard, r);
		}
		__threadfence_system();
		__syncthreads();
		if (*(volatile int *)&r->wrong != RIGHT)
			return;
		for (uint32_t i = threadIdx.x; i < bytes; i += blockDim.x)
			if (in[i] != byte_of(!side, round, i))
				fail(r, DATA, (int)round, i);
		__syncthreads();
	}
}

__global__ void begin(struct doca_gpu_dev_rdma *rdma, struct result *r)
{
	struct doca_gpu_dev_rdma_r *recv;
	int ret;

	doca_gpu_dev_rdma_get_recv(rdma, &recv);
	ret = offer(recv, RECVS);
	*r = result{ret ? CALL : RIGHT, -1, (uint32_t)ret};
}

static struct address swap_addresses(struct side *s, const struct side_array *local)
{
	struct address own = {}, peer, *k;

	side_need_cuda(cudaMalloc((void **)&k, sizeof(*k)), "memory");
	look_up<<<1, 1>>>(local->k, k);
	side_need_cuda(cudaMemcpy(&own, k, sizeof(own), cudaMemcpyDeviceToHost), "address");
	cudaFree(k);
	if (!side_tell(s, &own, sizeof(own)) || !side_hear(s, &peer, sizeof(peer))) {
		fprintf(stderr, "exchange of addresses: the peer has ended\n");
		exit(1);
	}
	return peer;
}

static bool print(const struct result *r)
{
	static const char *const what[] = {"", "a call failed", "the signal was", "wrong byte"};

	if (r->wrong == RIGHT)
		return true;
	printf("round %d: %s %u%s%s\n", r->round, what[r->wrong], r->got,
	       r->wrong == CALL ? ": " : "",
	       r->wrong == CALL ? doca_error_get_descr((doca_error_t)r->got) : "");
	return false;
}

int main(int argc, char **argv)
{
	struct side_options opt = {};
	struct side_array local;
	struct result got = {}, *r;
	struct address peer;
	uint32_t rounds, bytes;
	char bye = 'y';
	struct side s;
	bool ok;
	int at;

	opt.port = 18518;
	at = side_parse(argc, argv, &opt);
	rounds = at < argc ? (uint32_t)atoi(argv[at]) : 100;
	bytes = at + 1 < argc ? (uint32_t)atoi(argv[at + 1]) : 4096;
	if (bytes > MAX_BYTES)
		return 2;
	opt.bytes = 2 * SLOTS * MAX_BYTES;
	opt.queue = 64;
	side_open(&s, &opt);
	local = side_array_make(&s, s.map, 1, opt.bytes);
	peer = swap_addresses(&s, &local);
	side_need_cuda(cudaMalloc((void **)&r, sizeof(*r)), "memory");
	begin<<<1, 1>>>(s.k, r);
	side_need_cuda(cudaDeviceSynchronize(), "receives");
	ok = side_tell(&s, &bye, 1) && side_hear(&s, &bye, 1); /* both have receives */
	exchange<<<1, THREADS>>>(s.k, s.conn_id, opt.server ? 1 : 0, s.mem, local.k, peer, bytes,
				 rounds, r);
	side_need_cuda(cudaDeviceSynchronize(), "exchange");
	side_need_cuda(cudaMemcpy(&got, r, sizeof(got), cudaMemcpyDeviceToHost), "result");
	ok = print(&got) && ok;
	if (ok)
		printf("%u rounds of %u bytes are right\n", rounds, bytes);
	side_tell(&s, &bye, 1);
	side_hear(&s, &bye, 1); /* the peer's kernel has ended, too */
	cudaFree(r);
	side_array_free(&local);
	side_close(&s);
	return ok ? 0 : 1;
}
