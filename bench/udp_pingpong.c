/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * udp_pingpong - half a round trip of UDP datagrams, both sides polling: what nothing that talks
 * through a UDP socket can go below.
 *
 *   udp_pingpong server ADDRESS PORT BYTES COUNT
 *   udp_pingpong client ADDRESS PORT BYTES COUNT      prints the median, ns, and the 99th
 * percentile
 */
#include "hist.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>

enum { MAX_BYTES = 9000, RESEND_NS = 20 * 1000 * 1000, GIVE_UP = 500 };

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "udp_pingpong: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Polls for the datagram that carries this number; false when nothing came in time. */
static bool receive(int fd, uint64_t number)
{
	static uint64_t buf[MAX_BYTES / 8 + 1];
	uint64_t start = 0;

	for (uint32_t i = 1;; i++) {
		ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (n >= 8 && buf[0] >= number)
			return true;
		if (n < 0 && errno != EAGAIN && errno != ECONNREFUSED)
			fail("recv");
		if (n >= 0 || i % 1024)
			continue;
		if (!start)
			start = now_ns();
		else if (now_ns() - start > RESEND_NS)
			return false;
	}
}

static void serve(int fd, size_t bytes, uint64_t count)
{
	static uint64_t buf[MAX_BYTES / 8 + 1];
	struct sockaddr_in6 from;
	socklen_t len = sizeof(from);

	if (recvfrom(fd, buf, sizeof(buf), MSG_PEEK, (struct sockaddr *)&from, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&from, len))
		fail("the first datagram");
	for (uint64_t i = 1, silent = 0; i <= count;) {
		if (!receive(fd, i)) {
			if (++silent == GIVE_UP)
				exit(1);
			buf[0] = i - 1; /* the answer may have been lost */
		} else
			buf[0] = i++;
		if (send(fd, buf, bytes, 0) < 0 && errno != ECONNREFUSED)
			fail("send");
	}
}

static void ask(int fd, size_t bytes, uint64_t count)
{
	static uint64_t buf[MAX_BYTES / 8 + 1];
	static struct hist h;

	hist_init(&h);
	for (uint64_t i = 1, silent = 0; i <= count; i++) {
		uint64_t start = now_ns();

		buf[0] = i;
		do {
			if (silent++ == GIVE_UP)
				exit(1);
			if (send(fd, buf, bytes, 0) < 0 && errno != ECONNREFUSED)
				fail("send");
		} while (!receive(fd, i));
		silent = 0;
		if (i > count / 10)
			hist_add(&h, (now_ns() - start) / 2);
	}
	printf("%llu %llu\n", (unsigned long long)hist_percentile(&h, 50),
	       (unsigned long long)hist_percentile(&h, 99));
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	size_t bytes = argc == 6 ? strtoul(argv[4], NULL, 10) : 0;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (bytes < 8 || bytes > MAX_BYTES || inet_pton(AF_INET, argv[2], &a.sin_addr) != 1) {
		fprintf(stderr,
			"usage: udp_pingpong server|client ADDRESS PORT BYTES(8..9000) COUNT\n");
		return 2;
	}
	a.sin_port = htons((uint16_t)atoi(argv[3]));
	if (strcmp(argv[1], "server") == 0) {
		if (bind(fd, (struct sockaddr *)&a, sizeof(a)))
			fail("bind");
		serve(fd, bytes, strtoull(argv[5], NULL, 10));
	} else {
		if (connect(fd, (struct sockaddr *)&a, sizeof(a)))
			fail("connect");
		ask(fd, bytes, strtoull(argv[5], NULL, 10));
	}
	return 0;
}
