/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pe.h - tasks and the progress engine, for objects with a CPU data path.
 *
 * A task type embeds a struct doca_task. doca_task_submit() calls ops->submit; the object calls
 * dpa_task_complete() from its progress(), once for each task that was taken.
 */
#ifndef DPA_COMMON_PE_H
#define DPA_COMMON_PE_H

#include "ctx.h"
#include <doca_pe.h>

struct dpa_task_ops {
	/* SUCCESS: accepted; flags: enum doca_task_submit_flag. AGAIN: no room now. */
	doca_error_t (*submit)(struct doca_task *task, uint32_t flags);
	/* Calls the user's callback that task->status selects. May free the task. */
	void (*completed)(struct doca_task *task);
	/*
	 * Called by doca_task_free() when not in flight. Makes room for another task of the user.
	 */
	void (*retire)(struct doca_task *task);
	/* Frees the memory: after retire(), and after the task's own callback if that freed it. */
	void (*free)(struct doca_task *task);
};

/* Receives the end of a task, instead of the user's callback. */
struct dpa_task_watch {
	void (*ended)(struct doca_task *task);
};

struct doca_task {
	struct doca_ctx *ctx;
	const struct dpa_task_ops *ops;
	union doca_data user_data;
	/* set by a graph while it has the task in flight; else NULL */
	struct dpa_task_watch *watch;
	doca_error_t status;
	bool inflight;
	bool retired; /* the user has freed it; its callback runs */
	/* callbacks that run: a task that is submitted in its callback may end within */
	uint32_t callbacks;
};

void dpa_task_init(struct doca_task *task, struct doca_ctx *ctx, const struct dpa_task_ops *ops,
		   union doca_data user_data);
/* Report the end of a task. Context: the thread of doca_pe_progress(). */
void dpa_task_complete(struct doca_task *task, doca_error_t status);

/* Report work for ctx->ops->progress(): any thread, between start and stop, lock-free. */
void dpa_pe_raise(struct doca_ctx *ctx);

#endif
