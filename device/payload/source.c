/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * source.c - reads the payload of packets from memory that cannot be addressed (foreign/foreign.h),
 * ahead of the packets. It reads for the WQE at send_idx, for the posted ones behind it, and for
 * pending responses. So one call of dpa-foreign reads many small payloads.
 */
#include "foreign/foreign.h"
#include "payload/payload.h"

/* True for opcodes with a payload in local memory. */
static bool has_payload(const struct dpa_wqe_ctrl *c)
{
	return c->opcode <= DPA_OP_SEND_IMM || c->opcode == DPA_OP_SEND_INV ||
	       c->opcode == DPA_OP_ATOMIC_WRITE;
}

/* One of its SGEs lies there. */
static bool names_foreign(const struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	uint32_t at = dpa_wqe_sge_off(qp, c->opcode);

	for (uint32_t i = 0; i < c->nsge && i < DPA_MAX_SGE; i++, at += sizeof(struct dpa_sge)) {
		const struct dpa_sge *g = dpa_wqe_at(qp, idx, at);

		if (g->length && dpa_foreign_of(qp->hw, g->lkey))
			return true;
	}
	return false;
}

static bool is_foreign_wqe(const struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	return !(c->flags & DPA_WQE_INLINE) && has_payload(c) && names_foreign(qp, idx, c);
}

bool dpa_target_is_foreign(const struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	return dpa_unlikely(qp->hw->nforeign) &&
	       (dpa_op_is_read(c->opcode) || dpa_op_is_atomic(c->opcode)) &&
	       names_foreign(qp, idx, c);
}

/*
 * Copies the bytes of a segment that are in addressable memory at once; dpa-foreign reads the
 * others.
 */
static uint32_t fill_piece(struct dpa_hw_qp *qp, struct dpa_get *e, const struct iovec *iov,
			   int cnt)
{
	uint8_t *to = e->host;

	for (int i = 0; i < cnt; i++) {
		const uint32_t key = qp->fq->iov_key[i], n = (uint32_t)iov[i].iov_len;

		if (key)
			dpa_gets_part(&qp->fq->source, e, dpa_foreign_of(qp->hw, key),
				      (uintptr_t)iov[i].iov_base, to, n);
		else if (dpa_copy_in(qp->hw, to, (uintptr_t)iov[i].iov_base, n))
			return DPA_SYN_LOCAL_FAULT;
		to += n;
	}
	return 0;
}

/* Adds a segment behind the last one. 0; DPA_SYN_WAIT: no room; or a vendor error. */
static uint32_t add_source_piece(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	struct dpa_gets *g = &qp->fq->source;
	const uint32_t left = c->length - g->off,
		       n = left < DPA_FOREIGN_PIECE ? left : DPA_FOREIGN_PIECE;
	struct iovec iov[DPA_MAX_SGE];
	struct dpa_get *e;
	uint32_t syn;
	int cnt;

	syn = dpa_wqe_iov(qp, g->idx, c, g->off, n, 0, iov, &cnt);
	if (syn)
		return syn;
	e = dpa_gets_add(g, g->idx, g->off, n);
	if (!e)
		return DPA_SYN_WAIT;
	syn = fill_piece(qp, e, iov, cnt);
	if (syn) {
		dpa_gets_undo(g);
		return syn;
	}
	g->off += n;
	return 0;
}

/*
 * Adds segments of the WQEs from the last one on, up to `pi`, while there is room. A WQE with a
 * fence is not read before its turn: an earlier READ may write its source. Returns an error of the
 * first WQE only; those of others are found in their turn. DPA_SYN_WAIT: not enough room for all.
 */
static uint32_t add_pieces(struct dpa_hw_qp *qp, uint32_t pi)
{
	struct dpa_gets *g = &qp->fq->source;
	const uint32_t begin = g->w.head;
	uint32_t syn = 0;

	while (!syn && g->idx != pi && g->w.head - begin < DPA_FOREIGN_AHEAD) {
		const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, g->idx);
		const bool first = g->idx == qp->req.send_idx;

		if (c->index != g->idx || !c->nbb || c->nbb > pi - g->idx ||
		    c->nsge > DPA_MAX_SGE || (c->flags & DPA_WQE_FENCE && !first))
			break;
		if (g->off < c->length && is_foreign_wqe(qp, g->idx, c)) {
			syn = add_source_piece(qp, c);
			if (syn && syn != DPA_SYN_WAIT && !first)
				return 0;
			continue;
		}
		g->idx += c->nbb;
		g->off = 0;
	}
	return syn;
}

/* Bytes [off, off + n) of the WQE: present (0), failed, or missing (WAIT). */
static uint32_t look_for(const struct dpa_gets *g, uint32_t idx, uint32_t off, uint32_t n)
{
	while (n) {
		const struct dpa_get *e = dpa_gets_find(g, idx, off);
		uint32_t k;

		if (!e || e->state == DPA_GET_QUEUED || e->state == DPA_GET_COPYING)
			return DPA_SYN_WAIT;
		if (e->state == DPA_GET_FAILED)
			return DPA_SYN_LOCAL_FAULT;
		k = e->len - (off - e->off);
		k = k < n ? k : n;
		off += k;
		n -= k;
	}
	return 0;
}

/*
 * Requests what is missing of [off, off + n) of the WQE, and what follows. *no_room: not all could
 * be requested.
 */
static uint32_t get_ready(struct dpa_hw_qp *qp, uint32_t idx, uint32_t off, uint32_t n,
			  bool *no_room)
{
	const uint32_t syn = add_pieces(qp, dpa_sq_pi(qp));

	*no_room = syn == DPA_SYN_WAIT;
	return syn && !*no_room ? syn : look_for(&qp->fq->source, idx, off, n);
}

uint32_t dpa_source_wait(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
			 uint32_t off, uint32_t n)
{
	struct dpa_gets *g;
	bool no_room;
	uint32_t syn;

	if (dpa_likely(!is_foreign_wqe(qp, idx, c)))
		return 0;
	if (!dpa_foreign_use(qp))
		return DPA_SYN_LOCAL_FAULT;
	if ((c->flags & DPA_WQE_FENCE && qp->fq->held) || qp->fq->leaving)
		return DPA_SYN_WAIT;
	g = &qp->fq->source;
	dpa_gets_drop(g, qp->req.una_idx, 0);
	if (n > c->length - off)
		n = c->length - off;
	/* the segment that contains it, as they are cut */
	if (!dpa_gets_find(g, idx, off) &&
	    (g->idx != idx || g->off > off || off - g->off >= DPA_FOREIGN_PIECE)) {
		if (!dpa_gets_restart(g, idx, off)) {
			dpa_foreign_queue(qp->fq);
			return DPA_SYN_WAIT;
		}
	}
	/* Sent bytes, which are kept for retransmission, make room for bytes that are sent next. */
	if (dpa_gets_crowded(g))
		dpa_gets_drop(g, idx, off);
	syn = get_ready(qp, idx, off, n, &no_room);
	if (syn == DPA_SYN_WAIT && no_room && !dpa_gets_pending(g)) {
		dpa_gets_drop(g, idx, off);
		syn = get_ready(qp, idx, off, n, &no_room);
	}
	if (dpa_gets_pending(g))
		dpa_foreign_queue(qp->fq);
	else if (syn == DPA_SYN_WAIT) /* the window has no memory, or the WQE is not posted yet */
		syn = no_room ? DPA_SYN_LOCAL_FAULT : DPA_SYN_BAD_WQE;
	return syn;
}

uint32_t dpa_source_response(struct dpa_hw_qp *qp, const struct dpa_response *r, uint32_t n)
{
	struct dpa_gets *g;
	struct dpa_get *e;
	uint32_t k, syn;

	if (!dpa_foreign_use(qp))
		return DPA_SYN_LOCAL_FAULT;
	g = &qp->fq->response;
	dpa_gets_drop(g, r->number, r->off);
	syn = look_for(g, r->number, r->off, n);
	if (syn != DPA_SYN_WAIT)
		return syn;
	if (!dpa_gets_find(g, r->number, r->off) && (g->idx != r->number || g->off != r->off) &&
	    !dpa_gets_restart(g, r->number, r->off)) {
		dpa_foreign_queue(qp->fq);
		return DPA_SYN_WAIT;
	}
	for (; g->off < r->len && g->off - r->off < DPA_FOREIGN_AHEAD; g->off += k) {
		k = r->len - g->off < DPA_FOREIGN_PIECE ? r->len - g->off : DPA_FOREIGN_PIECE;
		e = dpa_gets_add(g, g->idx, g->off, k);
		if (!e)
			break;
		dpa_gets_part(g, e, dpa_foreign_of(qp->hw, r->rkey), r->addr + (g->off - r->off),
			      e->host, k);
	}
	if (!dpa_gets_pending(g))
		return DPA_SYN_LOCAL_FAULT; /* the window has no memory */
	dpa_foreign_queue(qp->fq);
	return DPA_SYN_WAIT;
}
