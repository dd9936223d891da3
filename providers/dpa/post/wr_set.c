/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wr_set.c - the setters of ibv_wr_*: what a request that wr.c has opened needs besides its opcode. Context of
 * all: the SQ's lock, which ibv_wr_start() has taken.
 */
#include "post/wr.h"

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct dpa_batch *b = &ex_qp(ex)->batch;
	struct dpa_wqe_av *av;

	if (!(b->needs & DPA_NEEDS_AH) || !ah) {
		batch_fail(b, EINVAL);
		return;
	}
	av = (struct dpa_wqe_av *)(b->wqe + 1);
	*av = to_dpa_ah(ah)->av;
	av->dqpn = qpn;
	av->qkey = qkey;
	b->needs = 0;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	struct dpav_qp *qp = ex_qp(ex);
	struct dpa_batch *b = &qp->batch;

	if (!(b->needs & DPA_NEEDS_SRQN)) {
		batch_fail(b, EINVAL);
		return;
	}
	sq_put_xrc((uint8_t *)(b->wqe + 1), srqn);
	b->needs = 0;
}

/* `bytes` of data were written at b->at: the last part of this request. */
static inline void wr_has_data(struct dpav_qp *qp, uint32_t bytes)
{
	struct dpa_batch *b = &qp->batch;
	uint32_t off = (uintptr_t)b->at % DPA_WQEBB; /* 0: the next block was not begun */

	uint32_t more =
		(off + bytes + DPA_WQEBB - 1) / DPA_WQEBB - (off + DPA_WQEBB - 1) / DPA_WQEBB;

	b->wqe->nbb += (uint8_t)more;
	qp->sq.pi += more;
	b->at = NULL;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *sg)
{
	struct dpav_qp *qp = ex_qp(ex);
	struct dpa_batch *b = &qp->batch;
	struct dpa_sge *s = (struct dpa_sge *)b->at;
	uint64_t length = 0;

	if (!s || n > (dpa_op_is_atomic(b->wqe->opcode) ? 1 : qp->sq.max_sge)) {
		batch_fail(b, EINVAL);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		s[i] = (struct dpa_sge){
			.addr = sg[i].addr, .length = sg[i].length, .lkey = sg[i].lkey};
		length += sg[i].length;
	}
	if (length > DPA_MAX_MSG) {
		batch_fail(b, EINVAL);
		return;
	}
	b->wqe->nsge = (uint8_t)n;
	b->wqe->length = (uint32_t)length;
	wr_has_data(qp, (uint32_t)n * (uint32_t)sizeof(*s));
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct dpav_qp *qp = ex_qp(ex);
	struct dpa_batch *b = &qp->batch;
	struct dpa_sge *s = (struct dpa_sge *)b->at;
	struct dpa_wqe_ctrl *c = b->wqe;

	if (dpa_unlikely(!s || length > DPA_MAX_MSG)) {
		batch_fail(b, EINVAL);
		return;
	}
	s->addr = addr;
	s->length = length;
	s->lkey = lkey;
	c->nsge = 1;
	c->length = length;
	if (dpa_unlikely((uintptr_t)s % DPA_WQEBB == 0)) { /* the first one in a block */
		c->nbb++;
		qp->sq.pi++;
	}
	b->at = NULL;
}

static inline bool takes_inline(uint8_t op)
{
	return op != DPA_OP_RDMA_READ && !dpa_op_is_atomic(op);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *buf)
{
	struct dpav_qp *qp = ex_qp(ex);
	struct dpa_batch *b = &qp->batch;
	size_t sum = 0;

	if (!b->at || !takes_inline(b->wqe->opcode)) {
		batch_fail(b, EINVAL);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (buf[i].length > qp->sq.max_inline - sum) {
			batch_fail(b, EINVAL);
			return;
		}
		if (buf[i].length)
			memcpy(b->at + sum, buf[i].addr, buf[i].length);
		sum += buf[i].length;
	}
	b->wqe->flags |= DPA_WQE_INLINE;
	b->wqe->length = (uint32_t)sum;
	wr_has_data(qp, (uint32_t)sum);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct dpav_qp *qp = ex_qp(ex);
	struct dpa_batch *b = &qp->batch;

	if (dpa_unlikely(!b->at || !takes_inline(b->wqe->opcode) || length > qp->sq.max_inline)) {
		batch_fail(b, EINVAL);
		return;
	}
	if (dpa_likely(length == 8))
		memcpy(b->at, addr, 8);
	else if (length)
		memcpy(b->at, addr, length);
	b->wqe->flags |= DPA_WQE_INLINE;
	b->wqe->length = (uint32_t)length;
	wr_has_data(qp, (uint32_t)length);
}

void dpa_wr_set_init(struct ibv_qp_ex *ex)
{
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
}
