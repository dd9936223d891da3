/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* peer.h - another process of the board, or this one: how it is met, and what is known of it. */
#ifndef DPA_LINK_PEER_H
#define DPA_LINK_PEER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "ctx/export.h"
#include "link/lane.h"

struct dpa_hw;
struct dpa_area_map;

enum dpa_peer_state { DPA_PEER_CONNECTING, DPA_PEER_UP, DPA_PEER_DEAD };

/* Another process of the board (or this one: loopback). Type-stable. */
struct dpa_peer {
	struct dpa_hw *hw;
	uint32_t slot, gen;
	_Atomic uint32_t state; /* enum dpa_peer_state; written under hw->peer_lock */
	pid_t pid;		/* in our pid namespace; 0: not visible */
	bool wire;		/* another host: a struct dpa_remote (link/wire.h) */
	bool can_pull;		/* process_vm_readv reaches its memory: tried when its hello came */
	dpa_spin_t look_lock;	/* `export` is not unmapped under who looks for hazards */
	/*
	 * Of each of its hazards the word that was waited for in vain; 0: none. Written and read by
	 * whoever waits, relaxed: who misses one waits for himself
	 */
	_Atomic uint64_t vain[DPA_HAZARDS];
	/* time stamp counter when it was alive last, as far as is known; relaxed */
	_Atomic uint64_t seen_alive;
	dpa_spin_t fd_lock; /* wake_fd and wait_fd are not closed under a waker */
	int pidfd, wake_fd, wait_fd, tx_fd;
	int sock, sock2; /* connections: ours, or the first; and one that crossed it */
	_Atomic uint32_t
		suspect; /* a connection ended or failed: the service thread asks the board */
	_Atomic uint32_t rx_up; /* its lanes to us are mapped */
	/*
	 * Tries to meet it for which there was no descriptor, here or there. Counted by whoever
	 * tries, compared by each QP that waits for it; relaxed.
	 */
	_Atomic uint32_t no_fds;
	uint32_t no_fds_there; /* no_fds of its board record at our last look; under peer_lock */
	/* ns since when datagrams wait until it is UP; 0: none does. Set once, by the first
	 * (relaxed) */
	_Atomic uint64_t waited;
	/*
	 * How much the peer had taken when the end of a QP waited for it in vain; 0: none did, or
	 * it had taken all.
	 * Written and read by threads that destroy QPs, relaxed: a thread that misses it waits
	 * its own time (cmd/leave.c).
	 */
	_Atomic uint64_t left_at;
	struct dpa_door *door;
	const struct dpa_export *export;
	/* its shared memory, and which areas of it are mapped here; NULL: none was ever
	 * (direct/area.c) */
	int share_fd;
	dpa_spin_t map_lock;
	_Atomic(struct dpa_area_map *) maps;
	struct dpa_tx tx[DPA_LANES];
	struct dpa_rx rx[DPA_LANES];
	void *tx_map, *rx_map;
	struct dpa_peer *next; /* all peers ever */
};

/*
 * The conditions of the fast paths of sending that others write, and that qp->slow therefore lacks:
 * the ring is there and loses nothing (relaxed), the peer is UP (relaxed).
 */
DPA_STEP bool dpa_link_is_plain(const struct dpa_hw_qp *qp)
{
	return qp->tx && !dpa_lossy(qp) &&
	       atomic_load_explicit(&qp->peer->state, memory_order_relaxed) == DPA_PEER_UP;
}

#define DPA_LANES_BYTES (DPA_LANES * sizeof(struct dpa_lane_shm))

int dpa_link_init(struct dpa_hw *hw);
void dpa_link_fini(struct dpa_hw *hw);
/* The peer that owns a QPN of this board, connecting if need be. NULL: nobody (errno says why). */
struct dpa_peer *dpa_peer_of_qpn(struct dpa_hw *hw, uint32_t qpn);
void dpa_peer_suspect(struct dpa_peer *p);
void dpa_peer_forget_fds(struct dpa_peer *p);
/* hot.c: under no lock. Watches a lane from now on; does so no more. */
void dpa_hot_add(struct dpa_hw *hw, struct dpa_rx *rx);
void dpa_hot_drop(struct dpa_hw *hw, struct dpa_rx *rx);
/* Parked EU, twice a second: those that could not be reached are tried again. */
void dpa_peers_meet(struct dpa_hw *hw);
void dpa_sock_listen_again(struct dpa_hw *hw);

#endif
