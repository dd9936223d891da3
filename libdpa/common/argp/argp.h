/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * argp.h - internals of the parser.
 *
 * Parsing builds a list of the given values and calls nothing. Then the list is checked as a whole.
 * Then the callbacks are called in order.
 */
#ifndef DPA_COMMON_ARGP_H
#define DPA_COMMON_ARGP_H

#ifndef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_ALLOW_EXPERIMENTAL_API
#endif
#include <stdbool.h>
#include <stddef.h>
#include <doca_argp.h>
#include "../object/object.h"

struct json_object;

/* The types of all versions: doca_argp_param_set_type() of each maps its numbers to these. */
enum argp_type {
	ARGP_UNKNOWN,
	ARGP_STRING,
	ARGP_INT,
	ARGP_BOOLEAN,
	ARGP_JSON_OBJ,
	ARGP_DEVICE,
	ARGP_DEVICE_REP,
	ARGP_DOUBLE,
};

struct doca_argp_param {
	struct doca_argp_param *next; /* of its command */
	char *short_name, *long_name, *arguments, *description;
	doca_argp_param_cb_t callback;
	enum argp_type type;
	bool mandatory, cli_only, multiplicity, singular, inherited, hidden;
	bool general; /* one of the flags that every program has */
	bool registered;
	unsigned int given;
};

struct doca_argp_cmd {
	struct doca_argp_cmd *next, *parent;
	struct doca_argp_cmd *cmds; /* commands registered in it, in order */
	struct doca_argp_param *params;
	char *name, *description;
	doca_argp_cmd_cb_t callback;
	bool hidden, registered;
};

/* A given value, or a command. */
struct argp_given {
	struct argp_given *next;
	struct doca_argp_param *param; /* this, or */
	struct doca_argp_cmd *cmd;
	char *text;		   /* owned. For a device: its address */
	const char *rep, *devargs; /* text behind it, in the same memory; NULL: none */
	int num;
	double real;
	bool flag;
	struct json_object *json; /* owned */
};

struct argp_list {
	struct argp_given *first, **end;
};

struct argp_validation {
	struct argp_validation *next;
	doca_argp_validation_cb_t callback;
};

enum { ARGP_HELP, ARGP_VERSION, ARGP_LOG, ARGP_SDK_LOG, ARGP_JSON, ARGP_GENERAL };

struct argp {
	struct doca_argp_cmd root; /* the program */
	void *config;
	bool started, quiet;
	bool lenient;			  /* unknown members of a JSON file are ignored */
	doca_argp_dev_open_cb_t dev_open; /* NULL: doca_dev_open() */
	void *dev_open_ctx;
	doca_argp_dpdk_cb_t dpdk;
	doca_argp_logger_cb_t logger;
	doca_argp_param_cb_t version;
	struct argp_validation *validations;
	struct doca_argp_param *general[ARGP_GENERAL];
	struct argp_list cli, file;    /* given values, kept until the end: programs keep devargs */
	struct doca_argp_cmd *current; /* the last command given, or root */
	int log_level, sdk_log_level;
};

extern struct argp *dpa_argp; /* NULL: not initialised */

/* Send a message to the logger of the parser. */
void argp_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void argp_print_usage(const struct argp *a, const struct doca_argp_cmd *cmd);

/* param.c */
void argp_free_cmd_contents(struct doca_argp_cmd *cmd);
doca_error_t argp_add_param(struct doca_argp_cmd *cmd, struct doca_argp_param *param);

/* parse.c: the command line, from argv[1] on */
doca_error_t argp_parse(struct argp *a, int argc, char **argv, struct argp_list *list);
/* Return the parameter with a name of `len` characters in a command; NULL: none. */
struct doca_argp_param *argp_find(const struct doca_argp_cmd *cmd, const char *name, size_t len);
/* Append a new element to the list; NULL: no memory. */
struct argp_given *argp_append(struct argp_list *list, struct doca_argp_param *param);
void argp_free_list(struct argp_list *list);
/* Convert the text of an element to its value. INVALID_VALUE. */
doca_error_t argp_convert(struct argp_given *g, const char *text);

/* device.c */
/* Split the value of a device into its parts. INVALID_VALUE, NO_MEMORY. */
doca_error_t argp_split_device(struct argp_given *g, const char *text);
/* Open the given device and call the parameter's callback with it. */
doca_error_t argp_call_device(const struct argp *a, const struct argp_given *g);

/* json.c: the flags of a file that were not given on the command line */
doca_error_t argp_load_json(struct argp *a, const char *path, struct argp_list *list);

#endif
