/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpa.c - what processes run on EUs, as they show it: DPA threads, launches, RPCs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <view.h>
#include "dpactl.h"

/* ------------------------------------------------------------- for programs */

static struct json_object *task_json(const struct view_task *t)
{
	struct json_object *o = json_object_new_object();

	json_add_num(o, "id", t->id);
	json_add_num(o, "context", t->context);
	json_add(o, "kind", view_kind(t->kind));
	json_add(o, "name", t->name);
	json_object_object_add(o, "eu", json_object_new_int(t->eu));
	json_add_num(o, "running", t->active);
	json_add_num(o, "activations", t->runs);
	json_add_num(o, "run_ns", t->ns);
	json_object_object_add(o, "cycles", t->counted ? json_object_new_uint64(t->cycles) : NULL);
	json_object_object_add(o, "instructions",
			       t->counted ? json_object_new_uint64(t->instructions) : NULL);
	json_object_object_add(o, "last_error",
			       t->failed ? json_object_new_string(t->error) : NULL);
	return o;
}

/* Returns the id of the task that runs on the EU; 0: none does. */
static uint32_t eu_task(const struct view *v, const struct dpa_stat_eu *e)
{
	uint32_t at = atomic_load_explicit(&e->task, memory_order_acquire);

	return at && at <= DPA_STAT_TASKS ? v->file->tasks[at - 1].id : 0;
}

static uint64_t eu_ns(const struct dpa_stat_eu *e)
{
	uint64_t ns = atomic_load_explicit(&e->ns, memory_order_relaxed);

	if (atomic_load_explicit(&e->task, memory_order_acquire)) {
		uint64_t now = view_now();
		uint64_t since = atomic_load_explicit(&e->since_ns, memory_order_relaxed);

		ns += now > since ? now - since : 0;
	}
	return ns;
}

static bool eu_used(const struct dpa_stat_eu *e)
{
	return atomic_load_explicit(&e->runs, memory_order_relaxed) > 0;
}

static struct json_object *eus_json(const struct view *v)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < v->file->head.num_eus && i < DPA_STAT_EUS; i++) {
		const struct dpa_stat_eu *e = &v->file->eus[i];
		struct json_object *o;

		if (!eu_used(e))
			continue;
		o = json_object_new_object();
		json_add_num(o, "eu", i);
		json_add_num(o, "activations",
			     atomic_load_explicit(&e->runs, memory_order_relaxed));
		json_add_num(o, "run_ns", eu_ns(e));
		json_add_num(o, "running", eu_task(v, e));
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *process_json(const struct view *v)
{
	struct json_object *o = json_object_new_object(), *tasks = json_object_new_array();
	struct view_task t;

	json_add_num(o, "pid", v->file->head.pid);
	json_object_object_add(
		o, "command",
		json_object_new_string_len(
			v->file->head.comm,
			(int)strnlen(v->file->head.comm, sizeof(v->file->head.comm))));
	json_object_object_add(
		o, "device",
		json_object_new_string_len(
			v->file->head.device,
			(int)strnlen(v->file->head.device, sizeof(v->file->head.device))));
	json_add_num(o, "start_ns", v->file->head.start_ns);
	json_add_num(o, "num_eus", v->file->head.num_eus);
	json_add_num(o, "max_run_time", v->file->head.max_run_time);
	for (uint32_t i = 0; i < DPA_STAT_TASKS; i++)
		if (view_task(v, i, &t))
			json_object_array_add(tasks, task_json(&t));
	json_object_object_add(o, "threads", tasks);
	json_object_object_add(o, "eus", eus_json(v));
	return o;
}

/* --------------------------------------------------------------- text output */

static const char *span_text(uint64_t ns, char buf[24])
{
	if (ns < 10000000)
		snprintf(buf, 24, "%.1f us", (double)ns / 1e3);
	else if (ns < 10000000000)
		snprintf(buf, 24, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(buf, 24, "%.1f s", (double)ns / 1e9);
	return buf;
}

static void processes_text(const struct view *views, int n)
{
	char when[32];

	printf("    PID  COMMAND          DEVICE  LIMIT  SINCE\n");
	for (int i = 0; i < n; i++) {
		const struct dpa_stat_head *h = &views[i].file->head;

		printf("%7u  %-15.16s  %-6.16s  %3u s  %s\n", h->pid, h->comm, h->device,
		       h->max_run_time, time_text(h->start_ns, when, sizeof(when)));
	}
}

static void tasks_text(const struct view *views, int n)
{
	struct view_task t;
	char ns[24], eu[12];

	printf("\n    PID    ID  CONTEXT  KIND     EU  ACTIVATIONS    RUN TIME  NOW  NAME\n");
	for (int p = 0; p < n; p++)
		for (uint32_t i = 0; i < DPA_STAT_TASKS; i++) {
			if (!view_task(&views[p], i, &t))
				continue;
			snprintf(eu, sizeof(eu), t.eu < 0 ? "-" : "%d", t.eu);
			printf("%7u  %4u  %7u  %-6s  %3s  %11" PRIu64 "  %10s  %3u  %s\n",
			       views[p].file->head.pid, t.id, t.context, view_kind(t.kind), eu,
			       t.runs, span_text(t.ns, ns), t.active, t.name);
			if (t.failed)
				printf("         last error: %s\n", t.error);
		}
}

static void eus_text(const struct view *views, int n)
{
	char ns[24];

	printf("\n    PID   EU  ACTIVATIONS    RUN TIME  RUNS NOW\n");
	for (int p = 0; p < n; p++)
		for (uint32_t i = 0; i < views[p].file->head.num_eus && i < DPA_STAT_EUS; i++) {
			const struct dpa_stat_eu *e = &views[p].file->eus[i];
			uint32_t id = eu_task(&views[p], e);

			if (!eu_used(e))
				continue;
			printf("%7u  %3u  %11" PRIu64 "  %10s  ", views[p].file->head.pid, i,
			       atomic_load_explicit(&e->runs, memory_order_relaxed),
			       span_text(eu_ns(e), ns));
			if (id)
				printf("%u\n", id);
			else
				printf("-\n");
		}
}

static int wanted_only(struct ctl *c, struct view *views, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		if (pid_is_named(c, views[i].file->head.pid))
			views[kept++] = views[i];
		else
			view_close(&views[i], 1);
	}
	return kept;
}

void cmd_dpa(struct ctl *c)
{
	static struct view views[VIEW_MAX];
	struct json_object *list;
	int n = wanted_only(c, views, view_open(c->path, NULL, views));

	if (c->npids && !n)
		die(EXIT_NONE, "no such process runs on the DPA");
	if (c->json) {
		list = json_object_new_array();
		for (int i = 0; i < n; i++)
			json_object_array_add(list, process_json(&views[i]));
		print_json(list);
	} else if (!n) {
		printf("no process runs on the DPA\n");
	} else {
		processes_text(views, n);
		tasks_text(views, n);
		eus_text(views, n);
	}
	view_close(views, n);
}
