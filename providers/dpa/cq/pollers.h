/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pollers.h - progress behind a poll that found nothing: may the poller yield? */
#ifndef DPA_CQ_POLLERS_H
#define DPA_CQ_POLLERS_H

#include <pthread.h>
#include <time.h>
#include "dpa.h"

/*
 * Polls in a row, within a tick of the coarse clock, that are a turn. A helper thread that polls
 * once in a while has none: UCX's for ud_verbs polls every 10 ms.
 */
#define DPA_POLLS_TURN	 8
/*
 * Polls after a change of turns for which the CQ counts as shared. After so many, some seconds, the
 * CQ has only gone from one thread to another. A thread that spins for a lock waits much less, if
 * the holder does not yield.
 */
#define DPA_POLLS_SHARED (1u << 24)

/* The thread `me`, which polled last, has not polled DPA_POLLS_TURN times in a row before. */
static inline void dpa_cq_count_poll(struct dpa_cq_pollers *p, uintptr_t me)
{
	uint32_t row = __atomic_load_n(&p->row, __ATOMIC_RELAXED), tick;
	uintptr_t was = __atomic_load_n(&p->turn, __ATOMIC_RELAXED);
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	tick = (uint32_t)now.tv_nsec;
	if (__atomic_exchange_n(&p->tick, tick, __ATOMIC_RELAXED) != tick)
		row = 0;
	__atomic_store_n(&p->row, ++row, __ATOMIC_RELAXED);
	if (row < DPA_POLLS_TURN || was == me)
		return;
	__atomic_store_n(&p->turn, me, __ATOMIC_RELAXED);
	if (was)
		__atomic_store_n(&p->shared, DPA_POLLS_SHARED, __ATOMIC_RELAXED);
}

/* A poll found nothing: true if several threads poll this CQ by turns. */
static inline bool dpa_cq_is_shared(struct dpa_cq *cq)
{
	struct dpa_cq_pollers *p = &cq->pollers;
	uintptr_t me = (uintptr_t)pthread_self();
	uint32_t shared;

	if (dpa_unlikely(__atomic_load_n(&p->last, __ATOMIC_RELAXED) != me)) {
		__atomic_store_n(&p->last, me, __ATOMIC_RELAXED);
		__atomic_store_n(&p->row, 0, __ATOMIC_RELAXED);
	}
	if (dpa_unlikely(__atomic_load_n(&p->row, __ATOMIC_RELAXED) < DPA_POLLS_TURN))
		dpa_cq_count_poll(p, me);
	shared = __atomic_load_n(&p->shared, __ATOMIC_RELAXED);
	if (dpa_likely(!shared))
		return false;
	__atomic_store_n(&p->shared, shared - 1, __ATOMIC_RELAXED);
	return true;
}

/*
 * Drive progress after a poll that found nothing. Returns as dpa_hw_progress(). Context: the CQ's
 * lock is not held.
 *
 * Threads that poll one CQ by turns hold a lock of the program's in the poll, and the others may
 * spin for it (a UCX worker of MPI_THREAD_MULTIPLE). If the poll yields, the holder gives up the
 * processor with the lock held, always: the others spin for whole time slices and then find the
 * lock taken again. Ten messages took more than 40 s between two processes with two threads each,
 * on two cores beside other load; without the yield less than 5 s.
 */
static inline int dpa_cq_progress(struct dpa_cq *cq)
{
	return dpa_cq_is_shared(cq) ? dpa_hw_progress_held(cq->hw_ctx)
				    : dpa_hw_progress(cq->hw_ctx);
}

#endif
