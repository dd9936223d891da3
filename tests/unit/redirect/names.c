/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * names.c - a library that imports open(), fstat(), stat() and read() by one of the names that a
 * distribution's build of rdma-core may give them: CALL_OPEN and so on. Without the macro the
 * library does not make that call.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names.h"

#ifdef CALL_OPEN
int open_as(const char *path, int flags, ...) __asm__(CALL_OPEN);

static int do_open(const char *path, int flags)
{
	return open_as(path, flags, 0600);
}
#else
#define do_open NULL
#endif

#ifdef CALL_FSTAT
int fstat_as(int fd, struct stat *st) __asm__(CALL_FSTAT);

static int do_fstat(int fd, struct stat *st)
{
	return fstat_as(fd, st);
}
#else
#define do_fstat NULL
#endif

#ifdef CALL_STAT
int stat_as(const char *path, struct stat *st) __asm__(CALL_STAT);

static int do_stat(const char *path, struct stat *st)
{
	return stat_as(path, st);
}
#else
#define do_stat NULL
#endif

#ifdef CALL_READ
ssize_t read_as(int fd, void *buf, size_t n, size_t room) __asm__(CALL_READ);

static ssize_t do_read(int fd, void *buf, size_t n)
{
	return read_as(fd, buf, n, n);
}
#else
#define do_read NULL
#endif

#define NAME_(kind) names_##kind
#define NAME(kind)  NAME_(kind)
const struct names NAME(KIND) = {do_open, do_fstat, do_stat, do_read};
