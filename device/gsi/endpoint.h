/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* endpoint.h - the QP1 endpoint of this process, for the files of this folder. */
#ifndef DPA_GSI_ENDPOINT_H
#define DPA_GSI_ENDPOINT_H

#include <dpa_mad.h>
#include "ctx/cq.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "gsi/gsi.h"

#define DPA_GSI_LOG_RQ	12u /* 4096 receives, for a burst of requests */
#define DPA_GSI_RECVS	(1u << DPA_GSI_LOG_RQ)
#define DPA_GSI_LOG_SQ	13u /* blocks */
#define DPA_GSI_WQE	8u  /* blocks of a send: 32 + 48 + 256 bytes; none wraps */
#define DPA_GSI_GRH	40u
#define DPA_GSI_BUF	320u /* a receive: GRH and MAD are 296 */
#define DPA_GSI_LOG_SCQ 6u

/* The queues: page aligned memory of the function. */
struct dpa_gsi_queues {
	struct dpa_dbrec dbrec;
	uint32_t send_ci __attribute__((aligned(64)));
	uint32_t recv_ci __attribute__((aligned(64)));
	struct dpa_cqe send_cqes[1u << DPA_GSI_LOG_SCQ] __attribute__((aligned(64)));
	struct dpa_cqe recv_cqes[DPA_GSI_RECVS];
	uint8_t sq[(1u << DPA_GSI_LOG_SQ) * DPA_WQEBB];
	uint8_t rq[DPA_GSI_RECVS * 32u];
	uint8_t buf[DPA_GSI_RECVS * DPA_GSI_BUF];
};

/* There was a route between the two. Valid until `until` (ns, dpa_now_ns()). */
#define DPA_GSI_ROUTES 16u
struct dpa_gsi_route {
	uint8_t sgid[16], dgid[16];
	uint64_t until;
};

struct dpa_hw_gsi {
	struct dpa_hw *hw;
	struct dpa_hw_ctx *ctx; /* its own context: the driver may close the one that it passed */
	dpa_gsi_fn *ready;
	void *arg;
	struct dpa_hw_qp *qp;
	struct dpa_qp_info info;
	struct dpa_hw_cq *send_cq, *recv_cq;
	struct dpa_gsi_queues *q; /* not mapped in a forked child */
	uint32_t pdn, lkey;
	pthread_mutex_t lock; /* sending: sq_pi, sent, routes */
	uint32_t sq_pi, sent;
	struct dpa_gsi_route routes[DPA_GSI_ROUTES];
	/* used by dpa_hw_gsi_recv() and dpa_hw_gsi_orphan(): one caller at a time */
	uint32_t rq_pi, recv_ci;
	uint32_t orphan_at;
};

/* False in a forked child of the process that opened it. */
static inline bool dpa_gsi_alive(const struct dpa_hw_gsi *g)
{
	return __atomic_load_n(g->hw->alive, __ATOMIC_RELAXED);
}

/* For a forked child: resets the lock of open and close. */
void dpa_gsi_child_open(void);
/* Posts receive i. */
void dpa_gsi_post_recv(struct dpa_hw_gsi *g, uint32_t i);

#endif
