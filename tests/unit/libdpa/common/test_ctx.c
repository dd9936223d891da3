/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_ctx.c - contexts, the progress engine and tasks, with an object made by the test. */
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include "tests/unit/libdpa/host.h"
#include "libdpa/common/pe.h"
#include "libdpa/host/libdpa.h"

TestSuite(ctx, .timeout = 60);

/* Echoes tasks: submitted ones wait until progress() completes them. */
struct echo {
	struct doca_ctx ctx;
	struct doca_task *queue[8];
	int queued, completed, retired, freed, flushed;
	bool frees; /* free tasks in their callback */
	doca_error_t start, stop, submit;
	atomic_bool there;
};

static struct echo *echo_of(struct doca_ctx *ctx)
{
	return container_of(ctx, struct echo, ctx);
}

static doca_error_t echo_start(struct doca_ctx *ctx)
{
	return echo_of(ctx)->start;
}

static doca_error_t echo_stop(struct doca_ctx *ctx)
{
	return ctx->inflight ? DOCA_ERROR_IN_PROGRESS : echo_of(ctx)->stop;
}

static bool echo_progress(struct doca_ctx *ctx)
{
	struct echo *e = echo_of(ctx);
	bool did = e->queued > 0;

	while (e->queued)
		dpa_task_complete(e->queue[--e->queued], DOCA_ERROR_SKIPPED);
	if (ctx->state == DOCA_CTX_STATE_STARTING)
		dpa_core_move(ctx, DOCA_CTX_STATE_RUNNING);
	if (ctx->state == DOCA_CTX_STATE_STOPPING)
		dpa_core_move(ctx, DOCA_CTX_STATE_IDLE);
	return did;
}

static bool echo_arm(struct doca_ctx *ctx)
{
	return atomic_load(&echo_of(ctx)->there);
}

static void echo_flush(struct doca_ctx *ctx)
{
	echo_of(ctx)->flushed++;
}

static const struct dpa_ctx_ops echo_ops = {
	.start = echo_start,
	.stop = echo_stop,
	.progress = echo_progress,
	.arm = echo_arm,
	.flush = echo_flush,
	.comp_vectors = true,
};

static const struct dpa_ctx_ops dpa_only_ops = {
	.start = echo_start, .stop = echo_stop, .on_dpa = true};

static doca_error_t task_submit(struct doca_task *task, uint32_t flags)
{
	struct echo *e = echo_of(task->ctx);

	if (!e->submit)
		e->queue[e->queued++] = task;
	return e->submit;
}

static void task_completed(struct doca_task *task)
{
	struct echo *e = echo_of(task->ctx);

	e->completed++;
	if (!e->frees)
		return;
	doca_task_free(task);
	doca_task_free(task);
	cr_assert_eq(e->retired, e->completed);
	cr_assert_eq(e->freed, e->completed - 1, "behind the callback");
	IS(doca_task_submit(task), INVALID_VALUE);
}

static void task_retired(struct doca_task *task)
{
	echo_of(task->ctx)->retired++;
}

static void task_freed(struct doca_task *task)
{
	echo_of(task->ctx)->freed++;
}

static const struct dpa_task_ops task_ops = {.submit = task_submit,
					     .completed = task_completed,
					     .retire = task_retired,
					     .free = task_freed};

static int moves;
static void on_move(const union doca_data user_data, struct doca_ctx *ctx,
		    enum doca_ctx_states prev_state, enum doca_ctx_states next_state)
{
	cr_assert_eq(user_data.ptr, ctx);
	moves = moves * 100 + (int)prev_state * 10 + (int)next_state;
}

static enum doca_ctx_states state_of(struct doca_ctx *ctx)
{
	enum doca_ctx_states s;

	OK(doca_ctx_get_state(ctx, &s));
	return s;
}

Test(ctx, states)
{
	struct echo e = {0};
	struct doca_pe *pe;
	union doca_data d = {.ptr = &e.ctx}, got;
	enum doca_ctx_states s;

	OK(doca_pe_create(&pe));
	dpa_core_init(&e.ctx, &echo_ops, NULL);
	IS(doca_ctx_start(NULL), INVALID_VALUE);
	IS(doca_ctx_stop(NULL), INVALID_VALUE);
	OK(doca_ctx_stop(&e.ctx)); /* idle: no work */
	IS(doca_ctx_get_state(&e.ctx, NULL), INVALID_VALUE);
	IS(doca_ctx_get_state(NULL, &s), INVALID_VALUE);
	IS(doca_ctx_start(&e.ctx), NOT_CONNECTED);
	OK(doca_pe_connect_ctx(pe, &e.ctx));
	IS(doca_ctx_set_user_data(NULL, d), INVALID_VALUE);
	OK(doca_ctx_set_user_data(&e.ctx, d));
	OK(doca_ctx_get_user_data(&e.ctx, &got));
	cr_assert_eq(got.ptr, d.ptr);
	IS(doca_ctx_get_user_data(&e.ctx, NULL), INVALID_VALUE);
	IS(doca_ctx_get_user_data(NULL, &got), INVALID_VALUE);
	IS(doca_ctx_set_state_changed_cb(&e.ctx, NULL), INVALID_VALUE);
	IS(doca_ctx_set_state_changed_cb(NULL, on_move), INVALID_VALUE);
	OK(doca_ctx_set_state_changed_cb(&e.ctx, on_move));
	e.start = DOCA_ERROR_UNEXPECTED;
	IS(doca_ctx_start(&e.ctx), UNEXPECTED);
	cr_assert_eq(state_of(&e.ctx), DOCA_CTX_STATE_IDLE);
	e.start = DOCA_SUCCESS;
	OK(doca_ctx_start(&e.ctx));
	IS(doca_ctx_start(&e.ctx), INVALID_VALUE);
	cr_assert_eq(state_of(&e.ctx), DOCA_CTX_STATE_RUNNING);
	cr_assert_eq(moves, 2);
	e.stop = DOCA_ERROR_UNEXPECTED;
	IS(doca_ctx_stop(&e.ctx), UNEXPECTED);
	cr_assert_eq(state_of(&e.ctx), DOCA_CTX_STATE_RUNNING);
	cr_assert_eq(dpa_core_fini(&e.ctx), DOCA_ERROR_IN_USE);
	e.stop = DOCA_SUCCESS;
	OK(doca_ctx_stop(&e.ctx));
	OK(doca_ctx_stop(&e.ctx));
	cr_assert_eq(moves, 220, "no callback for the second stop");
	IS(doca_pe_destroy(pe), IN_USE);
	OK(dpa_core_fini(&e.ctx));
	OK(doca_pe_destroy(pe));
}

/* Start and stop that complete later. */
Test(ctx, later)
{
	struct echo e = {.start = DOCA_ERROR_IN_PROGRESS, .stop = DOCA_ERROR_IN_PROGRESS};
	struct doca_pe *pe;
	union doca_data d = {.ptr = &e.ctx};

	OK(doca_pe_create(&pe));
	dpa_core_init(&e.ctx, &echo_ops, NULL);
	OK(doca_pe_connect_ctx(pe, &e.ctx));
	OK(doca_ctx_set_user_data(&e.ctx, d));
	OK(doca_ctx_set_state_changed_cb(&e.ctx, on_move));
	IS(doca_ctx_start(&e.ctx), IN_PROGRESS);
	cr_assert_eq(state_of(&e.ctx), DOCA_CTX_STATE_STARTING);
	doca_pe_progress(pe);
	IS(doca_ctx_stop(&e.ctx), IN_PROGRESS);
	IS(doca_ctx_stop(&e.ctx), IN_PROGRESS);
	doca_pe_progress(pe);
	cr_assert_eq(state_of(&e.ctx), DOCA_CTX_STATE_IDLE);
	cr_assert_eq(moves, 1122330);
	OK(dpa_core_fini(&e.ctx));
	OK(doca_pe_destroy(pe));
}

Test(ctx, data_path_on_a_dpa)
{
	struct echo e = {0}, cpu = {0};
	struct doca_pe *pe;
	struct rig r = {.dev = open_dpa0()};

	OK(doca_dpa_create(r.dev, &r.dpa));
	OK(doca_dpa_set_app(r.dpa, test_app));
	dpa_core_init(&e.ctx, &dpa_only_ops, r.dev);
	dpa_core_init(&cpu.ctx, &echo_ops, r.dev);
	IS(doca_ctx_set_datapath_on_dpa(NULL, r.dpa), INVALID_VALUE);
	IS(doca_ctx_set_datapath_on_dpa(&e.ctx, NULL), INVALID_VALUE);
	OK(doca_ctx_set_datapath_on_dpa(&e.ctx, r.dpa));
	OK(doca_ctx_set_datapath_on_dpa(&e.ctx, r.dpa));
	OK(doca_ctx_set_datapath_on_dpa(&cpu.ctx, r.dpa));
	IS(doca_ctx_start(&e.ctx), INITIALIZATION);
	OK(doca_dpa_start(r.dpa));
	IS(doca_ctx_start(&cpu.ctx), NOT_SUPPORTED);
	OK(doca_ctx_start(&e.ctx));
	IS(doca_ctx_set_datapath_on_dpa(&e.ctx, r.dpa), BAD_STATE);
	OK(doca_ctx_stop(&e.ctx));
	OK(dpa_core_fini(&cpu.ctx));
	IS(doca_dpa_stop(r.dpa), IN_USE);
	IS(doca_dpa_destroy(r.dpa), IN_USE);
	OK(dpa_core_fini(&e.ctx));
	OK(doca_dpa_stop(r.dpa));

	dpa_core_init(&e.ctx, &dpa_only_ops, r.dev);
	OK(doca_pe_create(&pe));
	OK(doca_pe_connect_ctx(pe, &e.ctx));
	IS(doca_ctx_start(&e.ctx), NOT_SUPPORTED);
	OK(dpa_core_fini(&e.ctx));
	OK(doca_pe_destroy(pe));
	rig_destroy(&r);
}

/* A task that is freed in its own callback: its place is free at once, its memory afterwards. */
Test(ctx, freed_in_the_callback)
{
	struct echo e = {.frees = true};
	struct doca_task task;
	struct doca_pe *pe;

	OK(doca_pe_create(&pe));
	dpa_core_init(&e.ctx, &echo_ops, NULL);
	OK(doca_pe_connect_ctx(pe, &e.ctx));
	OK(doca_ctx_start(&e.ctx));
	for (int i = 1; i <= 2; i++) {
		dpa_task_init(&task, &e.ctx, &task_ops, (union doca_data){0});
		OK(doca_task_submit(&task));
		doca_pe_progress(pe);
		cr_assert_eq(e.freed, i);
	}
	OK(doca_ctx_stop(&e.ctx));
	OK(dpa_core_fini(&e.ctx));
	OK(doca_pe_destroy(pe));
}

Test(ctx, completion_vectors)
{
	struct doca_dev *dev = open_dpa0();
	struct echo e = {0};
	struct doca_pe *pe;

	OK(doca_pe_create(&pe));
	dpa_core_init(&e.ctx, &dpa_only_ops, dev);
	IS(doca_ctx_set_completion_vector(NULL, 0), INVALID_VALUE);
	IS(doca_ctx_set_completion_vector(&e.ctx, 0), NOT_SUPPORTED);
	dpa_core_init(&e.ctx, &echo_ops, dev);
	OK(doca_ctx_set_completion_vector(&e.ctx, FAKE_COMP_VECTORS - 1));
	cr_assert_eq(e.ctx.comp_vector, FAKE_COMP_VECTORS - 1u);
	IS(doca_ctx_set_completion_vector(&e.ctx, FAKE_COMP_VECTORS), INVALID_VALUE);
	OK(doca_pe_connect_ctx(pe, &e.ctx));
	OK(doca_ctx_start(&e.ctx));
	IS(doca_ctx_set_completion_vector(&e.ctx, 0), BAD_STATE);
	OK(doca_ctx_stop(&e.ctx));
	OK(dpa_core_fini(&e.ctx));
	OK(doca_pe_destroy(pe));
	OK(doca_dev_close(dev));
}

Test(ctx, engine)
{
	struct rlimit limit, none = {0};
	struct echo e = {0}, f = {0};
	struct doca_pe *pe;
	size_t n;

	IS(doca_pe_create(NULL), INVALID_VALUE);
	IS(doca_pe_destroy(NULL), INVALID_VALUE);
	cr_assert_eq(doca_pe_progress(NULL), 0);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none.rlim_max = limit.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	IS(doca_pe_create(&pe), NO_MEMORY);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	OK(doca_pe_create(&pe));
	cr_assert_eq(doca_pe_progress(pe), 0);
	dpa_core_init(&e.ctx, &echo_ops, NULL);
	dpa_core_init(&f.ctx, &echo_ops, NULL);
	IS(doca_pe_connect_ctx(NULL, &e.ctx), INVALID_VALUE);
	IS(doca_pe_connect_ctx(pe, NULL), INVALID_VALUE);
	OK(doca_pe_connect_ctx(pe, &e.ctx));
	IS(doca_pe_connect_ctx(pe, &e.ctx), NOT_PERMITTED);
	f.ctx.state = DOCA_CTX_STATE_RUNNING;
	IS(doca_pe_connect_ctx(pe, &f.ctx), BAD_STATE);
	f.ctx.state = DOCA_CTX_STATE_IDLE;
	OK(doca_pe_connect_ctx(pe, &f.ctx));
	IS(doca_pe_get_num_inflight_tasks(NULL, &n), INVALID_VALUE);
	IS(doca_pe_get_num_inflight_tasks(pe, NULL), INVALID_VALUE);
	OK(doca_pe_get_num_inflight_tasks(pe, &n));
	cr_assert_eq(n, 0u);
	IS(doca_pe_set_event_mode(NULL, DOCA_PE_EVENT_MODE_PROGRESS_ALL), INVALID_VALUE);
	IS(doca_pe_set_event_mode(pe, (enum doca_pe_event_mode)2), INVALID_VALUE);
	OK(doca_pe_set_event_mode(pe, DOCA_PE_EVENT_MODE_PROGRESS_ALL));
	OK(doca_pe_set_event_mode(pe, DOCA_PE_EVENT_MODE_PROGRESS_SELECTIVE));
	OK(dpa_core_fini(&e.ctx));
	IS(doca_pe_destroy(pe), IN_USE);
	OK(dpa_core_fini(&f.ctx));
	OK(doca_pe_destroy(pe));
}

Test(ctx, tasks)
{
	struct echo e = {0};
	union doca_data d = {.u64 = 6};
	struct doca_task t;
	struct doca_pe *pe;
	size_t n;

	OK(doca_pe_create(&pe));
	dpa_core_init(&e.ctx, &echo_ops, NULL);
	OK(doca_pe_connect_ctx(pe, &e.ctx));
	dpa_task_init(&t, &e.ctx, &task_ops, d);
	cr_assert_eq(doca_task_get_user_data(&t).u64, 6u);
	d.u64 = 7;
	doca_task_set_user_data(&t, d);
	cr_assert_eq(doca_task_get_user_data(&t).u64, 7u);
	cr_assert_eq(doca_task_get_ctx(&t), &e.ctx);
	IS(doca_task_submit(&t), BAD_STATE);
	doca_ctx_flush_tasks(&e.ctx);
	cr_assert_eq(e.flushed, 0, "not running");
	OK(doca_ctx_start(&e.ctx));
	IS(doca_task_submit(NULL), INVALID_VALUE);
	IS(doca_task_try_submit(NULL), INVALID_VALUE);
	IS(doca_task_submit_ex(&t, 4), INVALID_VALUE);
	e.submit = DOCA_ERROR_AGAIN;
	IS(doca_task_submit(&t), AGAIN);
	e.submit = DOCA_SUCCESS;
	OK(doca_task_submit_ex(&t, DOCA_TASK_SUBMIT_FLAG_NONE));
	IS(doca_task_submit(&t), BAD_STATE);
	IS(doca_task_get_status(&t), IN_PROGRESS);
	doca_task_free(&t);
	cr_assert_eq(e.freed, 0, "in flight");
	doca_ctx_flush_tasks(&e.ctx);
	doca_ctx_flush_tasks(NULL);
	cr_assert_eq(e.flushed, 1);
	OK(doca_ctx_get_num_inflight_tasks(&e.ctx, &n));
	cr_assert_eq(n, 1u);
	IS(doca_ctx_get_num_inflight_tasks(NULL, &n), INVALID_VALUE);
	IS(doca_ctx_get_num_inflight_tasks(&e.ctx, NULL), INVALID_VALUE);
	OK(doca_pe_get_num_inflight_tasks(pe, &n));
	cr_assert_eq(n, 1u);
	cr_assert_eq(doca_pe_progress(pe), 1);
	cr_assert_eq(doca_pe_progress(pe), 0);
	cr_assert_eq(e.completed, 1);
	IS(doca_task_get_status(&t), SKIPPED);
	IS(doca_task_get_status(NULL), INVALID_VALUE);
	OK(doca_task_try_submit(&t));
	IS(doca_ctx_stop(&e.ctx), IN_PROGRESS);
	cr_assert_eq(doca_pe_progress(pe), 1);
	cr_assert_eq(state_of(&e.ctx), DOCA_CTX_STATE_IDLE);
	doca_task_free(&t);
	doca_task_free(NULL);
	cr_assert_eq(e.freed, 1);
	cr_assert_null(doca_task_get_ctx(NULL));
	cr_assert_eq(doca_task_get_user_data(NULL).u64, 0u);
	OK(dpa_core_fini(&e.ctx));
	OK(doca_pe_destroy(pe));
}

/* No type makes batches: each argument is refused as a batch, and not read. */
Test(pe, no_batch_is_one)
{
	struct doca_task t = {0};
	struct doca_task_batch *some[] = {NULL, (void *)&t, (void *)1};

	for (int i = 0; i < 3; i++) {
		struct doca_task_batch *b = some[i];

		IS(doca_task_batch_submit(b), INVALID_VALUE);
		IS(doca_task_batch_try_submit(b), INVALID_VALUE);
		IS(doca_task_batch_get_status(b), INVALID_VALUE);
		doca_task_batch_set_user_data(b, (union doca_data){.u64 = 5});
		cr_assert_eq(doca_task_batch_get_user_data(b).u64, 0u);
		cr_assert_eq(doca_task_batch_get_ctx_user_data(b).u64, 0u);
		cr_assert_null(doca_task_batch_get_ctx(b));
		cr_assert_eq(doca_task_batch_get_tasks_num(b), 0);
		doca_task_batch_free(b);
	}
}

static bool readable(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, timeout_ms) == 1;
}

static void *raiser(void *arg)
{
	dpa_pe_raise(arg);
	return NULL;
}

Test(ctx, notifications)
{
	union doca_data key = {0};
	struct echo e = {0};
	struct doca_pe *pe;
	pthread_t t;
	int fd;

	OK(doca_pe_create(&pe));
	dpa_core_init(&e.ctx, &echo_ops, NULL);
	OK(doca_pe_connect_ctx(pe, &e.ctx));
	OK(doca_ctx_start(&e.ctx));
	IS(doca_pe_get_notification_handle(NULL, &fd), INVALID_VALUE);
	IS(doca_pe_get_notification_handle(pe, NULL), INVALID_VALUE);
	OK(doca_pe_get_notification_handle(pe, &fd));
	IS(doca_pe_set_notification_handle(NULL, 0, key), INVALID_VALUE);
	IS(doca_pe_set_notification_handle(pe, 0, key), NOT_SUPPORTED);
	IS(doca_pe_request_notification(NULL), INVALID_VALUE);
	IS(doca_pe_clear_notification(NULL, fd), INVALID_VALUE);
	IS(doca_pe_clear_notification(pe, fd + 1), OPERATING_SYSTEM);
	OK(doca_pe_clear_notification(pe, fd));

	dpa_pe_raise(&e.ctx);
	cr_assert(!readable(fd, 0), "nobody asked");
	OK(doca_pe_request_notification(pe));
	cr_assert(!readable(fd, 0));
	cr_assert_eq(pthread_create(&t, NULL, raiser, &e.ctx), 0);
	cr_assert(readable(fd, -1));
	pthread_join(t, NULL);
	OK(doca_pe_clear_notification(pe, fd));
	dpa_pe_raise(&e.ctx);
	cr_assert(!readable(fd, 0), "one for each request");

	atomic_store(&e.there, true);
	OK(doca_pe_request_notification(pe));
	cr_assert(readable(fd, 0), "there was work already");
	OK(doca_pe_clear_notification(pe, fd));
	cr_assert(!readable(fd, 0));
	OK(doca_ctx_stop(&e.ctx));
	OK(dpa_core_fini(&e.ctx));
	dpa_pe_raise(&e.ctx);
	OK(doca_pe_destroy(pe));
}
