/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Work requests of device code, written as the provider writes those of the host: WQE into the SQ,
 * then the doorbell record, then the doorbell in the QP's slot of its UAR page.
 */
#include <string.h>
#include <dpa/dpa_dev_native.h>
#include "qp.h"

#define ALL_FLAGS (DPA_DEV_SIGNALED | DPA_DEV_SOLICITED | DPA_DEV_FENCE)

static bool is_rdma(uint32_t op)
{
	return op == DPA_DEV_RDMA_WRITE || op == DPA_DEV_RDMA_WRITE_IMM || op == DPA_DEV_RDMA_READ;
}

static bool valid(const struct dpa_qp_view *v, const struct dpa_dev_send_wr *wr)
{
	if (wr->opcode > DPA_DEV_RDMA_READ || wr->flags & ~(uint32_t)ALL_FLAGS || wr->rsvd)
		return false;
	if (wr->opcode == DPA_DEV_RDMA_READ && v->type != DPA_QP_RC)
		return false;
	return v->sq && wr->num_sge <= v->max_send_sge && wr->num_sge <= DPA_MAX_SGE;
}

/* Blocks of the SQ, from `at` on, round the end. */
static void copy_blocks(const struct dpa_qp_view *v, uint32_t at, const uint8_t *wqe, uint32_t nbb)
{
	uint32_t mask = (1u << v->log_sq) - 1;

	for (uint32_t i = 0; i < nbb; i++)
		memcpy(v->sq + (size_t)((at + i) & mask) * DPA_WQEBB, wqe + (size_t)i * DPA_WQEBB,
		       DPA_WQEBB);
}

static uint32_t build(const struct dpa_qp_queues *q, const struct dpa_dev_send_wr *wr, uint8_t *wqe)
{
	struct dpa_wqe_ctrl ctrl = {.opcode = (uint8_t)wr->opcode, .index = q->sq_pi};
	uint32_t at = sizeof(ctrl);

	ctrl.wr_id = wr->wr_id;
	ctrl.imm = __builtin_bswap32(wr->imm);
	ctrl.nsge = (uint8_t)wr->num_sge;
	if (wr->flags & DPA_DEV_SIGNALED || q->view.sq_sig_all)
		ctrl.flags |= DPA_WQE_SIGNALED;
	if (wr->flags & DPA_DEV_SOLICITED)
		ctrl.flags |= DPA_WQE_SOLICITED;
	if (wr->flags & DPA_DEV_FENCE)
		ctrl.flags |= DPA_WQE_FENCE;
	if (is_rdma(wr->opcode)) {
		struct dpa_wqe_raddr r = {.addr = wr->remote_addr, .rkey = wr->rkey};

		memcpy(wqe + at, &r, sizeof(r));
		at += sizeof(r);
	}
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		struct dpa_sge s = {.addr = wr->sg_list[i].addr,
				    .length = wr->sg_list[i].length,
				    .lkey = wr->sg_list[i].lkey};

		memcpy(wqe + at, &s, sizeof(s));
		at += sizeof(s);
		ctrl.length += s.length;
	}
	ctrl.nbb = (uint8_t)((at + DPA_WQEBB - 1) / DPA_WQEBB);
	memcpy(wqe, &ctrl, sizeof(ctrl));
	return ctrl.nbb;
}

static void ring(struct dpa_qp_queues *q)
{
	struct dpa_db db = {.opcode = DPA_OP_DOORBELL, .pi = q->sq_pi};
	uint64_t word;

	memcpy(&word, &db, sizeof(word));
	__atomic_store_n(&q->view.dbrec->sq_pi, q->sq_pi, __ATOMIC_RELEASE);
	__atomic_store_n(&q->view.slot->word, word, __ATOMIC_RELEASE);
	__atomic_store_n(&q->view.slot->doorbells, q->view.slot->doorbells + 1, __ATOMIC_RELAXED);
	dpa_hwif_ring_sq(&q->view);
}

int dpa_qp_post_send(struct dpa_qp_queues *q, const struct dpa_dev_send_wr *wr)
{
	_Alignas(8) uint8_t wqe[10 * DPA_WQEBB]; /* 32 + 16 + 32 * 16 */
	uint32_t nbb, used;

	if (q->view.type == DPA_QP_UD)
		return DPA_DEV_ENOTSUP;
	if (!valid(&q->view, wr))
		return DPA_DEV_EINVAL;
	nbb = build(q, wr, wqe);
	used = q->sq_pi - __atomic_load_n(&q->view.dbrec->sq_ci, __ATOMIC_ACQUIRE);
	if (used + nbb > 1u << q->view.log_sq)
		return DPA_DEV_ENOMEM;
	copy_blocks(&q->view, q->sq_pi, wqe, nbb);
	q->sq_pi += nbb;
	ring(q);
	return 0;
}

int dpa_qp_post_recv(struct dpa_qp_queues *q, uint64_t wr_id, const struct dpa_dev_sge *sge,
		     uint32_t n)
{
	const struct dpa_qp_view *v = &q->view;
	struct dpa_rwqe head = {.wr_id = wr_id, .nsge = n};
	uint8_t *p;

	if (!v->rq || n > v->max_recv_sge)
		return DPA_DEV_EINVAL;
	if (q->rq_pi - __atomic_load_n(&v->dbrec->rq_ci, __ATOMIC_ACQUIRE) >= 1u << v->log_rq)
		return DPA_DEV_ENOMEM;
	p = v->rq + (size_t)(q->rq_pi & ((1u << v->log_rq) - 1)) * dpa_rwqe_stride(v->max_recv_sge);
	memcpy(p, &head, sizeof(head));
	for (uint32_t i = 0; i < n; i++) {
		struct dpa_sge s = {
			.addr = sge[i].addr, .length = sge[i].length, .lkey = sge[i].lkey};

		memcpy(p + sizeof(head) + i * sizeof(s), &s, sizeof(s));
	}
	q->rq_pi++;
	__atomic_store_n(&v->dbrec->rq_pi, q->rq_pi, __ATOMIC_RELEASE);
	dpa_hwif_ring_rq(v);
	return 0;
}
