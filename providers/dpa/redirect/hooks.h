/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hooks.h - the provider's functions in place of the system calls of libibverbs. redirect.c points
 * the imported write, read, ioctl and close of the loaded libibverbs.so at functions that call
 * these hooks first; also open and fstat of librdmacm. Each hook returns true if the descriptor is
 * the provider's (a cmd_fd, the read end of a completion channel or of an asynchronous event queue,
 * or an event channel of rdma_cm): then *ret and errno are the call's result. False: not ours, make
 * the real call. Any thread may call them at any time, also in a forked child.
 */
#ifndef DPA_HOOKS_H
#define DPA_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* A cmd_fd: CREATE_COMP_CHANNEL is carried out; every other command is EOPNOTSUPP. */
bool dpa_hook_write(int fd, const void *buf, size_t n, ssize_t *ret);
/* A channel or event descriptor: drive progress until there is an event, then read it. */
bool dpa_hook_read(int fd, void *buf, size_t n, ssize_t *ret);
/* A cmd_fd: the GID queries are carried out; every other method is EPROTONOSUPPORT. */
bool dpa_hook_ioctl(int fd, unsigned long request, void *arg, int *ret);
/*
 * The node of rdma_cm: *fd is a new event channel, or -1. For other paths the caller makes the real
 * call.
 */
bool dpa_hook_open(const char *path, int flags, int *fd);
/* After the real fstat: an event channel is a character device. */
void dpa_hook_fstat(int fd, struct stat *st);
/* Remove the descriptor. The caller always makes the real close, so *ret is not set. */
bool dpa_hook_close(int fd);

#endif
