/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* edit.h - a text that grows, and a list of changes of a text. */
#ifndef DPA_NVCC_EDIT_H
#define DPA_NVCC_EDIT_H

#include <stddef.h>

struct text {
	char *s; /* terminated; NULL if empty */
	size_t len, room;
};

void text_add(struct text *t, const char *s, size_t len);
/* Return the text as a string, "" if nothing was added; owned by the caller. */
char *text_take(struct text *t);

struct edit {
	size_t at, del, order;
	char *insert;
};

struct edits {
	struct edit *v;
	size_t num, room;
};

/*
 * Replace `del` bytes at `at` by `insert`. Changes do not overlap; insertions at one place keep the
 * order of calls.
 */
void edit_replace(struct edits *e, size_t at, size_t del, const char *insert);
char *edit_apply(struct edits *e, const char *text, size_t len, size_t *out_len);
void edit_free(struct edits *e);

#endif
