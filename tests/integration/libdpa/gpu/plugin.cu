/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin - the protocol of a collective library's network plug-in, over several connections of a
 * context. All progress is made by kernels, which are launched for a few steps each.
 *
 *   receiver of connection c                      sender of connection c
 *   recv_weak(NULL, 0), recv_commit_weak
 *   write_weak: "ready", address, key  ---------> spins on "ready" in its own memory
 *                                                 buf_create(address, key)
 *                                        <------- write_weak, send_weak(NULL, 0, step): commit(2)
 *                                        <------- or write_weak with the step: commit(1)
 *                                        <------- or send_weak(NULL, 0, step) alone: commit(1)
 *   recv_wait_all(NB): step, connection           wait_all: the commits
 *
 * Even connections have the client as their sender, odd ones the server. Warp c drives connection
 * c; one thread waits for all of them. A sender has the address and key of "ready" only.
 *
 *   plugin -g GPU -d DEVICE [-c SERVER] [-p PORT] [-m gpu|host]
 *          [-- [steps [bytes [connections [peers]]]]]
 *
 * With more than one peer, for tests that kill a side: the exchange with each peer but the last one
 * continues until the peer ends. The host sets `abort` then, as libraries do, an operation on each
 * connection must fail, and the next peer is served. 0 peers: without end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <doca_gpunetio_dev_buf.cuh>
#include <doca_gpunetio_dev_rdma.cuh>
#include "side.h"

enum { WARP = 32, MAX_CONNS = 16, MAX_BYTES = 1 << 14, PER_LAUNCH = 8 };

/* What the receiver tells the sender, 32 bytes; `ready` is the step plus 1. */
struct ready {
	uint64_t addr;
	uint32_t key, size;
	uint32_t ready, rsvd[3];
};

/* The memory of a connection. */
struct channel {
	uint8_t out[MAX_BYTES], in[MAX_BYTES]; /* to send from, to receive into */
	struct ready from_peer, to_peer;
	uint8_t rsvd[4096 - 2 * sizeof(struct ready)];
};

enum wrong { RIGHT, CALL, COMMITS, STEP, CONNECTION, DATA };

struct result {
	uint32_t wrong, conn, step, got;
};

struct plugin {
	struct doca_gpu_dev_rdma *rdma;
	const struct doca_gpu_buf_arr *local, *remote; /* an element for each channel */
	struct channel *ch;
	uint32_t ids[MAX_CONNS]; /* indices of the connections for kernels */
	uint32_t conns, bytes;
	uint32_t client;       /* 1: sends on even connections */
	const uint32_t *abort; /* written by the host: the peer has ended */
	struct result *r;
};

__device__ __forceinline__ uint8_t byte_of(uint32_t conn, uint32_t step, uint32_t i)
{
	return (uint8_t)(conn * 59 + step * 7 + i * 31 + (i >> 8));
}

/* The number of bytes of a step: those of the command line, none, or a few. */
__device__ __forceinline__ uint32_t bytes_of(const struct plugin *p, uint32_t step)
{
	return step % 3 == 1 ? 0 : step % 3 == 2 ? p->bytes / 8 : p->bytes;
}

__device__ __forceinline__ bool sends(const struct plugin *p, uint32_t conn)
{
	return (conn & 1) != p->client;
}

__device__ void fail(const struct plugin *p, uint32_t wrong, uint32_t conn, uint32_t step,
		     uint32_t got)
{
	if (atomicCAS(&p->r->wrong, 0u, wrong))
		return;
	p->r->conn = conn;
	p->r->step = step;
	p->r->got = got;
}

__device__ __forceinline__ bool failed(const struct plugin *p)
{
	return *(volatile uint32_t *)&p->r->wrong != RIGHT || *(const volatile uint32_t *)p->abort;
}

/* ------------------------------------------------------------------ receiver */

/* Receives without memory for the connections that this side receives on. */
__device__ int offer(const struct plugin *p)
{
	struct doca_gpu_dev_rdma_r *recv;
	uint32_t at, mask, n = 0;
	int ret = doca_gpu_dev_rdma_get_recv(p->rdma, &recv);

	if (!ret)
		ret = doca_gpu_dev_rdma_recv_get_info(recv, &at, &mask);
	for (uint32_t c = 0; c < p->conns && !ret; c++)
		if (!sends(p, c))
			ret = doca_gpu_dev_rdma_recv_weak(recv, nullptr, 0, 0, 0,
							  (at + n++) & mask);
	return ret ? ret : doca_gpu_dev_rdma_recv_commit_weak(recv, n);
}

/* Show the sender where the bytes of this step go. */
__device__ int tell_ready(const struct plugin *p, uint32_t c, uint32_t step)
{
	volatile struct ready *own = &p->ch[c].to_peer;
	struct doca_gpu_buf *local, *remote;
	uint32_t at, mask, key;
	uintptr_t addr;
	int ret;

	doca_gpu_dev_buf_get_buf(p->local, c, &local);
	doca_gpu_dev_buf_get_buf(p->remote, c, &remote);
	doca_gpu_dev_buf_get_addr(local, &addr);
	doca_gpu_dev_buf_get_mkey(local, &key);
	own->addr = addr + offsetof(struct channel, in);
	own->key = key;
	own->size = bytes_of(p, step);
	own->ready = step + 1;
	ret = doca_gpu_dev_rdma_get_info(p->rdma, p->ids[c], &at, &mask);
	if (!ret)
		ret = doca_gpu_dev_rdma_write_weak(
			p->rdma, p->ids[c], remote, offsetof(struct channel, from_peer), local,
			offsetof(struct channel, to_peer), sizeof(struct ready), 0,
			DOCA_GPU_RDMA_WRITE_FLAG_NONE, at & mask);
	return ret ? ret : doca_gpu_dev_rdma_commit_weak(p->rdma, p->ids[c], 1);
}

/* -------------------------------------------------------------------- sender */

/* Wait for the peer's "ready". False: it does not come. */
__device__ bool await_ready(const struct plugin *p, uint32_t c, uint32_t step)
{
	const volatile struct ready *r = &p->ch[c].from_peer;

	while (r->ready != step + 1) {
		if (failed(p))
			return false;
		__nanosleep(100);
	}
	__threadfence_system();
	return true;
}

/* One of the three forms: two operations in a commit, one that signals, a signal alone. */
__device__ int put(const struct plugin *p, uint32_t c, uint32_t step)
{
	const volatile struct ready *r = &p->ch[c].from_peer;
	const uint32_t n = r->size, id = p->ids[c];
	const bool two = step % 3 == 0;
	struct doca_gpu_buf *local, *remote;
	uint32_t at, mask;
	int ret;

	doca_gpu_dev_buf_create(r->addr, r->key, &remote);
	doca_gpu_dev_buf_get_buf(p->local, c, &local);
	ret = doca_gpu_dev_rdma_get_info(p->rdma, id, &at, &mask);
	if (!ret && n)
		ret = doca_gpu_dev_rdma_write_weak(p->rdma, id, remote, 0, local, 0, n, step,
						   two ? DOCA_GPU_RDMA_WRITE_FLAG_NONE
						       : DOCA_GPU_RDMA_WRITE_FLAG_IMM,
						   at++ & mask);
	if (!ret && (two || !n))
		ret = doca_gpu_dev_rdma_send_weak(p->rdma, id, nullptr, 0, 0, step,
						  DOCA_GPU_RDMA_SEND_FLAG_IMM, at & mask);
	return ret ? ret : doca_gpu_dev_rdma_commit_weak(p->rdma, id, two && n ? 2 : 1);
}

/* ---------------------------------------------------------------------- both */

/* Take the messages of a step: one of each connection that this side receives on. */
__device__ void hear(const struct plugin *p, uint32_t step)
{
	uint32_t imm[MAX_CONNS], conn[MAX_CONNS], n, heard = 0, wanted = 0;
	struct doca_gpu_dev_rdma_r *recv;
	int ret = doca_gpu_dev_rdma_get_recv(p->rdma, &recv);

	for (uint32_t c = 0; c < p->conns; c++)
		wanted |= !sends(p, c) ? 1u << c : 0;
	while (heard != wanted && !ret && !failed(p)) {
		ret = doca_gpu_dev_rdma_recv_wait_all(recv, DOCA_GPU_RDMA_RECV_WAIT_FLAG_NB, &n,
						      imm, conn);
		for (uint32_t i = 0; i < n && !ret; i++) {
			uint32_t c = 0;

			while (c < p->conns && p->ids[c] != conn[i])
				c++;
			if (c == p->conns || !(wanted & ~heard & 1u << c))
				fail(p, CONNECTION, c, step, conn[i]);
			else if (imm[i] != step)
				fail(p, STEP, c, step, imm[i]);
			heard |= 1u << c;
		}
	}
	if (ret)
		fail(p, CALL, 0, step, (uint32_t)ret);
}

/* What one thread does for all connections between two barriers. */
__device__ void finish(const struct plugin *p, uint32_t step)
{
	uint32_t commits = 0;
	int ret = doca_gpu_dev_rdma_wait_all(p->rdma, &commits);

	if (ret)
		fail(p, CALL, 0, step, (uint32_t)ret);
	else if (commits != p->conns) /* a "ready" or a put of each */
		fail(p, COMMITS, 0, step, commits);
	else
		hear(p, step);
}

__device__ void fill(const struct plugin *p, uint32_t c, uint32_t step, uint32_t lane)
{
	volatile uint8_t *out = p->ch[c].out;

	for (uint32_t i = lane; i < bytes_of(p, step); i += WARP)
		out[i] = byte_of(c, step, i);
}

__device__ void check(const struct plugin *p, uint32_t c, uint32_t step, uint32_t lane)
{
	const volatile uint8_t *in = p->ch[c].in;

	for (uint32_t i = lane; i < bytes_of(p, step); i += WARP)
		if (in[i] != byte_of(c, step, i))
			fail(p, DATA, c, step, i);
}

__global__ void steps(struct plugin p, uint32_t first, uint32_t n)
{
	const uint32_t c = threadIdx.x / WARP, lane = threadIdx.x % WARP;
	int ret = 0;

	for (uint32_t step = first; step < first + n; step++) {
		if (threadIdx.x == 0 && (ret = offer(&p)) != 0)
			fail(&p, CALL, 0, step, (uint32_t)ret);
		if (sends(&p, c))
			fill(&p, c, step, lane);
		__threadfence_system();
		__syncthreads();
		if (lane == 0 && !failed(&p)) {
			if (!sends(&p, c))
				ret = tell_ready(&p, c, step);
			else if (await_ready(&p, c, step))
				ret = put(&p, c, step);
			if (ret)
				fail(&p, CALL, c, step, (uint32_t)ret);
		}
		__syncthreads();
		if (threadIdx.x == 0 && !failed(&p))
			finish(&p, step);
		__threadfence_system();
		__syncthreads();
		if (!failed(&p) && !sends(&p, c))
			check(&p, c, step, lane);
		__syncthreads();
		if (failed(&p))
			return;
	}
}

/* An operation on each connection, after the peer has ended: ok[c] is set if it fails. */
__global__ void probe(struct plugin p, uint32_t *ok)
{
	const uint32_t c = threadIdx.x;
	struct doca_gpu_buf *local, *remote;
	uint32_t at, mask;
	int ret;

	doca_gpu_dev_buf_get_buf(p.local, c, &local);
	doca_gpu_dev_buf_get_buf(p.remote, c, &remote);
	ret = doca_gpu_dev_rdma_get_info(p.rdma, p.ids[c], &at, &mask);
	if (!ret)
		ret = doca_gpu_dev_rdma_write_weak(p.rdma, p.ids[c], remote, 0, local, 0, 8, 0,
						   DOCA_GPU_RDMA_WRITE_FLAG_NONE, at & mask);
	if (!ret)
		ret = doca_gpu_dev_rdma_commit_weak(p.rdma, p.ids[c], 1);
	__syncthreads();
	if (c == 0)
		doca_gpu_dev_rdma_wait_all(p.rdma, nullptr);
	__syncthreads();
	if (!ret) /* it was posted: the outcome was found by wait_all() */
		ret = doca_gpu_dev_rdma_get_info(p.rdma, p.ids[c], &at, &mask);
	ok[c] = ret == DOCA_ERROR_IO_FAILED;
}

/* ---------------------------------------------------------------------- host */

static bool print(const struct result *r)
{
	static const char *const what[] = {"",
					   "a call failed",
					   "the commits of wait_all were",
					   "the immediate was",
					   "the message came on connection",
					   "wrong byte"};

	if (r->wrong == RIGHT)
		return true;
	printf("step %u, connection %u: %s %u%s%s\n", r->step, r->conn, what[r->wrong], r->got,
	       r->wrong == CALL ? ": " : "",
	       r->wrong == CALL ? doca_error_get_descr((doca_error_t)r->got) : "");
	return false;
}

static bool peer_has_ended(const struct side *s)
{
	char c;

	return recv(s->peer, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Wait for the kernel; abort it if the peer ends. */
static void wait_for_kernel(const struct side *s, uint32_t *abort)
{
	cudaError_t ret;

	while ((ret = cudaStreamQuery(0)) == cudaErrorNotReady) {
		if (peer_has_ended(s))
			__atomic_store_n(abort, 1u, __ATOMIC_RELEASE);
		usleep(500);
	}
	side_need_cuda(ret, "steps");
}

/* Launch `n` steps, PER_LAUNCH at a time; n is 0: until one fails. */
static struct result run_steps(struct side *s, struct plugin *p, uint32_t n, uint32_t *abort)
{
	struct result got = {};

	for (uint32_t at = 0; (!n || at < n) && got.wrong == RIGHT && !*abort; at += PER_LAUNCH) {
		steps<<<1, p->conns * WARP>>>(*p, at,
					      n && n - at < PER_LAUNCH ? n - at : PER_LAUNCH);
		wait_for_kernel(s, abort);
		side_need_cuda(cudaMemcpy(&got, p->r, sizeof(got), cudaMemcpyDeviceToHost),
			       "result");
		if (at == 0) {
			printf("running %d\n", (int)getpid());
			fflush(stdout);
		}
	}
	return got;
}

/* True if an operation on each connection ends in error. */
static bool all_fail(struct plugin *p)
{
	uint32_t ok[MAX_CONNS] = {}, failed = 0, *k;

	side_need_cuda(cudaMalloc((void **)&k, sizeof(ok)), "memory");
	probe<<<1, p->conns>>>(*p, k);
	side_need_cuda(cudaDeviceSynchronize(), "probe");
	side_need_cuda(cudaMemcpy(ok, k, sizeof(ok), cudaMemcpyDeviceToHost), "probe");
	cudaFree(k);
	for (uint32_t c = 0; c < p->conns; c++)
		failed += ok[c];
	printf("the peer has ended: error completions on %u of %u connections\n", failed, p->conns);
	fflush(stdout);
	return failed == p->conns;
}

static bool judge(struct side *s, struct plugin *p, uint32_t n, uint32_t *abort)
{
	const struct result got = run_steps(s, p, n, abort);

	if (!n && (got.wrong == RIGHT || (got.wrong == CALL && got.got == DOCA_ERROR_IO_FAILED)))
		return all_fail(p);
	if (!print(&got) || *abort)
		return false;
	printf("%u steps over %u connections are right\n", n, p->conns);
	return true;
}

static void make_plugin(struct side *s, struct plugin *p, uint32_t **abort)
{
	void *k;

	side_need(
		doca_gpu_mem_alloc(s->gpu, 4096, 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &k, (void **)abort),
		"memory");
	**abort = 0;
	p->abort = (const uint32_t *)k;
	p->rdma = s->k;
	p->ch = (struct channel *)s->mem;
	p->client = s->opt.server ? 1 : 0;
	for (uint32_t c = 0; c < p->conns; c++)
		p->ids[c] = s->conn_id + c;
	side_need_cuda(cudaMalloc((void **)&p->r, sizeof(*p->r)), "memory");
	side_need_cuda(cudaMemset(p->r, 0, sizeof(*p->r)), "memory");
	side_need_cuda(cudaMemset(s->mem, 0, s->opt.bytes), "memory");
	side_need_cuda(cudaDeviceSynchronize(), "memory");
}

static void free_plugin(struct side *s, struct plugin *p)
{
	cudaFree(p->r);
	side_need(doca_gpu_mem_free(s->gpu, (void *)p->abort), "doca_gpu_mem_free");
}

/* The whole exchange with a peer; n: steps, 0: until it ends. */
static bool serve_peer(struct side_options *opt, struct plugin p, uint32_t n)
{
	struct side_array local, remote;
	uint32_t *abort;
	char bye = 'y';
	struct side s;
	bool ok;

	side_open(&s, opt);
	local = side_array_make(&s, s.map, p.conns, sizeof(struct channel));
	remote = side_array_make(&s, s.peer_map, p.conns, sizeof(struct channel));
	p.local = local.k;
	p.remote = remote.k;
	make_plugin(&s, &p, &abort);
	/* the peer's memory is ready */
	ok = (side_tell(&s, &bye, 1) && side_hear(&s, &bye, 1)) || !n;
	ok = ok && judge(&s, &p, n, abort);
	side_tell(&s, &bye, 1);
	side_hear(&s, &bye, 1); /* the peer's kernel has ended, too */
	free_plugin(&s, &p);
	side_array_free(&local);
	side_array_free(&remote);
	side_close(&s);
	return ok;
}

static uint32_t number(int argc, char **argv, int i, uint32_t otherwise)
{
	return i < argc ? (uint32_t)atoi(argv[i]) : otherwise;
}

int main(int argc, char **argv)
{
	struct side_options opt = {};
	uint32_t n, peers, peer;
	struct plugin p = {};
	bool ok = true;
	int at;

	opt.port = 18519;
	at = side_parse(argc, argv, &opt);
	n = number(argc, argv, at, 60);
	p.bytes = number(argc, argv, at + 1, 4096);
	p.conns = number(argc, argv, at + 2, 4);
	peers = number(argc, argv, at + 3, 1);
	if (!n || p.bytes < 8 || p.bytes > MAX_BYTES || p.conns < 2 || p.conns > MAX_CONNS) {
		fprintf(stderr, "steps from 1, 8 to %d bytes, 2 to %d connections\n", MAX_BYTES,
			MAX_CONNS);
		return 2;
	}
	opt.bytes = p.conns * sizeof(struct channel);
	opt.queue = 64;
	opt.conns = (uint16_t)p.conns;
	for (peer = 1; ok && (!peers || peer <= peers); peer++)
		ok = serve_peer(&opt, p, peer == peers ? n : 0);
	return ok ? 0 : 1;
}
