/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * feed.h - takes rings of processes: capture, trace. Processes connect to an abstract socket of
 * dpactl and pass a memfd each (device/inspect/feed.h).
 */
#ifndef DPACTL_FEED_H
#define DPACTL_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FEED_NAME 64 /* room for the name of a listener */

/*
 * Listen by a random name "dpa/KIND/...", which no other process has yet. Every user can read it
 * in /proc/net/unix, connect to it, and take it once this listener is gone: each side therefore
 * compares the user of the other. Returns a descriptor; ends the process on errors.
 */
int feed_listen(const char *kind, char name[FEED_NAME]);
/*
 * True if a tool of this user listens by that name: an earlier one that still runs. False for a
 * listener of another user, and for one that accepts nothing for 0.2 s while its backlog is full.
 */
bool feed_is_heard(const char *name);
/* Accept a process of this user. Returns a descriptor and its pid; -1: there is none. */
int feed_accept(int listener, uint32_t *pid);
/*
 * Read the first message of a process: exactly n bytes, and a descriptor. Returns 1 and sets *memfd
 * (-1: it came without); 0: nothing yet; -1: it has hung up, or sent something else.
 */
int feed_hello(int fd, void *hello, size_t n, int *memfd);
/* Map a sealed memfd of that many bytes for reading and writing; NULL: it is another kind of file. */
void *feed_map(int fd, size_t bytes);

/* Ctrl-C and SIGTERM, SIGHUP end a recording: they arrive in feed_wait() only. */
void feed_catch_signals(void);
bool feed_stopped(void);
int feed_signals(void); /* how many came, up to 100 */
/* Sleep until a process connects, a signal arrives, or ns have passed. */
void feed_wait(int listener, uint64_t ns);

#endif
