/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* calls.h - what the files of the device and the transport call of each other. Part of dev.h. */
#ifndef DPA_CALLS_H
#define DPA_CALLS_H

#include "dev.h"

/* --- limit.c --- */
/*
 * The board gave none of something (board.h: ENOMEM, ENOSPC, or the errno of a lock): the log gets
 * the limit as fmt says it, or that it is not that one. Returns what the caller is told.
 */
int dpa_limit(struct dpa_hw *hw, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* --- mr.c --- */
int dpa_mr_init(struct dpa_hw *hw);
/*
 * Checks a local SGE or a remote access: key, PD, bounds, access bits. Returns 0 and the local
 * address, or an enum dpa_syndrome (BAD_LKEY, LKEY_BOUNDS, LKEY_ACCESS; the caller maps to the
 * remote ones). The address is good until the caller lets go of its QP lock: dereg waits for that.
 */
uint32_t dpa_mr_check(struct dpa_hw *hw, uint32_t key, uint32_t pdn, uint64_t iova, uint64_t len,
		      uint32_t access, uint64_t *addr);
/* Deregisters what a context that closes left behind. */
void dpa_mr_forget(struct dpa_hw_ctx *ctx);
/* The same for a key that a packet names: regions, and windows that may be used on this QP. */
uint32_t dpa_mr_check_remote(struct dpa_hw_qp *qp, uint32_t key, uint64_t va, uint64_t len,
			     uint32_t access, uint64_t *addr);
/* The same for the whole of what the key names. */
uint32_t dpa_mr_check_key(struct dpa_hw_qp *qp, uint32_t key, uint32_t access);
/* A free entry; ENOMEM and a line in the log if there is none. Under hw->ctl. */
int dpa_mr_take(struct dpa_hw *hw, struct dpa_mr **mr, uint32_t *index);
struct dpa_mr *dpa_mr_of(struct dpa_hw *hw, uint32_t key);
/* Takes an entry's key away; who used it is to be waited for. */
void dpa_mr_withdraw(struct dpa_hw *hw, struct dpa_mr *mr);
uint32_t dpa_mr_new_key(struct dpa_mr *mr, uint32_t index);
void dpa_mr_revoke(struct dpa_hw *hw, uint32_t index);
/* --- mw.c: under the QP's lock; 0 or an enum dpa_syndrome --- */
uint32_t dpa_mw_bind(struct dpa_hw_qp *qp, uint32_t old_key, uint32_t new_key, uint64_t va,
		     const struct dpa_wqe_bind *b);
uint32_t dpa_mw_invalidate(struct dpa_hw_qp *qp, uint32_t key);
/* --- dm.c: under hw->ctl --- */
/* Makes an address of attr->addr. EINVAL: no such memory, or not all of it. */
int dpa_dm_place(struct dpa_hw_ctx *ctx, struct dpa_mr_attr *attr);
void dpa_dm_ref(struct dpa_hw *hw, uint32_t owner, uint32_t handle, int n);
void dpa_dm_forget(struct dpa_hw_ctx *ctx);
/* The memory of an L_Key must be copied to or from with care: it may fault, or is the null region.
 */
static inline bool dpa_mr_careful(const struct dpa_hw *hw, uint32_t key)
{
	return __atomic_load_n(&hw->export->mr[key >> DPA_KEY_TAG_BITS].access, __ATOMIC_RELAXED) &
	       DPA_ACCESS_ON_DEMAND;
}
/* --- device/hw.c --- */
/*
 * Between these the process does not fork: its descriptors are not all where the child's half of
 * fork() finds them. No lock may be held at the first; peer_lock may be taken in between.
 */
void dpa_fork_hold(void);
void dpa_fork_release(void);

/* Waits until no thread holds a QP lock that it took before this call. */
void dpa_quiesce(struct dpa_hw *hw);

/* --- range.c --- */
int dpa_range_check(struct dpa_hw *hw, uint64_t addr, uint64_t length, bool write);

/* --- copy.c: memory that packets name --- */
/* Adds 1 to an eventfd; unlike write(2) no cancellation point: locks may be held. */
void dpa_eventfd_wake(int fd);
int dpa_copy_out(struct dpa_hw *hw, uint64_t dst, const void *src, size_t n); /* 0 or EFAULT */
int dpa_copy_in(struct dpa_hw *hw, void *dst, uint64_t src, size_t n);
struct iovec;
/*
 * The number that what is stored at `end` ends with, or its last byte: n bytes at most. Somebody
 * may poll on it, so it has to be stored at once, and behind all others; the kernel's copies and
 * memcpy(3) store in any order (string instructions do), but one copy behind the other.
 */
static inline uint32_t dpa_last_bytes(uint64_t end, size_t n)
{
	return n >= 8 && end % 8 == 0	? 8
	       : n >= 4 && end % 4 == 0 ? 4
	       : n >= 2 && end % 2 == 0 ? 2
					: 1;
}
/* The same pieces with these bytes apart; `out` has room for one more. How many they are. */
int dpa_last_apart(const struct iovec *v, int cnt, uint64_t end, struct iovec *out);
int dpa_copy_out_v(struct dpa_hw *hw, uint64_t dst, const struct iovec *src, uint32_t cnt,
		   size_t n);
/* Reads from a peer's memory into ours; both sides may fault: 0, EFAULT or EPERM. */
bool dpa_copy_probe(pid_t pid, uint64_t addr, uint64_t expect);
/* At open: lets other processes of the user do so, if the knob `ptracer` says it. */
void dpa_copy_offer(const struct dpa_hw *hw);
int dpa_copy_pull(struct dpa_peer *peer, const struct iovec *dst, int ndst, const struct iovec *src,
		  int nsrc, size_t n);

/* --- cq.c --- */
/* False: the CQ overran, and the entry is lost. */
bool dpa_cq_push(struct dpa_hw_cq *cq, const struct dpa_cqe *cqe);
/* n of them, under one lock and with one store of the index: how many had room. */
/* True: the consumer has not taken all entries of this QP yet. */
bool dpa_cq_has(struct dpa_hw_cq *cq, uint32_t qpn);
uint32_t dpa_cq_push_all(struct dpa_hw_cq *cq, const struct dpa_cqe *cqe, uint32_t n);
/* The same for a QP, under its lock: one that cannot report goes to the error state before long. */
void dpa_qp_report(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe);
/* Ends a QP that lost an entry; under its lock. */
void dpa_qp_cqe_lost(struct dpa_hw_qp *qp);

/* Fires the event that was held, if there still is something to tell of. */
void dpa_cq_fire_held(struct dpa_hw_cq *cq);

/* --- moderate.c --- */
/* Under the CQ's lock, of one with mod_count > 1: the event of this entry waits. */
bool dpa_cq_hold(struct dpa_hw_cq *cq);
int dpa_moderation_run(struct dpa_hw *hw);
void dpa_moderation_forget(struct dpa_hw_cq *cq);
static inline int dpa_moderation_due(struct dpa_hw *hw)
{
	if (dpa_likely(!atomic_load_explicit(&hw->mod_due, memory_order_relaxed)))
		return 0;
	return dpa_moderation_run(hw);
}

/* --- qmem.c --- */
/* In a forked child: closes the descriptors; the memory is not mapped there. */
void dpa_qmem_abandon(struct dpa_hw *hw);

/* --- srq.c --- */
/* Takes the next receive WQE; false if there is none. */
bool dpa_srq_take(struct dpa_hw_srq *srq, struct dpa_rx_wqe *w);
/* The same under srq->lock; *event: dpa_srq_limit_event() when it is not held any more. */
bool dpa_srq_take_held(struct dpa_hw_srq *srq, struct dpa_rx_wqe *w, bool *event);
void dpa_srq_limit_event(struct dpa_hw_srq *srq);

/* --- mcast.c --- */
/* ff00::/8, or 224.0.0.0/4 as an IPv6 address */
static inline bool dpa_gid_is_mcast(const uint8_t gid[16])
{
	return gid[0] == 0xff || (dpa_gid_is_v4(gid) && gid[12] >> 4 == 0xe);
}
void dpa_mcast_forget(struct dpa_hw_qp *qp);

/* --- xrc.c --- */
void dpa_xrcd_free_all(struct dpa_hw *hw);
/* Under hw->ctl: users of a domain come or go. EINVAL: there is none. */
int dpa_xrcd_use(struct dpa_hw *hw, uint32_t num, int n);
/* Under hw->ctl. Gives it its number. ENOMEM. */
int dpa_xrc_srq_add(struct dpa_hw *hw, struct dpa_hw_srq *srq);
/* When it returns no QP uses it. No QP's lock may be held. */
void dpa_xrc_srq_remove(struct dpa_hw *hw, struct dpa_hw_srq *srq);
/* The same of all that the context has left. hw->ctl is not held either. */
void dpa_xrc_srqs_forget(struct dpa_hw_ctx *ctx);
/* Makes a target take receives, CQ and PD of the SRQ that a packet names. False: no such one. */
bool dpa_xrc_bind(struct dpa_hw_qp *qp, uint32_t srqn);
/* --- xrc_branch.c --- */
struct dpa_qp_opener;
/* Under hw->ctl. The branch of another process's target, made if need be. EINVAL, ENOMEM. */
int dpa_branch_get(struct dpa_hw_ctx *ctx, uint32_t xrcd, uint32_t qpn, struct dpa_hw_qp **out);
/* Under hw->ctl; nobody has it open. */
void dpa_branch_free(struct dpa_hw_qp *qp);
/* Under hw->ctl: the QPN is one of this process now. */
void dpa_branch_evict(struct dpa_hw *hw, uint32_t qpn);
/* Under hw->ctl: those of the domain that nobody has open. */
void dpa_branches_end(struct dpa_hw *hw, uint32_t xrcd);
/* Under hw->ctl: the same of a context that was taken off the list. */
void dpa_branches_forget(struct dpa_hw_ctx *ctx);
/* Service thread: makes what packets wait for; lets go of those whose target is gone. */
void dpa_branches_tick(struct dpa_hw *hw, bool sweep);
/* A target was modified, under its lock: what the other processes go by. */
void dpa_branch_tell(struct dpa_hw_qp *qp, bool connected);
/* A target receives no more, under its lock: branches have no connection from now on. */
void dpa_branch_untell(struct dpa_hw_qp *qp);
/* The attributes of a branch are its target's; its lock is held. */
void dpa_branch_attr(struct dpa_hw_qp *qp, struct dpa_qp_attr *a);
/* A packet for a QP that is not of this process: must it wait until its branch is there? */
bool dpa_branch_held(struct dpa_hw *hw, const struct dpa_slot *s);
/* A request off a peer's lane for a target, under its lock. False: it is nobody's any more, or it
 * would begin a turn and is not of the target's initiator. */
bool dpa_branch_rx(struct dpa_hw_qp *qp, const struct dpa_peer *p, const struct dpa_slot *s);
/* An initiator's next message: to its process. False: not now (pended), or never (error raised). */
bool dpa_turn_begin(struct dpa_hw_qp *qp);
/* Is the message at idx for the process that the initiator's turn is? Else pended if need be. */
bool dpa_turn_is(struct dpa_hw_qp *qp, uint32_t idx);
/* In what is sent of the message at idx: the turn if it begins one, else 0. */
static inline uint32_t dpa_turn_number(const struct dpa_hw_qp *qp, uint32_t idx)
{
	const struct dpa_req *r = &qp->req;

	if (!r->turned || idx != r->turn_idx || idx != r->una_idx || r->send_off)
		return 0;
	return qp->turn | (r->turn_keeps ? DPA_TURN_KEEPS : 0);
}
/* What was sent is lost. */
void dpa_turn_again(struct dpa_hw_qp *qp);
/* The process that the turn was is dead, nothing was under way to it, and it was not the target's.
 */
bool dpa_turn_ends(struct dpa_hw_qp *qp);
/* The peer of a connected QP of this board. NULL with errno. */
struct dpa_peer *dpa_near_peer(struct dpa_hw_qp *qp);
bool dpa_qp_opened_by(const struct dpa_hw_qp *qp, const struct dpa_hw_ctx *ctx,
		      uint64_t *user_handle);
void dpa_qp_tell_openers(struct dpa_hw_qp *qp, uint32_t type);
/* --- leave.c --- */
/* An unreliable QP ends: what was posted to it leaves, within a second. No lock is held. */
void dpa_qp_leave_out(struct dpa_hw_qp *qp);
/* The same of all QPs of a context that is closed: within a second all together. */
void dpa_qps_leave_out(struct dpa_hw_ctx *ctx);
/* The end of a QP waited for it in vain, and it has taken nothing since. */
bool dpa_peer_is_spent(const struct dpa_peer *p);
/* --- qp.c --- */
/* Under hw->ctl: a QP structure, taken and given back; under its lock: made what `a` says. */
struct dpa_hw_qp *dpa_qp_take(struct dpa_hw *hw);
void dpa_qp_give(struct dpa_hw_qp *qp);
void dpa_qp_init(struct dpa_hw_qp *qp, struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *a);
void dpa_qp_event(struct dpa_hw_qp *qp, uint32_t type);
/* To the error state, with everything flushed; under the QP's lock. */
void dpa_qp_to_error(struct dpa_hw_qp *qp);
void dpa_qp_flush_rq(struct dpa_hw_qp *qp);
void dpa_qp_leave(struct dpa_hw_qp *qp); /* unlocks, carrying out what was noted */
/* Completions of one QP that go to their CQ together, while it is locked; the stack of who drains.
 */
#define DPA_RUN 16u
struct dpa_run {
	struct dpa_hw_qp *qp; /* locked; NULL: none, nothing is collected */
	struct dpa_hw_cq *cq;
	uint32_t n;
	struct dpa_cqe e[DPA_RUN];
};
/* What was collected is reported. */
void dpa_run_flush(struct dpa_run *r);
void dpa_hw_free_qps(struct dpa_hw *hw); /* their memory, at the last close */
void dpa_qp_set_state(struct dpa_hw_qp *qp, uint32_t state);

/* --- eu/progress.c --- */
/* The calling thread posted to this QP: what comes for it is best drained by that thread. */
static inline void dpa_qp_at_home(struct dpa_hw_qp *qp)
{
	uintptr_t me = (uintptr_t)&dpa_me;

	if (dpa_unlikely(atomic_load_explicit(&qp->home, memory_order_relaxed) != me) &&
	    dpa_me.polls)
		atomic_store_explicit(&qp->home, me, memory_order_relaxed);
}
/* Puts a QP on the pending list: progress will run it again, at `when` (ns) or as soon as possible
 * (0). */
void dpa_pend(struct dpa_hw_qp *qp, uint64_t when);
void dpa_unpend(struct dpa_hw_qp *qp);
int dpa_progress_once(struct dpa_hw *hw);
/* The calling thread was told that its socket is readable: its next look is not left out. */
void dpa_wire_is_there(void);
/* The core that the calling thread is on; never 0. */
static inline uint32_t dpa_here(void)
{
	return (uint32_t)sched_getcpu() + 2;
}
/* A thread that polls has been here, or is: what comes is its own. */
static inline void dpa_app_is_at_it(struct dpa_hw *hw)
{
	if (dpa_me.polls && !atomic_load_explicit(&hw->app_polled, memory_order_relaxed))
		atomic_store_explicit(&hw->app_polled, dpa_here(), memory_order_relaxed);
}
void dpa_hot_add(struct dpa_hw *hw, struct dpa_rx *rx);
void dpa_wake_self(struct dpa_hw *hw);
/* Sets who sleeps; returns after a full fence: look again before blocking. */
void dpa_set_sleep(struct dpa_hw *hw, _Atomic uint32_t *who, uint32_t on);
uint64_t dpa_timer_left(struct dpa_hw *hw); /* ns until the next timer, UINT64_MAX: none */
bool dpa_anything(struct dpa_hw *hw);
/* The same, but a timer that was set for a time has a moment's grace: nobody who polls is late. */
bool dpa_left_lying(struct dpa_hw *hw);

/* --- eu/service.c --- */
/* Brings the board's counters of this process up to date with its lanes. */
void dpa_counters_fold(struct dpa_hw *hw);
int dpa_service_start(struct dpa_hw *hw);
/* slice.c: the calling thread, one of the device's, is let in soon when it wakes. */
void dpa_run_soon(void);
void dpa_service_stop(struct dpa_hw *hw);

/*
 * Has another thread of the board's, of whichever process, polled on this processor since this one
 * asked? Then who polls shall let it run.
 */
bool dpa_shares_cpu(struct dpa_hw *hw);

/* --- eu/eu.c --- */
int dpa_eu_init(struct dpa_hw *hw);
void dpa_eu_fini(struct dpa_hw *hw);
int dpa_eu_attach(struct dpa_hw_qp *qp, int eu);
void dpa_eu_detach(struct dpa_hw_qp *qp);

/* --- link/peer.c, link/sock.c --- */
int dpa_link_init(struct dpa_hw *hw);
void dpa_link_fini(struct dpa_hw *hw);
/* The peer that owns a QPN of this board, connecting if need be. NULL: nobody (errno says why). */
struct dpa_peer *dpa_peer_of_qpn(struct dpa_hw *hw, uint32_t qpn);
void dpa_peer_died(struct dpa_hw *hw, struct dpa_peer *p);
/*
 * Takes what the processes of this adapter instance have published for this one before the call.
 * Waits for a thread that drains a lane. No lock may be held.
 */
void dpa_peers_drain(struct dpa_hw *hw);
void dpa_peer_doubt(struct dpa_peer *p);
/* Asks the board about the doubtful; true if some still are. Service thread. */
bool dpa_peers_check(struct dpa_hw *hw);
/* Parked EU, twice a second: those that could not be reached are tried again. */
void dpa_peers_meet(struct dpa_hw *hw);
void dpa_sock_listen_again(struct dpa_hw *hw);
/* After publishing: full fence, look at the peer's sleep word, wake it. */
void dpa_tx_kick(struct dpa_tx *tx);
/* Full fence, summary bit: if anybody polls there, he looks. Nobody is woken. */
void dpa_tx_look(const struct dpa_tx *tx);
/* Of a lane that is not watched: the summary bit. True: and the kick; false: that is owed. */
bool dpa_tx_announce(struct dpa_tx *tx);
static inline void dpa_remember_kick(struct dpa_thread *me, struct dpa_tx *tx)
{
	for (uint32_t i = 1; i < me->nowed && i < DPA_LANES; i++)
		if (me->owed[i] == tx)
			return;
	if (me->nowed < DPA_LANES)
		me->owed[me->nowed] = tx;
	if (me->nowed <= DPA_LANES)
		me->nowed++;
}

/* Published, look later: at this thread's next progress, or within a millisecond. */
static inline void dpa_tx_owe_kick(struct dpa_tx *tx, struct dpa_hw *hw)
{
	struct dpa_thread *me = &dpa_me;

	/* a lane that is not watched needs its summary bit, and gets it once: no reason to wait,
	 * but in our own process, where this thread may be the one that takes it */
	if (dpa_unlikely(!atomic_load_explicit(&tx->shm->watched, memory_order_relaxed)) &&
	    dpa_tx_announce(tx))
		return;
	atomic_store_explicit(&tx->kick_owed, 1, memory_order_relaxed);
	if (dpa_unlikely(me->serial != hw->serial)) {
		me->serial = hw->serial;
		me->nowed = 0;
	}
	if (!me->nowed || me->owed[0] != tx)
		dpa_remember_kick(me, tx);
	if (!atomic_load_explicit(&hw->kicks_owed, memory_order_relaxed))
		atomic_store_explicit(&hw->kicks_owed, 1, memory_order_release);
}
/*
 * After posting. A peer that is seen asleep is woken now. Whether it is just falling asleep takes a
 * fence to know, and a fence waits for every line that the post wrote: a thread that polls asks at
 * its next poll that finds nothing, the parked EU within a millisecond.
 */
static inline void dpa_tx_posted(struct dpa_tx *tx, struct dpa_hw *hw)
{
	if (tx->peer->wire)
		return;
	if (!dpa_me.polls || atomic_load_explicit(&hw->service_asleep, memory_order_relaxed) ||
	    atomic_load_explicit(&tx->peer->door->sleep, memory_order_relaxed))
		dpa_tx_kick(tx);
	else
		dpa_tx_owe_kick(tx, hw);
}

/* What all threads owe, and what this one does. */
void dpa_settle_kicks(struct dpa_hw *hw);
static inline void dpa_settle_mine(struct dpa_hw *hw)
{
	struct dpa_thread *me = &dpa_me;
	uint32_t n = me->nowed;

	if (dpa_likely(!n))
		return;
	me->nowed = 0;
	if (dpa_unlikely(me->serial != hw->serial))
		return;
	if (dpa_unlikely(n > DPA_LANES)) {
		dpa_settle_kicks(hw);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		if (atomic_load_explicit(&me->owed[i]->kick_owed, memory_order_relaxed))
			dpa_tx_kick(me->owed[i]);
}

/* --- device/transport --- */
/* Sends what the SQ holds as far as it can; under the QP's lock. Returns the work done. */
int dpa_requester_run(struct dpa_hw_qp *qp);
/*
 * Brings pieces of a large message of this process's that the lane's receiver is fetching, if there
 * is one: device/transport/pull.c. Any thread that polls, under no lock. How many.
 */
int dpa_pull_bring(struct dpa_tx *tx);
/* One packet for this QP; under its lock. payload is valid during the call. */
void dpa_transport_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload);
/*
 * UC and UD lose what finds no receive WQE. The sender on the same host is faster than any wire, so
 * a receiver that was keeping up gets a moment to post: true, the packet stays in its lane. Under
 * the QP's lock.
 */
bool dpa_rx_must_wait(struct dpa_hw_qp *qp, const struct dpa_slot *s);
/* The packets of this batch are through: send the ACK that is owed and responses. */
void dpa_responder_flush(struct dpa_hw_qp *qp);
/*
 * Plain ACKs of a batch of packets for many QPs, to be sent in one slot. Owned by the thread that
 * drains the lane, under rx->lock.
 */
struct dpa_acks {
	struct dpa_tx *tx; /* where all of them go */
	uint32_t n;
	struct {
		uint32_t dqpn, psn, msn;
		uint16_t src;
	} ack[DPA_ACKS];
};
/* Takes over what the QP owes, under its lock. False: it is for dpa_responder_flush(). */
bool dpa_acks_take(struct dpa_acks *acks, struct dpa_hw_qp *qp);
/* Sends them. No QP's lock may be held. */
void dpa_acks_publish(struct dpa_acks *acks, struct dpa_hw *hw);
/* The i'th of a slot of them as the packet that it stands for; false: there is none. */
bool dpa_acks_get(const struct dpa_slot *s, uint32_t i, struct dpa_slot *ack);
/* None that was taken over for this peer is in anybody's hand any more. No QP's lock may be held.
 */
void dpa_acks_wait(struct dpa_peer *peer);
/*
 * Before a QP ends: all ACKs of messages that the application has completions of are published
 * (ctx/qp.c). So the peer has them before whatever the application does next. No lock may be held.
 */
void dpa_qp_acks_out(struct dpa_hw *hw, struct dpa_peer *peer);
/* Sends the ACKs that wait (link/frame.c). No lock may be held. */
void dpa_acks_send(struct dpa_hw *hw);
/* The same at exit(): no lock is waited for, whoever has one. What is under such a lock is lost. */
void dpa_acks_leave(struct dpa_hw *hw);
/* A QP that goes away owes none. */
void dpa_acks_forget(struct dpa_hw_qp *qp);
/* The same for packets that wait for company (link/udp_tx.c). */
void dpa_corks_send(struct dpa_hw *hw);
static inline void dpa_acks_settle(struct dpa_hw *hw)
{
	if (dpa_unlikely(atomic_load_explicit(&hw->corks, memory_order_acquire)))
		dpa_corks_send(hw);
	if (dpa_unlikely(atomic_load_explicit(&hw->acks_owed, memory_order_acquire)))
		dpa_acks_send(hw);
}
/* Packets that were kept out of order are forgotten. */
void dpa_kept_drop(struct dpa_hw_qp *qp);
/* The device closes; no QP keeps anything. */
void dpa_kept_fini(struct dpa_hw *hw);
/* A congestion notification packet to the peer of a connected QP; false: it did not leave. */
bool dpa_send_cnp(struct dpa_hw_qp *qp);
/* Answer for a packet to a QP that is not there: a lost packet, as the wire would have it. */
void dpa_transport_no_qp(struct dpa_hw *hw, struct dpa_rx *rx, const struct dpa_slot *s);
void dpa_transport_reset(struct dpa_hw_qp *qp);
/* The peer's process ended. */
void dpa_requester_peer_dead(struct dpa_hw_qp *qp);
void dpa_requester_flush(struct dpa_hw_qp *qp);
/* Nothing was heard for long although the peer took all we sent: send again. Under the QP's lock.
 */
bool dpa_requester_watchdog(struct dpa_hw_qp *qp);

#endif
