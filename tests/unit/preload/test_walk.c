/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_walk.c - walks: nftw and ftw see the entries of readdir; streams can be rewound. */
#include "preloaded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER PCI "/infiniband/dpa0"

TestSuite(preload_walk, .init = need_preload);

static struct {
	int files, folders, links, unknown, order, gids, guid, base, level, elsewhere, stop;
	bool chdir;
} seen;

static int note(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	seen.files += type == FTW_F;
	seen.folders += type == FTW_D || type == FTW_DP;
	seen.links += type == FTW_SL;
	seen.unknown += type == FTW_NS || type == FTW_DNR;
	seen.gids += strstr(path, "/ports/1/gids/") && S_ISREG(st->st_mode);
	seen.guid += strcmp(path + ftw->base, "node_guid") == 0;
	if (strcmp(path, IBDEV) == 0)
		seen.level |= ftw->level; /* is 0 */
	if (seen.chdir && access(path + ftw->base, F_OK) && type != FTW_SL)
		seen.elsewhere++;
	if (strcmp(path + ftw->base, "subsystem") == 0 && type == FTW_D)
		return FTW_SKIP_SUBTREE; /* leads to all of the host's devices */
	return seen.stop && strcmp(path + ftw->base, "ports") == 0 ? seen.stop : 0;
}

Test(preload_walk, nftw)
{
	int files;

	cr_assert_eq(nftw(FOLDER, note, 8, FTW_PHYS), 0, "%s", strerror(errno));
	cr_expect_eq(seen.gids, 256);
	cr_expect_eq(seen.guid, 1);
	cr_expect_eq(seen.unknown, 0);
	cr_expect_geq(seen.links, 2, "device, subsystem");
	files = seen.files;
	memset(&seen, 0, sizeof(seen));
	cr_assert_eq(nftw(IBDEV "/ports", note, 1, FTW_PHYS | FTW_DEPTH), 0);
	cr_expect_eq(seen.gids, 256);
	cr_expect_lt(seen.files, files);
	memset(&seen, 0, sizeof(seen));
	cr_assert_eq(nftw(IBDEV, note, 8, FTW_PHYS), 0);
	cr_expect_eq(seen.links, 1, "the root itself is one");
	cr_expect_eq(seen.files + seen.folders, 0);
}

/* Links of a device form circles: each folder is shown once. */
Test(preload_walk, nftw_follows_links)
{
	cr_assert_eq(nftw(IBDEV "/device/infiniband", note, 8, FTW_ACTIONRETVAL), 0, "%s",
		     strerror(errno));
	cr_expect_eq(seen.gids, 256);
	cr_expect_geq(seen.guid, 1);
	cr_expect_eq(seen.links, 0);
}

Test(preload_walk, nftw_changes_folders)
{
	char before[PATH_MAX], after[PATH_MAX];

	seen.chdir = true;
	getcwd(before, sizeof(before));
	cr_assert_eq(nftw(FOLDER, note, 8, FTW_PHYS | FTW_CHDIR), 0, "%s", strerror(errno));
	cr_expect_eq(seen.gids, 256);
	cr_expect_eq(seen.elsewhere, 0);
	cr_expect_str_eq(getcwd(after, sizeof(after)), before);
	memset(&seen, 0, sizeof(seen));
	seen.chdir = true;
	cr_assert_eq(chdir("/sys/class/infiniband"), 0);
	cr_assert_eq(nftw("dpa0/ports", note, 8, FTW_PHYS | FTW_CHDIR | FTW_DEPTH), 0);
	cr_expect_eq(seen.gids, 256);
	cr_expect_eq(seen.elsewhere, 0);
}

Test(preload_walk, nftw_ends_when_the_callback_asks)
{
	seen.stop = 42;
	cr_expect_eq(nftw(FOLDER, note, 8, FTW_PHYS), 42);
	cr_expect_eq(seen.gids, 0);
	memset(&seen, 0, sizeof(seen));
	seen.stop = FTW_SKIP_SUBTREE;
	cr_expect_eq(nftw(FOLDER, note, 8, FTW_PHYS | FTW_ACTIONRETVAL), 0);
	cr_expect_eq(seen.gids, 0);
	cr_expect_eq(seen.guid, 1);
	cr_expect_eq(nftw(IBDEV "/nothing", note, 8, 0), -1);
	cr_expect_eq(errno, ENOENT);
}

static int note_ftw(const char *path, const struct stat *st, int type)
{
	seen.gids += type == FTW_F && S_ISREG(st->st_mode) && strstr(path, "/ports/1/gids/");
	return 0;
}

Test(preload_walk, ftw)
{
	cr_assert_eq(ftw(IBDEV "/ports", note_ftw, 8), 0);
	cr_expect_eq(seen.gids, 256);
}

/* The C library handles other folders. */
Test(preload_walk, of_others)
{
	cr_expect_eq(nftw("/proc/self/fdinfo", note, 8, FTW_PHYS), 0);
	cr_expect_gt(seen.files, 0);
}

Test(preload_walk, streams_can_be_wound)
{
	DIR *dir = opendir(IBDEV "/ports/1/gids");
	char name[NAME_MAX + 1] = "";
	struct dirent *ent;
	long at = -1;
	int n = 0;

	cr_assert_not_null(dir);
	while ((ent = readdir(dir))) {
		n += ent->d_name[0] != '.';
		if (n == 100 && at == -1)
			at = telldir(dir);
		else if (n == 101 && !name[0])
			strcpy(name, ent->d_name);
	}
	cr_expect_eq(n, 256);
	seekdir(dir, at);
	ent = readdir(dir);
	cr_assert_not_null(ent);
	cr_expect_str_eq(ent->d_name, name);
	rewinddir(dir);
	for (n = 0; readdir(dir); n++)
		;
	cr_expect_eq(n, 258, "with . and ..");
	closedir(dir);
}

Test(preload_walk, scandirat)
{
	int fd = open(IBDEV "/ports", O_RDONLY | O_DIRECTORY), n;
	struct dirent **list;

	cr_assert_geq(fd, 0);
	n = scandirat(fd, "1/gid_attrs/types", &list, NULL, NULL);
	cr_expect_eq(n, 258);
	while (n > 0)
		free(list[--n]);
	free(list);
	cr_expect_eq(scandirat(fd, "2", &list, NULL, NULL), -1);
	cr_expect_eq(errno, ENOENT);
	close(fd);
}
