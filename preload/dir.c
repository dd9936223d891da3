/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dir.c - streams of folders with entries of ours, which come last. A small table holds these
 * streams. In a program without RDMA the table is empty, and reading a folder costs one more load.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "extra.h"
#include "preload.h"

_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "the 64 variants are aliases");

enum {
	MAX_STREAMS = 64,
	/*
	 * telldir() of our entries: positions of the kernel's entries are never negative in sysfs.
	 */
	FIRST_POSITION = -1000000,
};

/*
 * A thread takes a slot by a compare-and-swap of `dir`. The other members belong to the thread that
 * uses the stream: a program may not use a stream in two threads at once.
 */
static struct stream {
	_Atomic(DIR *) dir;
	struct pl_extra *extra;
	size_t next;
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

/*
 * Finds our entries of an opened folder. They are not shown if all slots are taken, which means
 * that a program leaks 64 open streams of these folders.
 */
static void remember_dir(DIR *dir, const struct pl_path *p)
{
	struct pl_extra *extra = pl_extra_find(p);

	for (int i = 0; extra && i < MAX_STREAMS; i++) {
		DIR *none = NULL;

		if (!atomic_compare_exchange_strong(&streams[i].dir, &none, dir))
			continue;
		streams[i].extra = extra;
		streams[i].next = 0;
		atomic_fetch_add(&num_streams, 1);
		return;
	}
	free(extra);
}

static void forget_dir(DIR *dir)
{
	struct stream *s = find_stream(dir);

	if (!s)
		return;
	free(s->extra);
	atomic_fetch_sub(&num_streams, 1);
	atomic_store_explicit(&s->dir, NULL, memory_order_release);
}

static PL_OUT_OF_LINE DIR *opendir_ours(const char *path)
{
	__typeof__(&opendir) real = PL_NEXT(opendir);
	struct pl_path p;
	DIR *dir;
	int err;

	switch (pl_lookup(AT_FDCWD, path, false, &p)) {
	case PL_PASS:
		return real(path);
	case PL_FILE:
	case PL_MERGE:
	case PL_HOST:
		dir = real(p.at);
		err = errno;
		if (dir && p.kind != PL_HOST)
			remember_dir(dir, &p);
		errno = err;
		return dir;
	default:
		errno = p.kind == PL_ERROR ? p.err : ENOTDIR;
		return NULL;
	}
}

PL_EXPORT DIR *opendir(const char *path)
{
	return pl_maybe(path) ? opendir_ours(path) : PL_NEXT(opendir)(path);
}

/*
 * For a folder that was opened by open(2), as fts and ls -R do: the path comes from the descriptor.
 */
static PL_OUT_OF_LINE void remember_fd(DIR *dir, int fd)
{
	enum pl_kind kind;
	struct pl_path p;

	kind = pl_lookup(fd, ".", false, &p);
	if (kind == PL_FILE || kind == PL_MERGE)
		remember_dir(dir, &p);
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
	forget_dir(dir);
	return PL_NEXT(closedir)(dir);
}

/* Returns the next of our entries; NULL: no more. */
static struct dirent *extra_entry(struct stream *s)
{
	const struct pl_entry *e;

	if (s->next >= s->extra->num)
		return NULL;
	e = &s->extra->entries[s->next++];
	memset(&s->entry, 0, sizeof(s->entry));
	s->entry.d_ino = s->next;
	s->entry.d_off = FIRST_POSITION + (off_t)s->next;
	s->entry.d_reclen = sizeof(s->entry);
	s->entry.d_type = e->type;
	strcpy(s->entry.d_name, e->name);
	return &s->entry;
}

PL_EXPORT struct dirent *readdir(DIR *dir)
{
	struct stream *s = find_stream(dir);
	struct dirent *ent;
	int err = errno;

	if (!s)
		return PL_NEXT(readdir)(dir);
	errno = 0; /* distinguishes the end from an error */
	ent = PL_NEXT(readdir)(dir);
	if (!ent && errno)
		return NULL;
	errno = err;
	return ent ? ent : extra_entry(s);
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
		s->next = 0;
	PL_NEXT(rewinddir)(dir);
}

PL_EXPORT long telldir(DIR *dir)
{
	struct stream *s = find_stream(dir);

	return s && s->next ? FIRST_POSITION + (long)s->next : PL_NEXT(telldir)(dir);
}

PL_EXPORT void seekdir(DIR *dir, long position)
{
	struct stream *s = find_stream(dir);
	long ours = position - FIRST_POSITION;

	if (!s || position >= 0) {
		if (s)
			s->next = 0;
		PL_NEXT(seekdir)(dir, position);
		return;
	}
	while (PL_NEXT(readdir)(dir))
		; /* our entries follow the last one */
	s->next = ours > 0 && (size_t)ours <= s->extra->num ? (size_t)ours : s->extra->num;
}

typedef int filter_fn(const struct dirent *);
typedef int compare_fn(const struct dirent **, const struct dirent **);

/* Copies an entry to the end of the list, which grows by doubling. */
static bool append_dirent(struct dirent ***list, size_t num, const struct dirent *ent)
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

/* The library's scandir does not use the replaced functions, so our folders are read here. */
static PL_OUT_OF_LINE int scan_dir(DIR *dir, struct dirent ***list, filter_fn *filter,
				   compare_fn *compare)
{
	struct dirent **found = NULL, *ent;
	int before = errno, err;
	size_t num = 0;

	if (!dir)
		return -1;
	while (errno = 0, ent = readdir(dir)) {
		if (filter && !filter(ent))
			continue;
		if (!append_dirent(&found, num, ent))
			break; /* ENOMEM */
		num++;
	}
	err = errno;
	closedir(dir);
	if (ent || err) {
		while (num > 0)
			free(found[--num]);
		free(found);
		errno = ent ? ENOMEM : err;
		return -1;
	}
	errno = before;
	if (compare && num)
		qsort(found, num, sizeof(*found), (int (*)(const void *, const void *))compare);
	*list = found;
	return (int)num;
}

PL_EXPORT int scandir(const char *path, struct dirent ***list, filter_fn *filter,
		      compare_fn *compare)
{
	return pl_maybe(path) ? scan_dir(opendir(path), list, filter, compare)
			      : PL_NEXT(scandir)(path, list, filter, compare);
}

PL_EXPORT int scandir64(const char *path, struct dirent64 ***list,
			int (*filter)(const struct dirent64 *),
			int (*compare)(const struct dirent64 **, const struct dirent64 **))
	__attribute__((alias("scandir")));

static DIR *opendir_at(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	err = errno;
	if (!dir && fd >= 0)
		close(fd);
	errno = err;
	return dir;
}

PL_EXPORT int scandirat(int dirfd, const char *path, struct dirent ***list, filter_fn *filter,
			compare_fn *compare)
{
	return pl_maybe(path) ? scan_dir(opendir_at(dirfd, path), list, filter, compare)
			      : PL_NEXT(scandirat)(dirfd, path, list, filter, compare);
}

PL_EXPORT int scandirat64(int dirfd, const char *path, struct dirent64 ***list,
			  int (*filter)(const struct dirent64 *),
			  int (*compare)(const struct dirent64 **, const struct dirent64 **))
	__attribute__((alias("scandirat")));

static void close_stream(void *dir)
{
	(void)closedir(dir);
}

/* The library's glob does not either, but it accepts the functions to use from its caller. */
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

/* A pattern that matches our entries may contain none of our words: "/sys/class/inf*". */
PL_EXPORT int glob(const char *pattern, int flags, int (*errfn)(const char *, int), glob_t *g)
{
	return pl_maybe(pattern) || pl_in_sysfs(pattern) ? glob_ours(pattern, flags, errfn, g)
							 : PL_NEXT(glob)(pattern, flags, errfn, g);
}

PL_EXPORT int glob64(const char *pattern, int flags, int (*errfn)(const char *, int), glob64_t *g)
	__attribute__((alias("glob")));
