/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * socket.c - the program's RDMA netlink sockets, and the calls that send to them.
 *
 * The program gets a socket of NETLINK_USERSOCK, which needs no privilege. The program binds,
 * polls, receives, duplicates and closes it as any other socket. A send call answers the request
 * before it returns: a second socket, the answerer, exists during the call and sends the answer.
 *
 * WHICH SOCKETS ARE OURS. The mark is in the open file: a value of SO_RCVLOWAT, which netlink does
 * not use. So the mark holds for duplicates, in forked children and after exec. Reading it is a
 * system call. Therefore it is read only while the process may have such a socket (may_have()).
 *
 * STRANGERS. Any process of the network namespace can send to a USERSOCK socket that is not
 * connected. Only the peer can send to a connected one. Our socket is connected to the answerer
 * during a request, and to itself otherwise. It cannot be connected before the program has bound
 * it. Messages that arrived before its first request are from strangers and are discarded. A
 * connection does not keep multicast messages out, and every process may send them: no group can be
 * joined.
 */
#include <errno.h>
#include <limits.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../preload.h"
#include "nl.h"

#define MARK	     0x0dba4e4c
#define CONNECTS     100 /* two senders on one socket disconnect each other's answerer */
#define FIRST_MISSES 64	 /* calls on other descriptors before all are looked at again */

/*
 * The process has no socket of ours if both numbers are equal. `made` counts the sockets that were
 * created; its first value 1 stands for sockets inherited by exec. `none` is the value of `made`
 * for which two checks of all descriptors, at different times, found none (one check at start, when
 * there is one thread).
 */
static _Atomic unsigned made = 1, none, none_once;
static _Atomic unsigned misses, misses_until_look = FIRST_MISSES;

#define GET(word)	 atomic_load_explicit(&(word), memory_order_relaxed)
#define SET(word, value) atomic_store_explicit(&(word), value, memory_order_relaxed)

static bool option_is(int fd, int level, int name, int wanted)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return syscall(SYS_getsockopt, fd, level, name, &value, &len) == 0 && value == wanted;
}

/*
 * 1: ours; 0: not ours; -1: no open descriptor. Does not change errno. Sandboxes that forbid
 * getsockopt(2) allow fstat(2), which shows that a descriptor is no socket.
 */
static int has_mark(int fd)
{
	int err = errno, ret = 0;
	struct stat st;

	if (syscall(SYS_fstat, fd, &st) < 0)
		ret = errno == EBADF ? -1 : 0;
	else if (S_ISSOCK(st.st_mode))
		ret = option_is(fd, SOL_SOCKET, SO_RCVLOWAT, MARK) &&
		      option_is(fd, SOL_SOCKET, SO_PROTOCOL, NETLINK_USERSOCK);
	errno = err;
	return ret;
}

/*
 * True if a descriptor is marked. Checks numbers from 0 on until `gap` of them are free in a row: a
 * descriptor table can be large, and its end cannot be queried. *looked: number of checks.
 */
static bool look_in_gap(int gap, unsigned *looked)
{
	int fd, unused = 0, mark = 0;

	for (fd = 0; unused < gap && mark != 1; fd++) {
		mark = has_mark(fd);
		unused = mark < 0 ? unused + 1 : 0;
	}
	*looked = (unsigned)fd;
	return mark == 1;
}

/* Checks less often than is_nl_socket() is called, so that the checks cost less than the calls. */
static PL_OUT_OF_LINE void look_again(void)
{
	unsigned now = GET(made), looked;

	SET(misses, 0);
	if (look_in_gap(1024, &looked))
		SET(none_once, 0);
	else if (GET(none_once) == now)
		SET(none, now);
	else
		SET(none_once, now);
	SET(misses_until_look, FIRST_MISSES + looked);
}

/*
 * The next definitions, found at start, because a signal handler may call write(2) but not
 * dlsym(3). Calls of other libraries' constructors come before that.
 */
static struct {
	_Atomic(void *) send, sendto, sendmsg, sendmmsg, write, writev, bind, setsockopt;
} next;
#define NEXT(name) ((__typeof__(&(name)))pl_next(&next.name, #name))

/* Runs before a sandbox of the program can forbid getsockopt(2). Inherited descriptors are low. */
__attribute__((constructor)) static void look_at_start(void)
{
	unsigned looked;

	(void)NEXT(send);
	(void)NEXT(sendto);
	(void)NEXT(sendmsg);
	(void)NEXT(sendmmsg);
	(void)NEXT(write);
	(void)NEXT(writev);
	(void)NEXT(bind);
	(void)NEXT(setsockopt);
	if (GET(made) == 1 && (!pl_enabled() || !look_in_gap(16, &looked)))
		SET(none, 1);
}

static inline bool may_have(void)
{
	return __builtin_expect(GET(made) != GET(none), 0);
}

static PL_OUT_OF_LINE bool is_nl_socket(int fd)
{
	if (has_mark(fd) == 1)
		return true;
	if (atomic_fetch_add_explicit(&misses, 1, memory_order_relaxed) >= GET(misses_until_look))
		look_again();
	return false;
}

int nl_socket(int type)
{
	int fd, mark = MARK;

	if (nl_sysfs_only()) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	fd = (int)syscall(SYS_socket, AF_NETLINK, type, NETLINK_USERSOCK);

	if (fd < 0) {
		/* without this protocol, or forbidden: there is no RDMA netlink */
		if (errno == EAFNOSUPPORT || errno == EPERM || errno == EACCES)
			errno = EPROTONOSUPPORT;
		return -1;
	}
	atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof(mark)) || has_mark(fd) != 1) {
		syscall(SYS_close, fd);
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return fd;
}

/* -------------------------------------------------------------- answering */

/* The program's socket and the answerer. */
struct call {
	int fd, answerer;
	uint32_t port_id, answerer_id;
};

static int connect_netlink(int fd, uint32_t port_id)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_pid = port_id};

	return syscall(SYS_connect, fd, &a, sizeof(a)) < 0 ? -errno : 0;
}

/* peer: port id of the socket's peer; 0: none. Otherwise its own; 0: not bound. */
static uint32_t port_of(int fd, bool peer)
{
	struct sockaddr_nl a = {0};
	socklen_t len = sizeof(a);

	if (syscall(peer ? SYS_getpeername : SYS_getsockname, fd, &a, &len) < 0)
		return 0;
	return a.nl_pid;
}

static void discard_queue(int fd)
{
	char byte;

	while (syscall(SYS_recvfrom, fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC, NULL, NULL) >= 0)
		;
}

/* Binds to a random port id. Bit 31 is set, because programs choose process ids. */
static int bind_answerer(struct call *c)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK};

	for (int i = 0; i < 16; i++) {
		if (getrandom(&a.nl_pid, sizeof(a.nl_pid), 0) != sizeof(a.nl_pid))
			return -EIO;
		a.nl_pid |= 0x80000000u;
		if (syscall(SYS_bind, c->answerer, &a, sizeof(a)) == 0) {
			c->answerer_id = a.nl_pid;
			return 0;
		}
		if (errno != EADDRINUSE)
			break;
	}
	return -errno;
}

static int start_call(struct call *c)
{
	bool first = port_of(c->fd, true) == 0;
	int ret;

	c->answerer =
		(int)syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);
	if (c->answerer < 0)
		return -errno;
	ret = bind_answerer(c);
	if (!ret)
		ret = connect_netlink(c->fd, c->answerer_id); /* binds it if the program did not */
	if (ret) {
		syscall(SYS_close, c->answerer);
		return ret;
	}
	if (first)
		discard_queue(c->fd);
	c->port_id = port_of(c->fd, false);
	return 0;
}

static void end_call(const struct call *c)
{
	(void)connect_netlink(c->fd, c->port_id);
	syscall(SYS_close, c->answerer);
}

/* Doubles the room of the program's queue. False: it has the maximum size. */
static bool more_room(int fd)
{
	int before = 0, after = 0;
	socklen_t len = sizeof(before);

	/* the kernel doubles the value that is set, and returns the doubled one */
	if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_RCVBUF, &before, &len) < 0 ||
	    syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVBUF, &before, sizeof(before)) < 0 ||
	    syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_RCVBUF, &after, &len) < 0)
		return false;
	return after > before;
}

static int deliver_answer(void *arg, const void *data, size_t len)
{
	struct call *c = arg;
	struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_pid = c->port_id};
	int connects = 0;

	while (syscall(SYS_sendto, c->answerer, data, len, MSG_DONTWAIT | MSG_NOSIGNAL, &to,
		       sizeof(to)) < 0) {
		switch (errno) {
		case EINTR:
			continue;
		case EAGAIN:
			if (more_room(c->fd))
				continue;
			discard_queue(c->fd); /* make room for the error */
			return -ENOBUFS;
		case ECONNREFUSED: /* another sender's answerer is connected */
			if (++connects <= CONNECTS && !connect_netlink(c->fd, c->answerer_id))
				continue;
			return -ECONNREFUSED;
		default:
			return -errno;
		}
	}
	return 0;
}

/* 0, or -errno as from sendmsg(2) of a NETLINK_RDMA socket. */
static int check_address(const struct msghdr *m)
{
	const struct sockaddr_nl *to = m->msg_name;

	if (!to || !m->msg_namelen)
		return 0;
	if (m->msg_namelen < sizeof(*to) || to->nl_family != AF_NETLINK)
		return -EINVAL;
	return to->nl_pid || to->nl_groups ? -EPERM : 0; /* to the kernel only */
}

/* Copies the datagram once: the program may change it meanwhile. *len: its length, or -errno. */
static void *gather_iov(const struct msghdr *m, ssize_t *len)
{
	size_t total = 0, at = 0;
	uint8_t *data;

	if (m->msg_iovlen > IOV_MAX) {
		*len = -EMSGSIZE;
		return NULL;
	}
	for (size_t i = 0; i < (size_t)m->msg_iovlen; i++) {
		if (m->msg_iov[i].iov_len > NL_MAX_REQUEST - total) {
			*len = -EMSGSIZE;
			return NULL;
		}
		total += m->msg_iov[i].iov_len;
	}
	data = malloc(total ? total : 1);
	*len = data ? (ssize_t)total : -ENOBUFS;
	for (size_t i = 0; data && i < (size_t)m->msg_iovlen; i++) {
		size_t n = m->msg_iov[i].iov_len;

		if (n)
			memcpy(data + at, m->msg_iov[i].iov_base, n);
		at += n;
	}
	return data;
}

static int serve_request(int fd, const void *data, size_t len)
{
	struct call c = {.fd = fd};
	struct nl_env env = {.arg = &c, .deliver = deliver_answer};
	int ret = start_call(&c);

	if (ret)
		return ret;
	env.port_id = c.port_id;
	env.cap_ack = option_is(fd, SOL_NETLINK, NETLINK_CAP_ACK, 1);
	env.ext_ack = option_is(fd, SOL_NETLINK, NETLINK_EXT_ACK, 1);
	nl_device_env(&env);
	ret = nl_serve(&env, data, len);
	end_call(&c);
	return ret;
}

/*
 * sendmsg(2) for a socket of ours: returns the length, or -1 and errno. The calls that produce the
 * answer are cancellation points, which must not end the thread halfway.
 */
static PL_OUT_OF_LINE ssize_t send_ours(int fd, const struct msghdr *m, int flags)
{
	int err = errno, ret = flags & MSG_OOB ? -EOPNOTSUPP : check_address(m), cancel;
	ssize_t len = 0;
	void *data;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	data = ret ? NULL : gather_iov(m, &len);
	if (len < 0)
		ret = (int)len;
	if (!ret)
		ret = serve_request(fd, data, (size_t)len);
	free(data);
	(void)pthread_setcancelstate(cancel, NULL);
	errno = ret ? -ret : err;
	return ret ? -1 : len;
}

static PL_OUT_OF_LINE ssize_t send_buf(int fd, const void *buf, size_t len, int flags,
				       const struct sockaddr *to, socklen_t tolen)
{
	struct iovec v = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
	struct msghdr m = {.msg_name = (void *)(uintptr_t)to,
			   .msg_namelen = tolen,
			   .msg_iov = &v,
			   .msg_iovlen = 1};

	return send_ours(fd, &m, flags);
}

/* ------------------------------------------------------------------ calls */

PL_EXPORT int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA && pl_enabled())
		return nl_socket(type);
	return PL_NEXT(socket)(domain, type, protocol);
}

PL_EXPORT int bind(int fd, const struct sockaddr *a, socklen_t len)
{
	if (may_have() && a && len >= sizeof(struct sockaddr_nl) && a->sa_family == AF_NETLINK &&
	    ((const struct sockaddr_nl *)(const void *)a)->nl_groups && is_nl_socket(fd)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return NEXT(bind)(fd, a, len);
}

PL_EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (level == SOL_NETLINK && name == NETLINK_ADD_MEMBERSHIP && may_have() &&
	    is_nl_socket(fd)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return NEXT(setsockopt)(fd, level, name, value, len);
}

PL_EXPORT ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	if (may_have() && is_nl_socket(fd))
		return send_buf(fd, buf, len, flags, NULL, 0);
	return NEXT(send)(fd, buf, len, flags);
}

PL_EXPORT ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
			 socklen_t tolen)
{
	if (may_have() && is_nl_socket(fd))
		return send_buf(fd, buf, len, flags, to, tolen);
	return NEXT(sendto)(fd, buf, len, flags, to, tolen);
}

PL_EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	if (may_have() && is_nl_socket(fd))
		return send_ours(fd, m, flags);
	return NEXT(sendmsg)(fd, m, flags);
}

PL_EXPORT int sendmmsg(int fd, struct mmsghdr *v, unsigned n, int flags)
{
	if (!may_have() || !is_nl_socket(fd))
		return NEXT(sendmmsg)(fd, v, n, flags);
	for (unsigned i = 0; i < n; i++) {
		ssize_t len = send_ours(fd, &v[i].msg_hdr, flags);

		if (len < 0)
			return i ? (int)i : -1;
		v[i].msg_len = (unsigned)len;
	}
	return (int)n;
}

PL_EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
	if (may_have() && is_nl_socket(fd))
		return send_buf(fd, buf, len, 0, NULL, 0);
	return NEXT(write)(fd, buf, len);
}

PL_EXPORT ssize_t writev(int fd, const struct iovec *v, int n)
{
	struct msghdr m = {.msg_iov = (struct iovec *)(uintptr_t)v, .msg_iovlen = (size_t)n};

	if (n >= 0 && n <= IOV_MAX && may_have() && is_nl_socket(fd))
		return send_ours(fd, &m, 0);
	return NEXT(writev)(fd, v, n);
}
