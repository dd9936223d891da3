/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * watch.c - watches of sync events, and the thread that polls words which others may change.
 *
 * One lock for all watches: it is taken when a watch is added, is removed or comes true, and by
 * updates of events that have a watch. No update is lost: a watch is counted (seq_cst), then reads
 * the word; an update writes the word (seq_cst), then reads the count.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include "../run/fault.h"
#include "../eu/futex.h"
#include "../eu/pool.h"
#include "../eu/thread.h"
#include "sync_event.h"

#define SPIN_LOOKS  64	  /* polls after an event, before the timer */
#define SPIN_PAUSES 16	  /* pauses between two polls */
#define TIMER_NS    40000 /* together with the cost of a wake-up below 50 us */

static struct {
	pthread_mutex_t rest_lock; /* for dpa_se_watch_rest(): one caller at a time */
	pthread_mutex_t lock;	   /* protects all members down to `bell` */
	struct dpa_se_watch *polled;
	bool running, stop; /* stop: requested from the poller, which clears it */
	pthread_cond_t answered;
	pthread_t thread;
	/* Futex of the poller when it has nothing to poll; counts the events that it must see. */
	_Atomic uint32_t bell;
} watches = {.rest_lock = PTHREAD_MUTEX_INITIALIZER,
	     .lock = PTHREAD_MUTEX_INITIALIZER,
	     .answered = PTHREAD_COND_INITIALIZER};

static bool watch_holds(const struct dpa_se_watch *w)
{
	uint64_t v;

	if (atomic_load_explicit(&w->se->state, memory_order_acquire) != DPA_SE_STARTED)
		return false;
	v = atomic_load_explicit(w->se->word, memory_order_seq_cst) & w->mask;

	switch (w->cond) {
	case DPA_SE_GE:
		return v >= w->value;
	case DPA_SE_GT:
		return v > w->value;
	case DPA_SE_EQ:
		return v == w->value;
	case DPA_SE_NE:
		return v != w->value;
	}
	return false;
}

static void insert_watch(struct dpa_se_watch *w)
{
	struct doca_sync_event *se = w->se;

	w->next = se->watches;
	w->prev = &se->watches;
	if (w->next)
		w->next->prev = &w->next;
	se->watches = w;
	w->polled_prev = NULL;
	if (!se->polled)
		return;
	w->polled_next = watches.polled;
	w->polled_prev = &watches.polled;
	if (w->polled_next)
		w->polled_next->polled_prev = &w->polled_next;
	watches.polled = w;
}

static void unlink_polled(struct dpa_se_watch *w)
{
	if (!w->polled_prev)
		return;
	*w->polled_prev = w->polled_next;
	if (w->polled_next)
		w->polled_next->polled_prev = w->polled_prev;
	w->polled_prev = NULL;
}

/* Unlink a watch. The caller drops the event's reference. */
static struct doca_sync_event *unlink_watch(struct dpa_se_watch *w)
{
	struct doca_sync_event *se = w->se;

	*w->prev = w->next;
	if (w->next)
		w->next->prev = w->prev;
	unlink_polled(w);
	w->se = NULL;
	atomic_fetch_sub_explicit(&se->num_watches, 1, memory_order_relaxed);
	return se;
}

/* Run `after` of the watches that came true in one round, linked by `next`, without the lock. */
static void run_after(struct dpa_se_watch *late)
{
	while (late) {
		struct dpa_se_watch *w = late;

		late = w->next; /* before the owner gets it back */
		w->after(w);
	}
}

/*
 * Check a watch. The lock is held. True: the condition held, and the watch belongs to its owner
 * again, or is on the list `late`.
 */
static bool look_at_watch(struct dpa_se_watch *w, struct dpa_se_watch **late)
{
	struct doca_sync_event *se;

	if (!watch_holds(w))
		return false;
	se = unlink_watch(w);
	if (w->after) {
		w->next = *late;
		*late = w;
		w->fn(w);
	} else {
		w->fn(w); /* fn may free the watch */
	}
	dpa_se_release(se);
	return true;
}

/* Forget watches that an event has from before a fork: no thread of this process owns them. */
static void forget_foreign(struct doca_sync_event *se)
{
	uint32_t now = dpa_pool_generation();

	if (se->watch_generation == now)
		return;
	se->watch_generation = now;
	se->watches = NULL;
	atomic_store_explicit(&se->num_watches, 0, memory_order_relaxed);
}

/* The caller holds a reference to the event. */
void dpa_se_changed_slow(struct doca_sync_event *se)
{
	struct dpa_se_watch *w, *next, *late = NULL;

	pthread_mutex_lock(&watches.lock);
	forget_foreign(se);
	for (w = se->watches; w; w = next) {
		next = w->next;
		look_at_watch(w, &late);
	}
	pthread_mutex_unlock(&watches.lock);
	run_after(late);
}

void dpa_se_watch_stop(struct doca_sync_event *se)
{
	pthread_mutex_lock(&watches.lock);
	forget_foreign(se);
	for (struct dpa_se_watch *w = se->watches; w; w = w->next)
		unlink_polled(w);
	pthread_mutex_unlock(&watches.lock);
}

/* --------------------------------------------------------------- the poller */

/*
 * Check all watches, once for each round. The lock is held. A poller that was asked to end does so
 * when nothing is watched; an earlier watch makes it stay.
 */
static bool look_at_all(bool *any, bool *empty)
{
	struct dpa_se_watch *w, *next, *late = NULL;
	bool end = false;

	*any = false;
	pthread_mutex_lock(&watches.lock);
	for (w = watches.polled; w; w = next) {
		next = w->polled_next;
		*any |= look_at_watch(w, &late);
	}
	*empty = !watches.polled;
	if (watches.stop) {
		end = *empty;
		watches.stop = false;
		watches.running = !end;
		pthread_cond_broadcast(&watches.answered);
	}
	pthread_mutex_unlock(&watches.lock);
	run_after(late);
	return end;
}

static void *poll_watches(void *arg)
{
	const struct timespec ts = {.tv_nsec = TIMER_NS};
	uint32_t bell, last = 0, idle = 0;
	bool any, empty;

	prctl(PR_SET_TIMERSLACK, 1000ul); /* ns; the default is 50 us */
	for (;;) {
		bell = atomic_load_explicit(&watches.bell, memory_order_acquire);
		if (look_at_all(&any, &empty))
			return NULL;
		if (any || bell != last)
			idle = 0;
		last = bell;
		if (empty) {
			dpa_futex_wait(&watches.bell, bell, -1);
		} else if (idle < SPIN_LOOKS) {
			for (int i = 0; i < SPIN_PAUSES; i++)
				dpal_pause();
			if (++idle % 16 == 0)
				sched_yield();
		} else {
			nanosleep(&ts, NULL);
		}
	}
}

static void ring_watcher(void)
{
	atomic_fetch_add_explicit(&watches.bell, 1, memory_order_release);
	dpa_futex_wake(&watches.bell, 1);
}

/* Reset in a child: no watch of the parent counts here, and no thread polls. */
static void watch_in_child(void)
{
	pthread_mutex_init(&watches.rest_lock, NULL);
	pthread_mutex_init(&watches.lock, NULL);
	pthread_cond_init(&watches.answered, NULL);
	watches.polled = NULL;
	watches.running = watches.stop = false;
}

static void watch_watcher_forks(void)
{
	pthread_atfork(NULL, NULL, watch_in_child);
}

/* Start the poller. The lock is held. */
static int start_poller(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int ret;

	if (watches.running)
		return 0;
	pthread_once(&once, watch_watcher_forks);
	ret = dpa_start_thread(&watches.thread, "dpa-watch", poll_watches, NULL);
	watches.running = !ret;
	return ret;
}

void dpa_se_watch_rest(void)
{
	pthread_t thread;
	bool ended = false;

	pthread_mutex_lock(&watches.rest_lock);
	pthread_mutex_lock(&watches.lock);
	if (watches.running && !watches.polled) {
		thread = watches.thread; /* a watch after its end starts a new one */
		watches.stop = true;
		ring_watcher();
		while (watches.stop)
			pthread_cond_wait(&watches.answered, &watches.lock);
		ended = !watches.running || !pthread_equal(thread, watches.thread);
	}
	pthread_mutex_unlock(&watches.lock);
	if (ended)
		pthread_join(thread, NULL);
	pthread_mutex_unlock(&watches.rest_lock);
}

/* -------------------------------------------------------------------- public */

int dpa_se_watch(struct dpa_se_watch *w, struct doca_sync_event *se, enum dpa_se_cond cond,
		 uint64_t value, uint64_t mask, dpa_se_watch_fn *fn)
{
	struct dpa_se_watch *late = NULL;
	int ret = 0;

	w->cond = cond;
	w->value = value;
	w->mask = mask;
	w->fn = fn;
	dpa_se_hold(se);
	pthread_mutex_lock(&watches.lock);
	forget_foreign(se);
	if (se->polled)
		ret = start_poller();
	if (!ret) {
		w->se = se;
		w->generation = dpa_pool_generation();
		insert_watch(w);
		atomic_fetch_add_explicit(&se->num_watches, 1, memory_order_seq_cst);
		if (!look_at_watch(w, &late) && se->polled)
			ring_watcher();
	}
	pthread_mutex_unlock(&watches.lock);
	run_after(late);
	if (ret)
		dpa_se_release(se);
	return ret;
}

bool dpa_se_watch_cancel(struct dpa_se_watch *w)
{
	struct doca_sync_event *se = NULL;

	pthread_mutex_lock(&watches.lock);
	if (w->se && w->generation == dpa_pool_generation())
		se = unlink_watch(w);
	w->se = NULL;
	pthread_mutex_unlock(&watches.lock);
	if (se)
		dpa_se_release(se);
	return se != NULL;
}
