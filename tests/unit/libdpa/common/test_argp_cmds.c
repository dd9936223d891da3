/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_argp_cmds.c - commands, files of flags, and flags that are passed on. */
#define DPA_DOCA_API 210 /* its types of values include a JSON object */
#include "argp_rig.h"

TestSuite(argp_cmds, .timeout = 60);

/* ------------------------------------------------------------------ commands */

static struct doca_argp_cmd *make_cmd(const char *name)
{
	struct doca_argp_cmd *c;

	OK(doca_argp_cmd_create(&c));
	doca_argp_cmd_set_name(c, name);
	doca_argp_cmd_set_description(c, "What it does");
	doca_argp_cmd_set_callback(c, on_cmd);
	return c;
}

static void begin_with_commands(void)
{
	struct doca_argp_cmd *a = make_cmd("add"), *one = make_cmd("one"), *h = make_cmd("hide");
	struct doca_argp_param *p = make("i", "inherited", DOCA_ARGP_TYPE_INT), *m;

	doca_argp_param_set_inherited(p);
	OK(doca_argp_register_param(p));
	add("r", "root", DOCA_ARGP_TYPE_INT);
	OK(doca_argp_register_cmd(a));
	m = make("m", "must", DOCA_ARGP_TYPE_STRING);
	doca_argp_param_set_mandatory(m);
	OK(doca_argp_cmd_register_param(a, m));
	OK(doca_argp_cmd_register_cmd(a, one));
	doca_argp_cmd_set_hidden(h);
	OK(doca_argp_register_cmd(h));
}

static doca_error_t run_cmd(const char *line)
{
	doca_error_t ret;

	begin();
	begin_with_commands();
	ret = start(line);
	OK(doca_argp_destroy());
	return ret;
}

Test(argp_cmds, commands)
{
	OK(run_cmd("-r 1"));
	OK(run_cmd("-r 1 add -m x one -i 3"));
	cr_assert_str_eq(conf.calls, "i:1 cmd s:x cmd i:3 ");
	OK(run_cmd("hide -i 3"));
	IS(run_cmd("add"), INVALID_VALUE);
	IS(run_cmd("add -m x -r 1"), INVALID_VALUE);
	IS(run_cmd("one"), INVALID_VALUE);
	IS(run_cmd("add -m x two"), INVALID_VALUE);
}

Test(argp_cmds, registering_commands)
{
	struct doca_argp_cmd *c, *below;

	begin();
	IS(doca_argp_register_cmd(NULL), INVALID_VALUE);
	IS(doca_argp_cmd_destroy(NULL), INVALID_VALUE);
	OK(doca_argp_cmd_create(&c));
	IS(doca_argp_register_cmd(c), INITIALIZATION);
	c = make_cmd("a");
	OK(doca_argp_cmd_register_param(c, make("p", NULL, DOCA_ARGP_TYPE_INT)));
	IS(doca_argp_cmd_register_param(c, make("p", NULL, DOCA_ARGP_TYPE_INT)), INVALID_VALUE);
	IS(doca_argp_cmd_register_param(c, make(NULL, NULL, DOCA_ARGP_TYPE_INT)), INITIALIZATION);
	IS(doca_argp_cmd_register_param(c, NULL), INVALID_VALUE);
	IS(doca_argp_cmd_register_param(NULL, make("q", NULL, DOCA_ARGP_TYPE_INT)), INVALID_VALUE);
	IS(doca_argp_cmd_register_cmd(c, NULL), INVALID_VALUE);
	IS(doca_argp_cmd_register_cmd(c, make_cmd(NULL)), INITIALIZATION);
	IS(doca_argp_cmd_register_cmd(c, c), INVALID_VALUE);
	below = make_cmd("below");
	OK(doca_argp_cmd_register_cmd(c, below));
	IS(doca_argp_cmd_register_cmd(below, c), INVALID_VALUE); /* no circle */
	IS(doca_argp_cmd_register_cmd(NULL, make_cmd("x")), INVALID_VALUE);
	OK(doca_argp_register_cmd(c));
	IS(doca_argp_cmd_destroy(c), BAD_STATE);
	IS(doca_argp_register_cmd(make_cmd("a")), INVALID_VALUE);
	OK(doca_argp_cmd_destroy(make_cmd("never")));
	doca_argp_cmd_set_name(NULL, "x");
	doca_argp_cmd_set_description(NULL, "x");
	doca_argp_cmd_set_callback(NULL, on_cmd);
	doca_argp_cmd_set_hidden(NULL);
	OK(start(""));
	IS(doca_argp_cmd_register_param(c, make("z", NULL, DOCA_ARGP_TYPE_INT)), BAD_STATE);
	IS(doca_argp_cmd_register_cmd(c, make_cmd("z")), BAD_STATE);
	OK(doca_argp_destroy());
}

static void help_of_a_command(void)
{
	begin();
	begin_with_commands();
	start("add -h");
}

static void usage_of_the_program(void)
{
	begin();
	begin_with_commands();
	doca_argp_usage();
}

Test(argp_cmds, usage_with_commands)
{
	char text[4000];

	cr_assert_eq(output_of(help_of_a_command, text, sizeof(text)), 0);
	cr_assert_eq(strncmp(text, "Usage: prog add [DOCA", 21), 0);
	cr_assert(strstr(text, "--must") && strstr(text, "--inherited") && !strstr(text, "--root"));
	cr_assert(strstr(text, "\nCommands:\n  one "));
	cr_assert_eq(output_of(usage_of_the_program, text, sizeof(text)), 99);
	cr_assert(strstr(text, "  add ") && !strstr(text, "hide"));
}

/* ---------------------------------------------------------------------- JSON */

static doca_error_t parse_file(const char *json, const char *more)
{
	char path[] = "/tmp/test_argp_XXXXXX", line[200];
	struct doca_argp_param *p;
	doca_error_t ret;
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, json, strlen(json)), (ssize_t)strlen(json));
	close(fd);
	begin();
	add("p", "pci-addr", DOCA_ARGP_TYPE_STRING);
	add("n", "number", DOCA_ARGP_TYPE_INT);
	add("f", "flag", DOCA_ARGP_TYPE_BOOLEAN);
	add("pf_dev", NULL, DOCA_ARGP_TYPE_STRING);
	add("o", "object", DOCA_ARGP_TYPE_JSON_OBJ);
	p = make("c", "cli", DOCA_ARGP_TYPE_INT);
	doca_argp_param_set_cli_only(p);
	OK(doca_argp_register_param(p));
	p = make("m", "many", DOCA_ARGP_TYPE_INT);
	doca_argp_param_set_multiplicity(p);
	OK(doca_argp_register_param(p));
	snprintf(line, sizeof(line), "--json %s %s", path, more);
	ret = start(line);
	OK(doca_argp_destroy());
	unlink(path);
	return ret;
}

Test(argp_cmds, json)
{
	OK(parse_file("/* a comment */ { // and one\n"
		      "\"doca_general_flags\": { \"log-level\": 40, \"sdk-log-level\": 20 },\n"
		      "\"doca_program_flags\": { \"pci-addr\": \"03:00.0\", \"number\": 5,\n"
		      "/* -f */ \"flag\": true, \"pf_dev\": \"dpa0\", \"many\": [1, 2],\n"
		      "\"object\": {\"a\": 1} } }\n",
		      ""));
	cr_assert_str_eq(conf.calls, "s:03:00.0 i:5 true s:dpa0 i:1 i:2 {\"a\":1}");
	cr_assert_eq(doca_log_level_get_global_lower_limit(), 40u);
	cr_assert_eq(doca_log_level_get_global_sdk_limit(), 20u);
}

Test(argp_cmds, json_and_the_command_line)
{
	OK(parse_file("{\"doca_program_flags\": {\"number\": 5, \"flag\": false}}", "-n 6 -p x"));
	cr_assert_str_eq(conf.calls, "false i:6 s:x ");
	OK(parse_file("{\"doca_program_flags\": {\"many\": 7}}", "-c 1"));
	cr_assert_str_eq(conf.calls, "i:7 i:1 ");
	OK(parse_file("{}", "-o [1,2]"));
	cr_assert_str_eq(conf.calls, "[1,2]");
	IS(parse_file("{}", "-o {"), INVALID_VALUE);
}

Test(argp_cmds, json_refused)
{
	static const char *const files[] = {
		"",
		"[]",
		"{",
		"{\"other\": {}}",
		"{\"doca_program_flags\": 1}",
		"{\"doca_program_flags\": {\"unknown\": 1}}",
		"{\"doca_program_flags\": {\"log-level\": 40}}",
		"{\"doca_general_flags\": {\"number\": 1}}",
		"{\"doca_program_flags\": {\"number\": \"5\"}}",
		"{\"doca_program_flags\": {\"number\": 2147483648}}",
		"{\"doca_program_flags\": {\"number\": [1]}}",
		"{\"doca_program_flags\": {\"flag\": 1}}",
		"{\"doca_program_flags\": {\"pci-addr\": 1}}",
		"{\"doca_program_flags\": {\"pci-addr\": null}}",
		"{\"doca_program_flags\": {\"object\": null}}",
		"{\"doca_program_flags\": {\"many\": [1, \"x\"]}}",
		"{\"doca_general_flags\": {\"log-level\": 41}}",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		cr_assert_eq(parse_file(files[i], ""), DOCA_ERROR_INVALID_VALUE, "%s", files[i]);
		cr_assert_str_eq(conf.calls, "", "%s", files[i]);
	}
	IS(parse_file("{\"doca_program_flags\": {\"cli\": 1}}", ""), NOT_SUPPORTED);
	IS(parse_file("{\"doca_general_flags\": {\"json\": \"x\"}}", ""), NOT_SUPPORTED);
	IS(parse("-j /does/not/exist"), IO_FAILED);
	IS(parse("-j /"), IO_FAILED);
}

/* ---------------------------------------------------------------------- DPDK */

static doca_error_t on_dpdk(int argc, char **argv)
{
	cr_assert_eq(argc, 3);
	cr_assert(!strcmp(argv[0], "prog") && !strcmp(argv[1], "-a") && !strcmp(argv[2], "x"));
	return keep(&conf, "dpdk ");
}

static doca_error_t on_dpdk_fail(int argc, char **argv)
{
	return DOCA_ERROR_DRIVER;
}

Test(argp_cmds, dpdk)
{
	begin();
	doca_argp_set_dpdk_program(on_dpdk);
	add("n", NULL, DOCA_ARGP_TYPE_INT);
	OK(start("-a x -- -n 4"));
	cr_assert_str_eq(conf.calls, "dpdk i:4 ");
	OK(doca_argp_destroy());
	begin();
	doca_argp_set_dpdk_program(on_dpdk);
	OK(start("-a x"));
	OK(doca_argp_destroy());
	begin();
	doca_argp_set_dpdk_program(on_dpdk_fail);
	IS(start(""), DRIVER);
	OK(doca_argp_destroy());
}
