/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connections by address: states and callbacks, on the real device. */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rig.h"
#include <doca_pe.h>

TestSuite(cm, .timeout = 100);

enum answer { ACCEPT, REJECT, LATER, STOP, STOP_LISTENING };

/* A context with its engine. */
struct side {
	struct doca_dpa_completion *comp;
	struct doca_rdma *rdma;
	struct doca_ctx *ctx;
	struct doca_pe *pe;
	struct doca_rdma_connection *conn; /* of the last callback */
	union doca_data user_data;	   /* the same */
	enum answer answer;
	int requested, established, failed, disconnected;
	doca_error_t answered;
};

static struct side server, client;
static struct rig rig;
static struct doca_rdma_addr *addr;
static uint16_t port;

/* What was freed just now reads otherwise than it did. */
static void spoil_what_is_free(void)
{
	void *p[32];

	for (int i = 0; i < 32; i++) {
		p[i] = malloc(32);
		cr_assert_not_null(p[i]);
		memset(p[i], 0x5a, 32);
	}
	for (int i = 0; i < 32; i++)
		free(p[i]);
}

static void on_request(struct doca_rdma_connection *c, union doca_data ctx)
{
	struct side *s = ctx.ptr;

	s->requested++;
	s->conn = c;
	if (s->answer == ACCEPT)
		s->answered = doca_rdma_connection_accept(c, (void *)"hello", 6);
	else if (s->answer == REJECT)
		s->answered = doca_rdma_connection_reject(c);
	else if (s->answer == STOP)
		s->answered = doca_ctx_stop(s->ctx);
	else if (s->answer == STOP_LISTENING) {
		s->answered = doca_rdma_stop_listen_to_port(s->rdma, port);
		spoil_what_is_free();
	}
}

static void note(struct side *s, int *count, struct doca_rdma_connection *c, union doca_data own)
{
	++*count;
	s->conn = c;
	s->user_data = own;
}

static void on_established(struct doca_rdma_connection *c, union doca_data own, union doca_data ctx)
{
	note(ctx.ptr, &((struct side *)ctx.ptr)->established, c, own);
}

static void on_failure(struct doca_rdma_connection *c, union doca_data own, union doca_data ctx)
{
	note(ctx.ptr, &((struct side *)ctx.ptr)->failed, c, own);
}

static void on_disconnection(struct doca_rdma_connection *c, union doca_data own,
			     union doca_data ctx)
{
	note(ctx.ptr, &((struct side *)ctx.ptr)->disconnected, c, own);
	IS(doca_rdma_connection_disconnect(c), INVALID_VALUE); /* it is being ended */
}

static void make(struct side *s, uint16_t connections, uint16_t timeout_ms)
{
	memset(s, 0, sizeof(*s));
	OK(doca_dpa_completion_create(rig.dpa, 16, &s->comp));
	OK(doca_dpa_completion_start(s->comp));
	OK(doca_pe_create(&s->pe));
	OK(doca_rdma_create(rig.dev, &s->rdma));
	s->ctx = doca_rdma_as_ctx(s->rdma);
	OK(doca_ctx_set_user_data(s->ctx, (union doca_data){.ptr = s}));
	OK(doca_ctx_set_datapath_on_dpa(s->ctx, rig.dpa));
	OK(doca_rdma_dpa_completion_attach(s->rdma, s->comp));
	OK(doca_rdma_set_max_num_connections(s->rdma, connections));
	OK(doca_rdma_set_connection_request_timeout(s->rdma, timeout_ms));
	OK(doca_rdma_set_connection_state_callbacks(s->rdma, on_request, on_established, on_failure,
						    on_disconnection));
	OK(doca_pe_connect_ctx(s->pe, s->ctx));
	OK(doca_ctx_start(s->ctx));
}

static void unmake(struct side *s)
{
	enum doca_ctx_states state;

	OK(doca_ctx_get_state(s->ctx, &state));
	if (state != DOCA_CTX_STATE_IDLE)
		OK(doca_ctx_stop(s->ctx));
	OK(doca_rdma_destroy(s->rdma));
	OK(doca_pe_destroy(s->pe));
	OK(doca_dpa_completion_destroy(s->comp));
}

static void work(void)
{
	bool any = false;

	if (server.pe)
		any |= doca_pe_progress(server.pe);
	if (client.pe)
		any |= doca_pe_progress(client.pe);
	if (!any)
		sched_yield();
}

#define AWAIT(condition)                                                                           \
	do                                                                                         \
		work();                                                                            \
	while (!(condition))

static void end(void)
{
	if (client.pe)
		unmake(&client);
	if (server.pe)
		unmake(&server);
	if (addr)
		OK(doca_rdma_addr_destroy(addr));
	OK(doca_dpa_destroy(rig.dpa));
	OK(doca_dev_close(rig.dev));
}

/* A socket of this process that has a port of its own. */
static int tcp_socket(uint16_t *its_port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	*its_port = ntohs(in.sin_port);
	return fd;
}

static void listen_somewhere(void)
{
	doca_error_t ret;

	do {
		close(tcp_socket(&port));
		ret = doca_rdma_start_listen_to_port(server.rdma, port);
	} while (ret == DOCA_ERROR_CONNECTION_ABORTED); /* it was taken meanwhile */
	OK(ret);
}

static void begin(uint16_t connections, uint16_t timeout_ms)
{
	rig_open(&rig);
	make(&server, connections, timeout_ms);
	make(&client, connections, timeout_ms);
	listen_somewhere();
	OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "127.0.0.1", port, &addr));
}

static void call(uint64_t user_data)
{
	OK(doca_rdma_connect_to_addr(client.rdma, addr, (union doca_data){.u64 = user_data}));
}

static void connect_both(void)
{
	call(17);
	AWAIT(server.established && client.established);
}

Test(cm, accepted)
{
	enum doca_rdma_addr_type type;
	struct doca_rdma_addr *of;
	union doca_data data;
	const char *text;
	uint16_t its_port;
	uint32_t id;

	begin(1, 30000);
	connect_both();
	cr_assert_eq(server.requested, 1);
	OK(server.answered);
	cr_assert_eq(client.user_data.u64, 17);
	OK(doca_rdma_connection_get_user_data(client.conn, &data));
	cr_assert_eq(data.u64, 17);
	OK(doca_rdma_connection_get_id(client.conn, &id));
	cr_assert_eq(id, 0);
	OK(doca_rdma_connection_get_addr(client.conn, &of));
	cr_assert_eq(of, addr);
	OK(doca_rdma_connection_get_addr(server.conn, &of));
	OK(doca_rdma_addr_get_params(of, &type, &text, &its_port));
	cr_assert_eq(type, DOCA_RDMA_ADDR_TYPE_IPv4);
	cr_assert_str_eq(text, "127.0.0.1");
	cr_assert_neq(its_port, 0);
	IS(doca_rdma_addr_destroy(of), BAD_STATE);
	IS(doca_rdma_addr_destroy(addr), BAD_STATE);
	/* nothing to answer any more */
	IS(doca_rdma_connection_accept(server.conn, NULL, 0), INVALID_VALUE);
	IS(doca_rdma_connection_reject(server.conn), INVALID_VALUE);
	cr_assert_eq(server.failed + client.failed + server.disconnected + client.disconnected, 0);
	end();
}

/* Both sides hear of it, and the only place is free again. */
Test(cm, disconnected_and_again)
{
	begin(1, 30000);
	for (int i = 1; i <= 3; i++) {
		struct side *who = i % 2 ? &client : &server;

		server.established = client.established = 0;
		connect_both();
		OK(doca_rdma_connection_disconnect(who->conn));
		IS(doca_rdma_connection_disconnect(who->conn), INVALID_VALUE);
		AWAIT(server.disconnected == i && client.disconnected == i);
		IS(doca_rdma_connection_set_user_data(client.conn, client.user_data),
		   INVALID_VALUE);
		IS(doca_rdma_connection_disconnect(server.conn), INVALID_VALUE);
	}
	cr_assert_eq(server.failed + client.failed, 0);
	end();
}

Test(cm, rejected)
{
	begin(1, 30000);
	server.answer = REJECT;
	call(5);
	AWAIT(client.failed);
	OK(server.answered);
	cr_assert_eq(client.user_data.u64, 5);
	cr_assert_eq(client.established + server.established + server.failed, 0);
	server.answer = ACCEPT;
	connect_both();
	end();
}

Test(cm, answered_later)
{
	begin(2, 30000);
	server.answer = LATER;
	call(1);
	AWAIT(server.requested == 1);
	OK(doca_rdma_connection_accept(server.conn, NULL, 0));
	IS(doca_rdma_connection_accept(server.conn, NULL, 0), INVALID_VALUE);
	IS(doca_rdma_connection_disconnect(server.conn), INVALID_VALUE); /* not yet */
	AWAIT(server.established && client.established);
	call(2);
	AWAIT(server.requested == 2);
	OK(doca_rdma_connection_reject(server.conn));
	IS(doca_rdma_connection_reject(server.conn), INVALID_VALUE); /* gone */
	AWAIT(client.failed);
	end();
}

/* Nobody answers in time: the client gives up, and the server hears of that. */
Test(cm, never_answered)
{
	begin(1, 100);
	server.answer = LATER;
	call(1);
	AWAIT(client.failed && server.failed);
	cr_assert_eq(server.requested, 1);
	cr_assert_eq(client.established + server.established, 0);
	end();
}

/* A TCP server that says nothing. */
Test(cm, a_silent_peer)
{
	struct doca_rdma_addr *silent;
	uint16_t its_port;
	int fd = tcp_socket(&its_port);

	begin(1, 100);
	cr_assert_eq(listen(fd, 1), 0);
	OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_GID, "::ffff:127.0.0.1", its_port, &silent));
	OK(doca_rdma_connect_to_addr(client.rdma, silent, (union doca_data){.u64 = 1}));
	AWAIT(client.failed);
	OK(doca_rdma_addr_destroy(silent)); /* not in use any more */
	close(fd);
	end();
}

Test(cm, nobody_listens)
{
	begin(1, 30000);
	OK(doca_rdma_stop_listen_to_port(server.rdma, port));
	IS(doca_rdma_stop_listen_to_port(server.rdma, port), INVALID_VALUE);
	call(1);
	AWAIT(client.failed);
	OK(doca_rdma_start_listen_to_port(server.rdma, port));
	connect_both();
	end();
}

Test(cm, full)
{
	begin(1, 30000);
	connect_both();
	IS(doca_rdma_connect_to_addr(client.rdma, addr, client.user_data), CONNECTION_ABORTED);
	unmake(&client);
	make(&client, 2, 30000);
	AWAIT(server.disconnected);
	connect_both();
	call(2);
	AWAIT(client.failed); /* the server has no more */
	cr_assert_eq(server.requested, 2);
	end();
}

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

/* What others may send to the port does no harm, and is not told. */
Test(cm, rubbish)
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
Test(cm, gone_before_the_answer)
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
Test(cm, gone_unnoticed)
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

/* A child cannot make queue pairs on what it inherits. */
Test(cm, in_a_child)
{
	struct doca_rdma_connection *c;
	const void *details;
	int status;
	size_t size;
	pid_t pid;

	begin(1, 30000);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		IS(doca_rdma_export(client.rdma, &details, &size, &c), CONNECTION_ABORTED);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	end();
}

/* The callback of a request ends the listener of which the same look at the sockets tells next. */
Test(cm, stop_listening_in_a_callback)
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
Test(cm, stop_listening_while_a_child_lives)
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
Test(cm, many_callers)
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

Test(cm, the_peer_stops)
{
	begin(1, 30000);
	connect_both();
	OK(doca_ctx_stop(client.ctx));
	AWAIT(server.disconnected);
	IS(doca_rdma_connection_disconnect(client.conn), INVALID_VALUE);
	OK(doca_ctx_start(client.ctx));
	server.established = client.established = 0;
	connect_both();
	end();
}

/* A callback cannot take the context from under who calls it. */
Test(cm, stopped_by_a_callback)
{
	enum doca_ctx_states state;

	begin(1, 30000);
	server.answer = STOP;
	call(1);
	AWAIT(client.failed);
	cr_assert_eq(server.answered, DOCA_ERROR_IN_PROGRESS);
	OK(doca_ctx_get_state(server.ctx, &state));
	cr_assert_eq(state, DOCA_CTX_STATE_IDLE);
	end();
}

static void await_handle(struct side *s)
{
	struct pollfd p = {.events = POLLIN};

	OK(doca_pe_get_notification_handle(s->pe, &p.fd));
	OK(doca_pe_request_notification(s->pe));
	cr_assert_eq(poll(&p, 1, 60000), 1);
	OK(doca_pe_clear_notification(s->pe, p.fd));
	while (!doca_pe_progress(s->pe))
		sched_yield();
}

/* Each side sleeps until it is its turn, a time limit included. */
Test(cm, asleep)
{
	begin(1, 100);
	server.answer = LATER;
	call(1);
	while (!server.requested) {
		doca_pe_progress(client.pe);
		await_handle(&server);
	}
	while (!client.failed)
		await_handle(&client);
	while (!server.failed)
		await_handle(&server);
	end();
}

Test(cm, refused)
{
	struct doca_rdma_addr *a;
	enum doca_rdma_addr_type type;
	struct doca_rdma_connection *c;
	union doca_data data = {.u64 = 0};
	const void *details;
	const char *text;
	struct side bare;
	uint16_t its_port;
	size_t size;
	int fd;

	begin(2, 30000);
	IS(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, NULL, 1, &a), INVALID_VALUE);
	IS(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "127.0.0.1", 0, &a), INVALID_VALUE);
	IS(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "127.0.0.1", 1, NULL), INVALID_VALUE);
	IS(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "::1", 1, &a), INVALID_VALUE);
	IS(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "localhost", 1, &a), INVALID_VALUE);
	IS(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv6, "10.0.0.1", 1, &a), INVALID_VALUE);
	IS(doca_rdma_addr_create((enum doca_rdma_addr_type)3, "::1", 1, &a), INVALID_VALUE);
	OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv6, "::1", 7, &a));
	OK(doca_rdma_addr_get_params(a, &type, &text, &its_port));
	cr_assert(type == DOCA_RDMA_ADDR_TYPE_IPv6 && !strcmp(text, "::1") && its_port == 7);
	IS(doca_rdma_addr_get_params(a, NULL, &text, &its_port), INVALID_VALUE);
	OK(doca_rdma_addr_destroy(a));
	IS(doca_rdma_addr_destroy(a), INVALID_VALUE);
	IS(doca_rdma_addr_get_params(a, &type, &text, &its_port), INVALID_VALUE);
	IS(doca_rdma_connect_to_addr(client.rdma, a, data), INVALID_VALUE);
	IS(doca_rdma_connect_to_addr(NULL, addr, data), INVALID_VALUE);
	IS(doca_rdma_set_connection_state_callbacks(client.rdma, on_request, NULL, on_failure,
						    on_disconnection),
	   INVALID_VALUE);
	IS(doca_rdma_start_listen_to_port(NULL, 1), INVALID_VALUE);
	IS(doca_rdma_start_listen_to_port(server.rdma, 0), INVALID_VALUE);
	IS(doca_rdma_start_listen_to_port(server.rdma, port), INVALID_VALUE);
	fd = tcp_socket(&its_port);
	cr_assert_eq(listen(fd, 1), 0);
	IS(doca_rdma_start_listen_to_port(server.rdma, its_port), CONNECTION_ABORTED);
	close(fd);
	IS(doca_rdma_connection_accept(NULL, NULL, 0), INVALID_VALUE);
	IS(doca_rdma_connection_reject(NULL), INVALID_VALUE);
	IS(doca_rdma_connection_disconnect(NULL), INVALID_VALUE);
	IS(doca_rdma_connection_get_addr(NULL, &a), INVALID_VALUE);
	/* one that was exported is none of these */
	OK(doca_rdma_export(client.rdma, &details, &size, &c));
	IS(doca_rdma_connection_get_addr(c, &a), INVALID_VALUE);
	IS(doca_rdma_connection_accept(c, NULL, 0), INVALID_VALUE);
	IS(doca_rdma_connection_disconnect(c), INVALID_VALUE);
	IS(doca_rdma_bridge_accept(client.rdma, (void *)&fd, NULL, 0, &c), NOT_SUPPORTED);
	IS(doca_rdma_bridge_accept(client.rdma, NULL, NULL, 0, &c), INVALID_VALUE);
	IS(doca_rdma_bridge_established(client.rdma, c), NOT_SUPPORTED);
	IS(doca_rdma_bridge_established(client.rdma, NULL), INVALID_VALUE);
	OK(doca_ctx_stop(client.ctx));
	IS(doca_rdma_start_listen_to_port(client.rdma, 1), BAD_STATE);
	IS(doca_rdma_connect_to_addr(client.rdma, addr, data), BAD_STATE);
	OK(doca_ctx_start(client.ctx));
	/* without an engine */
	memset(&bare, 0, sizeof(bare));
	OK(doca_rdma_create(rig.dev, &bare.rdma));
	bare.ctx = doca_rdma_as_ctx(bare.rdma);
	OK(doca_ctx_set_datapath_on_dpa(bare.ctx, rig.dpa));
	OK(doca_rdma_dpa_completion_attach(bare.rdma, client.comp));
	OK(doca_ctx_start(bare.ctx));
	IS(doca_rdma_connect_to_addr(bare.rdma, addr, data), BAD_STATE); /* no callbacks */
	OK(doca_rdma_set_connection_state_callbacks(bare.rdma, on_request, on_established,
						    on_failure, on_disconnection));
	IS(doca_rdma_start_listen_to_port(bare.rdma, its_port), NOT_SUPPORTED);
	IS(doca_rdma_stop_listen_to_port(bare.rdma, its_port), NOT_SUPPORTED);
	IS(doca_rdma_connect_to_addr(bare.rdma, addr, data), NOT_SUPPORTED);
	OK(doca_ctx_stop(bare.ctx));
	OK(doca_rdma_destroy(bare.rdma));
	end();
}

/* The server in a process of its own, which is killed: the client hears of it. */
Test(cm, two_processes)
{
	int told[2], status;
	pid_t pid;

	cr_assert_eq(pipe(told), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		rig_open(&rig);
		make(&server, 1, 30000);
		listen_somewhere();
		if (write(told[1], &port, sizeof(port)) != sizeof(port))
			_exit(1);
		for (;;)
			work();
	}
	rig_open(&rig);
	make(&client, 1, 30000);
	cr_assert_eq(read(told[0], &port, sizeof(port)), (ssize_t)sizeof(port));
	OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "127.0.0.1", port, &addr));
	call(3);
	AWAIT(client.established);
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	AWAIT(client.disconnected);
	cr_assert_eq(client.user_data.u64, 3);
	call(4);
	AWAIT(client.failed);
	end();
}
