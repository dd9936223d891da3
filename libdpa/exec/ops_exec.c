/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops_exec.c - calls of device code: its EU, its rank, and its trace. The rules are in ops.h. */
#include <sched.h>
#include "ops_exec.h"

void dpa_op_device_set(uint64_t context)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct dpa_object *o = dpa_handle_get(&run->dpa->handles, DPA_H_CONTEXT, context);

	if (!o)
		dpa_op_mistake(eu, "a handle that is no context's of its program");
	run->cur = container_of(o, struct doca_dpa, obj);
	dpal_eu_op_end(eu);
}

uint32_t dpa_op_thread_rank(void)
{
	return dpal_eu_self->run->rank;
}

uint32_t dpa_op_num_threads(void)
{
	return dpal_eu_self->run->num_threads;
}

/*
 * Yield. Only kernels of a launch yield their EU: a program that activates a thread relies on its
 * running.
 */
void dpa_op_yield(void)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);

	dpa_pool_progress();
	if (run->kind == DPA_RUN_KERNEL && !dpa_pool_yield(eu))
		dpal_eu_leave(DPA_EU_KILLED);
	sched_yield();
	dpal_eu_op_end(eu);
}

void dpa_op_trace(const uint64_t words[5])
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);

	dpa_devlog_put_trace(run->dpa->trace, eu->id, words);
	dpal_eu_op_end(eu);
}

void dpa_op_trace_flush(void)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);

	dpa_devlog_flush(run->dpa->trace);
	dpal_eu_op_end(eu);
}
