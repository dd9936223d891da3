/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* io.h - sends and receives whole messages on a socket. False: the other side is gone. */
#ifndef DPA_SAMPLE_IO_H
#define DPA_SAMPLE_IO_H

#include <stdbool.h>
#include <stddef.h>

bool io_put(int fd, const void *data, size_t n);
bool io_get(int fd, void *data, size_t n);

#endif
