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

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPA_OBJ_KEPT	   256
#define DPA_OBJ_KEPT_BYTES (1 << 20)

/*
 * Bits of a uint64_t: an address may have two types, if it is also that of an object's first
 * member.
 */
#define DPA_T_DEV	       (UINT64_C(1) << 0)
#define DPA_T_DEVINFO	       (UINT64_C(1) << 1)
#define DPA_T_DEVINFO_LIST     (UINT64_C(1) << 2)
#define DPA_T_DPA	       (UINT64_C(1) << 3)
#define DPA_T_THREAD	       (UINT64_C(1) << 4)
#define DPA_T_THREAD_GROUP     (UINT64_C(1) << 5)
#define DPA_T_COMPLETION       (UINT64_C(1) << 6)
#define DPA_T_ASYNC_OPS	       (UINT64_C(1) << 7)
#define DPA_T_NOTIFICATION     (UINT64_C(1) << 8)
#define DPA_T_AFFINITY	       (UINT64_C(1) << 9)
#define DPA_T_HASH_TABLE       (UINT64_C(1) << 10)
#define DPA_T_QP	       (UINT64_C(1) << 11)
#define DPA_T_MMAP	       (UINT64_C(1) << 12)
#define DPA_T_BUF_ARR	       (UINT64_C(1) << 13)
#define DPA_T_BUF_INVENTORY    (UINT64_C(1) << 14)
#define DPA_T_BUF_PAGE	       (UINT64_C(1) << 15)
#define DPA_T_SYNC_EVENT       (UINT64_C(1) << 16)
#define DPA_T_REMOTE_EVENT     (UINT64_C(1) << 17)
#define DPA_T_RDMA	       (UINT64_C(1) << 18)
#define DPA_T_CONNECTION       (UINT64_C(1) << 19)
#define DPA_T_ADDR	       (UINT64_C(1) << 20)
#define DPA_T_CTX	       (UINT64_C(1) << 21)
#define DPA_T_PE	       (UINT64_C(1) << 22)
#define DPA_T_TASK	       (UINT64_C(1) << 23)
#define DPA_T_PARAM	       (UINT64_C(1) << 24) /* of argp */
#define DPA_T_CMD	       (UINT64_C(1) << 25)
#define DPA_T_EVENT_TASK       (UINT64_C(1) << 26) /* a task of a sync event */
#define DPA_T_RDMA_TASK	       (UINT64_C(1) << 27)
#define DPA_T_DEV_REP	       (UINT64_C(1) << 28)
#define DPA_T_DEVINFO_REP      (UINT64_C(1) << 29)
#define DPA_T_DEVINFO_REP_LIST (UINT64_C(1) << 30)
#define DPA_T_DMA	       (UINT64_C(1) << 31)
#define DPA_T_DMA_TASK	       (UINT64_C(1) << 32)
#define DPA_T_GRAPH	       (UINT64_C(1) << 33)
#define DPA_T_GRAPH_NODE       (UINT64_C(1) << 34)
#define DPA_T_GRAPH_INSTANCE   (UINT64_C(1) << 35)
#define DPA_T_ADVISE	       (UINT64_C(1) << 36)
#define DPA_T_ADVISE_TASK      (UINT64_C(1) << 37)
#define DPA_T_CLOCK	       (UINT64_C(1) << 38)
#define DPA_T_GPU	       (UINT64_C(1) << 39)
#define DPA_T_TELEMETRY_PCC    (UINT64_C(1) << 41)
#define DPA_T_PCC	       (UINT64_C(1) << 42)
#define DPA_T_FLEXIO_RESOURCE  (UINT64_C(1) << 40)
#define DPA_T_GPU_SEMAPHORE    (UINT64_C(1) << 43)

#define DPA_T_OF(name, type) struct name * : type, const struct name * : type
#define dpa_live(p)                                                                                \
	dpa_obj_is((p),                                                                            \
		   _Generic((p), DPA_T_OF(doca_dev, DPA_T_DEV),                                    \
			    DPA_T_OF(doca_devinfo, DPA_T_DEVINFO), DPA_T_OF(doca_dpa, DPA_T_DPA),  \
			    DPA_T_OF(doca_dev_rep, DPA_T_DEV_REP),                                 \
			    DPA_T_OF(doca_devinfo_rep, DPA_T_DEVINFO_REP),                         \
			    DPA_T_OF(doca_dma, DPA_T_DMA),                                         \
			    DPA_T_OF(doca_dma_task_memcpy, DPA_T_DMA_TASK),                        \
			    DPA_T_OF(doca_graph, DPA_T_GRAPH),                                     \
			    DPA_T_OF(doca_graph_node, DPA_T_GRAPH_NODE),                           \
			    DPA_T_OF(doca_graph_instance, DPA_T_GRAPH_INSTANCE),                   \
			    DPA_T_OF(doca_mmap_advise, DPA_T_ADVISE),                              \
			    DPA_T_OF(doca_mmap_advise_task_invalidate_cache, DPA_T_ADVISE_TASK),   \
			    DPA_T_OF(doca_clock, DPA_T_CLOCK),                                     \
			    DPA_T_OF(doca_telemetry_pcc, DPA_T_TELEMETRY_PCC),                     \
			    DPA_T_OF(doca_pcc, DPA_T_PCC),                                         \
			    DPA_T_OF(doca_dpa_thread, DPA_T_THREAD),                               \
			    DPA_T_OF(doca_dpa_tg, DPA_T_THREAD_GROUP),                             \
			    DPA_T_OF(doca_dpa_completion, DPA_T_COMPLETION),                       \
			    DPA_T_OF(doca_dpa_async_ops, DPA_T_ASYNC_OPS),                         \
			    DPA_T_OF(doca_dpa_notification_completion, DPA_T_NOTIFICATION),        \
			    DPA_T_OF(doca_dpa_eu_affinity, DPA_T_AFFINITY),                        \
			    DPA_T_OF(doca_dpa_hash_table, DPA_T_HASH_TABLE),                       \
			    DPA_T_OF(doca_gpu, DPA_T_GPU),                                         \
			    DPA_T_OF(doca_gpu_semaphore, DPA_T_GPU_SEMAPHORE),                     \
			    DPA_T_OF(dpa_qp, DPA_T_QP), DPA_T_OF(doca_mmap, DPA_T_MMAP),           \
			    DPA_T_OF(doca_buf_arr, DPA_T_BUF_ARR),                                 \
			    DPA_T_OF(doca_buf_inventory, DPA_T_BUF_INVENTORY),                     \
			    DPA_T_OF(doca_sync_event, DPA_T_SYNC_EVENT),                           \
			    DPA_T_OF(doca_sync_event_remote_net, DPA_T_REMOTE_EVENT),              \
			    DPA_T_OF(doca_rdma, DPA_T_RDMA),                                       \
			    DPA_T_OF(doca_rdma_connection, DPA_T_CONNECTION),                      \
			    DPA_T_OF(doca_rdma_addr, DPA_T_ADDR), DPA_T_OF(doca_ctx, DPA_T_CTX),   \
			    DPA_T_OF(doca_pe, DPA_T_PE), DPA_T_OF(doca_task, DPA_T_TASK),          \
			    DPA_T_OF(doca_argp_param, DPA_T_PARAM),                                \
			    DPA_T_OF(doca_argp_cmd, DPA_T_CMD)))

struct doca_dev;
struct doca_devinfo;
struct doca_dev_rep;
struct doca_devinfo_rep;
struct doca_dma;
struct doca_dma_task_memcpy;
struct doca_graph;
struct doca_graph_node;
struct doca_graph_instance;
struct doca_mmap_advise;
struct doca_mmap_advise_task_invalidate_cache;
struct doca_clock;
struct doca_telemetry_pcc;
struct doca_pcc;
struct doca_dpa;
struct doca_dpa_thread;
struct doca_dpa_tg;
struct doca_dpa_completion;
struct doca_dpa_async_ops;
struct doca_dpa_notification_completion;
struct doca_dpa_eu_affinity;
struct doca_dpa_hash_table;
struct doca_gpu;
struct doca_gpu_semaphore;
struct dpa_qp;
struct doca_mmap;
struct doca_buf_arr;
struct doca_buf_inventory;
struct doca_sync_event;
struct doca_sync_event_remote_net;
struct doca_rdma;
struct doca_rdma_connection;
struct doca_rdma_addr;
struct doca_ctx;
struct doca_pe;
struct doca_task;
struct doca_argp_param;
struct doca_argp_cmd;

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
