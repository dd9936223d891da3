/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* DPA threads: the host's side, and one activation of them. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "../eu/fault.h"
#include "../eu/pool.h"
#include "libdpa.h"

#define STOP_MS 1000 /* for a running activation to end by itself */
#define KILL_MS 20   /* between two signals */

static struct doca_dpa_thread *of_act(struct dpa_act *act)
{
	return container_of(act, struct doca_dpa_thread, act);
}

/* One line for people: what the thread did, and where. */
static void tell_fault(struct doca_dpa_thread *t, const struct dpa_eu *eu)
{
	char text[300];
	Dl_info where;
	int n;

	if (eu->fault_text) {
		n = snprintf(text, sizeof(text), "%s used %s: the context is ended\n", t->name,
			     eu->fault_text);
	} else {
		uintptr_t off = eu->fault_pc;

		if (dladdr((void *)eu->fault_pc, &where))
			off -= (uintptr_t)where.dli_fbase;
		n = snprintf(
			text, sizeof(text),
			"%s faulted: %s at address 0x%llx, image offset 0x%llx: the context is "
			"ended\n",
			t->name, dpa_fault_name(eu->fault_sig), (unsigned long long)eu->fault_addr,
			(unsigned long long)off);
	}
	if (t->dpa->log_level > DOCA_DPA_DEV_LOG_LEVEL_DISABLE)
		dpa_devlog_put(t->dpa->log, eu->id, DOCA_DPA_DEV_LOG_LEVEL_CRIT, text, (uint64_t)n);
}

static enum dpa_act_end after(struct doca_dpa_thread *t, enum dpa_eu_end end)
{
	switch (end) {
	case DPA_EU_RESCHEDULED:
		return DPA_END_RESCHEDULE;
	case DPA_EU_FAULTED:
		if (!atomic_exchange_explicit(&t->dpa->fatal, 1, memory_order_seq_cst)) {
			tell_fault(t, dpa_eu_self);
			dpa_pool_kill_owner(t->dpa);
		}
		return DPA_END_FINISH;
	case DPA_EU_RETURNED:
	case DPA_EU_FINISHED:
	case DPA_EU_KILLED:
		break;
	}
	return DPA_END_FINISH;
}

/* dpa_act.run: on an EU. Enter, then look: see dpa_eu_enter(). */
static enum dpa_act_end run_thread(struct dpa_act *act)
{
	struct doca_dpa_thread *t = of_act(act);
	enum dpa_act_end how = DPA_END_FINISH;

	dpa_eu_enter(t->dpa);
	if (!atomic_load_explicit(&t->dpa->fatal, memory_order_seq_cst))
		how = after(t, dpa_eu_call(t->fn, t->arg));
	dpa_eu_exit();
	return how;
}

static _Atomic uint32_t threads_of_process;

doca_error_t doca_dpa_thread_create(struct doca_dpa *dpa, struct doca_dpa_thread **dpa_thread)
{
	struct doca_dpa_thread *t;

	if (!dpa || !dpa_thread)
		return DOCA_ERROR_INVALID_VALUE;
	if (atomic_fetch_add(&threads_of_process, 1) >= DPA_EU_MAX)
		goto err_count;
	t = calloc(1, sizeof(*t));
	if (!t)
		goto err_count;
	dpa_act_init(&t->act);
	t->act.dispatch = dpa_pool_dispatch;
	t->act.run = run_thread;
	t->dpa = dpa;
	t->refs = 1;
	t->next = dpa->thread_list;
	dpa->thread_list = t;
	dpa->threads++;
	*dpa_thread = t;
	return DOCA_SUCCESS;

err_count:
	atomic_fetch_sub(&threads_of_process, 1);
	return DOCA_ERROR_NO_MEMORY;
}

void dpa_thread_hold(struct doca_dpa_thread *t)
{
	t->refs++;
}

void dpa_thread_release(struct doca_dpa_thread *t)
{
	if (--t->refs)
		return;
	dpa_act_fini(&t->act);
	free(t);
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
			dpa_pool_kill(&t->act);
		while (!dpa_act_stop(&t->act, KILL_MS));
	dpa_pool_unreserve();
}

doca_error_t doca_dpa_thread_destroy(struct doca_dpa_thread *dpa_thread)
{
	struct doca_dpa_thread **p;
	struct doca_dpa *dpa;
	doca_error_t ret = DOCA_SUCCESS;

	if (!dpa_thread)
		return DOCA_ERROR_INVALID_VALUE;
	dpa = dpa_thread->dpa;
	if (dpa->state == DPA_DEAD)
		ret = DOCA_ERROR_BAD_STATE;
	dpa_thread_halt(dpa_thread);
	for (p = &dpa->thread_list; *p != dpa_thread; p = &(*p)->next)
		;
	*p = dpa_thread->next;
	dpa->threads--;
	atomic_fetch_sub(&threads_of_process, 1);
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
	if (!dpa_thread || !func)
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
	if (!dpa_thread || !func || !arg)
		return DOCA_ERROR_INVALID_VALUE;
	*func = dpa_thread->func;
	*arg = dpa_thread->arg;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_set_local_storage(struct doca_dpa_thread *dpa_thread,
					       doca_dpa_dev_uintptr_t dev_ptr)
{
	if (!dpa_thread)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_thread->started || dpa_thread->dpa->state == DPA_DEAD)
		return DOCA_ERROR_BAD_STATE;
	dpa_thread->local = dev_ptr;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_get_local_storage(struct doca_dpa_thread *dpa_thread,
					       doca_dpa_dev_uintptr_t *dev_ptr)
{
	if (!dpa_thread || !dev_ptr)
		return DOCA_ERROR_INVALID_VALUE;
	*dev_ptr = dpa_thread->local;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_start(struct doca_dpa_thread *dpa_thread)
{
	struct doca_dpa_thread *t = dpa_thread;
	const struct dpa_app_entry *e;

	if (!t)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(t->dpa) || t->started || !t->func)
		return DOCA_ERROR_BAD_STATE;
	e = dpa_app_find(t->dpa->app, t->func);
	if (!e || e->kind != DPA_ENTRY_THREAD)
		return DOCA_ERROR_INVALID_VALUE;
	t->name = e->name;
	t->fn = (void (*)(uint64_t))(void *)dpa_image_entry(&t->dpa->img, e->name);
	if (!t->fn || dpa_pool_reserve())
		return DOCA_ERROR_DRIVER;
	dpa_act_start(&t->act);
	t->started = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_stop(struct doca_dpa_thread *dpa_thread)
{
	if (!dpa_thread)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_thread->dpa->state == DPA_DEAD || !dpa_thread->started)
		return DOCA_ERROR_BAD_STATE;
	dpa_thread_halt(dpa_thread);
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_run(struct doca_dpa_thread *dpa_thread)
{
	if (!dpa_thread)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(dpa_thread->dpa) || !dpa_thread->started)
		return DOCA_ERROR_BAD_STATE;
	dpa_act_set_running(&dpa_thread->act);
	return DOCA_SUCCESS;
}

doca_error_t dpa_thread_wait(struct doca_dpa_thread *dpa_thread, int timeout_ms)
{
	if (!dpa_thread)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_thread->started || dpa_ctx_foreign(dpa_thread->dpa))
		return DOCA_ERROR_BAD_STATE;
	if (!dpa_act_wait(&dpa_thread->act, timeout_ms))
		return DOCA_ERROR_TIME_OUT;
	dpa_devlog_drain(dpa_thread->dpa->log);
	return DOCA_SUCCESS;
}
