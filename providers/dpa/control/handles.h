/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * handles.h - the verbs objects of a context and the handle of each.
 *
 * The `handle` and `context` of a verbs object are the application's to write over. The kernel
 * finds an object by the handle within the context and answers ENOENT if there is none; this table
 * gives the same answer. It maps the address of an object to the handle that the object was made
 * with.
 *
 * One writer at a time, under `lock`. Readers take no lock if the object is there: its creation
 * happened before the call that names it, and its destruction is ordered behind that call by the
 * application. A miss is looked up again under the lock, for entries move when the table is
 * rebuilt.
 */
#ifndef DPA_HANDLES_H
#define DPA_HANDLES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dpa_handle_array;

struct dpav_handles {
	_Atomic(struct dpa_handle_array *) array; /* NULL until the first reservation */
	pthread_mutex_t lock;			  /* of what follows, and to write the array */
	uint32_t taken;				  /* objects in the array and reservations */
	uint32_t dirty; /* entries of the array that are not empty: objects and what they left */
};

void dpav_handles_init(struct dpav_handles *h);
/* Frees the table. Objects that the application left are not freed. No other call is under way. */
void dpav_handles_fini(struct dpav_handles *h);

/*
 * Room for one object: dpav_handles_add() then cannot fail. 0 or ENOMEM. Ended by dpav_handles_add()
 * or dpav_handles_unreserve().
 */
int dpav_handles_reserve(struct dpav_handles *h);
void dpav_handles_unreserve(struct dpav_handles *h);
/* Enters an object under a reservation. The object is not in the table. */
void dpav_handles_add(struct dpav_handles *h, const void *obj, uint32_t handle);

/* 0, or ENOENT: no object at this address has this handle. Any thread, takes no lock if it has. */
int dpav_handles_find(struct dpav_handles *h, const void *obj, uint32_t handle);
/* The object is there and has another handle from now on. */
void dpav_handles_change(struct dpav_handles *h, const void *obj, uint32_t handle);
/*
 * Takes the object out and keeps its room as a reservation, before the object is freed: its address
 * may be another object's right afterwards. 0 or ENOENT, as dpav_handles_find().
 */
int dpav_handles_take(struct dpav_handles *h, const void *obj, uint32_t handle);

#endif
