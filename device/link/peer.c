/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * peer.c - peers: the other processes of the board, and this process itself (loopback: a ring to
 * itself).
 *
 *   (none) --find--> CONNECTING --hello or answer--> UP --pidfd, hang-up--> DEAD
 *                        '------------ECONNREFUSED, hang-up----------------^
 *
 * The structure of a peer stays in place until the device closes, because the data path holds
 * pointers to it. The memory of a dead peer's rings is released by mapping zero pages over it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>
#include "ctx/ops.h"
#include "ctx/schedule.h"
#include "util/sys.h"
#include "ctx/copy.h"
#include "link/kick.h"
#include "link/inspect.h"
#include "link/sock.h"
#include "link/udp/wire.h"

static struct dpa_lane_shm *lane_at(void *map, uint32_t i)
{
	return (struct dpa_lane_shm *)map + i;
}

static int make_tx(struct dpa_peer *p)
{
	p->tx_fd = memfd_create("dpa-lanes", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (p->tx_fd < 0)
		return errno;
	if (ftruncate(p->tx_fd, DPA_LANES_BYTES) ||
	    fcntl(p->tx_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return errno;
	p->tx_map = mmap(NULL, DPA_LANES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, p->tx_fd, 0);
	if (p->tx_map == MAP_FAILED) {
		p->tx_map = NULL;
		return errno;
	}
	dpa_sys_madvise(p->tx_map, DPA_LANES_BYTES, MADV_DONTFORK);
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		p->tx[i].shm = lane_at(p->tx_map, i);
		p->tx[i].peer = p;
	}
	return 0;
}

/* Sets the rings from the peer to this process, as the peer laid them out. */
void dpa_peer_set_rx(struct dpa_peer *p, void *map)
{
	p->rx_map = map;
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		p->rx[i].peer = p;
		atomic_store_explicit(&p->rx[i].shm, lane_at(map, i), memory_order_release);
	}
	dpa_inspect_lanes(p);
}

/* Returns NULL and sets errno on failure. */
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
	p->pidfd = p->sock = p->sock2 = p->wake_fd = p->wait_fd = p->tx_fd = -1;
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

void dpa_peer_forget_fds(struct dpa_peer *p)
{
	int *fds[] = {&p->pidfd, &p->sock, &p->sock2, &p->wake_fd, &p->wait_fd, &p->tx_fd};

	dpa_spin_lock(&p->fd_lock);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0) {
			/*
			 * a child that has not called exec yet may keep the file: it must not be
			 * reported here
			 */
			dpa_sys_epoll_ctl(p->hw->fd.epoll, EPOLL_CTL_DEL, *fds[i], NULL);
			close(*fds[i]);
		}
		*fds[i] = -1;
	}
	dpa_spin_unlock(&p->fd_lock);
}

/* Returns NULL and sets errno on failure. Context: hw->peer_lock. */
static struct dpa_peer *loopback_new(struct dpa_hw *hw)
{
	struct dpa_peer *p = dpa_peer_new(hw, hw->board->slot, hw->board->gen);

	if (!p)
		return NULL;
	p->pid = hw->pid;
	p->can_pull = hw->pvm_self;
	p->door = hw->door;
	p->export = hw->export;
	p->wake_fd = fcntl(hw->fd.wake, F_DUPFD_CLOEXEC, 0);
	p->wait_fd = fcntl(hw->fd.wait, F_DUPFD_CLOEXEC, 0);
	if (p->wake_fd < 0 || p->wait_fd < 0) {
		int err = errno;

		dpa_peer_forget_fds(p);
		hw->all_peers =
			p->next; /* added under the same peer_lock: no other thread has seen it */
		munmap(p->tx_map, DPA_LANES_BYTES);
		free(p);
		errno = err;
		return NULL;
	}
	close(p->tx_fd); /* it is passed to no process */
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
	dpa_stir(hw); /* a tick connects to it if this process cannot yet */
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

/* Its hello has arrived: sets all that is needed to send to it and to wake it. */
void dpa_peer_up(struct dpa_peer *p)
{
	dpa_spin_lock(&p->hw->peer_lock);
	if (p->state == DPA_PEER_CONNECTING)
		atomic_store_explicit(&p->state, DPA_PEER_UP, memory_order_release);
	/* Its rings may be drained only from now on, so that answers find it UP. */
	atomic_store_explicit(&p->rx_up, 1, memory_order_release);
	if (p->tx_fd >= 0) /* both processes have it mapped */
		close(p->tx_fd);
	p->tx_fd = -1;
	dpa_spin_unlock(&p->hw->peer_lock);
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		bool waits;

		if (dpa_lane_ready(&p->rx[i]))
			dpa_hot_add(p->hw, &p->rx[i]);
		/* A thread that saw CONNECTING under this lock sent no wake-up: forward.c. */
		dpa_spin_lock(&p->tx[i].lock);
		waits = p->tx[i].head != p->tx[i].tail;
		dpa_spin_unlock(&p->tx[i].lock);
		if (waits)
			dpa_tx_kick(&p->tx[i]);
	}
	/* QPs that waited for this peer are on the pending list: check it now. */
	atomic_store_explicit(&p->hw->pend.next_timer, 0, memory_order_release);
	p->hw->ops->grant_all(p->hw); /* its hazard pointers can be read from now on */
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

void dpa_peer_suspect(struct dpa_peer *p)
{
	atomic_store_explicit(&p->suspect, 1, memory_order_relaxed);
	atomic_store_explicit(&p->hw->live.suspects, 2, memory_order_release);
	dpa_wake_self(p->hw);
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
		dpa_peer_forget_fds(p);
		if (p->tx_map)
			munmap(p->tx_map, DPA_LANES_BYTES);
		if (p->rx_map && p->rx_map != p->tx_map)
			munmap(p->rx_map, DPA_LANES_BYTES);
		if (p->door && p->door != hw->door)
			munmap(p->door, 4096);
		if (p->export && p->export != hw->export)
			munmap((void *)(uintptr_t)p->export, sizeof(*p->export));
		free(p);
	}
	hw->all_peers = NULL;
	dpa_wire_fini(hw);
	dpa_sock_fini(hw);
}
