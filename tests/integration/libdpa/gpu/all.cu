/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A kernel that calls the device functions of a version: for compilers. */
#include <doca_gpunetio_dev_buf.cuh>
#include <doca_gpunetio_dev_rdma.cuh>
#include <doca_gpunetio_dev_sem.cuh>

#if DPA_DOCA_API < 209
#define CONN
#else
#define CONN 0,
#endif
#define WR DOCA_GPU_RDMA_WRITE_FLAG_IMM
#define SND DOCA_GPU_RDMA_SEND_FLAG_IMM

__global__ void all(struct doca_gpu_dev_rdma *r, struct doca_gpu_buf_arr *arr,
		    struct doca_gpu_semaphore_gpu *sem, uint8_t *data, uint32_t *out)
{
	enum doca_gpu_semaphore_status status;
	struct doca_gpu_dev_rdma_r *q;
	struct doca_gpu_buf *a, *b;
	uint32_t at, mask;
	uintptr_t addr;
	uint64_t idx;
	void *p;

	doca_gpu_dev_buf_get_buf(arr, 1, &a);
	doca_gpu_dev_buf_get_addr(a, &addr);
	doca_gpu_dev_buf_get_mkey(a, &at);
	doca_gpu_dev_buf_create(addr, at, &b);
	doca_gpu_dev_rdma_get_info(r, CONN & at, &mask);
	doca_gpu_dev_rdma_write_weak(r, CONN b, 0, a, 0, 8, 1, WR, at & mask);
	doca_gpu_dev_rdma_write_strong(r, CONN b, 0, a, 0, 8, 1, WR);
	doca_gpu_dev_rdma_write_inline_weak(r, CONN b, 0, data, 8, 1, WR, at & mask);
	doca_gpu_dev_rdma_write_inline_strong(r, CONN b, 0, data, 8, 1, WR);
	doca_gpu_dev_rdma_read_weak(r, CONN b, 0, a, 0, 8, 0, at & mask);
	doca_gpu_dev_rdma_read_strong(r, CONN b, 0, a, 0, 8, 0);
	doca_gpu_dev_rdma_send_weak(r, CONN a, 0, 8, 1, SND, at & mask);
	doca_gpu_dev_rdma_send_strong(r, CONN a, 0, 8, 1, SND);
	doca_gpu_dev_rdma_send_inline_weak(r, CONN data, 8, 1, SND, at & mask);
	doca_gpu_dev_rdma_send_inline_strong(r, CONN data, 8, 1, SND);
#if DPA_DOCA_API < 209
	doca_gpu_dev_rdma_commit_weak(r, 1);
	doca_gpu_dev_rdma_commit_strong(r);
	doca_gpu_dev_rdma_flush(r);
#else
	doca_gpu_dev_rdma_commit_weak(r, 0, 1);
	doca_gpu_dev_rdma_commit_strong(r, 0);
	doca_gpu_dev_rdma_wait_all(r, out);
#endif
	doca_gpu_dev_rdma_get_recv(r, &q);
	doca_gpu_dev_rdma_recv_get_info(q, &at, &mask);
	doca_gpu_dev_rdma_recv_weak(q, a, 8, 0, 0, at & mask);
	doca_gpu_dev_rdma_recv_strong(q, nullptr, 0, 0, 0);
	doca_gpu_dev_rdma_recv_commit_weak(q, 1);
	doca_gpu_dev_rdma_recv_commit_strong(q);
	doca_gpu_dev_rdma_recv_wait_all(q, DOCA_GPU_RDMA_RECV_WAIT_FLAG_B, out, out);
	doca_gpu_dev_rdma_recv_wait_all(q, DOCA_GPU_RDMA_RECV_WAIT_FLAG_NB, out, out, out);
	doca_gpu_dev_semaphore_get_status(sem, 0, &status);
	doca_gpu_dev_semaphore_set_status(sem, 0, DOCA_GPU_SEMAPHORE_STATUS_DONE);
	doca_gpu_dev_semaphore_set_packet_info(sem, 0, status, 1, 2);
	doca_gpu_dev_semaphore_get_packet_info(sem, 0, out, &idx);
	doca_gpu_dev_semaphore_get_packet_info_status(sem, 0, status, out, &idx);
	doca_gpu_dev_semaphore_get_custom_info_addr(sem, 0, &p);
}
