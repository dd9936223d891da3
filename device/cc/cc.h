/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cc.h - the flow of a QP and the algorithm of the port: docs/congestion.md.
 *
 *                     the port's word is another one
 *   begin --> follows --------------------------------> what acts on the port:
 *                                                         DCQCN, RTT: here, under the QP's lock
 *                                                         image: reports to its process, and the
 *                                                         word that it answers with
 *                                                         none: not controlled
 *
 * A flow looks at the port's word whenever it sends. All functions: under the QP's lock.
 */
#ifndef DPA_CC_H
#define DPA_CC_H

#include "ctx/hw.h"
#include "ctx/qp.h"

/* At the transition to RTS. */
void dpa_cc_begin(struct dpa_hw_qp *qp);
void dpa_cc_switch(struct dpa_hw_qp *qp);
void dpa_cc_count(struct dpa_hw_qp *qp, const struct dpa_pcc_event *ev);
/* hw: at its open and close. */
void dpa_cc_init(struct dpa_hw *hw);
void dpa_cc_fini(struct dpa_hw *hw);

/* Before the flow is asked anything. */
static inline void dpa_cc_follow(struct dpa_hw_qp *qp)
{
	if (dpa_unlikely(atomic_load_explicit(qp->cc.source, memory_order_relaxed) != qp->cc.word))
		dpa_cc_switch(qp);
}

/* As dpa_pcc_event(). */
static inline bool dpa_cc_event(struct dpa_hw_qp *qp, const struct dpa_pcc_event *ev)
{
	if (qp->cc.counts)
		dpa_cc_count(qp, ev);
	return dpa_pcc_event(&qp->pcc, ev);
}

/* As dpa_pcc_sent(). */
static inline void dpa_cc_sent(struct dpa_hw_qp *qp, uint64_t now, uint32_t bytes)
{
	if (qp->cc.counts) {
		struct dpa_pcc_event ev = {.now = now, .type = DPA_PCC_SENT, .bytes = bytes};

		dpa_cc_count(qp, &ev);
	}
	dpa_pcc_sent(&qp->pcc, now, bytes);
}

#endif
