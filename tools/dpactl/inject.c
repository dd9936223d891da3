/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* inject.c - the failures that are injected into a process: show them, change them (docs/inject.md). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "dpactl.h"
#include "tables/tables.h"

#define PATIENCE_MS 3000

/* The rules in force in a process and what they have done. False: it has no rules and never had. */
struct rules {
	struct dpa_inject_spec spec;
	uint64_t seen[DPA_INJECT_RULES], fired[DPA_INJECT_RULES];
};

static bool read_inject_rules(struct ctl *c, const struct proc *p, struct rules *r)
{
	const struct dpa_board_inject *rec = dpa_board_inject_of(c->b, p->slot);
	char text[DPA_BOARD_INJECT_TEXT];

	memset(r, 0, sizeof(*r));
	if (!rec)
		return false;
	for (int i = 0; !dpa_board_inject_now(rec, text); i++)
		if (i == 1000)
			die(EXIT_NONE, "process %u changes its rules: repeat it", p->pid);
	if (text[0] && !dpa_inject_parse(text, &r->spec))
		die(EXIT_NONE, "the rules of process %u cannot be read", p->pid);
	for (uint32_t i = 0; i < r->spec.num; i++) {
		r->seen[i] = atomic_load_explicit(&rec->count[i].seen, memory_order_relaxed);
		r->fired[i] = atomic_load_explicit(&rec->count[i].fired, memory_order_relaxed);
	}
	return true;
}

static struct json_object *rules_json(const struct proc *p, const struct rules *r)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	char text[256];

	json_add_num(o, "pid", p->pid);
	json_add(o, "command", p->comm);
	json_add_num(o, "seed", r->spec.seed);
	for (uint32_t i = 0; i < r->spec.num; i++) {
		struct json_object *e = json_object_new_object();

		dpa_inject_rule_text(&r->spec.rule[i], text, sizeof(text));
		json_add(e, "rule", text);
		json_add_num(e, "matched", r->seen[i]);
		json_add_num(e, "failed", r->fired[i]);
		json_object_array_add(list, e);
	}
	json_object_object_add(o, "rules", list);
	return o;
}

static void rules_text(const struct proc *p, const struct rules *r)
{
	char text[256];

	printf("%u %s: %s", p->pid, p->comm, r->spec.num ? "" : "off\n");
	if (r->spec.num)
		printf("seed %llu\n%10s %10s  RULE\n", (unsigned long long)r->spec.seed, "MATCHED",
		       "FAILED");
	for (uint32_t i = 0; i < r->spec.num; i++) {
		dpa_inject_rule_text(&r->spec.rule[i], text, sizeof(text));
		printf("%10llu %10llu  %s\n", (unsigned long long)r->seen[i],
		       (unsigned long long)r->fired[i], text);
	}
}

/* pid 0: all processes that have or had rules. Returns the number of processes shown. */
static int show_inject_rules(struct ctl *c, uint32_t pid)
{
	struct json_object *list = json_object_new_array();
	struct rules r;
	struct proc p;
	int n = 0;

	for (uint32_t slot = 0; slot < DPA_BOARD_PROCS; slot++) {
		bool has;

		if (!proc_read(c, slot, &p) || !p.alive || (pid && p.pid != pid))
			continue;
		has = read_inject_rules(c, &p, &r);
		if (!has && !pid)
			continue;
		n++;
		if (c->json)
			json_object_array_add(list, rules_json(&p, &r));
		else
			rules_text(&p, &r);
	}
	if (c->json)
		print_json(list);
	else
		json_object_put(list);
	return n;
}

static void find_proc(struct ctl *c, uint32_t pid, struct proc *p)
{
	for (uint32_t slot = 0; slot < DPA_BOARD_PROCS; slot++)
		if (proc_read(c, slot, p) && p->alive && p->pid == pid)
			return;
	die(EXIT_NONE, "process %u does not use dpa0: see dpactl ps", pid);
}

/* Returns what processes get: a text without the name of a file. */
static void canonical_rules(const char *spec, char text[DPA_BOARD_INJECT_TEXT])
{
	char room[4 * DPA_BOARD_INJECT_TEXT];
	struct dpa_inject_spec s;

	if (!dpa_inject_parse(spec, &s))
		die(EXIT_USAGE, "bad rules '%.60s': use %s", spec, DPA_INJECT_USE);
	dpa_inject_text(&s, room, sizeof(room));
	if (strlen(room) >= DPA_BOARD_INJECT_TEXT)
		die(EXIT_USAGE, "the rules have %zu characters: at most %u", strlen(room),
		    DPA_BOARD_INJECT_TEXT - 1);
	memcpy(text, room, strlen(room) + 1);
}

/* Returns when the process follows: at once, as a rule, because it is woken. */
static void set_rules(struct ctl *c, uint32_t pid, const char *spec)
{
	struct timespec nap = {.tv_nsec = 5000000};
	const struct dpa_board_inject *rec;
	char text[DPA_BOARD_INJECT_TEXT];
	struct proc p;
	uint32_t gen;
	int rc;

	canonical_rules(spec, text);
	find_proc(c, pid, &p);
	rc = dpa_board_inject_put(c->b, p.slot, p.gen, text, &gen);
	if (rc)
		die(EXIT_NONE, "process %u: %s", pid,
		    rc == ENOSPC ? "256 processes have rules, which is the limit" : strerror(rc));
	dpa_board_wake(c->b, p.slot, p.gen);
	rec = dpa_board_inject_of(c->b, p.slot);
	for (int ms = 0; rec && dpa_board_inject_seen(rec) != gen && ms < PATIENCE_MS; ms += 5) {
		if (!dpa_board_alive(c->b, p.slot, p.gen))
			die(EXIT_NONE, "process %u has ended", pid);
		nanosleep(&nap, NULL);
		if (ms > 1000 && proc_read(c, p.slot, &p) && !p.nqp)
			break; /* it looks when it creates a QP */
	}
	if (rec && dpa_board_inject_seen(rec) != gen)
		die(EXIT_NONE, "process %u has not followed yet%s", pid,
		    p.nqp ? "" : ": it does when it creates a QP");
}

void cmd_inject(struct ctl *c)
{
	const char *pid = c->nargs ? c->args[0] : NULL, *what = c->nargs > 1 ? c->args[1] : "show";
	char *end;
	unsigned long n = pid ? strtoul(pid, &end, 10) : 0;

	if (pid && strcmp(pid, "show") != 0 && (*end || !n || n > INT32_MAX))
		die(EXIT_USAGE, "use inject PID SPEC, inject PID off, inject [PID] [show]");
	if (c->nargs > 2)
		die(EXIT_USAGE, "inject: '%s' is too much", c->args[2]);
	if (strcmp(what, "show") != 0)
		set_rules(c, (uint32_t)n, what);
	else if (!show_inject_rules(c, (uint32_t)n) && n)
		die(EXIT_NONE, "process %lu does not use dpa0: see dpactl ps", n);
}
