/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * eus.c - the EUs of a reading: those that carry out QPs, which their processes measure, and those
 * of DPA programs, as libdpa publishes them in files beside the adapter state.
 */
#include <stdlib.h>
#include <string.h>
#include <view.h>
#include "live.h"

#define OPEN_NS UINT64_C(1000000000) /* between two searches for DPA processes */

/* An EU of a DPA process at the reading before. */
struct past_eu {
	uint32_t pid, number;
	uint64_t runs, ns;
};

struct live_dpa {
	struct view view[VIEW_MAX];
	int n;
	uint64_t opened, read; /* ns */
	struct past_eu *past;
	uint32_t pasts;
};

static struct live_eu *next_eu(struct live *l)
{
	if (!(l->eus & (l->eus - 1))) /* full: a power of 2 */
		l->eu = need_memory(realloc(l->eu, (l->eus ? 2 * l->eus : 1) * sizeof(*l->eu)));
	return &l->eu[l->eus];
}

static void read_own(struct live *l, uint32_t proc)
{
	struct dpa_board_proc *from = dpa_board_proc(l->c->b, l->proc[proc].p.slot);

	for (uint32_t i = 0; i < DPA_BOARD_METER_EUS && !l->proc[proc].stale; i++) {
		struct live_eu e = {.proc = proc};

		e.t = dpa_meter_unpack(
			atomic_load_explicit(&from->meter_eu[i], memory_order_relaxed));
		if (!e.t.there)
			return;
		*next_eu(l) = e;
		l->eus++;
	}
}

/* ---------------------------------------------------------------- DPA programs */

static uint32_t proc_of_pid(const struct live *l, uint32_t pid)
{
	uint32_t i = 0;

	while (i < l->procs && l->proc[i].p.pid != pid)
		i++;
	return i;
}

static uint64_t load_eu_stat(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

/* Time up to now, with the present run. */
static uint64_t run_ns(const struct dpa_stat_eu *e, bool runs, uint64_t now)
{
	const uint64_t ns = load_eu_stat(&e->ns), since = load_eu_stat(&e->since_ns);

	return runs && now > since ? ns + now - since : ns;
}

static const struct past_eu *find_past(const struct live_dpa *d, uint32_t pid, uint32_t number)
{
	for (uint32_t i = 0; i < d->pasts; i++)
		if (d->past[i].pid == pid && d->past[i].number == number)
			return &d->past[i];
	return NULL;
}

static void name_task(const struct view *v, uint32_t at, char *to, size_t len)
{
	to[0] = '\0';
	if (!at || at > DPA_STAT_TASKS)
		return;
	memcpy(to, v->file->tasks[at - 1].name, len - 1);
	printable(to, len);
}

static void read_dpa_eu(struct live *l, const struct view *v, uint32_t i, struct past_eu *is)
{
	const struct dpa_stat_eu *e = &v->file->eus[i];
	const uint32_t task = atomic_load_explicit(&e->task, memory_order_acquire);
	const uint64_t ns = l->now - l->dpa->read;
	struct live_eu eu = {.proc = proc_of_pid(l, v->file->head.pid), .dpa = true};
	const struct past_eu *was = find_past(l->dpa, v->file->head.pid, i);

	*is = (struct past_eu){v->file->head.pid, i, load_eu_stat(&e->runs),
			       run_ns(e, task, l->now)};
	eu.t = (struct dpa_meter_thread){.there = true, .number = i, .asleep = !task};
	if (was && ns && is->ns >= was->ns && is->runs >= was->runs) {
		eu.t.busy = (uint32_t)((is->ns - was->ns) * 1000 / ns);
		eu.t.busy = eu.t.busy < 1000 ? eu.t.busy : 1000;
		eu.runs = (double)(is->runs - was->runs) * 1e9 / (double)ns;
	}
	name_task(v, task, eu.what, sizeof(eu.what));
	if (eu.proc == l->procs)
		return;
	*next_eu(l) = eu;
	l->eus++;
}

static void open_views(struct live *l)
{
	struct live_dpa *d = l->dpa;

	if (d->opened && l->now < d->opened + OPEN_NS)
		return;
	view_close(d->view, d->n);
	d->n = view_open(l->c->path, NULL, d->view);
	d->opened = l->now;
}

static void read_dpa(struct live *l)
{
	struct past_eu *is = need_memory(calloc((size_t)l->dpa->n * DPA_STAT_EUS + 1, sizeof(*is)));
	uint32_t n = 0;

	for (int p = 0; p < l->dpa->n; p++)
		for (uint32_t i = 0; i < DPA_STAT_EUS && i < l->dpa->view[p].file->head.num_eus;
		     i++)
			if (load_eu_stat(&l->dpa->view[p].file->eus[i].runs))
				read_dpa_eu(l, &l->dpa->view[p], i, &is[n++]);
	free(l->dpa->past);
	l->dpa->past = is;
	l->dpa->pasts = n;
	l->dpa->read = l->now;
}

void live_read_eus(struct live *l)
{
	if (!l->dpa)
		l->dpa = need_memory(calloc(1, sizeof(*l->dpa)));
	for (uint32_t i = 0; i < l->procs; i++)
		read_own(l, i);
	open_views(l);
	read_dpa(l);
}

void live_end_eus(struct live *l)
{
	if (!l->dpa)
		return;
	view_close(l->dpa->view, l->dpa->n);
	free(l->dpa->past);
	free(l->dpa);
	l->dpa = NULL;
}
