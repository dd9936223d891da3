/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* json.c - flags from a JSON file. json-c accepts comments unless it is strict. */
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "argp.h"

#define FILE_MAX_SIZE (1 << 20)

static char *read_json_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text;
	size_t n;

	if (!f)
		return NULL;
	text = malloc(FILE_MAX_SIZE + 1);
	n = text ? fread(text, 1, FILE_MAX_SIZE + 1, f) : 0;
	if (text && (ferror(f) || n > FILE_MAX_SIZE)) {
		free(text);
		text = NULL;
	}
	if (text)
		text[n] = 0;
	fclose(f);
	return text;
}

static doca_error_t convert_value(struct argp_given *g, struct json_object *v)
{
	int64_t n;

	switch (g->param->type) {
	case ARGP_STRING:
	case ARGP_DEVICE:
	case ARGP_DEVICE_REP:
		if (!json_object_is_type(v, json_type_string))
			return DOCA_ERROR_INVALID_VALUE;
		return argp_convert(g, json_object_get_string(v));
	case ARGP_INT:
		n = json_object_get_int64(v);
		if (!json_object_is_type(v, json_type_int) || n < INT_MIN || n > INT_MAX)
			return DOCA_ERROR_INVALID_VALUE;
		g->num = (int)n;
		return DOCA_SUCCESS;
	case ARGP_BOOLEAN:
		g->flag = json_object_get_boolean(v);
		return json_object_is_type(v, json_type_boolean) ? DOCA_SUCCESS
								 : DOCA_ERROR_INVALID_VALUE;
	case ARGP_DOUBLE:
		g->real = json_object_get_double(v);
		return json_object_is_type(v, json_type_double) ||
				       json_object_is_type(v, json_type_int)
			       ? DOCA_SUCCESS
			       : DOCA_ERROR_INVALID_VALUE;
	default:
		g->json = json_object_get(v);
		return v ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
	}
}

static doca_error_t add_value(struct doca_argp_param *p, struct json_object *v,
			      struct argp_list *list)
{
	struct argp_given *g = argp_append(list, p);

	return g ? convert_value(g, v) : DOCA_ERROR_NO_MEMORY;
}

static doca_error_t add_values(struct doca_argp_param *p, struct json_object *v,
			       struct argp_list *list)
{
	doca_error_t ret = DOCA_SUCCESS;

	if (!p->multiplicity || !json_object_is_type(v, json_type_array))
		return add_value(p, v, list);
	for (size_t i = 0; i < json_object_array_length(v) && !ret; i++)
		ret = add_value(p, json_object_array_get_idx(v, i), list);
	return ret;
}

/* Read one member of a section. Flags of the command line take precedence over it. */
static doca_error_t read_member(struct argp *a, bool general, const char *key,
				struct json_object *v, struct argp_list *list)
{
	struct doca_argp_param *p = argp_find(a->current, key, strlen(key));
	doca_error_t ret;

	if (!p && a->lenient)
		return DOCA_SUCCESS;
	if (!p || p->general != general) {
		argp_say("unknown flag \"%s\" in the JSON file", key);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (p->cli_only) {
		argp_say("\"%s\" is for the command line only", key);
		return DOCA_ERROR_NOT_SUPPORTED;
	}
	if (p->given)
		return DOCA_SUCCESS;
	ret = add_values(p, v, list);
	if (ret)
		argp_say("\"%s\" has a bad value in the JSON file", key);
	return ret;
}

static doca_error_t read_flag_section(struct argp *a, const char *name, struct json_object *flags,
				      struct argp_list *list)
{
	bool general = !strcmp(name, "doca_general_flags");
	doca_error_t ret = DOCA_SUCCESS;

	if (!general && strcmp(name, "doca_program_flags") && a->lenient)
		return DOCA_SUCCESS;
	if ((!general && strcmp(name, "doca_program_flags")) ||
	    !json_object_is_type(flags, json_type_object)) {
		argp_say("the JSON file has \"%s\" that is no section of flags", name);
		return DOCA_ERROR_INVALID_VALUE;
	}
	json_object_object_foreach(flags, key, v)
	{
		ret = read_member(a, general, key, v, list);
		if (ret)
			break;
	}
	return ret;
}

/*
 * Count the given values, after the whole file: each member of an object appears once, so an
 * earlier `given` is from the command line.
 */
static void count_values(const struct argp_list *list)
{
	for (struct argp_given *g = list->first; g; g = g->next)
		g->param->given++;
}

static doca_error_t load_text(struct argp *a, const char *text, struct argp_list *list)
{
	struct json_object *root = json_tokener_parse(text);
	doca_error_t ret = DOCA_SUCCESS;

	if (!json_object_is_type(root, json_type_object)) {
		json_object_put(root);
		argp_say("the JSON file holds no object");
		return DOCA_ERROR_INVALID_VALUE;
	}
	json_object_object_foreach(root, key, v)
	{
		ret = read_flag_section(a, key, v, list);
		if (ret)
			break;
	}
	json_object_put(root);
	if (!ret)
		count_values(list);
	return ret;
}

doca_error_t argp_load_json(struct argp *a, const char *path, struct argp_list *list)
{
	char *text = read_json_file(path);
	doca_error_t ret;

	if (!text) {
		argp_say("cannot read %s", path);
		return DOCA_ERROR_IO_FAILED;
	}
	ret = load_text(a, text, list);
	free(text);
	return ret;
}
