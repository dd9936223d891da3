/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pull.c - large messages over shared memory (rendezvous read): the receiver reads them from the
 * sender's memory (process_vm_readv). A sender that polls copies segments of them meanwhile
 * (process_vm_writev), so that two cores copy (cooperative copy):
 *
 *   receiver, under the ring's job_lock             sender, under its QP's lock
 *   (1) turn = serial|0, fence, description,        (a) hazard = receiver, fence
 *       open = serial                               (b) reads open, description
 *   (2) summary bit: a polling sender checks        (c) takes a segment: turn, by CAS
 *   (3) takes segments as the sender does, copies   (d) open unchanged: copies
 *   (4) none is left: open = 0, fence               (e) done[segment] = serial
 *   (5) waits for those that it did not take        (f) hazard = 0
 *
 * (d) is one restartable sequence, as on the direct path (direct/direct.h): a thread that was
 * interrupted before its system call checks `open` again. For a segment, (5) ends with (e), or when
 * the sender has no hazard pointer any more that may do harm. In the latter case the receiver reads
 * that segment, too, and finds its errors itself. A sender that reads the description of a newer
 * job between (b) and (c) loses its CAS, because the description was written after `turn`.
 *
 * Neither side trusts the other. A sender that reports a segment that it did not copy harms its own
 * message. A sender that makes the receiver wait does so once. A receiver that requests something
 * else gets bytes of another message that is on its way to it, 1 MiB at most for each request.
 */
#include <errno.h>
#include "ctx/qp.h"
#include "ctx/copy.h"
#include "link/kick.h"
#include "payload/payload.h"
#include "direct/direct.h"

/*
 * A shorter message arrives before a second core helps: 128 KiB take 8.4 us alone, 10.8 us
 * together.
 */
#define TOGETHER_MIN (256u * 1024)
#define PIECE_MIN    (32u * 1024) /* a system call takes as long as some KiB of copying */
#define COPY_TRIES   8
#define LOOK	     64 /* rounds of (5) between two checks of the hazard pointers, */
/* and ns between two checks whether their process lives and is not stopped */
#define LOOK_NS	     1000000ull
_Static_assert(DPA_PULL_CHUNK / DPA_JOB_PIECES >= PIECE_MIN, "pieces");

/* ------------------------------------------------------------------- both */

static uint32_t num_pieces(uint32_t len, uint32_t piece)
{
	return len / piece + !!(len % piece);
}

static uint32_t piece_bytes(uint32_t len, uint32_t piece, uint32_t k)
{
	return len - k * piece < piece ? len - k * piece : piece;
}

/* Takes the next free segment of this job; -1: there is none. */
static int take_job_piece(struct dpa_job *j, uint32_t serial, uint32_t n)
{
	uint64_t t = atomic_load_explicit(&j->turn, memory_order_relaxed);

	do {
		if (t >> 32 != serial || (uint32_t)t >= n)
			return -1;
	} while (!atomic_compare_exchange_weak_explicit(&j->turn, &t, t + 1, memory_order_seq_cst,
							memory_order_relaxed));
	return (int)(uint32_t)t;
}

/* ------------------------------------------------------------- the receiver */

/* Pulled data counts only if the sender could still give it at the end of the copy. */
static bool is_still_valid(struct dpa_peer *peer, const struct dpa_slot *s,
			   const struct dpa_pull *p)
{
	const uint32_t i = p->rkey >> DPA_KEY_TAG_BITS;

	dpa_full_fence();
	if (atomic_load_explicit(&peer->export->qp_epoch[s->src], memory_order_acquire) != p->epoch)
		return false;
	/* The rights may have changed under the same key. */
	if (p->rkey &&
	    (atomic_load_explicit(&peer->export->mr[i].key, memory_order_acquire) != p->rkey ||
	     atomic_load_explicit(&peer->export->mr_gen[i], memory_order_acquire) != p->gen))
		return false;
	return peer->slot == peer->hw->board->slot || dpa_was_alive(peer);
}

/* A message and its destination: one segment of memory on each side. */
struct fetch {
	struct dpa_peer *peer;
	struct dpa_rx *rx;
	struct dpa_job *job;
	uint32_t serial, len, piece, n;
	uint8_t *to, *from;
	uint64_t end; /* ns: end of all waits; 0: there was none */
	struct dpa_hazards_seen seen;
};

static int fetch_piece(const struct fetch *f, uint32_t k)
{
	const size_t at = (size_t)k * f->piece, n = piece_bytes(f->len, f->piece, k);
	const struct iovec to = {.iov_base = f->to + at, .iov_len = n};
	const struct iovec from = {.iov_base = f->from + at, .iov_len = n};

	return dpa_copy_pull(f->peer->pid, &to, 1, &from, 1, n);
}

/* (1), (2) */
static void open_job(struct fetch *f, const struct dpa_slot *s, const struct dpa_pull *p)
{
	struct dpa_rx *rx = f->rx;
	struct dpa_lane_shm *shm = atomic_load_explicit(&rx->shm, memory_order_relaxed);
	struct dpa_job *j = &shm->job;

	rx->job += rx->job == UINT32_MAX ? 2 : 1;
	f->job = j;
	f->serial = rx->job;
	atomic_store_explicit(&j->turn, (uint64_t)f->serial << 32, memory_order_relaxed);
	dpa_release_fence();
	atomic_store_explicit(&j->to, (uintptr_t)f->to, memory_order_relaxed);
	atomic_store_explicit(&j->len, f->len, memory_order_relaxed);
	atomic_store_explicit(&j->piece, f->piece, memory_order_relaxed);
	atomic_store_explicit(&j->src, s->src, memory_order_relaxed);
	atomic_store_explicit(&j->idx, p->idx, memory_order_relaxed);
	atomic_store_explicit(&j->off, p->off, memory_order_relaxed);
	atomic_store_explicit(&j->open, f->serial, memory_order_release);
	dpa_tx_look(&f->peer->tx[0]);
}

static bool is_piece_copied(const struct fetch *f, uint32_t k)
{
	return atomic_load_explicit(&f->job->done[k], memory_order_acquire) == f->serial;
}

/* (5) for one segment: true if the sender has copied it. */
static bool wait_piece(struct fetch *f, uint32_t k)
{
	uint64_t next = dpa_now_ns() + LOOK_NS, now;

	if (!f->end)
		f->end = next - LOOK_NS + DPA_HAZARD_WAIT_NS;
	for (uint32_t n = 0; !is_piece_copied(f, k);) {
		dpa_relax(&n);
		if (n % LOOK)
			continue;
		now = dpa_now_ns();
		if (!dpa_hazards_stay(&f->seen, now > next))
			return is_piece_copied(f, k); /* (e) comes before (f) */
		if (now > f->end) {
			dpa_log(f->peer->hw, DPA_LOG_WARN,
				"process %d still copies a part of its message: gave up waiting",
				(int)f->peer->pid);
			dpa_hazards_give_up(&f->seen);
			f->seen.n = 0; /* nor for the other segments */
			atomic_store_explicit(&f->rx->no_jobs, true, memory_order_relaxed);
			return false;
		}
		if (now > next)
			next = now + LOOK_NS;
	}
	return true;
}

/* 0 or an errno, as dpa_copy_pull(). */
static int fetch_together(struct fetch *f, const struct dpa_slot *s, const struct dpa_pull *p)
{
	uint32_t mine = 0, brought = 0;
	int k, err = 0, e;

	f->piece = ((f->len + DPA_JOB_PIECES - 1) / DPA_JOB_PIECES + 4095) & ~4095u;
	f->piece = f->piece < PIECE_MIN ? PIECE_MIN : f->piece;
	f->n = num_pieces(f->len, f->piece);
	open_job(f, s, p);
	while ((k = take_job_piece(f->job, f->serial, f->n)) >= 0) {
		if (mine >> k & 1)
			break; /* the peer changed `turn` illegally */
		mine |= 1u << k;
		e = fetch_piece(f, (uint32_t)k);
		err = err ? err : e;
	}
	atomic_store_explicit(&f->job->open, 0, memory_order_seq_cst);
	dpa_full_fence();
	dpa_hazards_see(f->peer, &f->seen);
	for (uint32_t i = 0; i < f->n; i++) {
		if (mine >> i & 1)
			continue;
		if (wait_piece(f, i)) {
			brought += piece_bytes(f->len, f->piece, i);
			continue;
		}
		e = fetch_piece(f, i);
		err = err ? err : e;
	}
	if (brought)
		dpa_count(f->peer->hw, DPA_CNT_pull_brought, brought);
	return err;
}

static int fetch_rendezvous(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			    const struct dpa_pull *p, const struct iovec *dst, int cnt)
{
	struct iovec src[DPA_PULL_IOV];
	struct dpa_rx *rx = &peer->rx[qp->lane];
	struct iovec rest;
	struct fetch f;
	int err;

	for (uint32_t i = 0; i < p->niov; i++) {
		src[i].iov_base = (void *)(uintptr_t)p->iov[i].addr;
		src[i].iov_len = p->iov[i].len;
	}
	/* one job for each ring, whichever ring the message came by */
	if (dst->iov_len < TOGETHER_MIN || cnt > 2 || p->niov != 1 || p->rkey ||
	    atomic_load_explicit(&rx->no_jobs, memory_order_relaxed) ||
	    !dpa_spin_try(&rx->job_lock))
		return dpa_copy_pull(peer->pid, dst, cnt, src, (int)p->niov, s->len);
	f.peer = peer;
	f.rx = rx;
	f.len = (uint32_t)dst->iov_len;
	f.to = dst->iov_base;
	f.from = src[0].iov_base;
	f.end = 0;
	err = fetch_together(&f, s, p);
	dpa_spin_unlock(&rx->job_lock);
	if (err || cnt == 1)
		return err;
	/*
	 * WRITE: the last aligned number comes after all other bytes, whichever side copied those
	 */
	rest.iov_base = f.from + f.len;
	rest.iov_len = dst[1].iov_len;
	return dpa_copy_pull(peer->pid, &dst[1], 1, &rest, 1, rest.iov_len);
}

uint32_t dpa_pull(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		  const uint8_t *payload, const struct iovec *iov, int cnt)
{
	struct dpa_pull p;
	uint64_t sum = 0;
	int err;

	if (!s->len) /* without payload iov is empty */
		return 0;
	memcpy(&p, payload, sizeof(p));
	if (!p.niov || p.niov > DPA_PULL_IOV || !peer->pid)
		return DPA_SYN_LOCAL_FAULT;
	for (uint32_t i = 0; i < p.niov; i++)
		sum += p.iov[i].len;
	if (sum != s->len)
		return DPA_SYN_LOCAL_FAULT;
	err = fetch_rendezvous(qp, peer, s, &p, iov, cnt);
	if (err == EPERM) { /* the kernel no longer permits it: use the ring from now on */
		for (uint32_t i = 0; i < DPA_LANES; i++)
			atomic_store_explicit(
				&atomic_load_explicit(&peer->rx[i].shm, memory_order_relaxed)->pull,
				0, memory_order_relaxed);
		return DPA_SYN_PULL_REFUSED;
	}
	/*
	 * A sender that gave up may have unmapped its memory: this is not a fault of the receiver.
	 */
	if (err == ESRCH || !is_still_valid(peer, s, &p))
		return DPA_SYN_PEER_DEAD;
	if (err)
		return DPA_SYN_LOCAL_FAULT;
	dpa_count(qp->hw, DPA_CNT_pull_bytes, s->len);
	return 0;
}

/* --------------------------------------------------------------- the sender */

/* The receiver's request: read once, then checked. */
struct wanted {
	uint64_t to;
	uint32_t serial, len, piece, idx, off;
};

/* Returns its WQE if that is outstanding and has these bytes; else NULL. */
static const struct dpa_wqe_ctrl *wqe_of(const struct dpa_hw_qp *qp, const struct wanted *w)
{
	const uint32_t kinds = 1u << DPA_OP_SEND | 1u << DPA_OP_SEND_IMM | 1u << DPA_OP_SEND_INV |
			       1u << DPA_OP_RDMA_WRITE | 1u << DPA_OP_RDMA_WRITE_IMM;
	const struct dpa_req *r = &qp->req;
	const struct dpa_wqe_ctrl *c;
	uint32_t idx = r->una_idx;

	if (!qp->qpn || qp->type != DPA_QP_RC ||
	    (qp->state != DPA_QPS_RTS && qp->state != DPA_QPS_SQD))
		return NULL;
	/* One by one, because data within a WQE must not be taken for a WQE. */
	for (; idx != w->idx; idx += c->nbb) {
		c = dpa_wqe_ctrl(qp, idx);
		if (idx == r->send_idx || !c->nbb || c->nbb > r->send_idx - idx)
			return NULL;
	}
	if (idx == r->send_idx && !r->send_off)
		return NULL;
	c = dpa_wqe_ctrl(qp, idx);
	if (c->index != w->idx || c->opcode > 31 || !(kinds >> c->opcode & 1) ||
	    c->nsge > DPA_MAX_SGE || c->flags & DPA_WQE_INLINE)
		return NULL;
	return w->off <= c->length && w->len <= c->length - w->off ? c : NULL;
}

/*
 * (d). A thread that was interrupted for so long that the peer's pid may have been reused checks
 * this first. No other thread moves this segment until this one gives it up.
 */
static bool copy_piece(struct dpa_hw_qp *qp, struct dpa_job *j, uint32_t serial,
		       const struct iovec *iov, int cnt, uint64_t to, uint32_t n)
{
	static const _Atomic uint32_t never; /* for the guard's other words */
	static const _Atomic uint64_t none;
	struct dpa_guard g = {.grant = &j->open, .grant_was = serial, .gen = &never, .conn = &none};
	int err = ESTALE;

	for (int i = 0; i < COPY_TRIES && err == ESTALE; i++) {
		if (!dpa_direct_alive(qp->peer, &g.alive) ||
		    atomic_load_explicit(&j->open, memory_order_relaxed) != serial)
			return false;
		err = dpa_guard_copy(&g, true, qp->peer->pid, iov, cnt, to, n);
	}
	return !err;
}

/* (c) to (e), under a hazard pointer. False: no segment is left, or it cannot be copied. */
static bool copy_next_piece(struct dpa_hw_qp *qp, struct dpa_job *j, const struct wanted *w,
			    const struct dpa_wqe_ctrl *c)
{
	struct iovec iov[DPA_MAX_SGE];
	uint32_t at, n;
	uint64_t alive;
	int cnt, k;

	if (!dpa_direct_alive(qp->peer, &alive))
		return false; /* do not take a segment that cannot be copied */
	k = take_job_piece(j, w->serial, num_pieces(w->len, w->piece));
	if (k < 0)
		return false;
	at = (uint32_t)k * w->piece;
	n = piece_bytes(w->len, w->piece, (uint32_t)k);
	if (dpa_wqe_iov(qp, w->idx, c, w->off + at, n, 0, iov, &cnt) || qp->careful ||
	    !copy_piece(qp, j, w->serial, iov, cnt, w->to + at, n))
		return false;
	atomic_store_explicit(&j->done[k], w->serial, memory_order_release);
	return true;
}

static int copy_wanted(struct dpa_hw_qp *qp, struct dpa_job *j, uint32_t serial)
{
	const struct dpa_wqe_ctrl *c;
	struct wanted w = {.serial = serial};
	bool more = true;
	int n = 0;

	for (uint32_t i = 0; more && i < DPA_JOB_PIECES; i++) {
		struct dpa_hazard *h = dpa_hazard_enter(qp->hw, qp->peer);

		if (!h)
			break;
		w.to = atomic_load_explicit(&j->to, memory_order_relaxed);
		w.len = atomic_load_explicit(&j->len, memory_order_relaxed);
		w.piece = atomic_load_explicit(&j->piece, memory_order_relaxed);
		w.idx = atomic_load_explicit(&j->idx, memory_order_relaxed);
		w.off = atomic_load_explicit(&j->off, memory_order_relaxed);
		dpa_acquire_fence();
		c = w.len <= DPA_PULL_CHUNK && w.piece >= PIECE_MIN &&
				    num_pieces(w.len, w.piece) <= DPA_JOB_PIECES
			    ? wqe_of(qp, &w)
			    : NULL;
		more = c && copy_next_piece(qp, j, &w, c);
		dpa_hazard_leave(h);
		n += more;
	}
	return n;
}

int dpa_pull_bring(struct dpa_tx *tx)
{
	struct dpa_job *j = &tx->shm->job;
	struct dpa_hw *hw = tx->peer->hw;
	uint64_t serial = atomic_load_explicit(&j->open, memory_order_acquire);
	struct dpa_hw_qp *qp;
	int n = 0;

	if (dpa_likely(!serial) || serial > UINT32_MAX || !tx->peer->can_pull || !dpa_guard_works())
		return 0;
	qp = atomic_load_explicit(
		&hw->qps.tab[atomic_load_explicit(&j->src, memory_order_relaxed) & DPA_QPN_INDEX],
		memory_order_acquire);
	/* The holder of the lock works on the QP, and may be the receiver's thread. */
	if (!qp || !dpa_qplock_enter_or_note(&qp->lock))
		return 0;
	if (qp->peer == tx->peer)
		n = copy_wanted(qp, j, (uint32_t)serial);
	dpa_qp_leave(qp);
	return n;
}

/* ------------------------------------------------------------------- requester */

uint32_t dpa_pull_fill(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
		       uint32_t off, uint32_t n, uint8_t *data)
{
	struct dpa_pull *p = (struct dpa_pull *)data;
	struct iovec iov[DPA_MAX_SGE];
	uint32_t syn;
	int cnt;

	syn = dpa_wqe_iov(qp, idx, c, off, n, 0, iov, &cnt);
	if (syn)
		return syn;
	p->niov = (uint32_t)cnt;
	p->epoch = atomic_load_explicit(&qp->hw->export->qp_epoch[qp->qpn & DPA_QPN_INDEX],
					memory_order_relaxed);
	p->rkey = 0;
	p->idx = idx;
	p->off = off;
	for (int i = 0; i < cnt; i++) {
		p->iov[i].addr = (uintptr_t)iov[i].iov_base;
		p->iov[i].len = iov[i].iov_len;
	}
	return 0;
}
