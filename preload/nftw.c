/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * nftw.c - nftw(3) and ftw(3) of a folder that has our entries, or leads to them. The C library's
 * walk does not use the functions that the preload replaces; this walk does.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload.h"

typedef int nftw_fn(const char *path, const struct stat *st, int type, struct FTW *ftw);
typedef int ftw_fn(const char *path, const struct stat *st, int type);

struct visited {
	dev_t dev;
	ino_t ino;
};

struct tour {
	nftw_fn *nftw;
	ftw_fn *ftw; /* instead of nftw */
	int flags;
	int start;		 /* FTW_CHDIR: the working directory at the start */
	dev_t dev;		 /* of the first folder, for FTW_MOUNT */
	struct visited *visited; /* folders, if symlinks are followed: each is reported once */
	size_t num_visited;
};

/* FTW_CHDIR: return to the folder to which relative paths of the tour refer. */
static int go_back(const struct tour *t)
{
	return t->flags & FTW_CHDIR ? fchdir(t->start) : 0;
}

/* FTW_CHDIR: the working directory is the folder of the reported entry. */
static int go_to_parent(const struct tour *t, const char *path)
{
	char folder[PATH_MAX], *slash;

	strcpy(folder, path);
	slash = strrchr(folder, '/');
	if (!slash || !(t->flags & FTW_CHDIR))
		return 0;
	slash[slash == folder] = '\0';
	return chdir(folder);
}

static int report_entry(struct tour *t, const char *path, const struct stat *st, int type,
			int level)
{
	const char *slash = strrchr(path, '/');
	struct FTW ftw = {.base = slash && slash[1] ? (int)(slash + 1 - path) : 0, .level = level};
	int ret;

	if (t->ftw)
		return t->ftw(path, st, type);
	if (go_to_parent(t, path))
		return -1;
	ret = t->nftw(path, st, type, &ftw);
	return go_back(t) && !ret ? -1 : ret;
}

/* 1: the folder was reported before, so skip it. 0: it is new. -1: no memory. */
static int was_visited(struct tour *t, const struct stat *st)
{
	struct visited *more;

	if (t->flags & FTW_PHYS)
		return 0;
	for (size_t i = 0; i < t->num_visited; i++)
		if (t->visited[i].dev == st->st_dev && t->visited[i].ino == st->st_ino)
			return 1;
	more = realloc(t->visited, (t->num_visited + 1) * sizeof(*more));
	if (!more)
		return -1;
	t->visited = more;
	t->visited[t->num_visited++] = (struct visited){st->st_dev, st->st_ino};
	return 0;
}

/* Returns FTW_* for a path. Sets st, except for FTW_NS. */
static int look_at_entry(const struct tour *t, const char *path, struct stat *st)
{
	if (!((t->flags & FTW_PHYS ? lstat : stat)(path, st)))
		return S_ISDIR(st->st_mode) ? FTW_D : S_ISLNK(st->st_mode) ? FTW_SL : FTW_F;
	if (!(t->flags & FTW_PHYS) && lstat(path, st) == 0 && S_ISLNK(st->st_mode))
		return t->ftw ? FTW_NS : FTW_SLN;
	return FTW_NS;
}

static int visit_entry(struct tour *t, char *path, int level);

/* Visit the entries of a folder. All names are read first, so that at most one stream is open. */
static int visit_entries(struct tour *t, char *path, int level)
{
	size_t len = strlen(path);
	struct dirent **list;
	int num, ret = 0;

	num = scandir(path, &list, NULL, NULL);
	if (num < 0)
		return -1;
	if (len && path[len - 1] == '/')
		len--;
	for (int i = 0; i < num; i++) {
		const char *name = list[i]->d_name;

		if (!ret && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			if (snprintf(path + len, PATH_MAX - len, "/%s", name) <
			    (int)(PATH_MAX - len)) {
				ret = visit_entry(t, path, level + 1);
			} else {
				errno = ENAMETOOLONG;
				ret = -1;
			}
			path[len] = '\0';
		}
		free(list[i]);
	}
	free(list);
	if (ret == FTW_SKIP_SIBLINGS && t->flags & FTW_ACTIONRETVAL)
		ret = 0;
	return ret;
}

static int visit_folder(struct tour *t, char *path, const struct stat *st, int level)
{
	bool actions = t->flags & FTW_ACTIONRETVAL;
	int ret = was_visited(t, st);

	if (ret)
		return ret > 0 ? 0 : -1;
	if (access(path, R_OK) != 0)
		return report_entry(t, path, st, FTW_DNR, level);
	if (!(t->flags & FTW_DEPTH))
		ret = report_entry(t, path, st, FTW_D, level);
	if (ret == FTW_SKIP_SUBTREE && actions)
		return 0;
	if (!ret)
		ret = visit_entries(t, path, level);
	if (!ret && t->flags & FTW_DEPTH)
		ret = report_entry(t, path, st, FTW_DP, level);
	return ret;
}

static int visit_entry(struct tour *t, char *path, int level)
{
	struct stat st = {0};
	int type = look_at_entry(t, path, &st), ret;

	if (type == FTW_NS && level == 0)
		return -1;
	if (level == 0)
		t->dev = st.st_dev;
	else if (t->flags & FTW_MOUNT && type != FTW_NS && st.st_dev != t->dev)
		return 0;
	if (type == FTW_D)
		ret = visit_folder(t, path, &st, level);
	else
		ret = report_entry(t, path, &st, t->ftw && type == FTW_SL ? FTW_F : type, level);
	return ret == FTW_SKIP_SUBTREE && t->flags & FTW_ACTIONRETVAL ? 0 : ret;
}

static PL_OUT_OF_LINE int tour_dir(struct tour *t, const char *dir)
{
	char path[PATH_MAX];
	int ret, err;

	if (strlen(dir) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(path, dir);
	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	t->start = -1;
	if (t->flags & FTW_CHDIR) {
		t->start = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (t->start < 0)
			return -1;
	}
	ret = visit_entry(t, path, 0);
	err = errno;
	(void)go_back(t);
	if (t->start >= 0)
		close(t->start);
	free(t->visited);
	errno = err;
	return ret;
}

PL_EXPORT int nftw(const char *dir, nftw_fn *fn, int num_fds, int flags)
{
	struct tour t = {.nftw = fn, .flags = flags};

	return pl_maybe(dir) && pl_is_ours(dir) ? tour_dir(&t, dir)
						: PL_NEXT(nftw)(dir, fn, num_fds, flags);
}

PL_EXPORT int ftw(const char *dir, ftw_fn *fn, int num_fds)
{
	struct tour t = {.ftw = fn};

	return pl_maybe(dir) && pl_is_ours(dir) ? tour_dir(&t, dir)
						: PL_NEXT(ftw)(dir, fn, num_fds);
}

typedef int nftw64_fn(const char *path, const struct stat64 *st, int type, struct FTW *ftw);
typedef int ftw64_fn(const char *path, const struct stat64 *st, int type);
PL_EXPORT int nftw64(const char *dir, nftw64_fn *fn, int num_fds, int flags)
	__attribute__((alias("nftw")));
PL_EXPORT int ftw64(const char *dir, ftw64_fn *fn, int num_fds) __attribute__((alias("ftw")));
