/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* thread.c - DPA threads: the host's side, and one activation of them. */
#include <stdlib.h>
#include "../exec/exec.h"

#define STOP_MS 1000 /* time for a running activation to end by itself */
#define KILL_MS 20   /* between two signals */

static struct doca_dpa_thread *of_act(struct dpa_act *act)
{
	return container_of(act, struct doca_dpa_thread, act);
}

static void call_function(void *arg)
{
	struct doca_dpa_thread *t = arg;

	t->fn(t->arg);
}

/* dpa_act.run: on an EU. */
static enum dpa_act_end run_dpa_thread(struct dpa_act *act)
{
	struct doca_dpa_thread *t = of_act(act);
	struct dpal_run run = {
		.kind = DPA_RUN_THREAD,
		.dpa = dpa_base(t->dpa),
		.cur = t->dpa,
		.thread = t,
		.name = t->name,
		.halt = &act->word,
		.halt_bits = DPA_ACT_STOP,
	};

	dpa_thread_place(t, &run.rank, &run.num_threads);
	return dpal_run_code(&run, call_function, t) == DPA_EU_RESCHEDULED ? DPA_END_RESCHEDULE
									   : DPA_END_FINISH;
}

static void dispatch_act(struct dpa_act *act)
{
	dpa_pool_dispatch(&act->work);
}

static _Atomic uint32_t threads_of_process;

bool dpa_hw_thread_take(void)
{
	if (atomic_fetch_add(&threads_of_process, 1) < DPA_EU_MAX)
		return true;
	atomic_fetch_sub(&threads_of_process, 1);
	return false;
}

void dpa_hw_thread_give(void)
{
	atomic_fetch_sub(&threads_of_process, 1);
}

doca_error_t doca_dpa_thread_create(struct doca_dpa *dpa, struct doca_dpa_thread **dpa_thread)
{
	struct doca_dpa_thread *t;

	if (!dpa_live(dpa) || !dpa_thread)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_hw_thread_take())
		return DOCA_ERROR_NO_MEMORY;
	t = dpa_obj_new(DPA_T_THREAD, sizeof(*t));
	if (!t) {
		dpa_hw_thread_give();
		return DOCA_ERROR_NO_MEMORY;
	}
	dpa_act_init(&t->act);
	t->act.dispatch = dispatch_act;
	t->act.run = run_dpa_thread;
	t->dpa = dpa;
	t->refs = 1;
	t->next = dpa->thread_list;
	dpa->thread_list = t;
	dpa->threads++;
	*dpa_thread = t;
	return DOCA_SUCCESS;
}

void dpa_thread_hold(struct doca_dpa_thread *t)
{
	t->refs++;
}

void dpa_thread_release(struct doca_dpa_thread *t)
{
	if (--t->refs)
		return;
	if (t->affinity)
		dpa_affinity_release(t->affinity);
	dpa_act_fini(&t->act);
	dpa_obj_free(t);
}

void dpa_thread_halt(struct doca_dpa_thread *t)
{
	if (!t->started)
		return;
	t->started = false;
	if (dpa_ctx_foreign(t->dpa))
		return;
	if (!dpa_act_stop(&t->act, STOP_MS))
		do
			dpa_pool_kill(&t->act.work);
		while (!dpa_act_stop(&t->act, KILL_MS));
	dpa_stat_free(t->stat);
	t->stat = NULL;
	if (t->act.work.pin != DPA_EU_ANY)
		dpa_pool_unpin((uint32_t)t->act.work.pin);
	dpa_pool_unreserve(1);
}

doca_error_t doca_dpa_thread_destroy(struct doca_dpa_thread *dpa_thread)
{
	struct doca_dpa_thread **p;
	struct doca_dpa *dpa;
	doca_error_t ret = DOCA_SUCCESS;

	if (!dpa_live(dpa_thread))
		return DOCA_ERROR_INVALID_VALUE;
	dpa = dpa_thread->dpa;
	if (dpa->state == DPA_DEAD)
		ret = DOCA_ERROR_BAD_STATE;
	dpa_thread_halt(dpa_thread);
	dpa_thread_leave_group(dpa_thread);
	for (p = &dpa->thread_list; *p != dpa_thread; p = &(*p)->next)
		;
	*p = dpa_thread->next;
	dpa->threads--;
	dpa_obj_remove(dpa_thread, DPA_T_THREAD);
	dpa_hw_thread_give();
	dpa_thread_release(dpa_thread);
	dpa_ctx_put(dpa);
	return ret;
}

static bool is_thread_func(const struct doca_dpa *dpa, doca_dpa_func_t *func)
{
	const struct dpa_app_entry *e = dpa_app_find(dpa->app, func);

	return e && e->kind == DPA_ENTRY_THREAD;
}

doca_error_t doca_dpa_thread_set_func_arg(struct doca_dpa_thread *dpa_thread, doca_dpa_func_t *func,
					  uint64_t arg)
{
	if (!dpa_live(dpa_thread) || !func)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_thread->started || dpa_thread->dpa->state == DPA_DEAD)
		return DOCA_ERROR_BAD_STATE;
	if (dpa_thread->dpa->app && !is_thread_func(dpa_thread->dpa, func))
		return DOCA_ERROR_INVALID_VALUE;
	dpa_thread->func = func;
	dpa_thread->arg = arg;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_get_func_arg(struct doca_dpa_thread *dpa_thread,
					  doca_dpa_func_t **func, uint64_t *arg)
{
	if (!dpa_live(dpa_thread) || !func || !arg)
		return DOCA_ERROR_INVALID_VALUE;
	*func = dpa_thread->func;
	*arg = dpa_thread->arg;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_set_local_storage(struct doca_dpa_thread *dpa_thread,
					       doca_dpa_dev_uintptr_t dev_ptr)
{
	if (!dpa_live(dpa_thread))
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_thread->started || dpa_thread->dpa->state == DPA_DEAD)
		return DOCA_ERROR_BAD_STATE;
	dpa_thread->local = dev_ptr;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_get_local_storage(struct doca_dpa_thread *dpa_thread,
					       doca_dpa_dev_uintptr_t *dev_ptr)
{
	DPA_RETURN_VALUE(dpa_thread, dev_ptr, dpa_thread->local);
}

/* Reserve a place in the pool, and count the EU of its affinity. */
static bool reserve_thread(struct doca_dpa_thread *t)
{
	int eu = dpa_affinity_eu(t->affinity);

	if (eu != DPA_EU_ANY && !dpal_eu_set_has(&t->dpa->eus.pool, (uint32_t)eu))
		return false; /* other threads have taken the place meanwhile */
	if (dpa_pool_reserve(1))
		return false;
	if (eu != DPA_EU_ANY)
		dpa_pool_pin((uint32_t)eu);
	t->act.work.pin = eu;
	t->act.work.eus = dpa_ctx_eus(t->dpa);
	return true;
}

doca_error_t doca_dpa_thread_start(struct doca_dpa_thread *dpa_thread)
{
	struct doca_dpa_thread *t = dpa_thread;
	const struct dpa_image_entry *image;
	const struct dpa_app_entry *e;

	if (!dpa_live(t))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(t->dpa) || t->started || !t->func)
		return DOCA_ERROR_BAD_STATE;
	e = dpa_app_find(t->dpa->app, t->func);
	if (!e || e->kind != DPA_ENTRY_THREAD)
		return DOCA_ERROR_INVALID_VALUE;
	image = dpa_image_entry(&dpa_base(t->dpa)->img, e->name);
	if (!image || !reserve_thread(t))
		return DOCA_ERROR_DRIVER;
	t->name = e->name;
	t->fn = (void (*)(uint64_t))(void *)image->fn;
	t->stat = dpa_stat_new(DPA_STAT_THREAD, dpa_base(t->dpa)->stat_id, t->name);
	dpa_act_start(&t->act);
	t->started = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_stop(struct doca_dpa_thread *dpa_thread)
{
	if (!dpa_live(dpa_thread))
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_thread->dpa->state == DPA_DEAD || !dpa_thread->started)
		return DOCA_ERROR_BAD_STATE;
	dpa_thread_halt(dpa_thread);
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_run(struct doca_dpa_thread *dpa_thread)
{
	if (!dpa_live(dpa_thread))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(dpa_thread->dpa) || !dpa_thread->started)
		return DOCA_ERROR_BAD_STATE;
	dpa_act_set_running(&dpa_thread->act);
	return DOCA_SUCCESS;
}

doca_error_t dpa_thread_wait(struct doca_dpa_thread *dpa_thread, int timeout_ms)
{
	if (!dpa_live(dpa_thread))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_thread->started || dpa_ctx_foreign(dpa_thread->dpa))
		return DOCA_ERROR_BAD_STATE;
	if (!dpa_act_wait(&dpa_thread->act, timeout_ms))
		return DOCA_ERROR_TIME_OUT;
	dpa_devlog_drain(dpa_base(dpa_thread->dpa)->log);
	return DOCA_SUCCESS;
}
