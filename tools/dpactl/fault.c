/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fault.c - the faults of the links of all processes of the adapter instance: show them, change
 * them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "dpactl.h"
#include "tables/tables.h"

#define PATIENCE_MS 3000

enum follows { FOLLOWS, OWN, NOT_YET };

/* A process without QPs looks when it makes one. */
static enum follows proc_follows(struct ctl *c, const struct proc *p, enum dpa_board_ask_what what,
				 uint32_t gen)
{
	uint32_t seen = atomic_load_explicit(&dpa_board_proc(c->b, p->slot)->asked[what],
					     memory_order_acquire);

	if (seen == DPA_BOARD_ASK_OWN)
		return OWN;
	return seen == gen || !p->nqp ? FOLLOWS : NOT_YET;
}

static bool next_proc(struct ctl *c, uint32_t *slot, struct proc *p)
{
	for (; *slot < DPA_BOARD_PROCS; ++*slot)
		if (proc_read(c, *slot, p) && p->alive) {
			++*slot;
			return true;
		}
	return false;
}

uint32_t ask_waits_for(struct ctl *c, enum dpa_board_ask_what what, uint32_t gen)
{
	uint32_t slot = 0, n = 0;
	struct proc p;

	while (next_proc(c, &slot, &p))
		n += proc_follows(c, &p, what, gen) == NOT_YET;
	return n;
}

/* Copies the request, "" if there is none. Repeats the copy if a writer changes it meanwhile. */
static uint32_t asked_text(struct ctl *c, char text[DPA_BOARD_ASK_TEXT])
{
	uint32_t gen;

	for (int i = 0; i < 1000; i++)
		if (dpa_board_ask_get(c->b, DPA_ASK_FAULT, text, &gen))
			return gen;
	die(EXIT_NONE, "the request for faults is half written: repeat it (fault set)");
}

static void show_faults(struct ctl *c)
{
	static const char *const words[] = {"yes", "own setting", "not yet"};
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	char text[DPA_BOARD_ASK_TEXT];
	uint32_t gen = asked_text(c, text), slot = 0;
	struct proc p;

	if (!c->json)
		printf("faults: %s\n\n%10s  %-16s %s\n", text[0] ? text : "off", "PID", "COMMAND",
		       "FOLLOWS");
	while (next_proc(c, &slot, &p)) {
		enum follows f = proc_follows(c, &p, DPA_ASK_FAULT, gen);
		struct json_object *e = json_object_new_object();

		if (!c->json)
			printf("%10u  %-16s %s\n", p.pid, p.comm, words[f]);
		json_add_num(e, "pid", p.pid);
		json_add(e, "command", p.comm);
		json_add(e, "follows", f == FOLLOWS ? "yes" : f == OWN ? "own" : "no");
		json_object_array_add(list, e);
	}
	json_add(o, "faults", text[0] ? text : "off");
	json_object_object_add(o, "processes", list);
	if (c->json)
		print_json(o);
	else
		json_object_put(o);
}

/* Returns when everybody follows: within half a second, as a rule. */
static void set_faults(struct ctl *c, const char *spec)
{
	struct timespec nap = {.tv_nsec = 5000000};
	struct dpa_fault_spec f;
	char text[DPA_FAULT_TEXT];
	uint32_t gen, left;
	int rc;

	if (!dpa_fault_parse(spec, &f))
		die(EXIT_USAGE, "bad faults '%.60s': use %s", spec, DPA_FAULT_USE);
	dpa_fault_text(&f, text, sizeof(text));
	rc = dpa_board_ask_put(c->b, DPA_ASK_FAULT, dpa_fault_any(&f) ? text : "", &gen);
	if (rc)
		die(EXIT_NONE, "%s: %s", c->path, strerror(rc));
	for (int ms = 0; (left = ask_waits_for(c, DPA_ASK_FAULT, gen)) && ms < PATIENCE_MS; ms += 5)
		nanosleep(&nap, NULL);
	if (left)
		die(EXIT_NONE, "%u process%s %s not followed yet: see dpactl fault show", left,
		    left == 1 ? "" : "es", left == 1 ? "has" : "have");
}

void cmd_fault(struct ctl *c)
{
	const char *what = c->nargs ? c->args[0] : "show";

	if (strcmp(what, "set") == 0 && c->nargs == 2)
		set_faults(c, c->args[1]);
	else if (strcmp(what, "off") == 0 && c->nargs == 1)
		set_faults(c, "off");
	else if (strcmp(what, "show") == 0 && c->nargs <= 1)
		show_faults(c);
	else
		die(EXIT_USAGE, "use fault set SPEC, fault off or fault show");
}
