/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_config.c - the table of settings: accepted values, refused values, and whether the messages
 * help.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "knobs.h"

static char err[256];
static char dir[64], file[96];

static void setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/dpa-test-config-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/dpa.conf", dir);
}

static void teardown(void)
{
	unlink(file);
	rmdir(dir);
}

TestSuite(config, .init = setup, .fini = teardown);

static void write_conf(const char *text)
{
	FILE *f = fopen(file, "w");

	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
}

static int from_env(struct dpa_config *cfg, const char *var)
{
	char *env[] = {(char *)"PATH=/bin", (char *)var, NULL};

	dpa_config_defaults(cfg);
	return dpa_config_env(cfg, env, err, sizeof(err));
}

static int from_file(struct dpa_config *cfg, const char *text)
{
	write_conf(text);
	dpa_config_defaults(cfg);
	return dpa_config_file(cfg, file, err, sizeof(err));
}

Test(config, defaults)
{
	struct dpa_config cfg;

	dpa_config_defaults(&cfg);
	cr_expect_eq(cfg.placement.kind, DPA_CFG_PLACE_AUTO);
	cr_expect(dpa_cfg_place_has_eu(&cfg.placement, 17));
	cr_expect_not(cfg.disable);
	cr_expect(cfg.blueflame);
	cr_expect_eq(cfg.log, DPA_CFG_LOG_WARN);
	cr_expect_eq(cfg.uar_pages, 2048u);
	cr_expect_eq(cfg.spin, 200u);
	cr_expect_str_eq(cfg.board, "");
}

/* A setting's default, as text, yields the field's default. */
Test(config, every_knob_explains_itself)
{
	struct dpa_config cfg;
	char text[256], name[64];

	for (size_t i = 0; i < dpa_knobs_num; i++) {
		const struct dpa_knob *k = &dpa_knobs[i];

		dpa_config_defaults(&cfg);
		dpa_knob_value(k, &cfg, text, sizeof(text));
		cr_expect_str_eq(text, k->def, "%s", k->name);
		cr_expect(k->help && k->help[0] && k->use && k->use[0], "%s", k->name);
		dpa_knob_env_name(k, name, sizeof(name));
		cr_expect_eq(strncmp(name, "DPA_", 4), 0, "%s", name);
	}
}

Test(config, placement_lists)
{
	static const struct {
		const char *text, *back;
		unsigned num;
	} good[] = {
		{"eu", "eu", 0},
		{"eu:0", "eu:0", 1},
		{"eu:255", "eu:255", 1},
		{"eu:3,1,2", "eu:1,2,3", 3},
		{"eu:2-5", "eu:2,3,4,5", 4},
		{"eu:1-2,2-3", "eu:1,2,3", 3},
		{"eu:0-255", NULL, 256},
		{"inline", "inline", 0},
		{"eu:63-64", "eu:63,64", 2},
	};
	static const char *const bad[] = {
		"",	   "EU",     "eu:",	"eu:,",
		"eu:1,",   "eu:256", "eu:2-1",	"eu:-1",
		"eu:1-",   "eu: 1",  "inline ", "eu:1;2",
		"eu:1--2", "eu:0x1", "autoo",	"eu:99999999999999999999"};
	struct dpa_config cfg;
	char var[64], text[1200];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(var, sizeof(var), "DPA_PLACEMENT=%s", good[i].text);
		cr_assert_eq(from_env(&cfg, var), 0, "%s: %s", var, err);
		cr_expect_eq(cfg.placement.num_eus, good[i].num, "%s", var);
		dpa_knob_value(&dpa_knobs[0], &cfg, text, sizeof(text));
		if (good[i].back)
			cr_expect_str_eq(text, good[i].back);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(var, sizeof(var), "DPA_PLACEMENT=%s", bad[i]);
		cr_expect_eq(from_env(&cfg, var), EINVAL, "%s", var);
		cr_expect_not_null(strstr(err, "DPA_PLACEMENT"), "%s", err);
		cr_expect_not_null(strstr(err, "eu:LIST"), "%s", err);
		cr_expect_null(strchr(err, '\n'));
	}
}

Test(config, functions)
{
	static const struct {
		const char *text, *back;
		unsigned num;
		const char *second; /* interface of dpa0_sf2 */
	} good[] = {
		{"0", "0", 0, NULL},
		{"2", "2", 2, ""},
		{"7", "7", 7, ""},
		{"all", "1", 1, NULL},
		{"all,all", "2", 2, ""},
		{"eth0,all", "eth0,all", 2, ""},
		{"all,lo", "all,lo", 2, "lo"},
		{"a,b,c,d,e,f,g", "a,b,c,d,e,f,g", 7, "b"},
	};
	static const char *const bad[] = {"",
					  "8",
					  "-1",
					  "2,eth0",
					  "eth0,",
					  ",eth0",
					  "a,b,c,d,e,f,g,h",
					  "interface_name_0",
					  "eth 0",
					  "eth/0"};
	const struct dpa_knob *knob = dpa_knobs;
	struct dpa_config cfg;
	char var[64], text[256];

	while (knob->type != DPA_KNOB_FUNCS)
		knob++;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(var, sizeof(var), "DPA_FUNCTIONS=%s", good[i].text);
		cr_assert_eq(from_env(&cfg, var), 0, "%s: %s", var, err);
		cr_expect_eq(cfg.functions.num_sfs, good[i].num, "%s", var);
		if (good[i].second)
			cr_expect_str_eq(cfg.functions.ifname[1], good[i].second, "%s", var);
		dpa_knob_value(knob, &cfg, text, sizeof(text));
		cr_expect_str_eq(text, good[i].back, "%s", var);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(var, sizeof(var), "DPA_FUNCTIONS=%s", bad[i]);
		cr_expect_eq(from_env(&cfg, var), EINVAL, "%s", var);
		cr_expect_not_null(strstr(err, "DPA_FUNCTIONS"), "%s", err);
	}
}

Test(config, interface)
{
	static const char *const bad[] = {"", "a,b", "eth 0", "eth/0", "interface_name_0", "-"};
	struct dpa_config cfg;
	char var[64];

	cr_assert_eq(from_env(&cfg, "DPA_INTERFACE=interface_name0"), 0, "%s", err);
	cr_expect_str_eq(dpa_cfg_interface(&cfg, 0), "interface_name0");
	cr_assert_eq(from_env(&cfg, "DPA_INTERFACE=all"), 0, "%s", err);
	cr_expect_str_eq(dpa_cfg_interface(&cfg, 0), "");
	cr_assert_eq(from_env(&cfg, "DPA_FUNCTIONS=all,eth1"), 0, "%s", err);
	cr_expect_str_eq(dpa_cfg_interface(&cfg, 0), "");
	cr_expect_str_eq(dpa_cfg_interface(&cfg, 1), "");
	cr_expect_str_eq(dpa_cfg_interface(&cfg, 2), "eth1");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(var, sizeof(var), "DPA_INTERFACE=%s", bad[i]);
		cr_expect_eq(from_env(&cfg, var), EINVAL, "%s", var);
		cr_expect_not_null(strstr(err, "DPA_INTERFACE"), "%s", err);
	}
}

Test(config, bad_variables)
{
	static const struct {
		const char *var, *says;
	} bad[] = {
		{"DPA_DISABLE=", "DPA_DISABLE: use 0 or 1"},
		{"DPA_DISABLE=yes", "use 0 or 1"},
		{"DPA_DISABLE=2", "use 0 or 1"},
		{"DPA_LOG=loud", "error, warn, info or debug"},
		{"DPA_LOG=war", "error, warn, info or debug"},
		{"DPA_LOG_FILE=here", "an absolute path"},
		{"DPA_UAR_PAGES=0", "1 to 2048"},
		{"DPA_UAR_PAGES=2049", "1 to 2048"},
		{"DPA_SPIN=-1", "0 to 1000000"},
		{"DPA_SPIN=1e3", "0 to 1000000"},
		{"DPA_PULL=always", "auto or never"},
		{"DPA_SHARE_MR=yes", "auto, never or always"},
		{"DPA_PLACMENT=auto",
		 "unknown variable DPA_PLACMENT: unset it, or is it DPA_PLACEMENT?"},
		{"DPA_=1", "unknown variable DPA_: unset it"},
		{"DPA_Log=info", "unknown variable DPA_Log"},
		{"DPA_XYZZY_AND_A_VERY_LONG_NAME_INDEED=1", "unknown variable DPA_XYZZY"},
	};
	struct dpa_config cfg;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_eq(from_env(&cfg, bad[i].var), EINVAL, "%s", bad[i].var);
		cr_expect_not_null(strstr(err, bad[i].says), "%s: %s", bad[i].var, err);
	}
	cr_expect_eq(from_env(&cfg, "DPAX=1"), 0);
	cr_expect_eq(from_env(&cfg, "NOT_DPA_LOG=loud"), 0);
}

Test(config, good_file)
{
	struct dpa_config cfg;

	cr_assert_eq(from_file(&cfg, "# all of it\n\n  log=debug # loud\n\tlog_file =/tmp/x y\n"
				     "uar_pages\t=\t16\r\nblueflame=0\npull=never"),
		     0, "%s", err);
	cr_expect_eq(cfg.log, DPA_CFG_LOG_DEBUG);
	cr_expect_str_eq(cfg.log_file, "/tmp/x y");
	cr_expect_eq(cfg.uar_pages, 16u);
	cr_expect_not(cfg.blueflame);
	cr_expect_eq(cfg.pull, DPA_CFG_PULL_NEVER);
	cr_expect_str_eq(cfg.config, file);
}

Test(config, bad_files)
{
	char long_line[1500], want[200];
	static const struct {
		const char *text;
		int line;
		const char *says;
	} bad[] = {
		{"log = info\nlogg = info\n", 2, "unknown key 'logg': write 'log'?"},
		{"\n\nxyzzy = 1\n", 3, "unknown key 'xyzzy': remove the line"},
		{"spin\n", 1, "no '=' in 'spin': write KEY = VALUE"},
		{"spin = many\n", 1, "bad value 'many' of spin: use a number from 0 to 1000000"},
		{"config = /etc/other\n", 1, "unknown key 'config'"},
		{"= 1\n", 1, "unknown key ''"},
	};
	struct dpa_config cfg;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_eq(from_file(&cfg, bad[i].text), EINVAL, "%s", bad[i].text);
		snprintf(want, sizeof(want), "%s:%d: %s", file, bad[i].line, bad[i].says);
		cr_expect_not_null(strstr(err, want), "%s", err);
	}
	memset(long_line, 'x', sizeof(long_line) - 1);
	long_line[sizeof(long_line) - 1] = '\0';
	cr_expect_eq(from_file(&cfg, long_line), EINVAL);
	cr_expect_not_null(strstr(err, ":1: longer than"), "%s", err);
}

Test(config, unreadable_files)
{
	struct dpa_config cfg;

	cr_expect_eq(dpa_config_file(&cfg, "/nonexistent/dpa.conf", err, sizeof(err)), EINVAL);
	cr_expect_not_null(strstr(err, "/nonexistent/dpa.conf"), "%s", err);
	cr_expect_not_null(strstr(err, strerror(ENOENT)), "%s", err);
	cr_expect_eq(dpa_config_file(&cfg, "/", err, sizeof(err)), EINVAL);
	setenv("DPA_CONFIG", "/nonexistent/dpa.conf", 1);
	cr_expect_eq(dpa_config_load(&cfg, err, sizeof(err)), EINVAL);
	cr_expect_eq(dpa_config_load(&cfg, NULL, 0), EINVAL);
	unsetenv("DPA_CONFIG");
}

Test(config, environment_wins_over_file)
{
	struct dpa_config cfg;

	write_conf("spin = 5\nlog = info\n");
	setenv("DPA_CONFIG", file, 1);
	setenv("DPA_SPIN", "6", 1);
	cr_assert_eq(dpa_config_load(&cfg, err, sizeof(err)), 0, "%s", err);
	cr_expect_eq(cfg.spin, 6u);
	cr_expect_eq(cfg.log, DPA_CFG_LOG_INFO);
	cr_expect_str_eq(cfg.config, file);
	setenv("DPA_SPIN", "x", 1);
	cr_expect_eq(dpa_config_load(&cfg, err, sizeof(err)), EINVAL);
	unsetenv("DPA_SPIN");
	unsetenv("DPA_CONFIG");
}

Test(config, faults)
{
	static const struct {
		const char *text, *back;
	} good[] = {
		{"off", "off"},
		{"drop=0%", "off"},
		{"seed=9", "off"},
		{"drop=1%", "drop=1%,seed=0"},
		{"drop=100%", "drop=100%,seed=0"},
		{"drop=0.0001%", "drop=0.0001%,seed=0"},
		{"drop=1ppm", "drop=0.0001%,seed=0"},
		{"dup=12.5%,drop=2500ppm", "drop=0.25%,dup=12.5%,seed=0"},
		{"delay=5%:200us", "delay=5%:200us,seed=0"},
		{"delay=5%:2ms,seed=18446744073709551615",
		 "delay=5%:2000us,seed=18446744073709551615"},
		{"reorder=1%,corrupt=1%,truncate=1%,only=responses,qpn=0x01abCD,seed=7",
		 "reorder=1%,corrupt=1%,truncate=1%,only=responses,qpn=0x01abcd,seed=7"},
		{"drop=1%,only=all,qpn=77", "drop=1%,qpn=0x00004d,seed=0"},
	};
	static const char *const bad[] = {"",
					  "drop",
					  "drop=",
					  "drop=1",
					  "drop=1 %",
					  "drop=-1%",
					  "drop=101%",
					  "drop=100.0001%",
					  "drop=.5%",
					  "drop=1.%",
					  "drop=1.00001%",
					  "drop=1%,",
					  ",drop=1%",
					  "drop=1%;dup=1%",
					  "drop=1%drop=2%",
					  "drop=1%,drop=2%",
					  "drap=1%",
					  "Drop=1%",
					  "delay=1%",
					  "delay=1%:",
					  "delay=1%:5",
					  "delay=1%:0us",
					  "delay=1%:5s",
					  "delay=1%:11000ms",
					  "seed=-1",
					  "seed=18446744073709551616",
					  "qpn=0",
					  "qpn=0x1000000",
					  "qpn=16777216",
					  "only=some",
					  "on",
					  "off,drop=1%",
					  "drop=1000001ppm"};
	struct dpa_fault_spec f, again;
	char text[DPA_FAULT_TEXT];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert(dpa_fault_parse(good[i].text, &f), "%s", good[i].text);
		dpa_fault_text(&f, text, sizeof(text));
		cr_expect_str_eq(text, good[i].back);
		cr_assert(dpa_fault_parse(text, &again), "%s", text);
		cr_expect_arr_eq(again.ppm, f.ppm, sizeof(f.ppm), "%s", text);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct dpa_fault_spec was = f;

		cr_expect_not(dpa_fault_parse(bad[i], &f), "%s", bad[i]);
		cr_expect_eq(f.seed, was.seed);
	}
}

/* The kernel's text of a rate matches the two fields. */
Test(config, speeds)
{
	static const struct {
		uint8_t width;
		unsigned lanes;
	} widths[] = {{1, 1}, {2, 4}, {16, 2}};
	static const struct {
		uint8_t speed;
		unsigned lane;
		const char *name;
	} speeds[] = {{4, 10, "QDR"}, {32, 25, "EDR"}, {64, 50, "HDR"}, {128, 100, "NDR"}};
	static const char *const words[] = {"10",     "25",	"40",  "50",	 "50-1x", "100",
					    "100-1x", "100-2x", "200", "200-2x", "400"};
	struct dpa_config cfg;
	char var[64], want[64];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct dpa_speed *s;
		unsigned lanes = 0, lane = 0;
		const char *name = "";

		snprintf(var, sizeof(var), "DPA_PORT_SPEED=%s", words[i]);
		cr_assert_eq(from_env(&cfg, var), 0, "%s", err);
		s = dpa_cfg_speed(&cfg);
		for (size_t w = 0; w < 3; w++)
			lanes = widths[w].width == s->width ? widths[w].lanes : lanes;
		for (size_t k = 0; k < 4; k++)
			if (speeds[k].speed == s->speed) {
				lane = speeds[k].lane;
				name = speeds[k].name;
			}
		snprintf(want, sizeof(want), "%u Gb/sec (%uX %s)", lanes * lane, lanes, name);
		cr_expect_str_eq(s->rate, want);
		cr_expect_eq(lanes * lane, (unsigned)atoi(words[i]), "%s", words[i]);
	}
	cr_expect_eq(from_env(&cfg, "DPA_PORT_SPEED=101"), EINVAL);
	cr_expect(strstr(err, "DPA_PORT_SPEED") && strstr(err, "200-2x"), "%s", err);
	cr_expect_eq(from_env(&cfg, "DPA_GID_ORDER=mlx5"), EINVAL);
	cr_expect(strstr(err, "DPA_GID_ORDER") && strstr(err, "adapter"), "%s", err);
}

Test(config, lid)
{
	struct dpa_config cfg;

	dpa_config_defaults(&cfg);
	cr_expect_eq(dpa_cfg_lid(&cfg, 0), 0, "an Ethernet port has none");
	cr_assert_eq(from_env(&cfg, "DPA_LINK_LAYER=infiniband"), 0, "%s", err);
	cr_expect_eq(dpa_cfg_lid(&cfg, 0), 1);
	cr_expect_eq(dpa_cfg_lid(&cfg, 3), 4);
	cr_expect_eq(from_env(&cfg, "DPA_LINK_LAYER=roce"), EINVAL);
	cr_expect(strstr(err, "DPA_LINK_LAYER"), "%s", err);
}
