/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ctx.h - base of objects that are a doca_ctx: doca_rdma, doca_sync_event.
 *
 *          start                    (later)
 *   IDLE --------> RUNNING      or  STARTING ---> RUNNING
 *   RUNNING --stop--> IDLE      or  STOPPING ---> IDLE
 *
 * The object embeds a struct doca_ctx, initialises it by dpa_core_init() and ends it by
 * dpa_core_fini(). doca_ctx_start() and doca_ctx_stop() call its ops, which return SUCCESS, or
 * return IN_PROGRESS and call dpa_core_move() later. All of this is called by the user's thread,
 * under no lock.
 */
#ifndef DPA_COMMON_CTX_H
#define DPA_COMMON_CTX_H

#ifndef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_ALLOW_EXPERIMENTAL_API
#endif
#include <stdatomic.h>
#include <stdbool.h>
#include <doca_ctx.h>
#include "object/object.h"

struct doca_dev;
struct doca_dpa;
struct doca_gpu;
struct doca_pe;

struct dpa_ctx_ops {
	/*
	 * Called when IDLE. SUCCESS: is RUNNING; IN_PROGRESS: is STARTING; any other result: still
	 * IDLE. ctx->dpa and ctx->gpu hold the data path; the DPA context is started.
	 */
	doca_error_t (*start)(struct doca_ctx *ctx);
	/* SUCCESS: is IDLE; IN_PROGRESS: is STOPPING; any other result: state unchanged. */
	doca_error_t (*stop)(struct doca_ctx *ctx);
	/*
	 * Called by doca_pe_progress() unless IDLE. Returns whether there was work. NULL: the
	 * object needs no progress and has no CPU data path.
	 */
	bool (*progress)(struct doca_ctx *ctx);
	/*
	 * Called by doca_pe_request_notification(): from now on dpa_pe_raise() is called when
	 * progress() has work, unless fd reports it. True: there is work already. NULL if progress
	 * is NULL.
	 */
	bool (*arm)(struct doca_ctx *ctx);
	/* doca_ctx_flush_tasks(); may be NULL. */
	void (*flush)(struct doca_ctx *ctx);
	bool on_dpa;	   /* has a DPA data path */
	bool on_gpu;	   /* has a GPU data path */
	bool comp_vectors; /* uses comp_vector */
};

struct doca_ctx {
	const struct dpa_ctx_ops *ops;
	struct doca_dev *dev;
	enum doca_ctx_states state;
	union doca_data user_data;
	doca_ctx_state_changed_callback_t changed;
	struct doca_dpa *dpa; /* data path on this DPA, */
	struct doca_gpu *gpu; /* or on this GPU; both NULL: on the CPU */
	struct doca_pe *pe;
	struct doca_ctx *next; /* of the pe */
	int fd;		       /* set by the object: readable when progress() has work; -1: none */
	size_t inflight;       /* tasks submitted and not completed */
	uint32_t comp_vector;
};

/* Initialise the base. dev: kept for queries only. */
void dpa_core_init(struct doca_ctx *ctx, const struct dpa_ctx_ops *ops, struct doca_dev *dev);
/* Release the pe and the DPA context. IN_USE: not IDLE, nothing was done. */
doca_error_t dpa_core_fini(struct doca_ctx *ctx);
/*
 * Finish STARTING or STOPPING later, or report a failure: set the state and call the user's
 * callback.
 */
void dpa_core_move(struct doca_ctx *ctx, enum doca_ctx_states state);

static inline bool dpa_core_idle(const struct doca_ctx *ctx)
{
	return ctx->state == DOCA_CTX_STATE_IDLE;
}

#endif
