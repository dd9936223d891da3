/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* edit.c - changes of a text. */
#include <stdlib.h>
#include <string.h>

#include "edit.h"
#include "nvcc.h"

void text_add(struct text *t, const char *s, size_t len)
{
	if (t->len + len + 1 > t->room) {
		t->room = 2 * (t->len + len + 1);
		t->s = must(realloc(t->s, t->room));
	}
	memcpy(t->s + t->len, s, len);
	t->len += len;
	t->s[t->len] = 0;
}

char *text_take(struct text *t)
{
	if (!t->s)
		text_add(t, "", 0);
	return t->s;
}

void edit_replace(struct edits *e, size_t at, size_t del, const char *insert)
{
	if (e->num == e->room) {
		e->room = e->room ? 2 * e->room : 256;
		e->v = must(realloc(e->v, e->room * sizeof(*e->v)));
	}
	e->v[e->num] = (struct edit){at, del, e->num, must(strdup(insert))};
	e->num++;
}

static int by_place(const void *a_, const void *b_)
{
	const struct edit *a = a_, *b = b_;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

char *edit_apply(struct edits *e, const char *text, size_t len, size_t *out_len)
{
	struct text out = {0};
	size_t at = 0;

	if (e->num)
		qsort(e->v, e->num, sizeof(*e->v), by_place);
	for (size_t i = 0; i < e->num; i++) {
		if (e->v[i].at > at) {
			text_add(&out, text + at, e->v[i].at - at);
			at = e->v[i].at;
		}
		text_add(&out, e->v[i].insert, strlen(e->v[i].insert));
		if (e->v[i].at + e->v[i].del > at)
			at = e->v[i].at + e->v[i].del;
	}
	if (len > at)
		text_add(&out, text + at, len - at);
	*out_len = out.len;
	return text_take(&out);
}

void edit_free(struct edits *e)
{
	for (size_t i = 0; i < e->num; i++)
		free(e->v[i].insert);
	free(e->v);
	*e = (struct edits){0};
}
