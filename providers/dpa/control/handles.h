/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * handles.h - the verbs objects of a context and their handles.
 *
 * The application may overwrite `handle` and `context` of a verbs object. The kernel finds an
 * object by the handle within the context and returns ENOENT if there is none; this table gives the
 * same result. It maps the address of an object to the handle with which the object was created.
 *
 * One writer at a time, under `lock`. Readers take no lock if the object is there: its creation
 * happened before the call that names it, and the application orders its destruction after that
 * call. A miss is looked up again under the lock, because entries move when the table is rebuilt.
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
	/* protects the following, and writes to the array */
	pthread_mutex_t lock;
	uint32_t taken; /* objects in the array and reservations */
	uint32_t dirty; /* array entries that are not empty: objects and LEFT entries */
};

void dpav_handles_init(struct dpav_handles *h);
/* Free the table. Objects that the application left are not freed. No other call runs. */
void dpav_handles_fini(struct dpav_handles *h);

/*
 * Reserve room for one object, so that dpav_handles_add() cannot fail. 0 or ENOMEM. Ended by
 * dpav_handles_add() or dpav_handles_unreserve().
 */
int dpav_handles_reserve(struct dpav_handles *h);
void dpav_handles_unreserve(struct dpav_handles *h);
/* Enter an object under a reservation. The object is not in the table. */
void dpav_handles_add(struct dpav_handles *h, const void *obj, uint32_t handle);

/*
 * Return 0, or ENOENT: no object at this address has this handle. Any thread; takes no lock if it
 * is found.
 */
int dpav_handles_find(struct dpav_handles *h, const void *obj, uint32_t handle);
/* Change the handle of an object in the table. */
void dpav_handles_change(struct dpav_handles *h, const void *obj, uint32_t handle);
/*
 * Remove the object and keep its room as a reservation. Call it before the object is freed, because
 * its address may be reused at once. 0 or ENOENT, as dpav_handles_find().
 */
int dpav_handles_take(struct dpav_handles *h, const void *obj, uint32_t handle);

#endif
