/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kick.h - wake a peer after something was published for it. */
#ifndef DPA_LINK_KICK_H
#define DPA_LINK_KICK_H

#include <stdbool.h>
#include <stdint.h>
#include "ctx/thread.h"
#include "link/peer.h"

/* After publishing: full fence, read the peer's sleep word, wake the peer if it sleeps. */
void dpa_tx_kick(struct dpa_tx *tx);
/*
 * Full fence, then set the summary bit: a thread of the peer that polls will look. Wakes no thread.
 */
void dpa_tx_look(const struct dpa_tx *tx);
/*
 * For a ring that the peer does not watch: set the summary bit. True: the wake-up is done, too.
 * False: it is pending.
 */
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

/* Published: the wake-up is pending. It comes at this thread's next progress, or within 1 ms. */
static inline void dpa_tx_owe_kick(struct dpa_tx *tx, struct dpa_hw *hw)
{
	struct dpa_thread *me = &dpa_me;

	/*
	 * A ring that is not watched needs its summary bit, once. There is no reason to delay it,
	 * except in this process, where this thread may be the one that takes the entry.
	 */
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
 * After posting. A peer that is seen asleep is woken now. To detect a peer that is just falling
 * asleep takes a fence, and a fence waits for every cache line that the post wrote. So that check
 * is delayed: a polling thread does it at its next poll that finds nothing, the progress thread
 * within 1 ms.
 */
static inline void dpa_tx_posted(struct dpa_tx *tx, struct dpa_hw *hw)
{
	if (tx->peer->wire)
		return;
	if (!dpa_me.polls || atomic_load_explicit(&hw->sleep.service, memory_order_relaxed) ||
	    atomic_load_explicit(&tx->peer->door->sleep, memory_order_relaxed))
		dpa_tx_kick(tx);
	else
		dpa_tx_owe_kick(tx, hw);
}

/* Do the pending wake-ups of all threads; of this thread. */
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

/*
 * How much a peer of this adapter has taken from this process's link to it, as a number to
 * compare. 0: it has taken everything, so it does not delay what is not sent yet (a rate limit
 * may). Another value stands for a peer that is not UP.
 */
uint64_t dpa_peer_taken(const struct dpa_peer *p);
/*
 * True if the destruction of a QP waited for this peer without success, and the peer has taken
 * nothing since.
 */
bool dpa_peer_is_spent(const struct dpa_peer *p);

#endif
