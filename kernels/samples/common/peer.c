/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "io.h"
#include "peer.h"

#define LIMIT (1u << 20) /* maximum bytes of a message */

static bool listen_at(int fd, const struct addrinfo *ai)
{
	struct sockaddr_storage own = {0};
	socklen_t len = sizeof(own);
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)&own, &len))
		return false;
	/* the port is at the same offset in both families */
	printf("listening on port %u\n", ntohs(((struct sockaddr_in *)&own)->sin_port));
	fflush(stdout);
	return true;
}

static int accept_one(int listener)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		perror("accept");
	close(listener);
	return fd;
}

int peer_open(const struct args *a)
{
	bool listens = !a->connect[0];
	struct addrinfo hints = {.ai_family = AF_INET,
				 .ai_socktype = SOCK_STREAM,
				 .ai_flags = listens ? AI_PASSIVE : 0},
			*list, *ai;
	int fd = -1, ret;
	char port[16];

	if (strchr(a->connect, ':'))
		hints.ai_family = AF_INET6;
	snprintf(port, sizeof(port), "%d", a->port);
	ret = getaddrinfo(listens ? NULL : a->connect, port, &hints, &list);
	if (ret) {
		fprintf(stderr, "%s: %s\n", a->connect, gai_strerror(ret));
		return -1;
	}
	for (ai = list; ai; ai = ai->ai_next) {
		fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol);
		if (fd >= 0 &&
		    (listens ? listen_at(fd, ai) : !connect(fd, ai->ai_addr, ai->ai_addrlen)))
			break;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	if (fd < 0)
		fprintf(stderr, "%s port %d: %s\n", listens ? "listening at" : a->connect, a->port,
			strerror(errno));
	freeaddrinfo(list);
	return listens && fd >= 0 ? accept_one(fd) : fd;
}

bool peer_put(int fd, const void *data, size_t len)
{
	uint32_t head = htonl((uint32_t)len);
	bool ok = io_put(fd, &head, sizeof(head)) && io_put(fd, data, len);

	if (!ok)
		fprintf(stderr, "the peer is gone\n");
	return ok;
}

void *peer_get(int fd, size_t *len)
{
	uint32_t head;
	char *data = NULL;

	if (io_get(fd, &head, sizeof(head)) && ntohl(head) <= LIMIT)
		data = malloc(ntohl(head) + 1);
	if (data && !io_get(fd, data, ntohl(head))) {
		free(data);
		data = NULL;
	}
	if (data)
		*len = ntohl(head);
	else
		fprintf(stderr, "the peer is gone\n");
	return data;
}

bool peer_meet(int fd)
{
	size_t len;
	void *data;

	if (!peer_put(fd, "", 1))
		return false;
	data = peer_get(fd, &len);
	free(data);
	return data != NULL;
}
