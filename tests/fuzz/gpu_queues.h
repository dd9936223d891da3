/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gpu_queues.h - the queues of side A as a kernel of a GPU has them (libdpa/gpu/path.c): SQ, CQ of
 * the sends, CQ of the receives, SRQ and its doorbell record. They are in one piece of memory that
 * the poster maps, with bytes between them that nothing may change:
 *
 *   |guard| SQ |guard| CQ of sends |guard| CQ of receives |guard| SRQ |guard| record |guard|
 *
 * The CQs ignore overruns: the poster has no consumer index. No key is for this memory.
 */
#ifndef DPA_FUZZ_GPU_QUEUES_H
#define DPA_FUZZ_GPU_QUEUES_H

#include "qps.h"

#define GPU_LOG_CQ  9u /* as libdpa: two entries for each block of the SQ */
#define GPU_LOG_SRQ 5u
#define GPU_GUARD   256u
#define GPU_SRQ	    (32u << GPU_LOG_SRQ) /* bytes: receives of one SGE */

struct gpu_memory {
	uint8_t g0[GPU_GUARD];
	uint8_t sq[64u << TH_LOG_SQ];
	uint8_t g1[GPU_GUARD];
	struct dpa_cqe scq[1u << GPU_LOG_CQ];
	uint8_t g2[GPU_GUARD];
	struct dpa_cqe rcq[1u << GPU_LOG_CQ];
	uint8_t g3[GPU_GUARD];
	uint8_t srq[GPU_SRQ];
	uint8_t g4[GPU_GUARD];
	struct dpa_dbrec srq_rec;
	uint8_t g5[GPU_GUARD];
} __attribute__((aligned(64)));

struct gpu_queues {
	struct gpu_memory *m;	     /* NULL: A has the queues of the harness */
	uint8_t *seen_sq, *seen_srq; /* as the poster wrote them */
	struct dpa_hw_cq *scq, *rcq;
	uint32_t scq_ci, rcq_ci, zero; /* zero: the consumer index that is never written */
	uint32_t failed;	       /* CQEs with an error, of both CQs */
	struct dpa_hw_srq *srq;
	uint8_t *sq; /* of the harness */
};

/* Give A's place to a QP with such queues; both QPs are connected, and B in RTS. */
void gpu_queues_make(struct gpu_queues *g, struct fuzz *f);
/* The poster writes n bytes at `at`, which lies in one of its queues; what does not fit is cut. */
void gpu_queues_write(struct gpu_queues *g, uint8_t *queue, size_t size, size_t at,
		      const uint8_t *p, size_t n);
/* Read all new CQEs: the device wrote them whole, and they are A's. */
void gpu_queues_drain(struct gpu_queues *g, struct fuzz *f);
/* Abort unless the device has changed CQEs and consumer indices only. */
void gpu_queues_check(const struct gpu_queues *g);
/* Post a receive of len bytes of A's memory, as the next one that the device takes. */
void gpu_queues_recv(struct gpu_queues *g, struct fuzz *f, uint64_t wr_id, uint32_t len);
void gpu_queues_free(struct gpu_queues *g, struct fuzz *f);

/* Both sides to RESET, and from there to RTS. */
void fuzz_reset(struct th_side *s);
void fuzz_connect(struct fuzz *f, struct th_side *s);

#endif
