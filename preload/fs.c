/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fs.c - statfs(2) and statvfs(3) in their spellings: libudev accepts a device only if it is on a
 * sysfs.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "place.h"
#include "preload.h"

_Static_assert(sizeof(struct statfs) == sizeof(struct statfs64), "the 64 variants are aliases");
_Static_assert(sizeof(struct statvfs) == sizeof(struct statvfs64), "the 64 variants are aliases");

/* Returns the host's value, or that of every sysfs. */
static int sysfs_stat(struct statfs *fs)
{
	int err = errno;

	if (PL_NEXT(statfs)("/sys", fs) == 0 && fs->f_type == SYSFS_MAGIC)
		return 0;
	errno = err;
	*fs = (struct statfs){
		.f_type = SYSFS_MAGIC, .f_bsize = 4096, .f_frsize = 4096, .f_namelen = NAME_MAX};
	return 0;
}

static PL_OUT_OF_LINE int statfs_ours(const char *path, struct statfs *fs)
{
	struct pl_path p;
	struct stat st;

	switch (pl_lookup(AT_FDCWD, path, false, &p)) {
	case PL_PASS:
		return PL_NEXT(statfs)(path, fs);
	case PL_HOST:
	case PL_MERGE:
		return PL_NEXT(statfs)(p.at, fs);
	case PL_NODE:
		return PL_NEXT(statfs)("/dev", fs);
	default:
		if (stat(path, &st))
			return -1;
		if (p.root == PL_SYS)
			return sysfs_stat(fs);
		return PL_NEXT(statfs)(p.root == PL_DEV ? "/dev" : "/proc", fs);
	}
}

PL_EXPORT int statfs(const char *path, struct statfs *fs)
{
	return pl_maybe(path) ? statfs_ours(path, fs) : PL_NEXT(statfs)(path, fs);
}

/* True for a folder or file of the tree, or a file that was created at open. */
static PL_OUT_OF_LINE bool is_fd_shown(int fd)
{
	char path[PATH_MAX];
	const char *root;
	int err = errno;
	bool shown;

	shown = pl_fd_path(fd, path, sizeof(path)) &&
		((pl_shown(path, &root) && strcmp(root, "/sys") == 0) || pl_is_live(path));
	errno = err;
	return shown;
}

PL_EXPORT int fstatfs(int fd, struct statfs *fs)
{
	if (atomic_load_explicit(&pl_seen, memory_order_relaxed) && is_fd_shown(fd))
		return sysfs_stat(fs);
	return PL_NEXT(fstatfs)(fd, fs);
}

PL_EXPORT int statfs64(const char *path, struct statfs64 *fs) __attribute__((alias("statfs")));
PL_EXPORT int fstatfs64(int fd, struct statfs64 *fs) __attribute__((alias("fstatfs")));

/* In the same way as the C library, from statfs. */
static int fill_statvfs(struct statvfs *v, const struct statfs *fs)
{
	enum { ST_VALID = 0x20 }; /* the kernel's sign that f_flags is filled in */

	*v = (struct statvfs){
		.f_bsize = (unsigned long)fs->f_bsize,
		.f_frsize = (unsigned long)(fs->f_frsize ? fs->f_frsize : fs->f_bsize),
		.f_blocks = fs->f_blocks,
		.f_bfree = fs->f_bfree,
		.f_bavail = fs->f_bavail,
		.f_files = fs->f_files,
		.f_ffree = fs->f_ffree,
		.f_favail = fs->f_ffree,
		.f_fsid = (unsigned long)(unsigned)fs->f_fsid.__val[0] |
			  (unsigned long)(unsigned)fs->f_fsid.__val[1] << 32,
		.f_flag = (unsigned long)fs->f_flags & ~(unsigned long)ST_VALID,
		.f_namemax = (unsigned long)fs->f_namelen,
	};
	return 0;
}

PL_EXPORT int statvfs(const char *path, struct statvfs *v)
{
	struct statfs fs;

	if (!pl_maybe(path))
		return PL_NEXT(statvfs)(path, v);
	return statfs_ours(path, &fs) ? -1 : fill_statvfs(v, &fs);
}

PL_EXPORT int fstatvfs(int fd, struct statvfs *v)
{
	struct statfs fs;

	if (!atomic_load_explicit(&pl_seen, memory_order_relaxed) || !is_fd_shown(fd))
		return PL_NEXT(fstatvfs)(fd, v);
	return sysfs_stat(&fs) ? -1 : fill_statvfs(v, &fs);
}

PL_EXPORT int statvfs64(const char *path, struct statvfs64 *v) __attribute__((alias("statvfs")));
PL_EXPORT int fstatvfs64(int fd, struct statvfs64 *v) __attribute__((alias("fstatvfs")));
