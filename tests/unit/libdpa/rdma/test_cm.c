/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_cm.c - connections by address: states and callbacks, on the real device. */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cm_rig.h"

TestSuite(cm, .timeout = 100);

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

/* Both sides get the event, and the only place is free again. */
Test(cm, disconnected_and_again)
{
	begin(1, 30000);
	for (int i = 1; i <= 3; i++) {
		struct side *who = i % 2 ? &client : &server;

		server.established = client.established = 0;
		connect_both();
		OK(doca_rdma_connection_disconnect(who->conn));
		if (i == 3) { /* the address may be destroyed before the connection */
			OK(doca_rdma_addr_destroy(addr));
			addr = NULL;
		}
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

/* No answer in time: the client gives up. The server's answer detects that. */
Test(cm, never_answered)
{
	struct doca_rdma_connection *first;

	begin(2, 100);
	server.answer = LATER;
	call(1);
	AWAIT(client.failed);
	cr_assert_eq(server.requested, 1);
	first = server.conn;
	call(2);
	AWAIT(server.requested == 2); /* after the client's message that it has given up */
	IS(doca_rdma_connection_accept(first, NULL, 0), CONNECTION_ABORTED);
	IS(doca_rdma_connection_accept(first, NULL, 0), INVALID_VALUE); /* it is gone */
	cr_assert_eq(client.established + server.established + server.failed, 0);
	end();
}

/*
 * Room for two: a request is sent again when a process of the host ends, and a duplicate may be
 * refused once and then find the listener.
 */
Test(cm, nobody_listens)
{
	begin(2, 30000);
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
	AWAIT(client.failed); /* the server has no room */
	cr_assert_eq(server.requested, 2);
	end();
}

/* A child cannot make queue pairs from inherited objects. */
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

/* A callback cannot destroy the context of its caller. */
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

/* Each side sleeps until it has work. */
Test(cm, asleep)
{
	begin(1, 30000);
	call(1);
	while (!server.requested) {
		doca_pe_progress(client.pe);
		await_handle(&server);
	}
	while (!client.established)
		await_handle(&client);
	while (!server.established)
		await_handle(&server);
	OK(doca_rdma_connection_disconnect(client.conn));
	while (!server.disconnected)
		await_handle(&server);
	while (!client.disconnected)
		await_handle(&client);
	end();
}

/* A time limit wakes a sleeping thread, too. */
Test(cm, asleep_until_the_limit)
{
	begin(1, 100);
	server.answer = LATER;
	call(1);
	AWAIT(server.requested);
	while (!client.failed)
		await_handle(&client);
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
	IS(doca_rdma_start_listen_to_port(client.rdma, port), CONNECTION_ABORTED); /* in use */
	IS(doca_rdma_connection_accept(NULL, NULL, 0), INVALID_VALUE);
	IS(doca_rdma_connection_reject(NULL), INVALID_VALUE);
	IS(doca_rdma_connection_disconnect(NULL), INVALID_VALUE);
	IS(doca_rdma_connection_get_addr(NULL, &a), INVALID_VALUE);
	/* an exported connection is none of these */
	OK(doca_rdma_export(client.rdma, &details, &size, &c));
	IS(doca_rdma_connection_get_addr(c, &a), INVALID_VALUE);
	IS(doca_rdma_connection_accept(c, NULL, 0), INVALID_VALUE);
	IS(doca_rdma_connection_disconnect(c), INVALID_VALUE);
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

/* The server in a separate process, which is killed: the client gets the end. */
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
