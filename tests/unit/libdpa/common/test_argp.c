/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_argp.c - command line flags. */
#include "argp_rig.h"

TestSuite(argp, .timeout = 60);

Test(argp, life)
{
	struct doca_argp_param *p;
	struct doca_argp_cmd *c;
	int level;

	IS(doca_argp_destroy(), BAD_STATE);
	IS(start(""), BAD_STATE);
	IS(doca_argp_init("", NULL), INVALID_VALUE);
	IS(doca_argp_param_create(&p), BAD_STATE);
	IS(doca_argp_cmd_create(&c), BAD_STATE);
	IS(doca_argp_register_version_callback(on_bool), BAD_STATE);
	IS(doca_argp_register_validation_callback(on_cmd), BAD_STATE);
	IS(doca_argp_disable_logger_callback(), BAD_STATE);
	IS(doca_argp_get_log_level(&level), INVALID_VALUE);
	IS(doca_argp_get_sdk_log_level(&level), INVALID_VALUE);
	doca_argp_usage();
	doca_argp_set_dpdk_program(NULL);
	OK(doca_argp_init("prog", NULL));
	IS(doca_argp_init("prog", NULL), BAD_STATE);
	IS(doca_argp_register_version_callback(NULL), INVALID_VALUE);
	IS(doca_argp_register_validation_callback(NULL), INVALID_VALUE);
	IS(doca_argp_param_create(NULL), INVALID_VALUE);
	IS(doca_argp_cmd_create(NULL), INVALID_VALUE);
	OK(doca_argp_param_create(&p));
	IS(doca_argp_param_destroy(NULL), INVALID_VALUE);
	OK(doca_argp_param_destroy(p));
	IS(doca_argp_start(0, NULL), INVALID_VALUE);
	OK(start(""));
	IS(start(""), BAD_STATE);
	p = make("x", NULL, DOCA_ARGP_TYPE_INT);
	IS(doca_argp_register_param(p), BAD_STATE);
	IS(doca_argp_register_version_callback(on_bool), BAD_STATE);
	IS(doca_argp_register_validation_callback(on_cmd), BAD_STATE);
	OK(doca_argp_cmd_create(&c));
	IS(doca_argp_register_cmd(c), BAD_STATE);
	OK(doca_argp_destroy());
}

static char said[200];
static doca_error_t on_say(enum doca_log_level level, const char *format, va_list args)
{
	cr_assert_eq(level, DOCA_LOG_LEVEL_ERROR);
	vsnprintf(said, sizeof(said), format, args);
	return DOCA_SUCCESS;
}

Test(argp, calls_after_the_end)
{
	struct doca_argp_param *p;
	struct doca_argp_cmd *c;

	begin();
	p = make("x", NULL, DOCA_ARGP_TYPE_INT);
	OK(doca_argp_cmd_create(&c));
	OK(doca_argp_destroy());
	IS(doca_argp_param_destroy(p), BAD_STATE);
	IS(doca_argp_cmd_destroy(c), BAD_STATE);
	IS(doca_argp_register_param(p), BAD_STATE);
	IS(doca_argp_register_cmd(c), BAD_STATE);
	IS(doca_argp_register_logger_callback(on_say), BAD_STATE);
}

/* One setter for each required setting, and the error without it. */
Test(argp, registering)
{
	struct doca_argp_param *p;

	begin();
	IS(doca_argp_register_param(NULL), INVALID_VALUE);
	p = make(NULL, NULL, DOCA_ARGP_TYPE_INT);
	IS(doca_argp_register_param(p), INITIALIZATION);
	p = make("a", NULL, DOCA_ARGP_TYPE_INT);
	doca_argp_param_set_description(p, NULL);
	IS(doca_argp_register_param(p), INITIALIZATION);
	p = make("a", NULL, DOCA_ARGP_TYPE_INT);
	doca_argp_param_set_callback(p, NULL);
	IS(doca_argp_register_param(p), INITIALIZATION);
	p = make("a", NULL, DOCA_ARGP_TYPE_INT);
	doca_argp_param_set_type(p, DOCA_ARGP_TYPE_UNKNOWN);
	IS(doca_argp_register_param(p), INITIALIZATION);
	p = make("a", "all", DOCA_ARGP_TYPE_INT);
	OK(doca_argp_register_param(p));
	IS(doca_argp_param_destroy(p), BAD_STATE);
	IS(doca_argp_register_param(p), INVALID_VALUE);
	IS(doca_argp_register_param(make("b", "all", DOCA_ARGP_TYPE_INT)), INVALID_VALUE);
	IS(doca_argp_register_param(make("h", NULL, DOCA_ARGP_TYPE_INT)), INVALID_VALUE);
	doca_argp_param_set_short_name(NULL, "x");
	doca_argp_param_set_long_name(NULL, "x");
	doca_argp_param_set_arguments(NULL, "x");
	doca_argp_param_set_description(NULL, "x");
	doca_argp_param_set_callback(NULL, on_int);
	doca_argp_param_set_type(NULL, DOCA_ARGP_TYPE_INT);
	doca_argp_param_set_mandatory(NULL);
	doca_argp_param_set_cli_only(NULL);
	doca_argp_param_set_multiplicity(NULL);
	doca_argp_param_set_singular(NULL);
	doca_argp_param_set_inherited(NULL);
	doca_argp_param_set_hidden(NULL);
	OK(doca_argp_destroy());
}

Test(argp, values)
{
	OK(parse(""));
	cr_assert_str_eq(conf.calls, "");
	OK(parse("-p 03:00.0 -f -n 5"));
	cr_assert_str_eq(conf.calls, "s:03:00.0 true i:5 ");
	OK(parse("--pci-addr=x --number=-7 --flag --only-long y"));
	cr_assert_str_eq(conf.calls, "s:x i:-7 true s:y ");
	OK(parse("-pf_dev mlx5_0"));
	cr_assert_str_eq(conf.calls, "s:mlx5_0 ");
	OK(parse("--pf_dev=mlx5_0 -n12"));
	cr_assert_str_eq(conf.calls, "s:mlx5_0 i:12 ");
	OK(parse("-n 0x7fffffff"));
	cr_assert_str_eq(conf.calls, "i:2147483647 ");
	OK(parse("-p -x"));
	cr_assert_str_eq(conf.calls, "s:-x ");
}

Test(argp, refused)
{
	static const char *const lines[] = {
		"-x",
		"--unknown",
		"-p",
		"-n",
		"-n x",
		"-n 5x",
		"-n 0x",
		"-n=",
		"-n 2147483648",
		"-n -2147483649",
		"-f=yes",
		"word",
		"-p a -p b",
		"-",
		"--only-lon y",
		"-l 55",
		"-l -50",
		"-l x",
		"--sdk-log-level 5",
		"--pci-addr",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		cr_assert_eq(parse(lines[i]), DOCA_ERROR_INVALID_VALUE, "%s", lines[i]);
		cr_assert_str_eq(conf.calls, "", "%s: nothing is called", lines[i]);
	}
	IS(parse("--"), INITIALIZATION);
}

Test(argp, an_error_of_a_callback)
{
	struct doca_argp_param *p;

	begin();
	p = make("x", NULL, DOCA_ARGP_TYPE_INT);
	doca_argp_param_set_callback(p, on_refused);
	OK(doca_argp_register_param(p));
	add("y", NULL, DOCA_ARGP_TYPE_INT);
	IS(start("-x 1 -y 2"), FULL);
	cr_assert_str_eq(conf.calls, "");
	OK(doca_argp_destroy());
}

Test(argp, mandatory)
{
	struct doca_argp_param *p, *alone;

	for (int i = 0; i < 4; i++) {
		begin();
		p = make("m", "must", DOCA_ARGP_TYPE_INT);
		doca_argp_param_set_mandatory(p);
		OK(doca_argp_register_param(p));
		alone = make("s", "single", DOCA_ARGP_TYPE_BOOLEAN);
		doca_argp_param_set_singular(alone);
		OK(doca_argp_register_param(alone));
		switch (i) {
		case 0:
			IS(start(""), INVALID_VALUE);
			break;
		case 1:
			OK(start("-m 1"));
			break;
		case 2:
			OK(start("-s -l 40"));
			break;
		default:
			IS(start("-s -m 1"), INVALID_VALUE);
			break;
		}
		OK(doca_argp_destroy());
	}
}

Test(argp, multiplicity)
{
	struct doca_argp_param *p;

	begin();
	p = make("m", "many", DOCA_ARGP_TYPE_STRING);
	doca_argp_param_set_multiplicity(p);
	OK(doca_argp_register_param(p));
	OK(start("-m a -m b --many=c"));
	cr_assert_str_eq(conf.calls, "s:a s:b s:c ");
	OK(doca_argp_destroy());
}

static int checked;
static doca_error_t on_check(void *config)
{
	cr_assert_eq(config, &conf);
	cr_assert_str_eq(conf.calls, "i:1 ");
	checked++;
	return DOCA_SUCCESS;
}

static doca_error_t on_check_fail(void *config)
{
	checked++;
	return DOCA_ERROR_BAD_CONFIG;
}

Test(argp, validation)
{
	begin();
	add("x", NULL, DOCA_ARGP_TYPE_INT);
	OK(doca_argp_register_validation_callback(on_check));
	OK(doca_argp_register_validation_callback(on_check_fail));
	OK(doca_argp_register_validation_callback(on_check_fail));
	IS(start("-x 1"), BAD_CONFIG);
	cr_assert_eq(checked, 2);
	OK(doca_argp_destroy());
}

Test(argp, log_levels)
{
	int level;

	begin();
	IS(doca_argp_get_log_level(NULL), INVALID_VALUE);
	IS(doca_argp_get_sdk_log_level(NULL), INVALID_VALUE);
	OK(doca_argp_get_log_level(&level));
	cr_assert_eq(level, DOCA_LOG_LEVEL_INFO);
	OK(start("-l 60 --sdk-log-level 30"));
	OK(doca_argp_get_log_level(&level));
	cr_assert_eq(level, 60);
	OK(doca_argp_get_sdk_log_level(&level));
	cr_assert_eq(level, 30);
	cr_assert_eq(doca_log_level_get_global_lower_limit(), 60u);
	cr_assert_eq(doca_log_level_get_global_sdk_limit(), 30u);
	OK(doca_argp_destroy());
}

/* ------------------------------------------------------------------ messages */

Test(argp, messages)
{
	OK(doca_argp_init("prog", &conf));
	IS(doca_argp_register_logger_callback(NULL), INVALID_VALUE);
	OK(doca_argp_register_logger_callback(on_say));
	IS(doca_argp_register_logger_callback(on_say), ALREADY_EXIST);
	IS(start("--what"), INVALID_VALUE);
	cr_assert(strstr(said, "--what"));
	said[0] = 0;
	OK(doca_argp_disable_logger_callback());
	IS(doca_argp_register_logger_callback(on_say), ALREADY_EXIST);
	OK(doca_argp_destroy());
	begin();
	IS(start("--what"), INVALID_VALUE);
	cr_assert_str_eq(said, "");
	OK(doca_argp_destroy());
}

static void unknown_flag(void)
{
	doca_argp_init("prog", NULL);
	start("--what");
}

static void unknown_flag_with_a_backend(void)
{
	doca_log_backend_create_standard();
	unknown_flag();
}

Test(argp, messages_without_a_logger)
{
	char text[1000];

	cr_assert_eq(output_of(unknown_flag, text, sizeof(text)), 99);
	cr_assert_str_eq(text, "prog: unknown flag --what\n");
	output_of(unknown_flag_with_a_backend, text, sizeof(text));
	cr_assert(strstr(text, "[DOCA][ERR][argp.c:") && strstr(text, "unknown flag --what"));
}

static void help(void)
{
	struct doca_argp_param *p;

	begin();
	p = make("m", "must", DOCA_ARGP_TYPE_INT);
	doca_argp_param_set_mandatory(p);
	doca_argp_register_param(p);
	p = make("x", "secret", DOCA_ARGP_TYPE_INT);
	doca_argp_param_set_hidden(p);
	doca_argp_register_param(p);
	start("-h");
}

Test(argp, usage)
{
	char text[4000];

	cr_assert_eq(output_of(help, text, sizeof(text)), 0);
	cr_assert_eq(strstr(text, "Usage: prog [DOCA Flags] [Program Flags]\n\nDOCA Flags:\n"),
		     text);
	cr_assert(strstr(text, "  -h, --help "));
	cr_assert(strstr(text, "  -v, --version "));
	cr_assert(strstr(text, "  -l, --log-level "));
	cr_assert(strstr(text, "  --sdk-log-level "));
	cr_assert(strstr(text, "  -j, --json <path> "));
	cr_assert(strstr(text, "<10=DISABLE, 20=CRITICAL, 30=ERROR, 40=WARNING, 50=INFO, 60=DEBUG, "
			       "70=TRACE>"));
	cr_assert(strstr(text, "\nProgram Flags:\n  -m, --must <value> "));
	cr_assert(strstr(text, "What it is\n"));
	cr_assert(!strstr(text, "secret"));
}

/* NULL stands for the program's name. */
static void no_name(void)
{
	if (doca_argp_init(NULL, NULL) == DOCA_SUCCESS)
		doca_argp_usage();
}

Test(argp, usage_without_a_name)
{
	char text[4000], want[300];

	snprintf(want, sizeof(want), "Usage: %s [DOCA Flags]", program_invocation_short_name);
	cr_assert_eq(output_of(no_name, text, sizeof(text)), 99);
	cr_assert_eq(strncmp(text, want, strlen(want)), 0, "%.60s", text);
}

static void version(void)
{
	begin();
	start("-v");
}

static doca_error_t on_version(void *param, void *config)
{
	printf("mine %d\n", config == &conf);
	fflush(stdout);
	return DOCA_SUCCESS;
}

static void version_mine(void)
{
	begin();
	doca_argp_register_version_callback(on_version);
	start("--version");
}

Test(argp, versions)
{
	char text[1000];

	cr_assert_eq(output_of(version, text, sizeof(text)), 0);
	cr_assert(strstr(text, DOCA_VERSION_STRING));
	cr_assert_eq(output_of(version_mine, text, sizeof(text)), 0);
	cr_assert_eq(strstr(text, "mine 1\n"), text);
	cr_assert_str_eq(doca_version_runtime(), doca_version());
	cr_assert(DOCA_VERSION_EQ_CURRENT(2, 10, 87) && DOCA_VERSION_LTE_CURRENT(2, 9, 0));
	cr_assert(!DOCA_VERSION_LTE_CURRENT(3, 0, 0));
	cr_assert_eq(DOCA_VERSION_CALC_EXACT(1, 2, 3), 0x1020003u);
	cr_assert_eq(DOCA_VERSION_CALC(1, 0, 3), 0x1000bb8u);
}
