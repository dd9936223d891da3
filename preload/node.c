/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * node.c - the file behind the device node. libibverbs needs a character device with the number in
 * the tree's `dev` file, 1:3, and does not use it otherwise. /dev/null has that number. If a
 * container has no /dev/null, a memfd takes its place and the result of fstat is corrected: all
 * stand-ins are duplicates of one memfd, identified by its inode.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "preload.h"

#define NODE_DEV makedev(1, 3)

/* Inode of the stand-in; 0: there is none. Inodes of memfds are not reused soon. */
static _Atomic uint64_t stand_in;

int pl_check_flags(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) ? EACCES : 0;
}

static bool is_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == NODE_DEV;
}

/* Direct system calls, because fstat of the library leads back here. */
static bool raw_fstat(int fd, struct stat *st)
{
	return syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH) == 0;
}

static void look_like_node(struct stat *st)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = NODE_DEV;
	st->st_size = 0;
	st->st_blocks = 0;
}

void pl_node_fix(struct stat *st)
{
	uint64_t ino = atomic_load_explicit(&stand_in, memory_order_relaxed);

	if (__builtin_expect(ino != 0, 0) && st->st_ino == ino && S_ISREG(st->st_mode))
		look_like_node(st);
}

/* All stand-ins are duplicates of one, so they have its inode. */
static int stand_in_open(int flags)
{
	static _Atomic int keep = -1;
	int fd = atomic_load_explicit(&keep, memory_order_relaxed);
	struct stat st;

	if (fd < 0 || !raw_fstat(fd, &st) ||
	    st.st_ino != atomic_load_explicit(&stand_in, memory_order_relaxed)) {
		fd = memfd_create(PL_UVERBS, MFD_CLOEXEC);
		if (fd < 0 || !raw_fstat(fd, &st))
			return -1;
		atomic_store_explicit(&stand_in, st.st_ino, memory_order_relaxed);
		atomic_store_explicit(&keep, fd, memory_order_relaxed);
	}
	return fcntl(fd, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
}

int pl_node_open(int flags)
{
	int fd = PL_NEXT(openat)(AT_FDCWD, "/dev/null", flags & ~(O_CREAT | O_TRUNC | O_EXCL));
	struct stat st;

	if (fd >= 0 && raw_fstat(fd, &st) && is_null(&st))
		return fd;
	if (fd >= 0)
		syscall(SYS_close, fd);
	return stand_in_open(flags);
}

int pl_node_stat(struct stat *st)
{
	if (syscall(SYS_newfstatat, AT_FDCWD, "/dev/null", st, 0) == 0 && is_null(st))
		return 0;
	memset(st, 0, sizeof(*st));
	st->st_nlink = 1;
	look_like_node(st);
	return 0;
}
