/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* open.c - open(2), creat(2), fopen(3), freopen(3) in their spellings; on 64-bit, open64 is open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "place.h"
#include "preload.h"

_Static_assert(sizeof(off_t) == 8, "the 64 variants are aliases");

/* Returns the error of opening an entry of ours for writing. It may be missing, or a folder. */
static int open_refusal(const char *at, int flags)
{
	struct stat st;

	if (syscall(SYS_newfstatat, AT_FDCWD, at, &st, 0))
		return errno == ENOENT && flags & O_CREAT ? EACCES : errno;
	return S_ISDIR(st.st_mode) ? EISDIR : EACCES;
}

static PL_OUT_OF_LINE int open_ours(int dirfd, const char *path, int flags, mode_t mode)
{
	__typeof__(&openat) real = PL_NEXT(openat);
	struct pl_path p;
	int err;

	switch (pl_lookup(dirfd, path, flags & O_NOFOLLOW, &p)) {
	case PL_PASS:
		return real(dirfd, path, flags, mode);
	case PL_HOST:
	case PL_MERGE:
		return real(AT_FDCWD, p.at, flags, mode);
	case PL_FILE:
		if (!pl_check_flags(flags))
			return real(AT_FDCWD, p.at, flags);
		err = open_refusal(p.at, flags);
		break;
	case PL_NODE:
		if (!(flags & O_DIRECTORY))
			return pl_node_open(flags);
		err = ENOTDIR;
		break;
	case PL_LIVE:
		err = flags & O_DIRECTORY ? ENOTDIR : pl_check_flags(flags);
		if (!err)
			return pl_live_open(p.function, p.at, flags);
		break;
	case PL_LINK: /* O_NOFOLLOW */
		err = ELOOP;
		break;
	default:
		err = p.err;
	}
	errno = err;
	return -1;
}

/* The third argument is present only if a file may be created. */
#define MODE_ARG(flags)                                                                            \
	({                                                                                         \
		mode_t mode_ = 0;                                                                  \
		if ((flags) & (O_CREAT | __O_TMPFILE)) {                                           \
			va_list ap_;                                                               \
			va_start(ap_, flags);                                                      \
			mode_ = va_arg(ap_, mode_t);                                               \
			va_end(ap_);                                                               \
		}                                                                                  \
		mode_;                                                                             \
	})

PL_EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode = MODE_ARG(flags);

	if (pl_maybe(path))
		return open_ours(AT_FDCWD, path, flags, mode);
	return PL_NEXT(open)(path, flags, mode);
}

PL_EXPORT int openat(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = MODE_ARG(flags);

	if (pl_maybe(path))
		return open_ours(dirfd, path, flags, mode);
	return PL_NEXT(openat)(dirfd, path, flags, mode);
}

PL_EXPORT int open64(const char *path, int flags, ...) __attribute__((alias("open")));
PL_EXPORT int openat64(int dirfd, const char *path, int flags, ...)
	__attribute__((alias("openat")));

PL_EXPORT int creat(const char *path, mode_t mode)
{
	return open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

PL_EXPORT int creat64(const char *path, mode_t mode) __attribute__((alias("creat")));

/* The spellings in programs built with _FORTIFY_SOURCE: they never create a file. */
int __open_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

PL_EXPORT int __open_2(const char *path, int flags)
{
	return open(path, flags & ~O_CREAT);
}

PL_EXPORT int __openat_2(int dirfd, const char *path, int flags)
{
	return openat(dirfd, path, flags & ~O_CREAT);
}

PL_EXPORT int __open64_2(const char *path, int flags) __attribute__((alias("__open_2")));
PL_EXPORT int __openat64_2(int dirfd, const char *path, int flags)
	__attribute__((alias("__openat_2")));

/* Converts fopen's mode to flags: only reading is possible here. */
static int mode_flags(const char *mode)
{
	int flags = mode[0] == 'r' && !strchr(mode, '+') ? O_RDONLY : O_RDWR;

	return strchr(mode, 'e') ? flags | O_CLOEXEC : flags;
}

static PL_OUT_OF_LINE FILE *fopen_ours(const char *path, const char *mode)
{
	struct pl_path p;
	FILE *f;
	int fd, err;

	switch (pl_lookup(AT_FDCWD, path, false, &p)) {
	case PL_PASS:
		return PL_NEXT(fopen)(path, mode);
	case PL_HOST:
	case PL_MERGE:
		return PL_NEXT(fopen)(p.at, mode);
	default:
		break;
	}
	fd = open_ours(AT_FDCWD, path, mode_flags(mode) | (mode[0] == 'r' ? 0 : O_CREAT), 0);
	if (fd < 0)
		return NULL;
	f = fdopen(fd, mode);
	if (!f) {
		err = errno;
		close(fd);
		errno = err;
	}
	return f;
}

PL_EXPORT FILE *fopen(const char *path, const char *mode)
{
	if (pl_maybe(path))
		return fopen_ours(path, mode);
	return PL_NEXT(fopen)(path, mode);
}

PL_EXPORT FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));

/*
 * The C library's freopen() takes a path: /proc/self/fd/N is the path of a descriptor. It opens a
 * live file again at its beginning.
 */
static PL_OUT_OF_LINE FILE *freopen_ours(const char *path, const char *mode, FILE *f)
{
	char link[PL_FD_LINK];
	FILE *ret;
	int fd = open_ours(AT_FDCWD, path, mode_flags(mode) | O_CLOEXEC, 0), err = errno;

	if (fd < 0) { /* the stream is closed in any case */
		fclose(f);
		errno = err;
		return NULL;
	}
	pl_fd_link(fd, link);
	ret = PL_NEXT(freopen)(link, mode, f);
	err = errno;
	close(fd);
	errno = err;
	return ret;
}

PL_EXPORT FILE *freopen(const char *path, const char *mode, FILE *f)
{
	if (pl_maybe(path) && pl_is_ours(path))
		return freopen_ours(path, mode, f);
	return PL_NEXT(freopen)(path, mode, f);
}

PL_EXPORT FILE *freopen64(const char *path, const char *mode, FILE *f)
	__attribute__((alias("freopen")));
