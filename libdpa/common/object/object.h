/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * object.h - table of the pointers that are objects of this library. Users pass pointers; a pointer
 * to a destroyed object, to another type or to no object is refused before it is read:
 *
 * 	if (!dpa_live(dpa) || !value)
 * 		return DOCA_ERROR_INVALID_VALUE;
 *
 * The address of an object stays in the table for ever, with its present type. The memory of a
 * destroyed object is not returned to malloc() until DPA_OBJ_KEPT others, or DPA_OBJ_KEPT_BYTES of
 * them, were destroyed after it: only then can a stale pointer refer to another object.
 *
 * dpa_obj_is() takes no lock and may run in any thread; the other calls take one inside.
 */
#ifndef DPA_COMMON_OBJECT_H
#define DPA_COMMON_OBJECT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPA_OBJ_KEPT	   256
#define DPA_OBJ_KEPT_BYTES (1 << 20)

/*
 * The types of objects, with the structure that users have pointers to. A type is a bit of a uint64_t: an
 * address may have two types, if it is also that of an object's first member.
 */
#define DPA_OBJ_STRUCTS(X)                                                                         \
	X(doca_dev, DEV)                                                                           \
	X(doca_devinfo, DEVINFO)                                                                   \
	X(doca_dpa, DPA)                                                                           \
	X(doca_dpa_thread, THREAD)                                                                 \
	X(doca_dpa_tg, THREAD_GROUP)                                                               \
	X(doca_dpa_completion, COMPLETION)                                                         \
	X(doca_dpa_async_ops, ASYNC_OPS)                                                           \
	X(doca_dpa_notification_completion, NOTIFICATION)                                          \
	X(doca_dpa_eu_affinity, AFFINITY)                                                          \
	X(doca_dpa_hash_table, HASH_TABLE)                                                         \
	X(dpa_qp, QP)                                                                              \
	X(doca_mmap, MMAP)                                                                         \
	X(doca_buf_arr, BUF_ARR)                                                                   \
	X(doca_buf_inventory, BUF_INVENTORY)                                                       \
	X(doca_sync_event, SYNC_EVENT)                                                             \
	X(doca_sync_event_remote_net, REMOTE_EVENT)                                                \
	X(doca_rdma, RDMA)                                                                         \
	X(doca_rdma_connection, CONNECTION)                                                        \
	X(doca_rdma_addr, ADDR)                                                                    \
	X(doca_ctx, CTX)                                                                           \
	X(doca_pe, PE)                                                                             \
	X(doca_task, TASK)                                                                         \
	X(doca_argp_param, PARAM)                                                                  \
	X(doca_argp_cmd, CMD)                                                                      \
	X(doca_dev_rep, DEV_REP)                                                                   \
	X(doca_devinfo_rep, DEVINFO_REP)                                                           \
	X(doca_dma, DMA)                                                                           \
	X(doca_dma_task_memcpy, DMA_TASK)                                                          \
	X(doca_graph, GRAPH)                                                                       \
	X(doca_graph_node, GRAPH_NODE)                                                             \
	X(doca_graph_instance, GRAPH_INSTANCE)                                                     \
	X(doca_mmap_advise, ADVISE)                                                                \
	X(doca_mmap_advise_task_invalidate_cache, ADVISE_TASK)                                     \
	X(doca_clock, CLOCK)                                                                       \
	X(doca_gpu, GPU)                                                                           \
	X(doca_telemetry_pcc, TELEMETRY_PCC)                                                       \
	X(doca_pcc, PCC)                                                                           \
	X(doca_gpu_semaphore, GPU_SEMAPHORE)
/* Those without such a structure. */
#define DPA_OBJ_OTHERS(X)                                                                          \
	X(DEVINFO_LIST)                                                                            \
	X(BUF_PAGE)                                                                                \
	X(EVENT_TASK)                                                                              \
	X(RDMA_TASK)                                                                               \
	X(DEVINFO_REP_LIST)                                                                        \
	X(FLEXIO_RESOURCE)

#define DPA_OBJ_STRUCT_BIT(tag, type) DPA_OBJ_BIT_##type,
#define DPA_OBJ_OTHER_BIT(type)	      DPA_OBJ_BIT_##type,
enum { DPA_OBJ_STRUCTS(DPA_OBJ_STRUCT_BIT) DPA_OBJ_OTHERS(DPA_OBJ_OTHER_BIT) DPA_OBJ_BITS };
static_assert(DPA_OBJ_BITS <= 64, "a type is a bit");

#define DPA_OBJ_OTHER_TYPE(type)       DPA_T_##type = UINT64_C(1) << DPA_OBJ_BIT_##type,
#define DPA_OBJ_STRUCT_TYPE(tag, type) DPA_OBJ_OTHER_TYPE(type)
enum { DPA_OBJ_STRUCTS(DPA_OBJ_STRUCT_TYPE) DPA_OBJ_OTHERS(DPA_OBJ_OTHER_TYPE) };

#define DPA_OBJ_DECLARE(tag, type) struct tag;
DPA_OBJ_STRUCTS(DPA_OBJ_DECLARE)

#define DPA_OBJ_CASE(tag, type) , struct tag * : DPA_T_##type, const struct tag * : DPA_T_##type
/* Return whether p is such an object. p: a pointer to one of the structures. */
#define dpa_live(p)                                                                                \
	dpa_obj_is((p), _Generic((p), struct dpa_obj_entry * : 0 DPA_OBJ_STRUCTS(DPA_OBJ_CASE)))

/* The whole body of a getter: *out = value, if the user passes a live object and a place. */
#define DPA_RETURN_VALUE(obj, out, value)                                                          \
	do {                                                                                       \
		if (!dpa_live(obj) || !(out))                                                      \
			return DOCA_ERROR_INVALID_VALUE;                                           \
		*(out) = (value);                                                                  \
		return DOCA_SUCCESS;                                                               \
	} while (0)

/*
 * The table of objects: open addressing. No address is ever removed, so a look-up needs no lock. A
 * table that is half full is replaced by one of twice its size; the old one stays for threads that
 * still search it. Every API call makes several look-ups, hence inline.
 *
 * Written under the lock of object.c; `types` after `inverse`, which is read first.
 */
struct dpa_obj_entry {
	/* inverse of the address, so that leak checkers do not take it for a reference; 0: free */
	_Atomic uintptr_t inverse;
	_Atomic uint64_t types; /* DPA_T_... */
	size_t size;		/* under the lock: size given to dpa_obj_new() */
};

struct dpa_obj_table {
	struct dpa_obj_table *older;
	uint64_t mask;		 /* entries - 1 */
	uint32_t log_size, used; /* used: under the lock */
	struct dpa_obj_entry entries[];
};

extern _Atomic(struct dpa_obj_table *) dpa_obj_table; /* NULL: there was none yet */

/* Return the entry of an address, or the free one where it would be. */
static inline struct dpa_obj_entry *dpa_obj_find(struct dpa_obj_table *t, const void *obj)
{
	const uintptr_t inverse = ~(uintptr_t)obj;
	uint64_t i = (uint64_t)inverse * 0x9e3779b97f4a7c15ull >> (64 - t->log_size);

	for (;; i++) {
		struct dpa_obj_entry *e = &t->entries[i & t->mask];
		uintptr_t has = atomic_load_explicit(&e->inverse, memory_order_acquire);

		if (!has || has == inverse)
			return e;
	}
}

/* Return whether it has one of these types. Accepts any pointer, NULL too. */
static inline bool dpa_obj_is(const void *obj, uint64_t types)
{
	struct dpa_obj_table *t = atomic_load_explicit(&dpa_obj_table, memory_order_acquire);

	return obj && t &&
	       atomic_load_explicit(&dpa_obj_find(t, obj)->types, memory_order_acquire) & types;
}

/* Allocate zeroed memory that is an object; NULL: no memory. */
void *dpa_obj_new(uint64_t type, size_t size);
/* Do the same, aligned to `align`, a power of two that divides the size. */
void *dpa_obj_new_aligned(uint64_t type, size_t align, size_t size);
/* Add a type to an address. False: no memory; not possible if it is an object already. */
bool dpa_obj_add(const void *obj, uint64_t type);
/* Remove a type from an address; the memory stays. */
void dpa_obj_remove(const void *obj, uint64_t type);
/* Remove all types, and free the memory later. NULL is ignored. */
void dpa_obj_free(void *obj);

#endif
