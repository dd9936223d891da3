/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * feed.h - descriptors and connections by which this process passes a ring to a tool: capture.c,
 * timeline.c. The tool listens on an abstract socket; the process connects and sends one message
 * with the memfd of the ring.
 */
#ifndef DPA_FEED_H
#define DPA_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A descriptor and the identity of its file: the application may close it and open another file
 * with the same number.
 */
struct dpa_kept_fd {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

/* Take fd over. False: it is no open file, and was closed. */
bool dpa_keep_fd(struct dpa_kept_fd *k, int fd);
bool dpa_still_ours(const struct dpa_kept_fd *k);
/* Close it if it is still ours. */
void dpa_close_kept_fd(struct dpa_kept_fd *k);

/*
 * Connect to the listener of that abstract name, which must belong to this user. Returns a
 * descriptor, or -1 with errno. EAGAIN: its backlog is full, try again later.
 */
int dpa_feed_connect(const char *name);
/* Send n bytes and a descriptor. 0 or -1. */
int dpa_feed_send(int sock, const void *hello, size_t n, int fd);
/* True if the tool has closed its end, or the application closed ours. */
bool dpa_feed_hung_up(const struct dpa_kept_fd *sock);

#endif
