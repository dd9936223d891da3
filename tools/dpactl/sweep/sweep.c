/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sweep.c - dpactl sweep: finds the calls of a program in a first run, then runs it once for each of
 * them with that call failing (docs/recovery.md).
 */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../progress.h"
#include "sweep.h"

#define EACH	     3	   /* calls of a name that fail, if --count is not given */
#define FIRST_MS     60000 /* limit of the first run, if --seconds is not given */
#define LIMIT_MIN_MS 10000 /* then of the others, at least; at most five times the first */
#define RULE_MAX     160
#define PEER_WORDS   64

enum verdict { FINE, NOT_REACHED, HANGS, CRASHES, LEAKS, VERDICTS };
static const char *const verdicts[VERDICTS] = {"ok", "not reached", "hang", "crash", "leak"};

struct tally {
	uint32_t runs, of[VERDICTS];
	bool complete;
	bool stuck; /* a process could not be ended: it would disturb the next runs */
};

/* ------------------------------------------------------------------------ set-up */

/* Splits at blanks; no quotes. Ends the process if there are too many words. */
static char **split_peer_words(char *text)
{
	static char *words[PEER_WORDS + 1];
	size_t n = 0;
	char *save = NULL;

	for (char *w = strtok_r(text, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
		if (n == PEER_WORDS)
			die(EXIT_USAGE, "--peer: more than %d words", PEER_WORDS);
		words[n++] = w;
	}
	words[n] = NULL;
	if (!n)
		die(EXIT_USAGE, "--peer: no program");
	return words;
}

/* dpa-run is installed beside dpactl. */
static void find_dpa_run(char path[SWEEP_PATH])
{
	ssize_t n = readlink("/proc/self/exe", path, SWEEP_PATH - 10);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		memcpy(slash, "/dpa-run", sizeof("/dpa-run"));
	if (!slash || access(path, X_OK))
		die(EXIT_NONE, "no dpa-run beside dpactl");
}

/* The folder of the runs: for the adapter state as well, so it is made where that is made. */
static void make_folder(char *dir, size_t len)
{
	char in[SWEEP_PATH];
	int err = dpa_board_default_path(in, sizeof(in));

	if (err)
		die(EXIT_NONE, "no folder for an adapter instance: %s", strerror(err));
	*strrchr(in, '/') = '\0';
	if (snprintf(dir, len, "%s/dpactl-sweep.XXXXXX", in) >= (int)len || !mkdtemp(dir))
		die(EXIT_NONE, "%s: %s", in, strerror(errno));
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)remove(path);
	return 0;
}

/* Also what a program left in it: libdpa has a file beside the adapter state for each process. */
static void remove_sweep_folder(const char *dir)
{
	(void)nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* ------------------------------------------------------------------------ report */

static enum verdict judge_run(const struct sweep_run *r, bool reached)
{
	if (r->end == SWEEP_HANGS)
		return HANGS;
	if (r->end == SWEEP_SIGNAL || r->peer_signal)
		return CRASHES;
	if (r->left || r->on_board || r->num_shm || r->stuck)
		return LEAKS;
	return reached ? FINE : NOT_REACHED;
}

/* Writes how the run ended, in words. */
static void describe_run(const struct sweep_setup *s, const struct sweep_run *r, char *text,
			 size_t len)
{
	size_t n;

	if (r->end == SWEEP_HANGS)
		n = (size_t)snprintf(text, len, "runs after %u s", s->limit_ms / 1000);
	else if (r->end == SWEEP_SIGNAL)
		n = (size_t)snprintf(text, len, "ended by %s", strsignal(r->status));
	else
		n = (size_t)snprintf(text, len, "status %d", r->status);
	if (r->left && n < len)
		n += (size_t)snprintf(text + n, len - n, "; %u process%s left", r->left,
				      r->left == 1 ? "" : "es");
	if (r->on_board && n < len)
		n += (size_t)snprintf(text + n, len - n, "; %u still use%s dpa0", r->on_board,
				      r->on_board == 1 ? "s" : "");
	if (r->num_shm && n < len)
		n += (size_t)snprintf(text + n, len - n, "; %u new in /dev/shm: %.64s", r->num_shm,
				      r->shm);
	if (r->stuck && n < len)
		n += (size_t)snprintf(text + n, len - n, "; cannot end process %d (%s)",
				      (int)r->stuck, r->stuck_name);
	if (r->peer_signal && n < len)
		snprintf(text + n, len - n, "; the peer ended by %s", strsignal(r->peer_signal));
	else if (r->peer_hangs && n < len)
		snprintf(text + n, len - n, "; the peer waits");
}

/* The line of the run that goes on. */
struct line {
	struct progress p;
	uint32_t i, n; /* n: 0 in the first run */
	const char *rule;
	const struct tally *t;
};

static void show_sweep_progress(void *arg)
{
	struct line *l = arg;

	if (!progress_due(&l->p))
		return;
	if (!l->n)
		progress_show(&l->p, "the first run, in which nothing fails; Ctrl-C ends it");
	else
		progress_show(&l->p, "run %u of %u, %u hang, %u crash, %u leak: %s", l->i, l->n,
			      l->t->of[HANGS], l->t->of[CRASHES], l->t->of[LEAKS], l->rule);
}

static struct json_object *run_json(const struct sweep_call *call, const char *rule,
				    const struct sweep_run *r, enum verdict v)
{
	struct json_object *o = json_object_new_object();

	json_add(o, "rule", rule);
	json_add(o, "call", call->name);
	json_add(o, "program", call->prog);
	json_add_num(o, "number", call->n);
	json_add(o, "verdict", verdicts[v]);
	if (r->end == SWEEP_SIGNAL)
		json_add_num(o, "signal", (uint64_t)r->status);
	if (r->end == SWEEP_ENDED)
		json_add_num(o, "status", (uint64_t)r->status);
	if (r->peer_signal)
		json_add_num(o, "peer_signal", (uint64_t)r->peer_signal);
	json_add_num(o, "ms", r->ms);
	json_add_num(o, "processes_left", r->left);
	json_add_num(o, "on_adapter", r->on_board);
	json_add_num(o, "new_in_shm", r->num_shm);
	if (r->stuck)
		json_add_num(o, "cannot_end", (uint64_t)r->stuck);
	json_add_bool(o, "peer_waits", r->peer_hangs);
	return o;
}

static void show_run(struct ctl *c, struct json_object *list, const struct sweep_setup *s,
		     const struct sweep_call *call, const char *rule, const struct sweep_run *r,
		     enum verdict v)
{
	char text[256];

	if (c->json) {
		json_object_array_add(list, run_json(call, rule, r, v));
		return;
	}
	describe_run(s, r, text, sizeof(text));
	printf("%-12s %-44s %s\n", verdicts[v], rule, text);
	fflush(stdout);
}

static void show_tally(struct ctl *c, struct json_object *list, const struct sweep_calls *calls,
		       const struct tally *t)
{
	struct json_object *o;

	if (!c->json) {
		printf("%u of %u: %u ok, %u not reached, %u hang, %u crash, %u leak\n", t->runs,
		       calls->num, t->of[FINE], t->of[NOT_REACHED], t->of[HANGS], t->of[CRASHES],
		       t->of[LEAKS]);
		return;
	}
	o = json_object_new_object();
	json_add_num(o, "calls", calls->num);
	json_add_bool(o, "complete", t->complete);
	for (int v = 0; v < VERDICTS; v++)
		json_add_num(o, verdicts[v], t->of[v]);
	json_object_object_add(o, "runs", list);
	print_json(o);
}

/* ------------------------------------------------------------------------- sweep */

/* The first run: nothing fails, and it must end well. */
static void first_run(struct ctl *c, struct sweep_setup *s, struct sweep_calls *calls,
		      struct progress *p)
{
	char path[SWEEP_PATH], text[256];
	struct sweep_run r;
	bool leaks;

	s->limit_ms = c->seconds ? c->seconds * 1000 : FIRST_MS;
	sweep_run(s, NULL, &r);
	progress_clear(p);
	snprintf(path, sizeof(path), "%s/calls", s->dir);
	leaks = judge_run(&r, true) == LEAKS;
	if (r.end == SWEEP_ENDED && !r.status && !leaks)
		sweep_calls_read(calls, path, c->count ? c->count : EACH);
	if (!calls->num)
		remove_sweep_folder(s->dir);
	if (r.stuck)
		die(EXIT_WRONG, "cannot end process %d (%s) of the program", (int)r.stuck,
		    r.stuck_name);
	if (r.end == SWEEP_STOPPED)
		die(EXIT_WRONG, "interrupted in the first run");
	if (r.end == SWEEP_HANGS)
		die(EXIT_WRONG,
		    "the program runs for more than %u s without a failure: use --seconds",
		    s->limit_ms / 1000);
	if (r.end == SWEEP_SIGNAL || r.status)
		die(EXIT_WRONG, "the program fails without a failure: %s %d",
		    r.end == SWEEP_SIGNAL ? "signal" : "status", r.status);
	if (leaks) { /* it would in every run */
		describe_run(s, &r, text, sizeof(text));
		die(EXIT_WRONG, "the program leaks without a failure: %s", text);
	}
	if (!calls->num)
		die(EXIT_WRONG, "the program makes no call of the verbs or of rdma_cm on dpa0");
	if (!c->seconds)
		s->limit_ms = r.ms * 5 > LIMIT_MIN_MS ? r.ms * 5 : LIMIT_MIN_MS;
}

/*
 * A name that a rule cannot hold (docs/inject.md) is left out: the rule is then one of every program
 * that the run starts.
 */
static void write_rule(const struct sweep_call *call, char rule[RULE_MAX])
{
	int n = snprintf(rule, RULE_MAX, "%s=%s,n=%u", call->name, sweep_errno(call->name),
			 call->n);

	if (call->prog[0] && !strpbrk(call->prog, ",+ \t"))
		snprintf(rule + n, RULE_MAX - (size_t)n, ",prog=%.15s", call->prog);
}

static void one_call(struct ctl *c, const struct sweep_setup *s, const struct sweep_call *call,
		     uint32_t i, struct line *l, struct tally *t, struct json_object *list)
{
	char rule[RULE_MAX], path[SWEEP_PATH];
	struct sweep_run r;
	enum verdict v;

	write_rule(call, rule);
	l->i = i + 1;
	l->rule = rule;
	l->p.shown = 0; /* each rule is shown */
	sweep_run(s, rule, &r);
	progress_clear(&l->p);
	if (r.end == SWEEP_STOPPED)
		return;
	snprintf(path, sizeof(path), "%s/calls", s->dir);
	v = judge_run(&r, sweep_calls_failed(path));
	t->runs++;
	t->of[v]++;
	t->stuck = r.stuck;
	show_run(c, list, s, call, rule, &r, v);
}

void cmd_sweep(struct ctl *c)
{
	struct json_object *list = json_object_new_array();
	struct sweep_calls calls = {0};
	struct sweep_setup s = {.program = c->program};
	struct tally t = {0};
	struct line l = {.t = &t};

	if (c->peer)
		s.peer = split_peer_words(c->peer);
	find_dpa_run(s.dpa_run);
	sweep_begin();
	make_folder(s.dir, sizeof(s.dir));
	progress_begin(&l.p);
	s.tick = show_sweep_progress;
	s.tick_arg = &l;
	first_run(c, &s, &calls, &l.p);
	l.n = calls.num;
	for (uint32_t i = 0; i < calls.num && !sweep_stopped() && !t.stuck; i++)
		one_call(c, &s, &calls.call[i], i, &l, &t, list);
	t.complete = t.runs == calls.num;
	remove_sweep_folder(s.dir);
	show_tally(c, list, &calls, &t);
	if (!c->json)
		json_object_put(list);
	free(calls.call);
	if (!t.complete || t.of[HANGS] || t.of[CRASHES] || t.of[LEAKS] ||
	    t.of[NOT_REACHED] == t.runs)
		c->status = EXIT_WRONG;
}
