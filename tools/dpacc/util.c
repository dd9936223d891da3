/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Lists, strings, commands. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "dpacc.h"

extern char **environ;

volatile sig_atomic_t interrupted;

bool error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("dpacc: error: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	return false;
}

void *must(void *p)
{
	if (!p) {
		error("out of memory");
		exit(1);
	}
	return p;
}

static char *vstrf(const char *fmt, va_list ap)
{
	char *s;

	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	return must(s);
}

char *strf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = vstrf(fmt, ap);
	va_end(ap);
	return s;
}

void list_add(struct list *l, const char *s)
{
	l->v = must(realloc(l->v, (l->n + 2) * sizeof(*l->v)));
	l->v[l->n++] = must(strdup(s));
	l->v[l->n] = NULL;
}

void list_addf(struct list *l, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = vstrf(fmt, ap);
	va_end(ap);
	list_add(l, s);
	free(s);
}

void list_cat(struct list *l, const struct list *from)
{
	for (size_t i = 0; i < from->n; i++)
		list_add(l, from->v[i]);
}

void list_free(struct list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct list){0};
}

/* "-Wl,-z,now" is one word; "-O2,-g" is two. */
static bool comma_splits(const char *word, const char *p)
{
	return p[0] == ',' && p[1] == '-' &&
	       !(word[0] == '-' && word[1] == 'W' && word[2] && strchr("lap", word[2]) &&
		 (!word[3] || word[3] == ','));
}

void list_split(struct list *l, const char *s)
{
	char *word = must(malloc(strlen(s) + 1));
	size_t n = 0;
	bool any = false;
	char quote = 0;

	for (;; s++) {
		word[n] = 0;
		if (!*s ||
		    (!quote && (*s == ' ' || *s == '\t' || *s == '\n' || comma_splits(word, s)))) {
			if (any)
				list_add(l, word);
			n = 0;
			any = false;
			if (!*s)
				break;
		} else if (quote ? *s == quote : *s == '"' || *s == '\'') {
			quote = quote ? 0 : *s;
			any = true;
		} else {
			if (*s == '\\' && quote != '\'' && s[1])
				s++;
			word[n++] = *s;
			any = true;
		}
	}
	free(word);
}

static void show(const struct list *argv)
{
	for (size_t i = 0; i < argv->n; i++)
		fprintf(stderr, "%s%s", i ? " " : "", argv->v[i]);
	fputc('\n', stderr);
}

bool run(const struct job *j, const struct list *argv, const char *stderr_to)
{
	posix_spawn_file_actions_t fa;
	int ret, status;
	pid_t pid;

	if (j->opt.verbose || j->opt.dry)
		show(argv);
	if (j->opt.dry)
		return true;
	posix_spawn_file_actions_init(&fa);
	if (stderr_to)
		posix_spawn_file_actions_addopen(&fa, 2, stderr_to, O_WRONLY | O_CREAT | O_TRUNC,
						 0600);
	ret = posix_spawnp(&pid, argv->v[0], &fa, NULL, argv->v, environ);
	posix_spawn_file_actions_destroy(&fa);
	if (ret)
		return error("cannot run %s: %s", argv->v[0], strerror(ret));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return error("waiting for %s: %s", argv->v[0], strerror(errno));
	if (interrupted)
		return error("interrupted");
	return WIFEXITED(status) && !WEXITSTATUS(status);
}
