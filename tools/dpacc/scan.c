/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * scan.c - search for the functions that are marked __dpa_global__ or __dpa_rpc__ in a preprocessed
 * source. The marks also appear before typedefs, enums and variables and after structs: only a name
 * followed by a parameter list counts, and nothing static.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dpacc.h"

enum kind { T_END, T_WORD, T_PUNCT, T_OTHER };

struct lexer {
	const char *p;
	char file[512];
	int line;
	/* the token */
	enum kind kind;
	const char *text;
	size_t len;
};

/* # LINE "FILE" FLAGS */
static void line_marker(struct lexer *l)
{
	const char *q;
	char *end;
	long n;

	while (*l->p == ' ' || *l->p == '#')
		l->p++;
	n = strtol(l->p, &end, 10);
	q = strchr(end, '"');
	if (end != l->p && q && q < strchrnul(end, '\n')) {
		size_t k = strcspn(q + 1, "\"\n");

		if (k < sizeof(l->file)) {
			memcpy(l->file, q + 1, k);
			l->file[k] = 0;
		}
		l->line = (int)n - 1; /* counts the newline below */
	}
	l->p = strchrnul(l->p, '\n');
}

static void skip_blanks(struct lexer *l)
{
	bool at_start = false;

	for (;;) {
		if (*l->p == '\n') {
			l->line++;
			l->p++;
			at_start = true;
		} else if (isspace((unsigned char)*l->p)) {
			l->p++;
		} else if (*l->p == '#' && at_start) {
			line_marker(l);
		} else {
			return;
		}
	}
}

static void skip_quoted(struct lexer *l)
{
	char q = *l->p++;

	while (*l->p && *l->p != q && *l->p != '\n')
		l->p += l->p[0] == '\\' && l->p[1] ? 2 : 1;
	if (*l->p == q)
		l->p++;
}

static enum kind next_token(struct lexer *l)
{
	skip_blanks(l);
	l->text = l->p;
	if (!*l->p) {
		l->kind = T_END;
	} else if (isalpha((unsigned char)*l->p) || *l->p == '_') {
		while (isalnum((unsigned char)*l->p) || *l->p == '_')
			l->p++;
		l->kind = T_WORD;
	} else if (isdigit((unsigned char)*l->p)) {
		while (isalnum((unsigned char)*l->p) || *l->p == '.')
			l->p++;
		l->kind = T_OTHER;
	} else if (*l->p == '"' || *l->p == '\'') {
		skip_quoted(l);
		l->kind = T_OTHER;
	} else {
		l->p++;
		l->kind = T_PUNCT;
	}
	l->len = (size_t)(l->p - l->text);
	return l->kind;
}

static bool token_is(const struct lexer *l, const char *s)
{
	return l->kind != T_END && strlen(s) == l->len && !strncmp(l->text, s, l->len);
}

static void skip_group(struct lexer *l)
{
	int depth = 0;

	do {
		if (token_is(l, "(") || token_is(l, "{") || token_is(l, "["))
			depth++;
		else if (token_is(l, ")") || token_is(l, "}") || token_is(l, "]"))
			depth--;
	} while (depth > 0 && next_token(l) != T_END);
}

void entry_free(struct entry *e)
{
	for (size_t i = 0; i < e->nparams; i++)
		free(e->params[i].type);
	free(e->params);
	free(e->name);
	free(e->where);
}

void entries_add(struct entries *e, const char *name, size_t len, enum annotation ann,
		 const char *where)
{
	struct entry *n;

	for (size_t i = 0; i < e->n; i++)
		if (strlen(e->v[i].name) == len && !strncmp(e->v[i].name, name, len))
			return;
	e->v = must(realloc(e->v, (e->n + 1) * sizeof(*e->v)));
	n = &e->v[e->n++];
	*n = (struct entry){.ann = ann};
	n->name = must(strndup(name, len));
	n->where = must(strdup(where));
}

static void add_entry(struct entries *e, const char *name, size_t len, enum annotation ann,
		      const struct lexer *at)
{
	char *where = strf("%s:%d", at->file, at->line);

	entries_add(e, name, len, ann, where);
	free(where);
}

static bool is_attribute(const struct lexer *l)
{
	return token_is(l, "__attribute__") || token_is(l, "__attribute") ||
	       token_is(l, "__declspec") || token_is(l, "_Alignas") || token_is(l, "__asm__");
}

/*
 * Scan after a mark: up to the '(' of a parameter list, or to a token after which none can follow.
 */
static void scan_declaration(struct lexer *l, enum annotation ann, struct entries *e)
{
	const char *name = NULL;
	size_t len = 0;

	while (next_token(l) != T_END) {
		if (token_is(l, ";") || token_is(l, "{") || token_is(l, "=") || token_is(l, ","))
			break;
		if (token_is(l, "typedef") || token_is(l, "static"))
			return;
		if (is_attribute(l)) {
			next_token(l);
			skip_group(l);
		} else if (l->kind == T_WORD) {
			name = l->text;
			len = l->len;
		} else if (token_is(l, "(") && name) {
			add_entry(e, name, len, ann, l);
			skip_group(l);
			return;
		}
	}
	if (token_is(l, "{"))
		skip_group(l);
}

static char *slurp_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *buf = NULL;
	size_t n = 0;

	if (f && getdelim(&buf, &n, 0, f) < 0) {
		free(buf);
		buf = must(strdup(""));
	}
	if (f)
		fclose(f);
	return buf;
}

bool scan_entries(const char *path, struct entries *out)
{
	char *text = slurp_file(path);
	struct lexer l = {.p = text, .line = 1};

	if (!text)
		return error("%s: cannot be read", path);
	if (*l.p == '#')
		line_marker(&l);
	while (next_token(&l) != T_END) {
		if (token_is(&l, "__dpa_global__"))
			scan_declaration(&l, ANN_GLOBAL, out);
		else if (token_is(&l, "__dpa_rpc__"))
			scan_declaration(&l, ANN_RPC, out);
		else if (token_is(&l, "{"))
			skip_group(&l);
	}
	free(text);
	return true;
}
