/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sq.h - shared by the two ways of posting sends (ibv_post_send, ibv_wr_*): room in the ring,
 * flags, doorbell record and slot. Context of all functions except sq_ring(): the SQ's lock.
 */
#ifndef DPA_SQ_H
#define DPA_SQ_H

#include <string.h>
#include <dpa_hw_trace.h>
#include "dpa.h"

#define SQ_SEND_FLAGS                                                                              \
	((unsigned int)(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE))

/* FENCE 1, SIGNALED 2, SOLICITED 4, INLINE 8 of verbs to 4, 1, 2, 8. */
static inline uint8_t sq_wqe_flags(unsigned int f)
{
	return (uint8_t)(((f & (IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)) >> 1) |
			 ((f & IBV_SEND_FENCE) << 2) | (f & IBV_SEND_INLINE));
}

static inline uint8_t *sq_put_raddr(uint8_t *p, uint64_t addr, uint32_t rkey)
{
	struct dpa_wqe_raddr *r = (struct dpa_wqe_raddr *)p;

	r->addr = addr;
	r->rkey = rkey;
	r->flush = 0;
	return p + sizeof(*r);
}

static inline uint8_t *sq_put_xrc(uint8_t *p, uint32_t srqn)
{
	struct dpa_wqe_xrc *x = (struct dpa_wqe_xrc *)p;

	*x = (struct dpa_wqe_xrc){.srqn = srqn};
	return p + sizeof(*x);
}

/*
 * Writes the segments of a BIND_MW except the new R_Key. NULL: a window of type 1 (which needs
 * ibv_bind_mw()), unknown access bits, or no region. A window cannot give local access: those bits
 * are ignored.
 */
static inline uint8_t *sq_put_bind(uint8_t *p, struct ibv_mw *mw, const struct ibv_mw_bind_info *i)
{
	const unsigned int remote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				    IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED;
	const unsigned int known = remote | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
	struct dpa_wqe_bind *b;

	if (!mw || mw->type != IBV_MW_TYPE_2 || (i->mw_access_flags & ~known) ||
	    (i->length && !i->mr))
		return NULL;
	b = (struct dpa_wqe_bind *)sq_put_raddr(p, i->addr, to_dpa_mw(mw)->key);
	b->length = i->length;
	b->lkey = i->mr ? i->mr->lkey : 0;
	b->access = i->mw_access_flags & remote;
	return (uint8_t *)(b + 1);
}

/* Returns the number of incomplete WQEs. Context: the lock; ci is read after pi. */
static inline uint32_t sq_outstanding(const struct dpa_sq *sq)
{
	const struct dpa_wqe_ctrl *c =
		(const void *)(sq->buf + (size_t)(sq->ci & sq->mask) * DPA_WQEBB);

	return sq->ci == sq->pi ? 0 : sq->count - c->count;
}

/* True if one more WQE may be outstanding. A WQE has at least one block. */
static inline bool sq_has_room(struct dpa_sq *sq)
{
	if (dpa_likely(sq->pi - sq->ci < sq->max_wr))
		return true;
	sq->ci = __atomic_load_n(&sq->dbrec->sq_ci, __ATOMIC_ACQUIRE);
	return sq->max_wr && sq_outstanding(sq) < sq->max_wr;
}

/* Beyond this number doorbells are counted in steps: the slot has a cache line for them. */
#define SQ_SHOWN 16

static inline void sq_show(const struct dpa_sq *sq)
{
	__atomic_store_n(&sq->slot->doorbells, sq->doorbells, __ATOMIC_RELAXED);
	__atomic_store_n(&sq->slot->blueflames, sq->blueflames, __ATOMIC_RELAXED);
}

static inline void sq_count(const struct dpa_sq *sq, uint64_t n)
{
	if (dpa_unlikely(n < SQ_SHOWN || n % SQ_SHOWN == 0))
		sq_show(sq);
}

static inline void sq_doorbell(struct dpa_sq *sq)
{
	const struct dpa_db db = {.opcode = DPA_OP_DOORBELL, .pi = sq->pi};
	uint64_t word;

	memcpy(&word, &db, sizeof(word));
	__atomic_store_n(&sq->slot->word, word, __ATOMIC_RELEASE);
	sq_count(sq, ++sq->doorbells);
}

/* A single WQE that is contiguous and short enough is written to the slot completely. */
static inline bool sq_blueflame(struct dpa_sq *sq, uint32_t first)
{
	uint32_t at = first & sq->mask, nbb = sq->pi - first;
	const struct dpa_wqe_ctrl *c =
		(const struct dpa_wqe_ctrl *)(sq->buf + (size_t)at * DPA_WQEBB);

	if (!sq->blueflame || nbb > DPA_BF_BLOCKS || at + nbb > sq->mask + 1 || c->nbb != nbb)
		return false;
	__atomic_store_n(&sq->dbrec->sq_pi, sq->pi, __ATOMIC_RELEASE);
	dpa_bf_write(sq->slot, c, nbb);
	sq_count(sq, ++sq->blueflames);
	return true;
}

/* Passes the WQEs from `first` on to the device. Returns the placement that was read. */
static inline __attribute__((always_inline)) uint32_t sq_publish(struct dpa_sq *sq, uint32_t first)
{
	uint32_t placement = __atomic_load_n(sq->placement, __ATOMIC_RELAXED);

	if (placement != DPA_PLACE_INLINE) {
		/*
		 * An EU has read the block since it was last written: fetch it back before it is
		 * needed.
		 */
		__builtin_prefetch(sq->buf + (size_t)(sq->pi & sq->mask) * DPA_WQEBB, 1);
		if (sq_blueflame(sq, first))
			return placement;
	}
	__atomic_store_n(&sq->dbrec->sq_pi, sq->pi, __ATOMIC_RELEASE);
	sq_doorbell(sq);
	return placement;
}

/*
 * The timeline's point of a post that began at `began`, ticks, and wrote its doorbell `rung` ticks
 * later. Context: the lock.
 */
static __attribute__((cold, noinline, unused)) void
sq_trace(const struct dpa_sq *sq, uint32_t qpn, uint32_t first, uint64_t began, uint32_t rung)
{
	const struct dpa_wqe_ctrl *c =
		(const struct dpa_wqe_ctrl *)(sq->buf + (size_t)(first & sq->mask) * DPA_WQEBB);
	const uint64_t word = __atomic_load_n(&sq->slot->word, __ATOMIC_RELAXED);

	dpa_trace_at(began, DPA_TRACE_POST,
		     (uint8_t)word == DPA_OP_DOORBELL ? 0 : DPA_TRACE_BLUEFLAME, c->opcode, qpn,
		     first, rung, (uint64_t)(sq->pi - first) << 32);
}

/* After the lock was released: inline placement carries the work out on this thread. */
static inline void sq_ring(struct dpa_hw_qp *hw, uint32_t placement)
{
	if (dpa_likely(placement == DPA_PLACE_INLINE))
		dpa_hw_ring_sq(hw);
	else
		dpa_hw_kick_sq(hw);
}

#endif
