/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * send.c - posts sends. Under the SQ's lock: WQEs into the ring, the doorbell record (release), the
 * UAR slot. After the unlock: the ring call, which may carry the work out on this thread.
 * The number of outstanding WQEs is limited by max_wr. The ring has room for max_wr WQEs of the
 * longest kind, so this limit is also the check for space.
 */
#include <string.h>
#include "post/sq.h"

#define OP(x)	 (1u << IBV_WR_##x)
#define OPS_SEND (OP(SEND) | OP(SEND_WITH_IMM))
#define OPS_MW	 (OP(LOCAL_INV) | OP(BIND_MW))
#define OPS_UC	 (OPS_SEND | OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM) | OPS_MW)
#ifdef DPA_HAVE_FLUSH
#define OP_FLUSH OP(FLUSH) /* of ibv_wr_* only */
#else
#define OP_FLUSH 0
#endif
#define OPS_RC                                                                                     \
	(OPS_UC | OP(RDMA_READ) | OP(ATOMIC_CMP_AND_SWP) | OP(ATOMIC_FETCH_AND_ADD) |              \
	 OP(SEND_WITH_INV) | OP(ATOMIC_WRITE) | OP_FLUSH)

uint32_t dpa_send_ops(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return OPS_RC;
	case IBV_QPT_UC:
		return OPS_UC;
	case IBV_QPT_UD:
		return OPS_SEND;
	case IBV_QPT_RAW_PACKET:
		return OP(SEND);
	default:
		return 0;
	}
}

static inline uint8_t *put_wr_atomic(uint8_t *p, const struct ibv_send_wr *wr)
{
	struct dpa_wqe_atomic *a;

	p = sq_put_raddr(p, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
	a = (struct dpa_wqe_atomic *)p;
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		a->swap_add = wr->wr.atomic.swap;
		a->compare = wr->wr.atomic.compare_add;
	} else {
		a->swap_add = wr->wr.atomic.compare_add;
		a->compare = 0;
	}
	return p + sizeof(*a);
}

static inline uint8_t *put_wr_av(uint8_t *p, const struct ibv_send_wr *wr)
{
	struct dpa_wqe_av *av = (struct dpa_wqe_av *)p;

	*av = to_dpa_ah(wr->wr.ud.ah)->av;
	av->dqpn = wr->wr.ud.remote_qpn;
	av->qkey = wr->wr.ud.remote_qkey;
	return p + sizeof(*av);
}

/* Writes the segments between the control segment and the data. NULL: a bad request. */
static inline uint8_t *put_header(const struct dpa_sq *sq, uint8_t *p, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
		if (!sq->is_ud)
			return p;
		return wr->wr.ud.ah ? put_wr_av(p, wr) : NULL;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return sq_put_raddr(p, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
	case IBV_WR_RDMA_READ:
		if (wr->send_flags & IBV_SEND_INLINE)
			return NULL;
		return sq_put_raddr(p, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
	case IBV_WR_ATOMIC_WRITE: /* the device checks its length */
		return sq_put_raddr(p, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		if ((wr->send_flags & IBV_SEND_INLINE) || wr->num_sge != 1)
			return NULL;
		return put_wr_atomic(p, wr);
	case IBV_WR_LOCAL_INV:
		return wr->num_sge ? NULL : p;
	case IBV_WR_BIND_MW:
		if (wr->num_sge || (wr->send_flags & IBV_SEND_INLINE))
			return NULL;
		return sq_put_bind(p, wr->bind_mw.mw, &wr->bind_mw.bind_info);
	default:
		return NULL;
	}
}

static inline uint8_t *put_sges(uint8_t *p, const struct ibv_send_wr *wr, uint64_t *length)
{
	struct dpa_sge *s = (struct dpa_sge *)p;
	uint64_t sum = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		s[i].addr = wr->sg_list[i].addr;
		s[i].length = wr->sg_list[i].length;
		s[i].lkey = wr->sg_list[i].lkey;
		sum += s[i].length;
	}
	*length = sum;
	return (uint8_t *)&s[wr->num_sge];
}

/*
 * Reads the application's memory at once: a bad address faults like any access of the application.
 */
static inline uint8_t *put_inline(const struct dpa_sq *sq, uint8_t *p, const struct ibv_send_wr *wr,
				  uint64_t *length)
{
	uint32_t sum = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *s = &wr->sg_list[i];

		if (s->length > sq->max_inline - sum)
			return NULL;
		if (dpa_likely(s->length == 8))
			memcpy(p + sum, (const void *)(uintptr_t)s->addr, 8);
		else if (s->length)
			memcpy(p + sum, (const void *)(uintptr_t)s->addr, s->length);
		sum += s->length;
	}
	*length = sum;
	return p + sum;
}

/* Operations that at least one transport has. */
static const uint32_t ops_known = OPS_RC & ~OP_FLUSH;

/*
 * An operation that this QP's transport does not have: adapters accept it and complete it in order
 * with LOC_QP_OP_ERR. The device does this for its opcode alone; the other fields are not written.
 */
static __attribute__((cold, noinline)) uint32_t build_foreign(const struct dpa_sq *sq, uint8_t *w,
							      const struct ibv_send_wr *wr)
{
	dpa_wqe_put_ctrl((struct dpa_wqe_ctrl *)w, (uint8_t)wr->opcode,
			 sq_wqe_flags(wr->send_flags & ~(unsigned int)IBV_SEND_INLINE) |
				 sq->signal_all,
			 1, 0, sq->pi, wr->wr_id, 0, 0, sq->count);
	return 1;
}

/* Returns the new R_Key of a posted bind, which the window has from now on, as in irdma. */
static __attribute__((cold)) uint32_t posted_bind_key(struct ibv_mw *mw, uint32_t rkey)
{
	return mw->rkey = dpa_mw_bound_key(to_dpa_mw(mw), rkey);
}

/* Writes a WQE of at most max_bb blocks at w. Returns its length in blocks; 0: a bad request. */
static inline uint32_t build_wqe(const struct dpa_sq *sq, uint8_t *w, const struct ibv_send_wr *wr)
{
	struct dpa_wqe_ctrl *c = (struct dpa_wqe_ctrl *)w;
	unsigned int flags = wr->send_flags;
	uint64_t length;
	uint32_t nbb;
	uint8_t *p, nsge;

	if (dpa_unlikely((unsigned int)wr->opcode > 31 || (flags & ~SQ_SEND_FLAGS)))
		return 0;
	if (dpa_unlikely(!(sq->ops >> wr->opcode & 1)))
		return ops_known >> wr->opcode & 1 ? build_foreign(sq, w, wr) : 0;
	p = w + sizeof(*c);
	if (dpa_unlikely(sq->is_xrc))
		p = sq_put_xrc(p, wr->qp_type.xrc.remote_srqn);
	p = put_header(sq, p, wr);
	if (dpa_unlikely(!p))
		return 0;
	if (dpa_unlikely((uint32_t)wr->num_sge > sq->max_sge))
		return 0;
	if (flags & IBV_SEND_INLINE) {
		p = put_inline(sq, p, wr, &length);
		if (dpa_unlikely(!p))
			return 0;
		nsge = 0;
	} else {
		p = put_sges(p, wr, &length);
		nsge = (uint8_t)wr->num_sge;
		if (dpa_unlikely(length > DPA_MAX_MSG))
			return 0;
	}
	nbb = (uint32_t)(p - w + DPA_WQEBB - 1) / DPA_WQEBB;
	dpa_wqe_put_ctrl(c, (uint8_t)wr->opcode, sq_wqe_flags(flags) | sq->signal_all, (uint8_t)nbb,
			 nsge, sq->pi, wr->wr_id,
			 dpa_unlikely(wr->opcode == IBV_WR_BIND_MW)
				 ? posted_bind_key(wr->bind_mw.mw, wr->bind_mw.rkey)
				 : wr->imm_data,
			 (uint32_t)length, sq->count);
	return nbb;
}

/* The rare WQE that may wrap around the end of the ring: built elsewhere, copied in two parts. */
static __attribute__((noinline)) uint32_t build_wrapped(struct dpa_sq *sq,
							const struct ibv_send_wr *wr)
{
	_Alignas(64) uint8_t tmp[DPA_WQE_MAX_BB * DPA_WQEBB];
	uint32_t at = sq->pi & sq->mask, first = sq->mask + 1 - at, nbb;

	memset(tmp, 0, (size_t)sq->max_bb * DPA_WQEBB);
	nbb = build_wqe(sq, tmp, wr);
	if (first > nbb)
		first = nbb;
	memcpy(sq->buf + (size_t)at * DPA_WQEBB, tmp, (size_t)first * DPA_WQEBB);
	memcpy(sq->buf, tmp + (size_t)first * DPA_WQEBB, (size_t)(nbb - first) * DPA_WQEBB);
	return nbb;
}

static inline int post_send_wr(struct dpa_sq *sq, const struct ibv_send_wr *wr)
{
	uint32_t at = sq->pi & sq->mask, nbb;

	if (dpa_unlikely(!sq_has_room(sq)))
		return ENOMEM;
	if (dpa_likely(at <= sq->last))
		nbb = build_wqe(sq, sq->buf + (size_t)at * DPA_WQEBB, wr);
	else
		nbb = build_wrapped(sq, wr);
	if (dpa_unlikely(!nbb))
		return EINVAL;
	sq->pi += nbb;
	sq->count++;
	return 0;
}

/* Posts the requests before `end`. */
static inline int post_send_before(struct dpav_qp *qp, struct ibv_send_wr *wr,
				   const struct ibv_send_wr *end, struct ibv_send_wr **bad)
{
	struct dpa_sq *sq = &qp->sq;
	uint32_t first, placement, rung = 0;
	uint64_t began;
	int ret = 0;

	if (dpa_unlikely(atomic_load_explicit(&qp->state, memory_order_relaxed) < DPA_QPS_RTS)) {
		*bad = wr;
		return EINVAL;
	}
	began = dpa_trace_begin();
	dpa_lock_take(&sq->lock);
	first = sq->pi;
	for (; wr != end; wr = wr->next) {
		ret = post_send_wr(sq, wr);
		if (dpa_unlikely(ret)) {
			*bad = wr;
			break;
		}
	}
	if (dpa_unlikely(sq->pi == first)) {
		dpa_lock_drop(&sq->lock);
		return ret;
	}
	if (dpa_unlikely(began))
		rung = dpa_trace_since(began);
	placement = sq_publish(sq, first);
	if (dpa_unlikely(began))
		sq_trace(sq, qp->info.qpn, first, began, rung);
	dpa_lock_drop(&sq->lock);
	sq_ring(qp->hw, placement);
	return ret;
}

/* One of the requests may have to fail: those before it are posted. */
static __attribute__((cold, noinline)) int
post_send_asking(struct dpav_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr *end = wr;
	int err = 0, ret;

	for (; end && !err; end = err ? end : end->next)
		err = dpav_asks_call(qp->alive, "post_send", qp->vqp.qp.qp_num);
	ret = end == wr ? 0 : post_send_before(qp, wr, end, bad);
	if (ret || !err)
		return ret;
	*bad = end;
	return err;
}

int dpa_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct dpav_qp *qp = to_dpa_qp(ibqp);

	if (dpa_unlikely(!dpa_word_plain(qp->alive)))
		return post_send_asking(qp, wr, bad);
	return post_send_before(qp, wr, NULL, bad);
}

#define SAME(a, b) static_assert((int)(a) == (int)(b), #a)
SAME(DPA_OP_RDMA_WRITE, IBV_WR_RDMA_WRITE);
SAME(DPA_OP_RDMA_WRITE_IMM, IBV_WR_RDMA_WRITE_WITH_IMM);
SAME(DPA_OP_SEND, IBV_WR_SEND);
SAME(DPA_OP_SEND_IMM, IBV_WR_SEND_WITH_IMM);
SAME(DPA_OP_RDMA_READ, IBV_WR_RDMA_READ);
SAME(DPA_OP_ATOMIC_CS, IBV_WR_ATOMIC_CMP_AND_SWP);
SAME(DPA_OP_ATOMIC_FA, IBV_WR_ATOMIC_FETCH_AND_ADD);
SAME(DPA_OP_LOCAL_INV, IBV_WR_LOCAL_INV);
SAME(DPA_OP_BIND_MW, IBV_WR_BIND_MW);
SAME(DPA_OP_SEND_INV, IBV_WR_SEND_WITH_INV);
SAME(DPA_OP_ATOMIC_WRITE, IBV_WR_ATOMIC_WRITE);
SAME(DPA_WQE_SIGNALED, IBV_SEND_SIGNALED >> 1);
SAME(DPA_WQE_SOLICITED, IBV_SEND_SOLICITED >> 1);
SAME(DPA_WQE_FENCE, IBV_SEND_FENCE << 2);
SAME(DPA_WQE_INLINE, IBV_SEND_INLINE);
#ifdef DPA_HAVE_FLUSH
SAME(DPA_OP_FLUSH, IBV_WR_FLUSH);
#endif
