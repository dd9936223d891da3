/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stat.c - stat(2), access(2), readlink(2), realpath(3) and chdir(2) in their spellings, those of
 * programs built before glibc 2.33 (__xstat and its kin) included.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "preload.h"

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "the 64 variants are aliases");

/*
 * The next definition, or the system call where the library has none: before glibc 2.33 stat and
 * its kin were inline calls of __xstat.
 */
static int real_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	__typeof__(&fstatat) real = PL_NEXT(fstatat);

	return real ? real(dirfd, path, st, flags)
		    : (int)syscall(SYS_newfstatat, dirfd, path, st, flags);
}

static int real_stat(const char *path, struct stat *st)
{
	__typeof__(&stat) real = PL_NEXT(stat);

	return real ? real(path, st) : real_fstatat(AT_FDCWD, path, st, 0);
}

static int real_lstat(const char *path, struct stat *st)
{
	__typeof__(&lstat) real = PL_NEXT(lstat);

	return real ? real(path, st) : real_fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

static int real_fstat(int fd, struct stat *st)
{
	__typeof__(&fstat) real = PL_NEXT(fstat);

	return real ? real(fd, st) : real_fstatat(fd, "", st, AT_EMPTY_PATH);
}

/* By way of the descriptor that it would be read through. */
static int live_stat(const struct pl_path *p, struct stat *st)
{
	int fd = pl_live_open(p->function, p->at, O_CLOEXEC), ret;

	if (fd < 0)
		return -1;
	ret = real_fstat(fd, st);
	close(fd);
	st->st_mode = S_IFREG | 0444;
	return ret;
}

static PL_OUT_OF_LINE int stat_ours(int dirfd, const char *path, struct stat *st, int flags)
{
	struct pl_path p;

	switch (pl_lookup(dirfd, path, &p)) {
	case PL_FILE:
		return real_fstatat(AT_FDCWD, p.at, st, flags);
	case PL_LIVE:
		return live_stat(&p, st);
	case PL_NODE:
		return pl_node_stat(st);
	default:
		return real_fstatat(dirfd, path, st, flags);
	}
}

PL_EXPORT int fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	int ret;

	if (pl_maybe(path))
		return stat_ours(dirfd, path, st, flags);
	ret = real_fstatat(dirfd, path, st, flags);
	if (ret == 0 && (flags & AT_EMPTY_PATH))
		pl_node_fix(st);
	return ret;
}

PL_EXPORT int stat(const char *path, struct stat *st)
{
	return pl_maybe(path) ? stat_ours(AT_FDCWD, path, st, 0) : real_stat(path, st);
}

PL_EXPORT int lstat(const char *path, struct stat *st)
{
	return pl_maybe(path) ? stat_ours(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW)
			      : real_lstat(path, st);
}

PL_EXPORT int fstat(int fd, struct stat *st)
{
	int ret = real_fstat(fd, st);

	if (ret == 0)
		pl_node_fix(st);
	return ret;
}

#define ALIAS(ret, name, args, of) PL_EXPORT ret name args __attribute__((alias(#of)))

ALIAS(int, stat64, (const char *path, struct stat64 *st), stat);
ALIAS(int, lstat64, (const char *path, struct stat64 *st), lstat);
ALIAS(int, fstat64, (int fd, struct stat64 *st), fstat);
ALIAS(int, fstatat64, (int fd, const char *path, struct stat64 *st, int flags), fstatat);

/* The version argument is that of struct stat, of which these machines have one. */
int __xstat(int ver, const char *path, struct stat *st);
int __lxstat(int ver, const char *path, struct stat *st);
int __fxstat(int ver, int fd, struct stat *st);
int __fxstatat(int ver, int fd, const char *path, struct stat *st, int flags);

PL_EXPORT int __xstat(int ver, const char *path, struct stat *st)
{
	return stat(path, st);
}

PL_EXPORT int __lxstat(int ver, const char *path, struct stat *st)
{
	return lstat(path, st);
}

PL_EXPORT int __fxstat(int ver, int fd, struct stat *st)
{
	return fstat(fd, st);
}

PL_EXPORT int __fxstatat(int ver, int fd, const char *path, struct stat *st, int flags)
{
	return fstatat(fd, path, st, flags);
}

int __xstat64(int ver, const char *path, struct stat64 *st);
int __lxstat64(int ver, const char *path, struct stat64 *st);
int __fxstat64(int ver, int fd, struct stat64 *st);
int __fxstatat64(int ver, int fd, const char *path, struct stat64 *st, int flags);
ALIAS(int, __xstat64, (int ver, const char *path, struct stat64 *st), __xstat);
ALIAS(int, __lxstat64, (int ver, const char *path, struct stat64 *st), __lxstat);
ALIAS(int, __fxstat64, (int ver, int fd, struct stat64 *st), __fxstat);
ALIAS(int, __fxstatat64, (int ver, int fd, const char *path, struct stat64 *st, int flags),
      __fxstatat);

/* statx is asked about a path or descriptor that stands for it; the node's answer is patched. */
static PL_OUT_OF_LINE int statx_ours(int dirfd, const char *path, int flags, unsigned mask,
				     struct statx *stx)
{
	__typeof__(&statx) real = PL_NEXT(statx);
	struct pl_path p;
	struct stat st;
	int fd, ret;

	switch (pl_lookup(dirfd, path, &p)) {
	case PL_FILE:
		return real(AT_FDCWD, p.at, flags, mask, stx);
	case PL_LIVE:
	case PL_NODE:
		fd = p.kind == PL_LIVE ? pl_live_open(p.function, p.at, O_CLOEXEC)
				       : pl_node_open(O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -1;
		ret = real(fd, "", flags | AT_EMPTY_PATH, mask, stx);
		close(fd);
		pl_node_stat(&st);
		stx->stx_mode = p.kind == PL_LIVE ? S_IFREG | 0444 : (uint16_t)st.st_mode;
		stx->stx_rdev_major = p.kind == PL_LIVE ? 0 : major(st.st_rdev);
		stx->stx_rdev_minor = p.kind == PL_LIVE ? 0 : minor(st.st_rdev);
		return ret;
	default:
		return real(dirfd, path, flags, mask, stx);
	}
}

PL_EXPORT int statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *stx)
{
	return pl_maybe(path) ? statx_ours(dirfd, path, flags, mask, stx)
			      : PL_NEXT(statx)(dirfd, path, flags, mask, stx);
}

/*
 * A file of ours. faccessat() is the faccessat2 system call in newer C libraries, which older
 * container runtimes refuse with EPERM. Then access() gives the same answer if the real user is the
 * effective one.
 */
static int access_file(const char *path, int mode, int flags)
{
	int ret = PL_NEXT(faccessat)(AT_FDCWD, path, mode, flags);

	if (ret && errno == EPERM &&
	    (!(flags & AT_EACCESS) || (getuid() == geteuid() && getgid() == getegid())))
		ret = PL_NEXT(access)(path, mode);
	return ret;
}

static PL_OUT_OF_LINE int access_ours(int dirfd, const char *path, int mode, int flags)
{
	__typeof__(&faccessat) real = PL_NEXT(faccessat);
	struct pl_path p;
	struct stat st;

	switch (pl_lookup(dirfd, path, &p)) {
	case PL_PASS:
	case PL_MERGE:
		return real(dirfd, path, mode, flags);
	case PL_FILE:
		if (!(mode & W_OK))
			return access_file(p.at, mode, flags);
		break;
	case PL_LIVE:
		if (live_stat(&p, &st))
			return -1;
		if (!(mode & (W_OK | X_OK)))
			return 0;
		break;
	case PL_NODE:
		if (!(mode & X_OK))
			return 0;
		break;
	}
	errno = EACCES;
	return -1;
}

PL_EXPORT int faccessat(int dirfd, const char *path, int mode, int flags)
{
	return pl_maybe(path) ? access_ours(dirfd, path, mode, flags)
			      : PL_NEXT(faccessat)(dirfd, path, mode, flags);
}

PL_EXPORT int access(const char *path, int mode)
{
	return pl_maybe(path) ? access_ours(AT_FDCWD, path, mode, 0) : PL_NEXT(access)(path, mode);
}

PL_EXPORT int eaccess(const char *path, int mode)
{
	return pl_maybe(path) ? access_ours(AT_FDCWD, path, mode, AT_EACCESS)
			      : PL_NEXT(eaccess)(path, mode);
}

ALIAS(int, euidaccess, (const char *path, int mode), eaccess);

static PL_OUT_OF_LINE ssize_t readlink_ours(int dirfd, const char *path, char *buf, size_t len)
{
	__typeof__(&readlinkat) real = PL_NEXT(readlinkat);
	struct pl_path p;

	switch (pl_lookup(dirfd, path, &p)) {
	case PL_PASS:
	case PL_MERGE:
		return real(dirfd, path, buf, len);
	case PL_FILE:
		return real(AT_FDCWD, p.at, buf, len);
	default:
		errno = EINVAL; /* no symlink */
		return -1;
	}
}

PL_EXPORT ssize_t readlinkat(int dirfd, const char *path, char *buf, size_t len)
{
	return pl_maybe(path) ? readlink_ours(dirfd, path, buf, len)
			      : PL_NEXT(readlinkat)(dirfd, path, buf, len);
}

PL_EXPORT ssize_t readlink(const char *path, char *buf, size_t len)
{
	return pl_maybe(path) ? readlink_ours(AT_FDCWD, path, buf, len)
			      : PL_NEXT(readlink)(path, buf, len);
}

ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t room);
ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t len, size_t room);

PL_EXPORT ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t room)
{
	return len <= room ? readlink(path, buf, len) : (abort(), -1);
}

PL_EXPORT ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t len, size_t room)
{
	return len <= room ? readlinkat(dirfd, path, buf, len) : (abort(), -1);
}

/* An entry of ours resolves to itself: where its text comes from is nobody's business. */
static PL_OUT_OF_LINE char *realpath_ours(const char *path, char *resolved)
{
	struct pl_path p;
	struct stat st;

	switch (pl_lookup(AT_FDCWD, path, &p)) {
	case PL_PASS:
	case PL_MERGE:
		return PL_NEXT(realpath)(path, resolved);
	default:
		break;
	}
	if (stat_ours(AT_FDCWD, path, &st, 0))
		return NULL;
	if (path[0] != '/' || strlen(path) >= PATH_MAX) {
		errno = EACCES;
		return NULL;
	}
	return resolved ? strcpy(resolved, path) : strdup(path);
}

PL_EXPORT char *realpath(const char *path, char *resolved)
{
	return pl_maybe(path) ? realpath_ours(path, resolved) : PL_NEXT(realpath)(path, resolved);
}

char *__realpath_chk(const char *path, char *resolved, size_t room);

PL_EXPORT char *__realpath_chk(const char *path, char *resolved, size_t room)
{
	if (resolved && room < PATH_MAX)
		abort();
	return realpath(path, resolved);
}

PL_EXPORT char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

static PL_OUT_OF_LINE int chdir_ours(const char *path)
{
	struct pl_path p;

	return PL_NEXT(chdir)(pl_lookup(AT_FDCWD, path, &p) == PL_FILE ? p.at : path);
}

PL_EXPORT int chdir(const char *path)
{
	return pl_maybe(path) ? chdir_ours(path) : PL_NEXT(chdir)(path);
}
