/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* herd_registry.c - one thread over poll(); a lookup is answered once the name exists. */
#include "herd_registry.h"
#include "vt.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NAMES = 256, PEERS = 64, NAME = 32 };

/* In both directions; the answer to a lookup has its value. */
struct message {
	char name[NAME];
	uint32_t publish;
	struct herd_value value;
};

static struct message names[NAMES];
static int num_names;
static int registry = -1; /* of a client */

static void must_write(int fd, const struct message *m)
{
	CHECK(write(fd, m, sizeof(*m)) == sizeof(*m), "registry: %s", strerror(errno));
}

/* False: the peer has ended. */
static bool read_message(int fd, struct message *m)
{
	ssize_t n = recv(fd, m, sizeof(*m), MSG_WAITALL);

	CHECK(n >= 0, "registry: %s", strerror(errno));
	if (n != sizeof(*m))
		return false;
	m->name[NAME - 1] = 0;
	return true;
}

/* ------------------------------------------------------------------- server */

static const struct message *find(const char *name)
{
	for (int i = 0; i < num_names; i++)
		if (!strcmp(names[i].name, name))
			return &names[i];
	return NULL;
}

static void publish(const struct message *m)
{
	CHECK(!find(m->name), "%s is published twice", m->name);
	CHECK(num_names < NAMES, "too many names");
	names[num_names++] = *m;
}

static int port_of(const char *port, struct sockaddr_in *a)
{
	*a = (struct sockaddr_in){.sin_family = AF_INET,
				  .sin_port = htons((uint16_t)atoi(port)),
				  .sin_addr = {htonl(INADDR_LOOPBACK)}};
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

_Noreturn void herd_registry_serve(const char *port)
{
	struct pollfd p[PEERS + 1] = {0};
	struct message waits[PEERS + 1] = {0}; /* the pending lookup of a peer, if it has a name */
	struct sockaddr_in a;
	int n = 1, one = 1;

	p[0] = (struct pollfd){.fd = port_of(port, &a), .events = POLLIN};
	setsockopt(p[0].fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	CHECK(!bind(p[0].fd, (struct sockaddr *)&a, sizeof(a)) && !listen(p[0].fd, PEERS), "%s: %s",
	      port, strerror(errno));
	for (;;) {
		CHECK(poll(p, (nfds_t)n, -1) > 0, "poll: %s", strerror(errno));
		for (int i = 1; i < n; i++) {
			struct message m;

			if (!p[i].revents)
				continue;
			if (!read_message(p[i].fd, &m)) {
				close(p[i].fd);
				p[i].fd = -1; /* poll() ignores it */
				waits[i].name[0] = 0;
			} else if (m.publish) {
				publish(&m);
			} else {
				waits[i] = m;
			}
		}
		for (int i = 1; i < n; i++) {
			const struct message *m = find(waits[i].name);

			if (!waits[i].name[0] || !m)
				continue;
			must_write(p[i].fd, m);
			waits[i].name[0] = 0;
		}
		if (p[0].revents) {
			CHECK(n <= PEERS, "too many peers");
			p[n] = (struct pollfd){.fd = accept4(p[0].fd, NULL, NULL, SOCK_CLOEXEC),
					       .events = POLLIN};
			CHECK(p[n].fd >= 0, "accept: %s", strerror(errno));
			n++;
		}
	}
}

/* ------------------------------------------------------------------- client */

void herd_registry_connect(const char *port)
{
	struct sockaddr_in a;
	int one = 1;

	registry = port_of(port, &a);
	CHECK(!connect(registry, (struct sockaddr *)&a, sizeof(a)), "registry: %s",
	      strerror(errno));
	setsockopt(registry, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void herd_publish(const struct herd_value *v, const char *fmt, ...)
{
	struct message m = {.publish = 1, .value = *v};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m.name, sizeof(m.name), fmt, ap);
	va_end(ap);
	must_write(registry, &m);
}

struct herd_value herd_lookup(const char *fmt, ...)
{
	struct message m = {0};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m.name, sizeof(m.name), fmt, ap);
	va_end(ap);
	must_write(registry, &m);
	CHECK(read_message(registry, &m), "the registry has ended");
	return m.value;
}
