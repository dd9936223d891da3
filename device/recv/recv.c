/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* recv.c - receives of a QP: the next one is taken from its queue or SRQ, its CQE is built. */
#include "ctx/cq.h"
#include "ctx/hw.h"
#include "ctx/srq.h"
#include "ctx/wqe.h"
#include "failure/failure.h"
#include "inject/inject.h"
#include "inject/wc.h"
#include "recv/recv.h"
#include "wire/opcode.h"

bool dpa_take_rwqe(struct dpa_hw_qp *qp, struct dpa_rx_wqe *w)
{
	const struct dpa_rwqe *r;

	if (qp->srq)
		return dpa_srq_take(qp->srq, w);
	r = dpa_rq_head(qp);
	if (!r)
		return false;
	dpa_rwqe_read(w, r, qp->max_recv_sge);
	dpa_rq_take(qp);
	return true;
}

uint32_t dpa_recv_injected(struct dpa_hw_qp *qp, uint8_t opcode)
{
	const struct dpa_inject_cqe c = {.qpn = qp->qpn, .opcode = opcode};
	const uint32_t syn = dpa_inject_recv_end(dpa_inject_wc(&c));

	qp->errors.injected = syn != 0;
	return syn;
}

void dpa_recv_cqe(struct dpa_hw_qp *qp, uint64_t wr_id, uint8_t opcode, uint8_t status,
		  uint32_t syndrome, uint32_t len, const struct dpa_slot *s)
{
	struct dpa_cqe e = {.wr_id = wr_id,
			    .qpn = qp->qpn,
			    .user_index = qp->user_index,
			    .byte_len = len,
			    .vendor_err = syndrome,
			    .opcode = opcode,
			    .status = status};
	uint16_t p = s ? dpa_op_props(s->opcode) : 0;

	if (s) {
		const struct dpa_ext *x = (const struct dpa_ext *)s->ext;

		if (p & (DPA_OPP_IMM | DPA_OPP_INV)) {
			e.imm = p & DPA_OPP_RETH ? x->imm_after_reth : x->imm;
			e.flags |= p & DPA_OPP_IMM ? DPA_CQE_F_IMM : DPA_CQE_F_INV;
		}
		if (s->flags & DPA_PKT_SE)
			e.flags |= DPA_CQE_F_SOLICITED;
		if (qp->type == DPA_QP_UD) {
			e.src_qpn = DPA_UD_QPN(x->sqpn);
			e.slid = DPA_UD_SLID(x->sqpn);
			e.sl = e.slid ? DPA_UD_SL(x->sqpn) : qp->resp.ud_packet_type;
			e.flags = (e.slid ? 0 : DPA_CQE_F_GRH) | (e.flags & DPA_CQE_F_SOLICITED);
			if (p & DPA_OPP_IMM) {
				e.imm = x->ud_imm;
				e.flags |= DPA_CQE_F_IMM;
			}
		} else {
			e.src_qpn = qp->dest_qpn;
		}
	}
	if (status) {
		dpa_count(qp->hw,
			  status == DPA_CQE_WR_FLUSH_ERR ? DPA_CNT_resp_cqe_flush_error
							 : DPA_CNT_resp_cqe_error,
			  1);
		dpa_qp_meter_error(qp, status, syndrome);
		dpa_failed(qp, &e, NULL);
	}
	dpa_qp_report(qp, qp->recv_cq, &e);
}
