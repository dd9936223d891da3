/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * tag.c - tag matching (rdma-core's tag_matching.md, infiniband/tm_types.h).
 *
 * The tagged buffers of an SRQ are a list in the order in which they were added. A message that
 * matches none is unexpected, and is counted. Buffers that are added before software has reported
 * that it handled as many unexpected messages stay off until then, because one of those messages
 * may match them. List and counts are under the SRQ's lock, which a thread that takes a buffer or a
 * receive holds.
 */
#include <errno.h>
#include <stdlib.h>
#include "ctx/schedule.h"
#include "ctx/cq.h"
#include "ctx/srq.h"
#include "ctx/wqe.h"
#include "failure/failure.h"
#include "link/peer.h"
#include "payload/payload.h"
#include "recv/recv.h"
#include "recv/tag.h"

#define NONE	 UINT32_MAX
#define TMH	 16u /* bytes of the header; a rendezvous request has as many behind it */
#define LOG_SQ	 8u  /* blocks */
#define SQ_ROUND 4u  /* WQEBBs of the READ and the SEND of one rendezvous */
#define GEN_BITS 22

enum { OP_NO_TAG = 0, OP_RNDV = 1, OP_FIN = 2, OP_EAGER = 3 };

struct entry {
	uint32_t next;
	uint32_t gen; /* generation of its handle; counts the uses of the entry */
	bool used, off;
	uint64_t tag, mask;
	struct dpa_rx_wqe w; /* up to DPA_MAX_TAG_SGE SGEs */
};

struct dpa_tags {
	uint32_t max, first, last, free;
	uint32_t happened, handled; /* unexpected messages */
	struct entry e[];
};

_Static_assert(DPA_MAX_TAGS <= 1u << (32 - GEN_BITS), "handle");
_Static_assert(sizeof(struct dpa_wqe_ctrl) + sizeof(struct dpa_wqe_raddr) +
			       DPA_MAX_TAG_SGE * sizeof(struct dpa_sge) <=
		       (SQ_ROUND - 1) * DPA_WQEBB,
	       "room for a READ");

struct dpa_tags *dpa_tags_new(uint32_t max)
{
	struct dpa_tags *t = calloc(1, sizeof(*t) + max * sizeof(t->e[0]));

	if (!t)
		return NULL;
	t->max = max;
	t->first = t->last = NONE;
	for (uint32_t i = 0; i < max; i++)
		t->e[i].next = i + 1 < max ? i + 1 : NONE;
	return t;
}

/* ------------------------------------------------------------------ the list */

/* Removes entry i from the list; `before` is its predecessor. */
static void drop_tag(struct dpa_tags *t, uint32_t before, uint32_t i)
{
	struct entry *e = &t->e[i];

	if (before == NONE)
		t->first = e->next;
	else
		t->e[before].next = e->next;
	if (t->last == i)
		t->last = before;
	e->used = false;
	e->gen++;
	e->next = t->free;
	t->free = i;
}

static int add_tag(struct dpa_tags *t, struct dpa_tag_op *op)
{
	uint32_t i = t->free;
	struct entry *e;

	if (op->nsge > DPA_MAX_TAG_SGE)
		return EINVAL;
	if (i == NONE)
		return ENOMEM;
	e = &t->e[i];
	t->free = e->next;
	e->next = NONE;
	e->used = true;
	e->off = t->happened != t->handled;
	e->tag = op->tag;
	e->mask = op->mask;
	e->w.wr_id = op->recv_wr_id;
	e->w.nsge = op->nsge;
	memcpy(e->w.sge, op->sge, op->nsge * sizeof(op->sge[0]));
	if (t->last == NONE)
		t->first = i;
	else
		t->e[t->last].next = i;
	t->last = i;
	op->handle = e->gen << (32 - GEN_BITS) | i;
	return 0;
}

/* False: it is gone. */
static bool del_tag(struct dpa_tags *t, uint32_t handle)
{
	uint32_t i = handle & ((1u << (32 - GEN_BITS)) - 1), before = NONE, at = t->first;

	if (i >= t->max || !t->e[i].used ||
	    (t->e[i].gen & ((1u << GEN_BITS) - 1)) != handle >> (32 - GEN_BITS))
		return false;
	while (at != i) {
		before = at;
		at = t->e[at].next;
	}
	drop_tag(t, before, i);
	return true;
}

static void count_handled(struct dpa_tags *t, uint32_t n)
{
	t->handled = n;
	if (t->handled != t->happened)
		return;
	for (uint32_t i = t->first; i != NONE; i = t->e[i].next)
		t->e[i].off = false;
}

int dpa_hw_srq_tag(struct dpa_hw_srq *srq, struct dpa_tag_op *op)
{
	struct dpa_cqe e = {.wr_id = op->wr_id, .opcode = (uint8_t)(DPA_CQE_TM_ADD + op->what)};
	struct dpa_tags *t = srq->tags;
	int ret = 0;

	if (!t || op->what > DPA_TAG_SYNC)
		return EINVAL;
	dpa_spin_lock(&srq->lock);
	if (op->sync || op->what == DPA_TAG_SYNC)
		count_handled(t, op->unexpected);
	if (op->what == DPA_TAG_ADD)
		ret = add_tag(t, op);
	else if (op->what == DPA_TAG_DEL && !del_tag(t, op->handle))
		e.status = DPA_CQE_TM_ERR;
	e.flags = t->handled != t->happened ? DPA_CQE_F_TM_SYNC : 0;
	if (!ret && op->signaled)
		dpa_cq_push(srq->cq, &e);
	dpa_spin_unlock(&srq->lock);
	return ret;
}

/* ------------------------------------------------------------------ matching */

static uint64_t load_be64(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

static uint32_t load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t rx_wqe_bytes(const struct dpa_rx_wqe *w)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < w->nsge; i++)
		n += w->sge[i].length;
	return n;
}

/* Returns the first buffer that matches the tag; *before: its predecessor. */
static uint32_t find_tag(const struct dpa_tags *t, uint64_t tag, uint32_t *before)
{
	uint32_t i = t->first;

	*before = NONE;
	while (i != NONE && (t->e[i].off || (tag & t->e[i].mask) != t->e[i].tag)) {
		*before = i;
		i = t->e[i].next;
	}
	return i;
}

static uint32_t *own_pi(struct dpa_hw_qp *qp)
{
	return &qp->dbrec->sq_pi; /* for a QP that the device posts to */
}

static bool has_room(struct dpa_hw_qp *qp)
{
	return __atomic_load_n(own_pi(qp), __ATOMIC_RELAXED) - qp->req.una_idx + SQ_ROUND <=
	       1u << LOG_SQ;
}

static enum dpa_tag_kind tag_kind_of(const uint8_t *head, uint32_t n, const struct dpa_slot *s)
{
	bool whole = dpa_op_props(s->opcode) & DPA_OPP_END;

	if (!n || head[0] == OP_NO_TAG)
		return DPA_TAG_WITHOUT;
	if (head[0] == OP_EAGER && n >= TMH)
		return DPA_TAG_EAGER;
	if (head[0] == OP_RNDV && n >= 2 * TMH)
		return whole && s->len <= DPA_MAX_RNDV ? DPA_TAG_RNDV : DPA_TAG_UNEXPECTED;
	return DPA_TAG_PLAIN;
}

static void match_cqe(struct dpa_hw_qp *qp, uint8_t status, uint8_t flags, uint32_t len)
{
	const struct dpa_resp *r = &qp->resp;
	struct dpa_cqe e = {.wr_id = r->wqe.wr_id,
			    .qpn = qp->qpn,
			    .user_index = qp->user_index,
			    .byte_len = len,
			    .src_qpn = qp->dest_qpn,
			    .wqe_index = r->tm.app_ctx,
			    .tag = (uint32_t)r->tm.tag,
			    .tag_high = (uint32_t)(r->tm.tag >> 32),
			    .opcode = DPA_CQE_TM_RECV,
			    .status = status,
			    .flags = flags};

	if (dpa_unlikely(status))
		dpa_failed(qp, &e, NULL);
	dpa_qp_report(qp, qp->recv_cq, &e);
}

/* 1: taken; 0: not now; -1: no buffer matches. Context: the SRQ's lock. */
static int take_tagged(struct dpa_hw_qp *qp, struct dpa_tags *t)
{
	struct dpa_resp *r = &qp->resp;
	uint32_t before, i = find_tag(t, r->tm.tag, &before);

	if (i == NONE)
		return -1;
	if (r->tm.kind == DPA_TAG_RNDV &&
	    rx_wqe_bytes(&t->e[i].w) < load_be32(r->tm.head + TMH + 12))
		r->tm.kind = DPA_TAG_RNDV_LONG;
	else if (r->tm.kind == DPA_TAG_RNDV && !has_room(qp))
		return 0;
	r->wqe.wr_id = t->e[i].w.wr_id;
	r->wqe.nsge = t->e[i].w.nsge;
	memcpy(r->wqe.sge, t->e[i].w.sge, r->wqe.nsge * sizeof(r->wqe.sge[0]));
	drop_tag(t, before, i);
	return 1;
}

bool dpa_tag_take(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		  const uint8_t *payload)
{
	uint32_t n = s->len < 2 * TMH ? s->len : 2 * TMH;
	struct dpa_hw_srq *srq = qp->srq;
	struct dpa_resp *r = &qp->resp;
	bool event = false;
	int got = -1;

	/* a WRITE with immediate data takes a receive without matching */
	r->tm.kind = DPA_TAG_NONE;
	if (dpa_op_props(s->opcode) & DPA_OPP_SEND) {
		/* If the header cannot be read this is found again when the payload is placed. */
		r->tm.kind = dpa_peek(peer, s, payload, r->tm.head, n)
				     ? DPA_TAG_PLAIN
				     : tag_kind_of(r->tm.head, n, s);
		r->tm.app_ctx = n >= TMH ? load_be32(r->tm.head + 4) : 0;
		r->tm.tag = n >= TMH ? load_be64(r->tm.head + 8) : 0;
	}
	dpa_spin_lock(&srq->lock);
	if (r->tm.kind == DPA_TAG_EAGER || r->tm.kind == DPA_TAG_RNDV)
		got = take_tagged(qp, srq->tags);
	if (got < 0) {
		if (r->tm.kind == DPA_TAG_EAGER || r->tm.kind == DPA_TAG_RNDV)
			r->tm.kind = DPA_TAG_UNEXPECTED;
		got = dpa_srq_take_held(srq, &r->wqe, &event);
		srq->tags->happened += got && r->tm.kind == DPA_TAG_UNEXPECTED;
	}
	dpa_spin_unlock(&srq->lock);
	if (event)
		dpa_srq_limit_event(srq);
	if (got && r->tm.kind == DPA_TAG_EAGER && !(dpa_op_props(s->opcode) & DPA_OPP_END))
		match_cqe(qp, DPA_CQE_OK, DPA_CQE_F_TM_MATCH, 0);
	return got;
}

uint32_t dpa_tag_iov(struct dpa_hw_qp *qp, const struct dpa_slot *s, struct iovec *iov, int *cnt)
{
	struct dpa_resp *r = &qp->resp;
	uint32_t syn;

	if (r->off)
		return dpa_rwqe_iov(qp, &r->wqe, r->off - TMH, s->len, iov, cnt);
	/* the header goes to its known place */
	syn = dpa_rwqe_iov(qp, &r->wqe, 0, s->len - TMH, iov + 1, cnt);
	iov[0] = (struct iovec){.iov_base = r->tm.head, .iov_len = TMH};
	++*cnt;
	return syn;
}

/* ---------------------------------------------------------------- rendezvous */

int dpa_tag_begin(const struct dpa_qp_attr_create *a, uint8_t **sq)
{
	if (a->type != DPA_QP_RC || a->sq)
		return EINVAL;
	*sq = aligned_alloc(DPA_WQEBB, DPA_WQEBB << LOG_SQ);
	return *sq ? 0 : ENOMEM;
}

void dpa_tag_init(struct dpa_hw_qp *qp, uint8_t *sq)
{
	qp->tag_sq = qp->sq = sq;
	qp->slow.tags = true;
	qp->sq_mask = (1u << LOG_SQ) - 1;
	qp->recv_cq = qp->srq->cq;
}

/* Writes bytes of the WQE at idx, 16 at a time: no such part wraps around the end of the ring. */
static void put_payload(struct dpa_hw_qp *qp, uint32_t idx, uint32_t off, const void *from,
			uint32_t n)
{
	for (uint32_t i = 0; i < n; i += 16)
		memcpy(dpa_wqe_at(qp, idx, off + i), (const uint8_t *)from + i, 16);
}

/* Posts a READ of the requested memory into the buffer, followed by the message that it is done. */
static void fetch_tag_ops(struct dpa_hw_qp *qp)
{
	struct dpa_resp *r = &qp->resp;
	const uint8_t *rvh = r->tm.head + TMH;
	uint32_t pi = __atomic_load_n(own_pi(qp), __ATOMIC_RELAXED),
		 at = sizeof(struct dpa_wqe_ctrl);
	uint32_t left = load_be32(rvh + 12);
	struct dpa_wqe_ctrl c = {.opcode = DPA_OP_RDMA_READ,
				 .nbb = SQ_ROUND - 1,
				 .index = pi,
				 .wr_id = r->wqe.wr_id,
				 .length = left};
	const struct dpa_wqe_raddr from = {.addr = load_be64(rvh), .rkey = load_be32(rvh + 8)};

	put_payload(qp, pi, at, &from, sizeof(from));
	at += (uint32_t)sizeof(from);
	for (uint32_t i = 0; i < r->wqe.nsge && left; i++, at += (uint32_t)sizeof(struct dpa_sge)) {
		struct dpa_sge g = r->wqe.sge[i];

		g.length = g.length < left ? g.length : left;
		left -= g.length;
		put_payload(qp, pi, at, &g, sizeof(g));
		c.nsge++;
	}
	put_payload(qp, pi, 0, &c, sizeof(c));
	pi += c.nbb;
	c = (struct dpa_wqe_ctrl){.opcode = DPA_OP_SEND,
				  .flags = DPA_WQE_INLINE | DPA_WQE_FENCE,
				  .nbb = 1,
				  .index = pi,
				  .length = 2 * TMH};
	r->tm.head[0] = OP_FIN;
	put_payload(qp, pi, 0, &c, sizeof(c));
	put_payload(qp, pi, sizeof(c), r->tm.head, 2 * TMH);
	__atomic_store_n(own_pi(qp), pi + 1, __ATOMIC_RELEASE);
	dpa_schedule(qp, 0);
}

void dpa_tag_sent(struct dpa_hw_qp *qp, const struct dpa_cqe *e)
{
	struct dpa_cqe done = *e;

	if (e->opcode != DPA_CQE_RDMA_READ)
		return;
	done.opcode = DPA_CQE_TM_RECV;
	done.wqe_index = 0;
	done.flags = e->status ? 0 : DPA_CQE_F_TM_DATA;
	dpa_qp_report(qp, qp->recv_cq, &done);
}

void dpa_tag_received(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint32_t len)
{
	static const uint8_t plain[] = {[DPA_TAG_PLAIN] = DPA_CQE_RECV,
					[DPA_TAG_WITHOUT] = DPA_CQE_TM_NO_TAG,
					[DPA_TAG_UNEXPECTED] = DPA_CQE_TM_RECV};
	struct dpa_resp *r = &qp->resp;
	enum dpa_tag_kind kind = r->tm.kind;
	bool whole = dpa_op_props(s->opcode) & DPA_OPP_START;

	r->tm.kind = DPA_TAG_NONE;
	switch (kind) {
	case DPA_TAG_EAGER:
		match_cqe(qp, DPA_CQE_OK, DPA_CQE_F_TM_DATA | (whole ? DPA_CQE_F_TM_MATCH : 0),
			  len - TMH);
		break;
	case DPA_TAG_RNDV:
		match_cqe(qp, DPA_CQE_OK, DPA_CQE_F_TM_MATCH, 0);
		fetch_tag_ops(qp);
		break;
	case DPA_TAG_RNDV_LONG:
		match_cqe(qp, DPA_CQE_TM_RNDV_INCOMPLETE, DPA_CQE_F_TM_MATCH, len);
		break;
	default:
		dpa_recv_cqe(qp, r->wqe.wr_id, plain[kind], DPA_CQE_OK, 0, len, s);
	}
}
