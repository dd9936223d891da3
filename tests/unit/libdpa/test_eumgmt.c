/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_eumgmt.c - EU partitions and groups: the EUs that a function may use, and the file with
 * them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <criterion/criterion.h>
#include "libdpa/eu/eumgmt.h"

static char dir[64], board[96], file[104];

static void setup(void)
{
	strcpy(dir, "/tmp/dpa-eumgmt-XXXXXX");
	cr_assert(mkdtemp(dir));
	snprintf(board, sizeof(board), "%s/board", dir);
	snprintf(file, sizeof(file), "%s.eus", board);
}

static void teardown(void)
{
	char lock[112];

	snprintf(lock, sizeof(lock), "%s.lock", file);
	unlink(lock);
	unlink(file);
	cr_assert_eq(rmdir(dir), 0);
}

TestSuite(eumgmt, .init = setup, .fini = teardown, .timeout = 60);

static void write_file(const char *text)
{
	FILE *f = fopen(file, "w");

	cr_assert(f);
	fputs(text, f);
	fclose(f);
}

static const char *text_of(const struct dpal_eu_set *s)
{
	static char buf[1024];

	dpal_eu_set_text(s, true, buf, sizeof(buf));
	return buf;
}

Test(eumgmt, ranges)
{
	const char *const bad[] = {"",	  ",",	 "1,", "-3",	"3-",  "5-4",
				   "256", "1 2", "a",  "0-256", "1,,2"};
	struct dpal_eu_set s;
	char buf[64];

	cr_assert(dpal_eu_set_parse("6-8,16,0,255", 256, &s));
	cr_assert_str_eq(text_of(&s), "0,6-8,16,255");
	cr_assert_eq(dpal_eu_set_count(&s), 6u);
	cr_assert(dpal_eu_set_has(&s, 255));
	cr_assert_not(dpal_eu_set_has(&s, 256));
	dpal_eu_set_text(&s, false, buf, sizeof(buf));
	cr_assert_str_eq(buf, "0,6,7,8,16,255");
	cr_assert_not(dpal_eu_set_parse("8", 8, &s));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert_not(dpal_eu_set_parse(bad[i], 256, &s), "'%s' was accepted", bad[i]);
}

Test(eumgmt, without_a_file_everything_is_free)
{
	struct dpa_eumgmt_eus e;

	cr_assert_eq(dpa_eumgmt_lookup(board, 0, 8, &e), 0);
	cr_assert_eq(e.partition, 0u);
	cr_assert_str_eq(text_of(&e.pool), "0-7");
	cr_assert_str_eq(text_of(&e.free), "0-7");
}

Test(eumgmt, partitions_and_groups)
{
	struct dpa_eumgmt_eus e;

	write_file("dpa-eus 1\npartition 1 2 1,3 4-7\ngroup 1 0 0-1 a b\ngroup 2 1 6 g\n");
	cr_assert_eq(dpa_eumgmt_lookup(board, 0, 16, &e), 0);
	cr_assert_eq(e.partition, 0u);
	cr_assert_str_eq(text_of(&e.pool), "0-3,8-15");
	cr_assert_str_eq(text_of(&e.free), "2-3,8-15");
	cr_assert_eq(dpa_eumgmt_lookup(board, 3, 16, &e), 0);
	cr_assert_eq(e.partition, 1u);
	cr_assert_str_eq(text_of(&e.pool), "4-7");
	cr_assert_str_eq(text_of(&e.free), "4-5,7");
}

Test(eumgmt, what_is_saved_is_loaded)
{
	struct dpa_eumgmt s, t;
	int lock = dpa_eumgmt_lock(board);

	cr_assert_geq(lock, 0);
	write_file("dpa-eus 1\npartition 9 2 1,65535 4-7\ngroup 15 0 0-1 fifteen letters\n");
	cr_assert_eq(dpa_eumgmt_load(board, &s), 0);
	cr_assert_str_eq(s.groups[0].name, "fifteen letters");
	cr_assert_eq(unlink(file), 0);
	cr_assert_eq(dpa_eumgmt_save(board, &s), 0);
	cr_assert_eq(dpa_eumgmt_load(board, &t), 0);
	cr_assert_eq(memcmp(&s, &t, sizeof(s)), 0);
	memset(&s, 0, sizeof(s));
	cr_assert_eq(dpa_eumgmt_save(board, &s), 0);
	cr_assert_neq(access(file, F_OK), 0);
	cr_assert_eq(dpa_eumgmt_save(board, &s), 0);
	dpa_eumgmt_unlock(lock);
}

Test(eumgmt, damaged_files_are_refused)
{
	const char *const bad[] = {
		"",
		"dpa-eus 2\n",
		"dpa-eus 1\nnonsense\n",
		"dpa-eus 1\npartition 1 2 1\n",
		"dpa-eus 1\npartition 16 2 1 4-7\n",
		"dpa-eus 1\npartition 1 2 1 4-7\npartition 1 2 2 8\n",
		"dpa-eus 1\npartition 1 2 1 4-7\npartition 2 2 2 7\n",
		"dpa-eus 1\npartition 1 2 70000 4-7\n",
		"dpa-eus 1\ngroup 1 0 0-256 a\n",
		"dpa-eus 1\ngroup 1 0 0-1\n",
		"dpa-eus 1\ngroup 1 0 0-1 sixteen letters!\n",
		"dpa-eus 1\ngroup 1 0 0-1 a\ngroup 2 0 1-2 b\n",
	};
	struct dpa_eumgmt_eus e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		write_file(bad[i]);
		cr_assert_eq(dpa_eumgmt_lookup(board, 0, 4, &e), EINVAL, "accepted: %s", bad[i]);
		cr_assert_str_eq(text_of(&e.pool), "0-3");
	}
}

Test(eumgmt, no_links_are_followed)
{
	struct dpa_eumgmt_eus e;

	cr_assert_eq(symlink("/etc/passwd", file), 0);
	cr_assert_eq(dpa_eumgmt_lookup(board, 0, 4, &e), ELOOP);
}

Test(eumgmt, functions_have_the_number_of_their_name)
{
	cr_assert_eq(dpa_eumgmt_vhca("dpa0"), 0u);
	cr_assert_eq(dpa_eumgmt_vhca("dpa12"), 12u);
	cr_assert_eq(dpa_eumgmt_vhca("dpa"), 0u);
}
