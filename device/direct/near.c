/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * near.c - fast path of the most common direct operation: an RDMA WRITE or READ with one segment,
 * to the mapped region of the QP's last one.
 * Each step checks its assumptions and changes nothing if one is not met; then direct.c does the
 * work, which handles every case. An operation must change the same things here as there. One
 * hazard pointer covers consecutive operations, up to the first one that is reported: after its
 * completion the peer may withdraw memory.
 */
#include "ctx/complete.h"
#include "ctx/mr.h"
#include "ctx/qp.h"
#include "link/kick.h"
#include "ctx/wqe.h"
#include "direct/direct.h"

/* Carried out under one hazard pointer, not counted yet. */
struct batch {
	struct dpa_hazard *h; /* NULL: none */
	uint32_t ops;
	uint64_t bytes;
	uint32_t left; /* bytes of this call: an EU holds a QP's lock meanwhile */
};

/* True if no condition of the QP blocks this path and nothing of it is outstanding. */
static bool is_ready(const struct dpa_hw_qp *qp)
{
	const struct dpa_req *r = &qp->req;

	return dpa_likely(qp->near.rkey) && qp->direct && !qp->slow.word && !qp->part.off &&
	       !qp->skip.messages && dpa_link_is_plain(qp) && qp->near.peer_gen == qp->peer->gen &&
	       !dpa_is_outstanding(r) && (qp->type == DPA_QP_RC || dpa_lane_is_empty(qp->tx));
}

void dpa_near_remember(struct dpa_hw_qp *qp, uint32_t rkey, const struct dpa_guard *g,
		       uint32_t entry)
{
	const struct dpa_mr *mr = &qp->peer->export->mr[rkey >> DPA_KEY_TAG_BITS];
	/* Read once: a second read may not match `base`. */
	const uint64_t addr = __atomic_load_n(&mr->addr, __ATOMIC_RELAXED);
	struct dpa_near *k = &qp->near;
	uint32_t unmapped;

	k->iova = __atomic_load_n(&mr->iova, __ATOMIC_RELAXED);
	k->length = __atomic_load_n(&mr->length, __ATOMIC_RELAXED);
	k->access = __atomic_load_n(&mr->access, __ATOMIC_RELAXED);
	k->base = dpa_area_at(qp->peer, entry, addr, k->length, &unmapped);
	/* This path does not compare lengths with path MTUs, so both must have the same one. */
	k->rkey = k->base && dpa_conn_mtu(g->conn_was) == qp->mtu ? rkey : 0;
	k->peer_gen = qp->peer->gen;
	k->g = *g;
}

/* Returns the mapped address of the peer's bytes. NULL: not mapped, or not allowed. */
static uint8_t *remote_ptr(const struct dpa_near *k, const struct dpa_wqe_raddr *at, uint32_t len,
			   bool write)
{
	const uint64_t grant =
		write ? dpa_direct_grant(DPA_OP_RDMA_WRITE) : dpa_direct_grant(DPA_OP_RDMA_READ);
	const uint32_t access =
		write ? dpa_direct_access(DPA_OP_RDMA_WRITE) : dpa_direct_access(DPA_OP_RDMA_READ);
	uint64_t off;

	if (at->rkey != k->rkey || !dpa_mr_holds(k->iova, k->length, at->addr, len, &off) ||
	    !(k->access & access) || !(k->g.grant_was & grant))
		return NULL;
	return k->base + off;
}

/* Returns the local address. NULL: several segments, other memory, or not allowed. */
static void *local_ptr(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c,
		       const struct dpa_wqe_raddr *at, uint32_t len, bool write)
{
	const struct dpa_sge *g = (const struct dpa_sge *)(at + 1);

	if (c->flags & DPA_WQE_INLINE)
		return write && len <= DPA_WQEBB - sizeof(*c) - sizeof(*at)
			       ? (void *)(uintptr_t)(at + 1)
			       : NULL;
	if (c->nsge != 1 || g->length != len)
		return NULL;
	return dpa_sge_plain(qp->hw, g, len, write ? qp->pdn : dpa_answer_pdn(qp),
			     write ? 0 : DPA_ACCESS_LOCAL_WRITE);
}

static void end_batch(struct dpa_hw_qp *qp, struct batch *b)
{
	if (b->ops)
		dpa_direct_count(qp->hw, b->ops, b->ops, b->bytes);
	if (b->h)
		dpa_hazard_leave(b->h);
	*b = (struct batch){.left = b->left};
}

/* Carries out the WQE at send_idx. False: direct.c must handle it. */
static bool near_one(struct dpa_hw_qp *qp, struct batch *b)
{
	const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, qp->req.send_idx);
	const struct dpa_wqe_raddr *at = (const struct dpa_wqe_raddr *)(c + 1);
	const bool write = c->opcode == DPA_OP_RDMA_WRITE;
	const uint32_t len = c->length;
	struct dpa_cqe e;
	uint8_t *there;
	void *here;
	bool report;

	if ((!write &&
	     (c->opcode != DPA_OP_RDMA_READ || qp->type != DPA_QP_RC || !qp->attr.max_rd_atomic)) ||
	    c->nbb != 1 || c->index != qp->req.send_idx || len - 1 >= b->left)
		return false;
	there = remote_ptr(&qp->near, at, len, write);
	here = there ? local_ptr(qp, c, at, len, write) : NULL;
	if (!here)
		return false;
	if (!b->h) {
		b->h = dpa_hazard_enter(qp->hw, qp->peer);
		if (dpa_unlikely(!b->h))
			return false;
	}
	if (dpa_unlikely(dpa_guard_move(&qp->near.g, write, there, here, len))) {
		qp->near.rkey = 0; /* a condition has changed */
		return false;
	}
	b->ops++;
	b->bytes += len;
	qp->skip.fails = 0;
	qp->part.until = 0;
	report = dpa_wqe_reports(qp, c);
	if (report)
		dpa_wqe_cqe(qp, c, write ? DPA_OP_RDMA_WRITE : DPA_OP_RDMA_READ, len, DPA_CQE_OK, 0,
			    &e);
	/* a thread that withdraws memory must not wait for many long ones */
	if (report || len >= DPA_DIRECT_ALWAYS)
		end_batch(qp, b);
	b->left -= len;
	qp->req.send_idx++;
	dpa_wqe_done(qp, 1, 0, report ? &e : NULL);
	return true;
}

int dpa_near_run(struct dpa_hw_qp *qp, uint32_t pi, uint32_t *left)
{
	struct batch b = {.left = *left};
	int n = 0;

	if (!is_ready(qp))
		return 0;
	while (n < DPA_DIRECT_TOGETHER && qp->req.send_idx != pi && !qp->slow.word &&
	       near_one(qp, &b))
		n++;
	end_batch(qp, &b);
	*left = b.left;
	return n;
}

_Static_assert(sizeof(struct dpa_wqe_ctrl) + sizeof(struct dpa_wqe_raddr) +
			       sizeof(struct dpa_sge) <=
		       DPA_WQEBB,
	       "one block");
