/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_argp.h - command line flags of a program.
 *
 * Order: init; for each parameter create, set_*, register; start; destroy. The flags that every
 * program has are parsed here: -h, -v, -l, --sdk-log-level, -j. One parser per process; not
 * thread-safe.
 *
 * A flag is -short or --long, its value the next argument or what follows '='; a short name may
 * have several characters. A parameter of type BOOLEAN takes no value: its callback gets true.
 *
 * A device is given as pci/ADDRESS, a representor as pci/ADDRESS,pf0sfN: the PCI address of the
 * device (the domain 0000 may be left out), and the number of the SF. Text behind a further comma
 * is for the program.
 *
 * -j FILE reads flags from a JSON file, which may have comments: an object with
 * "doca_general_flags" ("log-level", "sdk-log-level") and "doca_program_flags", whose members are
 * named as the long names, or the short ones of parameters without. A flag on the command line
 * replaces the same one of the file.
 */
#ifndef DOCA_ARGP_H_
#define DOCA_ARGP_H_

#include <stdarg.h>
#include <stdbool.h>

#include <doca_compat.h>
#include <doca_dev.h>
#include <doca_error.h>
#include <doca_log.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_argp_cmd;
struct doca_argp_param;

/* Type of a value: a callback's first argument points to it. */
enum doca_argp_type {
	DOCA_ARGP_TYPE_UNKNOWN = 0,
	DOCA_ARGP_TYPE_STRING,	/* char * */
	DOCA_ARGP_TYPE_INT,	/* int *; decimal, or hexadecimal with 0x */
	DOCA_ARGP_TYPE_BOOLEAN, /* bool * */
#if DPA_DOCA_API >= 303
	DOCA_ARGP_TYPE_DEVICE,	   /* struct doca_argp_device_ctx * */
	DOCA_ARGP_TYPE_DEVICE_REP, /* struct doca_argp_device_rep_ctx * */
	DOCA_ARGP_TYPE_DOUBLE,	   /* double * */
#else
	DOCA_ARGP_TYPE_JSON_OBJ, /* struct json_object *, of json-c */
#endif
};

/* A device that was given, open: the program closes it, whatever its callback returns. */
struct doca_argp_device_ctx {
	struct doca_dev *dev;
	const char
		*devargs; /* the arguments behind it; NULL: none. Valid until doca_argp_destroy() */
};

/* A representor that was given, and its device, both open: the program closes them. */
struct doca_argp_device_rep_ctx {
	struct doca_argp_device_ctx dev_ctx;
	struct doca_dev_rep *dev_rep;
};

/* Takes a value, which is valid during the call; an error ends doca_argp_start(), which returns it.
 */
typedef doca_error_t (*doca_argp_param_cb_t)(void *param, void *config);
/* The command was given. */
typedef doca_error_t (*doca_argp_cmd_cb_t)(void *config);
/* Takes the arguments in front of "--", the program's name first. */
typedef doca_error_t (*doca_argp_dpdk_cb_t)(int argc, char **argv);
/* All values have been taken: whether they go together. */
typedef doca_error_t (*doca_argp_validation_cb_t)(void *config);
/* Opens a device that was given, in the place of doca_dev_open(). devinfo is valid during the call. */
typedef doca_error_t (*doca_argp_dev_open_cb_t)(struct doca_devinfo *devinfo, void *usr_ctx,
						struct doca_dev **dev);
/* Takes the parser's messages. */
typedef doca_error_t (*doca_argp_logger_cb_t)(enum doca_log_level level, const char *format,
					      va_list args);

/* ----------------------------------------------------------------- parser */

/*
 * Begins. @program_name is copied, NULL stands for the program's own; @program_config is what
 * callbacks get, and may be NULL. INVALID_VALUE: an empty name; BAD_STATE: begun already;
 * NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_init(const char *program_name, void *program_config);

/*
 * Parses, then calls the callbacks of the values and then those of validation. After -h it prints
 * the usage and ends the program by exit(0); after -v so does the version callback, or the versions
 * are printed. Errors are logged: by the logger callback, else by the program's log backends, else
 * to standard error. BAD_STATE: not begun, or called before; INVALID_VALUE: no arguments, an
 * unknown flag, a flag without its value or with a bad one, a flag twice, a mandatory one missing,
 * a device or representor that is not there, or a JSON file that does not hold flags; IO_FAILED:
 * the JSON file cannot be read; INITIALIZATION:
 * DPDK arguments, but no callback for them; NOT_SUPPORTED: a flag that is for the command line only
 * in a JSON file; NO_MEMORY; else what a callback returned.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_start(int argc, char **argv);

/* Ends: frees what was registered. BAD_STATE: not begun. */
DOCA_EXPERIMENTAL doca_error_t doca_argp_destroy(void);

/* Prints the usage to standard output. Before doca_argp_init(): nothing. */
DOCA_EXPERIMENTAL void doca_argp_usage(void);

/* The arguments in front of "--" belong to the callback. Before doca_argp_init(): nothing. */
DOCA_EXPERIMENTAL void doca_argp_set_dpdk_program(doca_argp_dpdk_cb_t callback);

/* The callback of -v. BAD_STATE: not begun, or started; INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_version_callback(doca_argp_param_cb_t callback);

/* One more check of the whole. BAD_STATE: not begun, or started; INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t
doca_argp_register_validation_callback(doca_argp_validation_cb_t callback);

/*
 * The callback that opens the devices which are given (type DEVICE and DEVICE_REP), of 3.3: it takes
 * one at a time, and what it opens is the program's. usr_ctx is handed to it. BAD_STATE: not begun,
 * or started; INVALID_VALUE: NULL for the callback.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_argp_register_dev_open_callback(doca_argp_dev_open_cb_t callback, void *usr_ctx);

/*
 * Of 3.3: a JSON file may hold flags and sections that the program does not have; they are ignored.
 * BAD_STATE: not begun, or started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_disable_pedantic_config_parsing(void);

/*
 * The callback for the parser's messages. BAD_STATE: not begun; ALREADY_EXIST: there is one, or
 * logging is disabled; INVALID_VALUE: NULL.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_logger_callback(doca_argp_logger_cb_t callback);

/* The parser reports nothing any more. BAD_STATE: not begun. */
DOCA_EXPERIMENTAL doca_error_t doca_argp_disable_logger_callback(void);

/* The level given by -l, else the global lower limit of doca_log.h. INVALID_VALUE: NULL, or not
 * begun. */
DOCA_EXPERIMENTAL doca_error_t doca_argp_get_log_level(int *log_level);

/* The level given by --sdk-log-level, else the global SDK limit. INVALID_VALUE: NULL, or not begun.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_get_sdk_log_level(int *log_level);

/* ------------------------------------------------------------- parameters */

/*
 * Creates a parameter; registering gives it to the parser.
 * INVALID_VALUE: NULL; BAD_STATE: not begun; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_param_create(struct doca_argp_param **param);

/* Destroys one that was not registered. INVALID_VALUE: NULL; BAD_STATE: not begun, or registered.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_param_destroy(struct doca_argp_param *param);

/*
 * Gives a parameter to the parser, whatever the result: on an error it is destroyed.
 * INVALID_VALUE: NULL, or a name is taken; BAD_STATE: not begun, or started; INITIALIZATION: it has
 * no name, description, callback or type.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_param(struct doca_argp_param *input_param);

/* Setters: texts are copied; NULL for a parameter does nothing. The short name is without dash. */
DOCA_EXPERIMENTAL void doca_argp_param_set_short_name(struct doca_argp_param *param,
						      const char *name);
/* Without its dashes. */
DOCA_EXPERIMENTAL void doca_argp_param_set_long_name(struct doca_argp_param *param,
						     const char *name);
/* Text of the usage for the value, e.g. "<name>". */
DOCA_EXPERIMENTAL void doca_argp_param_set_arguments(struct doca_argp_param *param,
						     const char *arguments);
/* Its description in the usage. */
DOCA_EXPERIMENTAL void doca_argp_param_set_description(struct doca_argp_param *param,
						       const char *description);
/* The callback that takes the value. */
DOCA_EXPERIMENTAL void doca_argp_param_set_callback(struct doca_argp_param *param,
						    doca_argp_param_cb_t callback);
/* The type of the value. The second one is that of 3.3, whose types have other numbers. */
DOCA_EXPERIMENTAL void doca_argp_param_set_type(struct doca_argp_param *param,
						enum doca_argp_type type);
DOCA_EXPERIMENTAL void doca_argp_param_set_type_303(struct doca_argp_param *param,
						    enum doca_argp_type type);
#if DPA_DOCA_API >= 303
#define doca_argp_param_set_type doca_argp_param_set_type_303
#endif
/* It must be given. */
DOCA_EXPERIMENTAL void doca_argp_param_set_mandatory(struct doca_argp_param *param);
/* It may not be in a JSON file. */
DOCA_EXPERIMENTAL void doca_argp_param_set_cli_only(struct doca_argp_param *param);
/* It may be given several times (an array in JSON): its callback is called for each. */
DOCA_EXPERIMENTAL void doca_argp_param_set_multiplicity(struct doca_argp_param *param);
/* It stands alone: with it nothing else may be given, and nothing is mandatory. */
DOCA_EXPERIMENTAL void doca_argp_param_set_singular(struct doca_argp_param *param);
/* It is known behind the names of commands too. */
DOCA_EXPERIMENTAL void doca_argp_param_set_inherited(struct doca_argp_param *param);
/* The usage does not show it. */
DOCA_EXPERIMENTAL void doca_argp_param_set_hidden(struct doca_argp_param *param);

/* --------------------------------------------------------------- commands */

/*
 * Creates a command: a word on the command line, behind which its own parameters and commands
 * follow. INVALID_VALUE: NULL; BAD_STATE: not begun; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_cmd_create(struct doca_argp_cmd **cmd);

/*
 * Destroys one that was not registered, with what was registered in it.
 * INVALID_VALUE: NULL; BAD_STATE: not begun, or registered.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_cmd_destroy(struct doca_argp_cmd *cmd);

/*
 * Gives a command to the parser, whatever the result.
 * INVALID_VALUE: NULL, or the name is taken; BAD_STATE: not begun, or started; INITIALIZATION: it
 * has no name, description or callback.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_cmd(struct doca_argp_cmd *input_cmd);

/* Gives a parameter to a command; as doca_argp_register_param(). */
DOCA_EXPERIMENTAL doca_error_t doca_argp_cmd_register_param(struct doca_argp_cmd *cmd,
							    struct doca_argp_param *input_param);

/* Gives a command to a command; as doca_argp_register_cmd(). */
DOCA_EXPERIMENTAL doca_error_t doca_argp_cmd_register_cmd(struct doca_argp_cmd *cmd,
							  struct doca_argp_cmd *input_cmd);

/* Setters: texts are copied; NULL for a command does nothing. */
DOCA_EXPERIMENTAL void doca_argp_cmd_set_name(struct doca_argp_cmd *cmd, const char *name);
/* Its description in the usage. */
DOCA_EXPERIMENTAL void doca_argp_cmd_set_description(struct doca_argp_cmd *cmd,
						     const char *description);
/* The callback when it is given, before those of its parameters. */
DOCA_EXPERIMENTAL void doca_argp_cmd_set_callback(struct doca_argp_cmd *cmd,
						  doca_argp_cmd_cb_t callback);
/* The usage does not show it. */
DOCA_EXPERIMENTAL void doca_argp_cmd_set_hidden(struct doca_argp_cmd *cmd);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_ARGP_H_ */
