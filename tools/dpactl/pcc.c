/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pcc.c - congestion control of the port: its slots, parameters and counters; changes of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dpactl.h"
#include "recorder.h"
#include "tables/pcc.h"

#define USE                                                                                        \
	"use pcc [list|params SLOT|counters SLOT|enable SLOT|disable SLOT|count SLOT|count off|"   \
	"clear SLOT|set SLOT PARAM VALUE|watch|record [-w FILE]]"

static uint32_t number_below(const char *arg, const char *what, uint32_t below)
{
	char *end;
	unsigned long long n = strtoull(arg, &end, 0);

	if (arg[0] < '0' || arg[0] > '9' || *end || n >= below)
		die(EXIT_USAGE, "pcc: '%s' is not a %s (0 to %u)", arg, what, below - 1);
	return (uint32_t)n;
}

static uint32_t slot_of_arg(const char *arg)
{
	return number_below(arg, "slot", DPA_PCC_SLOTS);
}

static bool read_pcc_slot(struct ctl *c, uint32_t slot, struct dpa_pcc_slot *s)
{
	int rc = EAGAIN;

	for (int i = 0; i < 100 && rc == EAGAIN; i++)
		rc = dpa_board_pcc_read_slot(c->b, slot, s);
	return !rc;
}

static void need_slot(struct ctl *c, uint32_t slot, struct dpa_pcc_slot *s)
{
	if (!read_pcc_slot(c, slot, s))
		die(EXIT_NONE, "pcc: slot %u is empty: see dpactl pcc", slot);
}

/* ---------------------------------------------------------------------- what is there */

static struct json_object *pcc_slot_json(const struct dpa_pcc_port *p, uint32_t i,
					 const struct dpa_pcc_slot *s)
{
	struct json_object *o = json_object_new_object();

	json_add_num(o, "slot", i);
	json_add_num(o, "id", s->id);
	json_add_num(o, "major", s->major);
	json_add_num(o, "minor", s->minor);
	json_add(o, "description", s->text);
	json_add_bool(o, "enabled", p->enabled >> i & 1);
	json_add_bool(o, "counters", p->counting == (int)i);
	json_add_bool(o, "acts", p->acting == (int)i);
	return o;
}

static void list_json(struct ctl *c, const struct dpa_pcc_port *p)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	struct dpa_pcc_slot s;

	for (uint32_t i = 0; i < DPA_PCC_SLOTS; i++)
		if (read_pcc_slot(c, i, &s))
			json_object_array_add(list, pcc_slot_json(p, i, &s));
	json_add_num(o, "image", p->image);
	json_add_num(o, "pid", p->pid);
	json_object_object_add(o, "slots", list);
	print_json(o);
}

static void list_slots(struct ctl *c)
{
	struct dpa_pcc_port p;
	struct dpa_pcc_slot s;

	dpa_board_pcc_query(c->b, &p);
	if (c->json) {
		list_json(c, &p);
		return;
	}
	if (p.loaded)
		printf("image %u of process %u\n\n", p.image, p.pid);
	printf("%4s  %-8s %-8s %-8s %-9s %s\n", "SLOT", "ID", "VERSION", "ALGO", "COUNTERS",
	       "DESCRIPTION");
	for (uint32_t i = 0; i < DPA_PCC_SLOTS; i++) {
		if (!read_pcc_slot(c, i, &s))
			continue;
		printable(s.text, sizeof(s.text));
		printf("%4u  %04x     %u.%02u     %-8s %-9s %s\n", i, s.id, s.major, s.minor,
		       p.acting == (int)i   ? "acts"
		       : p.enabled >> i & 1 ? "enabled"
					    : "off",
		       p.counting == (int)i ? "on" : "off", s.text);
	}
}

static void list_params(struct ctl *c, uint32_t slot)
{
	struct json_object *list = json_object_new_array();
	struct dpa_pcc_slot s;

	need_slot(c, slot, &s);
	if (!c->json)
		printf("%5s  %10s  %10s  %10s  %10s  %s\n", "PARAM", "VALUE", "DEFAULT", "MIN",
		       "MAX", "DESCRIPTION");
	for (uint32_t i = 0; i < s.nparams; i++) {
		struct dpa_pcc_param_desc *d = &s.params[i];
		struct json_object *o = json_object_new_object();

		printable(d->text, sizeof(d->text));
		if (!c->json)
			printf("%5u  %10u  %10u  %10u  %10u  %s%s\n", i, d->value, d->def, d->min,
			       d->max, d->text, d->may_set ? "" : " (fixed)");
		json_add_num(o, "param", i);
		json_add_num(o, "value", d->value);
		json_add_num(o, "default", d->def);
		json_add_num(o, "min", d->min);
		json_add_num(o, "max", d->max);
		json_add(o, "description", d->text);
		json_object_array_add(list, o);
	}
	if (c->json)
		print_json(list);
	else
		json_object_put(list);
}

static void pcc_counters_json(const struct dpa_pcc_slot *s, uint32_t n, const uint32_t *v)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < n; i++) {
		struct json_object *o = json_object_new_object();

		json_add_num(o, "counter", i);
		json_add_num(o, "value", v[i]);
		json_add(o, "description", s->counters[i]);
		json_object_array_add(list, o);
	}
	print_json(list);
}

static void show_counters(struct ctl *c, uint32_t slot, bool clear)
{
	uint32_t v[DPA_PCC_COUNTERS], n;
	struct dpa_pcc_slot s;
	int rc;

	need_slot(c, slot, &s);
	rc = dpa_board_pcc_read_counters(c->b, slot, clear, &n, v);
	if (rc == ENODATA)
		die(EXIT_NONE, "pcc: slot %u does not count: dpactl pcc enable %u, count %u", slot,
		    slot, slot);
	if (rc)
		die(EXIT_NONE, "pcc: slot %u is empty: see dpactl pcc", slot);
	for (uint32_t i = 0; i < n; i++)
		printable(s.counters[i], sizeof(s.counters[i]));
	if (c->json) {
		pcc_counters_json(&s, n, v);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		printf("%3u  %10u  %s\n", i, v[i], s.counters[i]);
}

/* Prints a line a second: increments of the counters of the slot that counts; and a line a flow. */
static void watch_pcc(struct ctl *c)
{
	struct recorder *r = rec_begin(c);
	uint32_t last[DPA_PCC_COUNTERS] = {0}, v[DPA_PCC_COUNTERS], n;
	uint32_t left = c->seconds ? c->seconds : UINT32_MAX;
	int slot = -1;

	for (; left; left--) {
		struct dpa_pcc_port p;
		struct dpa_pcc_slot s;

		dpa_board_pcc_query(c->b, &p);
		if (p.counting < 0 || !read_pcc_slot(c, (uint32_t)p.counting, &s) ||
		    dpa_board_pcc_read_counters(c->b, (uint32_t)p.counting, false, &n, v)) {
			printf("nothing counts: dpactl pcc count SLOT\n");
			slot = -1;
		} else {
			if (slot != p.counting) {
				printf("slot %d (%s), counters a second:", p.counting, s.text);
				for (uint32_t i = 0; i < n; i++)
					printf(" %.*s", (int)strcspn(s.counters[i], ", "),
					       s.counters[i]);
				putchar('\n');
				memcpy(last, v, sizeof(last));
				slot = p.counting;
			}
			printf("acts: %d ", p.acting);
			for (uint32_t i = 0; i < n; i++)
				printf(" %10u", v[i] - last[i]);
			putchar('\n');
			memcpy(last, v, n * sizeof(*v));
		}
		fflush(stdout);
		if (!pcc_watch_flows(r))
			break;
	}
	rec_end(r);
}

/* ---------------------------------------------------------------------------- changes */

static void make_writable(struct ctl *c)
{
	int rc = dpa_board_pcc_writable(c->b);

	if (rc)
		die(EXIT_NONE, "%s: %s", c->path, strerror(rc));
}

static void check_pcc_slot(int rc, uint32_t slot)
{
	if (rc == ENOENT)
		die(EXIT_NONE, "pcc: slot %u is empty: see dpactl pcc", slot);
	if (rc)
		die(EXIT_NONE, "pcc: slot %u: %s", slot, strerror(rc));
}

static void set_param(struct ctl *c, uint32_t slot, uint32_t id, uint32_t value)
{
	int rc = dpa_board_pcc_set_param(c->b, slot, id, value);

	if (rc == ERANGE)
		die(EXIT_USAGE,
		    "pcc: slot %u has no parameter %u that may be %u: see dpactl pcc params %u",
		    slot, id, value, slot);
	if (rc == EBUSY)
		die(EXIT_NONE, "pcc: the process of the image did not answer in time");
	if (rc == EINVAL)
		die(EXIT_NONE, "pcc: the algorithm of slot %u refused the value", slot);
	check_pcc_slot(rc, slot);
}

static bool change_pcc(struct ctl *c, const char *what)
{
	if (c->nargs == 2 && (!strcmp(what, "enable") || !strcmp(what, "disable"))) {
		make_writable(c);
		check_pcc_slot(dpa_board_pcc_enable(c->b, slot_of_arg(c->args[1]), what[0] == 'e'),
			       slot_of_arg(c->args[1]));
	} else if (c->nargs == 2 && !strcmp(what, "count")) {
		struct dpa_pcc_port p;
		bool off = !strcmp(c->args[1], "off");

		make_writable(c);
		dpa_board_pcc_query(c->b, &p);
		if (!off)
			check_pcc_slot(dpa_board_pcc_count(c->b, slot_of_arg(c->args[1]), true),
				       slot_of_arg(c->args[1]));
		else if (p.counting >= 0)
			check_pcc_slot(dpa_board_pcc_count(c->b, (uint32_t)p.counting, false),
				       (uint32_t)p.counting);
	} else if (c->nargs == 2 && !strcmp(what, "clear")) {
		make_writable(c);
		show_counters(c, slot_of_arg(c->args[1]), true);
	} else if (c->nargs == 4 && !strcmp(what, "set")) {
		make_writable(c);
		set_param(c, slot_of_arg(c->args[1]),
			  number_below(c->args[2], "parameter", DPA_PCC_PARAMS),
			  number_below(c->args[3], "value", UINT32_MAX));
	} else {
		return false;
	}
	return true;
}

void cmd_pcc(struct ctl *c)
{
	const char *what = c->nargs ? c->args[0] : "list";

	if (!strcmp(what, "list") && c->nargs <= 1)
		list_slots(c);
	else if (!strcmp(what, "params") && c->nargs == 2)
		list_params(c, slot_of_arg(c->args[1]));
	else if (!strcmp(what, "counters") && c->nargs == 2)
		show_counters(c, slot_of_arg(c->args[1]), false);
	else if (!strcmp(what, "watch") && c->nargs == 1)
		watch_pcc(c);
	else if (!strcmp(what, "record") && c->nargs == 1)
		pcc_record(c);
	else if (!change_pcc(c, what))
		die(EXIT_USAGE, USE);
}
