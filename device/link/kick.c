/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kick.c - wake peers for which something was published. */
#include "ctx/schedule.h"
#include "link/kick.h"
#include "util/sys.h"

static bool is_loopback_peer(const struct dpa_peer *p)
{
	return p->slot == p->hw->board->slot && p->gen == p->hw->board->gen;
}

/*
 * True if this is a visible ring to this process and it is empty. Entries that follow get a wake-up
 * of their own.
 */
static bool is_drained(struct dpa_tx *tx)
{
	struct dpa_peer *p = tx->peer;

	return is_loopback_peer(p) && !dpa_lane_ready(&p->rx[tx - p->tx]);
}

static void set_summary(const struct dpa_tx *tx)
{
	struct dpa_door *door = tx->peer->door;
	uint32_t me = tx->peer->hw->board->slot;

	dpa_door_set(door, me);
}

void dpa_tx_look(const struct dpa_tx *tx)
{
	dpa_full_fence();
	set_summary(tx);
}

bool dpa_tx_announce(struct dpa_tx *tx)
{
	struct dpa_peer *p = tx->peer;

	if (p->wire || !is_loopback_peer(p) ||
	    atomic_load_explicit(&p->state, memory_order_acquire) != DPA_PEER_UP) {
		dpa_tx_kick(tx);
		return true;
	}
	dpa_full_fence(); /* as in dpa_tx_kick() */
	set_summary(tx);
	return false;
}

void dpa_tx_kick(struct dpa_tx *tx)
{
	struct dpa_peer *p = tx->peer;
	struct dpa_door *door;

	if (dpa_unlikely(p->wire)) /* sent already */
		return;
	atomic_store_explicit(&tx->kick_owed, 0, memory_order_relaxed);
	if (dpa_unlikely(atomic_load_explicit(&p->state, memory_order_acquire) != DPA_PEER_UP))
		return;
	door = p->door;
	/* Pairs with the sleeper's fence between its sleep word and its last check of the rings. */
	dpa_full_fence();
	if (!atomic_load_explicit(&tx->shm->watched, memory_order_relaxed))
		set_summary(tx);
	uint32_t sleep = atomic_load_explicit(&door->sleep, memory_order_relaxed);

	if (dpa_unlikely(sleep) && !is_drained(tx)) {
		dpa_count(p->hw, DPA_CNT_wakeups_sent, 1);
		dpa_spin_lock(&p->fd_lock);
		dpa_eventfd_wake(sleep == 2 ? p->wait_fd : p->wake_fd);
		dpa_spin_unlock(&p->fd_lock);
	}
}

void dpa_settle_kicks(struct dpa_hw *hw)
{
	atomic_exchange_explicit(&hw->kicks_owed, 0, memory_order_acq_rel);
	for (uint32_t s = 0; s < dpa_peers_end(hw); s++) {
		struct dpa_peer *p = atomic_load_explicit(&hw->peers[s], memory_order_acquire);

		if (!p)
			continue;
		for (uint32_t i = 0; i < DPA_LANES; i++)
			if (atomic_load_explicit(&p->tx[i].kick_owed, memory_order_relaxed))
				dpa_tx_kick(&p->tx[i]);
	}
}
