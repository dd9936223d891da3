/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_gpunetio_dev_rdma.cuh - RDMA operations of kernels.
 *
 * rdma comes from doca_rdma_get_gpu_handle(), the index of a connection from
 * doca_rdma_connection_get_id(). Operations are written into the connection's queue, by any number
 * of threads at once; a commit shows them to the adapter; a wait gives their outcome.
 *
 *   weak    the caller names the position of each: (curr + i) & mask of get_info(), without gaps;
 *           commit_weak() has their number
 *   strong  the function takes the next position; commit_strong() has all of them
 *
 * A queue may be used in either mode in turn; the mode may change after each commit. One thread at
 * a time commits and waits, after the program has made sure that the others have posted
 * (__syncthreads()).
 *
 * A buffer may be NULL if the length is 0. Immediates are the four bytes that the peer gets: in
 * network order by convention.
 *
 * Errors of all functions (the original documents INVALID_VALUE only):
 *   INVALID_VALUE  NULL, an index that the context does not have, unknown flags, too long
 *   NOT_CONNECTED  the connection was never made, or the host has ended it
 *   IO_FAILED      an operation of the connection has failed; none later is carried out
 *   FULL           the queue has no place: what was posted must be waited for (weak), or more was
 *                  posted than the queue has places and nothing committed (strong)
 *
 * DPA_DOCA_API 207 (DOCA 2.7) leaves out the connection's index, which is 0 then, and has flush()
 * for wait_all().
 */
#ifndef DOCA_GPUNETIO_DEV_RDMA_CUH_
#define DOCA_GPUNETIO_DEV_RDMA_CUH_

#include <doca_gpunetio.h>
#include <doca_gpunetio_dev_buf.cuh>
#include <dpa/dpa_gpu_dev.cuh>

enum doca_gpu_dev_rdma_write_flags {
	DOCA_GPU_RDMA_WRITE_FLAG_NONE = 0,
	DOCA_GPU_RDMA_WRITE_FLAG_IMM = 1,
};

enum doca_gpu_dev_rdma_send_flags {
	DOCA_GPU_RDMA_SEND_FLAG_NONE = 0,
	DOCA_GPU_RDMA_SEND_FLAG_IMM = 1,
};

enum doca_gpu_dev_rdma_recv_wait_flags {
	DOCA_GPU_RDMA_RECV_WAIT_FLAG_NB = 0, /* takes the messages that have arrived */
	DOCA_GPU_RDMA_RECV_WAIT_FLAG_B = 1,  /* waits for all receives that were committed */
};

#if DPA_DOCA_API < 209
#define DPA_GPU_CONN_ARG
#define DPA_GPU_CONN 0u
#else
#define DPA_GPU_CONN_ARG uint32_t connection_index,
#define DPA_GPU_CONN connection_index
#endif

/* ------------------------------------------------------------------- internal */

DPA_GPU_FN doca_error_t dpa_gpu_write(struct doca_gpu_dev_rdma *rdma, uint32_t connection,
				      struct doca_gpu_buf *remote_buf, uint64_t remote_offset,
				      struct doca_gpu_buf *local_buf, uint64_t local_offset,
				      size_t length, uint32_t imm, uint32_t flags,
				      struct dpa_gpu_mode mode)
{
	struct dpa_gpu_op op;
	bool copy;

	if (flags > DOCA_GPU_RDMA_WRITE_FLAG_IMM ||
	    !dpa_gpu_set_remote(&op, remote_buf, remote_offset) ||
	    !dpa_gpu_set_local(&op, local_buf, local_offset, length, &copy))
		return DOCA_ERROR_INVALID_VALUE;
	op.opcode = flags ? DPA_GPU_OP_WRITE_IMM : DPA_GPU_OP_WRITE;
	op.imm = flags ? imm : 0;
	return dpa_gpu_post(rdma, connection, &op, copy, mode);
}

DPA_GPU_FN doca_error_t dpa_gpu_read(struct doca_gpu_dev_rdma *rdma, uint32_t connection,
				     struct doca_gpu_buf *remote_buf, uint64_t remote_offset,
				     struct doca_gpu_buf *local_buf, uint64_t local_offset,
				     size_t length, uint32_t flags, struct dpa_gpu_mode mode)
{
	struct dpa_gpu_op op;
	bool copy;

	if (flags || !dpa_gpu_set_remote(&op, remote_buf, remote_offset) ||
	    !dpa_gpu_set_local(&op, local_buf, local_offset, length, &copy))
		return DOCA_ERROR_INVALID_VALUE;
	op.opcode = DPA_GPU_OP_READ;
	op.imm = 0;
	return dpa_gpu_post(rdma, connection, &op, false, mode);
}

DPA_GPU_FN doca_error_t dpa_gpu_send(struct doca_gpu_dev_rdma *rdma, uint32_t connection,
				     struct doca_gpu_buf *send_buf, uint64_t send_offset,
				     size_t length, uint32_t imm, uint32_t flags,
				     struct dpa_gpu_mode mode)
{
	struct dpa_gpu_op op;
	bool copy;

	if (flags > DOCA_GPU_RDMA_SEND_FLAG_IMM ||
	    !dpa_gpu_set_local(&op, send_buf, send_offset, length, &copy))
		return DOCA_ERROR_INVALID_VALUE;
	op.opcode = flags ? DPA_GPU_OP_SEND_IMM : DPA_GPU_OP_SEND;
	op.imm = flags ? imm : 0;
	op.remote = 0;
	op.rkey = 0;
	return dpa_gpu_post(rdma, connection, &op, copy, mode);
}

/* Set the local side to bytes that the kernel may change at once. */
DPA_GPU_FN bool dpa_gpu_set_inline(struct dpa_gpu_op *op, const uint8_t *data, uint32_t length,
				   uint32_t limit)
{
	op->local = (uint64_t)data;
	op->length = length;
	op->lkey = 0;
	return length <= limit && (data || !length);
}

DPA_GPU_FN doca_error_t dpa_gpu_write_inline(struct doca_gpu_dev_rdma *rdma, uint32_t connection,
					     struct doca_gpu_buf *remote_buf,
					     uint64_t remote_offset, const uint8_t *data,
					     uint32_t length, uint32_t imm, uint32_t flags,
					     struct dpa_gpu_mode mode)
{
	struct dpa_gpu_op op;

	if (flags > DOCA_GPU_RDMA_WRITE_FLAG_IMM ||
	    !dpa_gpu_set_remote(&op, remote_buf, remote_offset) ||
	    !dpa_gpu_set_inline(&op, data, length, DPA_GPU_INLINE_WR))
		return DOCA_ERROR_INVALID_VALUE;
	op.opcode = flags ? DPA_GPU_OP_WRITE_IMM : DPA_GPU_OP_WRITE;
	op.imm = flags ? imm : 0;
	return dpa_gpu_post(rdma, connection, &op, true, mode);
}

DPA_GPU_FN doca_error_t dpa_gpu_send_inline(struct doca_gpu_dev_rdma *rdma, uint32_t connection,
					    const uint8_t *data, uint32_t length, uint32_t imm,
					    uint32_t flags, struct dpa_gpu_mode mode)
{
	struct dpa_gpu_op op;

	if (flags > DOCA_GPU_RDMA_SEND_FLAG_IMM ||
	    !dpa_gpu_set_inline(&op, data, length, DPA_GPU_INLINE_SND))
		return DOCA_ERROR_INVALID_VALUE;
	op.opcode = flags ? DPA_GPU_OP_SEND_IMM : DPA_GPU_OP_SEND;
	op.imm = flags ? imm : 0;
	op.remote = 0;
	op.rkey = 0;
	return dpa_gpu_post(rdma, connection, &op, true, mode);
}

DPA_GPU_FN struct dpa_gpu_mode dpa_gpu_weak(uint32_t position)
{
	return dpa_gpu_mode{true, position};
}

DPA_GPU_FN struct dpa_gpu_mode dpa_gpu_strong()
{
	return dpa_gpu_mode{false, 0};
}

/* ------------------------------------------------------------------------ write */

/*
 * Post an RDMA write.
 * @connection_index: of the queue
 * @remote_buf:       a buf of the peer's; @remote_offset: bytes from its start
 * @local_buf:        a buf of this side; @local_offset: bytes from its start
 * @length:           bytes, up to 2^31
 * @imm:              with the flag IMM: takes a receive of the peer's, which gets it
 * @position:         in the queue
 */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_write_weak(
	struct doca_gpu_dev_rdma *rdma, DPA_GPU_CONN_ARG struct doca_gpu_buf *remote_buf,
	uint64_t remote_offset, struct doca_gpu_buf *local_buf, uint64_t local_offset,
	size_t length, uint32_t imm, const enum doca_gpu_dev_rdma_write_flags flags,
	uint32_t position)
{
	return dpa_gpu_write(rdma, DPA_GPU_CONN, remote_buf, remote_offset, local_buf,
			     local_offset, length, imm, (uint32_t)flags, dpa_gpu_weak(position));
}

/* Do the same at the next position. */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_write_strong(
	struct doca_gpu_dev_rdma *rdma, DPA_GPU_CONN_ARG struct doca_gpu_buf *remote_buf,
	uint64_t remote_offset, struct doca_gpu_buf *local_buf, uint64_t local_offset,
	size_t length, uint32_t imm, const enum doca_gpu_dev_rdma_write_flags flags)
{
	return dpa_gpu_write(rdma, DPA_GPU_CONN, remote_buf, remote_offset, local_buf,
			     local_offset, length, imm, (uint32_t)flags, dpa_gpu_strong());
}

/* Do the same with up to 28 bytes, which are copied at once: they may lie anywhere. */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_write_inline_weak(
	struct doca_gpu_dev_rdma *rdma, DPA_GPU_CONN_ARG struct doca_gpu_buf *remote_buf,
	uint64_t remote_offset, uint8_t *inl_data, uint32_t inl_lenght, uint32_t imm,
	const enum doca_gpu_dev_rdma_write_flags flags, uint32_t position)
{
	return dpa_gpu_write_inline(rdma, DPA_GPU_CONN, remote_buf, remote_offset, inl_data,
				    inl_lenght, imm, (uint32_t)flags, dpa_gpu_weak(position));
}

DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_write_inline_strong(
	struct doca_gpu_dev_rdma *rdma, DPA_GPU_CONN_ARG struct doca_gpu_buf *remote_buf,
	uint64_t remote_offset, uint8_t *inl_data, uint32_t inl_lenght, uint32_t imm,
	const enum doca_gpu_dev_rdma_write_flags flags)
{
	return dpa_gpu_write_inline(rdma, DPA_GPU_CONN, remote_buf, remote_offset, inl_data,
				    inl_lenght, imm, (uint32_t)flags, dpa_gpu_strong());
}

/* ------------------------------------------------------------------------- read */

/* Post an RDMA read, as write_weak(). @flags_bitmask: 0 */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_read_weak(
	struct doca_gpu_dev_rdma *rdma, DPA_GPU_CONN_ARG struct doca_gpu_buf *remote_buf,
	uint64_t remote_offset, struct doca_gpu_buf *local_buf, uint64_t local_offset,
	size_t length, const uint32_t flags_bitmask, uint32_t position)
{
	return dpa_gpu_read(rdma, DPA_GPU_CONN, remote_buf, remote_offset, local_buf, local_offset,
			    length, flags_bitmask, dpa_gpu_weak(position));
}

DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_read_strong(
	struct doca_gpu_dev_rdma *rdma, DPA_GPU_CONN_ARG struct doca_gpu_buf *remote_buf,
	uint64_t remote_offset, struct doca_gpu_buf *local_buf, uint64_t local_offset,
	size_t length, const uint32_t flags_bitmask)
{
	return dpa_gpu_read(rdma, DPA_GPU_CONN, remote_buf, remote_offset, local_buf, local_offset,
			    length, flags_bitmask, dpa_gpu_strong());
}

/* ------------------------------------------------------------------------- send */

/* Post a send, which takes a receive of the peer's, as write_weak(). */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_send_weak(
	struct doca_gpu_dev_rdma *rdma, DPA_GPU_CONN_ARG struct doca_gpu_buf *send_buf,
	uint64_t send_offset, size_t src_length, uint32_t imm,
	const enum doca_gpu_dev_rdma_send_flags flags, uint32_t position)
{
	return dpa_gpu_send(rdma, DPA_GPU_CONN, send_buf, send_offset, src_length, imm,
			    (uint32_t)flags, dpa_gpu_weak(position));
}

DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_send_strong(
	struct doca_gpu_dev_rdma *rdma, DPA_GPU_CONN_ARG struct doca_gpu_buf *send_buf,
	uint64_t send_offset, size_t src_length, uint32_t imm,
	const enum doca_gpu_dev_rdma_send_flags flags)
{
	return dpa_gpu_send(rdma, DPA_GPU_CONN, send_buf, send_offset, src_length, imm,
			    (uint32_t)flags, dpa_gpu_strong());
}

/* Do the same with up to 44 bytes, which are copied at once. */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_send_inline_weak(
	struct doca_gpu_dev_rdma *rdma, DPA_GPU_CONN_ARG uint8_t *inl_data, uint32_t inl_lenght,
	uint32_t imm, const enum doca_gpu_dev_rdma_send_flags flags, uint32_t position)
{
	return dpa_gpu_send_inline(rdma, DPA_GPU_CONN, inl_data, inl_lenght, imm, (uint32_t)flags,
				   dpa_gpu_weak(position));
}

DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_send_inline_strong(
	struct doca_gpu_dev_rdma *rdma, DPA_GPU_CONN_ARG uint8_t *inl_data, uint32_t inl_lenght,
	uint32_t imm, const enum doca_gpu_dev_rdma_send_flags flags)
{
	return dpa_gpu_send_inline(rdma, DPA_GPU_CONN, inl_data, inl_lenght, imm, (uint32_t)flags,
				   dpa_gpu_strong());
}

/* ------------------------------------------------------------- commit and wait */

/*
 * Get the values that weak operations need.
 * @curr_position:     of the next operation
 * @mask_max_position: of positions: the places of the queue less one
 */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_get_info(struct doca_gpu_dev_rdma *rdma,
						   DPA_GPU_CONN_ARG uint32_t *curr_position,
						   uint32_t *mask_max_position)
{
	struct dpa_gpu_conn *c;
	doca_error_t ret = dpa_gpu_find(rdma, DPA_GPU_CONN, &c);

	if (ret == DOCA_ERROR_INVALID_VALUE || !curr_position || !mask_max_position)
		return DOCA_ERROR_INVALID_VALUE;
	*mask_max_position = (1u << c->log_sq) - 1;
	*curr_position = dpa_gpu_load(&c->pi) & *mask_max_position;
	return ret;
}

/*
 * Have the adapter carry out the next num_ops operations, which were posted at given positions. 0:
 * nothing is done. FULL: the queue has fewer places.
 */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_commit_weak(struct doca_gpu_dev_rdma *rdma,
						      DPA_GPU_CONN_ARG uint32_t num_ops)
{
	struct dpa_gpu_conn *c;
	doca_error_t ret = dpa_gpu_find(rdma, DPA_GPU_CONN, &c);
	uint32_t pi;

	if (ret != DOCA_SUCCESS || !num_ops)
		return ret;
	pi = dpa_gpu_load(&c->pi) + num_ops;
	if (num_ops > 1u << c->log_sq || !dpa_gpu_is_free(c, pi - 1, 1u << c->log_sq))
		return DOCA_ERROR_FULL;
	if ((int32_t)(dpa_gpu_load(&c->reserved) - pi) < 0)
		dpa_gpu_store(&c->reserved, pi);
	dpa_gpu_ring(c, pi);
	return DOCA_SUCCESS;
}

/*
 * Do the same for all operations that were posted without positions. FULL: there were more than the
 * queue has places; none of them is carried out.
 */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_commit_strong(struct doca_gpu_dev_rdma *rdma
#if DPA_DOCA_API >= 209
							,
							uint32_t connection_index
#endif
)
{
	struct dpa_gpu_conn *c;
	doca_error_t ret = dpa_gpu_find(rdma, DPA_GPU_CONN, &c);
	uint32_t pi, to;

	if (ret != DOCA_SUCCESS)
		return ret;
	pi = dpa_gpu_load(&c->pi);
	to = dpa_gpu_load(&c->reserved);
	if (to == pi)
		return DOCA_SUCCESS;
	if (to - pi > 1u << c->log_sq) {
		dpa_gpu_store(&c->reserved, pi);
		return DOCA_ERROR_FULL;
	}
	dpa_gpu_ring(c, to);
	return DOCA_SUCCESS;
}

/*
 * Wait until all that was committed is done, on all connections: the bytes of writes and sends are
 * at the peer, those of reads are here.
 * @num_commits: commits since the last wait; may be NULL
 * IO_FAILED: an operation of one of the connections has failed; the others were waited for as well.
 */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_wait_all(struct doca_gpu_dev_rdma *rdma,
						   uint32_t *num_commits)
{
	doca_error_t ret = DOCA_SUCCESS;
	uint32_t n = 0;

	if (!rdma || rdma->magic != DPA_GPU_MAGIC)
		return DOCA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < rdma->num_conns; i++) {
		struct dpa_gpu_conn *c = (struct dpa_gpu_conn *)rdma->conns + i;
		doca_error_t one;

		if (dpa_gpu_load(&c->state) == DPA_GPU_NONE)
			continue;
		one = dpa_gpu_wait(c);
		if (ret == DOCA_SUCCESS)
			ret = one;
		n += dpa_gpu_load(&c->commits);
		dpa_gpu_store(&c->commits, 0);
	}
	if (num_commits)
		*num_commits = n;
	return ret;
}

/* Do the same as doca_gpu_dev_rdma_wait_all(), under the name of DOCA 2.7. */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_flush(struct doca_gpu_dev_rdma *rdma)
{
	return doca_gpu_dev_rdma_wait_all(rdma, nullptr);
}

/* --------------------------------------------------------------------- receive */

/* Get the context's receive queue: messages of all its connections take from it. */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_get_recv(struct doca_gpu_dev_rdma *rdma,
						   struct doca_gpu_dev_rdma_r **rdma_r)
{
	if (!rdma || rdma->magic != DPA_GPU_MAGIC || !rdma_r)
		return DOCA_ERROR_INVALID_VALUE;
	*rdma_r = &rdma->recv;
	return DOCA_SUCCESS;
}

/* Write a receive. FULL: the receive that had the place before was not read yet. */
DPA_GPU_FN doca_error_t dpa_gpu_recv(struct doca_gpu_dev_rdma_r *r, struct doca_gpu_buf *buf,
				     size_t length, uint64_t offset, uint32_t flags,
				     struct dpa_gpu_mode mode)
{
	struct dpa_gpu_op op;
	uint32_t index, pi;
	dpa_gpu_16 *w;
	bool copy;

	if (!r || flags || !dpa_gpu_set_local(&op, buf, offset, length, &copy))
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_gpu_load(&r->state) != DPA_GPU_LIVE)
		return DOCA_ERROR_NOT_CONNECTED;
	pi = dpa_gpu_load(&r->pi);
	index = mode.weak ? pi + ((mode.position - pi) & ((1u << r->log_rq) - 1))
			  : atomicAdd(&r->reserved, 1u);
	if (index - dpa_gpu_load(&r->ci) >= 1u << r->log_rq)
		return DOCA_ERROR_FULL;
	w = (dpa_gpu_16 *)(r->rq + (uint64_t)(index & ((1u << r->log_rq) - 1)) * r->stride);
	w[0] = dpa_gpu_16{index, op.length ? 1u : 0u};
	w[1] = dpa_gpu_16{op.local, op.length | (uint64_t)op.lkey << 32};
	return DOCA_SUCCESS;
}

/*
 * Post a receive. recv_buf may be NULL with length 0: for immediates.
 * @recv_length: bytes; @recv_offset: bytes from the start of the buf
 * @flags_bitmask: 0
 * @position: in the receive queue, as of recv_get_info()
 */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_recv_weak(struct doca_gpu_dev_rdma_r *rdma_r,
						    struct doca_gpu_buf *recv_buf,
						    size_t recv_length, uint64_t recv_offset,
						    const uint32_t flags_bitmask,
						    uint32_t position)
{
	return dpa_gpu_recv(rdma_r, recv_buf, recv_length, recv_offset, flags_bitmask,
			    dpa_gpu_weak(position));
}

DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_recv_strong(struct doca_gpu_dev_rdma_r *rdma_r,
						      struct doca_gpu_buf *recv_buf,
						      size_t recv_length, uint64_t recv_offset,
						      const uint32_t flags_bitmask)
{
	return dpa_gpu_recv(rdma_r, recv_buf, recv_length, recv_offset, flags_bitmask,
			    dpa_gpu_strong());
}

/* Show the adapter all receives up to a position. */
DPA_GPU_FN doca_error_t dpa_gpu_recv_ring(struct doca_gpu_dev_rdma_r *r, uint32_t pi)
{
	dpa_gpu_store(&r->pi, pi);
	__threadfence_system();
	*(volatile uint32_t *)(r->dbrec + DPA_GPU_RQ_PI) = pi;
	return DOCA_SUCCESS;
}

/*
 * Offer the next num_ops receives, posted at given positions, to the peers. FULL: as commit_weak().
 */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_recv_commit_weak(struct doca_gpu_dev_rdma_r *rdma_r,
							   uint32_t num_ops)
{
	uint32_t pi;

	if (!rdma_r)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_gpu_load(&rdma_r->state) != DPA_GPU_LIVE)
		return DOCA_ERROR_NOT_CONNECTED;
	pi = dpa_gpu_load(&rdma_r->pi) + num_ops;
	if (num_ops > 1u << rdma_r->log_rq ||
	    pi - dpa_gpu_load(&rdma_r->ci) > 1u << rdma_r->log_rq)
		return DOCA_ERROR_FULL;
	if ((int32_t)(dpa_gpu_load(&rdma_r->reserved) - pi) < 0)
		dpa_gpu_store(&rdma_r->reserved, pi);
	return dpa_gpu_recv_ring(rdma_r, pi);
}

/*
 * Do the same for all receives that were posted without positions. FULL: none of them is offered.
 */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_recv_commit_strong(struct doca_gpu_dev_rdma_r *rdma_r)
{
	uint32_t to;

	if (!rdma_r)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_gpu_load(&rdma_r->state) != DPA_GPU_LIVE)
		return DOCA_ERROR_NOT_CONNECTED;
	to = dpa_gpu_load(&rdma_r->reserved);
	if (to - dpa_gpu_load(&rdma_r->ci) > 1u << rdma_r->log_rq) {
		dpa_gpu_store(&rdma_r->reserved, dpa_gpu_load(&rdma_r->pi));
		return DOCA_ERROR_FULL;
	}
	return dpa_gpu_recv_ring(rdma_r, to);
}

/*
 * Wait for receives, in the order in which their messages end: receives taken by messages of one
 * connection end in the order of posts; with several connections a later one may end first.
 * @flags:            NB: takes those that messages have taken; B: waits for all that were committed
 * @num_ops:          receives that are done
 * @imm_val:          of each its immediate; an array of the caller, or NULL
 * @connection_index: of each its connection; an array of the caller, or NULL
 * IO_FAILED: a message has failed; the others are there. NOT_CONNECTED: the host has stopped the
 * context.
 */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_recv_wait_all(
	struct doca_gpu_dev_rdma_r *rdma_r, const enum doca_gpu_dev_rdma_recv_wait_flags flags,
	uint32_t *num_ops, uint32_t *imm_val, uint32_t *connection_index = nullptr)
{
	doca_error_t ret = DOCA_SUCCESS;
	uint32_t ci, n = 0;

	if (!rdma_r || !num_ops || (uint32_t)flags > DOCA_GPU_RDMA_RECV_WAIT_FLAG_B)
		return DOCA_ERROR_INVALID_VALUE;
	ci = dpa_gpu_load(&rdma_r->ci);
	while (ci != dpa_gpu_load(&rdma_r->pi)) {
		const uint64_t cqe = dpa_gpu_cqe(rdma_r->cq, rdma_r->log_cq, ci);
		const uint32_t last = dpa_gpu_load_at(cqe, DPA_GPU_CQE_LAST);

		if (!dpa_gpu_cqe_is(last, rdma_r->log_cq, ci)) {
			if (dpa_gpu_load(&rdma_r->state) != DPA_GPU_LIVE) {
				ret = DOCA_ERROR_NOT_CONNECTED;
				break;
			}
			if (flags == DOCA_GPU_RDMA_RECV_WAIT_FLAG_NB)
				break;
			DPA_GPU_RELAX();
			continue;
		}
		__threadfence_system();
		if (imm_val)
			imm_val[n] = dpa_gpu_load_at(cqe, DPA_GPU_CQE_IMM);
		if (connection_index)
			connection_index[n] = dpa_gpu_load_at(cqe, DPA_GPU_CQE_USER_INDEX);
		if (dpa_gpu_cqe_failed(last) && ret == DOCA_SUCCESS)
			ret = DOCA_ERROR_IO_FAILED;
		n++;
		dpa_gpu_store(&rdma_r->ci, ++ci);
	}
	*num_ops = n;
	return ret;
}

/* Get the same as get_info(), for the receive queue. */
DPA_GPU_FN doca_error_t doca_gpu_dev_rdma_recv_get_info(struct doca_gpu_dev_rdma_r *rdma_r,
							uint32_t *curr_position,
							uint32_t *mask_max_position)
{
	if (!rdma_r || !curr_position || !mask_max_position)
		return DOCA_ERROR_INVALID_VALUE;
	*mask_max_position = (1u << rdma_r->log_rq) - 1;
	*curr_position = dpa_gpu_load(&rdma_r->pi) & *mask_max_position;
	return DOCA_SUCCESS;
}

#undef DPA_GPU_CONN_ARG
#undef DPA_GPU_CONN

#endif /* DOCA_GPUNETIO_DEV_RDMA_CUH_ */
