/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_cm_peers.c - connections by address with peers that use librdmacm, and listeners that end.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cm_plain.h"

TestSuite(cm_peers, .timeout = 100);

static struct plain peer, other;

/* The server's thread, on one kilobyte of the rig's memory. */
static void server_does(enum cmd_op op, uint64_t kb, uint64_t length)
{
	struct cmd c = send_cmd(&rig, op, kb << 10, length, FLUSH);

	OK(doca_rdma_get_dpa_handle(server.rdma, &c.rdma));
	rig_do(&rig, c);
}

static void begin_with_thread(void)
{
	rig_make(&rig);
	make(&server, 1, 30000);
	listen_somewhere();
	OK(doca_dpa_completion_get_dpa_handle(server.comp, &rig.board->comp));
	plain_open(&peer);
}

/* Exchange a message in each direction, to and from the server's thread. */
static void exchange(void)
{
	server_does(CMD_RECV, 1, 1024);
	plain_send(&peer, "from a plain program");
	cr_assert_eq(plain_sent(&peer).status, IBV_WC_SUCCESS);
	cr_assert_eq(rig_element(&rig).bytes, 21);
	cr_assert_str_eq((char *)rig.mem + 1024, "from a plain program");
	plain_recv(&peer);
	strcpy((char *)rig.mem, "from a DPA thread");
	server_does(CMD_SEND, 0, 18);
	cr_assert_eq(plain_received(&peer).byte_len, 18);
	cr_assert_str_eq((char *)peer.mem, "from a DPA thread");
}

Test(cm_peers, a_plain_client)
{
	enum doca_rdma_addr_type type;
	struct doca_rdma_addr *of;
	const char *text;
	uint16_t its_port;

	begin_with_thread();
	plain_resolve(&peer);
	plain_make_qp(&peer);
	plain_call(&peer, "some data");
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_ESTABLISHED);
	cr_assert_geq(peer.data_len, 6);
	cr_assert_str_eq(peer.data, "hello");
	AWAIT(server.established);
	OK(doca_rdma_connection_get_addr(server.conn, &of));
	OK(doca_rdma_addr_get_params(of, &type, &text, &its_port));
	cr_assert_eq(type, DOCA_RDMA_ADDR_TYPE_IPv4);
	cr_assert_str_eq(text, "127.0.0.1");
	cr_assert_eq(its_port, ntohs(rdma_get_src_port(peer.id)));
	exchange();
	cr_assert_eq(rdma_disconnect(peer.id), 0);
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_DISCONNECTED);
	AWAIT(server.disconnected);
	cr_assert_eq(server.failed, 0);
	plain_close(&peer);
	unmake(&server);
	rig_down(&rig);
}

/* The context is stopped: its peers get the end. */
Test(cm_peers, stopped_under_a_plain_client)
{
	begin_with_thread();
	plain_resolve(&peer);
	plain_make_qp(&peer);
	plain_call(&peer, NULL);
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_ESTABLISHED);
	AWAIT(server.established); /* otherwise it would be a refusal */
	OK(doca_ctx_stop(server.ctx));
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_DISCONNECTED);
	plain_close(&peer);
	unmake(&server);
	rig_down(&rig);
}

static struct doca_rdma_addr *plain_server(void)
{
	struct doca_rdma_addr *a;

	plain_open(&peer);
	OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_GID, "::ffff:127.0.0.1", plain_listen(&peer),
				 &a));
	OK(doca_rdma_connect_to_addr(client.rdma, a, (union doca_data){.u64 = 1}));
	return a;
}

static void end_with_server(struct doca_rdma_addr *a)
{
	OK(doca_rdma_addr_destroy(a)); /* not in use any more */
	plain_close(&peer);
	end();
}

Test(cm_peers, a_plain_server)
{
	struct doca_rdma_addr *a;

	begin(1, 30000);
	a = plain_server();
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_CONNECT_REQUEST);
	plain_make_qp(&peer);
	plain_accept(&peer, "some data");
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_ESTABLISHED);
	AWAIT(client.established);
	OK(doca_rdma_connection_disconnect(client.conn));
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_DISCONNECTED);
	cr_assert_eq(rdma_disconnect(peer.id), 0);
	AWAIT(client.disconnected);
	end_with_server(a);
}

/* A peer that never answers a disconnection: the time limit ends it. */
Test(cm_peers, a_plain_server_that_stays)
{
	struct doca_rdma_addr *a;

	begin(1, 1000);
	a = plain_server();
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_CONNECT_REQUEST);
	plain_make_qp(&peer);
	plain_accept(&peer, NULL);
	AWAIT(client.established);
	OK(doca_rdma_connection_disconnect(client.conn));
	AWAIT(client.disconnected);
	end_with_server(a);
}

Test(cm_peers, a_plain_server_that_refuses)
{
	struct doca_rdma_addr *a;

	begin(1, 30000);
	a = plain_server();
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_CONNECT_REQUEST);
	cr_assert_eq(rdma_reject(peer.id, "no", 3), 0);
	AWAIT(client.failed);
	end_with_server(a);
}

Test(cm_peers, a_silent_server)
{
	struct doca_rdma_addr *a;

	begin(1, 100);
	a = plain_server();
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_CONNECT_REQUEST);
	AWAIT(client.failed);
	end_with_server(a);
}

/* A peer that leaves before it gets an answer. Its refusal comes before the next request. */
Test(cm_peers, gone_before_the_answer)
{
	struct doca_rdma_connection *gone;

	begin(2, 30000);
	server.answer = LATER;
	for (int i = 1; i <= 2; i++) {
		plain_open(&peer);
		plain_open(&other);
		plain_resolve(&peer);
		plain_call(&peer, NULL);
		AWAIT(server.requested == 2 * i - 1);
		gone = server.conn;
		plain_leave(&peer);
		plain_resolve(&other);
		plain_call(&other, NULL);
		AWAIT(server.requested == 2 * i);
		if (i == 1)
			IS(doca_rdma_connection_accept(gone, NULL, 0), CONNECTION_ABORTED);
		else
			IS(doca_rdma_connection_reject(gone), CONNECTION_ABORTED);
		IS(doca_rdma_connection_reject(gone), INVALID_VALUE);
		OK(doca_rdma_connection_reject(server.conn));
		cr_assert_eq(plain_event(&other), RDMA_CM_EVENT_REJECTED);
		plain_close(&peer);
		plain_close(&other);
	}
	cr_assert_eq(server.failed, 0);
	end();
}

/* A request with an invalid QP: the server becomes ready, and the peer's message ends it. */
Test(cm_peers, gone_after_the_answer)
{
	begin(1, 30000);
	plain_open(&peer);
	plain_resolve(&peer);
	plain_call(&peer, NULL);
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_CONNECT_RESPONSE);
	plain_leave(&peer);
	AWAIT(server.failed);
	cr_assert_eq(server.established, 0);
	plain_close(&peer);
	connect_both();
	end();
}

Test(cm_peers, data_that_does_not_fit)
{
	char data[197] = "";

	begin(1, 30000);
	server.answer = LATER;
	call(1);
	AWAIT(server.requested);
	IS(doca_rdma_connection_accept(server.conn, data, 197), INVALID_VALUE);
	IS(doca_rdma_connection_accept(server.conn, NULL, 1), INVALID_VALUE);
	OK(doca_rdma_connection_accept(server.conn, data, 196));
	AWAIT(server.established && client.established);
	end();
}

/* The callback of a request ends the listener that has the next one. */
Test(cm_peers, stop_listening_in_a_callback)
{
	begin(2, 30000);
	plain_open(&peer);
	plain_open(&other);
	plain_resolve(&peer);
	plain_resolve(&other);
	server.answer = STOP_LISTENING;
	plain_call(&peer, NULL);
	plain_call(&other, NULL);
	AWAIT(server.requested);
	OK(server.answered);
	cr_assert_eq(plain_event(&other), RDMA_CM_EVENT_REJECTED);
	IS(doca_rdma_stop_listen_to_port(server.rdma, port), INVALID_VALUE);
	OK(doca_rdma_connection_reject(server.conn));
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_REJECTED);
	server.answer = ACCEPT;
	OK(doca_rdma_start_listen_to_port(server.rdma, port));
	connect_both();
	plain_close(&peer);
	plain_close(&other);
	end();
}

/* A child that lives on has the descriptors, too: the port is released nevertheless. */
Test(cm_peers, stop_listening_while_a_child_lives)
{
	int hold[2], status;
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
	OK(doca_rdma_stop_listen_to_port(server.rdma, port));
	OK(doca_rdma_start_listen_to_port(client.rdma, port));
	OK(doca_rdma_stop_listen_to_port(client.rdma, port));
	OK(doca_rdma_start_listen_to_port(server.rdma, port));
	connect_both();
	close(hold[1]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	end();
}

/* More connecting peers at a time than there is room for. */
Test(cm_peers, many_callers)
{
	enum { CALLERS = 80 };
	static struct plain caller[CALLERS];
	int refused = 0;

	begin(1, 30000);
	for (int i = 0; i < CALLERS; i++) {
		plain_open(&caller[i]);
		plain_resolve(&caller[i]);
		plain_make_qp(&caller[i]);
		plain_call(&caller[i], NULL);
	}
	for (int i = 0; i < CALLERS; i++)
		refused += plain_event(&caller[i]) == RDMA_CM_EVENT_REJECTED;
	cr_assert_eq(refused, CALLERS - 1);
	cr_assert_eq(server.requested, 1);
	AWAIT(server.established);
	for (int i = 0; i < CALLERS; i++)
		plain_close(&caller[i]);
	AWAIT(server.disconnected);
	end();
}
