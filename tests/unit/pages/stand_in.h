/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* stand_in.h - a device of a name that this host does not have. */
#ifndef DPA_TESTS_PAGES_STAND_IN_H
#define DPA_TESTS_PAGES_STAND_IN_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

/*
 * A folder /dev of this process alone, with a device of that name (/dev/null), open. -1: that cannot
 * be had.
 */
static inline int open_stand_in(const char *name)
{
	int null = open("/dev/null", O_PATH | O_CLOEXEC), fd;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", null);
	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return -1;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/dev", "tmpfs", 0, NULL))
		return -1;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || close(fd) || mount(path, name, NULL, MS_BIND, NULL))
		return -1;
	close(null);
	return open(name, O_RDWR | O_CLOEXEC);
}

#endif
