/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* req_state.h - the state of the sending side of a QP, and the reason if it waits. */
#ifndef DPA_REQ_STATE_H
#define DPA_REQ_STATE_H

#include "ctx/qp.h"
#include "send/send.h"

/*
 * The states of README.md, with their names in tests/model/rc.pml (its check `run` compares the two
 * lists). No state is stored: each is a function of the fields that determine it.
 */
enum dpa_req_state {
	DPA_REQ_IDLE,	 /* all posted WQEs are complete */
	DPA_REQ_SENDING, /* packets may leave, at the QP's rate, and the link takes them */
	/* waits for ACKs, responses, credits, window space, or because of a fence */
	DPA_REQ_WAITING,
	DPA_REQ_PENDED, /* packets may leave, but the ring has no room, or the link is not up */
	DPA_REQ_TIMER,	/* nothing is sent before the RNR or retry timer expires */
	DPA_REQ_ERR,	/* the QP is in ERR, or in SQE (UC, UD) */
	DPA_REQ_STATES
};

/* Return the state; changes nothing. Context: the QP's lock. */
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
 * IBA 9.7.7.2: a request that needs a receive of the peer waits until there is one. But one message
 * may always be sent; its answer is an RNR NAK or new credits.
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
