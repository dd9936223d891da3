/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* exec.h - launches, RPCs, affinities, thread groups and extended contexts, for context.c. */
#ifndef DPA_EXEC_H
#define DPA_EXEC_H

#include "../run/run.h"
#include "../host/libdpa.h"

/* ------------------------------------------------------- launches and RPCs */

struct dpa_launch;

/*
 * RPCs and launches that a started context has in flight. It keeps room for one RPC and for one
 * thread of a launch reserved in the pool, so that neither must create a thread.
 */
struct dpa_launches {
	pthread_mutex_t lock;
	pthread_cond_t fewer;	 /* signalled when one leaves the list */
	struct dpa_launch *list; /* under the lock: launched and not ended */
	_Atomic uint32_t rpcs;	 /* in flight */
	_Atomic uint32_t room;	 /* 1: the place for a launch is free */
};

/* Begin, for a context that is started: 0 or errno. */
int dpa_launches_begin(struct doca_dpa *dpa);
/*
 * Drop launches that wait for an event; give running ones one second to end, then kill them.
 * Applies to one context (an extended one), or (NULL) to all.
 */
void dpa_launches_halt(struct dpa_launches *all, const struct doca_dpa *dpa);
/* Do the same for a base context that is stopped, and free the rest. */
void dpa_launches_end(struct doca_dpa *dpa);

/* The callable entry of a stub. Errors are those of launches and RPCs. */
struct dpa_callee {
	const struct dpa_app_entry *app;
	const struct dpa_image_entry *image;
};
doca_error_t dpa_find_callee(struct doca_dpa *dpa, doca_dpa_func_t *func, bool rpc,
			     struct dpa_callee *out);
/* Create its entry in the statistics at the first call, before an EU waits for it. */
static inline void dpa_callee_count(struct doca_dpa *dpa, const struct dpa_callee *c,
				    enum dpa_stat_kind kind)
{
	struct doca_dpa *base = dpa_base(dpa);

	dpa_stat_kernel(&base->stat_kernels, kind, base->stat_id, c->image->name);
}

/* ----------------------------------------------------- affinity and groups */

/* Return rank and size for dpal_run. Any thread. */
static inline void dpa_thread_place(const struct doca_dpa_thread *t, uint32_t *rank, uint32_t *n)
{
	uint64_t place = atomic_load_explicit(&t->place, memory_order_acquire);

	*rank = (uint32_t)place;
	*n = place ? (uint32_t)(place >> 32) : 1;
}

/* Remove a thread that is destroyed from its group, which is stopped. */
void dpa_thread_leave_group(struct doca_dpa_thread *t);
void dpa_affinity_hold(const struct doca_dpa_eu_affinity *a);
void dpa_affinity_release(const struct doca_dpa_eu_affinity *a);
/* Return the EU of an affinity; DPA_EU_ANY: none, or no affinity. */
int dpa_affinity_eu(const struct doca_dpa_eu_affinity *a);
/* Return the EUs for relaxed work of a started context, and their number. */
const uint64_t *dpa_ctx_eus(struct doca_dpa *dpa);
uint32_t dpa_ctx_max_threads(struct doca_dpa *dpa);
/* Read the partitions of the adapter instance, for a context that is started. 0 or ENOMEM. */
int dpa_ctx_find_eus(struct doca_dpa *dpa);

/* ---------------------------------------------------------- in context.c */

void dpa_sink_close(struct dpa_sink *sink);
/* Start an extended context again, while its base is started. */
doca_error_t dpa_extended_start(struct doca_dpa *dpa);
void dpa_extended_stop(struct doca_dpa *dpa);

#endif
