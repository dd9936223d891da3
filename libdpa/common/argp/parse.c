/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* parse.c - the command line, parsed into a list of given values. */
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "argp.h"

static bool is_name(const char *have, const char *name, size_t len)
{
	return have && strlen(have) == len && !memcmp(have, name, len);
}

struct doca_argp_param *argp_find(const struct doca_argp_cmd *cmd, const char *name, size_t len)
{
	for (const struct doca_argp_cmd *c = cmd; c; c = c->parent)
		for (struct doca_argp_param *p = c->params; p; p = p->next)
			if ((c == cmd || p->inherited) &&
			    (is_name(p->short_name, name, len) || is_name(p->long_name, name, len)))
				return p;
	return NULL;
}

struct argp_given *argp_append(struct argp_list *list, struct doca_argp_param *param)
{
	struct argp_given *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->param = param;
	if (!list->end)
		list->end = &list->first;
	*list->end = g;
	list->end = &g->next;
	return g;
}

void argp_free_list(struct argp_list *list)
{
	while (list->first) {
		struct argp_given *g = list->first;

		list->first = g->next;
		free(g->text);
		if (g->json)
			json_object_put(g->json);
		free(g);
	}
	list->end = NULL;
}

static doca_error_t to_int(const char *text, int *num)
{
	bool hex = !strncmp(text, "0x", 2) || !strncmp(text, "-0x", 3);
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, hex ? 16 : 10);
	if (errno || end == text || *end || v < INT_MIN || v > INT_MAX)
		return DOCA_ERROR_INVALID_VALUE;
	*num = (int)v;
	return DOCA_SUCCESS;
}

static doca_error_t to_real(const char *text, double *num)
{
	char *end;

	errno = 0;
	*num = strtod(text, &end);
	return errno || end == text || *end ? DOCA_ERROR_INVALID_VALUE : DOCA_SUCCESS;
}

doca_error_t argp_convert(struct argp_given *g, const char *text)
{
	switch (g->param->type) {
	case ARGP_STRING:
		g->text = strdup(text);
		return g->text ? DOCA_SUCCESS : DOCA_ERROR_NO_MEMORY;
	case ARGP_INT:
		return to_int(text, &g->num);
	case ARGP_DOUBLE:
		return to_real(text, &g->real);
	case ARGP_DEVICE:
	case ARGP_DEVICE_REP:
		return argp_split_device(g, text);
	case ARGP_JSON_OBJ:
		g->json = json_tokener_parse(text);
		return g->json ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
	default: /* BOOLEAN has no value on a command line */
		return DOCA_ERROR_INVALID_VALUE;
	}
}

/* Find the parameter of "-p5": a name of one character, directly followed by its value. */
static struct doca_argp_param *find_attached(const struct doca_argp_cmd *cmd, const char *arg,
					     const char **value)
{
	struct doca_argp_param *p;

	if (arg[1] == '-' || !arg[2])
		return NULL;
	p = argp_find(cmd, arg + 1, 1);
	if (!p || p->type == ARGP_BOOLEAN)
		return NULL;
	*value = arg + 2;
	return p;
}

/* Parse one flag at argv[*i], and its value. */
static doca_error_t parse_flag(struct argp *a, int argc, char **argv, int *i,
			       struct argp_list *list)
{
	const char *arg = argv[*i], *name = arg + (arg[1] == '-' ? 2 : 1), *value = NULL;
	const char *equals = strchr(name, '=');
	struct doca_argp_param *p;
	struct argp_given *g;
	doca_error_t ret;

	if (equals)
		value = equals + 1;
	p = argp_find(a->current, name, equals ? (size_t)(equals - name) : strlen(name));
	if (!p)
		p = find_attached(a->current, arg, &value);
	if (!p) {
		argp_say("unknown flag %s", arg);
		return DOCA_ERROR_INVALID_VALUE;
	}
	g = argp_append(list, p);
	if (!g)
		return DOCA_ERROR_NO_MEMORY;
	p->given++;
	if (p->type == ARGP_BOOLEAN && !value) {
		g->flag = true;
		return DOCA_SUCCESS;
	}
	if (!value && *i + 1 < argc)
		value = argv[++*i];
	if (!value) {
		argp_say("%s needs a value", arg);
		return DOCA_ERROR_INVALID_VALUE;
	}
	ret = argp_convert(g, value);
	if (ret)
		argp_say("%s does not take the value '%s'", arg, value);
	return ret;
}

static doca_error_t parse_cmd(struct argp *a, const char *name, struct argp_list *list)
{
	struct doca_argp_cmd *c = a->current->cmds;
	struct argp_given *g;

	while (c && strcmp(c->name, name))
		c = c->next;
	if (!c) {
		argp_say(a->current->cmds ? "unknown command %s" : "unexpected argument %s", name);
		return DOCA_ERROR_INVALID_VALUE;
	}
	g = argp_append(list, NULL);
	if (!g)
		return DOCA_ERROR_NO_MEMORY;
	g->cmd = c;
	a->current = c;
	return DOCA_SUCCESS;
}

doca_error_t argp_parse(struct argp *a, int argc, char **argv, struct argp_list *list)
{
	doca_error_t ret = DOCA_SUCCESS;

	for (int i = 1; i < argc && !ret; i++) {
		if (argv[i][0] == '-' && argv[i][1])
			ret = parse_flag(a, argc, argv, &i, list);
		else
			ret = parse_cmd(a, argv[i], list);
	}
	return ret;
}
