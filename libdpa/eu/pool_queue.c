/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pool_queue.c - the pool's queues, and the choice of an EU for a work. */
#include <sched.h>
#include "pool_int.h"

#define LOCK_SPINS 200

/* --------------------------------------------------------------- the queues */

void dpa_pool_lock_queues(void)
{
	for (int i = 0;
	     atomic_flag_test_and_set_explicit(&dpa_pool.queue_lock, memory_order_acquire);)
		if (++i > LOCK_SPINS)
			sched_yield();
}

void dpa_pool_unlock_queues(void)
{
	atomic_flag_clear_explicit(&dpa_pool.queue_lock, memory_order_release);
}

void dpa_pool_push(struct dpa_list *l, struct dpa_work *work)
{
	work->next = NULL;
	*l->tail = work;
	l->tail = &work->next;
	atomic_fetch_add_explicit(&l->len, 1, memory_order_seq_cst);
}

struct dpa_work *dpa_pool_unlink_at(struct dpa_list *l, struct dpa_work **at)
{
	struct dpa_work *work = *at;

	if (!work)
		return NULL;
	*at = work->next;
	if (l->tail == &work->next)
		l->tail = at;
	atomic_fetch_sub_explicit(&l->len, 1, memory_order_relaxed);
	return work;
}

bool dpa_pool_may_have(const struct dpa_work *work, int eu)
{
	if (work->pin != DPA_EU_ANY)
		return work->pin == eu;
	return !work->eus || work->eus[eu / 64] >> (eu % 64) & 1;
}

struct dpa_work *dpa_pool_pop_for(int eu)
{
	struct dpa_work **at = &dpa_pool.queue.head;

	while (*at && !dpa_pool_may_have(*at, eu))
		at = &(*at)->next;
	return dpa_pool_unlink_at(&dpa_pool.queue, at);
}

bool dpa_pool_remove(struct dpa_work *work)
{
	struct dpa_work **at = &dpa_pool.queue.head;

	while (*at && *at != work)
		at = &(*at)->next;
	return dpa_pool_unlink_at(&dpa_pool.queue, at) != NULL;
}

/* ------------------------------------------------------------------- tokens */

static bool is_pinned(int eu)
{
	return atomic_load_explicit(&dpa_pool.pinned[eu], memory_order_relaxed);
}

int dpa_pool_claim_any_eu(_Atomic uint64_t *map, const struct dpa_work *work, bool loose)
{
	for (int w = 0; w < EU_WORDS; w++) {
		uint64_t bits = atomic_load_explicit(&map[w], memory_order_seq_cst);

		if (work->eus)
			bits &= work->eus[w];
		for (; bits; bits &= bits - 1) {
			int eu = w * 64 + __builtin_ctzll(bits);

			if ((!loose || !is_pinned(eu)) && dpa_pool_claim_bit(map, eu))
				return eu;
		}
	}
	return -1;
}

int dpa_pool_take_loose_eu(const struct dpa_work *work)
{
	int last = atomic_load_explicit(&work->last_eu, memory_order_relaxed);

	if (last >= 0 && dpa_pool_may_have(work, last) && !is_pinned(last) &&
	    dpa_pool_claim_bit(dpa_pool.free_eus, last))
		return last;
	return dpa_pool_claim_any_eu(dpa_pool.free_eus, work, true);
}

int dpa_pool_take_eu(const struct dpa_work *work)
{
	int eu;

	if (work->pin != DPA_EU_ANY)
		return dpa_pool_claim_bit(dpa_pool.free_eus, work->pin) ||
				       dpa_pool_claim_bit(dpa_pool.lent, work->pin)
			       ? work->pin
			       : -1;
	eu = dpa_pool_take_loose_eu(work);
	if (eu < 0)
		eu = dpa_pool_claim_any_eu(dpa_pool.lent, work, true);
	if (eu < 0)
		eu = dpa_pool_claim_any_eu(dpa_pool.free_eus, work, false);
	return eu >= 0 ? eu : dpa_pool_claim_any_eu(dpa_pool.lent, work, false);
}

struct dpa_work *dpa_pool_offer(_Atomic uint64_t *map, int eu)
{
	struct dpa_work *next = NULL;

	dpa_pool_set_bit(map, eu);
	if (dpa_pool_is_empty(&dpa_pool.queue))
		return NULL;
	/* A thread that queues after this point takes the EU itself, under the lock. */
	dpa_pool_lock_queues();
	if (dpa_pool_claim_bit(map, eu)) {
		next = dpa_pool_pop_for(eu);
		if (!next)
			dpa_pool_set_bit(map, eu);
	}
	dpa_pool_unlock_queues();
	return next;
}
