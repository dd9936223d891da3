/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * exchange.c - the handshake. Each side sends one text of 55 bytes including its zero: LID, QP
 * number, PSN as four, six and six hexadecimal digits and the GID as 32, separated by colons. The
 * client begins, and ends with "done".
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "exchange.h"
#include "io.h"

#define TEXT (sizeof("0000:000000:000000:") + 32)

int exchange_listen(int *port)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)*port)};
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = a.sin6_port};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, off = 0, ret;

	if (fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		ret = bind(fd, (struct sockaddr *)&a, sizeof(a));
	} else { /* no IPv6 here */
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		ret = bind(fd, (struct sockaddr *)&a4, sizeof(a4));
	}
	if (ret || listen(fd, 1) || getsockname(fd, (struct sockaddr *)&a, &len)) {
		perror("listening");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*port = ntohs(a.sin6_port); /* at the same offset in both families */
	return fd;
}

static bool parse_dest(const char *text, struct sample_dest *d)
{
	unsigned int lid, word;
	const char *gid;
	int at = 0;

	if (sscanf(text, "%x:%x:%x:%n", &lid, &d->qpn, &d->psn, &at) < 3 || !at)
		return false;
	gid = text + at;
	for (int i = 0; i < 4; i++) {
		uint32_t net;

		if (sscanf(gid + i * 8, "%8x", &word) != 1)
			return false;
		net = htonl(word);
		memcpy(d->gid.raw + i * 4, &net, 4);
	}
	return true;
}

static void print_dest(char *text, const struct sample_dest *d)
{
	uint32_t w[4];

	memcpy(w, d->gid.raw, sizeof(w));
	snprintf(text, TEXT, "0000:%06x:%06x:%08x%08x%08x%08x", d->qpn & 0xffffff,
		 d->psn & 0xffffff, ntohl(w[0]), ntohl(w[1]), ntohl(w[2]), ntohl(w[3]));
}

int exchange_accept(int listener, struct sample_dest *peer)
{
	char text[TEXT + 1] = {0};
	int fd = accept(listener, NULL, NULL);

	if (fd < 0) {
		perror("accept");
		return -1;
	}
	if (!io_get(fd, text, TEXT) || !parse_dest(text, peer)) {
		fprintf(stderr, "the client's address cannot be understood\n");
		close(fd);
		return -1;
	}
	return fd;
}

bool exchange_answer(int fd, const struct sample_dest *mine)
{
	char text[TEXT], done[sizeof("done")];
	bool ok;

	print_dest(text, mine);
	ok = io_put(fd, text, sizeof(text)) && io_get(fd, done, sizeof(done));
	if (!ok)
		fprintf(stderr, "the client did not take the address\n");
	close(fd);
	return ok;
}
