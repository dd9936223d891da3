/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_dirs.c - folders: every way to list one shows our entry exactly once, and the host's
 * entries.
 */
#include "preloaded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

TestSuite(preload_dirs, .init = need_preload);

static const struct {
	const char *path, *entry;
} folders[] = {
	{"/sys/class/infiniband", "dpa0"},
	{"/sys/class/infiniband/", "dpa0"},
	{"/sys/class/infiniband_verbs", "uverbs_dpa0"},
	{"/dev/infiniband", "uverbs_dpa0"},
};
#define NUM (sizeof(folders) / sizeof(folders[0]))

static int count(DIR *dir, const char *name)
{
	struct dirent *ent;
	int n = 0;

	errno = 0;
	while ((ent = readdir(dir)))
		n += strcmp(ent->d_name, name) == 0;
	cr_expect_eq(errno, 0);
	cr_expect_null(readdir(dir), "the end stays the end");
	return n;
}

Test(preload_dirs, readdir)
{
	for (size_t i = 0; i < NUM; i++) {
		DIR *dir = opendir(folders[i].path);

		cr_assert_not_null(dir, "%s", folders[i].path);
		cr_expect_eq(count(dir, folders[i].entry), 1, "%s", folders[i].path);
		rewinddir(dir);
		cr_expect_eq(count(dir, folders[i].entry), 1, "%s again", folders[i].path);
		closedir(dir);
	}
}

Test(preload_dirs, fdopendir)
{
	for (size_t i = 0; i < NUM; i++) {
		int fd = open(folders[i].path, O_RDONLY | O_DIRECTORY);
		DIR *dir = fdopendir(fd);

		cr_assert_not_null(dir);
		cr_expect_eq(count(dir, folders[i].entry), 1, "%s", folders[i].path);
		closedir(dir);
	}
}

Test(preload_dirs, readdir_r)
{
	for (size_t i = 0; i < NUM; i++) {
		DIR *dir = opendir(folders[i].path);
		struct dirent buf, *ent = NULL;
		int n = 0;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
		while (readdir_r(dir, &buf, &ent) == 0 && ent)
			n += strcmp(ent->d_name, folders[i].entry) == 0;
#pragma GCC diagnostic pop
		cr_expect_eq(n, 1, "%s", folders[i].path);
		closedir(dir);
	}
}

static int no_dots(const struct dirent *ent)
{
	return ent->d_name[0] != '.';
}

Test(preload_dirs, scandir)
{
	for (size_t i = 0; i < NUM; i++) {
		struct dirent **list;
		int n = scandir(folders[i].path, &list, no_dots, alphasort), found = 0;

		cr_assert_gt(n, 0);
		for (int k = 0; k < n; k++) {
			found += strcmp(list[k]->d_name, folders[i].entry) == 0;
			cr_expect(k == 0 || strcmp(list[k - 1]->d_name, list[k]->d_name) < 0);
		}
		for (int k = 0; k < n; k++)
			free(list[k]);
		free(list);
		cr_expect_eq(found, 1, "%s", folders[i].path);
	}
	cr_expect_eq(scandir(IBDEV "/nothing", &(struct dirent **){NULL}, NULL, NULL), -1);
	cr_expect_eq(errno, ENOENT);
}

Test(preload_dirs, glob)
{
	glob_t g = {0};

	cr_assert_eq(glob("/sys/class/infiniband/dpa*/ports/*/link_layer", 0, NULL, &g), 0);
	cr_expect_eq(g.gl_pathc, 1u);
	cr_expect_str_eq(g.gl_pathv[0], IBDEV "/ports/1/link_layer");
	globfree(&g);
	cr_assert_eq(glob("/dev/infiniband/uverbs_d*", 0, NULL, &g), 0);
	cr_expect_str_eq(g.gl_pathv[0], NODE);
	globfree(&g);
	cr_assert_eq(glob("/etc/passw?", 0, NULL, &g), 0);
	globfree(&g);
}

Test(preload_dirs, not_folders)
{
	cr_expect_null(opendir(NODE));
	cr_expect_eq(errno, ENOTDIR);
	cr_expect_null(opendir(IBDEV "/node_guid"));
	cr_expect_eq(errno, ENOTDIR);
	cr_expect_null(opendir(IBDEV "/node_type"));
	cr_expect_eq(errno, ENOTDIR);
}

/* More streams than the table holds: the others show only the host's entries. */
Test(preload_dirs, many_streams)
{
	DIR *dirs[100];

	for (int i = 0; i < 100; i++)
		cr_assert_not_null(dirs[i] = opendir("/sys/class/infiniband"));
	for (int i = 0; i < 64; i++)
		cr_expect_eq(count(dirs[i], "dpa0"), 1);
	for (int i = 0; i < 100; i++)
		closedir(dirs[i]);
	dirs[0] = opendir("/sys/class/infiniband");
	cr_expect_eq(count(dirs[0], "dpa0"), 1);
	closedir(dirs[0]);
}
