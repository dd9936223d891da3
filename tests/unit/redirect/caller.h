/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef CALLER_H
#define CALLER_H

#include <stddef.h>
#include <sys/types.h>

/* The calls of one library. */
struct caller {
	ssize_t (*write)(int fd, const void *buf, size_t n);
	ssize_t (*read)(int fd, void *buf, size_t n);
	int (*ioctl)(int fd, unsigned long request, void *arg);
	int (*close)(int fd);
};

extern const struct caller caller_now, caller_lazy, caller_noplt, caller_later, caller_other;

#endif
