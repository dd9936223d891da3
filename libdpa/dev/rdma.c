/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rdma.c - RDMA operations of device code. Payloads that are copied at post time are read here, in
 * the image, and so are buf handles, so that a bad pointer is a fault of the image. The wait for a
 * full queue is here too, as a repeated call, so that it can be killed.
 */
#include <string.h>
#include <doca_dpa_dev_rdma.h>
#include <dpa/dpa_image.h>
#include <dpa_hw.h>

extern const struct dpa_dev_ops *__dpa_ops;

/* One side of an operation. */
struct place {
	doca_dpa_dev_mmap_t mmap;
	uint64_t addr;
	uint64_t length;
};

/*
 * Return the handle for the op. The op reads 0 as "no event"; 0 is no valid handle, so ~0 is
 * passed, which is refused.
 */
static uint64_t event_handle(doca_dpa_dev_sync_event_remote_net_t event)
{
	return event ? event : ~0ull;
}

static struct place buf_place(doca_dpa_dev_buf_t buf)
{
	struct place p = {doca_dpa_dev_buf_get_mmap(buf), doca_dpa_dev_buf_get_addr(buf),
			  doca_dpa_dev_buf_get_len(buf)};

	return p;
}

static void post_wr(doca_dpa_dev_rdma_t rdma, uint32_t connection, struct dpa_dev_rdma_wr *wr)
{
	while (__dpa_ops->rdma_post(rdma, connection, wr))
		wr->again = 1;
}

/* Post an operation that sends the local bytes. */
static void post_payload(doca_dpa_dev_rdma_t rdma, uint32_t connection, struct dpa_dev_rdma_wr *wr)
{
	_Alignas(8) char copy[DPA_DEV_RDMA_INLINE];

	if (wr->length <= sizeof(copy) &&
	    __dpa_ops->rdma_snapshot(rdma, connection, wr->local_key, wr->local, wr->length)) {
		memcpy(copy, (const void *)(uintptr_t)wr->local, wr->length);
		wr->data = copy;
	}
	post_wr(rdma, connection, wr);
}

static void post_send_op(doca_dpa_dev_rdma_t rdma, uint32_t connection, struct place from,
			 uint32_t op, uint32_t imm, uint32_t flags)
{
	struct dpa_dev_rdma_wr wr = {.op = op,
				     .flags = flags,
				     .imm = imm,
				     .local_key = from.mmap,
				     .local = from.addr,
				     .length = from.length};

	post_payload(rdma, connection, &wr);
}

static void post_write(doca_dpa_dev_rdma_t rdma, uint32_t connection, struct place to,
		       struct place from, uint32_t op, uint32_t imm, uint32_t flags)
{
	struct dpa_dev_rdma_wr wr = {.op = op,
				     .flags = flags,
				     .imm = imm,
				     .local_key = from.mmap,
				     .local = from.addr,
				     .length = from.length,
				     .remote_key = to.mmap,
				     .remote = to.addr};

	post_payload(rdma, connection, &wr);
}

static void post_read(doca_dpa_dev_rdma_t rdma, uint32_t connection, struct place to,
		      struct place from, uint32_t flags)
{
	struct dpa_dev_rdma_wr wr = {.op = DPA_DEV_RDMA_OP_READ,
				     .flags = flags,
				     .local_key = to.mmap,
				     .local = to.addr,
				     .length = to.length < from.length ? to.length : from.length,
				     .remote_key = from.mmap,
				     .remote = from.addr};

	post_wr(rdma, connection, &wr);
}

static void post_fetch_add(doca_dpa_dev_rdma_t rdma, uint32_t connection, struct place to,
			   uint64_t value, uint32_t flags)
{
	struct dpa_dev_rdma_wr wr = {.op = DPA_DEV_RDMA_OP_FETCH_ADD,
				     .flags = flags,
				     .remote_key = to.mmap,
				     .remote = to.addr,
				     .value = value};

	post_wr(rdma, connection, &wr);
}

static void post_receive_wr(doca_dpa_dev_rdma_t rdma, struct place to)
{
	uint32_t again = 0;

	while (__dpa_ops->rdma_receive(rdma, again, to.mmap, to.addr, to.length))
		again = 1;
}

/* ------------------------------------------------------------------ receive */

void doca_dpa_dev_rdma_post_receive(doca_dpa_dev_rdma_t rdma, doca_dpa_dev_mmap_t mmap_handle,
				    uint64_t addr, size_t length)
{
	post_receive_wr(rdma, (struct place){mmap_handle, addr, length});
}

void doca_dpa_dev_rdma_post_buf_receive(doca_dpa_dev_rdma_t rdma,
					doca_dpa_dev_buf_t receive_buf_handle)
{
	post_receive_wr(rdma, buf_place(receive_buf_handle));
}

void doca_dpa_dev_rdma_receive_ack(doca_dpa_dev_rdma_t rdma, uint32_t num_acked)
{
	__dpa_ops->rdma_receive_ack(rdma, num_acked);
}

/* --------------------------------------------------------------------- send */

void doca_dpa_dev_rdma_post_send(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
				 doca_dpa_dev_mmap_t mmap_handle, uint64_t addr, size_t length,
				 uint32_t flags)
{
	post_send_op(rdma, connection_id, (struct place){mmap_handle, addr, length},
		     DPA_DEV_RDMA_OP_SEND, 0, flags);
}

void doca_dpa_dev_rdma_post_buf_send(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
				     doca_dpa_dev_buf_t send_buf_handle, uint32_t flags)
{
	post_send_op(rdma, connection_id, buf_place(send_buf_handle), DPA_DEV_RDMA_OP_SEND, 0,
		     flags);
}

void doca_dpa_dev_rdma_post_send_imm(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
				     doca_dpa_dev_mmap_t mmap_handle, uint64_t addr, size_t length,
				     uint32_t immediate, uint32_t flags)
{
	post_send_op(rdma, connection_id, (struct place){mmap_handle, addr, length},
		     DPA_DEV_RDMA_OP_SEND_IMM, immediate, flags);
}

void doca_dpa_dev_rdma_post_buf_send_imm(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
					 doca_dpa_dev_buf_t send_buf_handle, uint32_t immediate,
					 uint32_t flags)
{
	post_send_op(rdma, connection_id, buf_place(send_buf_handle), DPA_DEV_RDMA_OP_SEND_IMM,
		     immediate, flags);
}

/* ----------------------------------------------------------- READ and WRITE */

void doca_dpa_dev_rdma_post_read(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
				 doca_dpa_dev_mmap_t dst_mmap_handle, uint64_t dst_addr,
				 doca_dpa_dev_mmap_t src_mmap_handle, uint64_t src_addr,
				 size_t length, uint32_t flags)
{
	post_read(rdma, connection_id, (struct place){dst_mmap_handle, dst_addr, length},
		  (struct place){src_mmap_handle, src_addr, length}, flags);
}

void doca_dpa_dev_rdma_post_buf_read(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
				     doca_dpa_dev_buf_t dst_buf_handle,
				     doca_dpa_dev_buf_t src_buf_handle, uint32_t flags)
{
	post_read(rdma, connection_id, buf_place(dst_buf_handle), buf_place(src_buf_handle), flags);
}

void doca_dpa_dev_rdma_post_write(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
				  doca_dpa_dev_mmap_t dst_mmap_handle, uint64_t dst_addr,
				  doca_dpa_dev_mmap_t src_mmap_handle, uint64_t src_addr,
				  size_t length, uint32_t flags)
{
	post_write(rdma, connection_id, (struct place){dst_mmap_handle, dst_addr, length},
		   (struct place){src_mmap_handle, src_addr, length}, DPA_DEV_RDMA_OP_WRITE, 0,
		   flags);
}

void doca_dpa_dev_rdma_post_buf_write(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
				      doca_dpa_dev_buf_t dst_buf_handle,
				      doca_dpa_dev_buf_t src_buf_handle, uint32_t flags)
{
	post_write(rdma, connection_id, buf_place(dst_buf_handle), buf_place(src_buf_handle),
		   DPA_DEV_RDMA_OP_WRITE, 0, flags);
}

void doca_dpa_dev_rdma_post_write_imm(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
				      doca_dpa_dev_mmap_t dst_mmap_handle, uint64_t dst_addr,
				      doca_dpa_dev_mmap_t src_mmap_handle, uint64_t src_addr,
				      size_t length, uint32_t immediate, uint32_t flags)
{
	post_write(rdma, connection_id, (struct place){dst_mmap_handle, dst_addr, length},
		   (struct place){src_mmap_handle, src_addr, length}, DPA_DEV_RDMA_OP_WRITE_IMM,
		   immediate, flags);
}

void doca_dpa_dev_rdma_post_buf_write_imm(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
					  doca_dpa_dev_buf_t dst_buf_handle,
					  doca_dpa_dev_buf_t src_buf_handle, uint32_t immediate,
					  uint32_t flags)
{
	post_write(rdma, connection_id, buf_place(dst_buf_handle), buf_place(src_buf_handle),
		   DPA_DEV_RDMA_OP_WRITE_IMM, immediate, flags);
}

/* ------------------------------------------------------------------ atomics */

void doca_dpa_dev_rdma_post_atomic_fetch_add(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
					     doca_dpa_dev_mmap_t dst_mmap_handle, uint64_t dst_addr,
					     uint64_t value, uint32_t flags)
{
	post_fetch_add(rdma, connection_id, (struct place){dst_mmap_handle, dst_addr, 8}, value,
		       flags);
}

void doca_dpa_dev_rdma_post_buf_atomic_fetch_add(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
						 doca_dpa_dev_buf_t dst_buf_handle, uint64_t value,
						 uint32_t flags)
{
	post_fetch_add(rdma, connection_id, buf_place(dst_buf_handle), value, flags);
}

void doca_dpa_dev_rdma_signal_set(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
				  doca_dpa_dev_sync_event_remote_net_t remote_sync_event,
				  uint64_t count)
{
	struct dpa_dev_rdma_wr wr = {.op = DPA_DEV_RDMA_OP_WRITE,
				     .flags = DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH,
				     .event = event_handle(remote_sync_event),
				     .length = sizeof(count),
				     .data = &count};

	post_wr(rdma, connection_id, &wr);
}

void doca_dpa_dev_rdma_signal_add(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
				  doca_dpa_dev_sync_event_remote_net_t remote_sync_event,
				  uint64_t count)
{
	struct dpa_dev_rdma_wr wr = {.op = DPA_DEV_RDMA_OP_FETCH_ADD,
				     .flags = DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH,
				     .event = event_handle(remote_sync_event),
				     .value = count};

	post_wr(rdma, connection_id, &wr);
}

/* -------------------------------------------------------------- completions */

uint32_t doca_dpa_dev_rdma_completion_get_wr_index(doca_dpa_dev_completion_element_t comp_element)
{
	return (uint32_t)((const struct dpa_cqe *)(uintptr_t)comp_element)->wr_id;
}
