/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * room.c - the queue for room. No request is lost: a requester adds to the length (seq_cst), then
 * tries; a thread that returns room does so (seq_cst), then reads the length.
 */
#include "room.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static struct {
	pthread_mutex_t lock;
	struct dpa_room *head, **tail; /* under the lock */
	_Atomic uint32_t len;	       /* written under the lock */
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER, .tail = &waiting.head};

/* Return the requests that have room now, removed from the queue, in order. The lock is held. */
static struct dpa_room *serve_room(void)
{
	struct dpa_room *first = NULL, **last = &first, *r;

	while ((r = waiting.head) && r->take(r)) {
		waiting.head = r->next;
		if (!waiting.head)
			waiting.tail = &waiting.head;
		atomic_fetch_sub_explicit(&waiting.len, 1, memory_order_relaxed);
		*last = r;
		last = &r->next;
	}
	*last = NULL;
	return first;
}

static void start_all(struct dpa_room *r)
{
	while (r) {
		struct dpa_room *next = r->next;

		r->start(r);
		r = next;
	}
}

static uint32_t room_length(void)
{
	return atomic_load_explicit(&waiting.len, memory_order_seq_cst);
}

void dpa_room_ask(struct dpa_room *r)
{
	struct dpa_room *ready;

	if (!room_length() && r->take(r)) {
		r->start(r);
		return;
	}
	pthread_mutex_lock(&waiting.lock);
	r->next = NULL;
	*waiting.tail = r;
	waiting.tail = &r->next;
	atomic_fetch_add_explicit(&waiting.len, 1, memory_order_seq_cst);
	ready = serve_room();
	pthread_mutex_unlock(&waiting.lock);
	start_all(ready);
}

bool dpa_room_cancel(struct dpa_room *r)
{
	struct dpa_room **at;
	bool found;

	if (!room_length())
		return false;
	pthread_mutex_lock(&waiting.lock);
	for (at = &waiting.head; *at && *at != r; at = &(*at)->next)
		;
	found = *at != NULL;
	if (found) {
		*at = r->next;
		if (waiting.tail == &r->next)
			waiting.tail = at;
		atomic_fetch_sub_explicit(&waiting.len, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&waiting.lock);
	return found;
}

void dpa_room_freed(void)
{
	struct dpa_room *ready;

	if (!room_length())
		return;
	pthread_mutex_lock(&waiting.lock);
	ready = serve_room();
	pthread_mutex_unlock(&waiting.lock);
	start_all(ready);
}

void dpa_room_forget(void)
{
	pthread_mutex_init(&waiting.lock, NULL);
	waiting.head = NULL;
	waiting.tail = &waiting.head;
	atomic_store_explicit(&waiting.len, 0, memory_order_relaxed);
}
