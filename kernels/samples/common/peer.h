/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* peer.h - what two processes of a sample tell each other beside the network of the adapter: TCP.
 */
#ifndef DPA_SAMPLE_PEER_H
#define DPA_SAMPLE_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include "res.h"

/*
 * Listens ("listening on port N" is printed) or connects, as the command line says. The descriptor,
 * or -1 with a line on stderr.
 */
int peer_open(const struct args *a);
/* A message with its length; what is got is the caller's to free. */
bool peer_put(int fd, const void *data, size_t len);
void *peer_get(int fd, size_t *len);
/* Both come to the same point; false if the other one is gone. */
bool peer_meet(int fd);

#endif
