/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* stat.c - statistics: adds each run to the numbers of its task. */
#include <stdio.h>
#include "../eu/clock.h"
#include "file.h"
#include "stat.h"

static _Atomic uint32_t last_id, last_context;

static void add_to_stat(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

uint32_t dpa_stat_context(void)
{
	return atomic_fetch_add(&last_context, 1) + 1;
}

/* ------------------------------------------------------------------ entries */

static void fill_task(struct dpa_stat_task *t, uint32_t context, const char *name)
{
	t->id = atomic_fetch_add(&last_id, 1) + 1;
	t->context = context;
	atomic_store_explicit(&t->eu, -1, memory_order_relaxed);
	atomic_store_explicit(&t->failed, 0, memory_order_relaxed);
	for (_Atomic uint64_t *n = &t->runs; n <= &t->base_counted; n++)
		atomic_store_explicit(n, 0, memory_order_relaxed);
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->error[0] = '\0';
}

struct dpa_stat_task *dpa_stat_new(enum dpa_stat_kind kind, uint32_t context, const char *name)
{
	struct dpa_stat_file *f = dpa_stat_file();
	struct dpa_stat_task *t = NULL;

	if (!f)
		return NULL;
	dpa_stat_lock();
	for (uint32_t i = 0; i < DPA_STAT_TASKS; i++) {
		if (atomic_load_explicit(&f->tasks[i].kind, memory_order_relaxed))
			continue;
		t = &f->tasks[i];
		fill_task(t, context, name);
		atomic_store_explicit(&t->kind, kind, memory_order_release);
		if (i >= atomic_load_explicit(&f->head.num_tasks, memory_order_relaxed))
			atomic_store_explicit(&f->head.num_tasks, i + 1, memory_order_release);
		break;
	}
	dpa_stat_unlock();
	return t;
}

void dpa_stat_free(struct dpa_stat_task *t)
{
	if (t && dpa_stat_holds(t))
		atomic_store_explicit(&t->kind, DPA_STAT_FREE, memory_order_release);
}

/*
 * One caller takes the name first; a run that finds the name before its entry exists is not
 * counted.
 */
struct dpa_stat_task *dpa_stat_kernel(struct dpa_stat_kernels *k, enum dpa_stat_kind kind,
				      uint32_t context, const char *name)
{
	uint32_t h = (uint32_t)(((uintptr_t)name >> 3) % DPA_STAT_KERNELS);

	for (uint32_t i = 0; i < DPA_STAT_KERNELS; i++) {
		uint32_t at = (h + i) % DPA_STAT_KERNELS;
		const char *have = atomic_load_explicit(&k->at[at].name, memory_order_acquire);
		struct dpa_stat_task *t;

		if (!have && atomic_compare_exchange_strong(&k->at[at].name, &have, name)) {
			t = dpa_stat_new(kind, context, name);
			atomic_store_explicit(&k->at[at].task, t, memory_order_release);
			return t;
		}
		if (have == name)
			return atomic_load_explicit(&k->at[at].task, memory_order_acquire);
	}
	return NULL;
}

void dpa_stat_kernels_free(struct dpa_stat_kernels *k)
{
	for (uint32_t i = 0; i < DPA_STAT_KERNELS; i++) {
		dpa_stat_free(atomic_load_explicit(&k->at[i].task, memory_order_relaxed));
		atomic_store_explicit(&k->at[i].task, NULL, memory_order_relaxed);
		atomic_store_explicit(&k->at[i].name, NULL, memory_order_relaxed);
	}
}

/* --------------------------------------------------------------------- runs */

void dpa_stat_begin(struct dpa_stat_run *r, struct dpa_stat_task *task, int eu)
{
	struct dpa_stat_file *f = dpa_stat_file();
	struct dpa_stat_eu *e;

	r->task = f ? task : NULL;
	if (!r->task)
		return;
	e = &f->eus[eu];
	r->eu = eu;
	r->since_ns = dpal_now_ns();
	atomic_store_explicit(&task->eu, eu, memory_order_relaxed);
	add_to_stat(&task->runs, 1);
	add_to_stat(&e->runs, 1);
	atomic_store_explicit(&e->since_ns, r->since_ns, memory_order_relaxed);
	atomic_store_explicit(&e->task, (uint32_t)(task - f->tasks) + 1, memory_order_release);
	r->counting = 0;
	if (__builtin_expect(atomic_load_explicit(&f->head.collect_until, memory_order_relaxed) >
				     r->since_ns,
			     0))
		r->counting = dpa_stat_counters(&r->cycles, &r->instructions);
}

void dpa_stat_end(struct dpa_stat_run *r)
{
	struct dpa_stat_file *f = dpa_stat_file();
	uint64_t ns, cycles, instructions;

	if (!r->task || !f)
		return;
	if (r->counting && dpa_stat_counters(&cycles, &instructions)) {
		add_to_stat(&r->task->cycles, cycles - r->cycles);
		add_to_stat(&r->task->instructions, instructions - r->instructions);
		add_to_stat(&r->task->counted, 1);
	}
	ns = dpal_now_ns() - r->since_ns;
	atomic_store_explicit(&f->eus[r->eu].task, 0, memory_order_relaxed);
	add_to_stat(&r->task->ns, ns);
	add_to_stat(&f->eus[r->eu].ns, ns);
}

void dpa_stat_fail(struct dpa_stat_task *task, const char *reason)
{
	if (!task || !dpa_stat_file())
		return;
	snprintf(task->error, sizeof(task->error), "%s", reason);
	atomic_store_explicit(&task->failed, 1, memory_order_release);
}
