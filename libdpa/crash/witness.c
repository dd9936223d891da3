/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "../eu/clock.h"
#include "../eu/pool.h"
#include "witness.h"

#define WAIT_S 2 /* for all together; an EU that gets processor time takes microseconds */

void dpa_witnesses_init(struct dpa_witnesses *w)
{
	pthread_condattr_t attr;

	memset(w, 0, sizeof(*w));
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->fewer, &attr);
	pthread_condattr_destroy(&attr);
}

void dpa_witnesses_fini(struct dpa_witnesses *w)
{
	pthread_cond_destroy(&w->fewer);
	pthread_mutex_destroy(&w->lock);
}

void dpa_witnesses_open(struct dpa_witnesses *w)
{
	pthread_mutex_lock(&w->lock);
	w->closed = false;
	pthread_mutex_unlock(&w->lock);
}

struct expected {
	struct dpa_witnesses *w;
	const void *owner;
};

/*
 * The lock is held. A ticket that is equal before and after belonged to the owner in between. An EU
 * that left by itself, because it saw the end of the context, may not have reported yet.
 */
static void expect_witness(struct dpal_eu *eu, void *arg)
{
	struct expected *e = arg;
	const void *of;
	uint64_t t;

	do {
		t = atomic_load_explicit(&eu->ticket, memory_order_seq_cst);
		of = atomic_load_explicit(t % 2 ? &eu->owner : &eu->left, memory_order_seq_cst);
	} while (atomic_load_explicit(&eu->ticket, memory_order_seq_cst) != t);
	if (eu == dpal_eu_self || of != e->owner)
		return;
	e->w->tickets[eu->index] = t % 2 ? t : t - 1;
	e->w->awaited++;
}

void dpa_witnesses_expect(struct dpa_witnesses *w, const void *owner)
{
	struct expected e = {.w = w, .owner = owner};

	pthread_mutex_lock(&w->lock);
	w->tickets = calloc(DPA_EU_THREADS, sizeof(*w->tickets));
	if (w->tickets)
		dpa_pool_each(expect_witness, &e);
	pthread_mutex_unlock(&w->lock);
}

struct dpa_witness *dpa_witnesses_take(struct dpa_witnesses *w)
{
	const struct timespec end = dpal_deadline(WAIT_S * 1000);
	struct dpa_witness *list;

	pthread_mutex_lock(&w->lock);
	while (w->awaited)
		if (pthread_cond_timedwait(&w->fewer, &w->lock, &end) == ETIMEDOUT)
			break;
	list = w->list;
	w->list = NULL;
	w->awaited = 0;
	w->closed = true;
	free(w->tickets);
	w->tickets = NULL;
	pthread_mutex_unlock(&w->lock);
	return list;
}

void dpa_witnesses_free(struct dpa_witness *list)
{
	for (struct dpa_witness *next; list; list = next) {
		next = list->next;
		if (list->crash.copy)
			munmap(list->crash.copy, list->crash.stack_hi - list->crash.stack_lo);
		free(list);
	}
}

/*
 * Make a snapshot, which takes over the copy of the stack. NULL: nothing is captured, or no memory.
 */
static struct dpa_witness *make_witness(struct dpa_crash *c, const char *kernel, int eu)
{
	struct dpa_witness *one = c && c->held ? malloc(sizeof(*one)) : NULL;

	if (!one)
		return NULL;
	*one = (struct dpa_witness){.crash = *c, .kernel = kernel, .eu = eu};
	c->copy = NULL;
	return one;
}

void dpa_witnesses_report(struct dpa_witnesses *w, const char *kernel, struct dpal_eu *eu)
{
	struct dpa_crash *c = dpa_crash_self();
	struct dpa_witness *one = make_witness(c, kernel, eu->id);
	/* the ticket of that time */
	uint64_t t = atomic_load_explicit(&eu->ticket, memory_order_relaxed) - 1;

	if (c)
		c->held = false;
	pthread_mutex_lock(&w->lock);
	if (one && !w->closed) {
		one->next = w->list;
		w->list = one;
		one = NULL;
	}
	if (w->tickets && w->tickets[eu->index] == t) {
		w->tickets[eu->index] = 0;
		if (!--w->awaited)
			pthread_cond_signal(&w->fewer);
	}
	pthread_mutex_unlock(&w->lock);
	dpa_witnesses_free(one);
}
