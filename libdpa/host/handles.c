/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* handles.c - the table by which device code finds host objects. */
#include "libdpa.h"

#define INDEX_MASK 0xffffffull

static _Atomic uint32_t generation;

struct dpa_handles *dpa_handles_for(struct doca_dpa *dpa, enum dpa_handle_type type)
{
	switch (type) {
	case DPA_H_HASH_TABLE:
	case DPA_H_SYNC_EVENT:
	case DPA_H_SYNC_EVENT_REMOTE:
		return &dpa_base(dpa)->handles;
	default:
		return &dpa->handles;
	}
}

bool dpa_handle_new(struct dpa_handles *t, enum dpa_handle_type type, struct dpa_object *obj)
{
	for (uint64_t i = 0; i < DPA_HANDLES; i++) {
		if (atomic_load_explicit(&t->slot[i], memory_order_relaxed))
			continue;
		obj->handle = (uint64_t)type << 56 |
			      (uint64_t)(atomic_fetch_add(&generation, 1) + 1) << 24 | i;
		atomic_store_explicit(&t->slot[i], obj, memory_order_release);
		return true;
	}
	return false;
}

/*
 * Remove a handle. The object keeps its number: an EU that has just found it may still compare it.
 */
void dpa_handle_drop(struct dpa_handles *t, struct dpa_object *obj)
{
	if (obj->handle)
		atomic_store_explicit(&t->slot[obj->handle & INDEX_MASK], NULL,
				      memory_order_seq_cst);
}

void dpa_handle_restore(struct dpa_handles *t, struct dpa_object *obj)
{
	atomic_store_explicit(&t->slot[obj->handle & INDEX_MASK], obj, memory_order_release);
}

struct dpa_object *dpa_handle_get(struct dpa_handles *t, enum dpa_handle_type type, uint64_t handle)
{
	struct dpa_object *obj;

	if (handle >> 56 != type || (handle & INDEX_MASK) >= DPA_HANDLES)
		return NULL;
	/* seq_cst: after in_op, and against the order of drop and dpa_pool_quiesce() */
	obj = atomic_load_explicit(&t->slot[handle & INDEX_MASK], memory_order_seq_cst);
	return obj && obj->handle == handle ? obj : NULL;
}
