/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* attr.c - extended attributes, which ls -l asks for and which nothing of ours has. */
#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>

#include "preload.h"

/* ENODATA: a path of ours, which is there. Another error: of such a path. 0: it is the host's. */
static PL_OUT_OF_LINE int error_of(const char *path, int flags)
{
	struct pl_path p;
	struct stat st;

	switch (pl_lookup(AT_FDCWD, path, flags & AT_SYMLINK_NOFOLLOW, &p)) {
	case PL_PASS:
	case PL_HOST:
	case PL_MERGE:
		return 0;
	case PL_FILE: /* it may be missing there */
		return fstatat(AT_FDCWD, path, &st, flags) ? errno : ENODATA;
	case PL_ERROR:
		return p.err;
	default:
		return ENODATA;
	}
}

static bool is_ours(const char *path, int flags)
{
	int err = error_of(path, flags);

	if (err)
		errno = err;
	return err != 0;
}

PL_EXPORT ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	if (pl_maybe(path) && is_ours(path, 0))
		return -1;
	return PL_NEXT(getxattr)(path, name, value, size);
}

PL_EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	if (pl_maybe(path) && is_ours(path, AT_SYMLINK_NOFOLLOW))
		return -1;
	return PL_NEXT(lgetxattr)(path, name, value, size);
}

PL_EXPORT ssize_t listxattr(const char *path, char *list, size_t size)
{
	if (pl_maybe(path) && is_ours(path, 0))
		return errno == ENODATA ? 0 : -1;
	return PL_NEXT(listxattr)(path, list, size);
}

PL_EXPORT ssize_t llistxattr(const char *path, char *list, size_t size)
{
	if (pl_maybe(path) && is_ours(path, AT_SYMLINK_NOFOLLOW))
		return errno == ENODATA ? 0 : -1;
	return PL_NEXT(llistxattr)(path, list, size);
}
