/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stat.c - stat(2) and access(2) in their spellings, including those of programs built before glibc
 * 2.33 (__xstat and related).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "preload.h"

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "the 64 variants are aliases");

/*
 * The next definition, or the system call if the library has none: before glibc 2.33 stat and
 * related functions were inline calls of __xstat.
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

/* Opens the file to get its size. */
static int live_stat(const struct pl_path *p, struct stat *st)
{
	int fd = pl_live_open(p->function, p->at, O_CLOEXEC), ret;

	if (fd < 0 && errno == EINVAL) { /* present but not readable: an empty GID */
		memset(st, 0, sizeof(*st));
		pl_live_look(p->function, p->at, st);
		return 0;
	}
	if (fd < 0)
		return -1;
	ret = real_fstat(fd, st);
	close(fd);
	pl_live_look(p->function, p->at, st);
	return ret;
}

static int link_stat(const struct pl_path *p, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFLNK | 0777;
	st->st_nlink = 1;
	st->st_size = (off_t)strlen(p->at);
	return 0;
}

static PL_OUT_OF_LINE int stat_ours(int dirfd, const char *path, struct stat *st, int flags)
{
	struct pl_path p;

	switch (pl_lookup(dirfd, path, flags & AT_SYMLINK_NOFOLLOW, &p)) {
	case PL_PASS:
		return real_fstatat(dirfd, path, st, flags);
	case PL_LIVE:
		return live_stat(&p, st);
	case PL_LINK:
		return link_stat(&p, st);
	case PL_NODE:
		return pl_node_stat(st);
	case PL_ERROR:
		errno = p.err;
		return -1;
	default:
		return real_fstatat(AT_FDCWD, p.at, st, flags);
	}
}

/* Corrects the kernel's result for a descriptor that stands for a node or a live file. */
static void fix_stat(int fd, struct stat *st)
{
	pl_node_fix(st);
	pl_live_fix(fd, st);
}

PL_EXPORT int fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	int ret;

	if (pl_maybe(path))
		return stat_ours(dirfd, path, st, flags);
	ret = real_fstatat(dirfd, path, st, flags);
	if (ret == 0 && (flags & AT_EMPTY_PATH))
		fix_stat(dirfd, st);
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
		fix_stat(fd, st);
	return ret;
}

#define ALIAS(ret, name, args, of) PL_EXPORT ret name args __attribute__((alias(#of)))

ALIAS(int, stat64, (const char *path, struct stat64 *st), stat);
ALIAS(int, lstat64, (const char *path, struct stat64 *st), lstat);
ALIAS(int, fstat64, (int fd, struct stat64 *st), fstat);
ALIAS(int, fstatat64, (int fd, const char *path, struct stat64 *st, int flags), fstatat);

/* The version argument is that of struct stat; these machines have only one. */
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

/* Fills statx from stat, for an entry that is not a file of the file system. */
static void fill_statx(struct statx *stx, const struct stat *st)
{
	*stx = (struct statx){
		.stx_mask = STATX_BASIC_STATS,
		.stx_blksize = (uint32_t)st->st_blksize,
		.stx_nlink = (uint32_t)st->st_nlink,
		.stx_uid = st->st_uid,
		.stx_gid = st->st_gid,
		.stx_mode = (uint16_t)st->st_mode,
		.stx_ino = st->st_ino,
		.stx_size = (uint64_t)st->st_size,
		.stx_blocks = (uint64_t)st->st_blocks,
		.stx_atime = {.tv_sec = st->st_atime},
		.stx_mtime = {.tv_sec = st->st_mtime},
		.stx_ctime = {.tv_sec = st->st_ctime},
		.stx_rdev_major = major(st->st_rdev),
		.stx_rdev_minor = minor(st->st_rdev),
		.stx_dev_major = major(st->st_dev),
		.stx_dev_minor = minor(st->st_dev),
	};
}

static PL_OUT_OF_LINE int statx_ours(int dirfd, const char *path, int flags, unsigned mask,
				     struct statx *stx)
{
	__typeof__(&statx) real = PL_NEXT(statx);
	struct pl_path p;
	struct stat st;

	switch (pl_lookup(dirfd, path, flags & AT_SYMLINK_NOFOLLOW, &p)) {
	case PL_PASS:
		return real(dirfd, path, flags, mask, stx);
	case PL_LIVE:
	case PL_LINK:
	case PL_NODE:
	case PL_ERROR:
		if (stat_ours(dirfd, path, &st, flags & AT_SYMLINK_NOFOLLOW))
			return -1;
		fill_statx(stx, &st);
		return 0;
	default:
		return real(AT_FDCWD, p.at, flags, mask, stx);
	}
}

/* The same as fix_stat(). */
static PL_OUT_OF_LINE void fix_statx(int fd, struct statx *stx)
{
	struct stat st = {
		.st_dev = makedev(stx->stx_dev_major, stx->stx_dev_minor),
		.st_mode = stx->stx_mode,
		.st_nlink = stx->stx_nlink,
		.st_ino = stx->stx_ino,
		.st_size = (off_t)stx->stx_size,
		.st_blocks = (blkcnt_t)stx->stx_blocks,
		.st_rdev = makedev(stx->stx_rdev_major, stx->stx_rdev_minor),
	};

	fix_stat(fd, &st);
	stx->stx_mode = (uint16_t)st.st_mode;
	stx->stx_nlink = (uint32_t)st.st_nlink;
	stx->stx_ino = st.st_ino;
	stx->stx_size = (uint64_t)st.st_size;
	stx->stx_blocks = (uint64_t)st.st_blocks;
	stx->stx_rdev_major = major(st.st_rdev);
	stx->stx_rdev_minor = minor(st.st_rdev);
}

PL_EXPORT int statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *stx)
{
	int ret;

	if (pl_maybe(path))
		return statx_ours(dirfd, path, flags, mask, stx);
	ret = PL_NEXT(statx)(dirfd, path, flags, mask, stx);
	if (ret == 0 && (flags & AT_EMPTY_PATH))
		fix_statx(dirfd, stx);
	return ret;
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
	struct pl_path p;
	int denied = 0, err = EACCES; /* modes that no file of ours has */

	switch (pl_lookup(dirfd, path, flags & AT_SYMLINK_NOFOLLOW, &p)) {
	case PL_PASS:
		return PL_NEXT(faccessat)(dirfd, path, mode, flags);
	case PL_HOST:
	case PL_MERGE:
		return PL_NEXT(faccessat)(AT_FDCWD, p.at, mode, flags);
	case PL_FILE:
		if (access_file(p.at, mode & ~W_OK, flags))
			return -1;
		denied = W_OK;
		break;
	case PL_LIVE:
		denied = W_OK | X_OK;
		break;
	case PL_NODE:
		denied = X_OK;
		break;
	case PL_LINK:
		break;
	case PL_ERROR:
		denied = mode;
		err = p.err;
	}
	if (!(mode & denied) && p.kind != PL_ERROR)
		return 0;
	errno = err;
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
