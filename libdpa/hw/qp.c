/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qp.c - work requests of device code, written as the provider writes those of the host: WQE into
 * the SQ, then the doorbell record, then the doorbell in the QP's slot of its UAR page.
 *
 * sq_pi and rq_pi of a doorbell record are written here (release) and read by the device (acquire);
 * sq_ci and rq_ci in the opposite direction.
 */
#include <string.h>
#include <dpa/dpa_dev_native.h>
#include "qp.h"

#define ALL_FLAGS (DPA_DEV_SIGNALED | DPA_DEV_SOLICITED | DPA_DEV_FENCE)
#define LONGEST	  (sizeof(struct dpa_wqe_ctrl) + sizeof(struct dpa_wqe_raddr) + DPA_MAX_INLINE)

static bool is_rdma(uint32_t op)
{
	return op == DPA_OP_RDMA_WRITE || op == DPA_OP_RDMA_WRITE_IMM || op == DPA_OP_RDMA_READ ||
	       dpa_op_is_atomic(op);
}

/* Copy blocks to the SQ, from `at` on, with wrap-around. */
static void copy_blocks(const struct dpa_qp_view *v, uint32_t at, const uint8_t *wqe, uint32_t nbb)
{
	uint32_t mask = (1u << v->log_sq) - 1;

	for (uint32_t i = 0; i < nbb; i++)
		memcpy(v->sq + (size_t)((at + i) & mask) * DPA_WQEBB, wqe + (size_t)i * DPA_WQEBB,
		       DPA_WQEBB);
}

/* Device code's segments have the layout of the device's SGEs. */
static const struct dpa_sge *sges_of(const struct dpa_dev_sge *sge)
{
	return (const struct dpa_sge *)sge;
}

static uint32_t put_wqe_sges(uint8_t *to, const struct dpa_sge *sge, uint32_t n)
{
	uint32_t total = 0;

	if (n)
		memcpy(to, sge, n * sizeof(*sge));
	for (uint32_t i = 0; i < n; i++)
		total += sge[i].length;
	return total;
}

static uint32_t put_wqe_headers(uint8_t *wqe, const struct dpa_qp_wr *wr)
{
	uint32_t at = sizeof(struct dpa_wqe_ctrl);

	if (is_rdma(wr->opcode)) {
		struct dpa_wqe_raddr r = {.addr = wr->remote, .rkey = wr->rkey};

		memcpy(wqe + at, &r, sizeof(r));
		at += sizeof(r);
	}
	if (dpa_op_is_atomic(wr->opcode)) {
		struct dpa_wqe_atomic a = {.swap_add = wr->swap_add, .compare = wr->compare};

		memcpy(wqe + at, &a, sizeof(a));
		at += sizeof(a);
	}
	return at;
}

static uint32_t build_qp_wqe(const struct dpa_qp_queues *q, const struct dpa_qp_wr *wr,
			     uint8_t *wqe)
{
	struct dpa_wqe_ctrl ctrl = {
		.opcode = wr->opcode, .flags = wr->flags, .index = q->sq_pi, .wr_id = wr->wr_id};
	uint32_t at = put_wqe_headers(wqe, wr);

	ctrl.imm = __builtin_bswap32(wr->imm);
	ctrl.nsge = (uint8_t)wr->nsge;
	if (q->view.sq_sig_all)
		ctrl.flags |= DPA_WQE_SIGNALED;
	if (wr->flags & DPA_WQE_INLINE) {
		memcpy(wqe + at, wr->data, wr->length);
		ctrl.length = wr->length;
		at += wr->length;
	} else {
		ctrl.length = put_wqe_sges(wqe + at, wr->sge, wr->nsge);
		at += wr->nsge * (uint32_t)sizeof(struct dpa_sge);
	}
	ctrl.nbb = (uint8_t)((at + DPA_WQEBB - 1) / DPA_WQEBB);
	memcpy(wqe, &ctrl, sizeof(ctrl));
	return ctrl.nbb;
}

bool dpa_qp_put(struct dpa_qp_queues *q, const struct dpa_qp_wr *wr)
{
	_Alignas(8) uint8_t wqe[(LONGEST + DPA_WQEBB - 1) / DPA_WQEBB * DPA_WQEBB];
	uint32_t nbb = build_qp_wqe(q, wr, wqe), used;

	used = q->sq_pi - __atomic_load_n(&q->view.dbrec->sq_ci, __ATOMIC_ACQUIRE);
	if (used + nbb > 1u << q->view.log_sq)
		return false;
	copy_blocks(&q->view, q->sq_pi, wqe, nbb);
	q->sq_pi += nbb;
	return true;
}

void dpa_qp_doorbell(struct dpa_qp_queues *q)
{
	struct dpa_db db = {.opcode = DPA_OP_DOORBELL, .pi = q->sq_pi};
	uint64_t word;

	memcpy(&word, &db, sizeof(word));
	__atomic_store_n(&q->view.dbrec->sq_pi, q->sq_pi, __ATOMIC_RELEASE);
	__atomic_store_n(&q->view.slot->word, word, __ATOMIC_RELEASE);
	__atomic_store_n(&q->view.slot->doorbells, q->view.slot->doorbells + 1, __ATOMIC_RELAXED);
}

static bool is_valid_wr(const struct dpa_qp_view *v, const struct dpa_dev_send_wr *wr)
{
	if (wr->opcode > DPA_DEV_RDMA_READ || wr->flags & ~(uint32_t)ALL_FLAGS || wr->rsvd)
		return false;
	if (wr->opcode == DPA_DEV_RDMA_READ && v->type != DPA_QP_RC)
		return false;
	return v->sq && wr->num_sge <= v->max_send_sge && wr->num_sge <= DPA_MAX_SGE;
}

int dpa_qp_post_send(struct dpa_qp_queues *q, const struct dpa_dev_send_wr *wr)
{
	struct dpa_qp_wr w = {.opcode = (uint8_t)wr->opcode,
			      .flags = (uint8_t)wr->flags,
			      .imm = wr->imm,
			      .rkey = wr->rkey,
			      .wr_id = wr->wr_id,
			      .remote = wr->remote_addr,
			      .nsge = wr->num_sge,
			      .sge = sges_of(wr->sg_list)};

	if (q->view.type == DPA_QP_UD)
		return DPA_DEV_ENOTSUP;
	if (!is_valid_wr(&q->view, wr))
		return DPA_DEV_EINVAL;
	if (!dpa_qp_put(q, &w))
		return DPA_DEV_ENOMEM;
	dpa_qp_doorbell(q);
	dpa_hwif_ring_sq(&q->view);
	return 0;
}

static void put_recv(uint8_t *to, uint64_t wr_id, const struct dpa_sge *sge, uint32_t n)
{
	struct dpa_rwqe head = {.wr_id = wr_id, .nsge = n};

	memcpy(to, &head, sizeof(head));
	put_wqe_sges(to + sizeof(head), sge, n);
}

int dpa_qp_post_recv(struct dpa_qp_queues *q, uint64_t wr_id, const struct dpa_dev_sge *sge,
		     uint32_t n)
{
	const struct dpa_qp_view *v = &q->view;
	uint32_t mask = (1u << v->log_rq) - 1;

	if (!v->rq || n > v->max_recv_sge)
		return DPA_DEV_EINVAL;
	if (q->rq_pi - __atomic_load_n(&v->dbrec->rq_ci, __ATOMIC_ACQUIRE) > mask)
		return DPA_DEV_ENOMEM;
	put_recv(v->rq + (size_t)(q->rq_pi & mask) * dpa_rwqe_stride(v->max_recv_sge), wr_id,
		 sges_of(sge), n);
	q->rq_pi++;
	__atomic_store_n(&v->dbrec->rq_pi, q->rq_pi, __ATOMIC_RELEASE);
	dpa_hwif_ring_rq(v);
	return 0;
}

bool dpa_srq_full(const struct dpa_srq_queue *q)
{
	return q->pi - __atomic_load_n(&q->view.dbrec->rq_ci, __ATOMIC_ACQUIRE) >=
	       1u << q->view.log_size;
}

bool dpa_srq_post(struct dpa_srq_queue *q, uint64_t wr_id, const struct dpa_sge *sge, uint32_t n)
{
	const struct dpa_srq_view *v = &q->view;
	uint32_t mask = (1u << v->log_size) - 1;

	if (dpa_srq_full(q))
		return false;
	put_recv(v->buf + (size_t)(q->pi & mask) * v->stride, wr_id, sge, n);
	q->pi++;
	__atomic_store_n(&v->dbrec->rq_pi, q->pi, __ATOMIC_RELEASE);
	return true;
}

_Static_assert((int)DPA_DEV_SIGNALED == (int)DPA_WQE_SIGNALED &&
		       (int)DPA_DEV_SOLICITED == (int)DPA_WQE_SOLICITED &&
		       (int)DPA_DEV_FENCE == (int)DPA_WQE_FENCE,
	       "flags of device code are those of WQEs");
_Static_assert((int)DPA_DEV_RDMA_READ == (int)DPA_OP_RDMA_READ, "and so are opcodes");
_Static_assert(sizeof(struct dpa_dev_sge) == sizeof(struct dpa_sge) &&
		       offsetof(struct dpa_dev_sge, addr) == offsetof(struct dpa_sge, addr) &&
		       offsetof(struct dpa_dev_sge, length) == offsetof(struct dpa_sge, length) &&
		       offsetof(struct dpa_dev_sge, lkey) == offsetof(struct dpa_sge, lkey),
	       "and so are pieces of memory");
