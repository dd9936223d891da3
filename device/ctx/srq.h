/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* srq.h - shared receive queues. */
#ifndef DPA_CTX_SRQ_H
#define DPA_CTX_SRQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <dpa_hw.h>
#include "util/lock.h"

struct dpa_hw_ctx;
struct dpa_hw_cq;
struct dpa_rx_wqe;

struct dpa_tags;

struct dpa_hw_srq {
	struct dpa_hw_ctx *ctx;
	dpa_spin_t lock;
	uint32_t pdn, max_sge, log_size, stride, srqn;
	uint32_t ci;
	uint32_t limit;
	uint8_t *buf;
	struct dpa_dbrec *dbrec;
	uint64_t user_handle;
	_Atomic uint32_t refs;
	/* XRC only */
	uint32_t xrcd;
	struct dpa_hw_cq *cq;  /* CQ for tag matching, too */
	struct dpa_tags *tags; /* under lock; NULL: no tag matching */
};

/* Take the next receive WQE. False: there is none. */
bool dpa_srq_take(struct dpa_hw_srq *srq, struct dpa_rx_wqe *w);
/*
 * The same under srq->lock. *event: the caller calls dpa_srq_limit_event() after it released the
 * lock.
 */
bool dpa_srq_take_held(struct dpa_hw_srq *srq, struct dpa_rx_wqe *w, bool *event);
void dpa_srq_limit_event(struct dpa_hw_srq *srq);

#endif
