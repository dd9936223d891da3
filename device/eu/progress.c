/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * progress.c - the work that any thread does for the device when it can. It checks the watched
 * rings, then the rings that have set a summary bit, then the QPs on the schedule list.
 */
#include "ctx/schedule.h"
#include "ctx/moderate.h"
#include "link/kick.h"
#include "transport/api.h"
#include "eu/progress.h"
#include "eu/sched.h"
#include "link/frame.h"
#include "link/udp/forward.h"
#include "link/udp/udp.h"
#include "eu/drain.h"

static int look_at_summary(struct dpa_hw *hw)
{
	uint64_t words = atomic_exchange_explicit(&hw->door->any, 0, memory_order_seq_cst);
	int n = 0;

	for (; words; words &= words - 1) {
		uint32_t w = (uint32_t)__builtin_ctzll(words);
		uint64_t bits =
			atomic_exchange_explicit(&hw->door->summary[w], 0, memory_order_seq_cst);

		if (bits) /* the exchange alone does not order the checks after its store */
			dpa_full_fence();
		while (bits) {
			uint32_t s = w * 64 + (uint32_t)__builtin_ctzll(bits);
			struct dpa_peer *p =
				atomic_load_explicit(&hw->peers[s], memory_order_acquire);

			bits &= bits - 1;
			if (!p || !atomic_load_explicit(&p->rx_up, memory_order_acquire))
				continue; /* dpa_peer_up() checks its rings */
			for (uint32_t i = 0; i < DPA_LANES; i++) {
				n += dpa_pull_bring(&p->tx[i]);
				if (!dpa_lane_ready(&p->rx[i]))
					continue;
				dpa_hot_add(hw, &p->rx[i]);
				n += dpa_lane_drain(&p->rx[i]);
			}
		}
	}
	return n;
}

/* ---------------------------------------------------------------- scheduled QPs */

static struct dpa_hw_qp *pop_pending(struct dpa_hw *hw)
{
	struct dpa_hw_qp *qp;

	dpa_spin_lock(&hw->pend.lock);
	qp = hw->pend.head;
	if (qp) {
		hw->pend.head = qp->pend.next;
		if (!hw->pend.head)
			hw->pend.tail = NULL;
		qp->pend.on = false;
		atomic_fetch_sub_explicit(&hw->pend.n, 1, memory_order_relaxed);
	}
	dpa_spin_unlock(&hw->pend.lock);
	return qp;
}

/* Sets the next retry after a run that moved n packets. */
static void retry_later(struct dpa_hw *hw, int n)
{
	uint64_t at = 0;

	if (n)
		dpa_backoff_reset(&hw->pend.retry);
	else
		at = dpa_now_ns() +
		     dpa_backoff_step(&hw->pend.retry, DPA_RETRY_MIN_NS, DPA_RETRY_MAX_NS);
	atomic_store_explicit(&hw->pend.retry_at, at, memory_order_relaxed);
}

/*
 * Runs each QP that is on the schedule list at entry, once. A QP that still cannot continue
 * schedules itself again.
 */
static int run_pending(struct dpa_hw *hw)
{
	uint64_t next = atomic_load_explicit(&hw->pend.next_timer, memory_order_acquire);
	struct dpa_hw_qp *qp;
	uint32_t k;
	int n = 0;

	if (next && dpa_now_about() < next)
		return 0;
	/* Both under the lock: a QP that is scheduled later sets the timer again. */
	dpa_spin_lock(&hw->pend.lock);
	k = atomic_load_explicit(&hw->pend.n, memory_order_relaxed);
	atomic_store_explicit(&hw->pend.next_timer, UINT64_MAX, memory_order_relaxed);
	dpa_spin_unlock(&hw->pend.lock);
	while (k-- && (qp = pop_pending(hw))) {
		if (!dpa_qplock_enter_or_note(&qp->lock))
			continue; /* the holder runs it */
		if (qp->qpn) {
			dpa_responder_flush(qp);
			n += dpa_requester_run(qp);
		}
		dpa_qp_leave(qp);
	}
	retry_later(hw, n);
	return n;
}

/* Returns CLOCK_MONOTONIC ns; 0: now; UINT64_MAX: never. */
static uint64_t next_due(struct dpa_hw *hw)
{
	uint64_t next = UINT64_MAX, due = dpa_inspect_due(hw);

	if (atomic_load_explicit(&hw->pend.n, memory_order_acquire)) {
		next = atomic_load_explicit(&hw->pend.next_timer, memory_order_acquire);
		if (!next)
			next = atomic_load_explicit(&hw->pend.retry_at, memory_order_relaxed);
	}
	next = due < next ? due : next;
	due = atomic_load_explicit(&hw->mod.due, memory_order_acquire);
	return due && due < next ? due : next;
}

uint64_t dpa_timer_left(struct dpa_hw *hw)
{
	uint64_t next = next_due(hw), now;

	if (next == UINT64_MAX)
		return UINT64_MAX;
	now = dpa_now_ns();
	return next > now ? next - now : 0;
}

/* ---------------------------------------------------------------- the loop */

static bool have_packets(struct dpa_hw *hw)
{
	for (int i = 0; i < DPA_HOT_LANES; i++) {
		struct dpa_rx *rx = atomic_load_explicit(&hw->hot[i], memory_order_acquire);

		if (rx && dpa_lane_ready(rx))
			return true;
	}
	return atomic_load_explicit(&hw->door->any, memory_order_acquire);
}

bool dpa_anything(struct dpa_hw *hw)
{
	return have_packets(hw) || !dpa_timer_left(hw);
}

bool dpa_left_lying(struct dpa_hw *hw)
{
	uint64_t next = next_due(hw);

	return have_packets(hw) ||
	       (next < UINT64_MAX - DPA_OVERDUE_NS && next + DPA_OVERDUE_NS <= dpa_now_ns());
}

/*
 * True if this ring is left to the thread that keeps draining it. Its packets belong to that
 * thread's QPs most likely. To move their cache lines to and fro costs more than waiting. Even a
 * check of the ring moves a line; so a polling thread checks again only after some polls. A ring
 * that was not drained since the last check is free to take.
 */
static bool leave_to_owner(const struct dpa_rx *rx, int i, uint32_t polls)
{
	struct dpa_thread *me = &dpa_me;
	bool known = me->lane[i].rx == rx;
	uintptr_t owner;
	uint32_t d;

	if (known && me->lane[i].skip && polls) {
		me->lane[i].skip--;
		return true;
	}
	owner = atomic_load_explicit(&rx->owner, memory_order_relaxed);
	if (owner == (uintptr_t)me || !owner)
		return false;
	d = atomic_load_explicit(&rx->drains, memory_order_relaxed);
	if (known && d == me->lane[i].drains)
		return false;
	me->lane[i].rx = rx;
	me->lane[i].drains = d;
	me->lane[i].skip = polls;
	if (me->watch == rx)
		me->watch = NULL;
	return true;
}

/*
 * True if a check that may find nothing is due. *quiet: number of successive checks that found
 * nothing.
 */
static bool look_is_due(uint32_t *quiet, int busy)
{
	return ++*quiet <= DPA_WIRE_EAGER ||
	       !(*quiet % (busy ? DPA_WIRE_EVERY_BUSY : DPA_WIRE_EVERY));
}

/*
 * To check an empty socket costs a system call: if nothing has come by the wire for long it is
 * checked only from time to time. The same holds for connections by which others pass packets on.
 */
static int poll_wire(struct dpa_hw *hw, int busy)
{
	struct dpa_thread *me = &dpa_me;
	int n = 0, passed_on = 0;

	if (dpa_udp_fd(hw->udp) >= 0 && look_is_due(&me->wire_quiet, busy)) {
		n = dpa_udp_rx(hw);
		if (n)
			me->wire_quiet = 0;
	}
	if (dpa_udp_is_passed_on(hw->udp) && look_is_due(&me->passed_quiet, busy || n)) {
		passed_on = dpa_fwd_rx(hw);
		if (passed_on)
			me->passed_quiet = 0;
	}
	return n + passed_on;
}

void dpa_wire_is_there(void)
{
	dpa_me.wire_quiet = dpa_me.passed_quiet = 0;
}

static int progress_hw(struct dpa_hw *hw, uint32_t polls)
{
	int n = 0;

	for (int i = 0; i < DPA_HOT_LANES; i++) {
		struct dpa_rx *rx = atomic_load_explicit(&hw->hot[i], memory_order_acquire);

		if (!rx || leave_to_owner(rx, i, polls))
			continue;
		if (dpa_lane_ready(rx))
			n += dpa_lane_drain(rx);
		else if (!atomic_load_explicit(&rx->idle, memory_order_relaxed))
			atomic_store_explicit(&rx->idle, 1, memory_order_relaxed);
	}
	if (dpa_unlikely(atomic_load_explicit(&hw->door->any, memory_order_relaxed)))
		n += look_at_summary(hw);
	if (dpa_unlikely(dpa_udp_receives(hw->udp)))
		n += poll_wire(hw, n);
	if (dpa_unlikely(atomic_load_explicit(&hw->pend.n, memory_order_relaxed)))
		n += run_pending(hw);
	if (dpa_unlikely(atomic_load_explicit(&hw->inspect_held, memory_order_relaxed)))
		n += dpa_inspect_poll(hw);
	n += dpa_moderation_due(hw);
	if (!n) {
		dpa_settle_mine(hw);
		dpa_acks_settle(hw);
		return 0;
	}
	dpa_stir(hw);
	return n;
}

int dpa_progress_once(struct dpa_hw *hw)
{
	return progress_hw(hw, 0);
}

/*
 * Checks the ring that this thread drained last, instead of a pause: the packet that a ping-pong
 * waits for comes there. True: it is there.
 */
static bool watch_rings(const struct dpa_hw *hw)
{
	const struct dpa_thread *me = &dpa_me;

	if (dpa_unlikely(!me->watch || me->watch_of != hw->serial)) {
		dpa_pause();
		return false;
	}
	for (int i = 0; i < DPA_RING_CHECKS; i++)
		if (dpa_lane_ready(me->watch))
			return true;
	return false;
}

static inline int progress_poll(struct dpa_hw_ctx *ctx, bool held)
{
	struct dpa_thread *me = &dpa_me;
	struct dpa_hw *hw = ctx->hw;
	int n = progress_hw(hw, DPA_RING_SKIP);

	if (!n && !dpa_udp_receives(hw->udp) && watch_rings(hw))
		n = progress_hw(hw, DPA_RING_SKIP);

	me->polls = true;
	dpa_app_is_at_it(hw);
	if (dpa_likely(n)) {
		me->idle_polls = me->since_yield = 0;
		/* This thread may not run again for a peer with a pending wake-up, */
		if (dpa_unlikely(atomic_load_explicit(&hw->sleep.service, memory_order_relaxed)) &&
		    atomic_load_explicit(&hw->kicks_owed, memory_order_relaxed))
			dpa_settle_kicks(hw);
		/* nor for one with a pending ACK. */
		if (dpa_unlikely(atomic_load_explicit(&hw->sleep.service, memory_order_relaxed)))
			dpa_acks_settle(hw);
		return n;
	}
	dpa_sched_idle_poll(hw, held);
	return 0;
}

int dpa_hw_progress(struct dpa_hw_ctx *ctx)
{
	return progress_poll(ctx, false);
}

int dpa_hw_progress_held(struct dpa_hw_ctx *ctx)
{
	return progress_poll(ctx, true);
}

/* Another polling thread sets the word again before the progress thread uses it. */
void dpa_hw_idle(struct dpa_hw_ctx *ctx)
{
	struct dpa_hw *hw = ctx->hw;

	if (atomic_exchange_explicit(&hw->app_polled, 0, memory_order_relaxed))
		dpa_wake_self(hw);
}
