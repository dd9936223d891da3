/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_data.c - posts of device code, received by a verbs peer, and posts of the peer, received by
 * device code.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <string.h>
#include "rig.h"

TestSuite(data, .timeout = 60);

enum { SEND = 0, RECV_WRITE_IMM = 1, RECV = 2, RECV_IMM = 3, SEND_ERR = 13, RECV_ERR = 14 };

static void fill(uint8_t *p, uint32_t n, uint8_t seed)
{
	for (uint32_t i = 0; i < n; i++)
		p[i] = (uint8_t)(seed + i * 7);
}

static void sent(struct rig *r, struct cmd c, uint32_t conn)
{
	struct element e;

	rig_do(r, c);
	e = rig_element(r);
	cr_assert_eq(e.type, (uint64_t)SEND, "type %u status %u", (unsigned)e.type,
		     (unsigned)e.status);
	cr_assert_eq(e.user_data, conn);
}

Test(data, sends_of_every_size)
{
	static const uint32_t sizes[] = {0, 1, 8, 207, 208, 209, 4096, 100000};
	static const uint64_t ops[] = {CMD_SEND, CMD_BUF_SEND, CMD_SEND_IMM, CMD_BUF_SEND_IMM};
	struct rig r;

	rig_up(&r);
	for (uint32_t k = 0; k < 4; k++)
		for (uint32_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			struct cmd c = send_cmd(&r, ops[k], 64, sizes[i], FLUSH);
			struct ibv_wc wc;

			c.conn = i % RIG_CONNS;
			c.imm = 0x01020304u + i;
			fill(r.mem + 64, sizes[i], (uint8_t)(i + k));
			memset(r.mem2, 0xee, 200000);
			peer_recv(&r, (int)c.conn, i, 0, 200000);
			sent(&r, c, (uint32_t)c.conn);
			wc = peer_wc(&r, (int)c.conn);
			cr_assert_eq(wc.status, IBV_WC_SUCCESS);
			cr_assert_eq(wc.opcode, IBV_WC_RECV);
			cr_assert_eq(wc.byte_len, sizes[i]);
			cr_assert_eq(!!(wc.wc_flags & IBV_WC_WITH_IMM), k >= 2);
			if (k >= 2)
				cr_assert_eq(ntohl(wc.imm_data), 0x01020304u + i);
			cr_assert_eq(memcmp(r.mem2, r.mem + 64, sizes[i]), 0);
			cr_assert_eq(r.mem2[sizes[i]], 0xee);
		}
	rig_down(&r);
}

Test(data, writes_and_reads)
{
	static const uint32_t sizes[] = {1, 208, 209, 70000};
	struct rig r;

	rig_up(&r);
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t n = sizes[i / 2];

		fill(r.mem, n, (uint8_t)i);
		memset(r.mem2, 0, n);
		sent(&r, rdma_cmd(&r, i % 2 ? CMD_BUF_WRITE : CMD_WRITE, 0, 0, n, FLUSH), 0);
		cr_assert_eq(memcmp(r.mem, r.mem2, n), 0);
		fill(r.mem2 + 8, n, (uint8_t)(i + 100));
		sent(&r, rdma_cmd(&r, i % 2 ? CMD_BUF_READ : CMD_READ, 16, 8, n, FLUSH), 0);
		cr_assert_eq(memcmp(r.mem + 16, r.mem2 + 8, n), 0);
	}
	rig_down(&r);
}

Test(data, writes_with_immediate)
{
	struct rig r;

	rig_up(&r);
	for (uint32_t i = 0; i < 2; i++) {
		struct cmd c =
			rdma_cmd(&r, i ? CMD_BUF_WRITE_IMM : CMD_WRITE_IMM, 0, 512, 300, FLUSH);
		struct ibv_wc wc;

		c.imm = 77 + i;
		c.conn = i;
		fill(r.mem, 300, (uint8_t)i);
		peer_recv(&r, (int)i, 5, 0, 0);
		sent(&r, c, i);
		wc = peer_wc(&r, (int)i);
		cr_assert_eq(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
		cr_assert_eq(ntohl(wc.imm_data), 77 + i);
		cr_assert_eq(memcmp(r.mem, r.mem2 + 512, 300), 0);
	}
	rig_down(&r);
}

Test(data, fetch_and_add)
{
	struct cmd c;
	struct rig r;

	rig_up(&r);
	*(uint64_t *)(r.mem2 + 8) = 40;
	c = rdma_cmd(&r, CMD_FETCH_ADD, 0, 8, 8, FLUSH);
	c.value = 2;
	sent(&r, c, 0);
	cr_assert_eq(*(uint64_t *)(r.mem2 + 8), 42u);
	c.op = CMD_BUF_FETCH_ADD;
	c.value = (uint64_t)-43;
	c.conn = 1;
	sent(&r, c, 1);
	cr_assert_eq(*(uint64_t *)(r.mem2 + 8), ~0ull);
	c.remote++; /* not a multiple of 8 */
	rig_do(&r, c);
	cr_assert_eq(rig_element(&r).type, (uint64_t)SEND_ERR);
	rig_down(&r);
}

Test(data, receives_of_two_connections)
{
	static const struct {
		enum ibv_wr_opcode op;
		uint32_t type;
	} kinds[] = {{IBV_WR_SEND, RECV},
		     {IBV_WR_SEND_WITH_IMM, RECV_IMM},
		     {IBV_WR_RDMA_WRITE_WITH_IMM, RECV_WRITE_IMM}};
	struct rig r;

	rig_up(&r);
	for (uint32_t i = 0; i < 36; i++) {
		uint32_t conn = i % 2, k = i % 3, n = 1 + i * 300;
		struct cmd c = send_cmd(&r, i % 4 < 2 ? CMD_RECV : CMD_BUF_RECV, 0, n, 0);
		struct element e;

		fill(r.mem2, n, (uint8_t)i);
		memset(r.mem, 0, n);
		rig_do(&r, c);
		peer_send(&r, (int)conn, kinds[k].op, 0, n, 1000 + i);
		e = rig_element(&r);
		cr_assert_eq(e.type, kinds[k].type, "%u: %u", i, (unsigned)e.type);
		cr_assert_eq(e.user_data, conn);
		cr_assert_eq(e.wr_index, i % RIG_QUEUE);
		cr_assert_eq(e.bytes, n);
		if (k)
			cr_assert_eq(e.imm, 1000 + i);
		cr_assert_eq(memcmp(r.mem, r.mem2, n), 0);
		cr_assert_eq(peer_wc(&r, (int)conn).status, IBV_WC_SUCCESS);
	}
	/* returning receives is allowed, and changes nothing */
	rig_do(&r, (struct cmd){.op = CMD_RECV_ACK, .rdma = r.handle, .value = 36});
	rig_do(&r, (struct cmd){.op = CMD_ACK, .value = 36});
	rig_down(&r);
}

/* 4b.1: changes after the call are not sent, even with a late receiver. */
Test(data, payloads_are_those_of_the_call)
{
	struct rig r;

	rig_up(&r);
	*(uint64_t *)r.mem = 100;
	for (uint64_t i = 0; i < 4; i++)
		rig_do(&r, send_cmd(&r, CMD_SEND_AND_CHANGE, 0, 8, FLUSH | OPTIMIZE));
	cr_assert(peer_no_wc(&r, 0));
	for (uint64_t i = 0; i < 4; i++) {
		peer_recv(&r, 0, i, 64, 8);
		cr_assert_eq(peer_wc(&r, 0).status, IBV_WC_SUCCESS);
		cr_assert_eq(*(uint64_t *)(r.mem2 + 64), 100 + i);
	}
	cr_assert(rig_no_element(&r), "4b.3: FLUSH | OPTIMIZE_REPORTS raises none");
	rig_down(&r);
}

/* 4b.2: messages of two connections, one receive at a time. */
Test(data, a_message_waits_for_its_receive)
{
	uint32_t got[2] = {0};
	struct rig r;

	rig_up(&r);
	for (uint32_t i = 0; i < 4; i++)
		peer_send(&r, (int)i % 2, IBV_WR_SEND, i * 8, 8, 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct element e;

		rig_do(&r, send_cmd(&r, CMD_RECV, i * 8, 8, 0));
		e = rig_element(&r);
		cr_assert_eq(e.type, (uint64_t)RECV);
		got[e.user_data]++;
	}
	cr_assert(got[0] == 2 && got[1] == 2);
	rig_down(&r);
}

/* 4b.5: one receive, posted again a hundred times without an acknowledgement. */
Test(data, nothing_need_be_acknowledged)
{
	struct rig r;

	rig_make(&r);
	OK(doca_rdma_set_recv_queue_size(r.rdma, 1));
	rig_start(&r);
	for (uint32_t i = 0; i < 600; i++) { /* more than the completion context holds */
		rig_do(&r, send_cmd(&r, CMD_RECV, 0, 8, 0));
		peer_send(&r, 0, IBV_WR_SEND, 0, 8, 0);
		cr_assert_eq(rig_element(&r).type, (uint64_t)RECV);
		cr_assert_eq(peer_wc(&r, 0).status, IBV_WC_SUCCESS);
	}
	rig_down(&r);
}

Test(data, held_back_until_flushed)
{
	struct rig r;

	rig_up(&r);
	for (uint64_t i = 0; i < 3; i++)
		peer_recv(&r, 0, i, i * 8, 8);
	rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, 0));
	rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, 0));
	cr_assert(peer_no_wc(&r, 0));
	rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, FLUSH));
	for (uint64_t i = 0; i < 3; i++) {
		cr_assert_eq(peer_wc(&r, 0).wr_id, i);
		cr_assert_eq(rig_element(&r).wr_index, i);
	}
	rig_down(&r);
}

Test(data, a_batch_is_reported_once)
{
	struct element e;
	struct rig r;

	rig_up(&r);
	for (uint64_t i = 0; i < 8; i++)
		peer_recv(&r, 0, i, 0, 8);
	for (uint64_t i = 0; i < 7; i++)
		rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, OPTIMIZE));
	rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, FLUSH));
	e = rig_element(&r);
	cr_assert_eq(e.type, (uint64_t)SEND);
	cr_assert_eq(e.wr_index, 7u);
	for (uint64_t i = 0; i < 8; i++)
		cr_assert_eq(peer_wc(&r, 0).wr_id, i);
	cr_assert(rig_no_element(&r));
	rig_down(&r);
}

Test(data, a_full_queue_is_waited_for)
{
	struct cmd c;
	struct rig r;

	rig_up(&r);
	c = rdma_cmd(&r, CMD_WRITE, 0, 0, 8, OPTIMIZE); /* never flushed */
	c.times = 50 * RIG_QUEUE;
	rig_do(&r, c);
	c.op = CMD_FETCH_ADD;
	c.remote += 64;
	c.value = 1;
	rig_do(&r, c);
	c.times = 1;
	c.flags = FLUSH;
	sent(&r, c, 0);
	cr_assert_eq(*(uint64_t *)(r.mem2 + 64), 50u * RIG_QUEUE + 1);
	rig_down(&r);
}

Test(data, receives_beyond_the_queue_are_waited_for)
{
	struct cmd c;
	struct rig r;

	rig_up(&r);
	c = send_cmd(&r, CMD_RECV, 0, 8, 0);
	c.times = 3 * RIG_QUEUE;
	rig_begin(&r, c);
	for (uint32_t i = 0; i < 2 * RIG_QUEUE; i++) {
		peer_send(&r, 0, IBV_WR_SEND, 0, 8, 0);
		cr_assert_eq(peer_wc(&r, 0).status, IBV_WC_SUCCESS);
	}
	rig_wait(&r);
	for (uint32_t i = 0; i < 2 * RIG_QUEUE; i++)
		cr_assert_eq(rig_element(&r).type, (uint64_t)RECV);
	cr_assert(rig_no_element(&r));
	rig_down(&r);
}

/* Send without a receive at the peer: one more than the queue holds, one block each. */
static void begin_to_wait(struct rig *r)
{
	struct cmd c = send_cmd(r, CMD_SEND, 0, 8, FLUSH | OPTIMIZE);

	c.times = 4 * RIG_QUEUE + 1;
	rig_begin(r, c);
	while (__atomic_load_n(&r->board->sent, __ATOMIC_ACQUIRE) < c.times - 1)
		sched_yield();
}

/* The poster waits for ever: its thread can be stopped, */
Test(data, a_thread_stops_while_it_waits)
{
	struct rig r;

	rig_up(&r);
	begin_to_wait(&r);
	OK(doca_dpa_thread_stop(r.thread));
	OK(doca_dpa_peek_at_last_error(r.dpa));
	r.foul = true;
	rig_down(&r);
}

/*
 * and so can the context that it waits for. A poster that was stopped between its report and its
 * call finds no context, which is an error: the stop was too early, and another poster is used.
 */
Test(data, a_context_stops_while_a_poster_waits)
{
	bool waited = false;

	for (int i = 0; i < 10 && !waited; i++) {
		struct rig r;

		rig_up(&r);
		begin_to_wait(&r);
		OK(doca_ctx_stop(r.ctx));
		waited = rig_wait_or_fault(&r);
		rig_down(&r);
	}
	cr_assert(waited);
}

Test(data, errors_are_elements)
{
	struct element e;
	struct cmd c;
	struct rig r;

	rig_up(&r);
	c = send_cmd(&r, CMD_SEND, 0, 8, FLUSH | OPTIMIZE);
	c.local_key ^= 1; /* an invalid key: not copied, and refused */
	rig_do(&r, c);
	e = rig_element(&r);
	cr_assert_eq(e.type, (uint64_t)SEND_ERR);
	cr_assert_eq(e.status, (uint64_t)IBV_WC_LOC_PROT_ERR);
	cr_assert_eq(e.user_data, 0u);
	/* beyond the end of the map, on the other connection */
	c = send_cmd(&r, CMD_SEND, RIG_MEM - 4, 8, FLUSH);
	c.conn = 1;
	rig_do(&r, c);
	e = rig_element(&r);
	cr_assert_eq(e.type, (uint64_t)SEND_ERR);
	cr_assert_eq(e.user_data, 1u);
	/* a failed connection flushes posts to it */
	rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, FLUSH));
	e = rig_element(&r);
	cr_assert_eq(e.type, (uint64_t)SEND_ERR);
	cr_assert_eq(e.status, (uint64_t)IBV_WC_WR_FLUSH_ERR);
	OK(doca_dpa_peek_at_last_error(r.dpa));
	rig_down(&r);
}

Test(data, the_peer_refuses)
{
	struct element e;
	struct cmd c;
	struct rig r;

	rig_up(&r);
	c = rdma_cmd(&r, CMD_WRITE, 0, 0, 8, FLUSH);
	c.remote_key ^= 1;
	rig_do(&r, c);
	e = rig_element(&r);
	cr_assert_eq(e.type, (uint64_t)SEND_ERR);
	cr_assert_eq(e.status, (uint64_t)IBV_WC_REM_ACCESS_ERR);
	/* and a message that is too long for the receive is an error at the receiver */
	rig_do(&r, send_cmd(&r, CMD_RECV, 0, 8, 0));
	peer_send(&r, 1, IBV_WR_SEND, 0, 9, 0);
	e = rig_element(&r);
	cr_assert_eq(e.type, (uint64_t)RECV_ERR);
	cr_assert_eq(e.user_data, 1u);
	rig_down(&r);
}

/* 4b.14: permissions of the context apply to the QP. */
Test(data, peers_may_do_what_permissions_allow)
{
	struct rig r;

	rig_make(&r);
	OK(doca_rdma_set_permissions(r.rdma, DOCA_ACCESS_FLAG_RDMA_WRITE));
	rig_start(&r);
	*(uint64_t *)r.mem2 = 7;
	peer_send(&r, 0, IBV_WR_RDMA_WRITE, 0, 8, 0);
	cr_assert_eq(peer_wc(&r, 0).status, IBV_WC_SUCCESS);
	cr_assert_eq(*(uint64_t *)r.mem, 7u);
	peer_send(&r, 0, IBV_WR_RDMA_READ, 0, 8, 0);
	cr_assert_eq(peer_wc(&r, 0).status, IBV_WC_REM_INV_REQ_ERR);
	rig_down(&r);
}
