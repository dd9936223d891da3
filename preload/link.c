/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * link.c - readlink(2), realpath(3), chdir(2) and getcwd(3) in their spellings. A folder of ours
 * that is opened or entered is one of the tree. If the kernel returns its path, that is converted
 * to the path that the program uses.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "place.h"
#include "preload.h"

/* Copies the target of a link; cuts it off at len, as readlink(2) does. */
static ssize_t put_target(const char *target, char *buf, size_t len)
{
	size_t n = strlen(target);

	memcpy(buf, target, n < len ? n : len);
	return (ssize_t)(n < len ? n : len);
}

static PL_OUT_OF_LINE ssize_t readlink_ours(int dirfd, const char *path, char *buf, size_t len)
{
	__typeof__(&readlinkat) real = PL_NEXT(readlinkat);
	struct pl_path p;

	switch (pl_lookup(dirfd, path, true, &p)) {
	case PL_PASS:
		return real(dirfd, path, buf, len);
	case PL_HOST:
	case PL_MERGE:
	case PL_FILE:
		return real(AT_FDCWD, p.at, buf, len);
	case PL_LINK:
		return put_target(p.at, buf, len);
	default:
		errno = p.kind == PL_ERROR ? p.err : EINVAL; /* no symlink */
		return -1;
	}
}

/*
 * Sets shown to the path by which the program names a folder of the tree. False: path is not in the
 * tree, and shown is unchanged.
 */
static PL_OUT_OF_LINE bool show_link(const char *path, char shown[PATH_MAX])
{
	const char *root, *rest = pl_shown(path, &root);

	return rest && snprintf(shown, PATH_MAX, "%s%s", root, rest) < PATH_MAX;
}

/*
 * A link such as /proc/self/fd/N: replaces a path of the tree by the shown path. The kernel's
 * result is n characters in buf, and may be cut off. Returns the new length. Does not change errno.
 */
static PL_OUT_OF_LINE ssize_t show_proc(int dirfd, const char *link, char *buf, ssize_t n,
					size_t len)
{
	char path[PATH_MAX], shown[PATH_MAX];
	ssize_t whole;
	int err = errno;

	whole = PL_NEXT(readlinkat)(dirfd, link, path, sizeof(path) - 1);
	errno = err;
	if (whole < n)
		return n;
	path[whole] = '\0';
	if (!show_link(path, shown))
		return n;
	memset(buf, 0, (size_t)n); /* some programs rely on zeros after the text */
	return put_target(shown, buf, len);
}

PL_EXPORT ssize_t readlinkat(int dirfd, const char *path, char *buf, size_t len)
{
	ssize_t n;

	if (pl_maybe(path))
		return readlink_ours(dirfd, path, buf, len);
	n = PL_NEXT(readlinkat)(dirfd, path, buf, len);
	if (n > 0 && atomic_load_explicit(&pl_seen, memory_order_relaxed) &&
	    strncmp(path, "/proc/", 6) == 0)
		return show_proc(dirfd, path, buf, n, len);
	return n;
}

PL_EXPORT ssize_t readlink(const char *path, char *buf, size_t len)
{
	return readlinkat(AT_FDCWD, path, buf, len);
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

static PL_OUT_OF_LINE char *realpath_ours(const char *path, char *resolved)
{
	struct pl_path p;
	const char *found = p.path;
	int err = 0;

	switch (pl_lookup(AT_FDCWD, path, false, &p)) {
	case PL_PASS:
		return PL_NEXT(realpath)(path, resolved);
	case PL_HOST:
		return PL_NEXT(realpath)(p.at, resolved);
	case PL_MERGE:
	case PL_FILE:
		err = pl_exists(p.at) ? 0 : errno;
		break;
	case PL_ERROR:
		err = p.err;
		break;
	default:
		break;
	}
	if (err) {
		errno = err;
		return NULL;
	}
	return resolved ? strcpy(resolved, found) : strdup(found);
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

	switch (pl_lookup(AT_FDCWD, path, false, &p)) {
	case PL_PASS:
		return PL_NEXT(chdir)(path);
	case PL_LIVE:
	case PL_NODE:
		errno = ENOTDIR;
		return -1;
	case PL_ERROR:
		errno = p.err;
		return -1;
	default:
		return PL_NEXT(chdir)(p.at);
	}
}

PL_EXPORT int chdir(const char *path)
{
	return pl_maybe(path) ? chdir_ours(path) : PL_NEXT(chdir)(path);
}

/*
 * The working directory is one of the tree: returns its shown path, which may have another length.
 */
static PL_OUT_OF_LINE char *getcwd_ours(char *buf, size_t len)
{
	char path[PATH_MAX], shown[PATH_MAX];

	if (!pl_fd_path(AT_FDCWD, path, sizeof(path)) || !show_link(path, shown))
		return PL_NEXT(getcwd)(buf, len);
	if (!buf && len == 0)
		return strdup(shown);
	if (strlen(shown) >= len) {
		errno = len ? ERANGE : EINVAL;
		return NULL;
	}
	if (!buf)
		buf = malloc(len);
	return buf ? strcpy(buf, shown) : NULL;
}

PL_EXPORT char *getcwd(char *buf, size_t len)
{
	return atomic_load_explicit(&pl_seen, memory_order_relaxed) ? getcwd_ours(buf, len)
								    : PL_NEXT(getcwd)(buf, len);
}

char *__getcwd_chk(char *buf, size_t len, size_t room);

PL_EXPORT char *__getcwd_chk(char *buf, size_t len, size_t room)
{
	if (len > room)
		abort();
	return getcwd(buf, len);
}

PL_EXPORT char *get_current_dir_name(void)
{
	return atomic_load_explicit(&pl_seen, memory_order_relaxed)
		       ? getcwd(NULL, 0)
		       : PL_NEXT(get_current_dir_name)();
}
