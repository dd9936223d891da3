/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inject.c - send WQEs that shall fail (docs/inject.md). Such a WQE is not sent: nothing of its
 * message reaches the peer, as on a cut cable. It fails when the WQEs before it are complete.
 */
#include "ctx/complete.h"
#include "inject/inject.h"
#include "inject/wc.h"
#include "send/send.h"

/* True if no packet of the WQE at send_idx was sent before. UC and UD never send again. */
static bool is_fresh(const struct dpa_hw_qp *qp)
{
	return qp->type != DPA_QP_RC || dpa_psn_diff(qp->req.send_psn, qp->req.max_psn) >= 0;
}

/* Asks once for each WQE that has a completion. */
static void ask_once(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	struct dpa_req *r = &qp->req;
	const struct dpa_inject_cqe cqe = {.qpn = qp->qpn, .opcode = dpa_cqe_opcode(c->opcode)};

	if (!dpa_wqe_reports(qp, c) || !is_fresh(qp) || (r->inject.asked && r->inject.idx == idx))
		return;
	r->inject.asked = true;
	r->inject.idx = idx;
	r->inject.status = (uint8_t)dpa_inject_wc(&cqe);
}

enum dpa_send_fate dpa_send_injected(struct dpa_hw_qp *qp, uint32_t idx,
				     const struct dpa_wqe_ctrl *c)
{
	struct dpa_req *r = &qp->req;
	struct dpa_inject_end end;

	ask_once(qp, idx, c);
	if (!r->inject.status || r->inject.idx != idx)
		return DPA_SEND_GO;
	if (r->una_idx != idx)
		return DPA_SEND_WAIT;
	end = dpa_inject_send_end(r->inject.status);
	r->inject.status = 0;
	if (!end.status)
		return DPA_SEND_GO;
	qp->errors.injected = true;
	dpa_req_fail(qp, end.status, end.syndrome);
	return DPA_SEND_FAILED;
}
