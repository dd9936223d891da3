/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The direct path, the requester's part: RDMA WRITE and READ that the initiator carries out itself.
 * What must hold is in link/direct.h; what is not as it must be is left to the packets.
 *
 * Where it is slower it is not taken: a list of small messages goes by the ring, which takes one in
 * a fraction of a system call's time. A small one goes this way if somebody waits for it: it is
 * alone, asks for a completion, and nothing that was reported before lies in the CQ.
 */
#include <errno.h>
#include "transport.h"
#include "link/direct.h"

#define ALWAYS	DPA_PULL_MIN	     /* from this size on the copy counts, not the call */
#define BYTES	(4 * DPA_PULL_CHUNK) /* of one call: a post does bounded work */
#define REST	64		     /* messages that go by packet after one that had to */
#define TRIES	4		     /* of one message */
#define NO_PEER 0xffu		     /* rests for good: until the QP is connected again */

static bool is_awaited(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint32_t pi)
{
	const struct dpa_hw_cq *cq = qp->send_cq;

	return (c->flags & DPA_WQE_SIGNALED || qp->sq_sig_all) && c->nbb == pi - qp->req.send_idx &&
	       __atomic_load_n(&cq->pi, __ATOMIC_RELAXED) ==
		       __atomic_load_n(cq->ci, __ATOMIC_RELAXED);
}

/* Nothing of a UC QP is outstanding when its peer has taken all that the lane held. */
static bool lane_is_empty(struct dpa_tx *tx)
{
	return __atomic_load_n(&tx->head, __ATOMIC_RELAXED) ==
	       atomic_load_explicit(&tx->shm->tail, memory_order_acquire);
}

static bool applies(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint32_t pi)
{
	const struct dpa_req *r = &qp->req;

	if (c->opcode != DPA_OP_RDMA_WRITE &&
	    (c->opcode != DPA_OP_RDMA_READ || qp->type != DPA_QP_RC))
		return false;
	if (r->una_idx != r->send_idx || r->send_off || r->send_psn != r->una_psn ||
	    r->max_psn != r->una_psn)
		return false;
	if (!c->length || c->length > DPA_PULL_CHUNK ||
	    (c->length < ALWAYS && !is_awaited(qp, c, pi)))
		return false;
	if (qp->state != DPA_QPS_RTS || r->fence_sq || qp->limited || qp->cqe_lost ||
	    dpa_lossy(qp) || atomic_load_explicit(&qp->hw->inspect, memory_order_relaxed))
		return false;
	return qp->type == DPA_QP_RC || lane_is_empty(qp->tx);
}

/* Where the bytes are or go here. */
static bool local_iov(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint8_t *copy,
		      struct iovec *iov, int *cnt)
{
	uint32_t idx = qp->req.send_idx;

	if (c->flags & DPA_WQE_INLINE) {
		*iov = (struct iovec){.iov_base = copy, .iov_len = c->length};
		*cnt = 1;
		return !dpa_gather(qp, idx, c, 0, c->length, copy);
	}
	return !dpa_wqe_iov(qp, idx, c, 0, c->length,
			    c->opcode == DPA_OP_RDMA_READ ? DPA_ACCESS_LOCAL_WRITE : 0, iov, cnt) &&
	       !qp->careful;
}

/* The grant that this QP needs, the PD and the permissions aside. */
static uint64_t who(const struct dpa_hw_qp *qp)
{
	const struct dpa_board *b = qp->hw->board;

	return (qp->type == DPA_QP_RC ? DPA_GRANT_RC : DPA_GRANT_UC) | (qp->qpn & DPA_QPN_INDEX) |
	       (uint64_t)b->slot << DPA_GRANT_SLOT_SHIFT |
	       (uint64_t)(b->gen & 0xffff) << DPA_GRANT_GEN_SHIFT;
}

/* What the responder checks (dpa_resp_check(), dpa_mr_check_remote()), in the peer's tables. */
/* IBA 9.7.4/key, 9.7.4/key-access, 9.7.4/permission, 9.6/sender */
static bool is_allowed(const struct dpa_hw_qp *qp, const struct dpa_wqe_raddr *at, uint32_t len,
		       bool write, struct dpa_guard *g, uint64_t *addr)
{
	const struct dpa_export *e = qp->peer->export;
	const struct dpa_mr *mr = &e->mr[at->rkey >> DPA_KEY_TAG_BITS];
	uint32_t access = write ? DPA_ACCESS_REMOTE_WRITE : DPA_ACCESS_REMOTE_READ;
	uint64_t off;

	g->grant = &e->qp_grant[qp->dest_qpn & DPA_QPN_INDEX];
	g->gen = &e->mr_gen[at->rkey >> DPA_KEY_TAG_BITS];
	g->grant_was = atomic_load_explicit(g->grant, memory_order_seq_cst);
	if ((g->grant_was & DPA_GRANT_WHO) != who(qp) ||
	    !(g->grant_was & (write ? DPA_GRANT_WRITE : DPA_GRANT_READ)))
		return false;
	g->gen_was = atomic_load_explicit(g->gen, memory_order_seq_cst);
	if (!at->rkey || atomic_load_explicit(&mr->key, memory_order_seq_cst) != at->rkey ||
	    mr->pdn != (g->grant_was >> DPA_GRANT_PD_SHIFT & 0xffff))
		return false;
	if (mr->kind == DPA_KIND_NULL || (mr->kind == DPA_KIND_MR && mr->qpn) ||
	    (mr->kind == DPA_KIND_MW2 && mr->qpn != qp->dest_qpn))
		return false;
	off = at->addr - mr->iova;
	if (at->addr < mr->iova || off > mr->length || len > mr->length - off ||
	    (mr->access & access) != access)
		return false;
	*addr = mr->addr + off;
	return true;
}

/* One try: ESTALE, it may be otherwise at once (a thread that lost its processor looks again). */
static int try_once(struct dpa_hw_qp *qp, const struct dpa_wqe_raddr *at, uint32_t len, bool write,
		    const struct iovec *iov, int cnt)
{
	struct dpa_peer *p = qp->peer;
	struct dpa_hazard *h;
	struct dpa_guard g;
	int ret = EFAULT;
	uint64_t addr;

	if (!dpa_direct_alive(p, &g.alive))
		return EFAULT;
	h = dpa_hazard_enter(qp->hw, p);
	if (!h)
		return EFAULT;
	if (is_allowed(qp, at, len, write, &g, &addr))
		ret = dpa_guard_copy(&g, write, p->pid, iov, cnt, addr, len);
	dpa_hazard_leave(h);
	return ret;
}

/* 0, or why not: ESTALE and EFAULT for anything that may be otherwise next time. */
static int carry_out(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, const struct iovec *iov,
		     int cnt)
{
	const struct dpa_wqe_raddr at =
		*(const struct dpa_wqe_raddr *)dpa_wqe_at(qp, qp->req.send_idx, dpa_wqe_body(qp));
	int ret = ESTALE;

	for (int i = 0; i < TRIES && ret == ESTALE; i++)
		ret = try_once(qp, &at, c->length, c->opcode == DPA_OP_RDMA_WRITE, iov, cnt);
	return ret;
}

/* The WQE at una is done, and took no PSN. */
static void done(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	struct dpa_req *r = &qp->req;
	uint32_t psn = r->una_psn, ssn = r->una_ssn;

	dpa_count(qp->hw, DPA_CNT_direct_ops, 1);
	dpa_count(qp->hw, DPA_CNT_direct_bytes, c->length);
	r->send_idx += c->nbb;
	dpa_complete(qp, c, DPA_CQE_OK, 0);
	r->una_psn = psn;
	r->una_ssn = ssn;
}

static bool one(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	uint8_t copy[DPA_MAX_INLINE];
	struct iovec iov[DPA_PULL_IOV];
	uint64_t first;
	int cnt, err;

	if (dpa_check_wqe(qp, qp->req.send_idx, c, &first) || !local_iov(qp, c, copy, iov, &cnt))
		return false;
	err = carry_out(qp, c, iov, cnt);
	if (!err) {
		done(qp, c);
		return true;
	}
	/* the kernel will not have it: a filter, another user namespace, no such process */
	if (err != ESTALE && err != EFAULT)
		qp->direct_rest = NO_PEER;
	return false;
}

/* Under the QP's lock, its peer is UP. */
int dpa_direct_run(struct dpa_hw_qp *qp, uint32_t pi)
{
	uint32_t left = BYTES;
	int n = 0;

	if (!qp->peer->can_pull)
		return 0;
	while (qp->req.send_idx != pi) {
		const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, qp->req.send_idx);
		uint32_t len = c->length;

		if (dpa_unlikely(qp->direct_rest)) {
			qp->direct_rest -= qp->direct_rest != NO_PEER;
			break;
		}
		if (!applies(qp, c, pi))
			break;
		if (len > left)
			return DPA_DIRECT_MORE;
		if (!one(qp, c)) {
			if (!qp->direct_rest)
				qp->direct_rest = REST;
			break;
		}
		left -= len;
		n++;
	}
	return n;
}
