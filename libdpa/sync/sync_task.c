/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sync_task.c - sync events as contexts: tasks, which end in doca_pe_progress(). A task that reads
 * or changes is carried out when it is submitted. A wait is checked in each progress, and watched
 * while the user sleeps on the engine's notification.
 */
#include "sync_task.h"
#include <stdlib.h>

static struct doca_sync_event *of_ctx(struct doca_ctx *ctx)
{
	return container_of(ctx, struct doca_sync_event, ctx);
}

static struct dpa_se_task *sync_task_of(struct doca_task *task)
{
	return container_of(task, struct dpa_se_task, task);
}

/* --------------------------------------------------------- life cycle of one */

doca_error_t dpa_se_task_set_conf(struct doca_sync_event *se, enum dpa_se_task_kind kind,
				  dpa_se_task_fn *done, dpa_se_task_fn *failed, uint32_t num)
{
	if (!dpa_live(se) || !done || !failed || !num)
		return DOCA_ERROR_INVALID_VALUE;
	if (atomic_load_explicit(&se->state, memory_order_relaxed) != DPA_SE_IDLE)
		return DOCA_ERROR_NOT_PERMITTED;
	se->conf[kind].done = done;
	se->conf[kind].failed = failed;
	se->conf[kind].max = num;
	return DOCA_SUCCESS;
}

static void end_sync_task(struct dpa_se_task *t, doca_error_t status)
{
	struct doca_sync_event *se = t->se;

	if (t->watched)
		dpa_se_watch_cancel(&t->watch);
	t->watched = false;
	t->task.status = status;
	t->next = NULL;
	*se->ended_tail = t;
	se->ended_tail = &t->next;
}

/* Return whether a mask is legal: 0, 1, 2, 4 or 8 adjacent whole bytes. */
static bool mask_is_legal(uint64_t mask)
{
	int bytes = 0;

	if (!mask)
		return true;
	mask >>= __builtin_ctzll(mask) / 8 * 8;
	for (; (mask & 0xff) == 0xff; mask >>= 8)
		bytes++;
	return !mask && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
}

static doca_error_t submit_sync_task(struct doca_task *task, uint32_t flags)
{
	struct dpa_se_task *t = sync_task_of(task);
	struct doca_sync_event *se = t->se;
	uint64_t before;

	switch (t->kind) {
	case DPA_SE_GET:
		if (!t->out)
			return DOCA_ERROR_INVALID_VALUE;
		*t->out = dpa_se_read(se);
		break;
	case DPA_SE_SET:
		dpa_se_set(se, t->value);
		break;
	case DPA_SE_ADD:
		before = dpa_se_add(se, t->value);
		if (t->out)
			*t->out = before;
		break;
	case DPA_SE_WAIT_EQ:
	case DPA_SE_WAIT_NEQ:
		if (!mask_is_legal(t->mask))
			return DOCA_ERROR_INVALID_VALUE;
		t->next = se->waits;
		se->waits = t;
		dpa_pe_raise(task->ctx); /* it must be watched from now on */
		return DOCA_SUCCESS;
	}
	end_sync_task(t, DOCA_SUCCESS);
	dpa_pe_raise(task->ctx);
	return DOCA_SUCCESS;
}

static void call_sync_task_back(struct doca_task *task)
{
	struct dpa_se_task *t = sync_task_of(task);
	const struct dpa_se_conf *c = &t->se->conf[t->kind];

	(task->status == DOCA_SUCCESS ? c->done : c->failed)(t, task->user_data,
							     task->ctx->user_data);
}

static void retire_sync_task(struct doca_task *task)
{
	struct dpa_se_task *t = sync_task_of(task);

	t->se->conf[t->kind].used--;
}

static void free_sync_task(struct doca_task *task)
{
	struct dpa_se_task *t = sync_task_of(task);

	dpa_se_release(t->se);
	dpa_obj_free(t);
}

static const struct dpa_task_ops task_ops = {
	.submit = submit_sync_task,
	.completed = call_sync_task_back,
	.retire = retire_sync_task,
	.free = free_sync_task,
};

struct dpa_se_task *dpa_se_task_new(struct doca_sync_event *se, enum dpa_se_task_kind kind,
				    union doca_data user_data)
{
	struct dpa_se_conf *c = &se->conf[kind];
	struct dpa_se_task *t;

	if (se->ctx.state != DOCA_CTX_STATE_RUNNING || c->used >= c->max)
		return NULL;
	t = dpa_obj_new(DPA_T_EVENT_TASK, sizeof(*t));
	if (!t)
		return NULL;
	dpa_task_init(&t->task, &se->ctx, &task_ops, user_data);
	t->se = se;
	t->kind = kind;
	dpa_se_hold(se);
	c->used++;
	return t;
}

/* ------------------------------------------------------------ of the context */

static bool task_holds(const struct dpa_se_task *t)
{
	bool equal = (dpa_se_read(t->se) & t->mask) == t->value;

	return equal == (t->kind == DPA_SE_WAIT_EQ);
}

static void look_at_waits(struct doca_sync_event *se)
{
	bool stopping = se->ctx.state == DOCA_CTX_STATE_STOPPING;

	for (struct dpa_se_task **p = &se->waits; *p;) {
		struct dpa_se_task *t = *p;
		bool over = task_holds(t);

		if (!over && !stopping) {
			p = &t->next;
			continue;
		}
		*p = t->next;
		end_sync_task(t, over ? DOCA_SUCCESS : DOCA_ERROR_SHUTDOWN);
	}
}

/*
 * Call back the tasks that have ended by now. Tasks that callbacks submit wait for the next call.
 */
static bool call_all_back(struct doca_sync_event *se)
{
	struct dpa_se_task *t = se->ended, *next;

	if (!t)
		return false;
	se->ended = NULL;
	se->ended_tail = &se->ended;
	for (; t; t = next) {
		next = t->next;
		dpa_task_complete(&t->task, t->task.status);
	}
	return true;
}

static bool progress_sync(struct doca_ctx *ctx)
{
	struct doca_sync_event *se = of_ctx(ctx);
	struct doca_dev *dev = se->sub.dev ? se->sub.dev : se->pub.dev;
	bool any;

	if (se->polled && se->waits && dev)
		dpa_hwif_progress(dev->ctx);
	look_at_waits(se);
	any = call_all_back(se);
	if (ctx->state == DOCA_CTX_STATE_STOPPING && !ctx->inflight) {
		dpa_se_stop(se);
		dpa_core_move(ctx, DOCA_CTX_STATE_IDLE);
		any = true;
	}
	return any;
}

static void raise_task_pe(struct dpa_se_watch *w)
{
	dpa_pe_raise(container_of(w, struct dpa_se_task, watch)->task.ctx);
}

static bool arm_sync(struct doca_ctx *ctx)
{
	struct doca_sync_event *se = of_ctx(ctx);
	bool ready = se->ended != NULL || ctx->state == DOCA_CTX_STATE_STOPPING;

	for (struct dpa_se_task *t = se->waits; t; t = t->next) {
		if (t->watched)
			dpa_se_watch_cancel(&t->watch);
		t->watched = !dpa_se_watch(&t->watch, se,
					   t->kind == DPA_SE_WAIT_EQ ? DPA_SE_EQ : DPA_SE_NE,
					   t->value, t->mask, raise_task_pe);
		ready |= !t->watched || task_holds(t);
	}
	return ready;
}

static doca_error_t start_sync(struct doca_ctx *ctx)
{
	return dpa_se_start(of_ctx(ctx));
}

static doca_error_t stop_sync(struct doca_ctx *ctx)
{
	if (ctx->inflight)
		return DOCA_ERROR_IN_PROGRESS; /* progress_sync() ends them */
	dpa_se_stop(of_ctx(ctx));
	return DOCA_SUCCESS;
}

static const struct dpa_ctx_ops ctx_ops = {
	.start = start_sync,
	.stop = stop_sync,
	.progress = progress_sync,
	.arm = arm_sync,
};

void dpa_se_ctx_init(struct doca_sync_event *se)
{
	se->ended_tail = &se->ended;
	dpa_core_init(&se->ctx, &ctx_ops, NULL);
}

struct doca_ctx *doca_sync_event_as_ctx(struct doca_sync_event *event)
{
	if (!dpa_live(event) ||
	    (!event->is_ctx &&
	     atomic_load_explicit(&event->state, memory_order_relaxed) != DPA_SE_IDLE))
		return NULL;
	event->is_ctx = true;
	return &event->ctx;
}
