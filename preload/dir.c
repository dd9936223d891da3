/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dir.c - directories that the host has too: their stream ends with further entries.
 *
 * The streams concerned are remembered in a small table; while it is empty, which is always in a
 * program without RDMA, reading a directory costs one load more.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload.h"

_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "the 64 variants are aliases");

#define MAX_STREAMS 64

/*
 * A slot is taken by a compare-and-swap of `dir`; what else is in it belongs to the user of the
 * stream, who may not use it from two threads at once.
 */
static struct stream {
	_Atomic(DIR *) dir;
	struct pl_more more; /* from is the next one */
	unsigned first;
	struct dirent entry;
} streams[MAX_STREAMS];
static _Atomic int num_streams;

static struct stream *find_stream(DIR *dir)
{
	if (__builtin_expect(!atomic_load_explicit(&num_streams, memory_order_acquire), 1))
		return NULL;
	for (int i = 0; i < MAX_STREAMS; i++)
		if (atomic_load_explicit(&streams[i].dir, memory_order_acquire) == dir)
			return &streams[i];
	return NULL;
}

/* With all slots taken the entry is not shown: 64 open streams of these folders are a leak. */
static void remember(DIR *dir, const struct pl_more *more)
{
	static DIR *const none;

	for (int i = 0; i < MAX_STREAMS; i++) {
		DIR *expected = none;

		if (!atomic_compare_exchange_strong(&streams[i].dir, &expected, dir))
			continue;
		streams[i].more = *more;
		streams[i].first = more->from;
		atomic_fetch_add(&num_streams, 1);
		return;
	}
}

static void forget(DIR *dir)
{
	struct stream *s = find_stream(dir);

	if (!s)
		return;
	atomic_fetch_sub(&num_streams, 1);
	atomic_store_explicit(&s->dir, NULL, memory_order_release);
}

static PL_OUT_OF_LINE DIR *opendir_ours(const char *path)
{
	__typeof__(&opendir) real = PL_NEXT(opendir);
	struct pl_path p;
	DIR *dir;

	switch (pl_lookup(AT_FDCWD, path, &p)) {
	case PL_FILE:
	case PL_MERGE:
		dir = real(p.kind == PL_FILE ? p.at : path);
		if (dir && p.more.from < p.more.to)
			remember(dir, &p.more);
		return dir;
	case PL_LIVE:
	case PL_NODE:
		errno = ENOTDIR;
		return NULL;
	default:
		return real(path);
	}
}

PL_EXPORT DIR *opendir(const char *path)
{
	return pl_maybe(path) ? opendir_ours(path) : PL_NEXT(opendir)(path);
}

/* A merged directory opened by open(2), as fts and ls -R do it: known by where it is. */
static PL_OUT_OF_LINE void remember_fd(DIR *dir, int fd)
{
	char link[40], path[PATH_MAX];
	struct pl_path p;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = PL_NEXT(readlink)(link, path, sizeof(path) - 1);
	if (n <= 0)
		return;
	path[n] = '\0';
	if (pl_maybe(path) && pl_lookup(AT_FDCWD, path, &p) == PL_MERGE)
		remember(dir, &p.more);
}

PL_EXPORT DIR *fdopendir(int fd)
{
	DIR *dir = PL_NEXT(fdopendir)(fd);
	int err = errno;

	if (dir && pl_enabled())
		remember_fd(dir, fd);
	errno = err;
	return dir;
}

PL_EXPORT int closedir(DIR *dir)
{
	forget(dir);
	return PL_NEXT(closedir)(dir);
}

/* The entry after the last one; NULL when all were given out. */
static struct dirent *extra_entry(struct stream *s)
{
	if (s->more.from >= s->more.to)
		return NULL;
	memset(&s->entry, 0, sizeof(s->entry));
	s->entry.d_ino = 1;
	s->entry.d_reclen = sizeof(s->entry);
	s->entry.d_type = DT_UNKNOWN; /* a folder in sysfs, a device in /dev: stat knows */
	pl_entry_name(s->more.stem, s->more.from++, s->entry.d_name, sizeof(s->entry.d_name));
	return &s->entry;
}

PL_EXPORT struct dirent *readdir(DIR *dir)
{
	struct stream *s = find_stream(dir);
	struct dirent *ent;
	int err = errno;

	if (!s)
		return PL_NEXT(readdir)(dir);
	errno = 0;
	ent = PL_NEXT(readdir)(dir);
	if (ent || errno)
		return ent;
	errno = err;
	return extra_entry(s);
}

PL_EXPORT struct dirent64 *readdir64(DIR *dir) __attribute__((alias("readdir")));

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
PL_EXPORT int readdir_r(DIR *dir, struct dirent *buf, struct dirent **result)
{
	int ret = PL_NEXT(readdir_r)(dir, buf, result);
	struct stream *s = ret == 0 && !*result ? find_stream(dir) : NULL;
	struct dirent *ent = s ? extra_entry(s) : NULL;

	if (ent) {
		*buf = *ent;
		*result = buf;
	}
	return ret;
}

PL_EXPORT int readdir64_r(DIR *dir, struct dirent64 *buf, struct dirent64 **result)
	__attribute__((alias("readdir_r")));
#pragma GCC diagnostic pop

PL_EXPORT void rewinddir(DIR *dir)
{
	struct stream *s = find_stream(dir);

	if (s)
		s->more.from = s->first;
	PL_NEXT(rewinddir)(dir);
}

typedef int filter_fn(const struct dirent *);
typedef int compare_fn(const struct dirent **, const struct dirent **);

/* Copies an entry to the end of the list, which grows by doubling. */
static bool append(struct dirent ***list, size_t num, const struct dirent *ent)
{
	struct dirent *copy;

	if ((num & (num - 1)) == 0) {
		size_t room = num ? num * 2 : 1;
		void *more = realloc(*list, room * sizeof(**list));

		if (!more)
			return false;
		*list = more;
	}
	copy = malloc(sizeof(*copy));
	if (!copy)
		return false;
	memcpy(copy, ent, ent->d_reclen < sizeof(*copy) ? ent->d_reclen : sizeof(*copy));
	(*list)[num] = copy;
	return true;
}

/* The library's scandir reads by ways of its own, so folders of ours are read here. */
static PL_OUT_OF_LINE int scandir_ours(const char *path, struct dirent ***list, filter_fn *filter,
				       compare_fn *compare)
{
	struct dirent **found = NULL, *ent;
	size_t num = 0;
	DIR *dir;

	dir = opendir(path);
	if (!dir)
		return -1;
	while ((ent = readdir(dir))) {
		if (filter && !filter(ent))
			continue;
		if (!append(&found, num, ent))
			goto no_memory;
		num++;
	}
	closedir(dir);
	if (compare && num)
		qsort(found, num, sizeof(*found), (int (*)(const void *, const void *))compare);
	*list = found;
	return (int)num;

no_memory:
	while (num > 0)
		free(found[--num]);
	free(found);
	closedir(dir);
	errno = ENOMEM;
	return -1;
}

PL_EXPORT int scandir(const char *path, struct dirent ***list, filter_fn *filter,
		      compare_fn *compare)
{
	return pl_maybe(path) ? scandir_ours(path, list, filter, compare)
			      : PL_NEXT(scandir)(path, list, filter, compare);
}

PL_EXPORT int scandir64(const char *path, struct dirent64 ***list,
			int (*filter)(const struct dirent64 *),
			int (*compare)(const struct dirent64 **, const struct dirent64 **))
	__attribute__((alias("scandir")));

static void close_stream(void *dir)
{
	(void)closedir(dir);
}

/* So does its glob, which lets itself be told whom to ask. */
static PL_OUT_OF_LINE int glob_ours(const char *pattern, int flags, int (*errfn)(const char *, int),
				    glob_t *g)
{
	if (flags & GLOB_ALTDIRFUNC)
		return PL_NEXT(glob)(pattern, flags, errfn, g);
	g->gl_opendir = (void *(*)(const char *))opendir;
	g->gl_readdir = (struct dirent * (*)(void *)) readdir;
	g->gl_closedir = close_stream;
	g->gl_stat = stat;
	g->gl_lstat = lstat;
	return PL_NEXT(glob)(pattern, flags | GLOB_ALTDIRFUNC, errfn, g);
}

PL_EXPORT int glob(const char *pattern, int flags, int (*errfn)(const char *, int), glob_t *g)
{
	return pl_maybe(pattern) ? glob_ours(pattern, flags, errfn, g)
				 : PL_NEXT(glob)(pattern, flags, errfn, g);
}

PL_EXPORT int glob64(const char *pattern, int flags, int (*errfn)(const char *, int), glob64_t *g)
	__attribute__((alias("glob")));
