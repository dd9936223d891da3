/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kick.h - wake a peer after something was published for it. */
#ifndef DPA_LINK_KICK_H
#define DPA_LINK_KICK_H

#include <stdbool.h>
#include <stdint.h>
#include "ctx/thread.h"
#include "link/peer.h"

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

/* Wake the peers that any thread has left to be woken; those that this thread has. */
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
 * How much a peer of this board has taken from us, or that it has not been met. 0: it has taken
 * all, and does not hold up what was not sent (a rate does, say).
 */
uint64_t dpa_peer_taken(const struct dpa_peer *p);
/* The end of a QP waited for it in vain, and it has taken nothing since. */
bool dpa_peer_is_spent(const struct dpa_peer *p);

#endif
