/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hot.c - rings that threads poll directly. The senders of all other rings set a summary bit. */
#include "link/kick.h"
#include "link/peer.h"

/* Polls a ring directly. The ring that it replaces uses its summary bit again. */
void dpa_hot_add(struct dpa_hw *hw, struct dpa_rx *rx)
{
	static _Atomic uint32_t victim;
	struct dpa_rx *old = NULL;
	int at = -1;

	dpa_spin_lock(&hw->hot_lock);
	if (atomic_load_explicit(&rx->hot, memory_order_relaxed))
		goto out;
	for (int i = 0; i < DPA_HOT_LANES && at < 0; i++)
		if (!atomic_load_explicit(&hw->hot[i], memory_order_relaxed))
			at = i;
	if (at < 0) {
		at = (int)(atomic_fetch_add_explicit(&victim, 1, memory_order_relaxed) %
			   DPA_HOT_LANES);
		old = atomic_load_explicit(&hw->hot[at], memory_order_relaxed);
		atomic_store_explicit(&old->hot, 0, memory_order_relaxed);
		atomic_store_explicit(
			&atomic_load_explicit(&old->shm, memory_order_relaxed)->watched, 0,
			memory_order_seq_cst);
	}
	atomic_store_explicit(&rx->hot, 1, memory_order_relaxed);
	atomic_store_explicit(&hw->hot[at], rx, memory_order_seq_cst);
	atomic_store_explicit(&atomic_load_explicit(&rx->shm, memory_order_relaxed)->watched, 1,
			      memory_order_release);
out:
	dpa_spin_unlock(&hw->hot_lock);
	if (old) {
		/*
		 * entries that came between the last check here and the sender's next check of
		 * `watched`
		 */
		uint32_t s = old->peer->slot;

		dpa_full_fence();
		if (dpa_lane_ready(old)) {
			dpa_door_set(hw->door, s);
		}
	}
}

void dpa_hot_drop(struct dpa_hw *hw, struct dpa_rx *rx)
{
	dpa_spin_lock(&hw->hot_lock);
	for (int i = 0; i < DPA_HOT_LANES; i++)
		if (atomic_load_explicit(&hw->hot[i], memory_order_relaxed) == rx)
			atomic_store_explicit(&hw->hot[i], NULL, memory_order_release);
	atomic_store_explicit(&rx->hot, 0, memory_order_relaxed);
	dpa_spin_unlock(&hw->hot_lock);
}
