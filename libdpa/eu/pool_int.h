/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pool_int.h - the pool's own state: pool.c (running) and pool_host.c (making, ending, killing). */
#ifndef DPA_EU_POOL_INT_H
#define DPA_EU_POOL_INT_H

#include "pool.h"

#define EU_WORDS     (DPA_EU_MAX / 64)
#define THREAD_WORDS (DPA_EU_THREADS / 64)

/* First in, first out; the length may be read without the lock. */
struct dpa_list {
	struct dpa_work *head, **tail;
	_Atomic uint32_t len;
};

struct dpa_pool {
	pthread_mutex_t lock; /* everything down to the next comment */
	uint32_t refs, generation;
	const struct dpa_pool_ops *ops;
	void *dev;
	uint32_t num_eus, max_spinners;
	_Atomic uint32_t num_threads; /* grows only while the pool lives */
	/* any thread */
	_Atomic uint32_t reserved;
	_Atomic uint32_t pinned[DPA_EU_MAX]; /* reservations that want this EU */
	_Atomic uint64_t free_eus[EU_WORDS];
	_Atomic uint64_t lent[EU_WORDS]; /* to urgent work: others take them when none is free */
	_Atomic uint64_t idle[THREAD_WORDS]; /* threads */
	_Atomic uint32_t spinners;	     /* idle threads that look at the device */
	_Atomic int spinner;		     /* hint: one of them, + 1 */
	/* The holder of the spin lock never sleeps or calls out. */
	atomic_flag queue_lock;
	struct dpa_list queue; /* work that waits for an EU */
	struct dpa_list ready; /* work that has one and waits for a thread to come home */
	struct dpal_eu threads[DPA_EU_THREADS];
};

extern struct dpa_pool dpa_pool;
extern struct dpa_work dpa_pool_stop_mark;

void dpa_pool_give(int thread, struct dpa_work *work);
void *dpa_pool_thread(void *arg);

#endif
