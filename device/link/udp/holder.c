/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * holder.c - finds the holder of a UDP port of this network namespace.
 *
 * The kernel lists the sockets of all users with their inodes in /proc/net/udp*. An adapter
 * instance publishes that a socket is its own by an abstract socket name with that inode; the name
 * ends with the adapter's process. The process of any other inode is named as far as this user may
 * see it.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "util/openers.h"
#include "util/sys.h"
#include "link/udp/udp.h"

struct find {
	uint16_t port;
	uint32_t num;
	uint64_t except;
	uint64_t foreign; /* inode that belonged to no instance before; 0: none */
	/* number of the instance found last: most sockets of a port belong to one */
	uint32_t guess;
	enum dpa_udp_holder who;
	struct dpa_udp_sock sock; /* the socket that `who` describes */
};

static socklen_t abstract_name(struct sockaddr_un *sa, uint16_t port, uint32_t num, uint64_t inode)
{
	int n;

	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	n = snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, "dpa-udp-%u/%u/%" PRIu64, port,
		     num, inode);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int dpa_udp_name(uint16_t port, uint32_t num, uint64_t inode)
{
	struct sockaddr_un sa;
	socklen_t len = abstract_name(&sa, port, num, inode);
	int fd = dpa_sys_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && dpa_sys_bind(fd, (struct sockaddr *)&sa, len)) {
		dpa_sys_close(fd);
		fd = -1;
	}
	return fd;
}

/* True if an adapter instance publishes this socket as its own. */
static bool is_socket_named(int fd, uint16_t port, uint32_t num, uint64_t inode)
{
	struct sockaddr_un sa;
	socklen_t len = abstract_name(&sa, port, num, inode);

	return dpa_sys_connect(fd, (struct sockaddr *)&sa, len) == 0;
}

static enum dpa_udp_holder holder_of(struct find *f, uint64_t inode)
{
	int fd = dpa_sys_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	enum dpa_udp_holder who = DPA_HOLDER_OTHER;

	if (fd < 0)
		return who;
	if (is_socket_named(fd, f->port, f->num, inode))
		who = DPA_HOLDER_US;
	else if (f->guess && is_socket_named(fd, f->port, f->guess, inode))
		who = DPA_HOLDER_BOARD;
	for (uint32_t n = 1; n < 255 && who == DPA_HOLDER_OTHER; n++)
		if (is_socket_named(fd, f->port, n, inode)) {
			who = DPA_HOLDER_BOARD;
			f->guess = n;
		}
	dpa_sys_close(fd);
	return who;
}

/*
 * Reads the lines of /proc/net/udp and udp6: "sl local:port rem:port st q:q tr:when retr uid tmo
 * inode"
 */
static void look_through(struct find *f, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[512];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		struct dpa_udp_sock s;
		enum dpa_udp_holder who;
		unsigned port;

		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %u %*d %" SCNu64,
			   &port, &s.uid, &s.inode) != 3 ||
		    port != f->port || (f->except && s.inode == f->except))
			continue;
		who = s.inode == f->foreign ? DPA_HOLDER_OTHER : holder_of(f, s.inode);
		if (who > f->who) {
			f->who = who;
			f->sock = s;
		}
	}
	fclose(file);
}

static bool is_socket(void *arg, int dir, const char *name)
{
	char link[48];
	ssize_t n = readlinkat(dir, name, link, sizeof(link) - 1);

	link[n > 0 ? n : 0] = '\0';
	return strcmp(link, arg) == 0;
}

/* Writes "name (pid N)" of a process that has the socket. False: this user can see none. */
static bool find_process(uint64_t inode, char *text, size_t len)
{
	char want[48];

	snprintf(want, sizeof(want), "socket:[%" PRIu64 "]", inode);
	return dpa_openers(is_socket, want, 0, 1, text, len);
}

enum dpa_udp_holder dpa_udp_who(uint16_t port, uint32_t num, uint64_t except,
				struct dpa_udp_sock *sock)
{
	struct find f = {.port = port, .num = num, .except = except, .foreign = sock->inode};

	look_through(&f, "/proc/self/net/udp6");
	look_through(&f, "/proc/self/net/udp");
	*sock = f.sock;
	return f.who;
}

void dpa_udp_describe(const struct dpa_udp_sock *s, char *text, size_t len)
{
	bool see_all = geteuid() == 0;

	if (!s->inode)
		snprintf(text, len, "a socket that /proc does not show");
	else if (find_process(s->inode, text, len))
		return;
	else if (s->uid == 0 && see_all)
		snprintf(text, len, "a socket that no process has: the kernel's (rdma_rxe?)");
	else
		snprintf(text, len, "a process of uid %u%s", s->uid,
			 s->uid == 0 ? " or the kernel (rdma_rxe?)" : "");
}
