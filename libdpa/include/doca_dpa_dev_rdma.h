/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_dpa_dev_rdma.h - RDMA operations of device code.
 *
 * rdma comes from doca_rdma_get_dpa_handle(), connection_id from doca_rdma_connection_get_id() of a
 * connected connection. Memory is named by mmap handles (doca_mmap_dev_get_dpa_handle()): local
 * ones of this side's maps, remote ones of maps made from the peer's exports.
 *
 * flags: enum doca_dpa_dev_submit_flag. Without FLUSH an operation may be held back until a later
 * one of the connection has it, or the queue is full. Without OPTIMIZE_REPORTS an operation puts an
 * element into the context's completion context when it is done; with it only when it fails.
 * Operations of a connection are done in the order in which they were posted.
 *
 * A payload of up to 208 bytes that lies in a map of this side is copied while it is posted, so
 * that the memory may change at once; a larger one must not change until its element arrives. A
 * full send or receive queue makes the poster wait.
 *
 * There are no return values. A bad memory handle or range, or a refusal by the peer, is a SEND_ERR
 * element, and the connection is over. A bad rdma handle, a connection_id that is not connected, or
 * unknown flags put the program's context in the fatal state.
 *
 * Threads may post to different connections of a context, and receives, at the same time.
 */
#ifndef DOCA_DPA_DEV_RDMA_H_
#define DOCA_DPA_DEV_RDMA_H_

#include <doca_dpa_dev.h>
#include <doca_dpa_dev_buf.h>
#include <doca_dpa_dev_sync_event.h>

#ifdef __cplusplus
extern "C" {
#endif

__dpa_global__ typedef uint64_t doca_dpa_dev_rdma_t;

/* ------------------------------------------------------------------ receive */

/*
 * Post one receive of up to length bytes, for a message of any connection of the context. Full
 * queue: waits until a message has taken one.
 */
DOCA_EXPERIMENTAL void doca_dpa_dev_rdma_post_receive(doca_dpa_dev_rdma_t rdma,
						      doca_dpa_dev_mmap_t mmap_handle,
						      uint64_t addr, size_t length);
DOCA_EXPERIMENTAL void doca_dpa_dev_rdma_post_buf_receive(doca_dpa_dev_rdma_t rdma,
							  doca_dpa_dev_buf_t receive_buf_handle);

/* Return num_acked receives. Not needed: a receive is free as soon as a message has taken it. */
DOCA_EXPERIMENTAL void doca_dpa_dev_rdma_receive_ack(doca_dpa_dev_rdma_t rdma, uint32_t num_acked);

/* --------------------------------------------------------------------- send */

/* Send a message, which takes a receive of the peer. */
DOCA_EXPERIMENTAL void doca_dpa_dev_rdma_post_send(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
						   doca_dpa_dev_mmap_t mmap_handle, uint64_t addr,
						   size_t length, uint32_t flags);
DOCA_EXPERIMENTAL void doca_dpa_dev_rdma_post_buf_send(doca_dpa_dev_rdma_t rdma,
						       uint32_t connection_id,
						       doca_dpa_dev_buf_t send_buf_handle,
						       uint32_t flags);

/*
 * Do the same with an immediate. immediate: a number, which the peer's device code reads as such,
 * and verbs as its htonl().
 */
DOCA_EXPERIMENTAL void doca_dpa_dev_rdma_post_send_imm(doca_dpa_dev_rdma_t rdma,
						       uint32_t connection_id,
						       doca_dpa_dev_mmap_t mmap_handle,
						       uint64_t addr, size_t length,
						       uint32_t immediate, uint32_t flags);
DOCA_EXPERIMENTAL void doca_dpa_dev_rdma_post_buf_send_imm(doca_dpa_dev_rdma_t rdma,
							   uint32_t connection_id,
							   doca_dpa_dev_buf_t send_buf_handle,
							   uint32_t immediate, uint32_t flags);

/* ---------------------------------------------------------- READ and WRITE */

/* Read from remote (src) to local (dst). */
DOCA_EXPERIMENTAL void doca_dpa_dev_rdma_post_read(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
						   doca_dpa_dev_mmap_t dst_mmap_handle,
						   uint64_t dst_addr,
						   doca_dpa_dev_mmap_t src_mmap_handle,
						   uint64_t src_addr, size_t length,
						   uint32_t flags);
/* Read as many bytes as both buffers have. */
DOCA_EXPERIMENTAL void doca_dpa_dev_rdma_post_buf_read(doca_dpa_dev_rdma_t rdma,
						       uint32_t connection_id,
						       doca_dpa_dev_buf_t dst_buf_handle,
						       doca_dpa_dev_buf_t src_buf_handle,
						       uint32_t flags);

/* Write from local (src) to remote (dst). */
DOCA_EXPERIMENTAL void
doca_dpa_dev_rdma_post_write(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
			     doca_dpa_dev_mmap_t dst_mmap_handle, uint64_t dst_addr,
			     doca_dpa_dev_mmap_t src_mmap_handle, uint64_t src_addr, size_t length,
			     uint32_t flags);
/* Write as many bytes as the source has. */
DOCA_EXPERIMENTAL void doca_dpa_dev_rdma_post_buf_write(doca_dpa_dev_rdma_t rdma,
							uint32_t connection_id,
							doca_dpa_dev_buf_t dst_buf_handle,
							doca_dpa_dev_buf_t src_buf_handle,
							uint32_t flags);

/* Do the same, and take a receive of the peer for the immediate. */
DOCA_EXPERIMENTAL void
doca_dpa_dev_rdma_post_write_imm(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
				 doca_dpa_dev_mmap_t dst_mmap_handle, uint64_t dst_addr,
				 doca_dpa_dev_mmap_t src_mmap_handle, uint64_t src_addr,
				 size_t length, uint32_t immediate, uint32_t flags);
DOCA_EXPERIMENTAL void doca_dpa_dev_rdma_post_buf_write_imm(doca_dpa_dev_rdma_t rdma,
							    uint32_t connection_id,
							    doca_dpa_dev_buf_t dst_buf_handle,
							    doca_dpa_dev_buf_t src_buf_handle,
							    uint32_t immediate, uint32_t flags);

/* ------------------------------------------------------------------ atomics */

/*
 * Add value to the 8 bytes at a remote address that is a multiple of 8. The old value is not
 * returned.
 */
DOCA_EXPERIMENTAL void doca_dpa_dev_rdma_post_atomic_fetch_add(doca_dpa_dev_rdma_t rdma,
							       uint32_t connection_id,
							       doca_dpa_dev_mmap_t dst_mmap_handle,
							       uint64_t dst_addr, uint64_t value,
							       uint32_t flags);
DOCA_EXPERIMENTAL void
doca_dpa_dev_rdma_post_buf_atomic_fetch_add(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
					    doca_dpa_dev_buf_t dst_buf_handle, uint64_t value,
					    uint32_t flags);

/*
 * Set the peer's sync event to count, or add count to it, behind everything that was posted before.
 * It implies FLUSH, and is reported.
 */
DOCA_EXPERIMENTAL void
doca_dpa_dev_rdma_signal_set(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
			     doca_dpa_dev_sync_event_remote_net_t remote_sync_event,
			     uint64_t count);
DOCA_EXPERIMENTAL void
doca_dpa_dev_rdma_signal_add(doca_dpa_dev_rdma_t rdma, uint32_t connection_id,
			     doca_dpa_dev_sync_event_remote_net_t remote_sync_event,
			     uint64_t count);

/* -------------------------------------------------------------- completions */

/*
 * Return the index of the operation that an element reports, from 0 to the size of the queue less
 * one. In the connection's send queue it is the place in the order of posts, modulo the size. In
 * the context's receive queue it differs from that of every other receive that is posted, in
 * progress or unread. It is free when doca_dpa_dev_get_completion() has returned the element, and
 * the next post takes the index that has been free longest (at first 0, then 1, ...): if the queue
 * is kept full, the receive posted for an element has the index of that element. It is not the
 * place in the order of posts: messages of several connections may end in another order than they
 * began. A program that posts without reading elements gets indices of unread elements when no
 * others are left.
 */
DOCA_EXPERIMENTAL uint32_t
doca_dpa_dev_rdma_completion_get_wr_index(doca_dpa_dev_completion_element_t comp_element);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_DPA_DEV_RDMA_H_ */
