/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* text.h - strings, lists of them and error messages of a compiler driver. */
#ifndef DPA_TEXT_H
#define DPA_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A growing list of strings that it owns, NULL-terminated unless it is empty. */
struct list {
	char **v;
	size_t n;
};

void list_add(struct list *l, const char *s);
void list_addf(struct list *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void list_cat(struct list *l, const struct list *from);
void list_free(struct list *l);
/*
 * Split at blanks (quotes and backslashes as in a shell). Lists of options may also have commas
 * between options: list_split() recognizes them by the text after them, list_words() ignores them.
 */
void list_split(struct list *l, const char *s);
void list_words(struct list *l, const char *s);

/* Replace a string that *to owns. */
void set_text(char **to, const char *s);

/* Return p, unless memory ran out: then the program ends. */
void *must(void *p);
char *strf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool ends_with(const char *s, const char *end);
/* The name before messages; each program defines it. */
extern const char text_program[];
/* Print "PROGRAM: error: ..."; return false. */
bool error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
