/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Peers: the other processes of the board, and this one (loopback, which is a lane to ourselves).
 *
 *   (none) --find--> CONNECTING --hello or answer--> UP --pidfd, hang-up--> DEAD
 *                        '------------ECONNREFUSED, hang-up----------------^
 *
 * A peer's structure stays where it is until the device closes, for the data path holds pointers to
 * it; the memory of a dead peer's lanes is given back by mapping zero pages over it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>
#include "ctx/schedule.h"
#include "util/sys.h"
#include "link/copy.h"
#include "link/kick.h"
#include "transport/api.h"
#include "eu/progress.h"
#include "gsi/gsi.h"
#include "link/direct.h"
#include "link/inspect.h"
#include "link/sock.h"
#include "link/wire.h"

#define LANES_BYTES (DPA_LANES * sizeof(struct dpa_lane_shm))

static struct dpa_lane_shm *lane_at(void *map, uint32_t i)
{
	return (struct dpa_lane_shm *)map + i;
}

static int make_tx(struct dpa_peer *p)
{
	p->tx_fd = memfd_create("dpa-lanes", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (p->tx_fd < 0)
		return errno;
	if (ftruncate(p->tx_fd, LANES_BYTES) ||
	    fcntl(p->tx_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return errno;
	p->tx_map = mmap(NULL, LANES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, p->tx_fd, 0);
	if (p->tx_map == MAP_FAILED) {
		p->tx_map = NULL;
		return errno;
	}
	madvise(p->tx_map, LANES_BYTES, MADV_DONTFORK);
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		p->tx[i].shm = lane_at(p->tx_map, i);
		p->tx[i].peer = p;
	}
	return 0;
}

/* The lanes from the peer to us, as it made them. */
void dpa_peer_set_rx(struct dpa_peer *p, void *map)
{
	p->rx_map = map;
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		p->rx[i].peer = p;
		atomic_store_explicit(&p->rx[i].shm, lane_at(map, i), memory_order_release);
	}
	dpa_inspect_lanes(p);
}

/* NULL with errno. */
struct dpa_peer *dpa_peer_new(struct dpa_hw *hw, uint32_t slot, uint32_t gen)
{
	struct dpa_peer *p;
	int err;

	err = posix_memalign((void **)&p, DPA_CACHE_LINE, sizeof(*p));
	if (err) {
		errno = err;
		return NULL;
	}
	memset(p, 0, sizeof(*p));
	p->hw = hw;
	p->slot = slot;
	p->gen = gen;
	p->pidfd = p->sock = p->sock2 = p->wake_fd = p->wait_fd = p->tx_fd = p->share_fd = -1;
	err = make_tx(p);
	if (err) {
		if (p->tx_fd >= 0)
			close(p->tx_fd);
		free(p);
		errno = err;
		return NULL;
	}
	p->next = hw->all_peers;
	hw->all_peers = p;
	return p;
}

static void forget_fds(struct dpa_peer *p)
{
	int *fds[] = {&p->pidfd,   &p->sock,  &p->sock2,   &p->wake_fd,
		      &p->wait_fd, &p->tx_fd, &p->share_fd};

	dpa_spin_lock(&p->fd_lock);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0) {
			/* a child that has not exec'ed yet may keep the file: it must not report
			 * here */
			dpa_sys_epoll_ctl(p->hw->epfd, EPOLL_CTL_DEL, *fds[i], NULL);
			close(*fds[i]);
		}
		*fds[i] = -1;
	}
	dpa_spin_unlock(&p->fd_lock);
}

/* Under hw->peer_lock. NULL with errno. */
static struct dpa_peer *loopback_new(struct dpa_hw *hw)
{
	struct dpa_peer *p = dpa_peer_new(hw, hw->board->slot, hw->board->gen);

	if (!p)
		return NULL;
	p->pid = hw->pid;
	p->can_pull = hw->pvm_self;
	p->door = hw->door;
	p->export = hw->export;
	p->wake_fd = fcntl(hw->wake_fd, F_DUPFD_CLOEXEC, 0);
	p->wait_fd = fcntl(hw->wait_fd, F_DUPFD_CLOEXEC, 0);
	if (p->wake_fd < 0 || p->wait_fd < 0) {
		int err = errno;

		forget_fds(p);
		hw->all_peers =
			p->next; /* under peer_lock since it came there: nobody has seen it */
		munmap(p->tx_map, LANES_BYTES);
		free(p);
		errno = err;
		return NULL;
	}
	close(p->tx_fd); /* it is handed to nobody */
	p->tx_fd = -1;
	dpa_peer_set_rx(p, p->tx_map);
	atomic_store_explicit(&p->state, DPA_PEER_UP, memory_order_release);
	atomic_store_explicit(&p->rx_up, 1, memory_order_release);
	return p;
}

struct dpa_peer *dpa_peer_get(struct dpa_hw *hw, uint32_t slot, uint32_t gen)
{
	struct dpa_peer *p = atomic_load_explicit(&hw->peers[slot], memory_order_acquire);

	if (dpa_likely(p && p->gen == gen))
		return p;
	dpa_spin_lock(&hw->peer_lock);
	p = atomic_load_explicit(&hw->peers[slot], memory_order_acquire);
	if (!p || p->gen != gen) {
		bool self = slot == hw->board->slot && gen == hw->board->gen;

		p = self ? loopback_new(hw) : dpa_peer_new(hw, slot, gen);
		if (p)
			dpa_peers_put(hw, slot, p);
	}
	dpa_spin_unlock(&hw->peer_lock);
	return p;
}

struct dpa_peer *dpa_peer_of_qpn(struct dpa_hw *hw, uint32_t qpn)
{
	uint32_t slot, gen;
	struct dpa_peer *p;

	if (!dpa_board_qpn_owner(hw->board, qpn, &slot, &gen)) {
		errno = ENOENT;
		return NULL;
	}
	p = dpa_peer_get(hw, slot, gen);
	if (!p)
		return NULL;
	if (atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_CONNECTING)
		dpa_sock_connect(p);
	return p;
}

/* Its hello is here: everything needed to send to it and to wake it. */
void dpa_peer_up(struct dpa_peer *p)
{
	dpa_spin_lock(&p->hw->peer_lock);
	if (p->state == DPA_PEER_CONNECTING)
		atomic_store_explicit(&p->state, DPA_PEER_UP, memory_order_release);
	/* only now may its lanes be drained: answers find it UP */
	atomic_store_explicit(&p->rx_up, 1, memory_order_release);
	if (p->tx_fd >= 0) /* both have it mapped */
		close(p->tx_fd);
	p->tx_fd = -1;
	dpa_spin_unlock(&p->hw->peer_lock);
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		bool waits;

		if (dpa_lane_ready(&p->rx[i]))
			dpa_hot_add(p->hw, &p->rx[i]);
		/* who saw it CONNECTING under this lock did not kick: forward.c */
		dpa_spin_lock(&p->tx[i].lock);
		waits = p->tx[i].head != p->tx[i].tail;
		dpa_spin_unlock(&p->tx[i].lock);
		if (waits)
			dpa_tx_kick(&p->tx[i]);
	}
	/* who waited for this peer is on the pending list: look at it now */
	atomic_store_explicit(&p->hw->next_timer, 0, memory_order_release);
	dpa_grant_all(p->hw); /* its hazards can be seen from now on */
}

void dpa_peers_meet(struct dpa_hw *hw)
{
	for (uint32_t s = 0; s < dpa_peers_end(hw); s++) {
		struct dpa_peer *p = atomic_load_explicit(&hw->peers[s], memory_order_acquire);

		if (p &&
		    atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_CONNECTING)
			dpa_sock_connect(p);
	}
}

/* Gives the pages back and leaves zeros at the address: a late look finds nothing and harms
 * nothing. */
static void blank(void *map)
{
	if (map)
		mmap(map, LANES_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void rx_drop(struct dpa_hw *hw, struct dpa_rx *rx)
{
	dpa_spin_lock(&hw->hot_lock);
	for (int i = 0; i < DPA_HOT_LANES; i++)
		if (atomic_load_explicit(&hw->hot[i], memory_order_relaxed) == rx)
			atomic_store_explicit(&hw->hot[i], NULL, memory_order_release);
	atomic_store_explicit(&rx->hot, 0, memory_order_relaxed);
	dpa_spin_unlock(&hw->hot_lock);
}

#define LAST_NS 200000000u /* four times as long as a packet waits for a receive (transport/rx.c) */

/*
 * Takes the packets that the peer published before the call: before it died, or before it ended a
 * connection. A ring holds DPA_LANE_SLOTS of them. A packet that must wait gets `patience` (ns) in
 * all; then the rest of its ring is left.
 */
static void drain_last(struct dpa_peer *p, uint64_t patience)
{
	uint64_t until = patience ? dpa_now_ns() + patience : 0;
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
		dpa_acks_wait(p); /* a thread may be at the last of it */
	}
}

/* Service thread only. */
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
		rx_drop(hw, &p->rx[i]);
		dpa_spin_lock(&p->rx[i].lock);
	}
	blank(p->rx_map);
	for (uint32_t i = 0; i < DPA_LANES; i++)
		dpa_spin_unlock(&p->rx[i].lock);
	for (uint32_t i = 0; i < hw->nslab; i++) {
		struct dpa_hw_qp *qp = hw->slab[i];

		dpa_qplock_lock(&qp->lock);
		if (qp->qpn && qp->peer == p)
			dpa_requester_peer_dead(qp);
		dpa_qp_leave(qp);
	}
	for (uint32_t i = 0; i < DPA_LANES; i++)
		dpa_spin_lock(&p->tx[i].lock);
	blank(p->tx_map);
	if (p->door) {
		mmap(p->door, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		     -1, 0);
	}
	for (uint32_t i = 0; i < DPA_LANES; i++)
		dpa_spin_unlock(&p->tx[i].lock);
	dpa_spin_lock(&p->look_lock);
	if (p->export) /* read under the locks of lanes and QPs, which we have had since, and this
			  one */
		munmap((void *)(uintptr_t)p->export, sizeof(*p->export));
	p->export = NULL;
	dpa_spin_unlock(&p->look_lock);
	dpa_areas_unmap(p); /* as `export` */
	forget_fds(p);
	dpa_board_reap(hw->board);
	dpa_gsi_look(hw); /* it may have left ids */
}

static bool is_loopback(const struct dpa_peer *p)
{
	return p->slot == p->hw->board->slot && p->gen == p->hw->board->gen;
}

/* Of a lane to ourselves that can be seen; what comes in later is kicked later. */
static bool is_drained(struct dpa_tx *tx)
{
	struct dpa_peer *p = tx->peer;

	return is_loopback(p) && !dpa_lane_ready(&p->rx[tx - p->tx]);
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

	if (p->wire || !is_loopback(p) ||
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

	if (dpa_unlikely(p->wire)) /* has left already */
		return;
	atomic_store_explicit(&tx->kick_owed, 0, memory_order_relaxed);
	if (dpa_unlikely(atomic_load_explicit(&p->state, memory_order_acquire) != DPA_PEER_UP))
		return;
	door = p->door;
	/* pairs with the sleeper's fence between its sleep word and its last look */
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

void dpa_peer_doubt(struct dpa_peer *p)
{
	atomic_store_explicit(&p->doubtful, 1, memory_order_relaxed);
	atomic_store_explicit(&p->hw->doubts, 2, memory_order_release);
	dpa_wake_self(p->hw);
}

/* All peers ever: one whose slot another process has by now is in no other table. */
bool dpa_peers_check(struct dpa_hw *hw)
{
	struct dpa_peer *p;
	bool left = false;

	atomic_store_explicit(&hw->doubts, 0, memory_order_relaxed);
	dpa_spin_lock(&hw->peer_lock);
	p = hw->all_peers;
	dpa_spin_unlock(&hw->peer_lock);
	for (; p; p = p->next) {
		if (!atomic_load_explicit(&p->doubtful, memory_order_relaxed) ||
		    atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_DEAD)
			continue;
		if (!dpa_board_alive(hw->board, p->slot, p->gen))
			dpa_peer_died(hw, p);
		else if (atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_UP &&
			 (p->sock >= 0 || p->sock2 >= 0))
			atomic_store_explicit(&p->doubtful, 0, memory_order_relaxed);
		else
			left = true;
	}
	if (left) { /* alive without a connection: nothing else will tell of its end */
		uint32_t none = 0;

		atomic_compare_exchange_strong_explicit(&hw->doubts, &none, 1, memory_order_relaxed,
							memory_order_relaxed);
	}
	return left;
}

int dpa_link_init(struct dpa_hw *hw)
{
	return dpa_sock_init(hw);
}

void dpa_link_fini(struct dpa_hw *hw)
{
	struct dpa_peer *p, *next;

	for (p = hw->all_peers; p; p = next) {
		next = p->next;
		forget_fds(p);
		if (p->tx_map)
			munmap(p->tx_map, LANES_BYTES);
		if (p->rx_map && p->rx_map != p->tx_map)
			munmap(p->rx_map, LANES_BYTES);
		if (p->door && p->door != hw->door)
			munmap(p->door, 4096);
		if (p->export && p->export != hw->export)
			munmap((void *)(uintptr_t)p->export, sizeof(*p->export));
		dpa_areas_unmap(p);
		free(atomic_load_explicit(&p->maps, memory_order_relaxed));
		free(p);
	}
	hw->all_peers = NULL;
	dpa_wire_fini(hw);
	dpa_sock_fini(hw);
}
