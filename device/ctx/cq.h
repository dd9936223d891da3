/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cq.h - completion queues, the producer's side. */
#ifndef DPA_CTX_CQ_H
#define DPA_CTX_CQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <dpa_hw.h>
#include "util/lock.h"

struct dpa_hw_ctx;
struct dpa_hw_qp;
struct dpa_board_cqinfo;

struct dpa_hw_cq {
	struct dpa_hw_ctx *ctx;
	dpa_spin_t lock; /* producers, arming, resize */
	uint32_t log_size;
	uint32_t pi;
	struct dpa_cqe *buf;
	const uint32_t *ci;
	uint32_t ci_seen; /* a past value of *ci; entries before it belong to the producer */
	uint32_t flags;
	uint32_t cqn;
	uint8_t armed; /* 0, 1 any, 2 solicited only */
	bool overrun;
	/* mirror CQ, which gets a copy of each entry; NULL: none. Set under `lock` */
	struct dpa_hw_cq *tap;
	uint32_t told, at_arm; /* pi at the last event, and when it was last armed */
	uint64_t user_handle;
	dpa_comp_fn *comp;
	void *comp_arg;
	_Atomic uint32_t refs;	       /* QPs */
	struct dpa_board_cqinfo *info; /* may be NULL */
	/* moderate.c */
	uint16_t mod_count, mod_period; /* entries; us */
	uint32_t held;			/* entries held back from the event */
	bool late;			/* an event comes late, at mod_due: an injected failure */
	uint64_t mod_due;
	struct dpa_hw_cq *mod_next;
} __attribute__((aligned(2 * DPA_CACHE_LINE)));

/* Add an entry. False: the CQ overran, and the entry is lost. */
bool dpa_cq_push(struct dpa_hw_cq *cq, const struct dpa_cqe *cqe);
/* True if the consumer has not taken all entries of this QP yet. */
bool dpa_cq_has(struct dpa_hw_cq *cq, uint32_t qpn);
/* True if the consumer has not taken all entries yet. */
bool dpa_cq_unread(struct dpa_hw_cq *cq);
/* Add n entries under one lock, with one store of the index. Returns the number that had room. */
uint32_t dpa_cq_push_all(struct dpa_hw_cq *cq, const struct dpa_cqe *cqe, uint32_t n);
/*
 * The same for a QP: a QP that cannot report goes to the error state soon. Context: the QP's lock.
 */
void dpa_qp_report(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe);
/* The same for n entries, without waiting for copies (foreign/foreign.h). */
void dpa_qp_report_now(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe,
		       uint32_t n);
/* The CQ overruns now, unless it ignores that: an injected failure. Takes its lock. */
void dpa_cq_break(struct dpa_hw_cq *cq);
/* End a QP that lost an entry. Context: the QP's lock. */
void dpa_qp_cqe_lost(struct dpa_hw_qp *qp);

/* Fire the event that was held, if there are still entries to report. */
void dpa_cq_fire_held(struct dpa_hw_cq *cq);

#endif
