/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* argp_rig.h - a parser with the usual parameters, whose callbacks record their arguments. */
#ifndef TEST_ARGP_RIG_H
#define TEST_ARGP_RIG_H

#define DOCA_ALLOW_EXPERIMENTAL_API
#include <criterion/criterion.h>
#include <errno.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <doca_argp.h>
#include <doca_version.h>

#define OK(call)       cr_assert_eq((call), DOCA_SUCCESS)
#define IS(call, code) cr_assert_eq((call), DOCA_ERROR_##code)

struct config {
	char calls[400]; /* arguments of the callbacks, in order */
};

extern struct config conf;

/* Append to the record of config; for callbacks. */
doca_error_t keep(void *config, const char *text);
doca_error_t on_int(void *param, void *config);
doca_error_t on_bool(void *param, void *config);
doca_error_t on_refused(void *param, void *config);
doca_error_t on_cmd(void *config);

/* Make a parameter with all required settings. */
struct doca_argp_param *make(const char *short_name, const char *long_name,
			     enum doca_argp_type type);
/* Make it and register it. */
void add(const char *short_name, const char *long_name, enum doca_argp_type type);
/* Make a parser without a logger, and with an empty conf. */
void begin(void);
/* Call doca_argp_start() with the words of a line. */
doca_error_t start(const char *line);
/* Parse one line with a parser that has the usual parameters. */
doca_error_t parse(const char *line);
/* Run f in a separate process: return its output, and its exit status. */
int output_of(void (*f)(void), char *text, size_t size);

#endif
