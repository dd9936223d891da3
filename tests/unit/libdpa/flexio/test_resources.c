/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_resources.c - the EUs of an application: accepted files, and refused files with their
 * reasons.
 */
#define DOCA_ALLOW_EXPERIMENTAL_API
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <criterion/criterion.h>
#include <doca_log.h>
#include <libflexio/flexio_ver.h>
#define FLEXIO_VER_USED FLEXIO_VER(25, 4, 0)
#include <libflexio/flexio.h>

static char *lines; /* all lines of the SDK log */
static size_t num_lines, before;
static FILE *log_file;
static struct flexio_resource *res;

static void setup(void)
{
	struct doca_log_backend *sdk;

	log_file = open_memstream(&lines, &num_lines);
	cr_assert(log_file);
	cr_assert_eq(doca_log_backend_create_with_file_sdk(log_file, &sdk), DOCA_SUCCESS);
}

/* Return the lines that status_of() wrote to the log. */
static const char *log_text(void)
{
	fflush(log_file);
	return lines + before;
}

TestSuite(resources, .init = setup, .timeout = 60);

static flexio_status status_of(const char *key, const char *yaml)
{
	fflush(log_file);
	before = num_lines;
	res = (struct flexio_resource *)&res; /* any value */
	return flexio_resources_create(key, yaml, strlen(yaml), &res);
}

/* Return the EUs as "0,1,9 in 2 groups"; a failure ends the test. */
static const char *eus_of(const char *yaml)
{
	static char buf[2048];
	size_t at = 0;

	buf[0] = '\0';
	cr_assert_eq(status_of("app", yaml), FLEXIO_STATUS_SUCCESS, "%s\n%s", yaml, log_text());
	for (uint32_t i = 0; i < flexio_resources_get_eus_num(res); i++)
		at += (size_t)snprintf(buf + at, sizeof(buf) - at, "%s%u", i ? "," : "",
				       flexio_resources_get_eus(res)[i]);
	snprintf(buf + at, sizeof(buf) - at, " in %u groups", flexio_resources_get_eugs_num(res));
	cr_assert_eq(flexio_resources_destroy(res), FLEXIO_STATUS_SUCCESS);
	return buf;
}

/* Check the reason of a refusal: it is the end of the line, which begins with the time. */
static void refused(const char *yaml, const char *reason)
{
	cr_assert_eq(status_of("app", yaml), FLEXIO_STATUS_FAILED, "%s", yaml);
	cr_assert_null(res);
	cr_assert(strstr(log_text(), reason), "%s\n'%s', not '%s'", yaml, log_text(), reason);
}

Test(resources, forms)
{
	cr_assert_str_eq(eus_of("app: {EUs: 5}"), "5 in 0 groups");
	cr_assert_str_eq(eus_of("app:\n  EUs: 0-3,9\n"), "0,1,2,3,9 in 0 groups");
	cr_assert_str_eq(eus_of("app:\n  EUs: [9, 0-2, 255]\n"), "0,1,2,9,255 in 0 groups");
	cr_assert_str_eq(eus_of("app:\n  EUs:\n  - 7\n  - '2'\n  - \"3-4,6\"\n"),
			 "2,3,4,6,7 in 0 groups");
	cr_assert_str_eq(eus_of("app:\n  EUs: []\n  EUGs: [bulk, 2]\n"), " in 2 groups");
	cr_assert_str_eq(eus_of("app: {eugs: bulk}"), " in 1 groups");
	cr_assert_str_eq(eus_of("{\"app\": {\"eus\": [1, 2], \"partition\": 1}}"),
			 "1,2 in 0 groups");
}

Test(resources, an_eu_counts_once)
{
	cr_assert_str_eq(eus_of("app: {EUs: [1, 1, 0-2]}"), "0,1,2 in 0 groups");
}

/* As a tool may write it: inside a partition, with a version, comments, anchors. */
Test(resources, key_at_any_depth)
{
	cr_assert_str_eq(
		eus_of("# made by hand\n---\nversion: 25.04\nROOT:\n  other: {EUs: 0}\n  app:\n"
		       "    EUs: [3]   # one\n"),
		"3 in 0 groups");
	cr_assert_str_eq(eus_of("- apps:\n  - app: {EUs: 4}\n"), "4 in 0 groups");
	cr_assert_str_eq(eus_of("other:\n  EUs: &id001\n  - 1\n  - 2\napp:\n  EUs: *id001\n"),
			 "1,2 in 0 groups");
	cr_assert_str_eq(eus_of("other: {EUs: 1}\n---\napp: {EUs: 2}\n...\n"), "2 in 0 groups");
	cr_assert_str_eq(eus_of("&a app: {self: *a, EUs: 1}\n"), "1 in 0 groups");
	cr_assert_str_eq(eus_of("app: &a {loop: [*a, *a], EUs: 1}\n"), "1 in 0 groups");
}

Test(resources, all_eus)
{
	cr_assert_eq(status_of("app", "app: {EUs: 0-255}"), FLEXIO_STATUS_SUCCESS);
	cr_assert_eq(flexio_resources_get_eus_num(res), 256u);
	for (uint32_t i = 0; i < 256; i++)
		cr_assert_eq(flexio_resources_get_eus(res)[i], i);
	cr_assert_eq(flexio_resources_destroy(res), FLEXIO_STATUS_SUCCESS);
}

Test(resources, wrong_eus)
{
	const char *const bad[] = {"256",      "-1",	 "3-1",	     "0-256",	   "a", "''",
				   "1 2",      "0x1",	 "1.0",	     "null",	   "~", "[1, [2]]",
				   "[{a: 1}]", "{1: 2}", "\"1\\0\"", "4294967296", "1,"};
	char yaml[64];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(yaml, sizeof(yaml), "app:\n  EUs: %s\n", bad[i]);
		refused(yaml, "line 2: ");
		cr_assert(strstr(log_text(), "is no EU and no range of EUs"), "%s", log_text());
	}
	refused("app: {EUs: 1, eus: 2}", "line 1: 'eus' is there twice");
	refused("app: {EUs: 1, EU: 2}", "'EU' is not known: use EUs or EUGs");
	refused("app: {EUs: 1, eu_groups: [a]}", "'eu_groups' is not known: use EUs or EUGs");
}

Test(resources, wrong_groups)
{
	char yaml[256] = "app: {EUGs: [";

	cr_assert_str_eq(eus_of("app: {EUGs: [a234567890bcdef]}"), " in 1 groups");
	refused("app: {EUGs: [a234567890bcdefg]}", "its name has not 1 to 15 characters");
	refused("app: {EUGs: ['']}", "its name has not 1 to 15 characters");
	refused("app: {EUGs: [[a]]}", "its name has not 1 to 15 characters");
	refused("app: {EUGs: [a, b, a]}", "EU group 'a' is there twice");
	refused("app: {EUGs: [a], EUGs: [b]}", "'EUGs' is there twice");
	for (int i = 0; i < 15; i++)
		snprintf(yaml + strlen(yaml), sizeof(yaml) - strlen(yaml), "g%d, ", i);
	strcat(yaml, "]}");
	cr_assert_str_eq(eus_of(yaml), " in 15 groups");
	strcpy(strstr(yaml, "]}"), "one]}");
	refused(yaml, "more than 15 EU groups");
}

Test(resources, wrong_application)
{
	refused("other: {EUs: 1}", "there is no application 'app'");
	refused("# nothing\n", "there is no application 'app'");
	refused("app", "there is no application 'app'");
	refused("App: {EUs: 1}", "there is no application 'app'");
	refused("name: app\nEUs: 1\n", "there is no application 'app'");
	refused("app: {EUs: 1}\nx: {app: {EUs: 1}}\n", "'app' is there twice");
	refused("app: {EUs: 1}\n---\napp: {EUs: 1}\n", "'app' is there twice");
	refused("app: [1, 2]", "'app' has no mapping");
	refused("app:\n", "'app' has no mapping");
	refused("app: {}", "'app' has neither EUs nor EUGs");
	refused("app: {cores: 1}", "'app' has neither EUs nor EUGs");
}

Test(resources, no_yaml)
{
	refused("app: {EUs: 1", "no YAML");
	refused("app: {EUs: [1}", "no YAML");
	refused("app:\n\t- EUs: 1\n", "no YAML");
	refused("app: *gone\n", "no YAML");
	refused("app: {EUs: 1}\n%", "no YAML");
	refused("app: {EUs: 1}\x01", "no YAML");
	refused("app: \xff\xfe", "no YAML");
	refused("app: {EUs: 1}\n---\n]", "no YAML");
}

/* Lists within lists, far deeper than in any real file. */
Test(resources, deep)
{
	char yaml[4097] = {0};

	memset(yaml, '[', 4096);
	cr_assert_eq(status_of("app", yaml), FLEXIO_STATUS_FAILED);
	for (int i = 0; i < 4096; i += 2)
		memcpy(yaml + i, "- ", 2);
	cr_assert_eq(status_of("app", yaml), FLEXIO_STATUS_FAILED);
}

Test(resources, sizes)
{
	char *yaml = malloc(65538);

	refused("", "0 bytes of text: 1 to 65536 may be");
	memset(yaml, '#', 65537);
	memcpy(yaml, "app: {EUs: 1}\n", 14);
	yaml[65536] = '\0';
	cr_assert_str_eq(eus_of(yaml), "1 in 0 groups");
	memcpy(yaml + 65536, "#", 2);
	refused(yaml, "65537 bytes of text: 1 to 65536 may be");
	free(yaml);

	/* the text need not end with a NUL, and nothing behind its size is read */
	cr_assert_eq(flexio_resources_create("app", "app: {EUs: 1}]]", 13, &res),
		     FLEXIO_STATUS_SUCCESS);
	cr_assert_eq(flexio_resources_destroy(res), FLEXIO_STATUS_SUCCESS);
}

Test(resources, wrong_arguments)
{
	const char *yaml = "app: {EUs: 1}";

	cr_assert_eq(flexio_resources_create("app", yaml, strlen(yaml), NULL),
		     FLEXIO_STATUS_FAILED);
	cr_assert_eq(flexio_resources_create(NULL, yaml, strlen(yaml), &res), FLEXIO_STATUS_FAILED);
	cr_assert_null(res);
	cr_assert_eq(flexio_resources_create("", yaml, strlen(yaml), &res), FLEXIO_STATUS_FAILED);
	cr_assert_eq(flexio_resources_create("app", NULL, 1, &res), FLEXIO_STATUS_FAILED);
	cr_assert_eq(status_of("app", yaml), FLEXIO_STATUS_SUCCESS);
	cr_assert_eq(flexio_resources_destroy(res), FLEXIO_STATUS_SUCCESS);
	cr_assert_eq(flexio_resources_destroy(res), FLEXIO_STATUS_FAILED);
	cr_assert_eq(flexio_resources_get_eus_num(res), 0u);
	cr_assert_eq(flexio_resources_get_eugs_num(res), 0u);
	cr_assert_null(flexio_resources_get_eus(res));
	cr_assert_eq(flexio_resources_destroy(NULL), FLEXIO_STATUS_FAILED);
	cr_assert_eq(flexio_resources_get_eus_num(NULL), 0u);
	cr_assert_eq(flexio_resources_get_eugs_num(NULL), 0u);
	cr_assert_null(flexio_resources_get_eus(NULL));
}

Test(resources, versions)
{
	cr_assert_eq(FLEXIO_VER_USED, 0x19040000u);
	cr_assert_eq(FLEXIO_VER_LATEST, 0xffffffffu);
#if FLEXIO_VER_USED >= FLEXIO_VER(26, 0, 0)
	cr_assert_fail();
#endif
}
