/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_ends.c - the end of a connection that a DPA thread uses: arrived messages are readable,
 * posts are reported.
 */
#include <string.h>
#include "cm_rig.h"

TestSuite(ends, .timeout = 60);

enum { SENT = 8, SEND_ERR = 0xd, RECV_SEND = 2 };

static uint64_t server_handle, client_handle;

/* Make two contexts, connected by address; one DPA thread serves both and reads the server's. */
static void up(void)
{
	rig_make(&rig);
	make(&server, 1, 30000);
	make(&client, 1, 30000);
	listen_somewhere();
	OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "127.0.0.1", port, &addr));
	connect_both();
	OK(doca_rdma_get_dpa_handle(server.rdma, &server_handle));
	OK(doca_rdma_get_dpa_handle(client.rdma, &client_handle));
	OK(doca_dpa_completion_get_dpa_handle(server.comp, &rig.board->comp));
}

static void down(void)
{
	unmake(&client);
	unmake(&server);
	OK(doca_rdma_addr_destroy(addr));
	rig_down(&rig);
}

/* Use the i-th kilobyte as source or destination. */
static void do_at(enum cmd_op op, uint64_t handle, uint64_t kb, uint64_t length, uint32_t flags)
{
	struct cmd c = send_cmd(&rig, op, kb << 10, length, flags);

	c.rdma = handle;
	rig_do(&rig, c);
}

static void receives(int n)
{
	for (int i = 0; i < n; i++)
		do_at(CMD_RECV, server_handle, 512 + (uint64_t)i, 1024, 0);
}

static void send_some(uint32_t flags)
{
	for (uint64_t i = 0; i < SENT; i++) {
		rig.mem[i << 10] = (uint8_t)(100 + i);
		do_at(CMD_SEND, client_handle, i, 1024, flags);
	}
}

static void disconnected(struct side *who)
{
	OK(doca_rdma_connection_disconnect(who->conn));
	AWAIT(server.disconnected == 1 && client.disconnected == 1);
}

static void all_there(void)
{
	for (uint64_t i = 0; i < SENT; i++) {
		struct element e = rig_element(&rig);

		cr_assert_eq(e.type, RECV_SEND);
		cr_assert_eq(e.status, IBV_WC_SUCCESS);
		cr_assert_eq(e.bytes, 1024);
		cr_assert_eq(rig.mem[(512 + i) << 10], 100 + i);
	}
	cr_assert(rig_no_element(&rig));
}

Test(ends, what_came_is_read_after_the_peer_has_gone)
{
	up();
	receives(SENT);
	send_some(FLUSH | OPTIMIZE);
	disconnected(&client);
	all_there();
	down();
}

Test(ends, what_came_is_read_after_it_was_disconnected_here)
{
	up();
	receives(SENT);
	send_some(FLUSH | OPTIMIZE);
	disconnected(&server);
	all_there();
	down();
}

/* Another connection has the id by then; the elements are the earlier ones. */
Test(ends, what_came_is_read_while_the_next_peer_is_there)
{
	up();
	receives(SENT);
	send_some(FLUSH | OPTIMIZE);
	disconnected(&client);
	client.established = server.established = 0;
	connect_both();
	all_there();
	receives(SENT);
	send_some(FLUSH | OPTIMIZE);
	all_there();
	down();
}

/* The peer takes none: a thread that waits for their reports gets them. */
Test(ends, what_is_posted_fails)
{
	up();
	for (int i = 0; i < 3; i++)
		do_at(CMD_SEND, server_handle, 0, 8, FLUSH);
	disconnected(&client);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(rig_element(&rig).type, SEND_ERR);
	cr_assert(rig_no_element(&rig));
	down();
}

Test(ends, what_is_posted_fails_when_it_was_disconnected_here)
{
	up();
	for (int i = 0; i < 3; i++)
		do_at(CMD_SEND, server_handle, 0, 8, FLUSH);
	disconnected(&server);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(rig_element(&rig).type, SEND_ERR);
	cr_assert(rig_no_element(&rig));
	down();
}

/* The thread cannot detect the end yet: it gets a failure like any other. */
Test(ends, what_is_posted_behind_the_end_fails)
{
	up();
	disconnected(&client);
	for (int i = 0; i < 3; i++) {
		do_at(CMD_SEND, server_handle, 0, 8, FLUSH);
		cr_assert_eq(rig_element(&rig).type, SEND_ERR);
	}
	cr_assert(rig_no_element(&rig));
	down();
}

/* The id is about to be reused, which the thread cannot detect either. */
Test(ends, what_is_posted_while_the_next_one_connects_fails)
{
	up();
	disconnected(&client);
	server.answer = LATER;
	server.requested = 0;
	call(18);
	AWAIT(server.requested);
	do_at(CMD_SEND, server_handle, 0, 8, FLUSH);
	cr_assert_eq(rig_element(&rig).type, SEND_ERR);
	server.established = client.established = 0;
	OK(doca_rdma_connection_accept(server.conn, NULL, 0));
	AWAIT(server.established && client.established);
	OK(doca_dpa_peek_at_last_error(rig.dpa));
	receives(SENT);
	send_some(FLUSH | OPTIMIZE);
	all_there();
	down();
}

/* One was refused in between: its id still belongs to the former one. */
Test(ends, refused_in_between)
{
	up();
	disconnected(&client);
	server.answer = REJECT;
	call(18);
	AWAIT(client.failed);
	do_at(CMD_SEND, server_handle, 0, 8, FLUSH);
	cr_assert_eq(rig_element(&rig).type, SEND_ERR);
	down();
}
