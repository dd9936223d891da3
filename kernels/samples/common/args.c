/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* args.c - the command line, by doca_argp. */
#include <stdio.h>
#include <string.h>
#include <doca_argp.h>
#include "res.h"

static doca_error_t set_text(char *to, size_t room, const char *from)
{
	return (size_t)snprintf(to, room, "%s", from) < room ? DOCA_SUCCESS
							     : DOCA_ERROR_INVALID_VALUE;
}

static doca_error_t set_pf_dev(void *param, void *config)
{
	struct args *a = config;

	return set_text(a->pf_dev, sizeof(a->pf_dev), param);
}

static doca_error_t set_rdma_dev(void *param, void *config)
{
	struct args *a = config;

	return set_text(a->rdma_dev, sizeof(a->rdma_dev), param);
}

static doca_error_t set_connect(void *param, void *config)
{
	struct args *a = config;

	return set_text(a->connect, sizeof(a->connect), param);
}

static doca_error_t set_number(int *to, const int *from, int min, int max)
{
	if (*from < min || *from > max)
		return DOCA_ERROR_INVALID_VALUE;
	*to = *from;
	return DOCA_SUCCESS;
}

static doca_error_t set_gid_index(void *param, void *config)
{
	return set_number(&((struct args *)config)->gid_index, param, 0, 255);
}

static doca_error_t set_port(void *param, void *config)
{
	return set_number(&((struct args *)config)->port, param, 0, 65535);
}

static doca_error_t set_count(void *param, void *config)
{
	return set_number(&((struct args *)config)->count, param, 1, 1000000);
}

static const struct option {
	const char *shorter, *longer, *arguments, *what;
	doca_argp_param_cb_t set;
	enum doca_argp_type type;
	int kind; /* 0: for every program */
} options[] = {
	{"pf_dev", "pf-device", "<name>", "device of the DPA context, a PF", set_pf_dev,
	 DOCA_ARGP_TYPE_STRING, 0},
	{"rdma_dev", "rdma-device", "<name>",
	 "device that the context is extended to, such as an SF", set_rdma_dev,
	 DOCA_ARGP_TYPE_STRING, 0},
	{"g", "gid-index", "<index>", "GID index", set_gid_index, DOCA_ARGP_TYPE_INT, ARGS_PEER},
	{"c", "connect", "<host>", "host of the peer, which listens", set_connect,
	 DOCA_ARGP_TYPE_STRING, ARGS_PEER},
	{"p", "port", "<port>", "TCP port of the one that listens, 0 for any", set_port,
	 DOCA_ARGP_TYPE_INT, ARGS_PEER},
	{"n", "count", "<number>", "how many times", set_count, DOCA_ARGP_TYPE_INT, ARGS_COUNT},
};

static bool add_option(const struct option *o)
{
	struct doca_argp_param *param;

	TRY(doca_argp_param_create(&param));
	doca_argp_param_set_short_name(param, o->shorter);
	doca_argp_param_set_long_name(param, o->longer);
	doca_argp_param_set_arguments(param, o->arguments);
	doca_argp_param_set_description(param, o->what);
	doca_argp_param_set_callback(param, o->set);
	doca_argp_param_set_type(param, o->type);
	TRY(doca_argp_register_param(param));
	return true;
}

static bool parse_option(int kind, int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if ((!options[i].kind || (options[i].kind & kind)) && !add_option(&options[i]))
			return false;
	TRY(doca_argp_start(argc, argv));
	return true;
}

bool args_parse(struct args *a, const char *program, int kind, int argc, char **argv)
{
	bool ok = true;

	TRY(doca_argp_init(program, a));
	ok = parse_option(kind, argc, argv);
	END(&ok, true, doca_argp_destroy());
	return ok;
}
