/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sys.h - calls on the device's own descriptors that bypass the C library.
 * A preloaded library may have replaced socket() and similar functions for the whole process
 * (librspreload makes RDMA sockets of them, and after rdma-core 64 epoll instances of its own,
 * which do not accept kernel descriptors). Calls of the device must not lead back to the device.
 * None is a cancellation point. Each returns the result of the C library's function, with errno.
 */
#ifndef DPA_SYS_H
#define DPA_SYS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* For the device's own memory: the preload records the advice of programs. */
static inline int dpa_sys_madvise(void *at, size_t n, int advice)
{
	return (int)syscall(SYS_madvise, at, n, advice);
}

static inline int dpa_sys_socket(int family, int type, int protocol)
{
	return (int)syscall(SYS_socket, family, type, protocol);
}

static inline int dpa_sys_bind(int fd, const void *addr, socklen_t len)
{
	return (int)syscall(SYS_bind, fd, addr, len);
}

static inline int dpa_sys_listen(int fd, int backlog)
{
	return (int)syscall(SYS_listen, fd, backlog);
}

static inline int dpa_sys_accept4(int fd, void *addr, socklen_t *len, int flags)
{
	return (int)syscall(SYS_accept4, fd, addr, len, flags);
}

static inline int dpa_sys_connect(int fd, const void *addr, socklen_t len)
{
	return (int)syscall(SYS_connect, fd, addr, len);
}

static inline int dpa_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return (int)syscall(SYS_getsockopt, fd, level, name, value, len);
}

static inline int dpa_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}

static inline ssize_t dpa_sys_sendto(int fd, const void *p, size_t n, int flags, const void *addr,
				     socklen_t len)
{
	return syscall(SYS_sendto, fd, p, n, flags, addr, len);
}

static inline ssize_t dpa_sys_send(int fd, const void *p, size_t n, int flags)
{
	return dpa_sys_sendto(fd, p, n, flags, NULL, 0);
}

static inline ssize_t dpa_sys_recvfrom(int fd, void *p, size_t n, int flags, void *addr,
				       socklen_t *len)
{
	return syscall(SYS_recvfrom, fd, p, n, flags, addr, len);
}

static inline ssize_t dpa_sys_recv(int fd, void *p, size_t n, int flags)
{
	return dpa_sys_recvfrom(fd, p, n, flags, NULL, NULL);
}

static inline ssize_t dpa_sys_sendmsg(int fd, const struct msghdr *m, int flags)
{
	return syscall(SYS_sendmsg, fd, m, flags);
}

static inline ssize_t dpa_sys_recvmsg(int fd, struct msghdr *m, int flags)
{
	return syscall(SYS_recvmsg, fd, m, flags);
}

/* timeout in milliseconds; -1: none */
static inline int dpa_sys_poll(struct pollfd *p, nfds_t n, int timeout)
{
	const struct timespec ts = {.tv_sec = timeout / 1000,
				    .tv_nsec = (long)(timeout % 1000) * 1000000};

	return (int)syscall(SYS_ppoll, p, n, timeout < 0 ? NULL : &ts, NULL, 0);
}

static inline int dpa_sys_epoll_create1(int flags)
{
	return (int)syscall(SYS_epoll_create1, flags);
}

static inline int dpa_sys_epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev)
{
	return (int)syscall(SYS_epoll_ctl, epfd, op, fd, ev);
}

/* timeout in milliseconds; -1: none */
static inline int dpa_sys_epoll_wait(int epfd, struct epoll_event *ev, int n, int timeout)
{
	return (int)syscall(SYS_epoll_pwait, epfd, ev, n, timeout, NULL, 0);
}

/* Sleeps for ns, below 1 s; a signal may end it. */
static inline void dpa_sys_nap(uint64_t ns)
{
	const struct timespec ts = {.tv_nsec = (long)ns};

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
}

struct stat;

static inline int dpa_sys_fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

static inline int dpa_sys_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

/* Adds 1 to an eventfd. EAGAIN (the counter is full) means that its reader is awake. */
static inline void dpa_eventfd_wake(int fd)
{
	uint64_t one = 1;

	syscall(SYS_write, fd, &one, sizeof(one));
}

#endif
