/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * room.h - work that waits for room in the pool.
 *
 * The pool carries a limited number of works at the same time (DPA_EU_THREADS). A launch that
 * finds no room is put in a queue, first in, first out, and begins when others have ended. One that
 * needs little does not overtake one that needs much, which would wait for ever else: a kernel must
 * not wait for a launch behind it that there is no room for.
 */
#ifndef DPA_EU_ROOM_H
#define DPA_EU_ROOM_H

#include <stdbool.h>

/* Memory of the caller's, which it may free once start() was called or the cancel succeeded. */
struct dpa_room {
	struct dpa_room *next; /* in the queue, under its lock */
	/* Takes the room if there is some. The queue's lock may be held: no call of this header. */
	bool (*take)(struct dpa_room *r);
	/* It is taken. Once, by the asker or by the thread that freed room; no lock is held. */
	void (*start)(struct dpa_room *r);
};

/* Calls start(), maybe before it returns. Any thread; it may make threads of the pool. */
void dpa_room_ask(struct dpa_room *r);
/* True: start() will not be called. False: it was or is about to be. Any thread but start()'s. */
bool dpa_room_cancel(struct dpa_room *r);
/* After room was given back: starts those that have it now. Any thread, with no lock held. */
void dpa_room_freed(void);
/* In a forked child: nothing waits. */
void dpa_room_forget(void);

#endif
