/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * udp_pingpong - half a round trip of UDP datagrams, both sides polling: a lower bound for every
 * protocol over UDP sockets.
 *
 *   udp_pingpong server ADDRESS PORT BYTES COUNT
 *   udp_pingpong client ADDRESS PORT BYTES COUNT      prints the median, ns, and the 99th
 * percentile
 *
 * With a sixth argument, "roce": with the calls that a RoCEv2 message and its ACK need. Two packets
 * in one datagram (UDP_SEGMENT); a socket that is not connected (otherwise the kernel counts up the
 * IPv4 identification, which the ICRC covers and no receiver can read); and for received packets
 * their addresses, traffic class and size. No provider can request less from the kernel.
 */
#include "hist.h"
#include "timing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/udp.h>
#include <sys/socket.h>

enum { MAX_BYTES = 9000, RESEND_NS = 20 * 1000 * 1000, GIVE_UP = 500, ACK_BYTES = 20 };

/* The other side; for a socket that is not connected. */
static bool roce;
static struct sockaddr_in6 peer;

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "udp_pingpong: %s: %s\n", what, strerror(errno));
	exit(1);
}

static ssize_t receive_roce(int fd, void *buf, size_t n)
{
	uint8_t ctl[256] __attribute__((aligned(8)));
	struct sockaddr_in6 from;
	struct iovec iov = {.iov_base = buf, .iov_len = n};
	struct msghdr h = {.msg_name = &from,
			   .msg_namelen = sizeof(from),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = ctl,
			   .msg_controllen = sizeof(ctl)};

	return recvmsg(fd, &h, MSG_DONTWAIT);
}

static ssize_t send_roce(int fd, void *buf, size_t n)
{
	static uint8_t ack[ACK_BYTES];
	const uint16_t seg = (uint16_t)n;
	union {
		uint8_t bytes[CMSG_SPACE(sizeof(seg))];
		struct cmsghdr align;
	} u = {.bytes = {0}};
	struct iovec iov[2] = {{.iov_base = buf, .iov_len = n},
			       {.iov_base = ack, .iov_len = n < ACK_BYTES ? n : ACK_BYTES}};
	struct msghdr h = {.msg_name = &peer,
			   .msg_namelen = sizeof(peer),
			   .msg_iov = iov,
			   .msg_iovlen = 2,
			   .msg_control = u.bytes,
			   .msg_controllen = sizeof(u.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);

	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(seg));
	memcpy(CMSG_DATA(c), &seg, sizeof(seg));
	return sendmsg(fd, &h, 0);
}

static void send_it(int fd, void *buf, size_t n)
{
	if ((roce ? send_roce(fd, buf, n) : send(fd, buf, n, 0)) < 0 && errno != ECONNREFUSED)
		fail("send");
}

static void set_on(int fd, int level, int opt)
{
	int on = 1;

	if (setsockopt(fd, level, opt, &on, sizeof(on)))
		fail("setsockopt");
}

/* Poll for the datagram with this number; false if none came in time. */
static bool receive_number(int fd, uint64_t number)
{
	static uint64_t buf[MAX_BYTES / 8 + 1];
	uint64_t start = 0;

	for (uint32_t i = 1;; i++) {
		ssize_t n = roce ? receive_roce(fd, buf, sizeof(buf))
				 : recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (n >= 8 && buf[0] >= number)
			return true;
		if (n < 0 && errno != EAGAIN && errno != ECONNREFUSED)
			fail("recv");
		if (n >= 0 || i % 1024)
			continue;
		if (!start)
			start = bench_now_ns();
		else if (bench_now_ns() - start > RESEND_NS)
			return false;
	}
}

static void serve_peer(int fd, size_t bytes, uint64_t count)
{
	static uint64_t buf[MAX_BYTES / 8 + 1];
	socklen_t len = sizeof(peer);

	if (recvfrom(fd, buf, sizeof(buf), MSG_PEEK, (struct sockaddr *)&peer, &len) < 0 ||
	    (!roce && connect(fd, (struct sockaddr *)&peer, len)))
		fail("the first datagram");
	for (uint64_t i = 1, silent = 0; i <= count;) {
		if (!receive_number(fd, i)) {
			if (++silent == GIVE_UP)
				exit(1);
			buf[0] = i - 1; /* the answer may have been lost */
		} else
			buf[0] = i++;
		send_it(fd, buf, bytes);
	}
}

static void ask_peer(int fd, size_t bytes, uint64_t count)
{
	static uint64_t buf[MAX_BYTES / 8 + 1];
	static struct hist h;

	hist_init(&h);
	for (uint64_t i = 1, silent = 0; i <= count; i++) {
		uint64_t start = bench_now_ns();

		buf[0] = i;
		do {
			if (silent++ == GIVE_UP)
				exit(1);
			send_it(fd, buf, bytes);
		} while (!receive_number(fd, i));
		silent = 0;
		if (i > count / 10)
			hist_add(&h, (bench_now_ns() - start) / 2);
	}
	printf("%llu %llu\n", (unsigned long long)hist_percentile(&h, 50),
	       (unsigned long long)hist_percentile(&h, 99));
}

/* Map an IPv4 address to a socket of both families, as the port of a board uses. */
static void map_v4(const struct sockaddr_in *a)
{
	peer = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = a->sin_port};
	peer.sin6_addr.s6_addr[10] = peer.sin6_addr.s6_addr[11] = 0xff;
	memcpy(peer.sin6_addr.s6_addr + 12, &a->sin_addr, 4);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	const bool good = argc == 6 || (argc == 7 && !strcmp(argv[6], "roce"));
	size_t bytes = good ? strtoul(argv[4], NULL, 10) : 0;
	int fd;

	if (bytes < 8 || bytes > MAX_BYTES || inet_pton(AF_INET, argv[2], &a.sin_addr) != 1) {
		fprintf(stderr, "usage: udp_pingpong server|client ADDRESS PORT BYTES(8..9000) "
				"COUNT [roce]\n");
		return 2;
	}
	roce = argc == 7;
	a.sin_port = htons((uint16_t)atoi(argv[3]));
	map_v4(&a);
	fd = socket(roce ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fail("socket");
	if (roce) {
		set_on(fd, IPPROTO_UDP, UDP_GRO);
		set_on(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO);
		set_on(fd, IPPROTO_IPV6, IPV6_RECVTCLASS);
		set_on(fd, IPPROTO_IP, IP_RECVTOS);
	}
	if (strcmp(argv[1], "server") == 0) {
		if (roce ? bind(fd, (struct sockaddr *)&peer, sizeof(peer))
			 : bind(fd, (struct sockaddr *)&a, sizeof(a)))
			fail("bind");
		serve_peer(fd, bytes, strtoull(argv[5], NULL, 10));
	} else {
		if (!roce && connect(fd, (struct sockaddr *)&a, sizeof(a)))
			fail("connect");
		ask_peer(fd, bytes, strtoull(argv[5], NULL, 10));
	}
	return 0;
}
