/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* counters.c - the counters: of all processes that ever used the adapter instance, or of some. */
#include <stdio.h>
#include "dpactl.h"

/* One column: a process, those that ended, or the sum. */
struct column {
	struct proc p; /* pid 0: none in particular */
	uint64_t n[DPA_CNT_NUM];
};

static void read_column(_Atomic uint64_t *from, struct column *to)
{
	for (int i = 0; from && i < DPA_CNT_NUM; i++)
		to->n[i] = atomic_load_explicit(&from[i], memory_order_relaxed);
}

static void add_column(struct column *sum, const struct column *c)
{
	for (int i = 0; i < DPA_CNT_NUM; i++)
		sum->n[i] += c->n[i];
}

static struct json_object *column_json(const struct column *c)
{
	struct json_object *o = json_object_new_object();

	for (int i = 0; i < DPA_CNT_NUM; i++)
		json_add_num(o, dpa_counter_names[i], c->n[i]);
	return o;
}

static void counters_json(const struct column *total, const struct column *ended,
			  const struct column *col, int n)
{
	struct json_object *o = json_object_new_object();
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < n; i++) {
		struct json_object *p = json_object_new_object();

		json_add_num(p, "pid", col[i].p.pid);
		json_add(p, "command", col[i].p.comm);
		json_object_object_add(p, "counters", column_json(&col[i]));
		json_object_array_add(list, p);
	}
	json_object_object_add(o, "total", column_json(total));
	json_object_object_add(o, "ended", column_json(ended));
	json_object_object_add(o, "processes", list);
	print_json(o);
}

static void counters_text(struct ctl *c, const struct column *col, int n)
{
	bool any = false;

	printf("%-26s", "COUNTER");
	for (int k = 0; k < n; k++) {
		if (col[k].p.pid)
			printf("  %14u", col[k].p.pid);
		else
			printf("  %14s", "TOTAL");
	}
	putchar('\n');
	for (int i = 0; i < DPA_CNT_NUM; i++) {
		bool shown = c->all;

		for (int k = 0; k < n; k++)
			shown |= col[k].n[i] != 0;
		if (!shown)
			continue;
		any = true;
		printf("%-26s", dpa_counter_names[i]);
		for (int k = 0; k < n; k++)
			printf("  %14llu", (unsigned long long)col[k].n[i]);
		putchar('\n');
	}
	if (!any)
		printf("all are zero\n");
}

static int asked_for(struct ctl *c, const struct column *all, int n, struct column *out)
{
	int m = 0;

	for (int i = 0; i < c->npids; i++) {
		bool found = false;

		for (int k = 0; k < n && !found; k++) {
			found = all[k].p.pid == c->pids[i];
			if (found)
				out[m++] = all[k];
		}
		if (!found)
			die(EXIT_NONE, "no process %u on the adapter instance", c->pids[i]);
	}
	return m;
}

void cmd_counters(struct ctl *c)
{
	static struct column all[DPA_BOARD_PROCS], some[MAX_PIDS];
	struct column ended = {0}, total = {0};
	const struct column *shown = all;
	int n = 0;

	read_column(dpa_board_counters_past(c->b), &ended);
	add_column(&total, &ended);
	for (uint32_t i = 0; i < DPA_BOARD_PROCS; i++) {
		if (!proc_read(c, i, &all[n].p))
			continue;
		read_column(dpa_board_counters(c->b, i), &all[n]);
		add_column(&total, &all[n++]);
	}
	if (c->npids) {
		n = asked_for(c, all, n, some);
		shown = some;
	}
	if (c->json)
		counters_json(&total, &ended, shown, n);
	else if (c->npids)
		counters_text(c, shown, n);
	else
		counters_text(c, &total, 1);
}
