/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rpc.c - RPCs: the caller hands the call to a thread of the pool and waits for it: one hand-over
 * in each direction. All data lie on the caller's stack; the EU's last access to them is the
 * exchange of `done`.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include "../eu/clock.h"
#include "../run/fault.h"
#include "../eu/futex.h"
#include "exec.h"

#define ARGS_ALIGN  64
#define ARGS_STACK  1024  /* bytes of arguments that need no allocation */
#define SPIN_PAUSES 20	  /* pauses of the caller before it yields the core */
#define SPIN_NS	    20000 /* time that the caller spins before it sleeps */

enum { RUNS, OVER, SLEEPS };

struct rpc {
	struct dpa_work work;
	struct dpal_run run;
	const struct dpa_image_entry *entry;
	void *args;
	uint64_t ret;
	bool returned;
	_Atomic uint32_t done; /* RUNS, OVER by the EU, SLEEPS by the caller; futex */
};

static void rpc_entry(void *arg)
{
	struct rpc *r = arg;

	r->ret = r->entry->call(r->args);
}

static void run_rpc(struct dpa_work *work)
{
	struct rpc *r = container_of(work, struct rpc, work);

	r->returned = dpal_run_code(&r->run, rpc_entry, r) == DPA_EU_RETURNED;
	if (atomic_exchange_explicit(&r->done, OVER, memory_order_acq_rel) == SLEEPS)
		dpa_futex_wake(&r->done, 1); /* only the address is used: the memory may be gone */
}

static bool is_rpc_over(struct rpc *r)
{
	return atomic_load_explicit(&r->done, memory_order_acquire) == OVER;
}

/* Spin for the end. The EU may need this core: yield after some pauses. */
static bool spin_for_rpc(struct rpc *r)
{
	uint64_t end;

	for (int i = 0; i < SPIN_PAUSES; i++) {
		if (is_rpc_over(r))
			return true;
		dpal_pause();
	}
	end = dpal_now_ns() + SPIN_NS;
	do {
		sched_yield();
		if (is_rpc_over(r))
			return true;
	} while (dpal_now_ns() < end);
	return false;
}

static void wait_for_rpc(struct rpc *r)
{
	uint32_t expect = RUNS;

	if (spin_for_rpc(r))
		return;
	atomic_compare_exchange_strong_explicit(&r->done, &expect, SLEEPS, memory_order_acq_rel,
						memory_order_acquire);
	while (!is_rpc_over(r))
		dpa_futex_wait(&r->done, SLEEPS, -1);
}

/* Take the context's place, or one more if calls overlap, which the API forbids. */
static bool take_rpc_room(struct dpa_launches *all)
{
	if (!atomic_fetch_add_explicit(&all->rpcs, 1, memory_order_acq_rel) || !dpa_pool_reserve(1))
		return true;
	atomic_fetch_sub_explicit(&all->rpcs, 1, memory_order_acq_rel);
	return false;
}

static void give_rpc_room_back(struct dpa_launches *all)
{
	if (atomic_fetch_sub_explicit(&all->rpcs, 1, memory_order_acq_rel) > 1)
		dpa_pool_unreserve(1);
}

static doca_error_t call_rpc(struct doca_dpa *dpa, const struct dpa_callee *callee, void *args,
			     uint64_t *retval)
{
	struct doca_dpa *base = dpa_base(dpa);
	struct rpc r = {
		.run = {.kind = DPA_RUN_RPC,
			.dpa = base,
			.cur = dpa,
			.name = callee->image->name,
			.num_threads = 1},
		.entry = callee->image,
		.args = args,
	};

	if (!take_rpc_room(base->launches))
		return DOCA_ERROR_DRIVER;
	dpa_work_init(&r.work, run_rpc);
	r.work.urgent = r.work.awaited = true;
	r.work.eus = dpa_ctx_eus(dpa);
	dpa_pool_dispatch(&r.work);
	wait_for_rpc(&r);
	give_rpc_room_back(base->launches);
	dpa_devlog_drain(base->log);
	dpa_devlog_drain(base->trace);
	if (!r.returned)
		return DOCA_ERROR_DRIVER;
	*retval = r.ret;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_rpc(struct doca_dpa *dpa, doca_dpa_func_t *func, uint64_t *retval, ...)
{
	_Alignas(ARGS_ALIGN) char small[ARGS_STACK];
	struct dpa_callee callee;
	void *args = small;
	doca_error_t ret;
	uint64_t size;
	va_list ap;

	if (!dpa_live(dpa) || !func || !retval)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(dpa) || doca_dpa_peek_at_last_error(dpa))
		return DOCA_ERROR_BAD_STATE;
	dpa_pool_stir();
	ret = dpa_find_callee(dpa, func, true, &callee);
	if (ret)
		return ret;
	dpa_callee_count(dpa, &callee, DPA_STAT_RPC);
	size = callee.app->args_size;
	if (size > sizeof(small) && posix_memalign(&args, ARGS_ALIGN, size))
		return DOCA_ERROR_DRIVER;
	va_start(ap, retval);
	if (size)
		callee.app->pack(args, &ap);
	va_end(ap);
	ret = call_rpc(dpa, &callee, args, retval);
	if (args != small)
		free(args);
	return ret;
}
