/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* param.c - parameters and commands: creation, setters, registration. */
#include <stdlib.h>
#include <string.h>
#include "argp.h"
#undef doca_argp_param_set_type /* both are defined here */

static void free_param(struct doca_argp_param *p)
{
	free(p->short_name);
	free(p->long_name);
	free(p->arguments);
	free(p->description);
	dpa_obj_free(p);
}

void argp_free_cmd_contents(struct doca_argp_cmd *cmd)
{
	while (cmd->params) {
		struct doca_argp_param *p = cmd->params;

		cmd->params = p->next;
		free_param(p);
	}
	while (cmd->cmds) {
		struct doca_argp_cmd *c = cmd->cmds;

		cmd->cmds = c->next;
		argp_free_cmd_contents(c);
		dpa_obj_free(c);
	}
	free(cmd->name);
	free(cmd->description);
}

static void free_cmd(struct doca_argp_cmd *cmd)
{
	argp_free_cmd_contents(cmd);
	dpa_obj_free(cmd);
}

static void set_argp_text(char **to, const char *text)
{
	free(*to);
	*to = text && *text ? strdup(text) : NULL;
}

/* --------------------------------------------------------------- parameters */

doca_error_t doca_argp_param_create(struct doca_argp_param **param)
{
	if (!param)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_argp)
		return DOCA_ERROR_BAD_STATE;
	*param = dpa_obj_new(DPA_T_PARAM, sizeof(**param));
	return *param ? DOCA_SUCCESS : DOCA_ERROR_NO_MEMORY;
}

doca_error_t doca_argp_param_destroy(struct doca_argp_param *param)
{
	if (!dpa_live(param))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_argp || param->registered)
		return DOCA_ERROR_BAD_STATE;
	free_param(param);
	return DOCA_SUCCESS;
}

static bool same_name(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* Return whether a name is taken in the command or, for inherited names, above it. */
static bool is_name_taken(const struct doca_argp_cmd *cmd, const char *name)
{
	return name && argp_find(cmd, name, strlen(name));
}

doca_error_t argp_add_param(struct doca_argp_cmd *cmd, struct doca_argp_param *param)
{
	struct doca_argp_param **end = &cmd->params;

	if ((!param->short_name && !param->long_name) || !param->description || !param->callback ||
	    param->type <= ARGP_UNKNOWN || param->type > ARGP_DOUBLE)
		return DOCA_ERROR_INITIALIZATION;
	if (is_name_taken(cmd, param->short_name) || is_name_taken(cmd, param->long_name))
		return DOCA_ERROR_INVALID_VALUE;
	while (*end)
		end = &(*end)->next;
	*end = param;
	param->registered = true;
	return DOCA_SUCCESS;
}

static doca_error_t may_register_in(const struct doca_argp_cmd *cmd)
{
	if (!dpa_live(cmd))
		return DOCA_ERROR_INVALID_VALUE;
	return dpa_argp && !dpa_argp->started ? DOCA_SUCCESS : DOCA_ERROR_BAD_STATE;
}

doca_error_t doca_argp_cmd_register_param(struct doca_argp_cmd *cmd,
					  struct doca_argp_param *input_param)
{
	doca_error_t ret;

	if (!dpa_live(input_param) || input_param->registered)
		return DOCA_ERROR_INVALID_VALUE;
	ret = may_register_in(cmd);
	if (!ret)
		ret = argp_add_param(cmd, input_param);
	if (ret)
		free_param(input_param);
	return ret;
}

doca_error_t doca_argp_register_param(struct doca_argp_param *input_param)
{
	if (!dpa_argp && dpa_live(input_param)) {
		free_param(input_param);
		return DOCA_ERROR_BAD_STATE;
	}
	return doca_argp_cmd_register_param(dpa_argp ? &dpa_argp->root : NULL, input_param);
}

#define PARAM_TEXT(what)                                                                           \
	void doca_argp_param_set_##what(struct doca_argp_param *param, const char *text)           \
	{                                                                                          \
		if (dpa_live(param))                                                               \
			set_argp_text(&param->what, text);                                         \
	}

PARAM_TEXT(short_name)
PARAM_TEXT(long_name)
PARAM_TEXT(arguments)
PARAM_TEXT(description)

#define PARAM_FLAG(flag)                                                                           \
	void doca_argp_param_set_##flag(struct doca_argp_param *param)                             \
	{                                                                                          \
		if (dpa_live(param))                                                               \
			param->flag = true;                                                        \
	}

PARAM_FLAG(mandatory)
PARAM_FLAG(cli_only)
PARAM_FLAG(multiplicity)
PARAM_FLAG(singular)
PARAM_FLAG(inherited)
PARAM_FLAG(hidden)

void doca_argp_param_set_callback(struct doca_argp_param *param, doca_argp_param_cb_t callback)
{
	if (dpa_live(param))
		param->callback = callback;
}

/* Types have the numbers of 2.10, whichever version the headers are for. */
void doca_argp_param_set_type(struct doca_argp_param *param, enum doca_argp_type type)
{
	if (dpa_live(param))
		param->type = (int)type >= 0 && (int)type <= ARGP_JSON_OBJ ? (enum argp_type)type
									   : ARGP_UNKNOWN;
}

/* Types have the numbers of 3.3, which has no type for a JSON object. */
void doca_argp_param_set_type_303(struct doca_argp_param *param, enum doca_argp_type type)
{
	static const enum argp_type types[] = {ARGP_UNKNOWN, ARGP_STRING, ARGP_INT,
					       ARGP_BOOLEAN, ARGP_DEVICE, ARGP_DEVICE_REP,
					       ARGP_DOUBLE};

	if (dpa_live(param))
		param->type = (size_t)type < sizeof(types) / sizeof(types[0]) ? types[type]
									      : ARGP_UNKNOWN;
}

/* ----------------------------------------------------------------- commands */

doca_error_t doca_argp_cmd_create(struct doca_argp_cmd **cmd)
{
	if (!cmd)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_argp)
		return DOCA_ERROR_BAD_STATE;
	*cmd = dpa_obj_new(DPA_T_CMD, sizeof(**cmd));
	return *cmd ? DOCA_SUCCESS : DOCA_ERROR_NO_MEMORY;
}

doca_error_t doca_argp_cmd_destroy(struct doca_argp_cmd *cmd)
{
	if (!dpa_live(cmd))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_argp || cmd->registered)
		return DOCA_ERROR_BAD_STATE;
	free_cmd(cmd);
	return DOCA_SUCCESS;
}

static doca_error_t add_cmd(struct doca_argp_cmd *to, struct doca_argp_cmd *cmd)
{
	struct doca_argp_cmd **end = &to->cmds;

	if (!cmd->name || !cmd->description || !cmd->callback)
		return DOCA_ERROR_INITIALIZATION;
	for (; *end; end = &(*end)->next)
		if (same_name((*end)->name, cmd->name))
			return DOCA_ERROR_INVALID_VALUE;
	*end = cmd;
	cmd->parent = to;
	cmd->registered = true;
	return DOCA_SUCCESS;
}

/* Return whether cmd is `other`, or below it. */
static bool is_within_cmd(const struct doca_argp_cmd *cmd, const struct doca_argp_cmd *other)
{
	if (!dpa_live(cmd))
		return false;
	while (cmd && cmd != other)
		cmd = cmd->parent;
	return cmd != NULL;
}

doca_error_t doca_argp_cmd_register_cmd(struct doca_argp_cmd *cmd, struct doca_argp_cmd *input_cmd)
{
	doca_error_t ret;

	if (!dpa_live(input_cmd) || input_cmd->registered || is_within_cmd(cmd, input_cmd))
		return DOCA_ERROR_INVALID_VALUE;
	ret = may_register_in(cmd);
	if (!ret)
		ret = add_cmd(cmd, input_cmd);
	if (ret)
		free_cmd(input_cmd);
	return ret;
}

doca_error_t doca_argp_register_cmd(struct doca_argp_cmd *input_cmd)
{
	if (!dpa_argp && dpa_live(input_cmd)) {
		free_cmd(input_cmd);
		return DOCA_ERROR_BAD_STATE;
	}
	return doca_argp_cmd_register_cmd(dpa_argp ? &dpa_argp->root : NULL, input_cmd);
}

void doca_argp_cmd_set_name(struct doca_argp_cmd *cmd, const char *name)
{
	if (dpa_live(cmd))
		set_argp_text(&cmd->name, name);
}

void doca_argp_cmd_set_description(struct doca_argp_cmd *cmd, const char *description)
{
	if (dpa_live(cmd))
		set_argp_text(&cmd->description, description);
}

void doca_argp_cmd_set_callback(struct doca_argp_cmd *cmd, doca_argp_cmd_cb_t callback)
{
	if (dpa_live(cmd))
		cmd->callback = callback;
}

void doca_argp_cmd_set_hidden(struct doca_argp_cmd *cmd)
{
	if (dpa_live(cmd))
		cmd->hidden = true;
}
