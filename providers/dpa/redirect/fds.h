/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fds.h - the descriptors that are ours. Any thread, also in a forked child. */
#ifndef DPA_FDS_H
#define DPA_FDS_H

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

struct cma_channel;
struct dpa_context;

enum dpa_fd_kind { DPA_FD_NONE, DPA_FD_CMD, DPA_FD_CHANNEL, DPA_FD_ASYNC, DPA_FD_CM };

/*
 * A kind of descriptor: its functions in place of the system calls (redirect/hooks.h). NULL: the
 * real call is made; nothing is held; nothing is freed. The program may close the descriptor during
 * a call: hold, under a leaf lock, keeps the owner until put, which also runs at a cancellation.
 */
struct dpa_fd_ops {
	enum dpa_fd_kind kind;
	void (*hold)(void *owner);
	void (*put)(void *owner);
	ssize_t (*write)(void *owner, const void *buf, size_t n);
	ssize_t (*read)(void *owner, int fd, void *buf, size_t n);
	int (*ioctl)(void *owner, unsigned long request, void *arg); /* 0 or a positive errno */
	void (*stat)(const void *owner, struct stat *st);
	void (*closing)(void *owner); /* it is still in the table, and held */
	void (*closed)(void *owner);  /* it was removed from the table */
};

/* Add a descriptor of `owner` to the table. ENOMEM. */
int dpa_fd_add(int fd, const struct dpa_fd_ops *ops, void *owner);
enum dpa_fd_kind dpa_fd_find(int fd, void **owner);
/* Return the channel, held: the caller puts it (cma_channel_put()). NULL: not a channel. */
struct cma_channel *dpa_fd_find_cm(int fd);
void dpa_fd_remove(int fd);
/* Return the context whose cmd_fd has the same open file as fd; NULL: none. */
struct dpa_context *dpa_fd_same_file(int fd);

/* ---- cmd.c: a cmd_fd; owner: dpa_context */
extern const struct dpa_fd_ops dpa_fd_cmd;

#endif
