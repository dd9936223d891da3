/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* wqe_check.c - checks a send WQE: opcode, lengths and keys, for its QP. */
#include "ctx/qp.h"
#include "payload/payload.h"

/* Annex A19: it moves no bytes; its length is that of the RETH. */
static uint32_t check_flush(const struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	const struct dpa_wqe_raddr *r = dpa_wqe_at(qp, idx, dpa_wqe_body(qp));

	if (c->nsge || c->flags & DPA_WQE_INLINE || !dpa_feth_good(r->flush))
		return DPA_SYN_BAD_WQE;
	return c->length > DPA_MAX_MSG ? DPA_SYN_MSG_TOO_LONG : 0;
}

/*
 * A READ or an atomic: checks lengths only. The local keys are checked when the response arrives,
 * as in an adapter: so an error of the responder comes first, and an atomic has been carried out by
 * then.
 */
/* IBA 9.7.3 (answer-keys) */
static uint32_t check_answer(const struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	const uint64_t total = dpa_sges_total(qp, idx, c);

	if (c->flags & DPA_WQE_INLINE)
		return DPA_SYN_BAD_WQE;
	if (dpa_op_is_atomic(c->opcode))
		return total != 8 ? DPA_SYN_RECV_TOO_SMALL : 0;
	if (total > DPA_MAX_MSG || dpa_npkts(c->length, qp->mtu) >= DPA_PSN_WINDOW)
		return DPA_SYN_MSG_TOO_LONG;
	return total != c->length ? DPA_SYN_BAD_WQE : 0;
}

/* IBA 10.8.3: checks that this QP may execute the WQE. */
uint32_t dpa_check_wqe(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
		       uint64_t *one)
{
	static const uint32_t rc =
		1u << DPA_OP_RDMA_WRITE | 1u << DPA_OP_RDMA_WRITE_IMM | 1u << DPA_OP_SEND |
		1u << DPA_OP_SEND_IMM | 1u << DPA_OP_RDMA_READ | 1u << DPA_OP_ATOMIC_CS |
		1u << DPA_OP_ATOMIC_FA | 1u << DPA_OP_LOCAL_INV | 1u << DPA_OP_SEND_INV |
		1u << DPA_OP_BIND_MW | 1u << DPA_OP_FLUSH | 1u << DPA_OP_ATOMIC_WRITE;
	static const uint32_t uc = 1u << DPA_OP_RDMA_WRITE | 1u << DPA_OP_RDMA_WRITE_IMM |
				   1u << DPA_OP_SEND | 1u << DPA_OP_SEND_IMM |
				   1u << DPA_OP_LOCAL_INV | 1u << DPA_OP_BIND_MW;
	uint64_t total;
	uint32_t syn;

	if (c->opcode > 31 || !((qp->type == DPA_QP_RC ? rc : uc) >> c->opcode & 1))
		return DPA_SYN_BAD_OPCODE;
	if (c->index != idx || !c->nbb || c->nsge > DPA_MAX_SGE)
		return DPA_SYN_BAD_WQE;
	if (c->opcode == DPA_OP_BIND_MW)
		return c->nsge ? DPA_SYN_BAD_WQE : 0;
	if (dpa_op_answers(c->opcode)) {
		if (!qp->attr.max_rd_atomic)
			return DPA_SYN_BAD_OPCODE;
		if (c->opcode == DPA_OP_FLUSH)
			return check_flush(qp, idx, c);
		if (c->opcode != DPA_OP_ATOMIC_WRITE)
			return check_answer(qp, idx, c);
		if (c->length != 8)
			return DPA_SYN_BAD_WQE;
	}
	if (c->flags & DPA_WQE_INLINE)
		return c->nsge || c->length > DPA_MAX_INLINE ? DPA_SYN_BAD_WQE : 0;
	syn = dpa_check_sges(qp, idx, c, &total, one);
	if (syn)
		return syn;
	if (total > DPA_MAX_MSG || dpa_npkts(c->length, qp->mtu) >= DPA_PSN_WINDOW)
		return DPA_SYN_MSG_TOO_LONG;
	return total != c->length ? DPA_SYN_BAD_WQE : 0;
}
