/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_netlink.c - RDMA netlink sockets under the preload: every way to send, and later uses of
 * such a socket.
 */
#include "preloaded.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <rdma/rdma_netlink.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(netlink, .init = need_preload);

/* A dump of all devices. */
static const struct nlmsghdr dump = {
	.nlmsg_len = sizeof(dump),
	.nlmsg_type = RDMA_NL_NLDEV << 10 | RDMA_NLDEV_CMD_GET,
	.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
	.nlmsg_seq = 77,
};

static int open_socket(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	cr_assert_geq(fd, 0, "%s", strerror(errno));
	return fd;
}

static uint32_t port_of(int fd)
{
	struct sockaddr_nl a = {0};
	socklen_t len = sizeof(a);

	cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	return a.nl_pid;
}

static bool names_dpa0(const struct nlmsghdr *h)
{
	return memmem(h, h->nlmsg_len, "dpa0", 5) != NULL;
}

/* Read the answer to a dump, which must be complete in the queue. */
static bool answered(int fd)
{
	_Alignas(8) char buf[8192];
	bool found = false;

	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		const struct nlmsghdr *h = (const void *)buf;

		if (n < (ssize_t)sizeof(*h) || h->nlmsg_seq != 77 || h->nlmsg_pid != port_of(fd))
			return false;
		for (size_t at = 0; at + sizeof(*h) <= (size_t)n; at += NLMSG_ALIGN(h->nlmsg_len)) {
			h = (const void *)(buf + at);
			if (h->nlmsg_type == NLMSG_DONE)
				return found;
			if (h->nlmsg_len < sizeof(*h) || h->nlmsg_len > (size_t)n - at)
				return false;
			found |= names_dpa0(h);
		}
	}
}

static bool asks(int fd)
{
	return send(fd, &dump, sizeof(dump), 0) == (ssize_t)sizeof(dump) && answered(fd);
}

Test(netlink, ways_to_send)
{
	int fd = open_socket();
	char *at = (char *)(uintptr_t)&dump;
	struct iovec v[2] = {{at, 5}, {at + 5, sizeof(dump) - 5}};
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	struct mmsghdr m[2] = {0};

	cr_expect_eq(bind(fd, (struct sockaddr *)&kernel, sizeof(kernel)), 0);
	errno = 4711;
	cr_expect_eq(send(fd, &dump, sizeof(dump), 0), 16);
	cr_expect_eq(errno, 4711);
	cr_expect(answered(fd));
	cr_expect_eq(sendto(fd, &dump, sizeof(dump), 0, (struct sockaddr *)&kernel, sizeof(kernel)),
		     16);
	cr_expect(answered(fd));
	cr_expect_eq(write(fd, &dump, sizeof(dump)), 16);
	cr_expect(answered(fd));
	cr_expect_eq(writev(fd, v, 2), 16);
	cr_expect(answered(fd));
	m[0].msg_hdr = (struct msghdr){.msg_iov = v, .msg_iovlen = 2};
	m[1].msg_hdr = (struct msghdr){
		.msg_name = &kernel, .msg_namelen = sizeof(kernel), .msg_iov = v, .msg_iovlen = 2};
	cr_expect_eq(sendmsg(fd, &m[1].msg_hdr, 0), 16);
	cr_expect(answered(fd));
	cr_expect_eq(sendmmsg(fd, m, 2, 0), 2);
	cr_expect_eq(m[1].msg_len, 16u);
	cr_expect(answered(fd));
	cr_expect(answered(fd));
	close(fd);
}

Test(netlink, what_cannot_be_sent)
{
	struct sockaddr_nl other = {.nl_family = AF_NETLINK, .nl_pid = 1};
	static struct iovec many[IOV_MAX + 1];
	struct msghdr m = {.msg_iov = many};
	static char large[70000];
	int fd = open_socket();

	cr_expect_eq(sendto(fd, &dump, 16, 0, (struct sockaddr *)&other, sizeof(other)), -1);
	cr_expect_eq(errno, EPERM, "only the kernel is to be asked");
	cr_expect_eq(sendto(fd, &dump, 16, 0, (struct sockaddr *)&other, 4), -1);
	cr_expect_eq(errno, EINVAL);
	cr_expect_eq(send(fd, large, sizeof(large), 0), -1);
	cr_expect_eq(errno, EMSGSIZE);
	cr_expect_eq(send(fd, &dump, 16, MSG_OOB), -1);
	cr_expect_eq(errno, EOPNOTSUPP);
	cr_expect_eq(socket(AF_NETLINK, SOCK_STREAM, NETLINK_RDMA), -1);
	cr_expect_eq(errno, ESOCKTNOSUPPORT);
	cr_expect(asks(fd));
	m.msg_iovlen = sizeof(many) / sizeof(many[0]);
	cr_expect_eq(sendmsg(fd, &m, 0), -1);
	cr_expect_eq(errno, EMSGSIZE);
	cr_expect_eq(writev(fd, many, sizeof(many) / sizeof(many[0])), -1);
	cr_expect_eq(errno, EINVAL);
	close(fd);
}

static int num_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void *ask_while_cancelled(void *fd)
{
	pthread_cancel(pthread_self());
	if (send(*(int *)fd, &dump, sizeof(dump), 0) == sizeof(dump))
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return fd;
}

/* Regression: a thread that was cancelled in the middle left the answerer's socket and memory. */
Test(netlink, a_cancelled_thread)
{
	int fd = open_socket(), before;
	pthread_t t;
	void *ret;

	cr_expect(asks(fd));
	before = num_descriptors();
	cr_assert_eq(pthread_create(&t, NULL, ask_while_cancelled, &fd), 0);
	cr_assert_eq(pthread_join(t, &ret), 0);
	cr_expect_eq(ret, &fd, "the request is answered, or not begun");
	cr_expect_eq(num_descriptors(), before);
	cr_expect(answered(fd));
	close(fd);
}

Test(netlink, the_program_binds_it)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_pid = (uint32_t)getpid()};
	int first = open_socket(), second = open_socket(), third = open_socket();

	cr_expect(asks(first), "not bound: the first request binds it");
	a.nl_pid = port_of(first) ^ 0x40000000;
	cr_expect_eq(bind(second, (struct sockaddr *)&a, sizeof(a)), 0);
	cr_expect(asks(second));
	cr_expect_eq(port_of(second), a.nl_pid);
	cr_expect_eq(bind(third, (struct sockaddr *)&a, sizeof(a)), -1);
	cr_expect_eq(errno, EADDRINUSE);
	close(first);
	close(second);
	close(third);
}

/* Libraries try the process id as port first: the preload must not have taken it. */
Test(netlink, the_process_id_is_free)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_pid = (uint32_t)getpid()};
	int first = open_socket(), second;

	a.nl_pid ^= 0x20000000; /* otherwise the kernel would choose it for the first one */
	cr_expect_eq(bind(first, (struct sockaddr *)&a, sizeof(a)), 0);
	cr_expect(asks(first));
	second = open_socket();
	a.nl_pid = (uint32_t)getpid();
	cr_expect_eq(bind(second, (struct sockaddr *)&a, sizeof(a)), 0);
	cr_expect(asks(second));
	close(first);
	close(second);
}

Test(netlink, duplicates)
{
	int fd = open_socket(), copy, pipes[2];
	char buf[16];

	copy = fcntl(fd, F_DUPFD_CLOEXEC, 700);
	cr_assert_eq(copy, 700);
	cr_expect(asks(fd));
	cr_expect(asks(copy));
	close(fd);
	cr_assert_eq(pipe2(pipes, O_CLOEXEC), 0);
	cr_assert(pipes[0] == fd || pipes[1] == fd, "the number was to be used again");
	cr_expect_eq(write(pipes[1], &dump, sizeof(dump)), 16, "a pipe, not the socket");
	cr_expect_eq(read(pipes[0], buf, sizeof(buf)), 16);
	cr_expect_eq(memcmp(buf, &dump, 16), 0);
	for (int i = 0; i < 10000; i++) /* long enough for a check of all descriptors */
		cr_assert_eq(write(pipes[1], buf, 1) + read(pipes[0], buf, 1), 2);
	cr_expect(asks(copy));
	close(copy);
	close(pipes[0]);
	close(pipes[1]);
}

Test(netlink, children)
{
	int fd = open_socket(), status;

	for (int asked_before = 0; asked_before < 2; asked_before++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(!(asks(fd) && asks(fd)));
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_expect_eq(status, 0, "the child has the same socket");
		cr_expect(asks(fd));
	}
	close(fd);
}

/* Make a socket without the preload, as any process in this namespace can. */
static int stranger(void)
{
	int fd = (int)syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);

	cr_assert_geq(fd, 0);
	return fd;
}

static int forge(int fd, uint32_t port)
{
	struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_pid = port};
	struct nlmsghdr forged = dump;

	forged.nlmsg_type = NLMSG_DONE;
	forged.nlmsg_pid = port;
	return syscall(SYS_sendto, fd, &forged, sizeof(forged), MSG_DONTWAIT, &to, sizeof(to)) < 0
		       ? errno
		       : 0;
}

Test(netlink, strangers)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK};
	int fd = open_socket(), other = stranger(), status;
	uint32_t port;
	pid_t pid;

	cr_assert_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	port = port_of(fd);
	for (int i = 0; i < 5; i++)
		cr_expect_eq(forge(other, port), 0, "before the first request it comes in");
	cr_expect(asks(fd), "and is thrown away by it");
	cr_expect_eq(forge(other, port), ECONNREFUSED);
	pid = fork();
	if (pid == 0) {
		if (getuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(2);
		_exit(forge(stranger(), port) != ECONNREFUSED);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0, "another user is refused as well");
	cr_expect(asks(fd));
	close(other);
	close(fd);
}

/* Any user may send to a group of the protocol, also to a connected socket. */
Test(netlink, groups)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int fd = open_socket(), group = 1, route;

	cr_expect_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), -1);
	cr_expect_eq(errno, EOPNOTSUPP);
	cr_expect_eq(setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)),
		     -1);
	cr_expect_eq(errno, EOPNOTSUPP);
	cr_expect(asks(fd));
	route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	cr_expect_eq(bind(route, (struct sockaddr *)&a, sizeof(a)), 0, "no socket of ours");
	cr_expect_eq(setsockopt(route, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)),
		     0);
	close(route);
	close(fd);
}

/*
 * Between requests no other process takes the answerer's place, although it can learn the port from
 * its messages.
 */
Test(netlink, a_stranger_in_the_answerers_place)
{
	struct sockaddr_nl from = {0};
	socklen_t len = sizeof(from);
	int fd = open_socket(), other = stranger();
	char buf[8192];

	cr_assert_eq(send(fd, &dump, sizeof(dump), 0), 16);
	cr_assert_gt(recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len), 0);
	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	cr_assert_eq(bind(other, (struct sockaddr *)&from, sizeof(from)), 0);
	cr_expect_eq(forge(other, port_of(fd)), ECONNREFUSED);
	cr_expect(asks(fd));
	close(other);
	close(fd);
}

static void *ask_often(void *arg)
{
	_Alignas(8) char buf[8192];
	int fd = *(int *)arg;

	for (int i = 0; i < 300; i++) {
		if (send(fd, &dump, sizeof(dump), 0) != (ssize_t)sizeof(dump))
			return arg;
		while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
			;
	}
	return NULL;
}

/* Each call has an answerer, and the socket has one peer: they take turns. */
Test(netlink, two_threads_on_a_socket)
{
	int fd = open_socket();
	pthread_t t[2];
	void *failed[2];
	char buf[8192];

	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, ask_often, &fd), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], &failed[i]);
	cr_expect_null(failed[0]);
	cr_expect_null(failed[1]);
	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	cr_expect(asks(fd));
	close(fd);
}

/*
 * Answers that the program does not read: in the end the queue has the system's largest size, and
 * is full.
 */
Test(netlink, the_queue_overflows)
{
	_Alignas(8) char buf[8192];
	const struct nlmsgerr *e = (void *)(buf + NLMSG_HDRLEN);
	int fd = open_socket(), room = 4096;
	ssize_t n = 0;

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
	for (int i = 0; i < 100000; i++) {
		cr_assert_eq(send(fd, &dump, sizeof(dump), 0), 16, "%s", strerror(errno));
		n = recv(fd, buf, sizeof(buf), MSG_PEEK | MSG_DONTWAIT);
		if (((struct nlmsghdr *)(void *)buf)->nlmsg_type == NLMSG_ERROR)
			break;
	}
	cr_assert_gt(n, 0);
	cr_assert_eq(((struct nlmsghdr *)(void *)buf)->nlmsg_type, NLMSG_ERROR);
	cr_expect_eq(e->error, -ENOBUFS);
	cr_expect_gt(recv(fd, buf, sizeof(buf), MSG_DONTWAIT), 0);
	cr_expect(asks(fd));
	close(fd);
}

static volatile sig_atomic_t asked;

static void on_trap(int sig)
{
	(void)sig;
	asked++;
}

static void filter(unsigned nr, unsigned arg, unsigned value, unsigned action)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[arg])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof(f) / sizeof(f[0]), .filter = f};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		cr_skip_test("no seccomp here");
}

/* Once such sockets are closed, other calls cost the same as without the preload. */
Test(netlink, calls_are_free_again)
{
	int fd, null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	signal(SIGSYS, on_trap);
	fd = open_socket();
	cr_expect(asks(fd));
	close(fd);
	for (int i = 0; i < 100000; i++)
		cr_assert_eq(write(null, "", 1), 1);
	filter(SYS_getsockopt, 2, SO_RCVLOWAT, SECCOMP_RET_TRAP);
	filter(SYS_fstat, 0, (unsigned)null, SECCOMP_RET_TRAP);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(write(null, "", 1), 1);
	cr_expect_eq(asked, 0);
	fd = (int)syscall(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK);
	cr_expect_eq(socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA), -1);
	cr_expect_gt(asked, 0, "the trap works");
	close(fd);
	close(null);
}

/*
 * Regression: at the start of each program getsockopt(2) was called on descriptors that are no
 * sockets. A sandbox that is active before the program, such as that of a service manager, may kill
 * for that.
 */
Test(netlink, a_sandbox_without_sockets)
{
	int status;
	pid_t child = fork();

	cr_assert_geq(child, 0);
	if (child == 0) {
		for (int fd = 0; fd < 256; fd++)
			close(fd);
		(void)!open("/dev/null", O_RDWR);
		(void)!dup(0);
		(void)!dup(0);
		filter(SYS_getsockopt, 1, SOL_SOCKET, SECCOMP_RET_KILL_PROCESS);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0, "status 0x%x", (unsigned)status);
}

/* If no such socket can be created there is no RDMA netlink, and libibverbs reads sysfs. */
Test(netlink, refused_without_usersock)
{
	filter(SYS_socket, 2, NETLINK_USERSOCK, SECCOMP_RET_ERRNO | EPERM);
	cr_expect_eq(socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA), -1);
	cr_expect_eq(errno, EPROTONOSUPPORT);
}

Test(netlink, other_sockets)
{
	int fd = open_socket(), file = open("/dev/null", O_RDWR | O_CLOEXEC), route, ends[2];
	char buf[16];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	errno = 4711;
	cr_expect_eq(send(ends[0], "abc", 3, 0), 3);
	cr_expect_eq(errno, 4711);
	cr_expect_eq(recv(ends[1], buf, sizeof(buf), 0), 3);
	cr_expect_eq(write(-1, "", 1), -1);
	cr_expect_eq(errno, EBADF);
	cr_expect_eq(send(file, "", 1, 0), -1);
	cr_expect_eq(errno, ENOTSOCK);
	route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	cr_expect_geq(route, 0);
	close(route);
	close(file);
	close(ends[0]);
	close(ends[1]);
	close(fd);
}
