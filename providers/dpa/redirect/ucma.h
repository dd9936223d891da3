/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ucma.h - the character device rdma_cm, for librdmacm: redirect.c sends its open, fstat and write
 * here. Called by any thread, in a forked child too.
 */
#ifndef DPA_UCMA_H
#define DPA_UCMA_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

struct cma_channel;

/* /dev/infiniband/rdma_cm: makes an event channel; *fd is -1 and errno set if that fails. */
bool dpa_ucma_open(const char *path, int flags, int *fd);
/* A command. The length, or -1 and errno. */
ssize_t dpa_ucma_write(struct cma_channel *ch, const void *buf, size_t n);
/* An event channel is a character device: the kernel's, if that is beside it. */
void dpa_ucma_stat(const struct cma_channel *ch, struct stat *st);

#endif
