/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* attr.c - extended attributes, which ls -l requests and which our entries do not have. */
#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>

#include "preload.h"

/* Returns the errno for a path of ours: ENODATA if it exists. */
static int attr_error_of(const struct pl_path *p, const char *path, int flags)
{
	struct stat st;

	if (p->kind == PL_ERROR)
		return p->err;
	/* a file of the tree may be missing */
	return p->kind == PL_FILE && fstatat(AT_FDCWD, path, &st, flags) ? errno : ENODATA;
}

static PL_OUT_OF_LINE ssize_t get_ours(__typeof__(&getxattr) real, int flags, const char *path,
				       const char *name, void *value, size_t size)
{
	struct pl_path p;

	switch (pl_lookup(AT_FDCWD, path, flags & AT_SYMLINK_NOFOLLOW, &p)) {
	case PL_PASS:
		return real(path, name, value, size);
	case PL_HOST:
	case PL_MERGE:
		return real(p.at, name, value, size);
	default:
		errno = attr_error_of(&p, path, flags);
		return -1;
	}
}

static PL_OUT_OF_LINE ssize_t list_ours(__typeof__(&listxattr) real, int flags, const char *path,
					char *list, size_t size)
{
	struct pl_path p;
	int err;

	switch (pl_lookup(AT_FDCWD, path, flags & AT_SYMLINK_NOFOLLOW, &p)) {
	case PL_PASS:
		return real(path, list, size);
	case PL_HOST:
	case PL_MERGE:
		return real(p.at, list, size);
	default:
		err = attr_error_of(&p, path, flags);
		if (err == ENODATA)
			return 0;
		errno = err;
		return -1;
	}
}

PL_EXPORT ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	__typeof__(&getxattr) real = PL_NEXT(getxattr);

	return pl_maybe(path) ? get_ours(real, 0, path, name, value, size)
			      : real(path, name, value, size);
}

PL_EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	__typeof__(&lgetxattr) real = PL_NEXT(lgetxattr);

	return pl_maybe(path) ? get_ours(real, AT_SYMLINK_NOFOLLOW, path, name, value, size)
			      : real(path, name, value, size);
}

PL_EXPORT ssize_t listxattr(const char *path, char *list, size_t size)
{
	__typeof__(&listxattr) real = PL_NEXT(listxattr);

	return pl_maybe(path) ? list_ours(real, 0, path, list, size) : real(path, list, size);
}

PL_EXPORT ssize_t llistxattr(const char *path, char *list, size_t size)
{
	__typeof__(&llistxattr) real = PL_NEXT(llistxattr);

	return pl_maybe(path) ? list_ours(real, AT_SYMLINK_NOFOLLOW, path, list, size)
			      : real(path, list, size);
}
