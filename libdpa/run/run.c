/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* run.c - entry to device code and exit from it; a fault ends the context. */
#include "../host/libdpa.h"
#include "inject.h"
#include "points.h"
#include "run.h"

_Atomic(const struct dpa_trace_ops *) dpa_points;

static struct dpa_stat_task *task_of(const struct dpal_run *run)
{
	if (run->thread)
		return run->thread->stat;
	return dpa_stat_kernel(&run->dpa->stat_kernels,
			       run->kind == DPA_RUN_RPC ? DPA_STAT_RPC : DPA_STAT_KERNEL,
			       run->dpa->stat_id, run->name);
}

static void report_run(struct dpal_run *run, struct dpal_eu *eu)
{
	if (__builtin_expect(atomic_load_explicit(&run->dpa->fatal, memory_order_seq_cst), 0))
		dpa_witnesses_report(&run->dpa->witnesses, run->name, eu);
}

static enum dpa_trace_run_end point_end(enum dpal_eu_end end)
{
	switch (end) {
	case DPA_EU_FAULTED:
		return DPA_TRACE_FAULTED;
	case DPA_EU_KILLED:
		return DPA_TRACE_KILLED;
	default:
		return DPA_TRACE_RETURNED;
	}
}

static const enum dpa_trace_run point_kinds[] = {[DPA_RUN_THREAD] = DPA_TRACE_ACTIVATION,
						 [DPA_RUN_KERNEL] = DPA_TRACE_KERNEL,
						 [DPA_RUN_RPC] = DPA_TRACE_RPC};

/* Run code: enter, then read the mark (`fatal`): see dpal_eu_enter(). */
enum dpal_eu_end dpal_run_code(struct dpal_run *run, void (*code)(void *arg), void *arg)
{
	struct dpal_eu *eu = dpal_eu_self;
	enum dpal_eu_end end = DPA_EU_KILLED;
	void (*todo)(void *) = dpa_run_injected(run, code);
	struct dpa_stat_run stat;
	uint64_t began;

	if (__builtin_expect(!todo, 0))
		return end;
	began = dpa_point_begin(point_kinds[run->kind], eu->id, run->rank, run->name);
	eu->run = run;
	dpal_eu_enter(run->dpa);
	dpa_stat_begin(&stat, task_of(run), eu->id);
	if (!atomic_load_explicit(&run->dpa->fatal, memory_order_seq_cst))
		end = dpal_eu_call(todo, arg);
	dpa_stat_end(&stat);
	if (end == DPA_EU_FAULTED)
		dpa_fatal_enter(run->dpa, run->name, eu, stat.task);
	dpal_eu_exit();
	report_run(run, eu);
	dpal_eu_gone();
	report_run(run, eu);
	eu->run = NULL;
	if (__builtin_expect(began != 0, 0))
		dpa_point_end(began, point_kinds[run->kind], point_end(end), eu->id, run->rank,
			      run->name);
	return end;
}
