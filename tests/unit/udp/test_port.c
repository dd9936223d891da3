/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_port.c - the holder of port 4791, and an adapter instance without it. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "standins.h"

#define NOBODY 65534

static char dir[] = "/tmp/dpa-port-XXXXXX";
static char path[2][64];

static void setup(void)
{
	if (!mkdtemp(dir))
		abort();
	for (int i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%d", dir, i);
		mkdir(path[i], 0700);
		strcat(path[i], "/board");
	}
}

static void teardown(void)
{
	for (int i = 0; i < 2; i++) {
		unlink(path[i]);
		*strrchr(path[i], '/') = '\0';
		rmdir(path[i]);
	}
	rmdir(dir);
}

TestSuite(udp_port, .init = setup, .fini = teardown);

#define NEED(what, why)                                                                            \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			teardown();                                                                \
			cr_skip_test(why);                                                         \
		}                                                                                  \
	} while (0)

static int hold(int family, bool reuse)
{
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(4791)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(4791)};
	int on = 1, fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (reuse)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, SOL_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	cr_assert_eq(family == AF_INET ? bind(fd, (struct sockaddr *)&a4, sizeof(a4))
				       : bind(fd, (struct sockaddr *)&a6, sizeof(a6)),
		     0);
	return fd;
}

/* Another program holds it, shared or not: its name and pid are in the log, and it is no board. */
static void held_by_us(int family, bool reuse)
{
	struct ut_proc p;
	char text[512], want[64], comm[32] = "";
	FILE *f = fopen("/proc/self/comm", "r");
	int fd;

	cr_assert_not_null(fgets(comm, sizeof(comm), f));
	fclose(f);
	comm[strcspn(comm, "\n")] = '\0';
	ut_start(&p, path[0], 0); /* started before: it has no copy of our socket */
	fd = hold(family, reuse);
	cr_expect_eq(ut_udp_open(&p), EADDRINUSE);
	cr_expect_eq(ut_state(&p), (uint32_t)DPA_UDP_CLOSED);
	ut_logged(&p, text, sizeof(text));
	snprintf(want, sizeof(want), "4791 is held by %s (pid %d)", comm, getpid());
	cr_expect_not_null(strstr(text, want), "'%s' does not say '%s'", text, want);
	close(fd);
	cr_expect_eq(ut_udp_open(&p), 0, "free now");
	ut_end(&p);
}

Test(udp_port, holder_is_named)
{
	NEED(ut_netns(), "no network namespace is available");
	held_by_us(AF_INET, false);
	held_by_us(AF_INET6, false);
	held_by_us(AF_INET, true);
}

static int folders, files; /* opened by the process */

DIR *__real_opendir(const char *name);
DIR *__wrap_opendir(const char *name);
DIR *__wrap_opendir(const char *name)
{
	folders++;
	return __real_opendir(name);
}

FILE *__real_fopen(const char *name, const char *mode);
FILE *__wrap_fopen(const char *name, const char *mode);
FILE *__wrap_fopen(const char *name, const char *mode)
{
	files++;
	return __real_fopen(name, mode);
}

/*
 * With a kernel's rdma_rxe the port stays taken, and each QP that could send to other hosts tries
 * to open it: only the first try takes the time to verify it and to find the holder's process.
 */
Test(udp_port, tries_while_another_has_it)
{
	struct dpa_hw *hw;
	int fd;

	NEED(ut_netns(), "no network namespace is available");
	hw = ut_open(path[0]);
	cr_assert_not_null(hw);
	fd = hold(AF_INET, false);
	folders = files = 0;
	cr_expect_eq(dpa_udp_open(hw), EADDRINUSE);
	cr_expect_gt(folders, 1, "the folders of processes");
	cr_expect_gt(files, 10, "the list of sockets, several times");
	folders = files = 0;
	cr_expect_eq(dpa_udp_open(hw), EADDRINUSE);
	cr_expect_eq(folders, 0);
	cr_expect_eq(files, 2, "the lists of sockets, once: %d", files);
	close(fd);
	/* another socket is not taken for the first one */
	fd = hold(AF_INET6, false);
	files = 0;
	cr_expect_eq(dpa_udp_open(hw), EADDRINUSE);
	cr_expect_gt(files, 10);
	close(fd);
	cr_expect_eq(dpa_udp_open(hw), 0, "free now");
	ut_close(hw);
}

/* Close the socket while another thread searches for the holder of the port. */
static void *goes_away(void *arg)
{
	static const char gate[] = "dpa-udp-gate";
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(gate));
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(sa.sun_path + 1, gate, sizeof(gate) - 1);
	while (connect(fd, (struct sockaddr *)&sa, len))
		sched_yield();
	nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL); /* in the middle of the search */
	close(*(int *)arg);
	close(fd);
	return NULL;
}

/* A process that ends releases its name and its socket one after the other. */
Test(udp_port, socket_of_one_that_ends)
{
	struct ut_proc p;
	pthread_t thread;
	int fd;

	NEED(ut_netns(), "no network namespace is available");
	ut_start(&p, path[0], 0);
	fd = hold(AF_INET6, true);
	cr_assert_eq(pthread_create(&thread, NULL, goes_away, &fd), 0);
	cr_expect_eq(ut_udp_open(&p), 0);
	pthread_join(thread, NULL);
	ut_end(&p);
}

static int opt(int fd, int level, int name)
{
	int v = -1;
	socklen_t len = sizeof(v);

	cr_expect_eq(getsockopt(fd, level, name, &v, &len), 0);
	return v;
}

Test(udp_port, socket_is_as_needed)
{
	struct dpa_hw *hw;
	int fd;

	NEED(ut_netns(), "no network namespace is available");
	hw = ut_open(path[0]);
	cr_assert_not_null(hw);
	cr_assert_eq(dpa_udp_open(hw), 0);
	fd = dpa_udp_fd(hw->udp);
	cr_assert_geq(fd, 0);
	cr_expect_eq(dpa_udp_open(hw), 0);
	cr_expect_eq(dpa_udp_fd(hw->udp), fd, "once");
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	cr_expect(fcntl(fd, F_GETFL) & O_NONBLOCK);
	cr_expect_eq(opt(fd, SOL_IPV6, IPV6_V6ONLY), 0);
	cr_expect_eq(opt(fd, SOL_UDP, 102), 1, "UDP_NO_CHECK6_RX");
	cr_expect_gt(opt(fd, SOL_SOCKET, SO_RCVBUF), 100000);
	ut_close(hw);
	fd = hold(AF_INET, false); /* it is free */
	close(fd);
}

/*
 * Addresses, TTL and TOS of IPv4 are delivered with the packet although the socket is an IPv6 one.
 */
Test(udp_port, ancillary_data)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(4791),
				 .sin_addr.s_addr = htonl(0x7f000005)};
	int tos = 0x2a << 1 | 1, ttl = 37, s = socket(AF_INET, SOCK_DGRAM, 0);
	uint8_t buf[16], ctl[512] __attribute__((aligned(8)));
	struct iovec iov = {.iov_base = buf, .iov_len = sizeof(buf)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = ctl,
			   .msg_controllen = sizeof(ctl)};
	bool dst = false, got_tos = false, got_ttl = false;
	struct dpa_hw *hw;

	NEED(ut_netns(), "no network namespace is available");
	close(s);
	s = socket(AF_INET, SOCK_DGRAM, 0);
	hw = ut_open(path[0]);
	cr_assert_not_null(hw);
	dpa_udp_show_hops(hw); /* while the port is not ours yet, too */
	cr_assert_eq(dpa_udp_open(hw), 0);
	while (recv(dpa_udp_fd(hw->udp), buf, sizeof(buf), 0) > 0)
		; /* probes */
	setsockopt(s, SOL_IP, IP_TOS, &tos, sizeof(tos));
	setsockopt(s, SOL_IP, IP_TTL, &ttl, sizeof(ttl));
	cr_assert_eq(sendto(s, "0123456789abcdef", 16, 0, (struct sockaddr *)&to, sizeof(to)), 16);
	cr_assert_eq(recvmsg(dpa_udp_fd(hw->udp), &m, 0), 16);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_PKTINFO)
			dst |= ((struct in6_pktinfo *)CMSG_DATA(c))->ipi6_addr.s6_addr[15] == 5;
		if (c->cmsg_level == SOL_IP && c->cmsg_type == IP_PKTINFO)
			dst |= ((struct in_pktinfo *)CMSG_DATA(c))->ipi_addr.s_addr ==
			       to.sin_addr.s_addr;
		if (c->cmsg_level == SOL_IP && c->cmsg_type == IP_TOS)
			got_tos = *(uint8_t *)CMSG_DATA(c) == tos;
		if (c->cmsg_level == SOL_IP && c->cmsg_type == IP_TTL)
			got_ttl = *(int *)CMSG_DATA(c) == ttl;
	}
	cr_expect(dst);
	cr_expect(got_tos);
	cr_expect(got_ttl);
	close(s);
	ut_close(hw);
}

static void behind(uid_t uid)
{
	struct ut_proc a, b;

	ut_start(&a, path[0], 0);
	ut_start(&b, path[1], uid);
	cr_assert_neq(a.num, b.num);
	cr_assert_eq(ut_udp_open(&a), 0);
	cr_expect_eq(ut_state(&a), (uint32_t)DPA_UDP_OPEN);
	cr_assert_eq(ut_udp_open(&b), 0, "no error: the other board passes on");
	cr_expect_eq(ut_state(&b), (uint32_t)DPA_UDP_BEHIND);
	ut_tick(&b);
	cr_expect_eq(ut_state(&b), (uint32_t)DPA_UDP_BEHIND);
	ut_kill(&a);
	ut_tick(&b);
	cr_expect_eq(ut_state(&b), (uint32_t)DPA_UDP_OPEN, "taken over");
	ut_end(&b);
}

Test(udp_port, two_boards_of_one_user)
{
	NEED(ut_netns(), "no network namespace is available");
	behind(0);
}

/* A tick claims the socket of the packets that the other board passes on: not the next one in 16 s. */
Test(udp_port, behind_another_board_wakes_the_progress_thread_once)
{
	struct dpa_hw *hw;
	struct ut_proc a;

	NEED(ut_netns(), "no network namespace is available");
	ut_start(&a, path[0], 0);
	cr_assert_eq(ut_udp_open(&a), 0);
	hw = ut_open(path[1]);
	cr_assert_not_null(hw);
	cr_assert_eq(dpa_udp_open(hw), 0);
	cr_assert_eq(atomic_load(&hw->udp->state), (uint32_t)DPA_UDP_BEHIND);
	cr_expect_eq(ut_wakes, 1u);
	dpa_udp_tick(hw);
	cr_expect_eq(atomic_load(&hw->udp->state), (uint32_t)DPA_UDP_BEHIND);
	cr_expect_eq(ut_wakes, 1u, "it does not wake itself again and again");
	ut_close(hw);
	ut_end(&a);
}

/*
 * A process that holds the name of the gate for ever stops neither the progress thread nor a
 * take-over.
 */
Test(udp_port, the_gate_stays_shut)
{
	static const char gate[] = "dpa-udp-gate";
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(gate));
	struct ut_proc a, b;
	int fd;

	NEED(ut_netns(), "no network namespace is available");
	memcpy(sa.sun_path + 1, gate, sizeof(gate) - 1);
	ut_start(&a, path[0], 0);
	ut_start(&b, path[1], 0);
	cr_assert_eq(ut_udp_open(&a), 0);
	cr_assert_eq(ut_udp_open(&b), 0);
	cr_assert_eq(ut_state(&b), (uint32_t)DPA_UDP_BEHIND);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&sa, len), 0);
	ut_kill(&a);
	for (int i = 0; i < 3; i++) {
		ut_tick(&b);
		cr_expect_eq(ut_state(&b), (uint32_t)DPA_UDP_BEHIND, "it may be a board's look");
	}
	ut_tick(&b);
	cr_expect_eq(ut_state(&b), (uint32_t)DPA_UDP_OPEN);
	close(fd);
	ut_end(&b);
}

Test(udp_port, two_users)
{
	NEED(getuid() == 0, "only root can be two users");
	NEED(ut_netns(), "no network namespace is available");
	*strrchr(path[1], '/') = '\0';
	cr_assert_eq(chmod(dir, 0755), 0);
	cr_assert_eq(chown(path[1], NOBODY, NOBODY), 0);
	strcat(path[1], "/board");
	behind(NOBODY);
}
