/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test.c - a failing capture becomes a test: a folder with the reduced capture, the options and the
 * output, which tests/integration/dpactl/test_replay compares with that of a later version.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "view.h"

#define OPTIONS 8192

static FILE *create_test_file(const char *folder, const char *name)
{
	char path[4096];
	FILE *f;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		die(EXIT_USAGE, "--test '%s': the path is too long", folder);
	f = fopen(path, "wxe");
	if (!f)
		die(EXIT_USAGE, "%s: %s", path, strerror(errno));
	return f;
}

static void finish_test_file(FILE *f, const char *folder, const char *name)
{
	if (ferror(f) | fclose(f))
		die(EXIT_USAGE, "%s/%s: cannot write: %s", folder, name, strerror(errno));
}

/* The reduced capture: in a file, and in memory for the replay. */
struct reduced {
	FILE *f;
	uint8_t *p;
	size_t n, room;
};

static bool put_reduced(void *arg, const void *p, size_t n)
{
	struct reduced *r = arg;

	if (r->n + n > r->room) {
		r->room = 2 * (r->n + n);
		r->p = realloc(r->p, r->room);
		if (!r->p)
			die(EXIT_USAGE, "no memory");
	}
	memcpy(r->p + r->n, p, n);
	r->n += n;
	return fwrite(p, 1, n, r->f) == n;
}

static void write_output(const struct replay_args *a, const struct reduced *r)
{
	struct replay_text t = {.to = create_test_file(a->test, "expected.txt")};
	struct dpa_replay_sum sum;
	char err[256];

	if (!dpa_replay_run(r->p, r->n, &a->o, replay_event_text, &t, &sum, err, sizeof(err)))
		die(EXIT_USAGE, "the reduced capture: %s", err);
	replay_sum_text(&t, &sum);
	finish_test_file(t.to, a->test, "expected.txt");
	printf("%s: %u packets, %u flows, %u differences to the capture\n", a->test, sum.packets,
	       sum.flows, sum.differences);
	if (sum.stopped)
		die(EXIT_USAGE, "%s: ended early: the test is not whole", a->test);
}

void replay_write_test(const struct replay_args *a, const uint8_t *file, size_t n)
{
	char options[OPTIONS], err[256];
	struct reduced r = {0};
	FILE *f;

	if (mkdir(a->test, 0777))
		die(EXIT_USAGE, "--test '%s': %s", a->test, strerror(errno));
	r.f = create_test_file(a->test, "capture.pcapng");
	if (!dpa_replay_reduce(file, n, &a->o, a->payload, put_reduced, &r, err, sizeof(err)))
		die(EXIT_USAGE, "%s: %s", a->file, err);
	finish_test_file(r.f, a->test, "capture.pcapng");
	f = create_test_file(a->test, "options");
	replay_options_text(&a->o, options, sizeof(options));
	fprintf(f, "%s\n", options);
	finish_test_file(f, a->test, "options");
	write_output(a, &r);
	free(r.p);
}
