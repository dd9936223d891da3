/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cc.h - the flow of a QP and the algorithm of the port: docs/congestion.md.
 *
 *                     the port's word changed
 *   begin --> follows --------------------------------> the algorithm of the port:
 *                                                         DCQCN, RTT: here, under the QP's lock
 *                                                         image: reports to its process, and the
 *                                                         word that it answers with
 *                                                         none: not controlled
 *
 * A flow reads the port's word whenever it sends. Context of all functions: the QP's lock.
 */
#ifndef DPA_CC_H
#define DPA_CC_H

#include "ctx/hw.h"
#include "ctx/qp.h"

/* Call at the transition to RTR (RC, UC: a responder sends, too), else to RTS. */
void dpa_cc_begin(struct dpa_hw_qp *qp);
void dpa_cc_switch(struct dpa_hw_qp *qp);
/* How this flow sends probes; false: CCMAD, which the other side's adapter answers. */
bool dpa_cc_probes(struct dpa_hw_qp *qp, struct dpa_pcc_probes *out);
/*
 * With dpa_cc_probes(): the custom header that the flow's image has set, and the DSCP. False: the header
 * is being changed.
 */
bool dpa_cc_custom(struct dpa_hw_qp *qp, uint32_t header[DPA_PCC_HEADER], uint8_t *dscp);
void dpa_cc_count(struct dpa_hw_qp *qp, const struct dpa_pcc_event *ev);
/* Record a packet of the peer that came with a mark, while flows are recorded. */
void dpa_cc_marked(struct dpa_hw_qp *qp);
/* Call when hw is opened and closed. */
void dpa_cc_init(struct dpa_hw *hw);
void dpa_cc_fini(struct dpa_hw *hw);

/* Call before any other function of the flow. */
static inline void dpa_cc_follow(struct dpa_hw_qp *qp)
{
	if (dpa_unlikely(atomic_load_explicit(qp->cc.source, memory_order_relaxed) != qp->cc.word))
		dpa_cc_switch(qp);
}

static inline bool dpa_cc_is_watched(const struct dpa_hw_qp *qp)
{
	return qp->cc.counts || qp->cc.record;
}

/* As dpa_pcc_event(). */
static inline bool dpa_cc_event(struct dpa_hw_qp *qp, const struct dpa_pcc_event *ev)
{
	if (dpa_cc_is_watched(qp))
		dpa_cc_count(qp, ev);
	return dpa_pcc_event(&qp->pcc, ev);
}

/*
 * READ responses are part of the flow of the QP that sends them. The rate limits them; the window
 * does not, because nothing acknowledges them. True if `bytes` of a response may leave now; else the
 * QP is scheduled for when they may.
 */
bool dpa_cc_may_respond(struct dpa_hw_qp *qp, uint32_t bytes);
/* Response packets of so many bytes were sent. */
void dpa_cc_responded(struct dpa_hw_qp *qp, uint32_t bytes);

/* As dpa_pcc_sent(). */
static inline void dpa_cc_sent(struct dpa_hw_qp *qp, uint64_t now, uint32_t bytes)
{
	if (dpa_cc_is_watched(qp)) {
		struct dpa_pcc_event ev = {.now = now, .type = DPA_PCC_SENT, .bytes = bytes};

		dpa_cc_count(qp, &ev);
	}
	dpa_pcc_sent(&qp->pcc, now, bytes);
}

#endif
