/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * direct.c - both ends of the direct path, after the protocol in direct.h. It has the access
 * capability that a QP gives to its peer, the hazard pointers of this process's threads, and the
 * wait before memory is withdrawn.
 *
 * A process gives a capability only to a peer that is UP, because it can read the hazard pointers
 * of such a peer. The wait may run under any lock: a thread that holds a hazard pointer takes no
 * lock and waits for no other thread.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "ctx/qp.h"
#include "ctx/wqe.h"
#include "link/kick.h"
#include "wire/opcode.h"
#include "direct/direct.h"

/*
 * after this time, and in this interval: check whether the process lives and whether it is stopped
 */
#define LOOK_NS	 1000000ull
#define ID_BITS	 DPA_HAZARD_ID_BITS
#define TID_BITS 22u

bool dpa_direct_able(const struct dpa_hw_qp *qp)
{
	return qp->hw->cfg.direct == DPA_CFG_DIRECT_AUTO && !qp->pkt_flags && !qp->tag_sq &&
	       (qp->transport == DPA_BTH_RC || qp->transport == DPA_BTH_UC) && dpa_guard_works();
}

/* -------------------------------------------------------------- access capabilities */

/* RTR: true from its first packet on, which is an event. */
static bool is_receiving(const struct dpa_hw_qp *qp)
{
	return qp->state == DPA_QPS_RTS || qp->state == DPA_QPS_SQD || qp->state == DPA_QPS_SQE ||
	       (qp->state == DPA_QPS_RTR && qp->comm_est);
}

static bool may_grant(const struct dpa_hw_qp *qp)
{
	const struct dpa_peer *p = qp->peer;

	return qp->hw->cfg.direct == DPA_CFG_DIRECT_AUTO &&
	       (qp->transport == DPA_BTH_RC || qp->transport == DPA_BTH_UC) && is_receiving(qp) &&
	       !qp->pkt_flags && p && !p->wire &&
	       atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_UP &&
	       !atomic_load_explicit(&qp->hw->inspect, memory_order_seq_cst) &&
	       !atomic_load_explicit(&qp->hw->no_grants, memory_order_seq_cst);
}

static uint64_t grant_of(const struct dpa_hw_qp *qp)
{
	uint64_t g = 0;

	if (!may_grant(qp))
		return 0;
	if (qp->access & DPA_ACCESS_REMOTE_WRITE)
		g |= DPA_GRANT_WRITE;
	if (qp->access & DPA_ACCESS_REMOTE_READ && qp->attr.max_dest_rd_atomic)
		g |= DPA_GRANT_READ;
	if (qp->access & DPA_ACCESS_REMOTE_ATOMIC && qp->attr.max_dest_rd_atomic)
		g |= DPA_GRANT_ATOMIC;
	if (!g)
		return 0;
	return g | (qp->transport == DPA_BTH_RC ? DPA_GRANT_RC : DPA_GRANT_UC) |
	       (qp->dest_qpn & DPA_QPN_INDEX) | dpa_grant_proc(qp->peer->slot, qp->peer->gen) |
	       (uint64_t)qp->pdn << DPA_GRANT_PD_SHIFT;
}

void dpa_conn_begin(struct dpa_hw_qp *qp)
{
	_Atomic uint64_t *at = &qp->hw->export->qp_conn[qp->qpn & DPA_QPN_INDEX];
	uint32_t nr =
		(uint32_t)(atomic_load_explicit(at, memory_order_relaxed) >> DPA_CONN_NR_SHIFT) + 1;

	atomic_store_explicit(at,
			      (uint64_t)(nr ? nr : 1) << DPA_CONN_NR_SHIFT | DPA_CONN_FRESH |
				      (uint64_t)qp->attr.path_mtu << DPA_CONN_MTU_SHIFT |
				      (qp->resp.epsn & DPA_PSN_MASK),
			      memory_order_seq_cst);
}

void dpa_conn_used(struct dpa_hw_qp *qp)
{
	_Atomic uint64_t *at = &qp->hw->export->qp_conn[qp->qpn & DPA_QPN_INDEX];

	if (!qp->xrc.branch) /* the word belongs to a QP of this process */
		atomic_store_explicit(
			at, atomic_load_explicit(at, memory_order_relaxed) & ~DPA_CONN_FRESH,
			memory_order_seq_cst);
}

/*
 * The capability of a replica's QPN is that of the QP with this number that this process may have.
 */
void dpa_grant(struct dpa_hw_qp *qp)
{
	_Atomic uint64_t *at = &qp->hw->export->qp_grant[qp->qpn & DPA_QPN_INDEX];
	uint64_t was = atomic_load_explicit(at, memory_order_relaxed), now = grant_of(qp);

	qp->slow.inspected = atomic_load_explicit(&qp->hw->inspect, memory_order_relaxed) != 0;

	if (dpa_likely(was == now) || qp->xrc.branch)
		return;
	atomic_store_explicit(at, now, memory_order_seq_cst);
	if (was)
		dpa_hazards_wait(qp->hw);
}

void dpa_grant_all(struct dpa_hw *hw)
{
	uint32_t n = atomic_load_explicit(&hw->qps.nslab, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct dpa_hw_qp *qp = hw->qps.slab[i];

		dpa_qplock_lock(&qp->lock);
		if (qp->qpn)
			dpa_grant(qp);
		dpa_qp_leave(qp);
	}
}

/* ------------------------------------------------------------------ hazard pointers */

/*
 * Counted before the hazard pointer is set: a thread that reads it afterwards finds the pointer
 * among those in use.
 */
static void use_hazards(struct dpa_export *e, uint32_t n)
{
	uint32_t was = atomic_load_explicit(&e->hazards_used, memory_order_relaxed);

	while (was < n &&
	       !atomic_compare_exchange_weak_explicit(&e->hazards_used, &was, n,
						      memory_order_seq_cst, memory_order_relaxed))
		;
}

/* The caller then reads capability and generation (seq_cst). The CAS before them is the fence. */
struct dpa_hazard *dpa_hazard_enter(struct dpa_hw *hw, const struct dpa_peer *target)
{
	struct dpa_thread *me = &dpa_me;

	if (dpa_unlikely(!me->tid || me->tid_of != hw->serial)) {
		me->tid = (uint32_t)syscall(SYS_gettid);
		me->tid_of = hw->serial;
	}
	for (uint32_t k = 0, i = me->hazard; k < DPA_HAZARDS; k++, i = (i + 1) % DPA_HAZARDS) {
		struct dpa_hazard *h = &hw->export->hazard[i];
		const uint32_t turn = atomic_load_explicit(&h->turn, memory_order_relaxed) + 1;
		uint64_t none = 0, w = dpa_hazard_id(target->slot, target->gen) |
				       (uint64_t)me->tid << ID_BITS |
				       (uint64_t)turn << (ID_BITS + TID_BITS);

		if (atomic_load_explicit(&h->word, memory_order_relaxed))
			continue;
		use_hazards(hw->export, i + 1);
		if (!atomic_compare_exchange_strong_explicit(
			    &h->word, &none, w, memory_order_seq_cst, memory_order_relaxed))
			continue;
		atomic_store_explicit(&h->turn, turn, memory_order_relaxed);
		me->hazard = i;
		return h;
	}
	return NULL;
}

/*
 * Returns the value of the hazard pointer if it names this process; else 0, also if its process has
 * ended.
 */
static uint64_t look_at_hazard(struct dpa_peer *p, uint32_t i)
{
	const struct dpa_board *b = p->hw->board;
	uint64_t w = 0;

	dpa_spin_lock(&p->look_lock);
	if (atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_UP && p->export &&
	    i < DPA_HAZARDS &&
	    i < atomic_load_explicit(&p->export->hazards_used, memory_order_seq_cst))
		w = atomic_load_explicit(&p->export->hazard[i].word, memory_order_seq_cst);
	dpa_spin_unlock(&p->look_lock);
	return (w & ((1u << ID_BITS) - 1)) == dpa_hazard_id(b->slot, b->gen) ? w : 0;
}

/*
 * True if the thread is stopped by a signal. This happens only at the boundary of the kernel: the
 * thread is in no system call, and its sequence begins again. (Not for a debugger's stop, which may
 * be at the entry of a system call.)
 */
static bool is_stopped(pid_t pid, uint32_t tid)
{
	char path[64], text[256], *p;
	int fd, cancel;
	ssize_t n = 0;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* locks may be held */
	snprintf(path, sizeof(path), "/proc/%d/task/%u/stat", (int)pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	pthread_setcancelstate(cancel, NULL);
	if (n <= 0)
		return false;
	text[n] = 0;
	p = strrchr(text, ')');
	return p && p[1] == ' ' && p[2] == 'T';
}

/* ------------------------------------------------------------------- waiting */

/* True if its process is gone, or checks again before it touches memory. */
static bool is_harmless(struct dpa_peer *p, uint64_t w)
{
	return !dpa_board_alive(p->hw->board, p->slot, p->gen) ||
	       is_stopped(p->pid, (uint32_t)(w >> ID_BITS) & ((1u << TID_BITS) - 1));
}

bool dpa_hazards_stay(struct dpa_hazards_seen *x, bool closely)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < x->n; k++)
		if (look_at_hazard(x->of[k].p, x->of[k].i) == x->of[k].w &&
		    !(closely && is_harmless(x->of[k].p, x->of[k].w)))
			x->of[n++] = x->of[k];
	x->n = n;
	return n;
}

void dpa_hazards_give_up(const struct dpa_hazards_seen *x)
{
	for (uint32_t k = 0; k < x->n; k++)
		atomic_store_explicit(&x->of[k].p->vain[x->of[k].i], x->of[k].w,
				      memory_order_relaxed);
}

/*
 * Waits on behalf of one call, until *end (ns) at most; 0: the wait has not begun. False: the time
 * is over.
 */
static bool wait_for_hazards(struct dpa_hazards_seen *x, uint64_t *end)
{
	uint64_t now = dpa_now_ns(), next = now + LOOK_NS;
	bool first = !*end;
	uint32_t n = 0;

	if (first)
		*end = now + DPA_HAZARD_WAIT_NS;
	while (dpa_hazards_stay(x, false)) {
		dpa_relax(&n);
		now = dpa_now_ns();
		if (dpa_likely(now < next))
			continue;
		next = now + LOOK_NS;
		if (dpa_hazards_stay(x, true) && now > *end) {
			if (first) /* later ones have not had the whole time */
				dpa_hazards_give_up(x);
			dpa_log(x->of[0].p->hw, DPA_LOG_WARN,
				"process %d still accesses memory that it may no longer access: "
				"gave up waiting (for %u threads in all)",
				(int)x->of[0].p->pid, x->n);
			return false;
		}
	}
	return true;
}

/* Number of the peer's hazard pointers that are or were in use. */
static uint32_t num_hazards(struct dpa_peer *p)
{
	uint32_t n = 0;

	dpa_spin_lock(&p->look_lock);
	if (atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_UP && p->export)
		n = atomic_load_explicit(&p->export->hazards_used, memory_order_seq_cst);
	dpa_spin_unlock(&p->look_lock);
	return n < DPA_HAZARDS ? n : DPA_HAZARDS;
}

/* Returns the value of the hazard pointer if the caller must wait for it; else 0. */
static uint64_t find_hazard(struct dpa_peer *p, uint32_t i)
{
	uint64_t w = look_at_hazard(p, i),
		 vain = atomic_load_explicit(&p->vain[i], memory_order_relaxed);

	if (dpa_likely(!vain))
		return w;
	if (w == vain)
		return 0;
	/*
	 * The thread has continued: from now on the value stands for later work, even if the same
	 * value returns.
	 */
	atomic_store_explicit(&p->vain[i], 0, memory_order_relaxed);
	return w;
}

static void add_seen(struct dpa_hazards_seen *x, struct dpa_peer *p, uint32_t i, uint64_t w)
{
	x->of[x->n].p = p;
	x->of[x->n].i = i;
	x->of[x->n++].w = w;
}

void dpa_hazards_see(struct dpa_peer *p, struct dpa_hazards_seen *x)
{
	uint32_t n = num_hazards(p);

	x->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t w = find_hazard(p, i);

		if (dpa_unlikely(w))
			add_seen(x, p, i, w);
	}
}

/*
 * A peer that still accesses memory when the time is over had the whole time, in whatever order its
 * hazard pointers were found: the rest need not be checked.
 */
void dpa_hazards_wait(struct dpa_hw *hw)
{
	struct dpa_hazards_seen x;
	uint64_t end = 0;

	x.n = 0;
	dpa_full_fence();
	for (uint32_t s = 0; s < dpa_peers_end(hw); s++) {
		struct dpa_peer *p = atomic_load_explicit(&hw->peers[s], memory_order_acquire);
		uint32_t n;

		if (dpa_likely(!p) || p->wire)
			continue;
		n = num_hazards(p);
		for (uint32_t i = 0; i < n; i++) {
			uint64_t w = find_hazard(p, i);

			if (dpa_likely(!w))
				continue;
			add_seen(&x, p, i, w);
			if (x.n == DPA_HAZARDS_SEEN && !wait_for_hazards(&x, &end))
				return;
		}
	}
	if (dpa_unlikely(x.n))
		wait_for_hazards(&x, &end);
}

/* Checks the peer on the board. *ticks: a time when it was alive. */
static bool ask_peer(struct dpa_peer *p, uint64_t *ticks)
{
	*ticks = dpa_guard_ticks(); /* read before the check */
	if (!dpa_board_alive(p->hw->board, p->slot, p->gen))
		return false;
	atomic_store_explicit(&p->seen_alive, *ticks, memory_order_relaxed);
	return true;
}

bool dpa_direct_alive(struct dpa_peer *p, uint64_t *ticks)
{
	*ticks = atomic_load_explicit(&p->seen_alive, memory_order_relaxed);
	return dpa_likely(dpa_guard_ticks() - *ticks < DPA_ALIVE_TICKS / 2) || ask_peer(p, ticks);
}

bool dpa_was_alive(struct dpa_peer *p)
{
	uint64_t ticks = atomic_load_explicit(&p->seen_alive, memory_order_relaxed);

	return (dpa_likely(dpa_guard_ticks() - ticks < DPA_ALIVE_TICKS) && dpa_guard_works()) ||
	       ask_peer(p, &ticks);
}

/*
 * True if the peer would accept a packet of this QP now, by its PSN and size. Nothing is
 * outstanding. A direct operation uses no PSN, so the peer expects our next PSN if
 *
 * - it received no request in this connection yet, and begins at that PSN; or
 * - it was in step before in the same connection: since then only our packets advanced it, and all
 *   of them are acknowledged; or
 * - a packet of ours was acknowledged during this connection.
 *
 * IBA 9.7.4 (expected)
 */
bool dpa_in_step(struct dpa_hw_qp *qp)
{
	const struct dpa_req *r = &qp->req;
	uint64_t conn = atomic_load_explicit(
		&qp->peer->export->qp_conn[qp->dest_qpn & DPA_QPN_INDEX], memory_order_seq_cst);
	const uint64_t is = conn & ~DPA_CONN_FRESH;

	if (qp->type != DPA_QP_RC)
		return true; /* a UC message begins at any PSN */
	if (dpa_likely(conn && is == qp->step.known))
		return true;
	if (!conn || dpa_is_outstanding(r))
		return false;
	if ((conn & DPA_CONN_FRESH && ((conn ^ r->una_psn) & DPA_PSN_MASK) == 0) ||
	    (!(conn & DPA_CONN_FRESH) && is == qp->step.maybe && r->una_psn != qp->step.psn)) {
		qp->step.known = is;
		return true;
	}
	qp->step.maybe = is;
	qp->step.psn = r->una_psn;
	return false;
}
