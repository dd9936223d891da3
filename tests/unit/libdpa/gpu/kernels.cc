/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "shim.h"
#include <doca_gpunetio_dev_buf.cuh>
#include <doca_gpunetio_dev_rdma.cuh>
#include <doca_gpunetio_dev_sem.cuh>
#include "kernels.h"

#define WF(o) (enum doca_gpu_dev_rdma_write_flags)(o)->flags
#define SF(o) (enum doca_gpu_dev_rdma_send_flags)(o)->flags

struct doca_gpu_buf *k_buf(const struct doca_gpu_buf_arr *arr, uint64_t i)
{
	struct doca_gpu_buf *b;

	doca_gpu_dev_buf_get_buf(arr, i, &b);
	return b;
}

uintptr_t k_addr(const struct doca_gpu_buf *buf)
{
	uintptr_t a;

	doca_gpu_dev_buf_get_addr(buf, &a);
	return a;
}

uint32_t k_mkey(const struct doca_gpu_buf *buf)
{
	uint32_t k;

	doca_gpu_dev_buf_get_mkey(buf, &k);
	return k;
}

struct doca_gpu_buf *k_create(uintptr_t addr, uint32_t mkey)
{
	struct doca_gpu_buf *b;

	doca_gpu_dev_buf_create(addr, mkey, &b);
	return b;
}

doca_error_t k_write(struct doca_gpu_dev_rdma *r, const struct k_op *o)
{
	return o->weak ? doca_gpu_dev_rdma_write_weak(r, o->conn, o->remote, o->remote_offset,
						      o->local, o->local_offset, o->length, o->imm,
						      WF(o), o->position)
		       : doca_gpu_dev_rdma_write_strong(r, o->conn, o->remote, o->remote_offset,
							o->local, o->local_offset, o->length,
							o->imm, WF(o));
}

doca_error_t k_write_inline(struct doca_gpu_dev_rdma *r, const struct k_op *o)
{
	return o->weak ? doca_gpu_dev_rdma_write_inline_weak(r, o->conn, o->remote,
							     o->remote_offset, o->data,
							     (uint32_t)o->length, o->imm, WF(o),
							     o->position)
		       : doca_gpu_dev_rdma_write_inline_strong(r, o->conn, o->remote,
							       o->remote_offset, o->data,
							       (uint32_t)o->length, o->imm, WF(o));
}

doca_error_t k_read(struct doca_gpu_dev_rdma *r, const struct k_op *o)
{
	return o->weak ? doca_gpu_dev_rdma_read_weak(r, o->conn, o->remote, o->remote_offset,
						     o->local, o->local_offset, o->length,
						     o->flags, o->position)
		       : doca_gpu_dev_rdma_read_strong(r, o->conn, o->remote, o->remote_offset,
						       o->local, o->local_offset, o->length,
						       o->flags);
}

doca_error_t k_send(struct doca_gpu_dev_rdma *r, const struct k_op *o)
{
	return o->weak ? doca_gpu_dev_rdma_send_weak(r, o->conn, o->local, o->local_offset,
						     o->length, o->imm, SF(o), o->position)
		       : doca_gpu_dev_rdma_send_strong(r, o->conn, o->local, o->local_offset,
						       o->length, o->imm, SF(o));
}

doca_error_t k_send_inline(struct doca_gpu_dev_rdma *r, const struct k_op *o)
{
	return o->weak ? doca_gpu_dev_rdma_send_inline_weak(r, o->conn, o->data,
							    (uint32_t)o->length, o->imm, SF(o),
							    o->position)
		       : doca_gpu_dev_rdma_send_inline_strong(
				 r, o->conn, o->data, (uint32_t)o->length, o->imm, SF(o));
}

doca_error_t k_info(struct doca_gpu_dev_rdma *r, uint32_t conn, uint32_t *at, uint32_t *mask)
{
	return doca_gpu_dev_rdma_get_info(r, conn, at, mask);
}

doca_error_t k_commit_weak(struct doca_gpu_dev_rdma *r, uint32_t conn, uint32_t n)
{
	return doca_gpu_dev_rdma_commit_weak(r, conn, n);
}

doca_error_t k_commit_strong(struct doca_gpu_dev_rdma *r, uint32_t conn)
{
	return doca_gpu_dev_rdma_commit_strong(r, conn);
}

doca_error_t k_wait(struct doca_gpu_dev_rdma *r, uint32_t *n)
{
	return doca_gpu_dev_rdma_wait_all(r, n);
}

doca_error_t k_flush(struct doca_gpu_dev_rdma *r)
{
	return doca_gpu_dev_rdma_flush(r);
}

struct doca_gpu_dev_rdma_r *k_get_recv(struct doca_gpu_dev_rdma *r)
{
	struct doca_gpu_dev_rdma_r *q = nullptr;

	doca_gpu_dev_rdma_get_recv(r, &q);
	return q;
}

doca_error_t k_recv(struct doca_gpu_dev_rdma_r *r, const struct k_op *o)
{
	return o->weak ? doca_gpu_dev_rdma_recv_weak(r, o->local, o->length, o->local_offset,
						     o->flags, o->position)
		       : doca_gpu_dev_rdma_recv_strong(r, o->local, o->length, o->local_offset,
						       o->flags);
}

doca_error_t k_recv_commit_weak(struct doca_gpu_dev_rdma_r *r, uint32_t n)
{
	return doca_gpu_dev_rdma_recv_commit_weak(r, n);
}

doca_error_t k_recv_commit_strong(struct doca_gpu_dev_rdma_r *r)
{
	return doca_gpu_dev_rdma_recv_commit_strong(r);
}

doca_error_t k_recv_wait(struct doca_gpu_dev_rdma_r *r, bool block, uint32_t *n, uint32_t *imm,
			 uint32_t *conn)
{
	if (!conn) /* as 2.9 has it */
		return doca_gpu_dev_rdma_recv_wait_all(
			r, (enum doca_gpu_dev_rdma_recv_wait_flags)block, n, imm);
	return doca_gpu_dev_rdma_recv_wait_all(r, (enum doca_gpu_dev_rdma_recv_wait_flags)block, n,
					       imm, conn);
}

doca_error_t k_recv_info(struct doca_gpu_dev_rdma_r *r, uint32_t *at, uint32_t *mask)
{
	return doca_gpu_dev_rdma_recv_get_info(r, at, mask);
}

doca_error_t k_sem_set(struct doca_gpu_semaphore_gpu *s, uint32_t i,
		       enum doca_gpu_semaphore_status status)
{
	return doca_gpu_dev_semaphore_set_status(s, i, status);
}

doca_error_t k_sem_get(struct doca_gpu_semaphore_gpu *s, uint32_t i,
		       enum doca_gpu_semaphore_status *status)
{
	return doca_gpu_dev_semaphore_get_status(s, i, status);
}

doca_error_t k_sem_set_info(struct doca_gpu_semaphore_gpu *s, uint32_t i,
			    enum doca_gpu_semaphore_status status, uint32_t n, uint64_t buf)
{
	return doca_gpu_dev_semaphore_set_packet_info(s, i, status, n, buf);
}

doca_error_t k_sem_get_info(struct doca_gpu_semaphore_gpu *s, uint32_t i,
			    enum doca_gpu_semaphore_status status, uint32_t *n, uint64_t *buf)
{
	doca_error_t ret = doca_gpu_dev_semaphore_get_packet_info_status(s, i, status, n, buf);

	return ret == DOCA_SUCCESS ? doca_gpu_dev_semaphore_get_packet_info(s, i, n, buf) : ret;
}

doca_error_t k_sem_custom(struct doca_gpu_semaphore_gpu *s, uint32_t i, void **p)
{
	return doca_gpu_dev_semaphore_get_custom_info_addr(s, i, p);
}
