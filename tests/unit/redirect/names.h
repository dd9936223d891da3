/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The calls of one library that it may import by several names; NULL: it does not make them. */
struct names {
	int (*open)(const char *path, int flags);
	int (*fstat)(int fd, struct stat *st);
	int (*stat)(const char *path, struct stat *st);
	ssize_t (*read)(int fd, void *buf, size_t n);
};

#endif
