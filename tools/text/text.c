/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text.h"

bool error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "%s: error: ", text_program);
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

static char *format_text(const char *fmt, va_list ap)
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
	s = format_text(fmt, ap);
	va_end(ap);
	return s;
}

void set_text(char **to, const char *s)
{
	free(*to);
	*to = must(strdup(s));
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
	s = format_text(fmt, ap);
	va_end(ap);
	list_add(l, s);
	free(s);
}

void list_cat(struct list *l, const struct list *from)
{
	for (size_t i = 0; i < from->n; i++)
		list_add(l, from->v[i]);
}

/* "-Wl,-z,now" is one word; "-O2,-g" is two, and so is "-O2, -g". */
static bool comma_splits(const char *word, const char *p)
{
	if (p[0] != ',')
		return false;
	if (!p[1] || strchr(", \t\n", p[1]))
		return true;
	return p[1] == '-' && !(word[0] == '-' && word[1] == 'W' && word[2] &&
				strchr("lap", word[2]) && (!word[3] || word[3] == ','));
}

static void split_shell_words(struct list *l, const char *s, bool commas)
{
	char *word = must(malloc(strlen(s) + 1));
	size_t n = 0;
	bool any = false;
	char quote = 0;

	for (;; s++) {
		word[n] = 0;
		if (!*s || (!quote && (strchr(" \t\n", *s) || (commas && comma_splits(word, s))))) {
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

void list_split(struct list *l, const char *s)
{
	split_shell_words(l, s, true);
}

void list_words(struct list *l, const char *s)
{
	split_shell_words(l, s, false);
}

void list_free(struct list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct list){0};
}

bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}
