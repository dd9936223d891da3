/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * direct.c - the requester's part of the direct path: RDMA WRITE, READ and, in mapped memory,
 * atomics that the initiator carries out itself. direct/direct.h has the conditions. An operation
 * that does not meet them goes by packets.
 *
 * The path is not used where it is slower. Small messages in a list, to memory that is not mapped,
 * go by the ring, which takes one in a fraction of a system call's time. A small message uses this
 * path if a thread waits for it: it is alone, requests a completion, and the CQ holds no earlier
 * completion. near.c handles further operations on the same region if that is mapped.
 *
 * Nothing may be outstanding. A large message waits for this if large messages that went by packet
 * are outstanding; a message to mapped memory waits if RDMA WRITEs and READs are. Otherwise a
 * program that keeps 128 of them outstanding, like perftest, would never use this path.
 *
 * A long message goes in segments (qp->part.off); one of more than BYTES in several calls. If it
 * cannot continue this way all of it goes by packet, including the part that was moved already.
 */
#include <errno.h>
#include "ctx/schedule.h"
#include "util/clock.h"
#include "ctx/complete.h"
#include "ctx/cq.h"
#include "ctx/mr.h"
#include "ctx/copy.h"
#include "link/kick.h"
#include "transport.h"
#include "direct/direct.h"

#define ALWAYS	 DPA_DIRECT_ALWAYS
#define BYTES	 (4 * DPA_PULL_CHUNK) /* in one call: a post does bounded work */
#define TOGETHER DPA_DIRECT_TOGETHER
#define REST	 64	     /* messages that go by packet after one that had to; doubles */
#define MORE	 8	     /* maximum of doublings while all direct tries fail */
#define LATER_NS 50000000ull /* longest wait for outstanding packets */
#define TRIES	 4	     /* for one message */
#define NO_PEER	 0xffffu     /* value of direct_rest: until the QP is connected again */

static uint32_t length_of(const struct dpa_wqe_ctrl *c)
{
	return dpa_op_is_atomic(c->opcode) ? 8 : c->length;
}

static bool is_awaited(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint32_t pi)
{
	const struct dpa_hw_cq *cq = qp->send_cq;

	return (c->flags & DPA_WQE_SIGNALED || qp->sq_sig_all) && c->nbb == pi - qp->req.send_idx &&
	       __atomic_load_n(&cq->pi, __ATOMIC_RELAXED) ==
		       __atomic_load_n(cq->ci, __ATOMIC_RELAXED);
}

/* True if the bytes cost more than the call. */
static bool is_large(const struct dpa_wqe_ctrl *c)
{
	return (c->opcode == DPA_OP_RDMA_WRITE || c->opcode == DPA_OP_RDMA_READ) &&
	       c->length >= ALWAYS;
}

/* True if the memory seems to be mappable. A guess: nothing is read under a hazard pointer here. */
static bool seems_mapped(const struct dpa_hw_qp *qp)
{
	const struct dpa_export *e = qp->peer->export;
	const struct dpa_wqe_raddr *at = dpa_wqe_at(qp, qp->req.send_idx, dpa_wqe_body(qp));
	uint32_t i = at->rkey >> DPA_KEY_TAG_BITS;

	if (e->mr[i].kind != DPA_KIND_MR)
		i = __atomic_load_n(&e->mr[i].parent, __ATOMIC_RELAXED) - 1;
	return i < DPA_MAX_MR && atomic_load_explicit(&e->mr_area[i], memory_order_relaxed);
}

/*
 * True if the outstanding operations went by packet, but could use this path. Checks the first ones
 * only.
 */
static bool are_one_sided(const struct dpa_hw_qp *qp)
{
	const struct dpa_req *r = &qp->req;
	uint32_t idx = r->una_idx;

	for (uint32_t i = 0; i < TOGETHER && idx != r->send_idx; i++) {
		const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, idx);

		if (!c->length || (c->opcode != DPA_OP_RDMA_WRITE && c->opcode != DPA_OP_RDMA_READ))
			return false;
		idx += c->nbb;
	}
	return true;
}

/*
 * True if the WQE could use this path once nothing is outstanding, the outstanding ones are of its
 * kind, and none is being sent again.
 */
static bool is_worth_waiting(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	const struct dpa_req *r = &qp->req;

	if (r->una_idx == r->send_idx || r->send_off || r->send_psn != r->max_psn)
		return false;
	if (is_large(c))
		return is_large(dpa_wqe_ctrl(qp, r->una_idx));
	return (c->opcode == DPA_OP_RDMA_WRITE || c->opcode == DPA_OP_RDMA_READ) &&
	       seems_mapped(qp) && are_one_sided(qp);
}

enum verdict { BY_PACKET, LATER, DIRECT };

/* LATER: a response to an outstanding packet will call this again. */
static enum verdict direct_applies(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint32_t pi)
{
	const struct dpa_req *r = &qp->req;
	const bool wait = dpa_is_outstanding(r);

	if (wait && !is_worth_waiting(qp, c))
		return BY_PACKET;
	if (dpa_op_is_atomic(c->opcode)
		    ? qp->type != DPA_QP_RC
		    : c->opcode != DPA_OP_RDMA_WRITE &&
			      (c->opcode != DPA_OP_RDMA_READ || qp->type != DPA_QP_RC))
		return BY_PACKET;
	if (!c->length || (c->length < ALWAYS && !dpa_op_is_atomic(c->opcode) &&
			   !seems_mapped(qp) && !is_awaited(qp, c, pi)))
		return BY_PACKET;
	/* in SQD a message that has begun is finished */
	if (((qp->slow.not_rts || qp->slow.fence_sq) && !qp->part.off) || qp->slow.limited ||
	    qp->slow.cqe_lost || qp->slow.inspected || dpa_lossy(qp))
		return BY_PACKET;
	if (wait)
		return LATER;
	if (!dpa_in_step(qp))
		return BY_PACKET;
	return qp->type == DPA_QP_RC || dpa_lane_is_empty(qp->tx) ? DIRECT : BY_PACKET;
}

/* Returns the address of inline data if it is contiguous; else NULL. */
static void *inline_data(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	uint32_t idx = qp->req.send_idx, at = dpa_wqe_sge_off(qp, c->opcode);

	if (at + c->length > (uint32_t)c->nbb * DPA_WQEBB ||
	    (idx & qp->sq_mask) + c->nbb > qp->sq_mask + 1)
		return NULL;
	return dpa_wqe_at(qp, idx, at);
}

/*
 * Fills the local segments for n bytes from `off` on. `only`: address of the only SGE of a WRITE.
 */
static bool local_iov(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint32_t off, uint32_t n,
		      uint64_t only, uint8_t *copy, struct iovec *iov, int *cnt)
{
	uint32_t idx = qp->req.send_idx;
	const struct dpa_sge *g;

	*cnt = 1;
	iov->iov_len = n;
	if (c->flags & DPA_WQE_INLINE) {
		iov->iov_base = inline_data(qp, c);
		if (dpa_likely(iov->iov_base))
			return true;
		iov->iov_base = copy;
		return !dpa_gather(qp, idx, c, 0, n, copy);
	}
	if (c->nsge == 1 && !dpa_op_is_atomic(c->opcode)) {
		g = dpa_wqe_at(qp, idx, dpa_wqe_sge_off(qp, c->opcode));
		/* errors in it are reported after the responder's checks: send it by packet */
		if (c->opcode == DPA_OP_RDMA_READ &&
		    dpa_mr_check(qp->hw, g->lkey, dpa_answer_pdn(qp), g->addr, g->length,
				 DPA_ACCESS_LOCAL_WRITE, &only))
			return false;
		iov->iov_base = (void *)(uintptr_t)(only + off);
		return !dpa_mr_careful(qp->hw, g->lkey);
	}
	return !dpa_wqe_iov(qp, idx, c, off, n,
			    c->opcode == DPA_OP_RDMA_WRITE ? 0 : DPA_ACCESS_LOCAL_WRITE, iov,
			    cnt) &&
	       !qp->careful;
}

/* The access capability that this QP needs, without PD and permissions. */
static uint64_t initiator_word(const struct dpa_hw_qp *qp)
{
	const struct dpa_board *b = qp->hw->board;

	return (qp->type == DPA_QP_RC ? DPA_GRANT_RC : DPA_GRANT_UC) | (qp->qpn & DPA_QPN_INDEX) |
	       dpa_grant_proc(b->slot, b->gen);
}

/* A direct operation and its local segments. */
struct op {
	struct dpa_wqe_raddr at;
	uint8_t opcode;
	uint32_t len, off, total; /* bytes from `off` on, of `total` bytes */
	const struct iovec *iov;
	int cnt;
	uint64_t swap_add, compare, old; /* for atomics */
	bool mapped;			 /* it was carried out in mapped memory */
	bool no_map;			 /* do not map memory for it */
};

/*
 * True if this is the connection with which this QP is in step, and the length fits its path MTU.
 */
/* IBA 9.7.4 (mtu) */
static bool conn_takes(const struct dpa_hw_qp *qp, uint64_t conn, uint32_t len)
{
	const uint32_t theirs = dpa_conn_mtu(conn);

	if (qp->type == DPA_QP_RC && (conn & ~DPA_CONN_FRESH) != qp->step.known)
		return false;
	return theirs == qp->mtu || (len <= theirs && len <= qp->mtu);
}

/* The responder's checks (dpa_resp_check(), dpa_mr_check_remote()) on the peer's tables. */
/* IBA 9.7.4 (key), 9.7.4 (key-access), 9.7.4 (permission), 9.6 (sender) */
static bool is_allowed(const struct dpa_hw_qp *qp, const struct op *o, struct dpa_guard *g,
		       uint64_t *addr, uint32_t *entry)
{
	const struct dpa_export *e = qp->peer->export;
	const uint32_t rkey = o->at.rkey, access = dpa_direct_access(o->opcode);
	const struct dpa_mr *mr = &e->mr[rkey >> DPA_KEY_TAG_BITS];
	uint64_t off;

	g->conn = &e->qp_conn[qp->dest_qpn & DPA_QPN_INDEX];
	g->conn_was = atomic_load_explicit(g->conn, memory_order_seq_cst);
	if (!conn_takes(qp, g->conn_was, o->total))
		return false;
	g->grant = &e->qp_grant[qp->dest_qpn & DPA_QPN_INDEX];
	g->gen = &e->mr_gen[rkey >> DPA_KEY_TAG_BITS];
	g->grant_was = atomic_load_explicit(g->grant, memory_order_seq_cst);
	if ((g->grant_was & DPA_GRANT_WHO) != initiator_word(qp) ||
	    !(g->grant_was & dpa_direct_grant(o->opcode)))
		return false;
	g->gen_was = atomic_load_explicit(g->gen, memory_order_seq_cst);
	if (!rkey || atomic_load_explicit(&mr->key, memory_order_seq_cst) != rkey ||
	    mr->pdn != (g->grant_was >> DPA_GRANT_PD_SHIFT & 0xffff))
		return false;
	if (mr->kind >= DPA_KIND_NULL || (mr->kind == DPA_KIND_MR && mr->qpn) ||
	    (mr->kind == DPA_KIND_MW2 && mr->qpn != qp->dest_qpn))
		return false;
	if (!dpa_mr_holds(mr->iova, mr->length, o->at.addr, o->total, &off) ||
	    (__atomic_load_n(&mr->access, __ATOMIC_RELAXED) & access) != access)
		return false;
	*addr = mr->addr + off + o->off;
	/* for a window: the entry of its region */
	*entry = mr->kind == DPA_KIND_MR ? rkey >> DPA_KEY_TAG_BITS
					 : __atomic_load_n(&mr->parent, __ATOMIC_RELAXED) - 1;
	return *entry < DPA_MAX_MR;
}

/* In memory that is mapped here: copies in the responder's order, from front to end. */
static int in_mapped(const struct dpa_guard *g, struct op *o, uint8_t *at)
{
	bool write = o->opcode == DPA_OP_RDMA_WRITE;
	int ret = 0;

	if (dpa_op_is_atomic(o->opcode))
		return dpa_guard_atomic(g, (uint64_t *)(void *)at,
					o->opcode == DPA_OP_ATOMIC_CS ? &o->compare : NULL,
					o->swap_add, &o->old);
	for (int i = 0; i < o->cnt && !ret; i++) {
		ret = dpa_guard_move(g, write, at, o->iov[i].iov_base, o->iov[i].iov_len);
		at += o->iov[i].iov_len;
	}
	return ret;
}

static int by_kernel(pid_t pid, const struct op *o, const struct dpa_guard *g, uint64_t addr)
{
	struct iovec apart[DPA_PULL_IOV + 1];
	bool write = o->opcode == DPA_OP_RDMA_WRITE;

	if (!write || o->off + o->len < o->total)
		return dpa_guard_copy(g, write, pid, o->iov, o->cnt, addr, o->len);
	return dpa_guard_copy(g, true, pid, apart,
			      dpa_last_apart(o->iov, o->cnt, addr + o->len, apart), addr, o->len);
}

/* Context: a hazard pointer is held. */
static int at_peer(struct dpa_hw_qp *qp, struct op *o, struct dpa_guard *g, uint32_t *unmapped)
{
	uint64_t addr;
	uint32_t entry;
	uint8_t *at;

	if (!is_allowed(qp, o, g, &addr, &entry))
		return EFAULT;
	at = dpa_area_at(qp->peer, entry, addr, o->len, unmapped);
	o->mapped = at && !(dpa_op_is_atomic(o->opcode) && addr & 7);
	if (o->mapped) {
		dpa_near_remember(qp, o->at.rkey, g, entry);
		return in_mapped(g, o, at);
	}
	if (dpa_op_is_atomic(o->opcode) || !qp->peer->can_pull || (*unmapped && !o->no_map))
		return EFAULT;
	return by_kernel(qp->peer->pid, o, g, addr);
}

/* One try. ESTALE: the next try may succeed (a thread that lost its processor checks again). */
static int try_once(struct dpa_hw_qp *qp, struct op *o, bool first)
{
	struct dpa_peer *p = qp->peer;
	uint32_t unmapped = 0;
	struct dpa_hazard *h;
	struct dpa_guard g;
	int ret;

	/* The sequence reads the clock; it fails if the time in g.alive is too old. */
	if (dpa_likely(first))
		g.alive = atomic_load_explicit(&p->seen_alive, memory_order_relaxed);
	else if (!dpa_direct_alive(p, &g.alive))
		return EFAULT;
	h = dpa_hazard_enter(qp->hw, p);
	if (!h)
		return EFAULT;
	ret = at_peer(qp, o, &g, &unmapped);
	if (dpa_likely(!ret))
		dpa_direct_count(qp->hw, 1, o->mapped, o->len);
	dpa_hazard_leave(h);
	if (dpa_likely(!unmapped) || o->no_map)
		return ret;
	o->no_map = !dpa_area_map(p, unmapped);
	return ESTALE;
}

static void scatter_old(const struct op *o)
{
	const uint8_t *from = (const uint8_t *)&o->old;

	for (int i = 0; i < o->cnt; i++) {
		memcpy(o->iov[i].iov_base, from, o->iov[i].iov_len);
		from += o->iov[i].iov_len;
	}
}

/* Returns 0 or an errno: ESTALE or EFAULT if a later operation may succeed. */
static int carry_out_op(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, struct op *o)
{
	const uint32_t idx = qp->req.send_idx, body = dpa_wqe_body(qp);
	int ret = ESTALE;

	o->at = *(const struct dpa_wqe_raddr *)dpa_wqe_at(qp, idx, body);
	o->opcode = c->opcode;
	if (dpa_op_is_atomic(c->opcode)) {
		const struct dpa_wqe_atomic *a = dpa_wqe_at(qp, idx, body + sizeof(o->at));

		o->swap_add = a->swap_add;
		o->compare = a->compare;
		if (o->at.addr & 7)
			return EFAULT;
	}
	for (int i = 0; i < TRIES && ret == ESTALE; i++)
		ret = try_once(qp, o, i == 0);
	if (!ret && dpa_op_is_atomic(c->opcode))
		scatter_old(o);
	return ret;
}

/* The WQE at send_idx, which is the oldest, is complete. It used no PSN. */
static void direct_done(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	struct dpa_cqe e;

	dpa_wqe_cqe(qp, c, c->opcode, length_of(c), DPA_CQE_OK, 0, &e);
	qp->req.send_idx += c->nbb;
	dpa_wqe_done(qp, c->nbb, 0, dpa_wqe_reports(qp, c) ? &e : NULL);
}

/* Carries out the next n bytes of the WQE at send_idx. False: not possible this way. */
static bool direct_one(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint32_t n)
{
	uint8_t copy[DPA_MAX_INLINE];
	struct iovec iov[DPA_PULL_IOV];
	struct op o = {.iov = iov, .len = n, .off = qp->part.off, .total = length_of(c)};
	uint64_t only = 0;
	int err = EFAULT;

	if (!dpa_check_wqe(qp, qp->req.send_idx, c, &only) &&
	    local_iov(qp, c, o.off, n, only, copy, iov, &o.cnt))
		err = carry_out_op(qp, c, &o);
	if (!err) {
		qp->skip.fails = 0;
		qp->part.off += n;
		if (qp->part.off < o.total)
			return true;
		qp->part.off = 0;
		direct_done(qp, c);
		return true;
	}
	/* the kernel refuses: a filter, another user namespace, or no such process */
	if (err != ESTALE && err != EFAULT)
		qp->skip.messages = NO_PEER;
	return false;
}

/* True for operations that skip this path for a while. */
static bool direct_rests(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	if (dpa_op_is_atomic(c->opcode) && qp->skip.atomics) {
		qp->skip.atomics--;
		return true;
	}
	if (dpa_likely(!qp->skip.messages))
		return false;
	qp->skip.messages -= qp->skip.messages != NO_PEER;
	return true;
}

/* Atomics need mapped memory: their failure is no reason to skip others. */
static void rest_direct(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	if (dpa_op_is_atomic(c->opcode))
		qp->skip.atomics = REST;
	else if (!qp->skip.messages) {
		qp->skip.messages = (uint16_t)(REST << qp->skip.fails);
		qp->skip.fails += qp->skip.fails < MORE;
	}
}

/*
 * True if the WQE may wait. A packet that was lost silently is only detected by the next one: false
 * lets one be sent.
 */
static bool may_wait(struct dpa_hw_qp *qp)
{
	if (!qp->part.until) {
		qp->part.until = dpa_now_ns() + LATER_NS;
		dpa_schedule(qp, qp->part.until);
		return true;
	}
	if (dpa_now_ns() < qp->part.until)
		return true;
	qp->part.until = 0;
	return false;
}

/* The whole WQE goes by packet. It has begun, which matters in SQD. */
static void begins_again(struct dpa_hw_qp *qp)
{
	qp->part.begun |= qp->part.off != 0;
	qp->part.off = 0;
}

/* Context: the QP's lock; the peer is UP. */
int dpa_direct_run(struct dpa_hw_qp *qp, uint32_t pi)
{
	uint32_t left = BYTES, together = 0;
	int n = 0;

	while (qp->req.send_idx != pi) {
		const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, qp->req.send_idx);
		uint32_t len = length_of(c) - qp->part.off, idx = qp->req.send_idx;
		uint32_t near = (uint32_t)dpa_near_run(qp, pi, &left);

		if (near) {
			n += (int)near;
			together += near;
			if (together > TOGETHER)
				return DPA_DIRECT_MORE;
			continue;
		}
		len = len < DPA_PULL_CHUNK ? len : DPA_PULL_CHUNK;
		if (dpa_unlikely(direct_rests(qp, c)))
			break;
		switch (direct_applies(qp, c, pi)) {
		case BY_PACKET:
			qp->part.until = 0;
			begins_again(qp);
			return n;
		case LATER:
			if (may_wait(qp))
				return DPA_DIRECT_LATER;
			rest_direct(qp, c);
			return n;
		case DIRECT:
			qp->part.until = 0;
			break;
		}
		if (len > left || ++together > TOGETHER)
			return DPA_DIRECT_MORE;
		if (!direct_one(qp, c, len)) {
			begins_again(qp);
			rest_direct(qp, c);
			break;
		}
		left -= len;
		n += qp->req.send_idx != idx;
	}
	return n;
}
