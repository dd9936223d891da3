/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* peer_end.c - the end of a peer: takes in the packets that it sent last, then removes it. */
#include "direct/direct.h"
#include "direct/raw.h"
#include "eu/peer_end.h"
#include "gsi/gsi.h"
#include "link/inspect.h"
#include "transport/api.h"
#include "eu/drain.h"

/*
 * Releases the pages and leaves zeros at the address, in one step: a late reader finds an empty ring,
 * and does no harm. ThreadSanitizer takes mmap() for stores to the whole range; it does not see the
 * system call.
 */
static void blank_map(void *map)
{
	if (map)
		dpa_raw_mmap(map, DPA_LANES_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* four times the time that a packet waits for a receive (transport/rx.c) */
#define LAST_NS 200000000u

/*
 * Takes in the packets that the peer published before the call: before it died, or before it ended
 * a connection. A ring holds DPA_LANE_SLOTS of them. Packets that must wait get `timeout` ns in
 * total; then the rest of their ring is dropped.
 */
static void drain_last(struct dpa_peer *p, uint64_t timeout)
{
	uint64_t until = timeout ? dpa_now_ns() + timeout : 0;
	uint32_t n = 0;

	if (!atomic_load_explicit(&p->rx_up, memory_order_acquire))
		return;
	for (uint32_t i = 0; i < DPA_LANES; i++)
		for (uint32_t k = 0; k < DPA_LANE_SLOTS && dpa_lane_ready(&p->rx[i]);) {
			int got = dpa_lane_drain_wait(&p->rx[i]);

			k += (uint32_t)got;
			if (!got && (!until || dpa_now_ns() >= until))
				break;
			if (!got)
				dpa_relax(&n);
		}
}

void dpa_peers_drain(struct dpa_hw *hw)
{
	for (uint32_t s = 0, end = dpa_peers_end(hw); s < end; s++) {
		struct dpa_peer *p = atomic_load_explicit(&hw->peers[s], memory_order_acquire);

		if (!p)
			continue;
		drain_last(p, 0);
		dpa_acks_wait(p); /* a thread may be processing the last one */
	}
}

/* Context: service thread only. */
void dpa_peer_died(struct dpa_hw *hw, struct dpa_peer *p)
{
	if (atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_DEAD)
		return;
	drain_last(p, LAST_NS);
	dpa_inspect_last(p);
	dpa_spin_lock(&hw->peer_lock);
	atomic_store_explicit(&p->state, DPA_PEER_DEAD, memory_order_release);
	if (atomic_load_explicit(&hw->peers[p->slot], memory_order_relaxed) == p)
		atomic_store_explicit(&hw->peers[p->slot], NULL, memory_order_release);
	dpa_spin_unlock(&hw->peer_lock);
	dpa_count(hw, DPA_CNT_peers_died, 1);
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		dpa_hot_drop(hw, &p->rx[i]);
		dpa_spin_lock(&p->rx[i].lock);
	}
	blank_map(p->rx_map);
	for (uint32_t i = 0; i < DPA_LANES; i++)
		dpa_spin_unlock(&p->rx[i].lock);
	for (uint32_t i = 0; i < hw->qps.nslab; i++) {
		struct dpa_hw_qp *qp = hw->qps.slab[i];

		dpa_qplock_lock(&qp->lock);
		if (qp->qpn && qp->peer == p)
			dpa_requester_peer_dead(qp);
		dpa_qp_leave(qp);
	}
	for (uint32_t i = 0; i < DPA_LANES; i++)
		dpa_spin_lock(&p->tx[i].lock);
	blank_map(p->tx_map);
	if (p->door) {
		mmap(p->door, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		     -1, 0);
	}
	for (uint32_t i = 0; i < DPA_LANES; i++)
		dpa_spin_unlock(&p->tx[i].lock);
	dpa_spin_lock(&p->look_lock);
	/* read under the locks of rings and QPs, which this thread has taken since, and this one */
	if (p->export)
		munmap((void *)(uintptr_t)p->export, sizeof(*p->export));
	p->export = NULL;
	dpa_spin_unlock(&p->look_lock);
	dpa_areas_unmap(p); /* as `export` */
	dpa_peer_forget_fds(p);
	dpa_board_reap(hw->board);
	dpa_gsi_look(hw); /* it may have left ids */
}

/* All peers ever created: a peer whose process index was reused is in no other table. */
bool dpa_peers_check(struct dpa_hw *hw)
{
	struct dpa_peer *p;
	bool left = false;

	atomic_store_explicit(&hw->live.suspects, 0, memory_order_relaxed);
	dpa_spin_lock(&hw->peer_lock);
	p = hw->all_peers;
	dpa_spin_unlock(&hw->peer_lock);
	for (; p; p = p->next) {
		if (!atomic_load_explicit(&p->suspect, memory_order_relaxed) ||
		    atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_DEAD)
			continue;
		if (!dpa_board_alive(hw->board, p->slot, p->gen))
			dpa_peer_died(hw, p);
		else if (atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_UP &&
			 (p->sock >= 0 || p->sock2 >= 0))
			atomic_store_explicit(&p->suspect, 0, memory_order_relaxed);
		else
			left = true;
	}
	if (left) { /* alive without a connection: no other event will show its end */
		uint32_t none = 0;

		atomic_compare_exchange_strong_explicit(&hw->live.suspects, &none, 1,
							memory_order_relaxed, memory_order_relaxed);
	}
	return left;
}
