/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* req_state.h - what the sending side of a QP is doing, and what it may be waiting for. */
#ifndef DPA_REQ_STATE_H
#define DPA_REQ_STATE_H

#include "ctx/qp.h"
#include "transport.h"

/*
 * The states of README.md, by the names that tests/model/rc.pml has for them (its check `run` holds
 * the two lists together). Nothing of them is stored: each is a function of the fields that say it.
 */
enum dpa_req_state {
	DPA_REQ_IDLE,	 /* all that was posted is complete */
	DPA_REQ_SENDING, /* something may go, at its rate, and the link takes it */
	DPA_REQ_WAITING, /* for ACKs, responses, credits, room in a window; for what a fence says */
	DPA_REQ_PENDED,	 /* something may go, but the lane has no room, or the link is not up */
	DPA_REQ_TIMER,	 /* nothing is sent before the RNR or retry timer has expired */
	DPA_REQ_ERR,	 /* the QP is in ERR, or in SQE (UC, UD) */
	DPA_REQ_STATES
};

/* Under the QP's lock; changes nothing. */
enum dpa_req_state dpa_req_state(const struct dpa_hw_qp *qp);
const char *dpa_req_state_name(enum dpa_req_state st);

/* IBA 9.7.1 (window) */
static inline bool dpa_fits_window(const struct dpa_hw_qp *qp, uint32_t psns)
{
	const struct dpa_req *r = &qp->req;

	return qp->type != DPA_QP_RC ||
	       ((r->send_wqe_psn - r->una_psn) & DPA_PSN_MASK) + psns < DPA_PSN_WINDOW;
}

/*
 * IBA 9.7.7.2: what takes a receive of the peer waits until there is one; but one message goes in
 * any case, and is answered by an RNR NAK or by news.
 */
/* IBA 9.7.7 (wait) */
static inline bool dpa_has_credit(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	const struct dpa_req *r = &qp->req;

	return !r->credits || c->opcode == DPA_OP_RDMA_WRITE || dpa_op_answers(c->opcode) ||
	       r->una_idx == r->send_idx || r->probing == 1 ||
	       dpa_psn_diff(r->send_psn, r->max_psn) < 0 ||
	       dpa_psn_diff(dpa_psn_add(r->send_ssn, 1), r->lsn) <= 0;
}

#endif
