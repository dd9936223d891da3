/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* lex.c - tokens of preprocessed C++. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lex.h"
#include "nvcc.h"

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static void append_token(struct lexed *l, enum token_kind kind, size_t at, size_t end)
{
	if (l->num == l->room) {
		l->room = l->room ? 2 * l->room : 4096;
		l->token = must(realloc(l->token, l->room * sizeof(*l->token)));
	}
	l->token[l->num++] = (struct token){kind, at, end - at};
}

static char peek_char(const struct lexed *l, size_t at)
{
	return at < l->len ? l->text[at] : 0;
}

static size_t line_end(const struct lexed *l, size_t at)
{
	const char *nl = memchr(l->text + at, '\n', l->len - at);

	return nl ? (size_t)(nl - l->text) : l->len;
}

static size_t add_directive(struct lexed *l, size_t at)
{
	size_t end = line_end(l, at);

	if (l->num_directives == l->room_directives) {
		l->room_directives = l->room_directives ? 2 * l->room_directives : 1024;
		l->directive =
			must(realloc(l->directive, l->room_directives * sizeof(*l->directive)));
	}
	l->directive[l->num_directives++] = (struct directive){at, end - at};
	return end;
}

/* Return the offset after the closing quote; the end of the line if there is none. */
static size_t quoted_end(const struct lexed *l, size_t at)
{
	char quote = l->text[at++];

	while (at < l->len && l->text[at] != quote && l->text[at] != '\n')
		at += l->text[at] == '\\' && at + 1 < l->len ? 2 : 1;
	return at < l->len && l->text[at] == quote ? at + 1 : at < l->len ? at : l->len;
}

/* Return the end of R"delimiter( ... )delimiter": `at` is the quote. */
static size_t raw_end(const struct lexed *l, size_t at)
{
	size_t begin = at + 1, open = begin, len;

	while (open < l->len && l->text[open] != '(' && l->text[open] != '\n' && open - begin <= 16)
		open++;
	if (peek_char(l, open) != '(')
		return quoted_end(l, at);
	len = open - begin;
	for (size_t p = open + 1; p + len + 1 < l->len; p++)
		if (l->text[p] == ')' && !memcmp(l->text + p + 1, l->text + begin, len) &&
		    l->text[p + 1 + len] == '"')
			return p + len + 2;
	return l->len;
}

static size_t number_end(const struct lexed *l, size_t at)
{
	for (at++; at < l->len; at++) {
		char c = l->text[at], before = l->text[at - 1] | 32;

		if ((c == '+' || c == '-') && (before == 'e' || before == 'p'))
			continue;
		if (c == '\'' && is_word_char(peek_char(l, at + 1)))
			continue;
		if (!is_word_char(c) && c != '.')
			break;
	}
	return at;
}

static bool is_raw_prefix(const char *s, size_t n)
{
	static const char *const prefixes[] = {"R", "u8R", "uR", "UR", "LR"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strlen(prefixes[i]) == n && !memcmp(prefixes[i], s, n))
			return true;
	return false;
}

static size_t lex_word(struct lexed *l, size_t at)
{
	size_t end = at;

	while (end < l->len && is_word_char(l->text[end]))
		end++;
	if (peek_char(l, end) == '"' && is_raw_prefix(l->text + at, end - at)) {
		end = raw_end(l, end);
		append_token(l, TOKEN_STRING, at, end);
	} else {
		append_token(l, TOKEN_WORD, at, end);
	}
	return end;
}

static size_t comment_end(const struct lexed *l, size_t at)
{
	if (l->text[at + 1] == '/')
		return line_end(l, at);
	for (at += 2; at + 1 < l->len; at++)
		if (l->text[at] == '*' && l->text[at + 1] == '/')
			return at + 2;
	return l->len;
}

static size_t add_punct(struct lexed *l, size_t at)
{
	static const char *const longs[] = {"<<<", ">>>", "::", "->"};
	size_t n = 1;

	for (size_t i = 0; i < sizeof(longs) / sizeof(*longs); i++) {
		size_t len = strlen(longs[i]);

		if (l->len - at >= len && !memcmp(l->text + at, longs[i], len))
			n = len;
	}
	append_token(l, TOKEN_PUNCT, at, at + n);
	return at + n;
}

static size_t lex_token(struct lexed *l, size_t at)
{
	char c = l->text[at];
	size_t end;

	if (isdigit((unsigned char)c) ||
	    (c == '.' && isdigit((unsigned char)peek_char(l, at + 1)))) {
		end = number_end(l, at);
		append_token(l, TOKEN_NUMBER, at, end);
		return end;
	}
	if (is_word_char(c))
		return lex_word(l, at);
	if (c != '"' && c != '\'')
		return add_punct(l, at);
	end = quoted_end(l, at);
	append_token(l, c == '"' ? TOKEN_STRING : TOKEN_CHAR, at, end);
	return end;
}

void lex(struct lexed *l, const char *text, size_t len)
{
	bool begin = true; /* only blanks on this line so far */
	size_t at = 0;

	*l = (struct lexed){.text = text, .len = len};
	while (at < len) {
		char c = text[at];

		if (c == '\n') {
			begin = true;
			at++;
		} else if (isspace((unsigned char)c) || !c) {
			at++;
		} else if (c == '#' && begin) {
			at = add_directive(l, at);
		} else if (c == '/' &&
			   (peek_char(l, at + 1) == '/' || peek_char(l, at + 1) == '*')) {
			at = comment_end(l, at);
		} else {
			begin = false;
			at = lex_token(l, at);
		}
	}
}

void lex_free(struct lexed *l)
{
	free(l->token);
	free(l->directive);
	*l = (struct lexed){0};
}

bool token_is(const struct lexed *l, size_t i, const char *what)
{
	return i < l->num && l->token[i].kind != TOKEN_STRING && strlen(what) == l->token[i].len &&
	       !memcmp(l->text + l->token[i].at, what, l->token[i].len);
}

bool token_is_word(const struct lexed *l, size_t i)
{
	return i < l->num && l->token[i].kind == TOKEN_WORD;
}

/* Return +1: opens, -1: closes, 0: neither. */
static int nesting_change(const struct lexed *l, size_t i)
{
	const struct token *t = &l->token[i];

	if (t->kind != TOKEN_PUNCT || t->len != 1)
		return 0;
	switch (l->text[t->at]) {
	case '(':
	case '[':
	case '{':
		return 1;
	case ')':
	case ']':
	case '}':
		return -1;
	default:
		return 0;
	}
}

size_t token_close(const struct lexed *l, size_t i)
{
	int depth = 0;

	for (; i < l->num; i++) {
		depth += nesting_change(l, i);
		if (!depth)
			return i;
	}
	return l->num;
}

size_t token_open(const struct lexed *l, size_t i)
{
	int depth = 0;

	for (; i < l->num; i--) {
		depth -= nesting_change(l, i);
		if (!depth)
			return i;
	}
	return l->num;
}

/* Parse "# 12 "file" ..." or "#line 12 "file"": line and name; false: another directive. */
static bool parse_line_marker(const struct lexed *l, const struct directive *d, const char **file,
			      int *file_len, unsigned long *line)
{
	const char *p = l->text + d->at + 1, *end = l->text + d->at + d->len, *quote, *close;
	unsigned long n = 0;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (end - p > 4 && !memcmp(p, "line", 4))
		for (p += 4; p < end && (*p == ' ' || *p == '\t'); p++)
			;
	if (p == end || !isdigit((unsigned char)*p))
		return false;
	while (p < end && isdigit((unsigned char)*p))
		n = n * 10 + (unsigned long)(*p++ - '0');
	*line = n;
	quote = memchr(p, '"', (size_t)(end - p));
	close = quote ? memchr(quote + 1, '"', (size_t)(end - quote - 1)) : NULL;
	if (close) {
		*file = quote + 1;
		*file_len = (int)(close - quote - 1);
	}
	return true;
}

void lex_place(const struct lexed *l, size_t at, const char **file, int *file_len,
	       unsigned long *line)
{
	size_t from = 0;

	*file = "input";
	*file_len = 5;
	*line = 1;
	for (size_t i = 0; i < l->num_directives && l->directive[i].at < at; i++) {
		unsigned long n;

		if (!parse_line_marker(l, &l->directive[i], file, file_len, &n))
			continue;
		*line = n;
		from = l->directive[i].at + l->directive[i].len + 1;
	}
	for (; from < at && from < l->len; from++)
		*line += l->text[from] == '\n';
}
