/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * udp_stream - the throughput from one UDP socket to another, with segmentation (GSO) on one side
 * and merging (GRO) on the other: an upper bound for every protocol over UDP sockets.
 *
 *   udp_stream server ADDRESS PORT BYTES SECONDS      prints the received MiB/s
 *   udp_stream client ADDRESS PORT BYTES SECONDS
 *
 * BYTES is the payload of a packet. The receiver regularly reports to the sender how much it has
 * received. The sender stays one window ahead, so the socket's buffer holds all data in flight. A
 * lost window is given up after a short time.
 */
#include "timing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/udp.h>
#include <sys/socket.h>

enum {
	CALL = 63000, /* bytes of a send call at most */
	SEGMENTS = 64,
	BUFFER = 8 << 20,
	WARM_UP_NS = 200 * 1000 * 1000,
	LOST_NS = 50 * 1000 * 1000,
};

static char buf[65536];

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "udp_stream: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Return the buffer size that the kernel granted, without its own bookkeeping. */
static uint64_t make_room(int fd)
{
	int n = BUFFER, len = sizeof(n);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &n, sizeof(n)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n, sizeof(n));
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n, (socklen_t *)&len))
		fail("SO_RCVBUF");
	return (uint64_t)n / 4;
}

/* Receive until a datagram of one byte announces the end. */
static void serve_stream(int fd)
{
	uint64_t room = make_room(fd), got = 0, told = 0, counted = 0, start = 0;
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	int on = 1;

	if (setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)))
		fail("UDP_GRO");
	for (;;) {
		ssize_t n = recvfrom(fd, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&from,
				     &len);

		if (n < 0 && errno != EAGAIN)
			fail("recv");
		if (n == 1)
			break;
		if (n < 0)
			continue;
		if (!got)
			start = bench_now_ns() + WARM_UP_NS;
		if (!counted && bench_now_ns() > start) {
			counted = got + (uint64_t)n;
			start = bench_now_ns();
		}
		got += (uint64_t)n;
		if (got - told > room / 4) {
			uint64_t say[2] = {got, room};

			told = got;
			sendto(fd, say, sizeof(say), 0, (struct sockaddr *)&from, len);
		}
	}
	printf("%.1f\n",
	       (double)(got - counted) / ((double)(bench_now_ns() - start) * 1e-9) / (1 << 20));
}

static void send_stream(int fd, int bytes, double seconds)
{
	uint64_t end = bench_now_ns() + WARM_UP_NS + (uint64_t)(seconds * 1e9),
		 heard = bench_now_ns();
	uint64_t sent = 0, say[2] = {0, 1 << 16};
	size_t call = (size_t)(CALL / bytes) * (size_t)bytes;

	if (call > (size_t)bytes * SEGMENTS)
		call = (size_t)bytes * SEGMENTS;
	if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &bytes, sizeof(bytes)))
		fail("UDP_SEGMENT");
	while (bench_now_ns() < end) {
		if (recv(fd, say, sizeof(say), MSG_DONTWAIT) == sizeof(say)) {
			heard = bench_now_ns();
			continue;
		}
		if (sent >= say[0] + say[1]) {
			if (bench_now_ns() - heard > LOST_NS)
				sent = say[0];
			continue;
		}
		if (send(fd, buf, call, 0) < 0) {
			if (errno != EAGAIN && errno != ENOBUFS && errno != ECONNREFUSED)
				fail("send");
			continue;
		}
		sent += call;
	}
	for (int i = 0; i < 20; i++) { /* the end may be lost as well */
		if (send(fd, buf, 1, 0) < 0)
			break; /* the receiver has ended */
		usleep(10000);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	int bytes = argc == 6 ? atoi(argv[4]) : 0;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (bytes < 2 || bytes > 9000 || inet_pton(AF_INET, argv[2], &a.sin_addr) != 1) {
		fprintf(stderr, "usage: udp_stream server|client ADDRESS PORT BYTES SECONDS\n");
		return 2;
	}
	a.sin_port = htons((uint16_t)atoi(argv[3]));
	if (strcmp(argv[1], "server") == 0) {
		if (bind(fd, (struct sockaddr *)&a, sizeof(a)))
			fail("bind");
		serve_stream(fd);
	} else {
		if (connect(fd, (struct sockaddr *)&a, sizeof(a)))
			fail("connect");
		send_stream(fd, bytes, atof(argv[5]));
	}
	return 0;
}
