/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * req_packet.h - what the headers of a packet take from its WQE. Steps of requester.c, under the
 * lock of the QP.
 */
#ifndef DPA_REQ_PACKET_H
#define DPA_REQ_PACKET_H

#include "ctx/qp.h"
#include "ctx/wqe.h"
#include "transport/xrc_branch.h"
#include "wire/opcode.h"

/* Fills the extended headers of a packet of a WQE, from byte `off` of its message on. */
static inline void dpa_req_set_ext(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
				   struct dpa_slot *s, uint32_t off)
{
	uint16_t p = dpa_op_props(s->opcode);
	struct dpa_ext *x = (struct dpa_ext *)s->ext;
	uint32_t body = dpa_wqe_body(qp);

	if (dpa_unlikely(qp->transport == DPA_BTH_XRC)) {
		x->xrcsrq = ((const struct dpa_wqe_xrc *)dpa_wqe_at(qp, idx, sizeof(*c)))->srqn;
		x->turn = dpa_turn_number(qp, idx);
	}
	if (p & (DPA_OPP_RETH | DPA_OPP_ATOMIC)) {
		const struct dpa_wqe_raddr *r = dpa_wqe_at(qp, idx, body);

		x->va = r->addr + off;
		x->rkey = r->rkey;
		x->dmalen = c->length - off;
		if (p & DPA_OPP_IMM)
			x->imm_after_reth = c->imm;
		if (p & DPA_OPP_FLUSH)
			x->feth = r->flush;
		if (p & DPA_OPP_ATOMIC) {
			const struct dpa_wqe_atomic *a = dpa_wqe_at(qp, idx, body + sizeof(*r));

			x->swap_add = a->swap_add;
			x->compare = a->compare;
		}
	} else if (p & (DPA_OPP_IMM | DPA_OPP_INV)) {
		x->imm = c->imm;
	}
}

/* The BTH opcode of a packet of a WQE. */
static inline uint8_t dpa_req_bth_opcode(const struct dpa_hw_qp *qp, uint8_t op, bool first,
					 bool last)
{
	static const uint8_t only[16] = {
		[DPA_OP_RDMA_WRITE] = DPA_BTH_WRITE_ONLY,
		[DPA_OP_RDMA_WRITE_IMM] = DPA_BTH_WRITE_ONLY_IMM,
		[DPA_OP_SEND] = DPA_BTH_SEND_ONLY,
		[DPA_OP_SEND_IMM] = DPA_BTH_SEND_ONLY_IMM,
		[DPA_OP_RDMA_READ] = DPA_BTH_READ_REQUEST,
		[DPA_OP_ATOMIC_CS] = DPA_BTH_COMPARE_SWAP,
		[DPA_OP_ATOMIC_FA] = DPA_BTH_FETCH_ADD,
		[DPA_OP_SEND_INV] = DPA_BTH_SEND_ONLY_INV,
		[DPA_OP_FLUSH] = DPA_BTH_FLUSH,
		[DPA_OP_ATOMIC_WRITE] = DPA_BTH_ATOMIC_WRITE,
	};

	return qp->transport | dpa_op_segment(only[op & 15], first, last);
}

#endif
