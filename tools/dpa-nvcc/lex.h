/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* lex.h - tokens of preprocessed C++, for the translation of CUDA. */
#ifndef DPA_NVCC_LEX_H
#define DPA_NVCC_LEX_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind {
	TOKEN_WORD,   /* identifier or keyword */
	TOKEN_NUMBER, /* preprocessing number */
	TOKEN_STRING, /* with its prefix if it is a raw one */
	TOKEN_CHAR,
	TOKEN_PUNCT, /* one character, or <<< >>> :: -> */
};

struct token {
	enum token_kind kind;
	size_t at, len; /* in the text */
};

/* A line that begins with #: a line marker or a pragma. No tokens. */
struct directive {
	size_t at, len; /* without the newline */
};

struct lexed {
	const char *text;
	size_t len;
	struct token *token;
	size_t num, room;
	struct directive *directive;
	size_t num_directives, room_directives;
};

/*
 * Split the text, which must exist as long as the tokens. Never fails: an unfinished string ends
 * with its line, or the text.
 */
void lex(struct lexed *l, const char *text, size_t len);
void lex_free(struct lexed *l);
/* Return whether token i exists and is exactly this. Any i, (size_t)-1 as well. */
bool token_is(const struct lexed *l, size_t i, const char *what);
bool token_is_word(const struct lexed *l, size_t i);
/* Return the counterpart of token i: ( ) [ ] { }. l->num: none. */
size_t token_close(const struct lexed *l, size_t i);
size_t token_open(const struct lexed *l, size_t i);
/* Return file and line of an offset by the line markers. *file is not terminated. */
void lex_place(const struct lexed *l, size_t at, const char **file, int *file_len,
	       unsigned long *line);

#endif
