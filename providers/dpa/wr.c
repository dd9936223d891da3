/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ibv_wr_* way of posting: start, then for each request an opcode and its setters, then
 * complete. From start to complete or abort the SQ's lock is held. A request is written where it
 * will lie in the ring, or aside if it might reach over the end; it is closed by the next opcode or
 * by complete. The first error is kept and undoes the whole batch in complete.
 */
#include <stdlib.h>
#include "sq.h"

static struct dpa_qp *ex_qp(struct ibv_qp_ex *ex)
{
	return (struct dpa_qp *)ex;
}

/* ------------------------------------------------------------------- batch */

static void wr_start(struct ibv_qp_ex *ex)
{
	struct dpa_qp *qp = ex_qp(ex);
	struct dpa_batch *b = qp->batch;

	if (dpa_unlikely(!dpa_word_alive(qp->alive))) {
		b->err = EIO;
		b->open = false;
		return;
	}
	dpa_lock_take(&qp->sq.lock);
	b->open = true;
	b->err = 0;
	b->wqe = NULL;
	b->pi = qp->sq.pi;
	b->count = qp->sq.count;
	if (dpa_unlikely(atomic_load_explicit(&qp->state, memory_order_relaxed) < DPA_QPS_RTS))
		b->err = EINVAL;
}

static void copy_into_ring(struct dpa_sq *sq, const uint8_t *wqe, uint32_t nbb)
{
	uint32_t at = sq->pi & sq->mask, first = sq->mask + 1 - at;

	if (first > nbb)
		first = nbb;
	memcpy(sq->buf + (size_t)at * DPA_WQEBB, wqe, (size_t)first * DPA_WQEBB);
	memcpy(sq->buf, wqe + (size_t)first * DPA_WQEBB, (size_t)(nbb - first) * DPA_WQEBB);
}

/* The request under construction, if any, is complete: its length is known now. */
static void wr_close(struct dpa_qp *qp)
{
	struct dpa_batch *b = qp->batch;
	struct dpa_sq *sq = &qp->sq;
	struct dpa_wqe_ctrl *c = (struct dpa_wqe_ctrl *)b->wqe;
	uint32_t nbb;

	if (!c || b->err)
		return;
	if (b->needs_ah) {
		b->err = EINVAL;
		return;
	}
	nbb = (uint32_t)(b->end - b->wqe + DPA_WQEBB - 1) / DPA_WQEBB;
	c->nbb = (uint8_t)nbb;
	if (b->wqe == b->aside)
		copy_into_ring(sq, b->wqe, nbb);
	sq->pi += nbb;
	sq->count++;
	b->wqe = NULL;
}

static void undo(struct dpa_qp *qp)
{
	struct dpa_sq *sq = &qp->sq;

	sq->count = qp->batch->count;
	sq->pi = qp->batch->pi;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct dpa_qp *qp = ex_qp(ex);

	if (!qp->batch->open)
		return;
	undo(qp);
	dpa_lock_drop(&qp->sq.lock);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct dpa_qp *qp = ex_qp(ex);
	struct dpa_batch *b = qp->batch;
	uint32_t placement;
	int ret;

	if (!b->open)
		return b->err;
	wr_close(qp);
	ret = b->err;
	if (ret)
		undo(qp);
	if (qp->sq.pi == b->pi) {
		dpa_lock_drop(&qp->sq.lock);
		return ret;
	}
	placement = sq_publish(&qp->sq, b->pi);
	dpa_lock_drop(&qp->sq.lock);
	sq_ring(qp->hw, placement);
	return 0;
}

/* ------------------------------------------------------------------ opcodes */

/* Opens a request. NULL after an error; else where its header goes. */
static uint8_t *wr_open(struct ibv_qp_ex *ex, enum ibv_wr_opcode op, uint32_t imm)
{
	struct dpa_qp *qp = ex_qp(ex);
	struct dpa_batch *b = qp->batch;
	struct dpa_sq *sq = &qp->sq;
	struct dpa_wqe_ctrl *c;
	uint32_t at;

	wr_close(qp);
	if (dpa_unlikely(b->err))
		return NULL;
	if (dpa_unlikely(!sq_has_room(sq))) {
		b->err = ENOMEM;
		return NULL;
	}
	if (dpa_unlikely(!(sq->ops >> op & 1) || (ex->wr_flags & ~SQ_SEND_FLAGS))) {
		b->err = EINVAL;
		return NULL;
	}
	at = sq->pi & sq->mask;
	b->wqe = at + sq->max_bb <= sq->mask + 1 ? sq->buf + (size_t)at * DPA_WQEBB : b->aside;
	c = (struct dpa_wqe_ctrl *)b->wqe;
	*c = (struct dpa_wqe_ctrl){
		.opcode = (uint8_t)op,
		.flags = (uint8_t)((sq_wqe_flags(ex->wr_flags) | sq->signal_all) & ~DPA_WQE_INLINE),
		.index = sq->pi,
		.wr_id = ex->wr_id,
		.imm = imm,
		.count = sq->count,
	};
	b->end = b->wqe + sizeof(*c);
	b->needs_ah = false;
	b->max_sge = sq->max_sge;
	b->may_inline = true;
	return b->end;
}

static void wr_open_send(struct ibv_qp_ex *ex, enum ibv_wr_opcode op, uint32_t imm)
{
	struct dpa_qp *qp = ex_qp(ex);

	if (wr_open(ex, op, imm) && qp->sq.is_ud) {
		qp->batch->needs_ah = true;
		qp->batch->end += sizeof(struct dpa_wqe_av);
	}
}

static void wr_send(struct ibv_qp_ex *ex)
{
	wr_open_send(ex, IBV_WR_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	wr_open_send(ex, IBV_WR_SEND_WITH_IMM, imm);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	wr_open_send(ex, IBV_WR_SEND_WITH_INV, rkey);
}

static void wr_open_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode op, uint32_t imm, uint32_t rkey,
			 uint64_t addr)
{
	uint8_t *p = wr_open(ex, op, imm);

	if (p)
		ex_qp(ex)->batch->end = sq_put_raddr(p, addr, rkey);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	wr_open_rdma(ex, IBV_WR_RDMA_WRITE, 0, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	wr_open_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, imm, rkey, addr);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	wr_open_rdma(ex, IBV_WR_RDMA_READ, 0, rkey, addr);
	ex_qp(ex)->batch->may_inline = false;
}

static void wr_open_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode op, uint32_t rkey,
			   uint64_t addr, struct dpa_wqe_atomic a)
{
	struct dpa_batch *b = ex_qp(ex)->batch;
	uint8_t *p = wr_open(ex, op, 0);

	if (!p)
		return;
	p = sq_put_raddr(p, addr, rkey);
	*(struct dpa_wqe_atomic *)p = a;
	b->end = p + sizeof(a);
	b->max_sge = 1;
	b->may_inline = false;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	wr_open_atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr,
		       (struct dpa_wqe_atomic){.swap_add = swap, .compare = compare});
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	wr_open_atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr,
		       (struct dpa_wqe_atomic){.swap_add = add});
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct dpa_batch *b = ex_qp(ex)->batch;
	uint8_t *p = wr_open(ex, IBV_WR_BIND_MW, rkey);

	if (!p)
		return;
	p = sq_put_bind(p, mw, info);
	if (!p)
		b->err = EINVAL;
	else
		b->end = p;
	b->max_sge = 0;
	b->may_inline = false;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct dpa_batch *b = ex_qp(ex)->batch;

	if (wr_open(ex, IBV_WR_LOCAL_INV, rkey)) {
		b->max_sge = 0;
		b->may_inline = false;
	}
}

/* ------------------------------------------------------------------ setters */

/* False, with the error kept, if there is no request to set something in. */
static bool wr_is_open(struct dpa_batch *b)
{
	if (!b->err && !b->wqe)
		b->err = EINVAL;
	return !b->err;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct dpa_batch *b = ex_qp(ex)->batch;
	struct dpa_wqe_av *av;

	if (!wr_is_open(b))
		return;
	if (!b->needs_ah || !ah) {
		b->err = EINVAL;
		return;
	}
	av = (struct dpa_wqe_av *)(b->wqe + sizeof(struct dpa_wqe_ctrl));
	*av = to_dpa_ah(ah)->av;
	av->dqpn = qpn;
	av->qkey = qkey;
	b->needs_ah = false;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *sg)
{
	struct dpa_batch *b = ex_qp(ex)->batch;
	struct dpa_sge *s = (struct dpa_sge *)b->end;
	struct dpa_wqe_ctrl *c;
	uint64_t length = 0;

	if (!wr_is_open(b))
		return;
	c = (struct dpa_wqe_ctrl *)b->wqe;
	if (n > b->max_sge || c->nsge || (c->flags & DPA_WQE_INLINE)) {
		b->err = EINVAL;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		s[i] = (struct dpa_sge){
			.addr = sg[i].addr, .length = sg[i].length, .lkey = sg[i].lkey};
		length += sg[i].length;
	}
	if (length > DPA_MAX_MSG)
		b->err = EINVAL;
	c->nsge = (uint8_t)n;
	c->length = (uint32_t)length;
	b->end = (uint8_t *)&s[n];
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sg = {.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(ex, 1, &sg);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *buf)
{
	struct dpa_qp *qp = ex_qp(ex);
	struct dpa_batch *b = qp->batch;
	struct dpa_wqe_ctrl *c;
	size_t sum = 0;

	if (!wr_is_open(b))
		return;
	c = (struct dpa_wqe_ctrl *)b->wqe;
	if (!b->may_inline || c->nsge || (c->flags & DPA_WQE_INLINE)) {
		b->err = EINVAL;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (buf[i].length > qp->sq.max_inline - sum) {
			b->err = EINVAL;
			return;
		}
		if (buf[i].length)
			memcpy(b->end + sum, buf[i].addr, buf[i].length);
		sum += buf[i].length;
	}
	c->flags |= DPA_WQE_INLINE;
	c->length = (uint32_t)sum;
	b->end += sum;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = {.addr = addr, .length = length};

	wr_set_inline_data_list(ex, 1, &buf);
}

/* ------------------------------------------------------------------- create */

int dpa_wr_init(struct dpa_qp *qp)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	qp->batch = aligned_alloc(64, sizeof(*qp->batch));
	if (!qp->batch)
		return ENOMEM;
	memset(qp->batch, 0, sizeof(*qp->batch));
	qp->vqp.comp_mask |= VERBS_QP_EX;
	ex->wr_abort = wr_abort;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_complete = wr_complete;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_start = wr_start;
	return 0;
}

#define SAME(a, b) static_assert((int)(a) == (int)(b), #a)
SAME(IBV_QP_EX_WITH_RDMA_WRITE, 1 << IBV_WR_RDMA_WRITE);
SAME(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, 1 << IBV_WR_RDMA_WRITE_WITH_IMM);
SAME(IBV_QP_EX_WITH_SEND, 1 << IBV_WR_SEND);
SAME(IBV_QP_EX_WITH_SEND_WITH_IMM, 1 << IBV_WR_SEND_WITH_IMM);
SAME(IBV_QP_EX_WITH_RDMA_READ, 1 << IBV_WR_RDMA_READ);
SAME(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, 1 << IBV_WR_ATOMIC_CMP_AND_SWP);
SAME(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, 1 << IBV_WR_ATOMIC_FETCH_AND_ADD);
SAME(IBV_QP_EX_WITH_LOCAL_INV, 1 << IBV_WR_LOCAL_INV);
SAME(IBV_QP_EX_WITH_BIND_MW, 1 << IBV_WR_BIND_MW);
SAME(IBV_QP_EX_WITH_SEND_WITH_INV, 1 << IBV_WR_SEND_WITH_INV);
