/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * quiet.c - the ticks of a quiet process back off. The progress thread ticks twice a second while
 * one of the reasons below holds; else its intervals double.
 *
 *      a reason holds
 *        .------.
 *        v      |     none holds              half a second passed,
 *      TICKING -'--------------------> TRIAL  and the word is still 1
 *        ^ ^     word = 1, fence,        | ---------------------------> QUIET --.
 *        | |     watch the waiter's fd   |                               | ^    | 1, 2, 4, 8, 16 s
 *        | '-----------------------------'                               | '----' passed: a tick
 *        |   a reason, a descriptor, or the word is 0                    |
 *        '---------------------------------------------------------------'
 *
 * hw->quiet is the word. A thread that posts, takes packets in or makes a peer sees 1 there, makes it
 * 0 and wakes the progress thread (dpa_stir()). It has no fence. So the first sleep with the word is
 * of half a second: what a thread did just before it could see the 1 is visible at the tick behind
 * it, as a reason. Later each thread sees the 1.
 *
 * Everything else that needs a tick makes a descriptor of the progress thread readable: the end of a
 * peer, a new connection, an address, and a tool, which connects to the process's socket
 * (dpa_board_wake()). A wake-up for a thread in dpa_hw_wait_fd() is watched, too: that thread may
 * have left by siglongjmp(). Only what has none of these waits for the last interval: a process that
 * watched another one for this process, and was killed or stopped; a tool that was killed between its
 * request and its wake-up, or runs in another network namespace (without a /proc that shows it: else the
 * board is refused).
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "eu/inject.h"
#include "eu/progress.h"
#include "eu/quiet.h"
#include "eu/sched.h"
#include "gsi/gsi.h"
#include "link/inspect.h"
#include "link/peer.h"
#include "link/sock.h"
#include "link/udp/udp.h"
#include "tables/tables.h"
#include "util/sys.h"

/* ---------------------------------------------------------------- reasons */

static bool has_moved(struct dpa_hw *hw)
{
	return hw->tick.moved;
}

static bool has_requests(struct dpa_hw *hw)
{
	return hw->tick.waiting;
}

static bool has_timer(struct dpa_hw *hw)
{
	return dpa_timer_left(hw) != UINT64_MAX ||
	       atomic_load_explicit(&hw->acks.owed, memory_order_relaxed);
}

/* A peer that is UP shows its end by its pidfd or a connection; this process itself has neither. */
static bool needs_look(const struct dpa_hw *hw, const struct dpa_peer *p)
{
	const uint32_t state = atomic_load_explicit(&p->state, memory_order_acquire);

	if (state == DPA_PEER_CONNECTING)
		return true;
	return state == DPA_PEER_UP && p->door != hw->door && p->pidfd < 0 && p->sock < 0 &&
	       p->sock2 < 0;
}

static bool has_open_peer(struct dpa_hw *hw)
{
	const struct dpa_peer *p;

	if (atomic_load_explicit(&hw->live.suspects, memory_order_acquire))
		return true;
	dpa_spin_lock(&hw->peer_lock);
	for (p = hw->all_peers; p && !needs_look(hw, p); p = p->next)
		;
	dpa_spin_unlock(&hw->peer_lock);
	return p;
}

static bool has_no_listener(struct dpa_hw *hw)
{
	return hw->listen_off;
}

/* The state, too: behind another instance, this process waits for the port. */
static bool has_wire(struct dpa_hw *hw)
{
	return dpa_udp_receives(hw->udp) ||
	       atomic_load_explicit(&hw->udp->state, memory_order_acquire) != DPA_UDP_CLOSED;
}

static bool has_replicas(struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->xrc.nbranch, memory_order_relaxed) ||
	       atomic_load_explicit(&hw->xrc.refused, memory_order_relaxed) ||
	       atomic_load_explicit(&hw->xrc.wanted, memory_order_relaxed);
}

static bool is_metered(struct dpa_hw *hw)
{
	return hw->meter.on;
}

static bool (*const reasons[DPA_UNQUIETS])(struct dpa_hw *hw) = {
	[DPA_UNQUIET_MOVED] = has_moved,
	[DPA_UNQUIET_WAITING] = has_requests,
	[DPA_UNQUIET_TIMER] = has_timer,
	[DPA_UNQUIET_PEER] = has_open_peer,
	[DPA_UNQUIET_LISTENER] = has_no_listener,
	[DPA_UNQUIET_WIRE] = has_wire,
	[DPA_UNQUIET_CM] = dpa_gsi_is_watching,
	[DPA_UNQUIET_XRC] = has_replicas,
	[DPA_UNQUIET_INSPECT] = dpa_inspect_wants_ticks,
	[DPA_UNQUIET_INJECT] = dpa_inject_wants_ticks,
	[DPA_UNQUIET_METER] = is_metered,
};

enum dpa_unquiet dpa_unquiet(struct dpa_hw *hw)
{
	for (uint32_t i = DPA_QUIET + 1; i < DPA_UNQUIETS; i++)
		if (reasons[i](hw))
			return (enum dpa_unquiet)i;
	return DPA_QUIET;
}

/* ---------------------------------------------------------------- states */

/* False: the application has closed a descriptor. */
static bool watch_waiter(struct dpa_hw *hw)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = DPA_EP_WAIT};

	return !dpa_sys_epoll_ctl(hw->fd.epoll, EPOLL_CTL_ADD, hw->fd.wait, &ev);
}

static void begin_trial(struct dpa_hw *hw)
{
	if (!watch_waiter(hw))
		return;
	dpa_backoff_reset(&hw->tick.backoff);
	hw->tick.quiet = true;
	atomic_store_explicit(&hw->quiet, 1, memory_order_relaxed);
	dpa_full_fence();
}

/* A thread that begins to wait meanwhile has set `waiter` before a peer can wake it: it gets the count. */
void dpa_quiet_take_wait(struct dpa_hw *hw)
{
	eventfd_t n;

	if (atomic_load_explicit(&hw->sleep.waiter, memory_order_acquire))
		return;
	if (eventfd_read(hw->fd.wait, &n))
		return;
	dpa_full_fence();
	if (atomic_load_explicit(&hw->sleep.waiter, memory_order_acquire))
		dpa_eventfd_wake(hw->fd.wait);
}

void dpa_quiet_leave(struct dpa_hw *hw)
{
	hw->tick.woken = false;
	if (!hw->tick.quiet)
		return;
	hw->tick.quiet = false;
	atomic_store_explicit(&hw->quiet, 0, memory_order_relaxed);
	dpa_sys_epoll_ctl(hw->fd.epoll, EPOLL_CTL_DEL, hw->fd.wait, NULL);
}

uint64_t dpa_quiet_wait(struct dpa_hw *hw)
{
	const bool stirred =
		hw->tick.quiet && !atomic_load_explicit(&hw->quiet, memory_order_acquire);

	if (hw->tick.woken || stirred || dpa_unquiet(hw) != DPA_QUIET) {
		dpa_quiet_leave(hw);
		return DPA_TICK_NS;
	}
	if (!hw->tick.quiet) {
		begin_trial(hw);
		return DPA_TICK_NS;
	}
	return (uint64_t)dpa_backoff_step(&hw->tick.backoff, DPA_QUIET_MIN, DPA_QUIET_MAX) *
	       DPA_TICK_NS;
}

void dpa_quiet_hand_over(struct dpa_hw *hw)
{
	uint32_t slot, gen;

	if (dpa_board_gsi_is_next(hw->board) && dpa_board_proc_before(hw->board, &slot, &gen))
		dpa_board_wake(hw->board, slot, gen);
}
