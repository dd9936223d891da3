/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* attr.c - extended attributes, which ls -l asks for and which nothing of ours has. */
#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>

#include "preload.h"

/* If so, errno says that there is no such attribute. */
static PL_OUT_OF_LINE bool is_ours(const char *path)
{
	struct pl_path p;

	switch (pl_lookup(AT_FDCWD, path, false, &p)) {
	case PL_PASS:
	case PL_HOST:
	case PL_MERGE:
		return false;
	default:
		errno = ENODATA;
		return true;
	}
}

PL_EXPORT ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	if (pl_maybe(path) && is_ours(path))
		return -1;
	return PL_NEXT(getxattr)(path, name, value, size);
}

PL_EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	if (pl_maybe(path) && is_ours(path))
		return -1;
	return PL_NEXT(lgetxattr)(path, name, value, size);
}

PL_EXPORT ssize_t listxattr(const char *path, char *list, size_t size)
{
	return pl_maybe(path) && is_ours(path) ? 0 : PL_NEXT(listxattr)(path, list, size);
}

PL_EXPORT ssize_t llistxattr(const char *path, char *list, size_t size)
{
	return pl_maybe(path) && is_ours(path) ? 0 : PL_NEXT(llistxattr)(path, list, size);
}
