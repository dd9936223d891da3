/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* argp.c - life cycle of the parser, and the flags that every program has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "argp.h"
#include "../log/log.h"
#include <doca_version.h>

DOCA_LOG_REGISTER(ARGP);

#define LEVELS "<10=DISABLE, 20=CRITICAL, 30=ERROR, 40=WARNING, 50=INFO, 60=DEBUG, 70=TRACE>"

struct argp *dpa_argp;

const char *doca_version_runtime(void)
{
	return DOCA_VERSION_STRING;
}

void argp_say(const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	if (dpa_argp->logger) {
		dpa_argp->logger(DOCA_LOG_LEVEL_ERROR, format, ap);
	} else if (!dpa_argp->quiet) {
		vsnprintf(text, sizeof(text), format, ap);
		if (dpal_log_wanted(false, DOCA_LOG_LEVEL_ERROR))
			DOCA_LOG_ERR("%s", text);
		else
			fprintf(stderr, "%s: %s\n", dpa_argp->root.name, text);
	}
	va_end(ap);
}

/* ------------------------------------------------------------ general flags */

static doca_error_t set_log_level(void *param, void *config)
{
	int level = *(int *)param;

	if (level < 0 || doca_log_level_set_global_lower_limit((uint32_t)level)) {
		argp_say("%d is no log level", level);
		return DOCA_ERROR_INVALID_VALUE;
	}
	dpa_argp->log_level = level;
	return DOCA_SUCCESS;
}

static doca_error_t set_sdk_log_level(void *param, void *config)
{
	int level = *(int *)param;

	if (level < 0 || doca_log_level_set_global_sdk_limit((uint32_t)level)) {
		argp_say("%d is no log level", level);
		return DOCA_ERROR_INVALID_VALUE;
	}
	dpa_argp->sdk_log_level = level;
	return DOCA_SUCCESS;
}

/*
 * Accept a flag without its work: help, version and JSON are handled before callbacks are called.
 */
static doca_error_t accept_nothing(void *param, void *config)
{
	return DOCA_SUCCESS;
}

static const struct {
	const char *short_name, *long_name, *arguments, *description;
	doca_argp_param_cb_t callback;
	enum argp_type type;
	bool cli_only;
} general_flags[ARGP_GENERAL] = {
	[ARGP_HELP] = {"h", "help", NULL, "Show this text", accept_nothing, ARGP_BOOLEAN, true},
	[ARGP_VERSION] = {"v", "version", NULL, "Show the version", accept_nothing, ARGP_BOOLEAN,
			  true},
	[ARGP_LOG] = {"l", "log-level", NULL, "Log level of the program " LEVELS, set_log_level,
		      ARGP_INT, false},
	[ARGP_SDK_LOG] = {NULL, "sdk-log-level", NULL, "Log level of the SDK " LEVELS,
			  set_sdk_log_level, ARGP_INT, false},
	[ARGP_JSON] = {"j", "json", "<path>", "Read flags from a JSON file", accept_nothing,
		       ARGP_STRING, true},
};

/* True if a setter had no memory for a text. The setters themselves report nothing. */
static bool is_text_lost(const char *want, const char *have)
{
	return want && *want && !have;
}

static doca_error_t add_general(struct argp *a)
{
	for (int i = 0; i < ARGP_GENERAL; i++) {
		struct doca_argp_param *p;
		doca_error_t ret = doca_argp_param_create(&p);

		if (ret)
			return ret;
		doca_argp_param_set_short_name(p, general_flags[i].short_name);
		doca_argp_param_set_long_name(p, general_flags[i].long_name);
		doca_argp_param_set_arguments(p, general_flags[i].arguments);
		doca_argp_param_set_description(p, general_flags[i].description);
		p->callback = general_flags[i].callback;
		p->type = general_flags[i].type;
		p->cli_only = general_flags[i].cli_only;
		p->general = p->inherited = true;
		if (is_text_lost(general_flags[i].short_name, p->short_name) ||
		    is_text_lost(general_flags[i].long_name, p->long_name) ||
		    is_text_lost(general_flags[i].arguments, p->arguments) ||
		    is_text_lost(general_flags[i].description, p->description))
			ret = DOCA_ERROR_NO_MEMORY;
		else
			ret = doca_argp_register_param(p);
		if (ret) {
			doca_argp_param_destroy(p);
			return ret;
		}
		a->general[i] = p;
	}
	return DOCA_SUCCESS;
}

/* --------------------------------------------------------------- life cycle */

doca_error_t doca_argp_init(const char *program_name, void *program_config)
{
	if (!program_name) /* samples of newer releases pass NULL */
		program_name = program_invocation_short_name;
	if (!*program_name)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_argp)
		return DOCA_ERROR_BAD_STATE;
	dpa_argp = dpa_obj_new(DPA_T_CMD, sizeof(*dpa_argp)); /* freed by its root */
	if (!dpa_argp)
		return DOCA_ERROR_NO_MEMORY;
	dpa_argp->root.name = strdup(program_name);
	dpa_argp->current = &dpa_argp->root;
	dpa_argp->config = program_config;
	dpa_argp->log_level = (int)doca_log_level_get_global_lower_limit();
	dpa_argp->sdk_log_level = (int)doca_log_level_get_global_sdk_limit();
	if (!dpa_argp->root.name || add_general(dpa_argp)) {
		doca_argp_destroy();
		return DOCA_ERROR_NO_MEMORY;
	}
	return DOCA_SUCCESS;
}

doca_error_t doca_argp_destroy(void)
{
	if (!dpa_argp)
		return DOCA_ERROR_BAD_STATE;
	while (dpa_argp->validations) {
		struct argp_validation *v = dpa_argp->validations;

		dpa_argp->validations = v->next;
		free(v);
	}
	argp_free_list(&dpa_argp->cli);
	argp_free_list(&dpa_argp->file);
	argp_free_cmd_contents(&dpa_argp->root);
	dpa_obj_free(dpa_argp);
	dpa_argp = NULL;
	return DOCA_SUCCESS;
}

void doca_argp_usage(void)
{
	if (dpa_argp)
		argp_print_usage(dpa_argp, dpa_argp->current);
}

void doca_argp_set_dpdk_program(doca_argp_dpdk_cb_t callback)
{
	if (dpa_argp)
		dpa_argp->dpdk = callback;
}

doca_error_t doca_argp_register_version_callback(doca_argp_param_cb_t callback)
{
	if (!callback)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_argp || dpa_argp->started)
		return DOCA_ERROR_BAD_STATE;
	dpa_argp->version = callback;
	return DOCA_SUCCESS;
}

doca_error_t doca_argp_register_dev_open_callback(doca_argp_dev_open_cb_t callback, void *usr_ctx)
{
	if (!callback)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_argp || dpa_argp->started)
		return DOCA_ERROR_BAD_STATE;
	dpa_argp->dev_open = callback;
	dpa_argp->dev_open_ctx = usr_ctx;
	return DOCA_SUCCESS;
}

doca_error_t doca_argp_disable_pedantic_config_parsing(void)
{
	if (!dpa_argp || dpa_argp->started)
		return DOCA_ERROR_BAD_STATE;
	dpa_argp->lenient = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_argp_register_validation_callback(doca_argp_validation_cb_t callback)
{
	struct argp_validation *v, **end;

	if (!callback)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_argp || dpa_argp->started)
		return DOCA_ERROR_BAD_STATE;
	v = calloc(1, sizeof(*v));
	if (!v)
		return DOCA_ERROR_NO_MEMORY;
	v->callback = callback;
	for (end = &dpa_argp->validations; *end; end = &(*end)->next)
		;
	*end = v;
	return DOCA_SUCCESS;
}

doca_error_t doca_argp_register_logger_callback(doca_argp_logger_cb_t callback)
{
	if (!callback)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_argp)
		return DOCA_ERROR_BAD_STATE;
	if (dpa_argp->logger || dpa_argp->quiet)
		return DOCA_ERROR_ALREADY_EXIST;
	dpa_argp->logger = callback;
	return DOCA_SUCCESS;
}

doca_error_t doca_argp_disable_logger_callback(void)
{
	if (!dpa_argp)
		return DOCA_ERROR_BAD_STATE;
	dpa_argp->logger = NULL;
	dpa_argp->quiet = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_argp_get_log_level(int *log_level)
{
	if (!log_level || !dpa_argp)
		return DOCA_ERROR_INVALID_VALUE;
	*log_level = dpa_argp->log_level;
	return DOCA_SUCCESS;
}

doca_error_t doca_argp_get_sdk_log_level(int *log_level)
{
	if (!log_level || !dpa_argp)
		return DOCA_ERROR_INVALID_VALUE;
	*log_level = dpa_argp->sdk_log_level;
	return DOCA_SUCCESS;
}
