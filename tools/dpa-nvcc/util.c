/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Lists and strings. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvcc.h"

bool error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("dpa-nvcc: error: ", stderr);
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

char *strf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return must(s);
}

bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

void list_add(struct list *l, const char *s)
{
	l->v = must(realloc(l->v, (l->n + 2) * sizeof(*l->v)));
	l->v[l->n++] = must(strdup(s));
	l->v[l->n] = NULL;
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
