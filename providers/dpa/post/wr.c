/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wr.c - the ibv_wr_* way of posting: start, then for each request an opcode and its setters, then
 * complete. The SQ's lock is held from start to complete or abort. A request is written at its
 * place in the ring, or elsewhere if it may wrap around the end; the next opcode or complete closes
 * it. The first error is kept, and makes complete undo the whole batch.
 * Functions on the path of each request have two variants. `plain` is for RC and UC QPs, whose
 * requests consist of data only and whose opcode is valid for them. `any` checks this.
 */
#include <limits.h>
#include <stdlib.h>
#include "post/wr.h"

/* ------------------------------------------------------------------- batch */

/* b->err besides 0 and an errno: the current request is written elsewhere. */
#define ASIDE	   (-1)
#define BATCH_DEAD INT_MAX /* the context is dead; complete returns EIO */

/* Context: the lock. */
static inline void wr_begin(struct dpav_qp *qp)
{
	struct dpa_batch *b = &qp->batch;
	uint32_t state = atomic_load_explicit(&qp->state, memory_order_relaxed);

	b->pi = qp->sq.pi;
	b->count = qp->sq.count;
	b->at = NULL;
	b->bound = NULL;
	b->err = dpa_unlikely(state < DPA_QPS_RTS) ? EINVAL : 0;
}

static __attribute__((cold, noinline)) void wr_start_slowly(struct dpav_qp *qp)
{
	int err = dpa_word_plain(qp->alive)
			  ? 0
			  : dpav_asks_call(qp->alive, "post_send", qp->vqp.qp.qp_num);

	if (!dpa_word_alive(qp->alive)) {
		qp->batch.err = BATCH_DEAD;
		qp->batch.at = NULL;
		return;
	}
	dpa_lock_take(&qp->sq.lock);
	wr_begin(qp);
	if (err)
		batch_fail(&qp->batch, err);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct dpav_qp *qp = ex_qp(ex);

	if (dpa_unlikely(!dpa_word_plain(qp->alive)) || dpa_unlikely(!dpa_lock_try(&qp->sq.lock)))
		wr_start_slowly(qp);
	else
		wr_begin(qp);
}

static void copy_into_ring(struct dpa_sq *sq, const struct dpa_wqe_ctrl *c)
{
	uint32_t at = c->index & sq->mask, first = sq->mask + 1 - at, nbb = c->nbb;

	if (first > nbb)
		first = nbb;
	memcpy(sq->buf + (size_t)at * DPA_WQEBB, c, (size_t)first * DPA_WQEBB);
	memcpy(sq->buf, (const uint8_t *)c + (size_t)first * DPA_WQEBB,
	       (size_t)(nbb - first) * DPA_WQEBB);
}

/* Closes the current request, if any. False: the batch has failed. */
static bool wr_close(struct dpav_qp *qp)
{
	struct dpa_batch *b = &qp->batch;

	if (b->needs)
		batch_fail(b, EINVAL);
	if (b->err == ASIDE) {
		copy_into_ring(&qp->sq, b->wqe);
		b->err = 0;
	}
	return !b->err;
}

static void undo_batch(struct dpav_qp *qp)
{
	qp->sq.pi = qp->batch.pi;
	qp->sq.count = qp->batch.count;
	qp->batch.needs = 0;
	for (struct dpa_mw *mw = qp->batch.bound; mw; mw = mw->next)
		mw->mw.rkey = mw->before;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct dpav_qp *qp = ex_qp(ex);

	if (qp->batch.err == BATCH_DEAD)
		return;
	undo_batch(qp);
	dpa_lock_drop(&qp->sq.lock);
}

static inline __attribute__((always_inline)) int wr_finish(struct dpav_qp *qp)
{
	const uint64_t began = dpa_trace_begin();
	uint32_t placement;

	if (dpa_unlikely(qp->sq.pi == qp->batch.pi)) {
		dpa_lock_drop(&qp->sq.lock);
		return 0;
	}
	placement = sq_publish(&qp->sq, qp->batch.pi);
	if (dpa_unlikely(began))
		sq_trace(&qp->sq, qp->info.qpn, qp->batch.pi, began, 0);
	dpa_lock_drop(&qp->sq.lock);
	sq_ring(qp->hw, placement);
	return 0;
}

static __attribute__((noinline)) int wr_complete_any(struct ibv_qp_ex *ex)
{
	struct dpav_qp *qp = ex_qp(ex);
	int err;

	if (dpa_likely(wr_close(qp)))
		return wr_finish(qp);
	err = qp->batch.err; /* the batch ends with the lock */
	wr_abort(ex);
	return err == BATCH_DEAD ? EIO : err;
}

static int wr_complete_plain(struct ibv_qp_ex *ex)
{
	struct dpav_qp *qp = ex_qp(ex);

	return dpa_unlikely(qp->batch.err) ? wr_complete_any(ex) : wr_finish(qp);
}

/* ------------------------------------------------------------------ opcodes */

/* sq_wqe_flags() of all valid bits of wr_flags; inline data has a flag of its own. */
#define F(f)                                                                                       \
	(((f)&IBV_SEND_SIGNALED ? DPA_WQE_SIGNALED : 0) |                                          \
	 ((f)&IBV_SEND_SOLICITED ? DPA_WQE_SOLICITED : 0) |                                        \
	 ((f)&IBV_SEND_FENCE ? DPA_WQE_FENCE : 0))
static const uint8_t wqe_flags[SQ_SEND_FLAGS + 1] = {F(0),  F(1),  F(2),  F(3), F(4),  F(5),
						     F(6),  F(7),  F(8),  F(9), F(10), F(11),
						     F(12), F(13), F(14), F(15)};
#undef F

/*
 * Writes the control segment of a request with a header of `header` bytes. From now on it is
 * counted in the SQ.
 */
static inline __attribute__((always_inline)) void
wr_put_ctrl(struct dpav_qp *qp, struct dpa_wqe_ctrl *c, uint8_t op, uint32_t imm, uint32_t header)
{
	const uint32_t bytes = (uint32_t)sizeof(*c) + header;
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	struct dpa_sq *sq = &qp->sq;
	uint32_t pi = sq->pi, count = sq->count;

	c->opcode = op;
	c->flags = wqe_flags[ex->wr_flags] | sq->signal_all;
	c->nbb = (uint8_t)((bytes + DPA_WQEBB - 1) / DPA_WQEBB);
	c->nsge = 0;
	c->index = pi;
	c->wr_id = ex->wr_id;
	c->imm = imm;
	c->length = 0;
	c->check = 0;
	c->count = count;
	sq->pi = pi + (bytes + DPA_WQEBB - 1) / DPA_WQEBB;
	sq->count = count + 1;
	qp->batch.wqe = c;
	qp->batch.at = (uint8_t *)c + bytes;
}

/*
 * Opens a request. `header` bytes, and an XRC segment if needed, follow the control segment.
 * Returns the place of the header, behind which the data follows; NULL after an error.
 */
static uint8_t *wr_open(struct ibv_qp_ex *ex, enum ibv_wr_opcode op, uint32_t imm, uint32_t header)
{
	struct dpav_qp *qp = ex_qp(ex);
	struct dpa_batch *b = &qp->batch;
	struct dpa_sq *sq = &qp->sq;
	uint32_t xrc = sq->is_xrc ? sizeof(struct dpa_wqe_xrc) : 0;
	struct dpa_wqe_ctrl *c;

	if (!wr_close(qp))
		return NULL;
	if (!sq_has_room(sq)) {
		batch_fail(b, ENOMEM);
		return NULL;
	}
	if (ex->wr_flags > SQ_SEND_FLAGS || !(sq->ops >> op & 1)) {
		batch_fail(b, EINVAL);
		return NULL;
	}
	c = (struct dpa_wqe_ctrl *)(sq->buf + (size_t)(sq->pi & sq->mask) * DPA_WQEBB);
	if ((sq->pi & sq->mask) > sq->last) {
		c = (struct dpa_wqe_ctrl *)b->aside;
		b->err = ASIDE;
	}
	wr_put_ctrl(qp, c, (uint8_t)op, imm, header + xrc);
	if (xrc) {
		sq_put_xrc((uint8_t *)(c + 1), 0);
		b->needs = DPA_NEEDS_SRQN;
	}
	return (uint8_t *)(c + 1) + xrc;
}

/*
 * The same for the common case: the QP has this opcode, and no segment lies between the control
 * segment and the header. NULL: call wr_open().
 */
static inline __attribute__((always_inline)) uint8_t *
wr_open_plain(struct ibv_qp_ex *ex, enum ibv_wr_opcode op, uint32_t imm, uint32_t header)
{
	struct dpav_qp *qp = ex_qp(ex);
	struct dpa_sq *sq = &qp->sq;
	uint32_t pi = sq->pi, at = pi & sq->mask;
	struct dpa_wqe_ctrl *c;

	if (dpa_unlikely(qp->batch.err) || dpa_unlikely(pi - sq->ci >= sq->max_wr) ||
	    dpa_unlikely(ex->wr_flags > SQ_SEND_FLAGS) || dpa_unlikely(at > sq->last))
		return NULL;
	c = (struct dpa_wqe_ctrl *)(sq->buf + (size_t)at * DPA_WQEBB);
	wr_put_ctrl(qp, c, (uint8_t)op, imm, header);
	return (uint8_t *)(c + 1);
}

static __attribute__((noinline)) void wr_send_op(struct ibv_qp_ex *ex, enum ibv_wr_opcode op,
						 uint32_t imm)
{
	struct dpav_qp *qp = ex_qp(ex);

	if (!qp->sq.is_ud)
		wr_open(ex, op, imm, 0);
	else if (wr_open(ex, op, imm, sizeof(struct dpa_wqe_av)))
		qp->batch.needs = DPA_NEEDS_AH;
}

static __attribute__((noinline)) void wr_rdma_op(struct ibv_qp_ex *ex, enum ibv_wr_opcode op,
						 uint32_t imm, uint32_t rkey, uint64_t addr)
{
	uint8_t *p = wr_open(ex, op, imm, sizeof(struct dpa_wqe_raddr));

	if (p)
		sq_put_raddr(p, addr, rkey);
}

/* Both variants of a builder. */
#define SEND_OP(name, op, imm, ...)                                                                \
	static void name##_any(__VA_ARGS__)                                                        \
	{                                                                                          \
		wr_send_op(ex, op, imm);                                                           \
	}                                                                                          \
	static void name##_plain(__VA_ARGS__)                                                      \
	{                                                                                          \
		if (dpa_unlikely(!wr_open_plain(ex, op, imm, 0)))                                  \
			wr_send_op(ex, op, imm);                                                   \
	}

#define RDMA_OP(name, op, imm, ...)                                                                \
	static void name##_any(__VA_ARGS__)                                                        \
	{                                                                                          \
		wr_rdma_op(ex, op, imm, rkey, addr);                                               \
	}                                                                                          \
	static void name##_plain(__VA_ARGS__)                                                      \
	{                                                                                          \
		uint8_t *p = wr_open_plain(ex, op, imm, sizeof(struct dpa_wqe_raddr));             \
                                                                                                   \
		if (dpa_likely(p))                                                                 \
			sq_put_raddr(p, addr, rkey);                                               \
		else                                                                               \
			wr_rdma_op(ex, op, imm, rkey, addr);                                       \
	}

SEND_OP(wr_send, IBV_WR_SEND, 0, struct ibv_qp_ex *ex)
SEND_OP(wr_send_imm, IBV_WR_SEND_WITH_IMM, imm, struct ibv_qp_ex *ex, __be32 imm)
SEND_OP(wr_send_inv, IBV_WR_SEND_WITH_INV, rkey, struct ibv_qp_ex *ex, uint32_t rkey)
RDMA_OP(wr_rdma_write, IBV_WR_RDMA_WRITE, 0, struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
RDMA_OP(wr_rdma_write_imm, IBV_WR_RDMA_WRITE_WITH_IMM, imm, struct ibv_qp_ex *ex, uint32_t rkey,
	uint64_t addr, __be32 imm)
RDMA_OP(wr_rdma_read, IBV_WR_RDMA_READ, 0, struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)

/* 8 bytes: `from` is read now. */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *from)
{
	struct dpa_batch *b = &ex_qp(ex)->batch;
	uint8_t *p = wr_open(ex, IBV_WR_ATOMIC_WRITE, 0, sizeof(struct dpa_wqe_raddr) + 8);

	if (!p)
		return;
	memcpy(sq_put_raddr(p, addr, rkey), from, 8);
	b->wqe->flags |= DPA_WQE_INLINE;
	b->wqe->length = 8;
	b->at = NULL;
}

#ifdef DPA_HAVE_FLUSH
static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, size_t length,
		     uint8_t type, uint8_t level)
{
	struct dpa_batch *b = &ex_qp(ex)->batch;
	uint8_t *p = wr_open(ex, IBV_WR_FLUSH, 0, sizeof(struct dpa_wqe_raddr));

	if (!p)
		return;
	b->at = NULL;
	if (length > DPA_MAX_MSG || !type || (type & ~(IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT)) ||
	    level > IBV_FLUSH_MR) {
		batch_fail(b, EINVAL);
		return;
	}
	sq_put_raddr(p, addr, rkey);
	((struct dpa_wqe_raddr *)p)->flush = type | (level == IBV_FLUSH_MR ? DPA_FLUSH_MR : 0);
	b->wqe->length = (uint32_t)length;
}
#endif

static void wr_open_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode op, uint32_t rkey,
			   uint64_t addr, struct dpa_wqe_atomic a)
{
	uint8_t *p = wr_open(ex, op, 0, sizeof(struct dpa_wqe_raddr) + sizeof(a));

	if (p)
		*(struct dpa_wqe_atomic *)sq_put_raddr(p, addr, rkey) = a;
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

/* A request without SRQ and without data. */
static void wr_is_local(struct dpa_batch *b)
{
	b->at = NULL;
	b->needs = 0;
}

/* From now on the window has its new key; if the batch is not posted it gets its old key back. */
static void set_bound_key(struct dpa_batch *b, struct dpa_mw *mw, uint32_t rkey)
{
	struct dpa_mw *have = b->bound;

	while (have && have != mw)
		have = have->next;
	if (!have) {
		mw->before = mw->mw.rkey;
		mw->next = b->bound;
		b->bound = mw;
	}
	mw->mw.rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct dpa_batch *b = &ex_qp(ex)->batch;
	const uint32_t key = mw ? dpa_mw_bound_key(to_dpa_mw(mw), rkey) : 0;
	uint8_t *p = wr_open(ex, IBV_WR_BIND_MW, key,
			     sizeof(struct dpa_wqe_raddr) + sizeof(struct dpa_wqe_bind));

	if (!p)
		return;
	wr_is_local(b);
	if (sq_put_bind(p, mw, info))
		set_bound_key(b, to_dpa_mw(mw), key);
	else
		batch_fail(b, EINVAL);
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	if (wr_open(ex, IBV_WR_LOCAL_INV, rkey, 0))
		wr_is_local(&ex_qp(ex)->batch);
}

/* ------------------------------------------------------------------- create */

static void set_builders(const struct dpa_sq *sq, struct ibv_qp_ex *ex)
{
	const uint32_t plain = sq->is_ud || sq->is_xrc ? 0 : sq->ops;

#define PICK(name, op) (plain >> IBV_WR_##op & 1 ? name##_plain : name##_any)
	ex->wr_rdma_read = PICK(wr_rdma_read, RDMA_READ);
	ex->wr_rdma_write = PICK(wr_rdma_write, RDMA_WRITE);
	ex->wr_rdma_write_imm = PICK(wr_rdma_write_imm, RDMA_WRITE_WITH_IMM);
	ex->wr_send = PICK(wr_send, SEND);
	ex->wr_send_imm = PICK(wr_send_imm, SEND_WITH_IMM);
	ex->wr_send_inv = PICK(wr_send_inv, SEND_WITH_INV);
#undef PICK
	ex->wr_complete = plain ? wr_complete_plain : wr_complete_any;
}

int dpa_wr_init(struct dpav_qp *qp)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	qp->batch.aside = aligned_alloc(DPA_WQEBB, DPA_WQE_MAX_BB * DPA_WQEBB);
	if (!qp->batch.aside)
		return ENOMEM;
	memset(qp->batch.aside, 0, DPA_WQE_MAX_BB * DPA_WQEBB);
	verbs_qp_add_mask(&qp->vqp, VERBS_QP_EX);
	set_builders(&qp->sq, ex);
	ex->wr_abort = wr_abort;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_atomic_write = wr_atomic_write;
	ex->wr_bind_mw = wr_bind_mw;
#ifdef DPA_HAVE_FLUSH
	ex->wr_flush = wr_flush;
#endif
	ex->wr_local_inv = wr_local_inv;
	ex->wr_start = wr_start;
	dpa_wr_set_init(ex);
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
#ifdef DPA_HAVE_FLUSH
SAME(IBV_FLUSH_GLOBAL, DPA_FLUSH_GLOBAL);
SAME(IBV_FLUSH_PERSISTENT, DPA_FLUSH_PERSISTENT);
#endif
