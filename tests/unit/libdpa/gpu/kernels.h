/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernels.h - the device functions, called by C. weak: at `position`; else strong. */
#ifndef TEST_GPU_KERNELS_H
#define TEST_GPU_KERNELS_H

#include <stdbool.h>
#include <doca_gpunetio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_gpu_buf;
struct doca_gpu_buf_arr;
struct doca_gpu_dev_rdma;
struct doca_gpu_dev_rdma_r;

struct k_op {
	uint32_t conn;
	struct doca_gpu_buf *remote, *local;
	uint64_t remote_offset, local_offset;
	size_t length;
	uint32_t imm, flags;
	bool weak;
	uint32_t position;
	uint8_t *data; /* inline */
};

struct doca_gpu_buf *k_buf(const struct doca_gpu_buf_arr *arr, uint64_t i);
uintptr_t k_addr(const struct doca_gpu_buf *buf);
uint32_t k_mkey(const struct doca_gpu_buf *buf);
struct doca_gpu_buf *k_create(uintptr_t addr, uint32_t mkey);
doca_error_t k_write(struct doca_gpu_dev_rdma *r, const struct k_op *o);
doca_error_t k_write_inline(struct doca_gpu_dev_rdma *r, const struct k_op *o);
doca_error_t k_read(struct doca_gpu_dev_rdma *r, const struct k_op *o);
doca_error_t k_send(struct doca_gpu_dev_rdma *r, const struct k_op *o);
doca_error_t k_send_inline(struct doca_gpu_dev_rdma *r, const struct k_op *o);
doca_error_t k_info(struct doca_gpu_dev_rdma *r, uint32_t conn, uint32_t *at, uint32_t *mask);
doca_error_t k_commit_weak(struct doca_gpu_dev_rdma *r, uint32_t conn, uint32_t n);
doca_error_t k_commit_strong(struct doca_gpu_dev_rdma *r, uint32_t conn);
doca_error_t k_wait(struct doca_gpu_dev_rdma *r, uint32_t *n);
doca_error_t k_flush(struct doca_gpu_dev_rdma *r);
struct doca_gpu_dev_rdma_r *k_get_recv(struct doca_gpu_dev_rdma *r);
doca_error_t k_recv(struct doca_gpu_dev_rdma_r *r, const struct k_op *o);
doca_error_t k_recv_commit_weak(struct doca_gpu_dev_rdma_r *r, uint32_t n);
doca_error_t k_recv_commit_strong(struct doca_gpu_dev_rdma_r *r);
doca_error_t k_recv_wait(struct doca_gpu_dev_rdma_r *r, bool block, uint32_t *n, uint32_t *imm,
			 uint32_t *conn);
doca_error_t k_recv_info(struct doca_gpu_dev_rdma_r *r, uint32_t *at, uint32_t *mask);
doca_error_t k_sem_set(struct doca_gpu_semaphore_gpu *s, uint32_t i,
		       enum doca_gpu_semaphore_status status);
doca_error_t k_sem_get(struct doca_gpu_semaphore_gpu *s, uint32_t i,
		       enum doca_gpu_semaphore_status *status);
doca_error_t k_sem_set_info(struct doca_gpu_semaphore_gpu *s, uint32_t i,
			    enum doca_gpu_semaphore_status status, uint32_t n, uint64_t buf);
doca_error_t k_sem_get_info(struct doca_gpu_semaphore_gpu *s, uint32_t i,
			    enum doca_gpu_semaphore_status status, uint32_t *n, uint64_t *buf);
doca_error_t k_sem_custom(struct doca_gpu_semaphore_gpu *s, uint32_t i, void **p);

#ifdef __cplusplus
}
#endif
#endif
