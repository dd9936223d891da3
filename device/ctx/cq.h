/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cq.h - completion queues, on the producing side. */
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
	uint32_t ci_seen; /* *ci at some time; entries before it are the producer's */
	uint32_t flags;
	uint32_t cqn;
	uint8_t armed; /* 0, 1 any, 2 solicited only */
	bool overrun;
	struct dpa_hw_cq *tap; /* gets a copy of each entry; NULL: none. Set under `lock` */
	uint32_t told, at_arm; /* pi at the last event, and at the last arming */
	uint64_t user_handle;
	dpa_comp_fn *comp;
	void *comp_arg;
	_Atomic uint32_t refs;	       /* QPs */
	struct dpa_board_cqinfo *info; /* may be NULL */
	/* moderate.c */
	uint16_t mod_count, mod_period; /* entries; us */
	uint32_t held;			/* entries that an event waits for */
	uint64_t mod_due;
	struct dpa_hw_cq *mod_next;
} __attribute__((aligned(2 * DPA_CACHE_LINE)));

/* False: the CQ overran, and the entry is lost. */
bool dpa_cq_push(struct dpa_hw_cq *cq, const struct dpa_cqe *cqe);
/* True: the consumer has not taken all entries of this QP yet. */
bool dpa_cq_has(struct dpa_hw_cq *cq, uint32_t qpn);
/* True: the consumer has not taken all entries yet. */
bool dpa_cq_unread(struct dpa_hw_cq *cq);
/* n of them, under one lock and with one store of the index: how many had room. */
uint32_t dpa_cq_push_all(struct dpa_hw_cq *cq, const struct dpa_cqe *cqe, uint32_t n);
/* The same for a QP, under its lock: one that cannot report goes to the error state before long. */
void dpa_qp_report(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe);
/* The same of n, whatever they should wait for (foreign/foreign.h). */
void dpa_qp_report_now(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe,
		       uint32_t n);
/* Ends a QP that lost an entry; under its lock. */
void dpa_qp_cqe_lost(struct dpa_hw_qp *qp);

/* Fires the event that was held, if there still is something to tell of. */
void dpa_cq_fire_held(struct dpa_hw_cq *cq);

#endif
