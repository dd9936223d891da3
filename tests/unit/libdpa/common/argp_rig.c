/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#define DPA_DOCA_API 210 /* parameter types by their numbers in 2.10 */
#include "argp_rig.h"

doca_error_t keep(void *config, const char *text)
{
	struct config *c = config;

	strncat(c->calls, text, sizeof(c->calls) - strlen(c->calls) - 1);
	return DOCA_SUCCESS;
}

static doca_error_t on_string(void *param, void *config)
{
	char text[100];

	snprintf(text, sizeof(text), "s:%s ", (char *)param);
	return keep(config, text);
}

doca_error_t on_int(void *param, void *config)
{
	char text[100];

	snprintf(text, sizeof(text), "i:%d ", *(int *)param);
	return keep(config, text);
}

doca_error_t on_bool(void *param, void *config)
{
	return keep(config, *(bool *)param ? "true " : "false ");
}

static doca_error_t on_json(void *param, void *config)
{
	return keep(config, json_object_to_json_string_ext(param, JSON_C_TO_STRING_PLAIN));
}

doca_error_t on_refused(void *param, void *config)
{
	return DOCA_ERROR_FULL;
}

doca_error_t on_cmd(void *config)
{
	return keep(config, "cmd ");
}

struct doca_argp_param *make(const char *short_name, const char *long_name,
			     enum doca_argp_type type)
{
	static const doca_argp_param_cb_t cbs[] = {NULL, on_string, on_int, on_bool, on_json};
	struct doca_argp_param *p;

	OK(doca_argp_param_create(&p));
	doca_argp_param_set_short_name(p, short_name);
	doca_argp_param_set_long_name(p, long_name);
	doca_argp_param_set_arguments(p, "<value>");
	doca_argp_param_set_description(p, "What it is");
	doca_argp_param_set_callback(p, cbs[type]);
	doca_argp_param_set_type(p, type);
	return p;
}

void add(const char *short_name, const char *long_name, enum doca_argp_type type)
{
	OK(doca_argp_register_param(make(short_name, long_name, type)));
}

struct config conf;

void begin(void)
{
	memset(&conf, 0, sizeof(conf));
	OK(doca_argp_init("prog", &conf));
	OK(doca_argp_disable_logger_callback());
}

/*
 * doca_argp_start() with the words of a line.
 * DOCA: doca_argp_start BAD_STATE INITIALIZATION IO_FAILED INVALID_VALUE NOT_SUPPORTED
 */
doca_error_t start(const char *line)
{
	static char copy[400];
	char *argv[30] = {(char *)"prog"};
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	return doca_argp_start(argc, argv);
}

/* Parse one line with a parser that has the usual parameters. */
doca_error_t parse(const char *line)
{
	doca_error_t ret;

	begin();
	add("p", "pci-addr", DOCA_ARGP_TYPE_STRING);
	add("pf_dev", "pf-device", DOCA_ARGP_TYPE_STRING);
	add("n", "number", DOCA_ARGP_TYPE_INT);
	add("f", "flag", DOCA_ARGP_TYPE_BOOLEAN);
	add(NULL, "only-long", DOCA_ARGP_TYPE_STRING);
	ret = start(line);
	OK(doca_argp_destroy());
	return ret;
}

int output_of(void (*f)(void), char *text, size_t size)
{
	size_t n = 0;
	ssize_t k;
	int p[2], status;
	pid_t pid;

	cr_assert_eq(pipe(p), 0);
	pid = fork();
	if (!pid) {
		dup2(p[1], 1);
		dup2(p[1], 2);
		f();
		fflush(stdout);
		_exit(99);
	}
	close(p[1]);
	while ((k = read(p[0], text + n, size - 1 - n)) > 0)
		n += (size_t)k;
	text[n] = 0;
	close(p[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}
