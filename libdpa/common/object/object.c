/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* object.c - the table of objects, and the memory of destroyed ones. */
#include "object.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)	  ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define FIRST_LOG 8

_Atomic(struct dpa_obj_table *) dpa_obj_table;

static struct {
	pthread_mutex_t lock;
	/* memory of destroyed objects, under the lock: a ring */
	struct {
		void *obj;
		size_t size;
	} kept[DPA_OBJ_KEPT];
	uint32_t first, num;
	size_t bytes;
} objs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct dpa_obj_table *new_table(uint32_t log_size)
{
	struct dpa_obj_table *t = calloc(1, sizeof(*t) + (sizeof(t->entries[0]) << log_size));

	if (t) {
		t->log_size = log_size;
		t->mask = (1ull << log_size) - 1;
	}
	return t;
}

static void set_entry(struct dpa_obj_table *t, struct dpa_obj_entry *e, const void *obj,
		      uint64_t types, size_t size)
{
	if (!atomic_load_explicit(&e->inverse, memory_order_relaxed))
		t->used++;
	e->size = size;
	atomic_store_explicit(&e->inverse, ~(uintptr_t)obj, memory_order_release);
	atomic_store_explicit(&e->types, types, memory_order_release);
}

static void copy_object_table(struct dpa_obj_table *to, const struct dpa_obj_table *from)
{
	for (uint64_t i = 0; i < 1ull << from->log_size; i++) {
		const struct dpa_obj_entry *e = &from->entries[i];
		uintptr_t inverse = atomic_load_explicit(&e->inverse, memory_order_relaxed);
		const void *obj = (const void *)~inverse;

		if (inverse)
			set_entry(to, dpa_obj_find(to, obj), obj,
				  atomic_load_explicit(&e->types, memory_order_relaxed), e->size);
	}
}

static void lock_table(void)
{
	pthread_mutex_lock(&objs.lock);
}

static void unlock_table(void)
{
	pthread_mutex_unlock(&objs.lock);
}

static void watch_table_forks(void)
{
	pthread_atfork(lock_table, unlock_table, unlock_table);
}

/* Return a table with room for one more. The lock is held. */
static struct dpa_obj_table *with_room(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct dpa_obj_table *t = atomic_load_explicit(&dpa_obj_table, memory_order_relaxed),
			     *bigger;

	if (t && t->used < 1u << (t->log_size - 1))
		return t;
	pthread_once(&once, watch_table_forks);
	bigger = new_table(t ? t->log_size + 1 : FIRST_LOG);
	if (!bigger)
		return NULL;
	if (t)
		copy_object_table(bigger, t);
	bigger->older = t;
	atomic_store_explicit(&dpa_obj_table, bigger, memory_order_release);
	return bigger;
}

/* Return 0 if dpa_obj_new() did not allocate the object. */
static bool put_object(const void *obj, uint64_t type, size_t size)
{
	struct dpa_obj_table *t;

	lock_table();
	t = with_room();
	if (t) {
		struct dpa_obj_entry *e = dpa_obj_find(t, obj);

		set_entry(t, e, obj, type | atomic_load_explicit(&e->types, memory_order_relaxed),
			  size ? size : e->size);
	}
	unlock_table();
	return t != NULL;
}

void *dpa_obj_new(uint64_t type, size_t size)
{
	void *p = calloc(1, size);

	if (p && !put_object(p, type, size)) {
		free(p);
		return NULL;
	}
	return p;
}

void *dpa_obj_new_aligned(uint64_t type, size_t align, size_t size)
{
	void *p = aligned_alloc(align, size);

	if (!p)
		return NULL;
	memset(p, 0, size);
	if (!put_object(p, type, size)) {
		free(p);
		return NULL;
	}
	return p;
}

bool dpa_obj_add(const void *obj, uint64_t type)
{
	return put_object(obj, type, 0);
}

void dpa_obj_remove(const void *obj, uint64_t type)
{
	struct dpa_obj_table *t;

	lock_table();
	t = atomic_load_explicit(&dpa_obj_table, memory_order_relaxed);
	if (t)
		atomic_fetch_and_explicit(&dpa_obj_find(t, obj)->types, ~type,
					  memory_order_release);
	unlock_table();
}

/* The lock is held. */
static void drop_oldest(void)
{
	void *p = objs.kept[objs.first].obj;
	size_t size = objs.kept[objs.first].size;

	objs.kept[objs.first].obj = NULL;
	objs.first = (objs.first + 1) % DPA_OBJ_KEPT;
	objs.num--;
	objs.bytes -= size;
	ASAN_UNPOISON_MEMORY_REGION(p, size);
	free(p);
}

static void keep_object(void *obj, size_t size)
{
	uint32_t at;

	while (objs.num && (objs.num == DPA_OBJ_KEPT || objs.bytes + size > DPA_OBJ_KEPT_BYTES))
		drop_oldest();
	at = (objs.first + objs.num++) % DPA_OBJ_KEPT;
	objs.kept[at].obj = obj;
	objs.kept[at].size = size;
	objs.bytes += size;
	ASAN_POISON_MEMORY_REGION(obj, size);
}

void dpa_obj_free(void *obj)
{
	struct dpa_obj_table *t;
	struct dpa_obj_entry *e;

	if (!obj)
		return;
	lock_table();
	t = atomic_load_explicit(&dpa_obj_table, memory_order_relaxed);
	e = dpa_obj_find(t, obj);
	atomic_store_explicit(&e->types, 0, memory_order_release);
	keep_object(obj, e->size);
	unlock_table();
}
