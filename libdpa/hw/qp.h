/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp.h - posting to the queues of QPs and SRQs from an EU. */
#ifndef DPA_HW_QP_H
#define DPA_HW_QP_H

#include "hw.h"

struct dpa_dev_send_wr;
struct dpa_dev_sge;

/* The poster owns the indices: device code, one thread at a time. */
struct dpa_qp_queues {
	struct dpa_qp_view view;
	uint32_t sq_pi, rq_pi;
};

/* The same for an SRQ. */
struct dpa_srq_queue {
	struct dpa_srq_view view;
	uint32_t pi;
};

/* A complete send work request. */
struct dpa_qp_wr {
	uint8_t opcode; /* enum dpa_op, but no UD and no BIND_MW */
	uint8_t flags;	/* enum dpa_wqe_flags */
	uint32_t imm;	/* as a number */
	uint32_t rkey;
	uint64_t wr_id;
	uint64_t remote;
	uint64_t swap_add, compare;
	uint32_t nsge;	 /* up to DPA_MAX_SGE; 0 with DPA_WQE_INLINE */
	uint32_t length; /* of data */
	const struct dpa_sge *sge;
	const void *data; /* DPA_WQE_INLINE: up to DPA_MAX_INLINE bytes */
};

/* Write the WQE. False: the queue has no room now. */
bool dpa_qp_put(struct dpa_qp_queues *q, const struct dpa_qp_wr *wr);
/*
 * Write the doorbell for all WQEs put so far. The caller then calls dpa_hwif_ring_sq(), holding no
 * lock that the device's callbacks take.
 */
void dpa_qp_doorbell(struct dpa_qp_queues *q);

/* Put and ring. 0 or enum dpa_dev_post_error. */
int dpa_qp_post_send(struct dpa_qp_queues *q, const struct dpa_dev_send_wr *wr);
int dpa_qp_post_recv(struct dpa_qp_queues *q, uint64_t wr_id, const struct dpa_dev_sge *sge,
		     uint32_t n);

bool dpa_srq_full(const struct dpa_srq_queue *q);
/* Post a receive. False: the queue is full. n is at most view.max_sge. */
bool dpa_srq_post(struct dpa_srq_queue *q, uint64_t wr_id, const struct dpa_sge *sge, uint32_t n);

#endif
