/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hooks.h - what the provider answers in place of the system calls of libibverbs.
 *
 * redirect.c points the imported write, read, ioctl and close of the loaded libibverbs.so at
 * functions that ask these hooks first; librdmacm's open and fstat, too. Each returns true when the
 * descriptor is the provider's (a cmd_fd, the read end of a completion channel or of an
 * asynchronous event queue, or an event channel of rdma_cm): then *ret and errno are those of the
 * call. False: not ours, make the real call. They may be called at any time by any thread, in a
 * forked child too.
 */
#ifndef DPA_HOOKS_H
#define DPA_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* A cmd_fd: CREATE_COMP_CHANNEL is answered, every other command is EOPNOTSUPP. */
bool dpa_hook_write(int fd, const void *buf, size_t n, ssize_t *ret);
/* A channel or event descriptor: drives progress until there is something, then reads. */
bool dpa_hook_read(int fd, void *buf, size_t n, ssize_t *ret);
/* A cmd_fd: the GID queries are answered, every other method is EPROTONOSUPPORT. */
bool dpa_hook_ioctl(int fd, unsigned long request, void *arg, int *ret);
/* The node of rdma_cm: *fd is a new event channel, or -1. Else the caller opens it. */
bool dpa_hook_open(const char *path, int flags, int *fd);
/* After the real fstat: an event channel is a character device. */
void dpa_hook_fstat(int fd, struct stat *st);
/* Forgets the descriptor; the caller always makes the real close, so *ret is not set. */
bool dpa_hook_close(int fd);

#endif
