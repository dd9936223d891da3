/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* top.c - dpactl top -b: readings as text or JSON, for scripts; and what it shares with the screen. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "top.h"

#define WARM_NS UINT64_C(3000000000) /* longest wait for the first rates */
#define LOOK_NS UINT64_C(50000000)
#define MOST	100000u /* QPs: all of them */

volatile sig_atomic_t top_stop;

static void on_top_signal(int sig)
{
	top_stop = 1;
}

static void catch_top_signals(void)
{
	struct sigaction sa = {.sa_handler = on_top_signal}; /* no SA_RESTART: waits end */

	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

/* A signal ends it early. */
static void wait_step(uint64_t ns)
{
	const struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000),
				    .tv_nsec = (long)(ns % 1000000000)};

	if (!top_stop)
		nanosleep(&ts, NULL);
}

static void wait_ns(struct live *l, uint64_t ns)
{
	const uint64_t end = now_ns() + ns;
	uint64_t now;

	while (!top_stop && (now = now_ns()) < end) {
		live_keep(l);
		wait_step(end - now < LIVE_KEEP_NS ? end - now : LIVE_KEEP_NS);
	}
}

/* The first reading of text has rates already: processes measure twice before. */
static void warm_up(struct live *l)
{
	const uint64_t end = now_ns() + WARM_NS;

	live_read(l);
	if (l->why[0])
		die(EXIT_NONE, "no adapter instance: %s", l->why);
	while (!top_stop && l->why[0] == '\0' && !live_is_measured(l) && now_ns() < end) {
		wait_ns(l, LOOK_NS);
		live_read(l);
	}
}

static void print_table(const struct top *t, enum table_kind kind)
{
	struct table_how how = t->how;
	struct table table;

	how.kind = kind;
	table_make(&table, &t->live, &how);
	printf("\n%s\n", table.head);
	for (uint32_t i = 0; i < table.n; i++)
		printf("%s\n", table.row[i]);
	table_free(&table);
}

static void print_top_text(const struct top *t)
{
	char line[2][TABLE_LINE];

	table_summary(&t->live, line);
	printf("%s\n%s\n", line[0], line[1]);
	for (int k = 0; k < TABLE_KINDS; k++)
		print_table(t, (enum table_kind)k);
	putchar('\n');
}

/* An object on a line of its own for each reading. */
static void print_line_json(const struct top *t)
{
	struct json_object *o = live_json(&t->live, MOST);

	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
						       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static void run_batch(struct top *t, uint32_t times)
{
	warm_up(&t->live);
	for (uint32_t n = 0; !top_stop && (!times || n < times); n++) {
		if (n) {
			wait_ns(&t->live, t->delay);
			live_read(&t->live);
		}
		if (top_stop)
			return;
		if (t->live.c->json)
			print_line_json(t);
		else
			print_top_text(t);
		if (fflush(stdout) || ferror(stdout))
			die(EXIT_NONE, "cannot write: %s", strerror(errno));
	}
}

static uint64_t delay_of(const char *text)
{
	char *end;
	double s = text ? strtod(text, &end) : 1;

	if (text && (*end || end == text || !(s >= 0.25 && s <= 3600)))
		die(EXIT_USAGE, "--delay '%s': use 0.25 to 3600 seconds", text);
	return (uint64_t)(s * 1e9);
}

void cmd_top(struct ctl *c)
{
	static struct top t;

	t.delay = delay_of(c->delay);
	if (c->sort)
		t.how.key = table_key_of(c->sort);
	if (t.how.key == KEYS)
		die(EXIT_USAGE, "--sort '%s': use messages, bytes, again, rnr, waiting or id",
		    c->sort);
	if (!c->batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		die(EXIT_USAGE, "top needs a terminal; use top -b for text");
	catch_top_signals();
	live_begin(&t.live, c);
	if (c->batch)
		run_batch(&t, c->count);
	else
		c->status = top_screen(&t);
	live_end(&t.live);
}
