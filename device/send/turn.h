/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * turn.h - the ownership epochs ("turns") of an XRC initiator, whose messages go to the process that
 * has the SRQ; the rest: transport/xrc_branch.h. Under the QP's lock.
 */
#ifndef DPA_SEND_TURN_H
#define DPA_SEND_TURN_H

#include "link/lane.h"

static inline bool dpa_is_initiator(const struct dpa_hw_qp *qp)
{
	return qp->transport == DPA_BTH_XRC && !qp->xrcd && !qp->pkt_flags;
}

static inline uint32_t dpa_next_turn(const struct dpa_hw_qp *qp)
{
	return (qp->xrc.turn + 1) & ~DPA_TURN_KEEPS ? (qp->xrc.turn + 1) & ~DPA_TURN_KEEPS : 1;
}

/* The packets that were sent are lost: begin the epoch again. */
static inline void dpa_turn_again(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;

	if (!dpa_is_initiator(qp) || !r->turned)
		return;
	qp->xrc.turn = dpa_next_turn(qp);
	r->turn_idx = r->una_idx;
	r->turn_keeps |= r->una_psn != r->turn_psn;
}

#endif
