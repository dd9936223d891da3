/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* runner.c - the runner of tests/tsan/criterion/criterion.h: one forked child for each test. */
#include <criterion/criterion.h>

#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, EXIT_SKIPPED = 77, DEFAULT_TIMEOUT = 300 };

static struct dpa_test *tests, *suites;
static bool failed; /* of the running child */

void dpa_test_add(struct dpa_test *test)
{
	struct dpa_test **p = &tests;

	while (*p)
		p = &(*p)->next;
	*p = test;
}

void dpa_suite_add(struct dpa_test *suite)
{
	suite->next = suites;
	suites = suite;
}

void dpa_test_failed(const char *file, int line, const char *expr, const char *fmt, ...)
{
	va_list ap;

	failed = true;
	fprintf(stderr, "[----] %s:%d: Assertion Failed: %s", file, line, expr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void dpa_test_abort(void)
{
	exit(EXIT_FAILED);
}

void dpa_test_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_SKIPPED);
}

/* A suite's settings apply to its tests unless these set their own. */
static void take_defaults(struct dpa_test *t)
{
	for (struct dpa_test *s = suites; s; s = s->next) {
		if (strcmp(s->suite, t->suite) != 0)
			continue;
		t->init = t->init ? t->init : s->init;
		t->fini = t->fini ? t->fini : s->fini;
		t->timeout = t->timeout > 0 ? t->timeout : s->timeout;
		t->disabled |= s->disabled;
	}
}

static _Noreturn void run_child(const struct dpa_test *t, void *param)
{
	/* ThreadSanitizer is some ten times slower than the build for which limits are set. */
	alarm(t->timeout > 0 ? (unsigned int)(t->timeout * 10) + 1 : DEFAULT_TIMEOUT);
	if (t->init)
		t->init();
	if (t->each)
		t->each(param);
	else
		t->fn();
	if (t->fini)
		t->fini();
	exit(failed ? EXIT_FAILED : t->exit_code);
}

static bool passed(const struct dpa_test *t, int status)
{
	if (WIFSIGNALED(status))
		return t->signal && WTERMSIG(status) == t->signal;
	return !t->signal && WEXITSTATUS(status) == t->exit_code && !failed;
}

static struct {
	unsigned int tested, ok, crashed;
} count;

/* Run a test. False: no child could be created. */
static bool run_test(const struct dpa_test *t, void *param)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_child(t, param);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED && !t->exit_code) {
		fprintf(stderr, "[SKIP] %s::%s\n", t->suite, t->name);
		return true;
	}
	count.tested++;
	if (passed(t, status)) {
		count.ok++;
		return true;
	}
	count.crashed += WIFSIGNALED(status);
	fprintf(stderr, "[FAIL] %s::%s (status %#x)\n", t->suite, t->name, status);
	return true;
}

static bool run_each(const struct dpa_test *t)
{
	struct dpa_test_params p = t->params();
	bool ok = true;

	for (size_t i = 0; ok && i < p.length; i++)
		ok = run_test(t, (char *)p.params + i * p.size);
	return ok;
}

int main(int argc, char **argv)
{
	for (struct dpa_test *t = tests; t; t = t->next) {
		take_defaults(t);
		if (t->disabled || (argc > 1 && !strstr(t->name, argv[1])))
			continue;
		if (!(t->each ? run_each(t) : run_test(t, NULL)))
			return EXIT_FAILED;
	}
	fprintf(stderr, "[====] Synthesis: Tested: %u | Passing: %u | Failing: %u | Crashing: %u\n",
		count.tested, count.ok, count.tested - count.ok, count.crashed);
	return count.ok == count.tested ? 0 : EXIT_FAILED;
}
