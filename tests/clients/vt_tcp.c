/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vt_tcp.c - how programs on two hosts meet. */
#include "vt.h"

#include <netdb.h>
#include <unistd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static int take_one(int fd, const struct addrinfo *ai)
{
	int one = 1, zero = 0, c;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	CHECK(bind(fd, ai->ai_addr, ai->ai_addrlen) == 0, "bind: %s", strerror(errno));
	CHECK(listen(fd, 1) == 0, "listen: %s", strerror(errno));
	c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	CHECK(c >= 0, "accept: %s", strerror(errno));
	close(fd);
	return c;
}

int vt_tcp(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_family = host ? AF_UNSPEC : AF_INET6,
				 .ai_socktype = SOCK_STREAM,
				 .ai_flags = host ? 0 : AI_PASSIVE},
			*ai;
	int err = getaddrinfo(host, port, &hints, &ai), fd, one = 1;

	CHECK(!err, "%s: %s", host ? host : "any address", gai_strerror(err));
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0, "socket: %s", strerror(errno));
	if (!host)
		fd = take_one(fd, ai);
	else
		CHECK(connect(fd, ai->ai_addr, ai->ai_addrlen) == 0, "connect: %s",
		      strerror(errno));
	freeaddrinfo(ai);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}
