/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* peer.h - another process of the board, or this one: how it is found, and its state. */
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
	pid_t pid;		/* in this pid namespace; 0: not visible */
	bool wire;		/* another host: a struct dpa_remote (link/udp/wire.h) */
	/* process_vm_readv reaches its memory: tested when its hello came */
	bool can_pull;
	/* keeps `export` mapped for a thread that reads its hazard pointers */
	dpa_spin_t look_lock;
	/*
	 * For each of its hazard pointers the value that a thread waited for without success; 0:
	 * none. Written and read by waiters, relaxed: a waiter that misses it waits once more.
	 */
	_Atomic uint64_t vain[DPA_HAZARDS];
	/* Time stamp counter when the peer was last found alive; relaxed. */
	_Atomic uint64_t seen_alive;
	dpa_spin_t fd_lock; /* keeps wake_fd and wait_fd open for a waker */
	int pidfd, wake_fd, wait_fd, tx_fd;
	int sock, sock2; /* connections: ours or the first one; a second one that crossed it */
	_Atomic uint32_t
		/*
		 * a connection ended or failed: the service thread checks the process on the board
		 */
		suspect;
	_Atomic uint32_t rx_up; /* its rings to this process are mapped */
	/*
	 * Number of attempts to connect for which a descriptor was missing, on either side.
	 * Incremented by the connecting thread, compared by each QP that waits for it; relaxed.
	 */
	_Atomic uint32_t no_fds;
	uint32_t no_fds_there; /* no_fds of its board record at the last check; under peer_lock */
	/*
	 * Time (ns) since which datagrams wait until it is UP; 0: none waits. Set once, by the
	 * first (relaxed).
	 */
	_Atomic uint64_t waited;
	/*
	 * Amount that the peer had taken when the destruction of a QP waited for it without
	 * success; 0: this did not happen, or it had taken everything. Written and read by threads
	 * that destroy QPs, relaxed: a thread that misses it waits once more (cmd/leave.c).
	 */
	_Atomic uint64_t left_at;
	struct dpa_door *door;
	const struct dpa_export *export;
	/* the areas of its shared memory that are mapped here; NULL: never (direct/area.c) */
	dpa_spin_t map_lock;
	_Atomic(struct dpa_area_map *) maps;
	struct dpa_tx tx[DPA_LANES];
	struct dpa_rx rx[DPA_LANES];
	void *tx_map, *rx_map;
	struct dpa_peer *next; /* list of all peers ever created */
};

/*
 * The conditions of the fast send paths that other threads change, and that qp->slow therefore does
 * not include: the ring exists and loses nothing (relaxed), the peer is UP (relaxed).
 */
DPA_STEP bool dpa_link_is_plain(const struct dpa_hw_qp *qp)
{
	return qp->tx && !dpa_lossy(qp) &&
	       atomic_load_explicit(&qp->peer->state, memory_order_relaxed) == DPA_PEER_UP;
}

#define DPA_LANES_BYTES (DPA_LANES * sizeof(struct dpa_lane_shm))

int dpa_link_init(struct dpa_hw *hw);
void dpa_link_fini(struct dpa_hw *hw);
/*
 * Return the peer that owns a QPN of this board; begin to connect if it is new. NULL: no peer
 * (errno).
 */
struct dpa_peer *dpa_peer_of_qpn(struct dpa_hw *hw, uint32_t qpn);
void dpa_peer_suspect(struct dpa_peer *p);
void dpa_peer_forget_fds(struct dpa_peer *p);
/* hot.c: begin, and end, to poll a ring directly. Context: no lock held. */
void dpa_hot_add(struct dpa_hw *hw, struct dpa_rx *rx);
void dpa_hot_drop(struct dpa_hw *hw, struct dpa_rx *rx);
/* Progress thread, twice a second: try again to connect to peers that could not be reached. */
void dpa_peers_meet(struct dpa_hw *hw);
void dpa_sock_listen_again(struct dpa_hw *hw);

#endif
