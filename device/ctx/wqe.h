/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* wqe.h - work requests, as the device reads them. */
#ifndef DPA_CTX_WQE_H
#define DPA_CTX_WQE_H

#include <stdbool.h>
#include <stdint.h>
#include "ctx/qp.h"
#include "ctx/srq.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* IBA 9.7.1: the limit of outstanding packets, so that old and new PSNs differ. */
#define DPA_PSN_WINDOW (1u << 23)

/*
 * Returns the address of byte `off` of the send WQE at block `idx`. 16-byte parts never wrap around
 * the end of the ring. A WQE that came by BlueFlame is read from the EU's copy.
 */
static inline void *dpa_wqe_at(const struct dpa_hw_qp *qp, uint32_t idx, uint32_t off)
{
	if (dpa_unlikely(qp->bf) && ((const struct dpa_wqe_ctrl *)qp->bf)->index == idx)
		return (void *)(uintptr_t)(qp->bf + off);
	return qp->sq +
	       (((uint64_t)(idx & qp->sq_mask) * 64 + off) & ((uint64_t)qp->sq_mask * 64 + 63));
}

static inline const struct dpa_wqe_ctrl *dpa_wqe_ctrl(const struct dpa_hw_qp *qp, uint32_t idx)
{
	return dpa_wqe_at(qp, idx, 0);
}

/*
 * Returns the producer index that the poster has published, or the part of it that the device has
 * seen. Behind a WQE that came by BlueFlame there may be more, which the slot announces again.
 */
static inline uint32_t dpa_sq_pi(const struct dpa_hw_qp *qp)
{
	const struct dpa_wqe_ctrl *c = (const void *)qp->bf;

	if (dpa_unlikely(c) && c->index == qp->req.send_idx)
		return c->index + c->nbb;
	return __atomic_load_n(&qp->dbrec->sq_pi, __ATOMIC_ACQUIRE);
}

static inline bool dpa_op_is_read(uint8_t op)
{
	return op == DPA_OP_RDMA_READ;
}

/* True if the answer is an empty READ response. */
static inline bool dpa_op_says_done(uint8_t op)
{
	return op == DPA_OP_ATOMIC_WRITE || op == DPA_OP_FLUSH;
}

/* True if it is completed by a response of its own, never by an ACK. */
static inline bool dpa_op_answers(uint8_t op)
{
	return dpa_op_is_read(op) || dpa_op_is_atomic(op) || dpa_op_says_done(op);
}

/* Annex A19: True if the FETH requests a defined type of flush, with no undefined bits. */
static inline bool dpa_feth_good(uint32_t feth)
{
	return feth & DPA_FLUSH_TYPE &&
	       !(feth & ~(uint32_t)(DPA_FLUSH_GLOBAL | DPA_FLUSH_PERSISTENT | DPA_FLUSH_MR));
}

/* Number of PSNs of a WQE: of its packets, or of those of its response. */
static inline uint32_t dpa_wqe_psns(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	if (c->opcode == DPA_OP_LOCAL_INV || c->opcode == DPA_OP_BIND_MW || c->opcode == DPA_OP_NOP)
		return 0;
	return dpa_op_is_atomic(c->opcode) || c->opcode == DPA_OP_FLUSH
		       ? 1
		       : dpa_npkts(c->length, qp->mtu);
}

/* True if packets of this requester are outstanding, or a message has begun. */
static inline bool dpa_is_outstanding(const struct dpa_req *r)
{
	return r->una_idx != r->send_idx || r->send_off || r->send_psn != r->una_psn ||
	       r->max_psn != r->una_psn;
}

/* Offset of the part of a send WQE that depends on its opcode. */
static inline uint32_t dpa_wqe_body(const struct dpa_hw_qp *qp)
{
	return (uint32_t)sizeof(struct dpa_wqe_ctrl) +
	       (qp->transport == DPA_BTH_XRC ? (uint32_t)sizeof(struct dpa_wqe_xrc) : 0);
}

/*
 * The PD for the local keys of a receive: that of the SRQ to which it was posted, else the QP's.
 * R_Keys are always checked against the QP's PD.
 */
/* IBA 9.7.4 (srq-pd) */
static inline uint32_t dpa_recv_pdn(const struct dpa_hw_qp *qp)
{
	return qp->srq ? qp->srq->pdn : qp->pdn;
}

/*
 * The PD for the local keys of a READ or an atomic. If the SRQ of a QP matches tags its READs are
 * the device's own: they go into buffers of the SRQ.
 */
static inline uint32_t dpa_answer_pdn(const struct dpa_hw_qp *qp)
{
	return qp->tag_sq ? dpa_recv_pdn(qp) : qp->pdn;
}

#endif
