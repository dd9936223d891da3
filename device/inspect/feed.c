/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* feed.c - connections to a tool: see feed.h. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "inspect/feed.h"
#include "util/sys.h"

bool dpa_keep_fd(struct dpa_kept_fd *k, int fd)
{
	struct stat st;

	if (fstat(fd, &st)) {
		close(fd);
		return false;
	}
	*k = (struct dpa_kept_fd){.fd = fd, .dev = st.st_dev, .ino = st.st_ino};
	return true;
}

bool dpa_still_ours(const struct dpa_kept_fd *k)
{
	struct stat st;

	return k->fd >= 0 && !fstat(k->fd, &st) && st.st_dev == k->dev && st.st_ino == k->ino;
}

void dpa_close_kept_fd(struct dpa_kept_fd *k)
{
	if (dpa_still_ours(k))
		close(k->fd);
	k->fd = -1;
}

int dpa_feed_send(int sock, const void *hello, size_t n, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)hello, .iov_len = n};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.buf,
			   .msg_controllen = sizeof(u.buf)};

	CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
	CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
	CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(int));
	return dpa_sys_sendmsg(sock, &m, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}

int dpa_feed_connect(const char *name)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	size_t n = strlen(name);
	struct ucred uc;
	socklen_t len = sizeof(uc);
	int fd;

	if (n + 1 > sizeof(sa.sun_path)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(sa.sun_path + 1, name, n);
	fd = dpa_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (!dpa_sys_connect(fd, (struct sockaddr *)&sa,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) &&
	    !dpa_sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &uc, &len)) {
		if (uc.uid == geteuid())
			return fd;
		errno = EPERM;
	}
	n = (size_t)errno;
	close(fd);
	errno = (int)n;
	return -1;
}

bool dpa_feed_hung_up(const struct dpa_kept_fd *sock)
{
	ssize_t n;
	char b;

	if (!dpa_still_ours(sock))
		return true;
	n = dpa_sys_recv(sock->fd, &b, 1, MSG_DONTWAIT | MSG_PEEK);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}
