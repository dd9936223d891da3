/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pool_int.h - internal state of the pool: pool.c (running), pool_queue.c (queues, EUs) and
 * pool_host.c (making, ending, killing).
 */
#ifndef DPA_EU_POOL_INT_H
#define DPA_EU_POOL_INT_H

#include "pool.h"

#define EU_WORDS     (DPA_EU_MAX / 64)
#define THREAD_WORDS (DPA_EU_THREADS / 64)

/* A FIFO; the length may be read without the lock. */
struct dpa_list {
	struct dpa_work *head, **tail;
	_Atomic uint32_t len;
};

struct dpa_pool {
	pthread_mutex_t lock; /* protects all members up to the next comment */
	uint32_t refs, generation;
	const struct dpa_pool_ops *ops;
	void *dev;
	uint32_t num_eus, max_spinners;
	_Atomic uint32_t num_threads; /* grows only while the pool lives */
	/* any thread */
	_Atomic uint32_t reserved;
	_Atomic uint32_t pinned[DPA_EU_MAX]; /* reservations pinned to this EU */
	_Atomic uint64_t free_eus[EU_WORDS];
	/* lent to urgent work: other work may take them when none is free */
	_Atomic uint64_t lent[EU_WORDS];
	_Atomic uint64_t idle[THREAD_WORDS]; /* threads */
	_Atomic uint32_t spinners;	     /* idle threads that poll the device */
	_Atomic int spinner;		     /* hint: one of them, + 1; 0: none */
	/* The holder of the spin lock never sleeps or calls out. */
	atomic_flag queue_lock;
	struct dpa_list queue; /* work that waits for an EU */
	struct dpa_list ready; /* work that has an EU and waits for an idle thread */
	struct dpal_eu threads[DPA_EU_THREADS];
};

extern struct dpa_pool dpa_pool;
extern struct dpa_work dpa_pool_stop_mark;

/* Take a bit of a map: true for one caller. */
static inline bool dpa_pool_claim_bit(_Atomic uint64_t *map, int i)
{
	uint64_t bit = 1ull << (i % 64);

	if (!(atomic_load_explicit(&map[i / 64], memory_order_seq_cst) & bit))
		return false;
	return atomic_fetch_and_explicit(&map[i / 64], ~bit, memory_order_seq_cst) & bit;
}

static inline void dpa_pool_set_bit(_Atomic uint64_t *map, int i)
{
	atomic_fetch_or_explicit(&map[i / 64], 1ull << (i % 64), memory_order_seq_cst);
}

static inline bool dpa_pool_is_empty(struct dpa_list *l)
{
	return !atomic_load_explicit(&l->len, memory_order_seq_cst);
}

/* ---- pool_queue.c */
/* The holder never sleeps or calls out. The functions on lists require the lock. */
void dpa_pool_lock_queues(void);
void dpa_pool_unlock_queues(void);
void dpa_pool_push(struct dpa_list *l, struct dpa_work *work);
/* Unlink the work at that place. NULL: none. */
struct dpa_work *dpa_pool_unlink_at(struct dpa_list *l, struct dpa_work **at);
/* Take the first work that waits for an EU and may have this one. */
struct dpa_work *dpa_pool_pop_for(int eu);
/* Remove a work from the queue. True: it was in the queue. */
bool dpa_pool_remove(struct dpa_work *work);
bool dpa_pool_may_have(const struct dpa_work *work, int eu);
/*
 * Claim the lowest EU of a map that the work may have; if `loose`, one without pinned work. -1:
 * none.
 */
int dpa_pool_claim_any_eu(_Atomic uint64_t *map, const struct dpa_work *work, bool loose);
/* Take a free EU without pinned work: the work's last EU, if possible. -1: none. */
int dpa_pool_take_loose_eu(const struct dpa_work *work);
/* Take an EU for the work. -1: it must wait. */
int dpa_pool_take_eu(const struct dpa_work *work);
/* Put an EU into a map, or return work that waits for it and keep the EU. */
struct dpa_work *dpa_pool_offer(_Atomic uint64_t *map, int eu);

/* ---- pool.c */
void dpa_pool_give(int thread, struct dpa_work *work);
void *dpa_pool_thread(void *arg);

#endif
