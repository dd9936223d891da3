/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * steer.c - which process owns which blocks of QPNs, and the index of its receiving socket among
 * the sockets that share UDP port 4791.
 *
 * The kernel numbers the sockets of a port as they are bound; when one is closed the last one takes
 * its place. So a join leaves all other indices as they are. Each close begins a new round, in
 * which each process finds its index again (device/link/udp/steer.c). Steering only saves a detour: if
 * the map is out of date a packet reaches another process, which passes it on.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include "board_priv.h"

#define CLOSING 8 /* sockets of processes that ended and are not reaped yet */

_Atomic uint32_t *dpa_board_poller(struct dpa_board *b, uint32_t cpu)
{
	return &b->shm->head.poller[cpu % DPA_BOARD_CPUS];
}

struct dpa_board_steer *dpa_board_steer(struct dpa_board *b)
{
	return &b->shm->head.steer;
}

static uint64_t udp_of(const struct dpa_board_proc *p)
{
	return atomic_load_explicit(&p->udp, memory_order_acquire);
}

/* Word of a process: joined, low 31 bits of the round, index + 1. */
static uint64_t steer_word(uint32_t round, uint32_t index1)
{
	return (uint64_t)(round & 0x7fffffffu) << 33 | DPA_BOARD_UDP | index1;
}

static void out_of_date(struct dpa_board *b)
{
	atomic_fetch_add_explicit(&dpa_board_steer(b)->want, 1, memory_order_release);
}

void dpa_board_steer_again(struct dpa_board *b)
{
	atomic_fetch_add_explicit(&dpa_board_steer(b)->round, 1, memory_order_acq_rel);
	out_of_date(b);
}

/* Context: the board's lock. Others may read the nonce meanwhile. */
static void make_nonce(struct dpa_board_steer *s)
{
	uint32_t n[4];

	if (atomic_load_explicit(&s->nonce[0], memory_order_relaxed) ||
	    getrandom(n, sizeof(n), 0) != sizeof(n))
		return;
	for (int i = 1; i < 4; i++)
		atomic_store_explicit(&s->nonce[i], n[i], memory_order_relaxed);
	/* no packet begins like this: see link/udp/steer.c */
	atomic_store_explicit(&s->nonce[0], n[0] | 0xff000000u, memory_order_release);
}

void dpa_board_steer_join(struct dpa_board *b)
{
	struct dpa_board_steer *s = dpa_board_steer(b);

	if (dpa_board_lock(b))
		return;
	make_nonce(s);
	atomic_store_explicit(&b->self->udp, steer_word(atomic_load(&s->round) - 1, 0),
			      memory_order_release);
	out_of_date(b);
	dpa_board_unlock(b);
}

void dpa_board_steer_leave(struct dpa_board *b)
{
	if (atomic_exchange_explicit(&b->self->udp, 0, memory_order_acq_rel))
		dpa_board_steer_again(b);
}

void dpa_board_steer_gone(struct dpa_board *b, struct dpa_board_proc *p)
{
	if (atomic_exchange_explicit(&p->udp, 0, memory_order_acq_rel))
		dpa_board_steer_again(b);
}

/*
 * If a round shows several indices, the lowest one is right: a probe for an index that does not
 * exist goes to any socket.
 */
bool dpa_board_steer_found(struct dpa_board *b, uint32_t round, uint32_t index)
{
	uint32_t now = atomic_load_explicit(&dpa_board_steer(b)->round, memory_order_acquire);
	uint64_t old = udp_of(b->self), new = steer_word(round, index + 1);

	if (round != now || index >= UINT16_MAX)
		return false;
	do {
		if (!old || ((old >> 33) == (new >> 33) && (uint32_t)old <= index + 1))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&b->self->udp, &old, new, memory_order_acq_rel, memory_order_acquire));
	out_of_date(b);
	return true;
}

static bool is_known_udp(struct dpa_board *b, uint64_t udp)
{
	uint32_t round = atomic_load_explicit(&dpa_board_steer(b)->round, memory_order_acquire);

	return (uint32_t)udp && udp >> 33 == (round & 0x7fffffffu);
}

bool dpa_board_steer_lost(struct dpa_board *b)
{
	uint64_t udp = udp_of(b->self);

	return udp && !is_known_udp(b, udp);
}

uint32_t dpa_board_steer_sockets(struct dpa_board *b)
{
	uint32_t n = CLOSING;

	for (uint32_t i = dpa_board_proc_next(b, 0); i < DPA_BOARD_PROCS;
	     i = dpa_board_proc_next(b, i + 1))
		n += udp_of(&b->shm->procs[i]) != 0;
	return n;
}

bool dpa_board_steer_watch(struct dpa_board *b)
{
	int left = 2;

	for (uint32_t i = 1; i < DPA_BOARD_PROCS && left; i++) {
		uint32_t slot = (b->slot + i) % DPA_BOARD_PROCS;
		struct dpa_board_proc *p = dpa_board_proc(b, slot);

		if (!p || !udp_of(p))
			continue;
		left--;
		if (!dpa_board_proc_held(b, slot) &&
		    atomic_load_explicit(&p->state, memory_order_acquire) != DPA_PROC_FREE)
			return dpa_board_reap(b) > 0;
	}
	return false;
}

static void map_block(struct dpa_board *b, uint16_t *map, uint32_t block)
{
	for (uint32_t i = block * DPA_BOARD_QPN_BLOCK; i < (block + 1) * DPA_BOARD_QPN_BLOCK; i++) {
		dpa_owner_t o = atomic_load_explicit(&b->shm->qpns[i].owner, memory_order_acquire);
		struct dpa_board_proc *p = o ? dpa_board_proc(b, dpa_owner_slot(o)) : NULL;
		uint64_t udp;

		if (!p)
			continue;
		udp = udp_of(p);
		if (!is_known_udp(b, udp))
			continue;
		/* two processes may share a block: one of them gets all of it */
		map[block] = (uint16_t)udp;
		return;
	}
}

int dpa_board_steer_begin(struct dpa_board *b, uint16_t map[DPA_BOARD_QPN_BLOCKS], uint32_t *want)
{
	int rc = pthread_mutex_trylock(&b->shm->head.steer_lock);

	if (rc == EOWNERDEAD) /* the program is rebuilt from the start */
		rc = pthread_mutex_consistent(&b->shm->head.steer_lock);
	if (rc)
		return rc;
	*want = atomic_load_explicit(&dpa_board_steer(b)->want, memory_order_acquire);
	memset(map, 0, DPA_BOARD_QPN_BLOCKS * sizeof(*map));
	for (uint32_t k = 0; k < DPA_BOARD_QPN_BLOCKS; k++)
		if (dpa_board_present(b, DPA_BOARD_OFF_QPNS + k * DPA_BOARD_QPN_BLOCK *
								      sizeof(struct dpa_board_qpn)))
			map_block(b, map, k);
	return 0;
}

void dpa_board_steer_end(struct dpa_board *b, bool done, uint32_t want)
{
	if (done)
		atomic_store_explicit(&dpa_board_steer(b)->built, want, memory_order_release);
	pthread_mutex_unlock(&b->shm->head.steer_lock);
}
