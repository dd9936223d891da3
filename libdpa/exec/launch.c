/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * launch.c - kernel launches.
 *
 *   launch -> (watch of the wait event) -> room in the pool -> a work for each thread -> the last
 *   one to end updates the completion event and frees the launch
 *
 * A launch belongs to its context's list from the call until it is freed. The thread that takes it
 * off the list, under the lock, frees it: the last one to end, or the host's thread that drops a
 * launch which never began.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include "../eu/clock.h"
#include "../eu/room.h"
#include "../run/points.h"
#include "../sync/sync_event.h"
#include "exec.h"

#define MAX_THRESHOLD 254
#define ARGS_ALIGN    64
#define STOP_MS	      1000 /* time for running kernels to end by themselves */
#define KILL_MS	      20   /* between two signals */

struct part {
	struct dpa_work work;
	struct dpa_launch *launch;
	uint32_t rank;
};

struct dpa_launch {
	struct dpa_se_watch watch;
	struct dpa_room ask;
	struct dpa_launch *next, **prev; /* of the context's list, under its lock */
	struct doca_dpa *dpa;		 /* that it was launched on */
	const struct dpa_image_entry *entry;
	struct doca_sync_event *wait, *comp; /* referenced; NULL: none */
	uint64_t comp_count;
	bool add;
	bool has_room;	       /* uses the context's place instead of its own */
	uint32_t own;	       /* places that it has reserved itself in the pool */
	_Atomic uint32_t bad;  /* a thread did not return: no completion */
	_Atomic uint32_t left; /* threads that have not ended */
	/*
	 * 1: the context ends; a thread without EU does not begin. Written by the thread that ends the
	 * context, read by an EU that waits (both relaxed: nothing else is read because of it).
	 */
	_Atomic uint32_t halted;
	uint32_t num; /* threads */
	void *args;
	struct part parts[];
};

static struct dpa_launches *launches_of(struct dpa_launch *l)
{
	return dpa_base(l->dpa)->launches;
}

/* ------------------------------------------------------------------ the end */

/* The lock is held. */
static void unlist_launch(struct dpa_launch *l)
{
	*l->prev = l->next;
	if (l->next)
		l->next->prev = l->prev;
}

static void give_launch_room_back(struct dpa_launch *l)
{
	if (l->has_room)
		atomic_store_explicit(&launches_of(l)->room, 1, memory_order_seq_cst);
	if (l->own)
		dpa_pool_unreserve(l->own);
	else if (l->has_room)
		dpa_room_freed();
}

static void free_launch(struct dpa_launch *l)
{
	if (l->wait)
		dpa_se_release(l->wait);
	if (l->comp)
		dpa_se_release(l->comp);
	free(l->args);
	free(l);
}

/*
 * Finish a launch. Free the place before the event is set: a thread that waits for the event may
 * launch again, and must find the place free.
 */
static void finish_launch(struct dpa_launch *l)
{
	struct dpa_launches *all = launches_of(l);

	give_launch_room_back(l);
	if (l->comp && !atomic_load_explicit(&l->bad, memory_order_relaxed)) {
		if (l->add)
			dpa_se_add(l->comp, l->comp_count);
		else
			dpa_se_set(l->comp, l->comp_count);
	}
	pthread_mutex_lock(&all->lock);
	unlist_launch(l);
	/* under the lock: the thread that waits for the end then frees `all` */
	pthread_cond_broadcast(&all->fewer);
	pthread_mutex_unlock(&all->lock);
	free_launch(l);
}

static bool count_down(struct dpa_launch *l)
{
	return atomic_fetch_sub_explicit(&l->left, 1, memory_order_acq_rel) == 1;
}

/* --------------------------------------------------------------- the threads */

static void launch_entry(void *arg)
{
	struct dpa_launch *l = arg;

	l->entry->call(l->args);
}

static void run_part(struct dpa_work *work)
{
	struct part *p = container_of(work, struct part, work);
	struct dpa_launch *l = p->launch;
	struct dpal_run run = {
		.kind = DPA_RUN_KERNEL,
		.dpa = dpa_base(l->dpa),
		.cur = l->dpa,
		.name = l->entry->name,
		.rank = p->rank,
		.num_threads = l->num,
		.halt = &l->halted,
		.halt_bits = 1,
	};

	if (dpal_run_code(&run, launch_entry, l) != DPA_EU_RETURNED)
		atomic_store_explicit(&l->bad, 1, memory_order_relaxed);
	if (count_down(l))
		finish_launch(l);
}

/* Dispatch all works. The last dispatch may already end the launch. */
static void start_parts(struct dpa_launch *l)
{
	for (uint32_t i = 0, n = l->num; i < n; i++)
		dpa_pool_dispatch(&l->parts[i].work);
}

/* dpa_room.take: reserve a place for each thread. */
static bool take_launch_room(struct dpa_room *r)
{
	struct dpa_launch *l = container_of(r, struct dpa_launch, ask);
	uint32_t own;

	l->has_room = atomic_exchange_explicit(&launches_of(l)->room, 0, memory_order_seq_cst);
	own = l->num - l->has_room;
	if (!own || !dpa_pool_try_reserve(own)) {
		l->own = own;
		return true;
	}
	if (l->has_room)
		atomic_store_explicit(&launches_of(l)->room, 1, memory_order_seq_cst);
	l->has_room = false;
	return false;
}

static void on_room(struct dpa_room *r)
{
	start_parts(container_of(r, struct dpa_launch, ask));
}

/* Handle the event, under the lock of the watches: room is requested after the lock is released. */
static void on_launch_event(struct dpa_se_watch *w)
{
}

static void after_event(struct dpa_se_watch *w)
{
	dpa_room_ask(&container_of(w, struct dpa_launch, watch)->ask);
}

/* ----------------------------------------------------------------- the call */

doca_error_t dpa_find_callee(struct doca_dpa *dpa, doca_dpa_func_t *func, bool rpc,
			     struct dpa_callee *out)
{
	struct doca_dpa *base = dpa_base(dpa);

	out->app = dpa_app_find(base->app, func);
	if (!out->app || (out->app->kind == DPA_ENTRY_RPC) != rpc)
		return DOCA_ERROR_INVALID_VALUE;
	out->image = dpa_image_entry(&base->img, out->app->name);
	if (!out->image)
		return DOCA_ERROR_DRIVER;
	return out->app->pack && out->image->call ? DOCA_SUCCESS : DOCA_ERROR_NOT_SUPPORTED;
}

struct call {
	struct doca_dpa *dpa;
	struct doca_sync_event *wait, *comp;
	uint64_t threshold, count;
	bool add;
	unsigned int num;
	doca_dpa_func_t *func;
};

static doca_error_t check_call(const struct call *c, struct dpa_callee *callee)
{
	if (!dpa_live(c->dpa) || !c->func || !c->num || (c->wait && c->threshold > MAX_THRESHOLD))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(c->dpa) || doca_dpa_peek_at_last_error(c->dpa))
		return DOCA_ERROR_BAD_STATE;
	/* at a context's first launch, finding the entry takes longer than all other steps */
	if (!c->wait)
		dpa_pool_stir();
	if (c->num > dpa_ctx_max_threads(c->dpa) ||
	    (c->wait && !dpa_se_usable(c->wait, c->dpa, DPA_SE_SUBSCRIBER)) ||
	    (c->comp && !dpa_se_usable(c->comp, c->dpa, DPA_SE_PUBLISHER)))
		return DOCA_ERROR_INVALID_VALUE;
	return dpa_find_callee(c->dpa, c->func, false, callee);
}

static struct dpa_launch *make_launch(const struct call *c, const struct dpa_callee *callee,
				      va_list *ap)
{
	struct dpa_launch *l = calloc(1, sizeof(*l) + c->num * sizeof(l->parts[0]));
	size_t size = callee->app->args_size;

	if (!l)
		return NULL;
	if (size && posix_memalign(&l->args, ARGS_ALIGN, size)) {
		free(l);
		return NULL;
	}
	if (size)
		callee->app->pack(l->args, ap);
	l->dpa = c->dpa;
	l->entry = callee->image;
	l->comp_count = c->count;
	l->add = c->add;
	l->num = c->num;
	l->watch.after = after_event;
	l->ask.take = take_launch_room;
	l->ask.start = on_room;
	atomic_init(&l->left, c->num);
	for (uint32_t i = 0; i < c->num; i++) {
		l->parts[i].launch = l;
		l->parts[i].rank = i;
		dpa_work_init(&l->parts[i].work, run_part);
		l->parts[i].work.eus = dpa_ctx_eus(c->dpa);
		l->parts[i].work.awaited = true;
	}
	return l;
}

static void enlist_launch(struct dpa_launch *l)
{
	struct dpa_launches *all = launches_of(l);

	pthread_mutex_lock(&all->lock);
	l->prev = &all->list;
	l->next = all->list;
	if (l->next)
		l->next->prev = &l->next;
	all->list = l;
	pthread_mutex_unlock(&all->lock);
}

/* Take a launch off the list: nothing of it has begun or will begin. */
static void drop_launch(struct dpa_launch *l)
{
	struct dpa_launches *all = launches_of(l);

	pthread_mutex_lock(&all->lock);
	unlist_launch(l);
	pthread_mutex_unlock(&all->lock);
	give_launch_room_back(l);
	free_launch(l);
}

static doca_error_t launch_call(const struct call *c, va_list *ap)
{
	struct dpa_callee callee;
	struct dpa_launch *l;
	doca_error_t ret = check_call(c, &callee);

	if (ret)
		return ret;
	dpa_callee_count(c->dpa, &callee, DPA_STAT_KERNEL);
	l = make_launch(c, &callee, ap);
	if (!l)
		return DOCA_ERROR_DRIVER;
	/*
	 * a launch that waits for its event holds no room: other work could need it to set the
	 * event
	 */
	if (dpa_pool_provide(l->num -
			     atomic_load_explicit(&launches_of(l)->room, memory_order_relaxed))) {
		free_launch(l);
		return DOCA_ERROR_DRIVER;
	}
	l->wait = c->wait;
	l->comp = c->comp;
	if (l->wait)
		dpa_se_hold(l->wait);
	if (l->comp)
		dpa_se_hold(l->comp);
	enlist_launch(l);
	if (dpa_points_on())
		dpa_point_begin(DPA_TRACE_LAUNCH, 0, l->num, l->entry->name);
	if (!l->wait) {
		dpa_room_ask(&l->ask);
	} else if (dpa_se_watch(&l->watch, l->wait, DPA_SE_GE, c->threshold, UINT64_MAX,
				on_launch_event)) {
		drop_launch(l);
		return DOCA_ERROR_DRIVER;
	}
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_kernel_launch_update_set(struct doca_dpa *dpa,
					       struct doca_sync_event *wait_event,
					       uint64_t wait_threshold,
					       struct doca_sync_event *comp_event,
					       uint64_t comp_count, unsigned int num_threads,
					       doca_dpa_func_t *func, ...)
{
	struct call c = {dpa,	     wait_event, comp_event,  wait_threshold,
			 comp_count, false,	 num_threads, func};
	doca_error_t ret;
	va_list ap;

	va_start(ap, func);
	ret = launch_call(&c, &ap);
	va_end(ap);
	return ret;
}

doca_error_t doca_dpa_kernel_launch_update_add(struct doca_dpa *dpa,
					       struct doca_sync_event *wait_event,
					       uint64_t wait_threshold,
					       struct doca_sync_event *comp_event,
					       uint64_t comp_count, unsigned int num_threads,
					       doca_dpa_func_t *func, ...)
{
	struct call c = {dpa,	     wait_event, comp_event,  wait_threshold,
			 comp_count, true,	 num_threads, func};
	doca_error_t ret;
	va_list ap;

	va_start(ap, func);
	ret = launch_call(&c, &ap);
	va_end(ap);
	return ret;
}

/* ---------------------------------------------------------- begin and end */

int dpa_launches_begin(struct doca_dpa *dpa)
{
	struct dpa_launches *all = calloc(1, sizeof(*all));
	pthread_condattr_t attr;
	int ret;

	if (!all)
		return ENOMEM;
	ret = dpa_pool_reserve(2);
	if (ret) {
		free(all);
		return ret;
	}
	pthread_mutex_init(&all->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&all->fewer, &attr);
	pthread_condattr_destroy(&attr);
	atomic_init(&all->room, 1);
	dpa->launches = all;
	return 0;
}

/* Return whether it belongs to a context, or (NULL) to any. */
static bool is_launch_of(const struct dpa_launch *l, const struct doca_dpa *dpa)
{
	return !dpa || l->dpa == dpa;
}

/*
 * Cancel launches that wait for their event, room or an EU. Launches without remaining work move
 * from the list to `gone`. The lock is held.
 */
static void cancel_launches(struct dpa_launches *all, const struct doca_dpa *dpa,
			    struct dpa_launch **gone)
{
	for (struct dpa_launch *l = all->list, *next; l; l = next) {
		bool over;

		next = l->next;
		if (!is_launch_of(l, dpa))
			continue;
		atomic_store_explicit(&l->halted, 1, memory_order_relaxed);
		over = (l->wait && dpa_se_watch_cancel(&l->watch)) || dpa_room_cancel(&l->ask);
		for (uint32_t i = 0; !over && i < l->num; i++)
			if (dpa_pool_cancel(&l->parts[i].work)) {
				atomic_store_explicit(&l->bad, 1, memory_order_relaxed);
				over = count_down(l);
			}
		if (!over)
			continue;
		unlist_launch(l);
		l->next = *gone;
		*gone = l;
	}
}

static bool is_any_left(struct dpa_launches *all, const struct doca_dpa *dpa)
{
	for (struct dpa_launch *l = all->list; l; l = l->next)
		if (is_launch_of(l, dpa))
			return true;
	return false;
}

/* Wait for the remaining launches. The lock is held. False: timeout. */
static bool wait_for_rest(struct dpa_launches *all, const struct doca_dpa *dpa, int ms)
{
	const struct timespec end = dpal_deadline((uint32_t)ms);

	while (is_any_left(all, dpa))
		if (pthread_cond_timedwait(&all->fewer, &all->lock, &end) == ETIMEDOUT)
			return !is_any_left(all, dpa);
	return true;
}

static void kill_parts(struct dpa_launches *all, const struct doca_dpa *dpa)
{
	for (struct dpa_launch *l = all->list; l; l = l->next)
		for (uint32_t i = 0; is_launch_of(l, dpa) && i < l->num; i++)
			dpa_pool_kill(&l->parts[i].work);
}

void dpa_launches_halt(struct dpa_launches *all, const struct doca_dpa *dpa)
{
	struct dpa_launch *gone = NULL, *l;

	pthread_mutex_lock(&all->lock);
	cancel_launches(all, dpa, &gone);
	if (!wait_for_rest(all, dpa, STOP_MS))
		do { /* repeat: a launch whose event came just before may request room now */
			cancel_launches(all, dpa, &gone);
			kill_parts(all, dpa);
		} while (!wait_for_rest(all, dpa, KILL_MS));
	pthread_mutex_unlock(&all->lock);
	while ((l = gone)) {
		gone = l->next;
		give_launch_room_back(l);
		free_launch(l);
	}
}

void dpa_launches_end(struct doca_dpa *dpa)
{
	struct dpa_launches *all = dpa->launches;

	if (!dpa_ctx_foreign(dpa)) {
		dpa_launches_halt(all, NULL);
		pthread_cond_destroy(&all->fewer);
		pthread_mutex_destroy(&all->lock);
		dpa_pool_unreserve(2);
	}
	free(all);
	dpa->launches = NULL;
}
