/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * report.c - one file to attach to a bug report: settings, the adapter instance with its processes,
 * QPs and counters, and the last seconds of its timeline. No payloads, no private data of
 * connections, no environment beyond the settings of dpa0.
 */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include "dpactl.h"
#include "tables/tables.h"
#include "trace/output.h"
#include "trace/record.h"

#define SECOND UINT64_C(1000000000)

/* The JSON of a command. */
static struct json_object *section(command_fn *fn, struct ctl *c)
{
	struct json_object *o = NULL;

	json_taken = &o;
	fn(c);
	json_taken = NULL;
	return o;
}

static struct json_object *machine(void)
{
	struct json_object *o = json_object_new_object();
	struct utsname u;
	char text[64];
	time_t now = time(NULL);

	json_add(o, "program", "dpactl " DPA_VERSION);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	json_add(o, "time", text);
	if (!uname(&u)) {
		json_add(o, "system", u.sysname);
		json_add(o, "release", u.release);
		json_add(o, "machine", u.machine);
	}
	return o;
}

/* The requests of tools to all processes. */
static struct json_object *requests(struct ctl *c)
{
	static const char *const names[] = {[DPA_ASK_FAULT] = "fault", [DPA_ASK_LINK] = "link"};
	struct json_object *o = json_object_new_object();
	char text[DPA_BOARD_ASK_TEXT];
	uint32_t gen;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i] && dpa_board_ask_get(c->b, (enum dpa_board_ask_what)i, text, &gen) &&
		    text[0]) {
			printable(text, sizeof(text));
			json_add(o, names[i], text);
		}
	return o;
}

static void put(FILE *out, const char *key, struct json_object *o)
{
	fprintf(out, ",\n\"%s\":%s", key,
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
}

/* Threads of an idle process sleep and wake, too. */
static bool is_work(const struct trace_rec *r)
{
	return r->e.kind != DPA_TRACE_SLEEP && r->e.kind != DPA_TRACE_WAKE;
}

/*
 * Keeps what was recorded since the command began, in the second before, and of each process in the
 * last second of its work before the command, however long ago that was. s is sorted.
 */
static void keep_seconds(struct store *s)
{
	static uint64_t worked[TRACE_PROCS]; /* ns: the last work of each process before */
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const uint64_t at = store_ns(s, s->rec[i].e.at);

		if (at < s->first.ns && is_work(&s->rec[i]))
			worked[s->rec[i].proc] = at;
	}
	for (size_t i = 0; i < s->n; i++) {
		const uint64_t at = store_ns(s, s->rec[i].e.at), end = worked[s->rec[i].proc];

		if (at + SECOND >= s->first.ns || (at <= end && at + SECOND >= end))
			s->rec[n++] = s->rec[i];
	}
	s->n = n;
}

static void put_timeline(FILE *out, struct ctl *c)
{
	static struct store s;
	struct wqes w;

	store_init(&s, c->count ? c->count : 4000000);
	c->past = true;
	trace_record(c, &s, SECOND);
	keep_seconds(&s);
	wqes_find(&s, &w);
	fputs(",\n\"timeline\":", out);
	trace_json(out, &s, &w);
	wqes_free(&w);
	store_free(&s);
}

void cmd_report(struct ctl *c)
{
	struct json_object *about = machine();
	FILE *out = strcmp(c->to, "-") == 0 ? stdout : fopen(c->to, "we");

	if (!out)
		die(EXIT_USAGE, "cannot write %s: %s", c->to, strerror(errno));
	c->json = c->all = true;
	fprintf(out, "{\"about\":%s",
		json_object_to_json_string_ext(about, JSON_C_TO_STRING_PLAIN));
	json_object_put(about);
	put(out, "config", section(cmd_config, c));
	put(out, "status", section(cmd_status, c));
	if (c->b) {
		put(out, "requests", requests(c));
		put(out, "ps", section(cmd_ps, c));
		put(out, "counters", section(cmd_counters, c));
		c->all = false; /* the timeline: not all events */
		put_timeline(out, c);
	}
	fputs("}\n", out);
	if (out != stdout && fclose(out))
		die(EXIT_NONE, "cannot write %s: %s", c->to, strerror(errno));
}
