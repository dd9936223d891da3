/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * room.h - work that waits for room in the pool.
 *
 * The pool runs a limited number of works at the same time (DPA_EU_THREADS). A launch that finds no
 * room is put in a queue, first in, first out, and begins when others have ended. A small request
 * does not overtake a large one, which could otherwise wait for ever. So a kernel must not wait for
 * a launch queued behind it for which there is no room.
 */
#ifndef DPA_EU_ROOM_H
#define DPA_EU_ROOM_H

#include <stdbool.h>

/* Memory of the caller, which may free it after start() was called or the cancel succeeded. */
struct dpa_room {
	struct dpa_room *next; /* in the queue, under its lock */
	/*
	 * Take the room if there is some. The queue's lock may be held: call nothing of this
	 * header.
	 */
	bool (*take)(struct dpa_room *r);
	/*
	 * The room is taken. Called once, by the requester or by the thread that freed room; no
	 * lock is held.
	 */
	void (*start)(struct dpa_room *r);
};

/*
 * Request room: calls start(), maybe before it returns. Any thread; may create threads of the pool.
 */
void dpa_room_ask(struct dpa_room *r);
/*
 * Cancel a request. True: start() will not be called. False: it was called or is about to be. Any
 * thread except that of start().
 */
bool dpa_room_cancel(struct dpa_room *r);
/*
 * Start the requests that have room now; call it after room was returned. Any thread, with no lock
 * held.
 */
void dpa_room_freed(void);
/* Empty the queue in a forked child. */
void dpa_room_forget(void);

#endif
