/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* handles.c - a hash table of objects with open addressing; at most half of it is ever used. */
#include <errno.h>
#include <stdlib.h>
#include "control/handles.h"

#define FIRST_LOG 6

struct entry {
	_Atomic uintptr_t obj; /* EMPTY, LEFT or the object's address; written last, released */
	_Atomic uint32_t handle;
};

enum { EMPTY, LEFT }; /* LEFT: an object was here; others may follow */

struct dpa_handle_array {
	struct dpa_handle_array *smaller; /* the previous array: readers may still use it */
	uint32_t mask;
	struct entry at[];
};

static uint32_t hash_object(const void *obj)
{
	return (uint32_t)(((uintptr_t)obj >> 4) * 0x9e3779b97f4a7c15ull >> 32);
}

static uintptr_t obj_of(const struct entry *e)
{
	return atomic_load_explicit(&e->obj, memory_order_acquire);
}

static void set_obj(struct entry *e, uintptr_t obj)
{
	atomic_store_explicit(&e->obj, obj, memory_order_release);
}

void dpav_handles_init(struct dpav_handles *h)
{
	atomic_init(&h->array, NULL);
	pthread_mutex_init(&h->lock, NULL);
	h->taken = h->dirty = 0;
}

void dpav_handles_fini(struct dpav_handles *h)
{
	struct dpa_handle_array *a = atomic_load_explicit(&h->array, memory_order_relaxed);

	while (a) {
		struct dpa_handle_array *smaller = a->smaller;

		free(a);
		a = smaller;
	}
	pthread_mutex_destroy(&h->lock);
}

/* ------------------------------------------------------------- under the lock */

static struct dpa_handle_array *array_new(uint32_t size)
{
	struct dpa_handle_array *a = calloc(1, sizeof(*a) + size * sizeof(a->at[0]));

	if (a)
		a->mask = size - 1;
	return a;
}

/* True if the entry was empty before. */
static bool put_object_handle(struct dpa_handle_array *a, const void *obj, uint32_t handle)
{
	uint32_t i = hash_object(obj) & a->mask;
	uintptr_t was;

	while ((was = obj_of(&a->at[i])) > LEFT)
		i = (i + 1) & a->mask;
	atomic_store_explicit(&a->at[i].handle, handle, memory_order_relaxed);
	set_obj(&a->at[i], (uintptr_t)obj);
	return was == EMPTY;
}

/* Copies all objects of `from` into `to`. Returns their number. */
static uint32_t put_all_handles(struct dpa_handle_array *to, const struct dpa_handle_array *from)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i <= from->mask; i++) {
		uintptr_t obj = obj_of(&from->at[i]);

		if (obj <= LEFT)
			continue;
		put_object_handle(to, (const void *)obj,
				  atomic_load_explicit(&from->at[i].handle, memory_order_relaxed));
		n++;
	}
	return n;
}

/* Doubles the array. The old one stays for its readers until the context is closed. */
static int grow_handles(struct dpav_handles *h, struct dpa_handle_array *a)
{
	struct dpa_handle_array *more = array_new(a ? 2 * (a->mask + 1) : 1u << FIRST_LOG);

	if (!more)
		return ENOMEM;
	more->smaller = a;
	h->dirty = a ? put_all_handles(more, a) : 0;
	atomic_store_explicit(&h->array, more, memory_order_release);
	return 0;
}

/* Removes LEFT entries, in place, so that no further array must be kept for readers. */
static int clean_handles(struct dpav_handles *h, struct dpa_handle_array *a)
{
	struct dpa_handle_array *copy = array_new(a->mask + 1);

	if (!copy)
		return ENOMEM;
	put_all_handles(copy, a);
	for (uint32_t i = 0; i <= a->mask; i++)
		set_obj(&a->at[i], EMPTY);
	h->dirty = put_all_handles(a, copy);
	free(copy);
	return 0;
}

/* Returns the object's entry, or NULL. */
static struct entry *find_handle_entry(struct dpa_handle_array *a, const void *obj)
{
	uint32_t i = hash_object(obj);
	uintptr_t at;

	/* While the array is rebuilt a reader may see no empty entry: stop after one round. */
	for (uint32_t n = 0; a && n <= a->mask; n++, i++) {
		at = obj_of(&a->at[i & a->mask]);
		if (at == (uintptr_t)obj)
			return &a->at[i & a->mask];
		if (at == EMPTY)
			break;
	}
	return NULL;
}

static struct entry *find_with(struct dpa_handle_array *a, const void *obj, uint32_t handle)
{
	struct entry *e = find_handle_entry(a, obj);

	return e && atomic_load_explicit(&e->handle, memory_order_relaxed) == handle ? e : NULL;
}

static struct dpa_handle_array *locked_handles(struct dpav_handles *h)
{
	pthread_mutex_lock(&h->lock);
	return atomic_load_explicit(&h->array, memory_order_relaxed);
}

/* Empties an entry, and LEFT entries before it if no object follows. */
static void drop_entry(struct dpav_handles *h, struct dpa_handle_array *a, struct entry *e)
{
	uint32_t i = (uint32_t)(e - a->at);

	set_obj(e, LEFT);
	if (obj_of(&a->at[(i + 1) & a->mask]) != EMPTY)
		return;
	while (obj_of(&a->at[i]) == LEFT) {
		set_obj(&a->at[i], EMPTY);
		h->dirty--;
		i = (i - 1) & a->mask;
	}
}

/* ---------------------------------------------------------------------- calls */

int dpav_handles_reserve(struct dpav_handles *h)
{
	struct dpa_handle_array *a = locked_handles(h);
	int ret = 0;

	if (!a || 2 * (h->taken + 1) > a->mask + 1)
		ret = grow_handles(h, a);
	else if (4 * (h->dirty + 1) > 3 * (a->mask + 1))
		ret = clean_handles(h, a);
	if (!ret)
		h->taken++;
	pthread_mutex_unlock(&h->lock);
	return ret;
}

void dpav_handles_unreserve(struct dpav_handles *h)
{
	pthread_mutex_lock(&h->lock);
	h->taken--;
	pthread_mutex_unlock(&h->lock);
}

void dpav_handles_add(struct dpav_handles *h, const void *obj, uint32_t handle)
{
	h->dirty += put_object_handle(locked_handles(h), obj, handle);
	pthread_mutex_unlock(&h->lock);
}

int dpav_handles_find(struct dpav_handles *h, const void *obj, uint32_t handle)
{
	struct dpa_handle_array *a = atomic_load_explicit(&h->array, memory_order_acquire);
	bool there = find_with(a, obj, handle);

	if (!there) {
		there = find_with(locked_handles(h), obj, handle);
		pthread_mutex_unlock(&h->lock);
	}
	return there ? 0 : ENOENT;
}

void dpav_handles_change(struct dpav_handles *h, const void *obj, uint32_t handle)
{
	struct entry *e = find_handle_entry(locked_handles(h), obj);

	if (e)
		atomic_store_explicit(&e->handle, handle, memory_order_relaxed);
	pthread_mutex_unlock(&h->lock);
}

int dpav_handles_take(struct dpav_handles *h, const void *obj, uint32_t handle)
{
	struct dpa_handle_array *a = locked_handles(h);
	struct entry *e = find_with(a, obj, handle);

	if (e)
		drop_entry(h, a, e);
	pthread_mutex_unlock(&h->lock);
	return e ? 0 : ENOENT;
}
