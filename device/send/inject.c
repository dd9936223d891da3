/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inject.c - send WQEs that shall fail (docs/inject.md). Such a WQE is not sent: nothing of its
 * message reaches the peer, as on a cut cable. It fails when the WQEs before it are complete.
 */
#include "ctx/complete.h"
#include "inject/inject.h"
#include "inject/wc.h"
#include "ctx/mr.h"
#include "ctx/schedule.h"
#include "payload/payload.h"
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

/* ns that the slowest of its SGEs takes, as a page that the system must bring in. */
static uint64_t slow_pages(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	uint32_t at = dpa_wqe_sge_off(qp, c->opcode);
	uint64_t most = 0;

	if (c->flags & DPA_WQE_INLINE || c->opcode == DPA_OP_BIND_MW)
		return 0;
	for (uint32_t i = 0; i < c->nsge; i++, at += sizeof(struct dpa_sge)) {
		const struct dpa_sge *g = dpa_wqe_at(qp, idx, at);
		const uint64_t ns = dpa_mr_slow(qp->hw, g->lkey);

		most = ns > most ? ns : most;
	}
	return most;
}

bool dpa_send_touches(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	struct dpa_req *r = &qp->req;
	uint64_t ns;

	if (!is_fresh(qp) || !dpa_hw_injecting(DPA_INJECT_MR))
		return false;
	if (!r->inject.touched || r->inject.touched_idx != idx) {
		r->inject.touched = true;
		r->inject.touched_idx = idx;
		ns = slow_pages(qp, idx, c);
		r->inject.until = ns ? dpa_now_ns() + ns : 0;
	}
	if (!r->inject.until || dpa_now_ns() >= r->inject.until)
		return false;
	dpa_schedule(qp, r->inject.until);
	return true;
}
