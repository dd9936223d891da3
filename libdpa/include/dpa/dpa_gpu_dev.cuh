/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_gpu_dev.cuh - common part of the device functions: access to shared words, copies of
 * payloads, places of the queues. Not for programs.
 *
 * For nvcc (sm_70 and later), for clang's CUDA mode, and as plain C++17 with a header that has
 * __device__, __forceinline__, the atomics and the fences. Warp functions are used where a warp
 * exists (__CUDA_ARCH__).
 *
 * A kernel's thread that has posted needs no fence of its own: the fence of the committing thread
 * covers all that happened before it (PTX, causality order). The program ensures that the post
 * happened before, by __syncthreads() or another means.
 */
#ifndef DPA_GPU_DEV_CUH_
#define DPA_GPU_DEV_CUH_

#include <stdint.h>
#include <stddef.h>
#include <doca_error.h>
#include <dpa/dpa_gpu.h>

#define DPA_GPU_FN __device__ __forceinline__

/*
 * Runs between two polls of a wait. A GPU runs other warps meanwhile; dpa-nvcc runs other threads.
 */
#ifndef DPA_GPU_RELAX
#if defined(__CUDA_ARCH__)
#define DPA_GPU_RELAX() ((void)0)
#else
#define DPA_GPU_RELAX() __threadfence_system()
#endif
#endif

#define DPA_GPU_LOOKS 64u /* polls of a wait between two checks of its other end conditions */

/* ------------------------------------------------------------- shared words */

DPA_GPU_FN uint32_t dpa_gpu_load(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

DPA_GPU_FN uint32_t dpa_gpu_load_at(uint64_t base, uint64_t offset)
{
	return *(const volatile uint32_t *)(base + offset);
}

DPA_GPU_FN void dpa_gpu_store(uint32_t *p, uint32_t value)
{
	*(volatile uint32_t *)p = value;
}

/* ------------------------------------------------------------------ payloads */

struct __attribute__((aligned(16))) dpa_gpu_16 {
	uint64_t a, b;
};

/* Copy by one thread. dst is aligned to 16 bytes. */
DPA_GPU_FN void dpa_gpu_copy_own(uint64_t dst, uint64_t src, uint32_t n)
{
	uint32_t i = 0;

	if (!(src & 15))
		for (; i + 16 <= n; i += 16)
			*(dpa_gpu_16 *)(dst + i) = *(const dpa_gpu_16 *)(src + i);
	else if (!(src & 3))
		for (; i + 4 <= n; i += 4)
			*(uint32_t *)(dst + i) = *(const uint32_t *)(src + i);
	for (; i < n; i++)
		*(uint8_t *)(dst + i) = *(const uint8_t *)(src + i);
}

#if defined(__CUDA_ARCH__)
/*
 * Make one thread's copy by n threads of its warp: adjacent segments, so that they leave as whole
 * lines.
 */
DPA_GPU_FN void dpa_gpu_copy_part(uint64_t dst, uint64_t src, uint32_t len, uint32_t rank,
				  uint32_t n)
{
	uint32_t i, end = len & ~15u;

	if (src & 15) {
		for (i = rank; i < len; i += n)
			*(uint8_t *)(dst + i) = *(const uint8_t *)(src + i);
		return;
	}
#pragma unroll 8
	for (i = rank * 16; i < end; i += n * 16)
		*(dpa_gpu_16 *)(dst + i) = *(const dpa_gpu_16 *)(src + i);
	for (i = end + rank; i < len; i += n)
		*(uint8_t *)(dst + i) = *(const uint8_t *)(src + i);
}
#endif

/*
 * Copy len bytes, 0 included. The threads of a warp that run this together share the longer copies.
 */
DPA_GPU_FN void dpa_gpu_copy(uint64_t dst, uint64_t src, uint32_t len)
{
#if defined(__CUDA_ARCH__)
	const uint32_t mask = __activemask();
	uint32_t lane, rank, left;

	asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
	rank = __popc(mask & ((1u << lane) - 1));
	left = __ballot_sync(mask, len > 128);
	for (; left; left &= left - 1) {
		const int of = __ffs(left) - 1;

		dpa_gpu_copy_part(__shfl_sync(mask, dst, of), __shfl_sync(mask, src, of),
				  __shfl_sync(mask, len, of), rank, __popc(mask));
	}
	if (len && len <= 128)
		dpa_gpu_copy_own(dst, src, len);
	__syncwarp(mask);
#else
	dpa_gpu_copy_own(dst, src, len);
#endif
}

/* ----------------------------------------------------------------------- bufs */

/* Table of the keys of bufs that kernels made, by the hash of the key; 0: empty. */
inline __device__ unsigned int dpa_gpu_keys[DPA_GPU_HANDLE_KEYS];

/* Make the handle of a buf. NULL: the address does not fit, the key is 0, or the table is full. */
DPA_GPU_FN struct doca_gpu_buf *dpa_gpu_make_handle(uint64_t addr, uint32_t mkey)
{
	uint32_t at = (mkey * 0x9e3779b1u) >> 17;

	if (!mkey || addr >> DPA_GPU_HANDLE_SHIFT)
		return nullptr;
	for (uint32_t i = 0; i < DPA_GPU_HANDLE_KEYS; i++) {
		uint32_t k = dpa_gpu_load(&dpa_gpu_keys[at]);

		if (!k)
			k = atomicCAS(&dpa_gpu_keys[at], 0u, mkey);
		if (!k || k == mkey)
			return (struct doca_gpu_buf *)(DPA_GPU_HANDLE |
						       (uint64_t)at << DPA_GPU_HANDLE_SHIFT | addr);
		at = (at + 1) & (DPA_GPU_HANDLE_KEYS - 1);
	}
	return nullptr;
}

/* Return the buf that a pointer or handle refers to. */
DPA_GPU_FN struct doca_gpu_buf dpa_gpu_buf_of(const struct doca_gpu_buf *buf)
{
	const uint64_t p = (uint64_t)buf;
	struct doca_gpu_buf b;

	if (!(p & DPA_GPU_HANDLE))
		return *buf;
	b.addr = p & ((1ull << DPA_GPU_HANDLE_SHIFT) - 1);
	b.length = ~0ull;
	b.mkey = dpa_gpu_load(&dpa_gpu_keys[(p & ~DPA_GPU_HANDLE) >> DPA_GPU_HANDLE_SHIFT]);
	b.flags = 0;
	b.rsvd = 0;
	return b;
}

/* --------------------------------------------------------------- connections */

DPA_GPU_FN doca_error_t dpa_gpu_find(struct doca_gpu_dev_rdma *rdma, uint32_t connection,
				     struct dpa_gpu_conn **conn)
{
	struct dpa_gpu_conn *c;

	if (!rdma || rdma->magic != DPA_GPU_MAGIC || connection >= rdma->num_conns)
		return DOCA_ERROR_INVALID_VALUE;
	c = (struct dpa_gpu_conn *)rdma->conns + connection;
	*conn = c;
	if (dpa_gpu_load(&c->state) != DPA_GPU_LIVE)
		return DOCA_ERROR_NOT_CONNECTED;
	return dpa_gpu_load(&c->failed) ? DOCA_ERROR_IO_FAILED : DOCA_SUCCESS;
}

/*
 * Return whether the place of a position is free: all positions up to `places` before it are
 * finished.
 */
DPA_GPU_FN bool dpa_gpu_is_free(struct dpa_gpu_conn *c, uint32_t index, uint32_t places)
{
	uint32_t ci = dpa_gpu_load(&c->ci);

	if (index - ci < places)
		return true;
	ci = dpa_gpu_load_at(c->dbrec, DPA_GPU_SQ_CI);
	dpa_gpu_store(&c->ci, ci);
	return index - ci < places;
}

/*
 * Check the position of a weak operation. IO_FAILED etc.: as dpa_gpu_find(); FULL: the operation
 * that had the place before is not finished.
 */
DPA_GPU_FN doca_error_t dpa_gpu_place_weak(struct dpa_gpu_conn *c, uint32_t position,
					   uint32_t *index)
{
	const uint32_t places = 1u << c->log_sq, pi = dpa_gpu_load(&c->pi);

	*index = pi + ((position - pi) & (places - 1));
	return dpa_gpu_is_free(c, *index, places) ? DOCA_SUCCESS : DOCA_ERROR_FULL;
}

/*
 * Take the next position. Waits for the place while a committed operation occupies it. FULL: more
 * operations were posted and not committed than the queue has places; commit_strong() drops them.
 */
DPA_GPU_FN doca_error_t dpa_gpu_place_strong(struct dpa_gpu_conn *c, uint32_t *index)
{
	const uint32_t places = 1u << c->log_sq;

	*index = atomicAdd(&c->reserved, 1u);
	for (uint32_t look = 1; !dpa_gpu_is_free(c, *index, places); look++) {
		if (*index - dpa_gpu_load(&c->pi) >= places)
			return DOCA_ERROR_FULL;
		if (look % DPA_GPU_LOOKS == 0 && dpa_gpu_load(&c->state) != DPA_GPU_LIVE)
			return DOCA_ERROR_NOT_CONNECTED;
		DPA_GPU_RELAX();
	}
	return DOCA_SUCCESS;
}

struct dpa_gpu_op {
	uint32_t opcode; /* enum dpa_gpu_wqe */
	uint32_t imm;
	uint64_t remote;
	uint32_t rkey;
	uint32_t length;
	uint64_t local;
	uint32_t lkey;
};

#if defined(__CUDA_ARCH__)
/*
 * Exchange with the lane of the warp whose number differs by `bit`: lanes with the bit set give a
 * and get b of the other one.
 */
DPA_GPU_FN void dpa_gpu_exchange(uint32_t mask, uint32_t lane, uint32_t bit, dpa_gpu_16 *a,
				 dpa_gpu_16 *b)
{
	const bool high = lane & bit;
	dpa_gpu_16 give = high ? *a : *b, got;

	got.a = __shfl_xor_sync(mask, give.a, bit);
	got.b = __shfl_xor_sync(mask, give.b, bit);
	*(high ? a : b) = got;
}

/*
 * Store the WQEs of four adjacent threads, each of four words of 16 bytes: in step n the four
 * threads together store the WQE of the n'th thread. Each WQE then crosses the bus as a whole, not
 * in four parts. False: not all four threads are active.
 */
DPA_GPU_FN bool dpa_gpu_store_together(uint64_t at, dpa_gpu_16 w[4])
{
	const uint32_t active = __activemask();
	uint32_t lane, group;

	asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
	group = 0xfu << (lane & ~3u);
	if ((active & group) != group)
		return false;
	dpa_gpu_exchange(group, lane, 1, &w[0], &w[1]);
	dpa_gpu_exchange(group, lane, 1, &w[2], &w[3]);
	dpa_gpu_exchange(group, lane, 2, &w[0], &w[2]);
	dpa_gpu_exchange(group, lane, 2, &w[1], &w[3]);
#pragma unroll
	for (uint32_t i = 0; i < 4; i++) {
		const uint64_t of = __shfl_sync(group, at, (lane & ~3u) + i);

		*(dpa_gpu_16 *)(of + (lane & 3) * sizeof(w[0])) = w[i];
	}
	/* Three quarters of the WQE were stored by other threads. Order them before what this thread
	 * does next: the commit has a fence for its own stores only. */
	__syncwarp(group);
	return true;
}
#endif

/* Write the WQE of a position: one block. */
DPA_GPU_FN void dpa_gpu_put(struct dpa_gpu_conn *c, uint32_t index, const struct dpa_gpu_op *op)
{
	const bool is_send = op->opcode == DPA_GPU_OP_SEND || op->opcode == DPA_GPU_OP_SEND_IMM;
	const uint32_t nsge = op->length ? 1 : 0;
	const uint64_t at = c->sq + (uint64_t)(index & ((1u << c->log_sq) - 1)) * DPA_GPU_WQEBB;
	const dpa_gpu_16 sge = {op->local, op->length | (uint64_t)op->lkey << 32};
	dpa_gpu_16 w[4];

	w[0] = dpa_gpu_16{op->opcode | DPA_GPU_SIGNALED << 8 | 1u << 16 | nsge << 24 |
				  (uint64_t)index << 32,
			  index};
	w[1] = dpa_gpu_16{op->imm | (uint64_t)op->length << 32, 0};
	w[2] = is_send ? sge : dpa_gpu_16{op->remote, op->rkey};
	w[3] = is_send ? dpa_gpu_16{0, 0} : sge;
#if defined(__CUDA_ARCH__)
	if (dpa_gpu_store_together(at, w))
		return;
#endif
	for (int i = 0; i < 4; i++)
		((dpa_gpu_16 *)at)[i] = w[i];
}

/*
 * Copy a payload to memory that the adapter reads without the GPU's driver. The place belongs to
 * the position until the operation is finished.
 */
DPA_GPU_FN void dpa_gpu_stage(struct dpa_gpu_conn *c, uint32_t index, struct dpa_gpu_op *op,
			      bool copy)
{
	uint32_t bytes = 0;
	uint64_t to = 0;

	if (copy && op->length <= DPA_GPU_SMALL)
		to = c->small + (uint64_t)(index & ((1u << c->log_sq) - 1)) * DPA_GPU_SMALL;
	else if (copy && op->length <= DPA_GPU_STAGE &&
		 dpa_gpu_is_free(c, index, 1u << c->log_stage))
		to = c->stage + (uint64_t)(index & ((1u << c->log_stage) - 1)) * DPA_GPU_STAGE;
	if (to)
		bytes = op->length;
	dpa_gpu_copy(to, op->local, bytes);
	if (!to)
		return;
	op->local = to;
	op->lkey = c->mem_key;
}

/*
 * Set the local side of an operation. False: the buf is not valid. @copy: whether its payload is to
 * be copied
 */
DPA_GPU_FN bool dpa_gpu_set_local(struct dpa_gpu_op *op, const struct doca_gpu_buf *buf,
				  uint64_t offset, size_t length, bool *copy)
{
	struct doca_gpu_buf b;

	*copy = false;
	op->length = (uint32_t)length;
	op->local = 0;
	op->lkey = 0;
	if (!length)
		return true;
	if (!buf || length > DPA_GPU_MAX_LENGTH)
		return false;
	b = dpa_gpu_buf_of(buf);
	op->local = b.addr + offset;
	op->lkey = b.mkey;
	*copy = b.flags & DPA_GPU_BUF_COPY && offset <= b.length && length <= b.length - offset;
	return true;
}

DPA_GPU_FN bool dpa_gpu_set_remote(struct dpa_gpu_op *op, const struct doca_gpu_buf *buf,
				   uint64_t offset)
{
	struct doca_gpu_buf b;

	if (!buf)
		return false;
	b = dpa_gpu_buf_of(buf);
	op->remote = b.addr + offset;
	op->rkey = b.mkey;
	return true;
}

/* Whether the caller gives the position of the operation. */
struct dpa_gpu_mode {
	bool weak;
	uint32_t position;
};

/* Post an operation. @copy: as dpa_gpu_set_local() */
DPA_GPU_FN doca_error_t dpa_gpu_post(struct doca_gpu_dev_rdma *rdma, uint32_t connection,
				     struct dpa_gpu_op *op, bool copy, struct dpa_gpu_mode mode)
{
	struct dpa_gpu_conn *c;
	doca_error_t ret = dpa_gpu_find(rdma, connection, &c);
	uint32_t index = 0;

	if (ret == DOCA_SUCCESS)
		ret = mode.weak ? dpa_gpu_place_weak(c, mode.position, &index)
				: dpa_gpu_place_strong(c, &index);
	if (ret != DOCA_SUCCESS)
		return ret;
	dpa_gpu_stage(c, index, op, copy);
	dpa_gpu_put(c, index, op);
	return DOCA_SUCCESS;
}

/* Publish all operations up to a position to the adapter. */
DPA_GPU_FN void dpa_gpu_ring(struct dpa_gpu_conn *c, uint32_t pi)
{
	dpa_gpu_store(&c->pi, pi);
	dpa_gpu_store(&c->commits, dpa_gpu_load(&c->commits) + 1);
	__threadfence_system();
	*(volatile uint64_t *)c->word = pi;
}

/* --------------------------------------------------------------- completions */

DPA_GPU_FN uint64_t dpa_gpu_cqe(uint64_t cq, uint32_t log, uint32_t index)
{
	return cq + (uint64_t)(index & ((1u << log) - 1)) * DPA_GPU_CQE_SIZE;
}

/* Return whether this is the last word of the CQE of an index. */
DPA_GPU_FN bool dpa_gpu_cqe_is(uint32_t last, uint32_t log, uint32_t index)
{
	return last >> 24 == ((index >> log) & (DPA_GPU_CQE_LAPS - 1)) + 1;
}

/*
 * Return whether this is the last word of the CQE of an index, or of a later one in the same place:
 * the place held the CQE of the previous lap, or none. Operations end in order, and after the first
 * failure all fail, so the later one counts for both.
 */
DPA_GPU_FN bool dpa_gpu_cqe_passed(uint32_t last, uint32_t log, uint32_t index)
{
	const uint32_t laps = (last >> 24) - 1 - (index >> log);

	return last >> 24 && (laps & (DPA_GPU_CQE_LAPS - 1)) != DPA_GPU_CQE_LAPS - 1;
}

DPA_GPU_FN bool dpa_gpu_cqe_failed(uint32_t last)
{
	return (last >> 8 & 0xff) != 0;
}

/*
 * Check the conditions that end a wait without its CQE: the connection was ended, or the operation
 * that finished last has failed, so that all later ones fail.
 */
DPA_GPU_FN doca_error_t dpa_gpu_look(struct dpa_gpu_conn *c)
{
	const uint32_t ci = dpa_gpu_load_at(c->dbrec, DPA_GPU_SQ_CI);
	uint32_t last;

	if (dpa_gpu_load(&c->state) != DPA_GPU_LIVE)
		return DOCA_ERROR_NOT_CONNECTED;
	last = dpa_gpu_load_at(dpa_gpu_cqe(c->cq, c->log_cq, ci - 1), DPA_GPU_CQE_LAST);
	if (dpa_gpu_cqe_is(last, c->log_cq, ci - 1) && dpa_gpu_cqe_failed(last))
		return DOCA_ERROR_IO_FAILED;
	return DOCA_SUCCESS;
}

/* Wait for all that was committed on a connection. */
DPA_GPU_FN doca_error_t dpa_gpu_wait(struct dpa_gpu_conn *c)
{
	const uint32_t pi = dpa_gpu_load(&c->pi);
	const uint64_t cqe = dpa_gpu_cqe(c->cq, c->log_cq, pi - 1);
	doca_error_t ret = DOCA_SUCCESS;
	uint32_t last = 0;

	if (dpa_gpu_load(&c->failed))
		return DOCA_ERROR_IO_FAILED;
	if (dpa_gpu_load(&c->waited) == pi)
		return DOCA_SUCCESS;
	for (uint32_t look = 1; ret == DOCA_SUCCESS; look++) {
		last = dpa_gpu_load_at(cqe, DPA_GPU_CQE_LAST);
		if (dpa_gpu_cqe_passed(last, c->log_cq, pi - 1))
			/* another thread may have committed meanwhile: the CQ wraps around */
			break;
		if (look % DPA_GPU_LOOKS == 0)
			ret = dpa_gpu_look(c);
		DPA_GPU_RELAX();
	}
	__threadfence_system();
	if (ret == DOCA_SUCCESS && dpa_gpu_cqe_failed(last))
		ret = DOCA_ERROR_IO_FAILED;
	if (ret == DOCA_SUCCESS) {
		dpa_gpu_store(&c->ci, pi);
		dpa_gpu_store(&c->waited, pi);
	} else {
		dpa_gpu_store(&c->failed, 1);
	}
	return ret;
}

#endif /* DPA_GPU_DEV_CUH_ */
