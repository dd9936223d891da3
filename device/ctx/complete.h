/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* complete.h - completion of a send WQE, by packets or by the direct path. */
#ifndef DPA_CTX_COMPLETE_H
#define DPA_CTX_COMPLETE_H

#include <dpa_hw_trace.h>
#include "ctx/cq.h"
#include "ctx/qp.h"
#include "ctx/wqe.h"

static inline uint8_t dpa_cqe_opcode(uint8_t op)
{
	switch (op) {
	case DPA_OP_RDMA_WRITE:
	case DPA_OP_RDMA_WRITE_IMM:
		return DPA_CQE_RDMA_WRITE;
	case DPA_OP_RDMA_READ:
		return DPA_CQE_RDMA_READ;
	case DPA_OP_ATOMIC_CS:
		return DPA_CQE_COMP_SWAP;
	case DPA_OP_ATOMIC_FA:
		return DPA_CQE_FETCH_ADD;
	case DPA_OP_LOCAL_INV:
		return DPA_CQE_LOCAL_INV;
	case DPA_OP_BIND_MW:
		return DPA_CQE_BIND_MW;
	case DPA_OP_FLUSH:
		return DPA_CQE_FLUSH;
	case DPA_OP_ATOMIC_WRITE:
		return DPA_CQE_ATOMIC_WRITE;
	default:
		return DPA_CQE_SEND;
	}
}

/* True if this WQE has a CQE when it succeeds. */
static inline bool dpa_wqe_reports(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	return (c->flags & DPA_WQE_SIGNALED) || qp->sq_sig_all;
}

/*
 * Fills in the CQE of `c`, the WQE at una_idx, with opcode `op`. Call it some time before the CQE
 * is reported: the copy into the CQ reads it in wide words, which waits for these stores.
 */
DPA_STEP void dpa_wqe_cqe(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint8_t op,
			  uint32_t len, uint8_t status, uint32_t syndrome, struct dpa_cqe *e)
{
	*e = (struct dpa_cqe){.wr_id = c->wr_id,
			      .qpn = qp->qpn,
			      .user_index = qp->user_index,
			      .byte_len = len,
			      .vendor_err = syndrome,
			      .wqe_index = qp->req.una_idx,
			      .opcode = dpa_cqe_opcode(op),
			      .status = status};
}

/*
 * Completes the WQE at una_idx, of nbb blocks and `psns` PSNs. e: its CQE; NULL: none. The blocks
 * are released (sq_ci: release) before the CQE becomes visible: the thread that polls it may post
 * at once, and may be another thread. The WQE must not be read afterwards.
 */
DPA_STEP void dpa_wqe_done(struct dpa_hw_qp *qp, uint32_t nbb, uint32_t psns,
			   const struct dpa_cqe *e)
{
	struct dpa_req *r = &qp->req;

	if (dpa_trace_or_meters())
		dpa_qp_note_done(qp, psns, e);
	if (psns)
		r->una_psn = dpa_psn_add(r->una_psn, psns);
	r->una_idx += nbb;
	r->read_off = 0;
	__atomic_store_n(&qp->dbrec->sq_ci, r->una_idx, __ATOMIC_RELEASE);
	if (e)
		dpa_qp_report(qp, qp->send_cq, e);
}

#endif
