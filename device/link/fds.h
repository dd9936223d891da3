/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fds.h - file descriptors that arrive with a message of a unix socket. */
#ifndef DPA_FDS_H
#define DPA_FDS_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if err means that the process or the machine has no descriptor left. */
static inline bool dpa_no_fds_left(int err)
{
	return err == EMFILE || err == ENFILE;
}

/* A memfd of so many bytes that cannot shrink under its reader. */
static inline bool dpa_fd_is_sealed(int fd, size_t bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && seals & F_SEAL_SHRINK && !fstat(fd, &st) &&
	       (size_t)st.st_size >= bytes;
}

/*
 * Take the descriptors that recvmsg() put into m->msg_control. The first `max` go to fds, the
 * others are closed. Call it after each successful recvmsg(), for every message: even a message
 * without a byte may carry descriptors. Returns the number that arrived. More than `max`, or
 * MSG_CTRUNC in m->msg_flags: some were lost.
 */
static inline int dpa_take_fds(struct msghdr *m, int *fds, int max)
{
	int n = 0, fd;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(fd) <= c->cmsg_len; at += sizeof(fd)) {
			memcpy(&fd, (const char *)c + at, sizeof(fd));
			if (n++ < max)
				fds[n - 1] = fd;
			else
				close(fd);
		}
	}
	return n;
}

#endif
