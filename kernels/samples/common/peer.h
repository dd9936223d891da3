/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* peer.h - messages between two processes of a sample, over TCP, beside the adapter's network. */
#ifndef DPA_SAMPLE_PEER_H
#define DPA_SAMPLE_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include "res.h"

/*
 * Listen (prints "listening on port N") or connect, as the command line requires. Returns the
 * descriptor; -1 with a message on stderr.
 */
int peer_open(const struct args *a);
/* Send and receive a message with its length. The caller frees a received message. */
bool peer_put(int fd, const void *data, size_t len);
void *peer_get(int fd, size_t *len);
/* Wait until both sides have reached this point. False: the other side is gone. */
bool peer_meet(int fd);

#endif
