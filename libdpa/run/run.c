/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* run.c - entry to device code and exit from it; a fault ends the context. */
#include "../host/libdpa.h"
#include "fault.h"
#include "run.h"

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

/* Run code: enter, then read the mark (`fatal`): see dpal_eu_enter(). */
enum dpal_eu_end dpal_run_code(struct dpal_run *run, void (*code)(void *arg), void *arg)
{
	struct dpal_eu *eu = dpal_eu_self;
	enum dpal_eu_end end = DPA_EU_KILLED;
	struct dpa_stat_run stat;

	eu->run = run;
	dpal_eu_enter(run->dpa);
	dpa_stat_begin(&stat, task_of(run), eu->id);
	if (!atomic_load_explicit(&run->dpa->fatal, memory_order_seq_cst))
		end = dpal_eu_call(code, arg);
	dpa_stat_end(&stat);
	if (end == DPA_EU_FAULTED)
		dpa_fatal_enter(run->dpa, run->name, eu, stat.task);
	dpal_eu_exit();
	report_run(run, eu);
	dpal_eu_gone();
	report_run(run, eu);
	eu->run = NULL;
	return end;
}
