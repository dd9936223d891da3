/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* feed.c - takes rings of processes: see feed.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <link/fds.h>
#include "dpactl.h"
#include "feed.h"

#define NAME_RANDOM 16
#define NAP_NS	    1000000 /* between two attempts to connect */
#define NAPS	    200
#define SIGNALS	    100 /* more are not counted */

static volatile sig_atomic_t stopped; /* number of signals */

static void on_feed_signal(int sig)
{
	if (stopped < SIGNALS)
		stopped = stopped + 1;
}

bool feed_stopped(void)
{
	return stopped;
}

int feed_signals(void)
{
	return stopped;
}

static socklen_t socket_address(struct sockaddr_un *sa, const char *name)
{
	size_t n = strlen(name);

	n = n < sizeof(sa->sun_path) ? n : sizeof(sa->sun_path) - 1;
	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	memcpy(sa->sun_path + 1, name, n);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

static bool is_of_this_user(int fd, uint32_t *pid)
{
	struct ucred uc;
	socklen_t len = sizeof(uc);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &uc, &len) || uc.uid != geteuid())
		return false;
	*pid = (uint32_t)uc.pid;
	return true;
}

/* EAGAIN: the backlog is full. A tool that runs makes room; only then its user is known. */
static bool connect_to_tool(int fd, const char *name)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	struct sockaddr_un sa;
	socklen_t len = socket_address(&sa, name);

	for (int i = 0; connect(fd, (struct sockaddr *)&sa, len); i++) {
		if (errno != EAGAIN || i == NAPS)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

bool feed_is_heard(const char *name)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	uint32_t pid;
	bool heard = fd >= 0 && connect_to_tool(fd, name) && is_of_this_user(fd, &pid);

	if (fd >= 0)
		close(fd);
	return heard;
}

int feed_listen(const char *kind, char name[FEED_NAME])
{
	uint8_t r[NAME_RANDOM];
	struct sockaddr_un sa;
	socklen_t len;
	size_t at;
	int fd;

	if (getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r))
		die(EXIT_NONE, "no random numbers: %s", strerror(errno));
	at = (size_t)snprintf(name, FEED_NAME, "dpa/%s/", kind);
	for (size_t i = 0; i < sizeof(r); i++)
		at += (size_t)snprintf(name + at, FEED_NAME - at, "%02x", r[i]);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	len = socket_address(&sa, name);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) || listen(fd, DPA_BOARD_PROCS))
		die(EXIT_NONE, "cannot listen for the processes: %s", strerror(errno));
	return fd;
}

int feed_accept(int listener, uint32_t *pid)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		if (is_of_this_user(fd, pid))
			return fd;
		close(fd);
	}
	return -1;
}

int feed_hello(int from, void *hello, size_t n, int *memfd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u;
	struct iovec iov = {.iov_base = hello, .iov_len = n};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.buf,
			   /* not sizeof(u.buf), in which two have room */
			   .msg_controllen = CMSG_LEN(sizeof(int))};
	ssize_t got = recvmsg(from, &m, MSG_CMSG_CLOEXEC);

	*memfd = -1;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got >= 0)
		dpa_take_fds(&m, memfd, 1);
	if (got == (ssize_t)n)
		return 1;
	if (*memfd >= 0)
		close(*memfd);
	return -1;
}

void *feed_map(int fd, size_t bytes)
{
	void *p;

	if (!dpa_fd_is_sealed(fd, bytes))
		return NULL;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

void feed_catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_feed_signal};
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigprocmask(SIG_BLOCK, &block, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL); /* the reader of "-" may leave */
}

void feed_wait(int listener, uint64_t ns)
{
	struct timespec nap = {.tv_sec = (time_t)(ns / 1000000000),
			       .tv_nsec = (long)(ns % 1000000000)};
	struct pollfd p = {.fd = listener, .events = POLLIN};
	sigset_t open;

	sigemptyset(&open);
	ppoll(&p, 1, &nap, &open);
}
