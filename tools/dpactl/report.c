/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * report.c - one file to attach to a bug report: settings, the adapter instance with its processes,
 * QPs, counters and error completions, and the last seconds of its timeline. No payloads, no private data of
 * connections, no environment beyond the settings of dpa0.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <dpa_mad.h>
#include "dpactl.h"
#include "progress.h"
#include "tables/tables.h"
#include "trace/output.h"
#include "trace/record.h"
#include "trace/writer.h"

#define SECOND	    UINT64_C(1000000000)
#define MOST_EVENTS 4000000

/* The JSON of a command. */
static struct json_object *command_json(command_fn *fn, struct ctl *c)
{
	struct json_object *o = NULL;

	json_taken = &o;
	fn(c);
	json_taken = NULL;
	return o;
}

static struct json_object *machine_json(void)
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
static struct json_object *requests_json(struct ctl *c)
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

/* A peer that is gone is asked to disconnect again and again, with the same transaction. */
static bool is_repeated(const struct trace_rec *r)
{
	static uint64_t last[TRACE_PROCS];

	if (r->e.code != DPA_CM_DREQ || r->e.extra != DPA_TRACE_SENT)
		return false;
	if (last[r->proc] == r->e.z)
		return true;
	last[r->proc] = r->e.z;
	return false;
}

/* Threads of an idle process sleep and wake, too, and its connections leave TIMEWAIT. */
static bool is_work(const struct trace_rec *r)
{
	switch (r->e.kind) {
	case DPA_TRACE_SLEEP:
	case DPA_TRACE_WAKE:
		return false;
	case DPA_TRACE_CM:
		return r->e.extra == DPA_TRACE_CM_EVENT;
	case DPA_TRACE_MAD:
		return !is_repeated(r);
	default:
		return true;
	}
}

/* When an event was over, in ns. Code of the DPA that still runs is over when the recording is. */
static uint64_t event_end_ns(const struct store *s, const struct trace_rec *r)
{
	const bool runs = r->e.kind == DPA_TRACE_DPA && r->e.code < DPA_TRACE_LAUNCH;
	const uint64_t end = runs ? dpa_run_end(s, r) : 0;

	return store_ns(s, end > r->e.at ? end : r->e.at);
}

/*
 * Keeps what was recorded since the command began, in the second before, and of each process in the
 * last second of its work before the command, however long ago that was. s is sorted.
 */
static void keep_seconds(struct store *s)
{
	static uint64_t worked[TRACE_PROCS]; /* ns: the last work of each process before */
	bool *keep = need_memory(calloc(s->n + 1, sizeof(*keep)));
	size_t n = 0;

	/* keep[] before anything moves: an end is looked for among all */
	for (size_t i = 0; i < s->n; i++) {
		const uint64_t at = event_end_ns(s, &s->rec[i]);

		if (at < s->first.ns && at > worked[s->rec[i].proc] && is_work(&s->rec[i]))
			worked[s->rec[i].proc] = at;
	}
	for (size_t i = 0; i < s->n; i++) {
		const uint64_t at = event_end_ns(s, &s->rec[i]), end = worked[s->rec[i].proc];

		keep[i] = at + SECOND >= s->first.ns || (at <= end && at + SECOND >= end);
	}
	for (size_t i = 0; i < s->n; i++)
		if (keep[i])
			s->rec[n++] = s->rec[i];
	s->n = n;
	free(keep);
}

/* Returns all of the report but the timeline. */
static struct json_object *report_json(struct ctl *c)
{
	struct json_object *o = json_object_new_object();

	c->json = c->all = true;
	json_object_object_add(o, "about", machine_json());
	json_object_object_add(o, "config", command_json(cmd_config, c));
	json_object_object_add(o, "status", command_json(cmd_status, c));
	if (c->b) {
		json_object_object_add(o, "requests", requests_json(c));
		json_object_object_add(o, "ps", command_json(cmd_ps, c));
		json_object_object_add(o, "counters", command_json(cmd_counters, c));
		json_object_object_add(o, "errors", command_json(cmd_errors, c));
	}
	c->all = false; /* the timeline: not all events */
	return o;
}

/* False: there is no timeline, and the report has the reason. */
static bool record_timeline(struct ctl *c, struct store *s, struct json_object *o)
{
	const char *why;

	store_init(s, MOST_EVENTS);
	if (!c->b)
		return false;
	c->past = true;
	why = trace_record(c, s, SECOND);
	if (why) {
		json_add(o, "timeline_error", why);
		fprintf(stderr, "dpactl: the report has no timeline: %s\n", why);
		return false;
	}
	keep_seconds(s);
	return true;
}

/* ------------------------------------------------------------------------ the file */

struct output {
	FILE *f;
	char target[PATH_MAX], temp[PATH_MAX]; /* temp: "" if it is written to directly */
};

/* A new file beside the target, with the mode that the target has or would get. */
static FILE *open_temp(struct output *o, const struct stat *old)
{
	const mode_t mask = umask(0);
	FILE *f;
	int fd;

	umask(mask);
	if (snprintf(o->temp, sizeof(o->temp), "%s.XXXXXX", o->target) >= (int)sizeof(o->temp)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkostemp(o->temp, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	f = fchmod(fd, old ? old->st_mode & 0777 : 0666 & ~mask) ? NULL : fdopen(fd, "w");
	if (f)
		return f;
	close(fd);
	unlink(o->temp);
	return NULL;
}

/* A target that exists and is no regular file (a pipe, a device) is written to directly. */
static void open_output(struct output *o, const char *to)
{
	struct stat st;
	bool there;

	o->temp[0] = '\0';
	if (strcmp(to, "-") == 0) {
		o->f = stdout;
		return;
	}
	if (!realpath(to, o->target)) /* also the path to a file that is to be made */
		snprintf(o->target, sizeof(o->target), "%s", to);
	there = !stat(o->target, &st);
	o->f = there && !S_ISREG(st.st_mode) ? fopen(o->target, "we")
					     : open_temp(o, there ? &st : NULL);
	if (!o->f)
		die(EXIT_USAGE, "cannot write %s: %s", to, strerror(errno));
}

static void close_output(struct output *o, const char *to)
{
	int err;

	if (o->f == stdout)
		return;
	err = ferror(o->f) ? EIO : 0;
	if (fclose(o->f))
		err = errno;
	if (!err && o->temp[0] && rename(o->temp, o->target))
		err = errno;
	if (!err)
		return;
	if (o->temp[0])
		unlink(o->temp);
	die(EXIT_NONE, "cannot write %s: %s", to, strerror(err));
}

static void write_report(FILE *out, struct json_object *all, const struct store *s)
{
	const char *before = "{";
	struct wqes w;

	json_object_object_foreach(all, key, value)
	{
		fprintf(out, "%s\"%s\":%s", before, key,
			json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
		before = ",\n";
	}
	if (s) {
		wqes_find(s, &w);
		fputs(",\n\"timeline\":", out);
		trace_json(out, s, &w);
		wqes_free(&w);
	}
	fputs("}\n", out);
}

/* The file is opened last: a report that fails before leaves an earlier one as it is. */
void cmd_report(struct ctl *c)
{
	static struct output o;
	static struct store s;
	struct json_object *all = report_json(c);
	const bool recorded = record_timeline(c, &s, all);
	struct progress p;

	open_output(&o, c->to);
	progress_begin(&p);
	progress_show(&p, "writing %zu events to %s", s.n, c->to);
	write_report(o.f, all, recorded ? &s : NULL);
	progress_clear(&p);
	close_output(&o, c->to);
	json_object_put(all);
	store_free(&s);
}
