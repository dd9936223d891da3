/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * proc.c - process indices and liveness. A process is alive while the lock byte of its index is
 * locked.
 *
 * The lock belongs to the open file description through which the board is mapped. Its descriptor
 * is closed at once, so that only the mapping holds the lock. The lock ends with the address space,
 * at any death. closefrom() does not drop it, and a forked child does not keep it, because it does
 * not get the mapping (MADV_DONTFORK).
 *
 * States: FREE -> LIVE (the byte is locked before) -> [REAPING ->] FREE, under the board's lock.
 * The generation changes with each LIVE.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "board_priv.h"
#include "util/clock.h"
#include "util/lock.h"

static struct flock byte_range(uint32_t from, uint32_t n)
{
	return (struct flock){
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = DPA_BOARD_LOCK_PROC + from,
		.l_len = n,
	};
}

/* An error counts as held: no process is declared dead because descriptors ran out. */
bool dpa_board_bytes_held(int fd, uint32_t from, uint32_t n)
{
	struct flock fl = byte_range(from, n);

	return fcntl(fd, F_OFD_GETLK, &fl) || fl.l_type != F_UNLCK;
}

bool dpa_board_proc_held(struct dpa_board *b, uint32_t slot)
{
	return dpa_board_bytes_held(dpa_board_fd(b), slot, 1);
}

/* The kernel tests one range for a call: split a range that has a lock. */
static bool others_in(struct dpa_board *b, int fd, uint32_t from, uint32_t n)
{
	const struct dpa_board_proc *p;

	if (!dpa_board_bytes_held(fd, from, n))
		return false;
	p = n == 1 ? dpa_board_proc(b, from) : NULL;
	if (n == 1)
		return !p || (p != b->self &&
			      atomic_load_explicit(&p->leaving, memory_order_acquire) !=
				      atomic_load_explicit(&p->gen, memory_order_acquire));
	return others_in(b, fd, from, n / 2) || others_in(b, fd, from + n / 2, n - n / 2);
}

bool dpa_board_others(struct dpa_board *b, int fd)
{
	return others_in(b, fd, 0, DPA_BOARD_PROCS);
}

bool dpa_board_proc_live(struct dpa_board *b, uint32_t slot, uint32_t gen)
{
	struct dpa_board_proc *p = dpa_board_proc(b, slot);

	return p && atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PROC_LIVE &&
	       atomic_load_explicit(&p->gen, memory_order_acquire) == gen;
}

/*
 * Reads the entry twice. A successor locks the byte only after it has seen the entry FREE. So if
 * the byte that was seen was the successor's, the second read cannot find (LIVE, gen).
 */
bool dpa_board_alive(struct dpa_board *b, uint32_t slot, uint32_t gen)
{
	if (!dpa_board_proc_live(b, slot, gen))
		return false;
	if (!b->peek && slot == b->slot && gen == b->gen)
		return true;
	return dpa_board_proc_held(b, slot) && dpa_board_proc_live(b, slot, gen);
}

bool dpa_board_proc_before(struct dpa_board *b, uint32_t *slot, uint32_t *gen)
{
	for (uint32_t i = 1; i < DPA_BOARD_PROCS; i++) {
		const struct dpa_board_proc *p;

		*slot = (b->slot + DPA_BOARD_PROCS - i) % DPA_BOARD_PROCS;
		p = dpa_board_proc(b, *slot);
		*gen = p ? atomic_load_explicit(&p->gen, memory_order_acquire) : 0;
		if (p && dpa_board_alive(b, *slot, *gen))
			return true;
	}
	return false;
}

bool dpa_board_byte_take(int fd, uint32_t slot)
{
	struct flock fl = byte_range(slot, 1);

	return fcntl(fd, F_OFD_SETLK, &fl) == 0;
}

static void describe_proc(struct dpa_board *b, struct dpa_board_proc *p,
			  const struct dpa_board_cfg *cfg)
{
	char comm[16] = "";

	prctl(PR_GET_NAME, comm);
	atomic_store_explicit(&p->pid, (uint32_t)b->pid, memory_order_relaxed);
	p->uid = geteuid();
	p->start_ns = dpa_wall_ns();
	memcpy(p->comm, comm, sizeof(p->comm));
	for (int i = 0; i < DPA_ASKS; i++)
		atomic_store_explicit(dpa_proc_asked(p, (enum dpa_board_ask_what)i), 0,
				      memory_order_relaxed);
	atomic_store_explicit(&p->inject, 0, memory_order_relaxed);
	atomic_store_explicit(&p->meter_at, 0, memory_order_relaxed);
	snprintf(p->lib_version, sizeof(p->lib_version), "%s", cfg->lib_version);
	p->placement = cfg->placement;
}

static void forget_proc(struct dpa_board_proc *p)
{
	atomic_store_explicit(&p->pid, 0, memory_order_relaxed);
	p->nqp = p->ncq = p->nmr = p->npd = p->nsrq = p->nctx = 0;
	atomic_store_explicit(&p->udp, 0, memory_order_relaxed);
}

int dpa_board_proc_take(struct dpa_board *b, int map_fd, const struct dpa_board_cfg *cfg)
{
	for (uint32_t i = 0; i < DPA_BOARD_PROCS; i++) {
		struct dpa_board_proc *p = &b->shm->procs[i];
		uint32_t gen;
		int rc = dpa_board_reserve(b, DPA_BOARD_OFF_PROCS + i * sizeof(*p), sizeof(*p));

		if (rc)
			return rc;
		gen = atomic_load_explicit(&p->gen, memory_order_relaxed) + 1;
		if (atomic_load_explicit(&p->state, memory_order_acquire) != DPA_PROC_FREE)
			continue;
		rc = dpa_board_reserve(b, DPA_BOARD_OFF_PRIV + i * sizeof(struct dpa_board_priv),
				       sizeof(struct dpa_board_priv));
		if (rc)
			return rc;
		/* Fails while a process leaves: it frees the entry before the byte. */
		if (!dpa_board_byte_take(map_fd, i))
			continue;
		DPA_BOARD_STEP("proc-byte");
		b->slot = i;
		b->gen = gen ? gen : 1;
		b->self = p;
		b->counters = b->shm->priv[i].counters;
		atomic_store_explicit(&b->qpn_block, UINT32_MAX, memory_order_relaxed);
		/* Before the rest: a reader of the last process's entry sees that it ended (failure/peer.c). */
		atomic_store_explicit(&p->gen, b->gen, memory_order_relaxed);
		dpa_release_fence();
		DPA_BOARD_STEP("proc-gen");
		describe_proc(b, p, cfg);
		DPA_BOARD_STEP("proc-named");
		atomic_store_explicit(&p->state, DPA_PROC_LIVE, memory_order_release);
		DPA_BOARD_STEP("proc-live");
		return 0;
	}
	return ENOSPC;
}

void dpa_board_proc_leave(struct dpa_board *b)
{
	forget_proc(b->self);
	DPA_BOARD_STEP("proc-leave");
	atomic_store_explicit(&b->self->state, DPA_PROC_FREE, memory_order_release);
}
