/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* caller.c - a library that makes the calls that redirect.c redirects. */
#include <sys/ioctl.h>
#include <unistd.h>

#include "caller.h"

static ssize_t do_write(int fd, const void *buf, size_t n)
{
	return write(fd, buf, n);
}

static ssize_t do_read(int fd, void *buf, size_t n)
{
	return read(fd, buf, n);
}

static int do_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg);
}

static int do_close(int fd)
{
	return close(fd);
}

#define NAME_(kind) caller_##kind
#define NAME(kind)  NAME_(kind)
const struct caller NAME(KIND) = {do_write, do_read, do_ioctl, do_close};
