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

/*
 * Receives a value, which is valid during the call; an error ends doca_argp_start(), which returns
 * it.
 */
typedef doca_error_t (*doca_argp_param_cb_t)(void *param, void *config);
/* The command was given. */
typedef doca_error_t (*doca_argp_cmd_cb_t)(void *config);
/* Receives the arguments in front of "--", the program's name first. */
typedef doca_error_t (*doca_argp_dpdk_cb_t)(int argc, char **argv);
/* Checks whether the values fit each other, after all of them have been taken. */
typedef doca_error_t (*doca_argp_validation_cb_t)(void *config);
/* Opens a device that was given, in the place of doca_dev_open(). devinfo is valid during the call. */
typedef doca_error_t (*doca_argp_dev_open_cb_t)(struct doca_devinfo *devinfo, void *usr_ctx,
						struct doca_dev **dev);
/* Receives the parser's messages. */
typedef doca_error_t (*doca_argp_logger_cb_t)(enum doca_log_level level, const char *format,
					      va_list args);

/* ----------------------------------------------------------------- parser */

/*
 * Initialise the parser. @program_name is copied; NULL stands for the program's own name.
 * @program_config is passed to the callbacks and may be NULL. INVALID_VALUE: an empty name;
 * BAD_STATE: begun already; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_init(const char *program_name, void *program_config);

/*
 * Parse, then call the callbacks of the values and then those of validation. After -h it prints the
 * usage and ends the program by exit(0); after -v the version callback does the same; without one
 * the versions are printed. Errors are logged: by the logger callback, else by the program's log
 * backends, else to standard error. BAD_STATE: not begun, or called before; INVALID_VALUE: no
 * arguments, an unknown flag, a flag without its value or with a bad one, a flag twice, a mandatory
 * one missing, a device or representor that is not there, or a JSON file that does not hold flags;
 * IO_FAILED: the JSON file cannot be read; INITIALIZATION: DPDK arguments, but no callback for
 * them; NOT_SUPPORTED: a flag that is for the command line only in a JSON file; NO_MEMORY; else the
 * error that a callback returned.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_start(int argc, char **argv);

/* Destroy the parser and all that was registered. BAD_STATE: not begun. */
DOCA_EXPERIMENTAL doca_error_t doca_argp_destroy(void);

/* Print the usage to standard output. Before doca_argp_init(): nothing. */
DOCA_EXPERIMENTAL void doca_argp_usage(void);

/* Pass the arguments in front of "--" to the callback. Before doca_argp_init(): nothing. */
DOCA_EXPERIMENTAL void doca_argp_set_dpdk_program(doca_argp_dpdk_cb_t callback);

/* Set the callback of -v. BAD_STATE: not begun, or started; INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_version_callback(doca_argp_param_cb_t callback);

/* Add a check of all values together. BAD_STATE: not begun, or started; INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t
doca_argp_register_validation_callback(doca_argp_validation_cb_t callback);

/*
 * Set the callback that opens devices on the command line (types DEVICE and DEVICE_REP); of DOCA
 * 3.3. It opens one device a call, which belongs to the program. It gets usr_ctx. BAD_STATE: not
 * begun, or started; INVALID_VALUE: NULL for the callback.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_argp_register_dev_open_callback(doca_argp_dev_open_cb_t callback, void *usr_ctx);

/*
 * Ignore flags and sections of a JSON file that the program does not have; of DOCA 3.3.
 * BAD_STATE: not begun, or started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_disable_pedantic_config_parsing(void);

/*
 * Set the callback for the parser's messages. BAD_STATE: not begun; ALREADY_EXIST: there is one, or
 * logging is disabled; INVALID_VALUE: NULL.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_logger_callback(doca_argp_logger_cb_t callback);

/* Report nothing from now on. BAD_STATE: not begun. */
DOCA_EXPERIMENTAL doca_error_t doca_argp_disable_logger_callback(void);

/*
 * Get the level given by -l, else the global lower limit of doca_log.h. INVALID_VALUE: NULL, or not
 * begun.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_get_log_level(int *log_level);

/*
 * Get the level given by --sdk-log-level, else the global SDK limit. INVALID_VALUE: NULL, or not
 * begun.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_get_sdk_log_level(int *log_level);

/* ------------------------------------------------------------- parameters */

/*
 * Create a parameter. Registering it passes it to the parser.
 * INVALID_VALUE: NULL; BAD_STATE: not begun; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_param_create(struct doca_argp_param **param);

/*
 * Destroy a parameter that was not registered. INVALID_VALUE: NULL; BAD_STATE: not begun, or
 * registered.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_param_destroy(struct doca_argp_param *param);

/*
 * Pass a parameter to the parser, which owns it from now on: it destroys it on an error.
 * INVALID_VALUE: NULL, or a name is taken; BAD_STATE: not begun, or started; INITIALIZATION: it has
 * no name, description, callback or type.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_param(struct doca_argp_param *input_param);

/* Setters. Texts are copied. A NULL parameter is ignored. The short name has no dash. */
DOCA_EXPERIMENTAL void doca_argp_param_set_short_name(struct doca_argp_param *param,
						      const char *name);
/* Set the long name, without its dashes. */
DOCA_EXPERIMENTAL void doca_argp_param_set_long_name(struct doca_argp_param *param,
						     const char *name);
/* Set the text that the usage shows for the value, e.g. "<name>". */
DOCA_EXPERIMENTAL void doca_argp_param_set_arguments(struct doca_argp_param *param,
						     const char *arguments);
/* Set the description in the usage. */
DOCA_EXPERIMENTAL void doca_argp_param_set_description(struct doca_argp_param *param,
						       const char *description);
/* Set the callback that receives the value. */
DOCA_EXPERIMENTAL void doca_argp_param_set_callback(struct doca_argp_param *param,
						    doca_argp_param_cb_t callback);
/*
 * Set the type of the value. The second function takes the type of DOCA 3.3, which has other
 * numbers.
 */
DOCA_EXPERIMENTAL void doca_argp_param_set_type(struct doca_argp_param *param,
						enum doca_argp_type type);
DOCA_EXPERIMENTAL void doca_argp_param_set_type_303(struct doca_argp_param *param,
						    enum doca_argp_type type);
#if DPA_DOCA_API >= 303
#define doca_argp_param_set_type doca_argp_param_set_type_303
#endif
/* Require the parameter. */
DOCA_EXPERIMENTAL void doca_argp_param_set_mandatory(struct doca_argp_param *param);
/* Refuse the parameter in a JSON file. */
DOCA_EXPERIMENTAL void doca_argp_param_set_cli_only(struct doca_argp_param *param);
/* Allow the parameter several times (an array in JSON). The callback is called for each value. */
DOCA_EXPERIMENTAL void doca_argp_param_set_multiplicity(struct doca_argp_param *param);
/*
 * Make the parameter exclusive: nothing else may be given with it, and nothing is mandatory then.
 */
DOCA_EXPERIMENTAL void doca_argp_param_set_singular(struct doca_argp_param *param);
/* Accept the parameter behind the names of commands too. */
DOCA_EXPERIMENTAL void doca_argp_param_set_inherited(struct doca_argp_param *param);
/* Hide the parameter in the usage. */
DOCA_EXPERIMENTAL void doca_argp_param_set_hidden(struct doca_argp_param *param);

/* --------------------------------------------------------------- commands */

/*
 * Create a command: a word on the command line, behind which its own parameters and commands
 * follow. INVALID_VALUE: NULL; BAD_STATE: not begun; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_cmd_create(struct doca_argp_cmd **cmd);

/*
 * Destroy a command that was not registered, with its parameters and commands.
 * INVALID_VALUE: NULL; BAD_STATE: not begun, or registered.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_cmd_destroy(struct doca_argp_cmd *cmd);

/*
 * Pass a command to the parser, which owns it from now on, also after an error.
 * INVALID_VALUE: NULL, or the name is taken; BAD_STATE: not begun, or started; INITIALIZATION: it
 * has no name, description or callback.
 */
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_cmd(struct doca_argp_cmd *input_cmd);

/* Pass a parameter to a command, as doca_argp_register_param(). */
DOCA_EXPERIMENTAL doca_error_t doca_argp_cmd_register_param(struct doca_argp_cmd *cmd,
							    struct doca_argp_param *input_param);

/* Pass a command to a command, as doca_argp_register_cmd(). */
DOCA_EXPERIMENTAL doca_error_t doca_argp_cmd_register_cmd(struct doca_argp_cmd *cmd,
							  struct doca_argp_cmd *input_cmd);

/* Setters. Texts are copied. A NULL command is ignored. */
DOCA_EXPERIMENTAL void doca_argp_cmd_set_name(struct doca_argp_cmd *cmd, const char *name);
/* Set the description in the usage. */
DOCA_EXPERIMENTAL void doca_argp_cmd_set_description(struct doca_argp_cmd *cmd,
						     const char *description);
/* Set the callback for the command. It is called before those of the command's parameters. */
DOCA_EXPERIMENTAL void doca_argp_cmd_set_callback(struct doca_argp_cmd *cmd,
						  doca_argp_cmd_cb_t callback);
/* Hide the command in the usage. */
DOCA_EXPERIMENTAL void doca_argp_cmd_set_hidden(struct doca_argp_cmd *cmd);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_ARGP_H_ */
