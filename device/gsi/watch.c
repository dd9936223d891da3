/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * watch.c - processes that died with QP1 open, and processes that could open it.
 *
 * Each process checks at its ticks whether the next process with an endpoint, by process index,
 * lives. If that one is dead, the checker reaps all dead processes, which increments head.cm_died.
 * Each process sees the new value at its next look, and tries to take over the ids. Its driver
 * sends requests again that have no answer: the dead process may not have received them.
 *
 * Ticks come twice a second in processes with an endpoint, and in the process in front of each of
 * them; in others they may back off (eu/quiet.c). A process that opens an endpoint wakes the one in
 * front of it, and a process that closes the device, or exits, the one in front of itself. If a process
 * in front is killed, the next one takes its place at its own next tick; one that is stopped (SIGSTOP)
 * watches again when it runs.
 */
#include "ctx/hw.h"
#include "link/kick.h"
#include "gsi/endpoint.h"

/* One `need` for the whole process. It is called under the lock: no call comes after its removal.
 */
static dpa_spin_t need_lock;
static dpa_gsi_fn *need_fn;
static void *need_arg;

void dpa_gsi_child(void)
{
	dpa_spin_unlock(&need_lock);
	dpa_gsi_child_open();
}

void dpa_hw_gsi_on_need(dpa_gsi_fn *need, void *arg)
{
	dpa_spin_lock(&need_lock);
	__atomic_store_n(&need_fn, need, __ATOMIC_RELAXED);
	need_arg = arg;
	dpa_spin_unlock(&need_lock);
	if (need)
		dpa_gsi_nudge();
}

void dpa_gsi_need(void)
{
	dpa_spin_lock(&need_lock);
	if (need_fn)
		need_fn(need_arg);
	dpa_spin_unlock(&need_lock);
}

bool dpa_gsi_wants_ticks(struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->gsi.qpn, memory_order_relaxed) ||
	       __atomic_load_n(&need_fn, __ATOMIC_RELAXED);
}

bool dpa_gsi_is_watching(struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->gsi.qpn, memory_order_relaxed) ||
	       atomic_load_explicit(&hw->gsi.look, memory_order_relaxed) ||
	       (__atomic_load_n(&need_fn, __ATOMIC_RELAXED) && dpa_board_gsi_is_next(hw->board));
}

/* Calls `ready`. False: this process does not have QP1 open. */
static bool call_ready(struct dpa_hw *hw)
{
	struct dpa_hw_gsi *g;

	dpa_spin_lock(&hw->gsi.lock);
	g = hw->gsi.end;
	if (g)
		g->ready(g->arg);
	dpa_spin_unlock(&hw->gsi.lock);
	return g;
}

void dpa_gsi_look(struct dpa_hw *hw)
{
	uint32_t died = dpa_board_gsi_died(hw->board);
	bool asked = atomic_load_explicit(&hw->gsi.look, memory_order_relaxed) &&
		     atomic_exchange_explicit(&hw->gsi.look, 0, memory_order_acq_rel);
	bool orphans, more = died != hw->gsi.seen;
	struct dpa_board_gsi g;

	if (dpa_likely(!more && !asked))
		return;
	hw->gsi.seen = died;
	if (more)
		atomic_store_explicit(&hw->gsi.died, 1, memory_order_release);
	orphans = dpa_board_cmid_orphans(hw->board);
	if (orphans)
		atomic_store_explicit(&hw->gsi.orphans, 1, memory_order_release);
	if ((orphans || more) && call_ready(hw))
		return;
	if (orphans &&
	    /* otherwise that process takes them over */
	    !dpa_board_gsi_next(hw->board, hw->board->slot, &g))
		dpa_gsi_need();
}

void dpa_gsi_tick(struct dpa_hw *hw)
{
	if (!dpa_gsi_wants_ticks(hw))
		return;
	dpa_board_gsi_watch(hw->board);
	dpa_gsi_look(hw);
}

bool dpa_hw_gsi_there(struct dpa_hw_gsi *g, uint32_t id)
{
	const uint32_t board = id >> 24;

	return !dpa_gsi_alive(g) || board == g->hw->board->board_num || !board || board > 254 ||
	       dpa_board_num_there(board);
}
