/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* srq.h - shared receive queues. */
#ifndef DPA_CTX_SRQ_H
#define DPA_CTX_SRQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
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

/*
 * o11-5: armed until the number of WQEs falls below the limit; then one event, and it is disarmed.
 * True: the event is due. Context: srq->lock.
 */
static inline bool dpa_srq_below_limit(struct dpa_hw_srq *srq, uint32_t pi)
{
	if (!srq->limit || pi - srq->ci >= srq->limit)
		return false;
	srq->limit = 0;
	return true;
}

/*
 * Returns the next receive WQE; NULL: there is none. *pi: the producer index, for dpa_srq_pop().
 * rq_pi: acquire, pairs with the poster's release behind the WQE. Context: srq->lock.
 */
static inline const struct dpa_rwqe *dpa_srq_head(const struct dpa_hw_srq *srq, uint32_t *pi)
{
	*pi = __atomic_load_n(&srq->dbrec->rq_pi, __ATOMIC_ACQUIRE);
	if (*pi == srq->ci)
		return NULL;
	return (const void *)(srq->buf +
			      (size_t)(srq->ci & ((1u << srq->log_size) - 1)) * srq->stride);
}

/*
 * The WQE was read and belongs to the poster again. rq_ci: release, after the reads. True: the
 * caller calls dpa_srq_limit_event() after it released the lock. Context: srq->lock.
 */
static inline bool dpa_srq_pop(struct dpa_hw_srq *srq, uint32_t pi)
{
	srq->ci++;
	__atomic_store_n(&srq->dbrec->rq_ci, srq->ci, __ATOMIC_RELEASE);
	return dpa_srq_below_limit(srq, pi);
}

/* Take the next receive WQE. False: there is none. */
bool dpa_srq_take(struct dpa_hw_srq *srq, struct dpa_rx_wqe *w);
/*
 * The same under srq->lock. *event: the caller calls dpa_srq_limit_event() after it released the
 * lock.
 */
bool dpa_srq_take_held(struct dpa_hw_srq *srq, struct dpa_rx_wqe *w, bool *event);
void dpa_srq_limit_event(struct dpa_hw_srq *srq);

#endif
