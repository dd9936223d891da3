/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* start.c - doca_argp_start(): parse, check, call. */
#include <stdlib.h>
#include <string.h>
#include "argp.h"
#include <doca_version.h>

static const char *param_name(const struct doca_argp_param *p)
{
	return p->long_name ? p->long_name : p->short_name;
}

static _Noreturn void show_version(struct argp *a)
{
	bool given = true;

	if (a->version) {
		a->version(&given, a->config);
	} else {
		printf("%s: DOCA %s, library %s\n", a->root.name, doca_version(),
		       doca_version_runtime());
		fflush(stdout);
	}
	exit(EXIT_SUCCESS);
}

/* Handle the flags after which the program ends. */
static void show_and_exit(struct argp *a)
{
	if (a->general[ARGP_HELP]->given) {
		argp_print_usage(a, a->current);
		exit(EXIT_SUCCESS);
	}
	if (a->general[ARGP_VERSION]->given)
		show_version(a);
}

static doca_error_t check_twice(const struct argp_list *list)
{
	for (const struct argp_given *g = list->first; g; g = g->next) {
		if (g->param && g->param->given > 1 && !g->param->multiplicity) {
			argp_say("%s is given twice", param_name(g->param));
			return DOCA_ERROR_INVALID_VALUE;
		}
	}
	return DOCA_SUCCESS;
}

/* `*alone`: a singular parameter is given, and nothing else. */
static doca_error_t check_singular(const struct argp_list *list, bool *alone)
{
	const struct argp_given *single = NULL;

	for (const struct argp_given *g = list->first; g; g = g->next)
		if (g->param && g->param->singular)
			single = g;
	*alone = single != NULL;
	for (const struct argp_given *g = list->first; g && single; g = g->next) {
		if (g->param != single->param && g->param && !g->param->general) {
			argp_say("%s can only be given alone", param_name(single->param));
			return DOCA_ERROR_INVALID_VALUE;
		}
	}
	return DOCA_SUCCESS;
}

/* Check the mandatory parameters of the program and of each command on the path to the last one. */
static doca_error_t check_mandatory(const struct argp *a)
{
	for (const struct doca_argp_cmd *c = a->current; c; c = c->parent) {
		for (const struct doca_argp_param *p = c->params; p; p = p->next) {
			if (p->mandatory && !p->given) {
				argp_say("%s is missing", param_name(p));
				return DOCA_ERROR_INVALID_VALUE;
			}
		}
	}
	return DOCA_SUCCESS;
}

static doca_error_t check_given(const struct argp *a, const struct argp_list *cli)
{
	bool alone = false;
	doca_error_t ret = check_twice(cli);

	if (!ret)
		ret = check_singular(cli, &alone);
	if (!ret && !alone)
		ret = check_mandatory(a);
	return ret;
}

static void *given_value(struct argp_given *g)
{
	switch (g->param->type) {
	case ARGP_STRING:
		return g->text;
	case ARGP_INT:
		return &g->num;
	case ARGP_BOOLEAN:
		return &g->flag;
	case ARGP_DOUBLE:
		return &g->real;
	default:
		return g->json;
	}
}

static doca_error_t call_param(const struct argp *a, struct argp_given *g)
{
	if (g->param->type == ARGP_DEVICE || g->param->type == ARGP_DEVICE_REP)
		return argp_call_device(a, g);
	return g->param->callback(given_value(g), a->config);
}

/* Call general flags first: the log level applies to the messages of the other callbacks. */
static doca_error_t call_params(struct argp *a, const struct argp_list *list, bool general)
{
	doca_error_t ret = DOCA_SUCCESS;

	for (struct argp_given *g = list->first; g && !ret; g = g->next) {
		if (g->param && g->param->general == general)
			ret = call_param(a, g);
		else if (g->cmd && !general)
			ret = g->cmd->callback(a->config);
	}
	return ret;
}

static doca_error_t call_all(struct argp *a, const struct argp_list *cli,
			     const struct argp_list *file)
{
	doca_error_t ret = call_params(a, file, true);

	if (!ret)
		ret = call_params(a, cli, true);
	if (!ret)
		ret = call_params(a, file, false);
	if (!ret)
		ret = call_params(a, cli, false);
	for (struct argp_validation *v = a->validations; v && !ret; v = v->next)
		ret = v->callback(a->config);
	return ret;
}

static doca_error_t run_params(struct argp *a, int argc, char **argv, struct argp_list *cli,
			       struct argp_list *file)
{
	doca_error_t ret = argp_parse(a, argc, argv, cli);

	show_and_exit(a);
	if (ret)
		return ret;
	ret = check_twice(cli);
	for (struct argp_given *g = cli->first; g && !ret; g = g->next)
		if (g->param == a->general[ARGP_JSON])
			ret = argp_load_json(a, g->text, file);
	if (!ret)
		ret = check_given(a, cli);
	return ret ? ret : call_all(a, cli, file);
}

/*
 * Split the command line of a DPDK program. DPDK gets all in front of "--", or all if there is no
 * "--"; the program gets the rest. In other programs "--" has no meaning.
 */
static doca_error_t split_dpdk(struct argp *a, int *argc, char ***argv)
{
	char **all = *argv;
	int n = 1;

	while (n < *argc && strcmp((*argv)[n], "--"))
		n++;
	if (!a->dpdk) {
		if (n == *argc)
			return DOCA_SUCCESS;
		argp_say("the program takes no DPDK flags");
		return DOCA_ERROR_INITIALIZATION;
	}
	if (n < *argc) {
		*argv += n; /* "--" takes the place of the program's name */
		*argc -= n;
	} else {
		*argc = 1;
	}
	return a->dpdk(n, all);
}

doca_error_t doca_argp_start(int argc, char **argv)
{
	doca_error_t ret;

	if (!dpa_argp || dpa_argp->started)
		return DOCA_ERROR_BAD_STATE;
	if (argc < 1 || !argv)
		return DOCA_ERROR_INVALID_VALUE;
	dpa_argp->started = true;
	ret = split_dpdk(dpa_argp, &argc, &argv);
	if (!ret)
		ret = run_params(dpa_argp, argc, argv, &dpa_argp->cli, &dpa_argp->file);
	return ret;
}
