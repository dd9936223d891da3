/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Device code is entered and left; its faults are the context's end. */
#include "../host/libdpa.h"
#include "fault.h"
#include "run.h"

static struct dpa_stat_task *task_of(const struct dpa_run *run)
{
	if (run->thread)
		return run->thread->stat;
	return dpa_stat_kernel(&run->dpa->stat_kernels,
			       run->kind == DPA_RUN_RPC ? DPA_STAT_RPC : DPA_STAT_KERNEL,
			       run->dpa->stat_id, run->name);
}

static void report(struct dpa_run *run, struct dpa_eu *eu)
{
	if (__builtin_expect(atomic_load_explicit(&run->dpa->fatal, memory_order_seq_cst), 0))
		dpa_witnesses_report(&run->dpa->witnesses, run->name, eu);
}

/* Enter, then look at the mark: see dpa_eu_enter(). */
enum dpa_eu_end dpa_run_code(struct dpa_run *run, void (*code)(void *arg), void *arg)
{
	struct dpa_eu *eu = dpa_eu_self;
	enum dpa_eu_end end = DPA_EU_KILLED;
	struct dpa_stat_run stat;

	eu->run = run;
	dpa_eu_enter(run->dpa);
	dpa_stat_begin(&stat, task_of(run), eu->id);
	if (!atomic_load_explicit(&run->dpa->fatal, memory_order_seq_cst))
		end = dpa_eu_call(code, arg);
	dpa_stat_end(&stat);
	if (end == DPA_EU_FAULTED)
		dpa_fatal_enter(run->dpa, run->name, eu, stat.task);
	dpa_eu_exit();
	report(run, eu);
	dpa_eu_gone();
	report(run, eu);
	eu->run = NULL;
	return end;
}
