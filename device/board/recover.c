/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * recover.c - the board's lock, and recovery after a process died. Owner words are the only truth:
 * a word whose (process index, generation) is no live process means "free". A kill at any
 * instruction is safe: the next process repeats the step.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "board_priv.h"

/*
 * The lock is held for some 100 us at most, unless its holder was stopped or the memory was
 * damaged. Measured by the monotonic clock, so that setting the time of day does not change the
 * limit.
 */
#define LOCK_PATIENCE_S 10

int dpa_board_lock_init(struct dpa_board_shm *shm)
{
	pthread_mutexattr_t attr;
	int rc = pthread_mutexattr_init(&attr);

	if (rc)
		return rc;
	rc = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (!rc)
		rc = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (!rc)
		rc = pthread_mutex_init(&shm->head.lock, &attr);
	if (!rc)
		rc = pthread_mutex_init(&shm->head.steer_lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return rc;
}

/* ThreadSanitizer does not expect EOWNERDEAD with the lock held. */
static int lock_patiently(pthread_mutex_t *m)
{
#ifdef __SANITIZE_THREAD__
	return pthread_mutex_lock(m);
#else
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LOCK_PATIENCE_S;
	return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &until);
#endif
}

/*
 * Congestion control: completes the addition that is under way, also one that a dead process began.
 */
static void end_fold(struct dpa_board *b)
{
	struct dpa_board_pcc_port *p = &b->shm->pcc;
	uint64_t w = atomic_load_explicit(&p->fold, memory_order_relaxed);
	uint32_t proc = (uint32_t)(w >> DPA_BOARD_PCC_FOLD_PROC) % DPA_BOARD_PROCS;
	uint32_t which = (uint32_t)(w >> DPA_BOARD_PCC_FOLD_WHICH) & 31;
	uint32_t s = which / DPA_PCC_BUILTIN_COUNTERS, i = which % DPA_PCC_BUILTIN_COUNTERS;

	if (!(w & DPA_BOARD_PCC_FOLD))
		return;
	atomic_store_explicit(&p->past[s][i], (uint32_t)w, memory_order_seq_cst);
	DPA_BOARD_STEP("pcc-folded");
	if (dpa_board_present(b,
			      DPA_BOARD_OFF_PCC_CNT + proc * sizeof(struct dpa_board_pcc_counts)))
		atomic_store_explicit(&b->shm->pcc_counts[proc].n[s][i], 0, memory_order_seq_cst);
	atomic_store_explicit(&p->fold, w & ~DPA_BOARD_PCC_FOLD, memory_order_seq_cst);
}

/* The same for a counter of a process: board_layout.h. */
static void end_count_fold(struct dpa_board *b)
{
	struct dpa_board_pcc_port *p = &b->shm->pcc;
	uint64_t w = atomic_load_explicit(&p->count_fold, memory_order_seq_cst);
	uint32_t i = (uint32_t)(w & 0xffff) % DPA_BOARD_COUNTERS;
	_Atomic uint64_t *from;

	if (!(w >> 63))
		return;
	from = dpa_board_counters(b, (uint32_t)(w >> 16) % DPA_BOARD_PROCS);
	if (from)
		atomic_store_explicit(&from[i], 0, memory_order_seq_cst);
	DPA_BOARD_STEP("count-folded");
	atomic_store_explicit(&b->shm->head.counters_past[i],
			      atomic_load_explicit(&p->count_sum, memory_order_seq_cst),
			      memory_order_seq_cst);
	DPA_BOARD_STEP("count-past");
	atomic_store_explicit(&p->count_fold, 0, memory_order_seq_cst);
}

static int repair_board(struct dpa_board *b)
{
	/*
	 * Consistent only after the repair: if this process dies here, the next one repairs it
	 * again.
	 */
	dpa_board_uar_repair(b->shm, b->uar_pages);
	end_fold(b);
	end_count_fold(b);
	DPA_BOARD_STEP("repaired");
	return pthread_mutex_consistent(&b->shm->head.lock);
}

/* Returns EBUSY instead of waiting. */
static int try_lock(struct dpa_board *b)
{
	int rc = pthread_mutex_trylock(&b->shm->head.lock);

	return rc == EOWNERDEAD ? repair_board(b) : rc;
}

/* 0, or errno without the lock: ETIMEDOUT, ENOTRECOVERABLE. */
int dpa_board_lock(struct dpa_board *b)
{
	int rc = try_lock(b);

	if (rc == EBUSY) {
		rc = lock_patiently(&b->shm->head.lock);
		if (rc == EOWNERDEAD)
			rc = repair_board(b);
	}
	return rc;
}

void dpa_board_unlock(struct dpa_board *b)
{
	pthread_mutex_unlock(&b->shm->head.lock);
}

/* ------------------------------------------------------------- owner words */

/* True if no live process owns this word. dead: process indices that the caller found dead. */
static bool is_stale(struct dpa_board *b, dpa_owner_t o, const bool *dead)
{
	uint32_t slot = dpa_owner_slot(o);
	struct dpa_board_proc *p;

	if (o == 0)
		return false;
	if (slot >= DPA_BOARD_PROCS || dead[slot])
		return true;
	p = dpa_board_proc(b, slot);
	return !p || atomic_load_explicit(&p->gen, memory_order_acquire) != dpa_owner_gen(o) ||
	       atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PROC_FREE;
}

static void sweep_uars(struct dpa_board *b, const bool *dead)
{
	for (uint32_t i = 0; i < b->uar_pages; i++) {
		struct dpa_board_uar *u = dpa_board_uar_page(b, i);

		for (uint32_t s = 0; u && s < DPA_UAR_SLOTS; s++) {
			dpa_owner_t o =
				atomic_load_explicit(&u->slot_owner[s], memory_order_acquire);

			if (!is_stale(b, o, dead))
				continue;
			atomic_store_explicit(&u->slot_qpn[s], 0, memory_order_relaxed);
			DPA_BOARD_STEP("sweep-uar");
			atomic_store_explicit(&u->slot_owner[s], 0, memory_order_release);
		}
	}
}

static void sweep_qpns(struct dpa_board *b, const bool *dead)
{
	const uint32_t per = DPA_BOARD_UNIT / sizeof(struct dpa_board_qpn);

	for (uint32_t i = 0; i < DPA_BOARD_QPNS; i++) {
		dpa_owner_t o;

		if (i % per == 0 &&
		    !dpa_board_present(b, DPA_BOARD_OFF_QPNS + i * sizeof(struct dpa_board_qpn))) {
			i += per - 1;
			continue;
		}
		o = atomic_load_explicit(&b->shm->qpns[i].owner, memory_order_acquire);
		if (is_stale(b, o, dead)) {
			DPA_BOARD_STEP("sweep-qpn");
			dpa_board_qpn_clear(b, i, o);
		}
	}
}

static void sweep_xrc(struct dpa_board *b, const bool *dead)
{
	const uint32_t per = DPA_BOARD_UNIT / sizeof(struct dpa_board_xrc_srq);

	for (uint32_t i = 0; i < b->shm->head.xrcd_used && i < DPA_BOARD_XRCDS; i++)
		if (is_stale(b, b->shm->xrcds[i].owner, dead))
			b->shm->xrcds[i].owner = 0;
	for (uint32_t i = 0; i < DPA_MAX_SRQ; i++) {
		struct dpa_board_xrc_srq *s = &b->shm->xrc_srqs[i];

		if (i % per == 0 && !dpa_board_present(b, DPA_BOARD_OFF_XSRQS + i * sizeof(*s))) {
			i += per - 1;
			continue;
		}
		if (is_stale(b, atomic_load_explicit(&s->owner, memory_order_acquire), dead))
			atomic_store_explicit(&s->owner, 0, memory_order_release);
	}
}

/* Counters of a process that ended: none is lost, none counted twice, whoever dies here. */
static void fold_counters(struct dpa_board *b, uint32_t slot)
{
	struct dpa_board_pcc_port *p = &b->shm->pcc;
	_Atomic uint64_t *from = dpa_board_counters(b, slot);

	for (uint32_t i = 0; from && i < DPA_BOARD_COUNTERS; i++) {
		uint64_t n = atomic_load_explicit(&from[i], memory_order_relaxed);

		if (!n)
			continue;
		n += atomic_load_explicit(&b->shm->head.counters_past[i], memory_order_relaxed);
		atomic_store_explicit(&p->count_sum, n, memory_order_seq_cst);
		atomic_store_explicit(&p->count_fold, UINT64_C(1) << 63 | (uint64_t)slot << 16 | i,
				      memory_order_seq_cst);
		DPA_BOARD_STEP("count-fold");
		end_count_fold(b);
	}
}

static void fold_pcc_count(struct dpa_board *b, uint32_t proc, uint32_t which, uint32_t n)
{
	struct dpa_board_pcc_port *p = &b->shm->pcc;
	uint64_t change = atomic_load_explicit(&p->fold, memory_order_relaxed) &
			  ~DPA_BOARD_PCC_FOLD & -(UINT64_C(1) << DPA_BOARD_PCC_FOLD_CHANGE);
	uint32_t past = atomic_load_explicit(
		&p->past[which / DPA_PCC_BUILTIN_COUNTERS][which % DPA_PCC_BUILTIN_COUNTERS],
		memory_order_relaxed);

	change += UINT64_C(1) << DPA_BOARD_PCC_FOLD_CHANGE;
	atomic_store_explicit(
		&p->fold,
		DPA_BOARD_PCC_FOLD | change | (uint64_t)proc << DPA_BOARD_PCC_FOLD_PROC |
			(uint64_t)which << DPA_BOARD_PCC_FOLD_WHICH | (uint32_t)(past + n),
		memory_order_seq_cst);
	DPA_BOARD_STEP("pcc-fold");
	end_fold(b);
}

/* Adds its counts of the built-in congestion control algorithms. None is lost or counted twice. */
static void fold_pcc(struct dpa_board *b, uint32_t proc)
{
	struct dpa_board_pcc_counts *c = &b->shm->pcc_counts[proc];

	if (!dpa_board_present(b, DPA_BOARD_OFF_PCC_CNT + proc * sizeof(*c)))
		return;
	for (uint32_t k = 0; k < 2 * DPA_PCC_BUILTIN_COUNTERS; k++) {
		uint32_t n = atomic_load_explicit(
			&c->n[k / DPA_PCC_BUILTIN_COUNTERS][k % DPA_PCC_BUILTIN_COUNTERS],
			memory_order_relaxed);

		if (n)
			fold_pcc_count(b, proc, k, n);
	}
}

static void clear_priv(struct dpa_board *b, uint32_t slot)
{
	struct dpa_board_cqinfo *cq = dpa_board_cqinfo(b, slot);
	struct dpa_board_mrinfo *mr = dpa_board_mrinfo(b, slot);

	fold_counters(b, slot);
	fold_pcc(b, slot);
	if (cq)
		memset(cq, 0, DPA_BOARD_CQINFO * sizeof(*cq));
	if (mr)
		memset(mr, 0, DPA_BOARD_MRINFO * sizeof(*mr));
}

static bool is_other_process(const struct dpa_board *b, const struct dpa_board_proc *p)
{
	return p && p != b->self &&
	       atomic_load_explicit(&p->state, memory_order_acquire) != DPA_PROC_FREE;
}

/*
 * Checks at most `looks` processes, from index *at on, with wrap. Leaves *at behind the last one.
 */
static int find_dead(struct dpa_board *b, uint32_t *at, uint32_t looks, bool *dead)
{
	const uint32_t from = *at % DPA_BOARD_PROCS;
	uint32_t slot = dpa_board_proc_next(b, from), end = DPA_BOARD_PROCS;
	int n = 0, fd = dpa_board_fd(b);

	memset(dead, 0, DPA_BOARD_PROCS * sizeof(*dead));
	for (int lap = 0; lap < 2; lap++, slot = dpa_board_proc_next(b, 0), end = from) {
		for (; slot < end && looks; slot = dpa_board_proc_next(b, slot + 1)) {
			struct dpa_board_proc *p = &b->shm->procs[slot];

			if (!is_other_process(b, p))
				continue;
			*at = slot + 1;
			looks--;
			if (dpa_board_bytes_held(fd, slot, 1))
				continue;
			dead[slot] = true;
			atomic_store_explicit(&p->state, DPA_PROC_REAPING, memory_order_release);
			n++;
		}
	}
	return n;
}

int dpa_board_reap_locked(struct dpa_board *b, bool all)
{
	bool dead[DPA_BOARD_PROCS];
	int n = find_dead(b, &b->shm->head.reap_at, all ? DPA_BOARD_PROCS : DPA_BOARD_REAP_SOME,
			  dead);

	if (!n)
		return 0;
	DPA_BOARD_STEP("reap-marked");
	sweep_uars(b, dead);
	sweep_qpns(b, dead);
	sweep_xrc(b, dead);
	for (uint32_t i = dpa_board_proc_next(b, 0); i < DPA_BOARD_PROCS;
	     i = dpa_board_proc_next(b, i + 1)) {
		struct dpa_board_proc *p = &b->shm->procs[i];

		if (!dead[i])
			continue;
		clear_priv(b, i);
		atomic_store_explicit(&p->pid, 0, memory_order_relaxed);
		p->nqp = p->ncq = p->nmr = p->npd = p->nsrq = p->nctx = 0;
		dpa_board_steer_gone(b, p);
		dpa_board_cm_gone(b, p);
		DPA_BOARD_STEP("reap-free");
		atomic_store_explicit(&p->state, DPA_PROC_FREE, memory_order_release);
	}
	return n;
}

/*
 * A hint, read without the lock: most calls find no dead process, and a stopped reader delays no
 * process.
 */
static bool any_dead(struct dpa_board *b)
{
	int fd = dpa_board_fd(b);

	for (uint32_t i = dpa_board_proc_next(b, 0); i < DPA_BOARD_PROCS;
	     i = dpa_board_proc_next(b, i + 1)) {
		if (is_other_process(b, dpa_board_proc(b, i)) && !dpa_board_bytes_held(fd, i, 1))
			return true;
	}
	return false;
}

int dpa_board_reap(struct dpa_board *b)
{
	int n;

	if (b->peek)
		return 0;
	dpa_board_num_claim(b);
	if (!any_dead(b) || dpa_board_lock(b))
		return 0;
	n = dpa_board_reap_locked(b, true);
	dpa_board_unlock(b);
	return n;
}

void dpa_board_free_own(struct dpa_board *b)
{
	bool dead[DPA_BOARD_PROCS] = {false};

	dead[b->slot] = true;
	if (atomic_load_explicit(&b->nuar, memory_order_relaxed))
		sweep_uars(b, dead);
	if (atomic_load_explicit(&b->nqpn, memory_order_relaxed))
		sweep_qpns(b, dead);
	if (atomic_load_explicit(&b->nxrc, memory_order_relaxed))
		sweep_xrc(b, dead);
	clear_priv(b, b->slot);
}
