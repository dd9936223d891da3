/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connections by address: who else may call, and listeners that end. */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cm_rig.h"

TestSuite(cm_peers, .timeout = 100);

static void send_all(int fd, const void *data, size_t n)
{
	cr_assert_eq(send(fd, data, n, MSG_NOSIGNAL), (ssize_t)n);
}

static int connect_tcp(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	return fd;
}

/* Until the server has closed it. */
static void await_end_of(int fd)
{
	char text[1000];

	while (recv(fd, text, sizeof(text), MSG_DONTWAIT) < 0)
		work();
	close(fd);
}

/* As docs/connections.md has it. */
struct message {
	uint32_t magic;
	uint16_t version;
	uint8_t type, private_len;
	struct dpa_rdma_details details;
	uint8_t private_data[256];
};

/* Other bytes that come to the port do no harm, and are not reported. */
Test(cm_peers, rubbish)
{
	static const char web[500] = "GET / HTTP/1.0\r\n\r\n";
	struct message m = {.magic = htonl(0x6470636d), .version = htons(1), .type = 3};
	int fd;

	begin(2, 30000);
	fd = connect_tcp();
	send_all(fd, web, sizeof(web));
	await_end_of(fd);
	fd = connect_tcp(); /* a piece of a message */
	send_all(fd, &m, 100);
	shutdown(fd, SHUT_WR);
	await_end_of(fd);
	fd = connect_tcp(); /* out of order */
	send_all(fd, &m, sizeof(m));
	await_end_of(fd);
	m.version = htons(2);
	m.type = 1;
	fd = connect_tcp(); /* of a later version */
	send_all(fd, &m, sizeof(m));
	await_end_of(fd);
	cr_assert_eq(server.requested + server.failed, 0);
	m.version = htons(1);
	/* DOCA: doca_rdma_connection_accept CONNECTION_ABORTED */
	fd = connect_tcp(); /* details that are none */
	send_all(fd, &m, sizeof(m));
	await_end_of(fd);
	cr_assert_eq(server.requested, 1);
	cr_assert_eq(server.answered, DOCA_ERROR_CONNECTION_ABORTED);
	connect_both();
	end();
}

/* A peer that asks and goes away before it is answered. */
Test(cm_peers, gone_before_the_answer)
{
	struct message m = {.magic = htonl(0x6470636d), .version = htons(1), .type = 1};
	int fd;

	begin(2, 30000);
	server.answer = LATER;
	fd = connect_tcp();
	send_all(fd, &m, sizeof(m));
	AWAIT(server.requested);
	close(fd);
	AWAIT(server.failed);
	IS(doca_rdma_connection_accept(server.conn, NULL, 0), INVALID_VALUE);
	end();
}

/* The end of a socket that the kernel tells at once. */
static void reset(int fd)
{
	const struct linger now = {.l_onoff = 1};

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	close(fd);
}

/* A peer that is gone when it is answered, and when it is left. */
Test(cm_peers, gone_unnoticed)
{
	struct message m = {.magic = htonl(0x6470636d),
			    .version = htons(1),
			    .type = 1,
			    .details = {.magic = htonl(DPA_RDMA_DETAILS_MAGIC),
					.version = htons(DPA_RDMA_DETAILS_VERSION),
					.size = htons(sizeof(m.details)),
					.qpn = htonl(1),
					.mtu = 3,
					.num_gids = 1,
					.gids[0] = {[10] = 0xff, 0xff, 127, 0, 0, 1}}};
	int fd;

	begin(2, 30000);
	server.answer = LATER;
	fd = connect_tcp();
	send_all(fd, &m, sizeof(m));
	AWAIT(server.requested == 1);
	reset(fd);
	IS(doca_rdma_connection_reject(server.conn), CONNECTION_ABORTED);
	fd = connect_tcp();
	send_all(fd, &m, sizeof(m));
	AWAIT(server.requested == 2);
	OK(doca_rdma_connection_accept(server.conn, NULL, 0));
	m.type = 3;
	memset(&m.details, 0, sizeof(m.details));
	send_all(fd, &m, sizeof(m));
	AWAIT(server.established);
	reset(fd);
	IS(doca_rdma_connection_disconnect(server.conn), CONNECTION_ABORTED);
	AWAIT(server.disconnected);
	end();
}

/* The callback of a request ends the listener of which the same look at the sockets tells next. */
Test(cm_peers, stop_listening_in_a_callback)
{
	struct message m = {.magic = htonl(0x6470636d), .version = htons(1), .type = 1};
	int fd, next;

	begin(2, 30000);
	server.answer = STOP_LISTENING;
	fd = connect_tcp();
	while (!doca_pe_progress(server.pe)) /* it is accepted */
		sched_yield();
	send_all(fd, &m, 100);
	while (!doca_pe_progress(server.pe)) /* of the two, only its socket is ready */
		sched_yield();
	send_all(fd, (char *)&m + 100, sizeof(m) - 100);
	next = connect_tcp();
	AWAIT(server.requested);
	OK(server.answered);
	await_end_of(next);
	IS(doca_rdma_stop_listen_to_port(server.rdma, port), INVALID_VALUE);
	close(fd);
	AWAIT(server.failed);
	server.answer = ACCEPT;
	OK(doca_rdma_start_listen_to_port(server.rdma, port));
	connect_both();
	end();
}

/* A child that lives on has the listening socket open: who calls there is none of ours. */
Test(cm_peers, stop_listening_while_a_child_lives)
{
	int hold[2], fd;
	uint16_t was;
	char end_of_file;
	pid_t pid;

	begin(1, 30000);
	cr_assert_eq(pipe(hold), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		close(hold[1]);
		_exit((int)read(hold[0], &end_of_file, 1));
	}
	fd = connect_tcp();
	was = port;
	listen_somewhere();
	OK(doca_rdma_stop_listen_to_port(server.rdma, was));
	OK(doca_rdma_addr_destroy(addr));
	OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "127.0.0.1", port, &addr));
	connect_both();
	close(hold[1]);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	close(fd);
	end();
}

/* More silent callers than are waited for; nobody works while one of them connects. */
Test(cm_peers, many_callers)
{
	enum { CALLERS = 80 };
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd[CALLERS];

	begin(1, 30000);
	in.sin_port = htons(port);
	for (int i = 0; i < CALLERS; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		cr_assert(!connect(fd[i], (struct sockaddr *)&in, sizeof(in)) ||
			  errno == EINPROGRESS);
		work();
	}
	connect_both();
	for (int i = 0; i < CALLERS; i++)
		close(fd[i]);
	end();
}
