/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rdma_write_bw - the bandwidth of RDMA writes that the threads of a kernel post, as ib_write_bw
 * measures it for the CPU: a list of writes, a commit, a wait, repeatedly; timed by events of the
 * stream.
 *
 *   rdma_write_bw -g GPU -d DEVICE [-c SERVER] [-p PORT] [-m gpu|host]
 *                 [-- [iterations [writes [first size [last size [span]]]]]]
 *
 * One queue, 2,048 iterations of 512 writes, 64 to 4,096 bytes. The client writes; the server
 * checks the bytes of each size. Each write has its own memory, or (span) all of them use the same
 * `span` bytes, as ib_write_bw does with a page; both sides need the same value. With 0 iterations
 * it continues until an operation fails: for tests that kill a side.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <vector>
#include <doca_gpunetio_dev_buf.cuh>
#include <doca_gpunetio_dev_rdma.cuh>
#include "side.h"

enum { WARM_UP = 32, WARM_UP_FIRST = 2048, MAX_SIZE = 65536 };

__global__ void rdma_write_bw(struct doca_gpu_dev_rdma *rdma, uint32_t conn, int num_iter,
			      size_t msg_size, const struct doca_gpu_buf_arr *local_arr,
			      const struct doca_gpu_buf_arr *remote_arr, uint32_t bufs, int *result)
{
	__shared__ int failed;
	struct doca_gpu_buf *local, *remote;
	uint32_t curr, mask, commits;

	doca_gpu_dev_buf_get_buf(local_arr, threadIdx.x % bufs, &local);
	doca_gpu_dev_buf_get_buf(remote_arr, threadIdx.x % bufs, &remote);
	if (threadIdx.x == 0)
		failed = 0;
	__syncthreads();
	for (int i = 0; (!num_iter || i < num_iter) && !failed; i++) {
		doca_gpu_dev_rdma_get_info(rdma, conn, &curr, &mask);
		doca_gpu_dev_rdma_write_weak(rdma, conn, remote, 0, local, 0, msg_size, 0,
					     DOCA_GPU_RDMA_WRITE_FLAG_NONE,
					     (curr + threadIdx.x) & mask);
		__syncthreads();
		if (threadIdx.x == 0) {
			failed = doca_gpu_dev_rdma_commit_weak(rdma, conn, blockDim.x);
			if (!failed)
				failed = doca_gpu_dev_rdma_wait_all(rdma, &commits);
		}
		__syncthreads();
	}
	if (threadIdx.x == 0)
		*result = failed;
}

struct run {
	struct side side;
	cudaStream_t stream;
	cudaEvent_t start, end;
	int *result; /* of the GPU */
	int iterations, writes;
	size_t first, last, span; /* span 0: each write has its own memory */
};

/* Return the number of different memory segments of the writes of this size. */
static int bufs_of(const struct run *r, size_t size)
{
	if (!r->span || r->span >= size * r->writes)
		return r->writes;
	return r->span < size ? 1 : (int)(r->span / size);
}

static int result_of(struct run *r)
{
	int v = 0;

	side_need_cuda(cudaMemcpy(&v, r->result, sizeof(v), cudaMemcpyDeviceToHost), "result");
	return v;
}

/* Return byte i of the payload of this size. */
static uint8_t byte_of(size_t size, size_t i)
{
	return (uint8_t)(size / 64 + i * 31 + i / 256);
}

static void fill(struct run *r, size_t size)
{
	std::vector<uint8_t> bytes(size * bufs_of(r, size));

	for (size_t i = 0; i < bytes.size(); i++)
		bytes[i] = byte_of(size, i);
	side_need_cuda(cudaMemcpyAsync(r->side.mem, bytes.data(), bytes.size(), cudaMemcpyDefault,
				       r->stream),
		       "bytes to write");
	side_need_cuda(cudaStreamSynchronize(r->stream), "bytes to write");
}

static bool check(struct run *r, size_t size)
{
	std::vector<uint8_t> bytes(size * bufs_of(r, size));

	side_need_cuda(cudaMemcpyAsync(bytes.data(), r->side.mem, bytes.size(), cudaMemcpyDefault,
				       r->stream),
		       "bytes that came");
	side_need_cuda(cudaStreamSynchronize(r->stream), "bytes that came");
	for (size_t i = 0; i < bytes.size(); i++)
		if (bytes[i] != byte_of(size, i)) {
			printf("byte %zu of %zu-byte writes: %u, not %u\n", i, size, bytes[i],
			       byte_of(size, i));
			return false;
		}
	return true;
}

static void launch(struct run *r, int iterations, size_t size, const struct side_array *local,
		   const struct side_array *remote)
{
	rdma_write_bw<<<1, r->writes, 0, r->stream>>>(r->side.k, r->side.conn_id, iterations, size,
						      local->k, remote->k,
						      (uint32_t)bufs_of(r, size), r->result);
	side_need_cuda(cudaGetLastError(), "launch");
}

/* Measure one size. False: an operation has failed. */
static bool measure(struct run *r, size_t size)
{
	struct side_array local = side_array_make(&r->side, r->side.map, r->writes, size);
	struct side_array remote = side_array_make(&r->side, r->side.peer_map, r->writes, size);
	const double writes = (double)r->iterations * r->writes;
	float ms = 0;

	fill(r, size);
	/* an idle GPU takes some 100 ms to reach its clock rate */
	launch(r, size == r->first && r->iterations > WARM_UP ? WARM_UP_FIRST : WARM_UP, size,
	       &local, &remote);
	side_need_cuda(cudaEventRecord(r->start, r->stream), "event");
	launch(r, r->iterations, size, &local, &remote);
	side_need_cuda(cudaEventRecord(r->end, r->stream), "event");
	side_need_cuda(cudaEventSynchronize(r->end), "kernel");
	side_need_cuda(cudaEventElapsedTime(&ms, r->start, r->end), "time");
	side_array_free(&local);
	side_array_free(&remote);
	if (result_of(r)) {
		printf(" %zu: %s\n", size, doca_error_get_descr((doca_error_t)result_of(r)));
		return false;
	}
	printf(" %-10zu %-12d %14.2f %14.6f %12.3f\n", size, r->iterations,
	       writes * size / ms / 1048.576, writes / ms / 1000, ms);
	fflush(stdout);
	return true;
}

static int be_client(struct run *r)
{
	bool ok = true;

	printf(" #bytes     #iterations    BW avg[MB/sec]  MsgRate[Mpps]   time[ms]\n");
	fflush(stdout);
	for (size_t size = r->first; size <= r->last && ok; size *= 2) {
		char answer = 0;

		ok = measure(r, size) && side_tell(&r->side, &size, sizeof(size)) &&
		     side_hear(&r->side, &answer, 1) && answer == 'y';
	}
	return ok ? 0 : 1;
}

/* Write until an operation fails. */
static int go_on(struct run *r)
{
	struct side_array local = side_array_make(&r->side, r->side.map, r->writes, r->first);
	struct side_array remote = side_array_make(&r->side, r->side.peer_map, r->writes, r->first);
	int failed;

	launch(r, 0, r->first, &local, &remote);
	printf("writing\n");
	fflush(stdout);
	side_need_cuda(cudaStreamSynchronize(r->stream), "kernel");
	failed = result_of(r);
	printf("the kernel has ended: %s\n", doca_error_get_descr((doca_error_t)failed));
	side_array_free(&local);
	side_array_free(&remote);
	return failed ? 0 : 1;
}

static int be_server(struct run *r)
{
	bool ok = true;
	size_t size;

	while (ok && side_hear(&r->side, &size, sizeof(size)) && size <= MAX_SIZE) {
		ok = check(r, size);
		side_tell(&r->side, ok ? "y" : "n", 1);
	}
	printf(ok ? "all bytes are right\n" : "bytes are wrong\n");
	return ok ? 0 : 1;
}

static long number(int argc, char **argv, int i, long otherwise)
{
	return i < argc ? strtol(argv[i], NULL, 0) : otherwise;
}

int main(int argc, char **argv)
{
	struct side_options opt = {};
	struct run r = {};
	int at, ret;

	opt.port = 18516;
	at = side_parse(argc, argv, &opt);
	r.iterations = (int)number(argc, argv, at, 2048);
	r.writes = (int)number(argc, argv, at + 1, 512);
	r.first = (size_t)number(argc, argv, at + 2, 64);
	r.last = (size_t)number(argc, argv, at + 3, 4096);
	r.span = (size_t)number(argc, argv, at + 4, 0);
	if (r.iterations < 0 || r.writes < 1 || r.writes > 1024 || r.first < 1 ||
	    r.last > MAX_SIZE || r.last < r.first) {
		fprintf(stderr, "iterations >= 0, 1 to 1024 writes, sizes 1 to %d\n", MAX_SIZE);
		return 2;
	}
	opt.bytes = r.last * r.writes;
	opt.queue = 1024;
	side_open(&r.side, &opt);
	side_need_cuda(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking), "stream");
	side_need_cuda(cudaEventCreate(&r.start), "event");
	side_need_cuda(cudaEventCreate(&r.end), "event");
	side_need_cuda(cudaMalloc((void **)&r.result, sizeof(int)), "memory");
	ret = !opt.server ? be_server(&r) : r.iterations ? be_client(&r) : go_on(&r);
	cudaFree(r.result);
	cudaEventDestroy(r.start);
	cudaEventDestroy(r.end);
	cudaStreamDestroy(r.stream);
	side_close(&r.side);
	return ret;
}
