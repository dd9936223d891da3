/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fault.c - the faults of the links of all processes of the adapter instance, the network in front of
 * each of them, and the state of the port: show them, change them.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "dpactl.h"
#include "tables/tables.h"

#define PATIENCE_MS 3000

enum follows { FOLLOWS, OWN, NOT_YET };

/* A process without QPs looks when it makes one; that the port is down is also told to such a process. */
static enum follows proc_follows(struct ctl *c, const struct proc *p, enum dpa_board_ask_what what,
				 uint32_t gen)
{
	uint32_t seen = atomic_load_explicit(dpa_proc_asked(dpa_board_proc(c->b, p->slot), what),
					     memory_order_acquire);

	if (seen == DPA_BOARD_ASK_OWN)
		return OWN;
	return seen == gen || (!p->nqp && what != DPA_ASK_PORT) ? FOLLOWS : NOT_YET;
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

/* A request to the links of all processes: its names, and the check of a specification (NULL: it is good). */
struct request {
	enum dpa_board_ask_what what;
	const char *command, *noun;
	const char *(*check)(const char *spec, char *text, size_t len);
};

/* As check_faults(). */
static const char *check_port(const char *word, char *text, size_t len)
{
	bool down = strcmp(word, "down") == 0;

	if (!down && strcmp(word, "up") != 0)
		return "down or up";
	snprintf(text, len, "%s", down ? DPA_BOARD_PORT_DOWN : "");
	return NULL;
}

/*
 * Sets text to the specification that processes are to follow, "" for none. Returns the grammar if it is
 * bad.
 */
static const char *check_faults(const char *spec, char *text, size_t len)
{
	struct dpa_fault_spec f;

	if (!dpa_fault_parse(spec, &f))
		return DPA_FAULT_USE;
	dpa_fault_text(&f, text, len);
	if (!dpa_fault_any(&f))
		text[0] = '\0';
	return NULL;
}

static const char *check_network(const char *spec, char *text, size_t len)
{
	struct dpa_link_spec l;

	if (!dpa_link_parse(spec, &l))
		return DPA_LINK_USE;
	snprintf(text, len, "%s", l.n ? spec : "");
	return NULL;
}

static const struct request faults = {DPA_ASK_FAULT, "fault", "faults", check_faults};
static const struct request port = {DPA_ASK_PORT, "port", "port", check_port};
static const struct request network = {DPA_ASK_LINK, "link", "network", check_network};

/* Copies the request, "" if there is none. Repeats the copy if a writer changes it meanwhile. */
static uint32_t asked_text(struct ctl *c, const struct request *r, char text[DPA_BOARD_ASK_TEXT])
{
	uint32_t gen;

	for (int i = 0; i < 1000; i++)
		if (dpa_board_ask_get(c->b, r->what, text, &gen))
			return gen;
	die(EXIT_NONE, "the request of %s is half written: repeat it (%s set)", r->command,
	    r->command);
}

/* The state without a request. */
static const char *none_of(const struct request *r)
{
	return r->what == DPA_ASK_PORT ? "up" : "off";
}

static void show_request(struct ctl *c, const struct request *r)
{
	static const char *const words[] = {"yes", "own setting", "not yet"};
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	char text[DPA_BOARD_ASK_TEXT];
	uint32_t gen = asked_text(c, r, text), slot = 0;
	struct proc p;

	if (!c->json)
		printf("%s: %s\n\n%10s  %-16s %s\n", r->noun, text[0] ? text : none_of(r), "PID",
		       "COMMAND", "FOLLOWS");
	while (next_proc(c, &slot, &p)) {
		enum follows f = proc_follows(c, &p, r->what, gen);
		struct json_object *e = json_object_new_object();

		if (!c->json)
			printf("%10u  %-16s %s\n", p.pid, p.comm, words[f]);
		json_add_num(e, "pid", p.pid);
		json_add(e, "command", p.comm);
		json_add(e, "follows", f == FOLLOWS ? "yes" : f == OWN ? "own" : "no");
		json_object_array_add(list, e);
	}
	json_add(o, r->noun, text[0] ? text : none_of(r));
	json_object_object_add(o, "processes", list);
	if (c->json)
		print_json(o);
	else
		json_object_put(o);
}

/* Returns when each process follows: at once, as a rule, because the request wakes them. */
static void set_request(struct ctl *c, const struct request *r, const char *spec)
{
	struct timespec nap = {.tv_nsec = 5000000};
	char text[DPA_BOARD_ASK_TEXT];
	const char *use = r->check(spec, text, sizeof(text));
	uint32_t gen, left;
	int rc;

	if (use)
		die(EXIT_USAGE, "bad %s '%.60s': use %s", r->noun, spec, use);
	rc = dpa_board_ask_put(c->b, r->what, text, &gen);
	if (rc)
		die(EXIT_NONE, "%s: %s", c->path, strerror(rc));
	for (int ms = 0; (left = ask_waits_for(c, r->what, gen)) && ms < PATIENCE_MS; ms += 5)
		nanosleep(&nap, NULL);
	if (left)
		die(EXIT_NONE, "%u process%s %s not followed yet: see dpactl %s show", left,
		    left == 1 ? "" : "es", left == 1 ? "has" : "have", r->command);
}

static void run_request(struct ctl *c, const struct request *r)
{
	const char *what = c->nargs ? c->args[0] : "show";

	if (strcmp(what, "set") == 0 && c->nargs == 2)
		set_request(c, r, c->args[1]);
	else if (strcmp(what, "off") == 0 && c->nargs == 1)
		set_request(c, r, "off");
	else if (strcmp(what, "show") == 0 && c->nargs <= 1)
		show_request(c, r);
	else
		die(EXIT_USAGE, "use %s set SPEC, %s off or %s show", r->command, r->command,
		    r->command);
}

void cmd_fault(struct ctl *c)
{
	run_request(c, &faults);
}

void cmd_link(struct ctl *c)
{
	run_request(c, &network);
}

void cmd_port(struct ctl *c)
{
	const char *what = c->nargs ? c->args[0] : "show";

	if (c->nargs > 1)
		die(EXIT_USAGE, "use port down, port up or port show");
	if (strcmp(what, "show") == 0)
		show_request(c, &port);
	else
		set_request(c, &port, what);
}
