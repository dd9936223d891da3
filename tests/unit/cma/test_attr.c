/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_attr.c - INIT_QP_ATTR: the attributes for each side and type, in each state, and their
 * values.
 */
#include "util.h"

enum {
	STATE = 1,
	ACCESS = 1 << 3,
	PKEY = 1 << 4,
	PORT = 1 << 5,
	QKEY = 1 << 6,
	AV = 1 << 7,
	MTU = 1 << 8,
	TIMEOUT = 1 << 9,
	RETRY = 1 << 10,
	RNR = 1 << 11,
	RQ_PSN = 1 << 12,
	RD_ATOMIC = 1 << 13,
	MIN_RNR = 1 << 15,
	SQ_PSN = 1 << 16,
	DEST_RD_ATOMIC = 1 << 17,
	DEST_QPN = 1 << 20
};
enum { RESET, INIT, RTR, RTS, SQD, SQE, ERR };
enum {
	A_MASK = 0,
	A_STATE = 4,
	A_MTU = 12,
	A_QKEY = 20,
	A_RQ_PSN = 24,
	A_SQ_PSN = 28,
	A_DQPN = 32,
	A_ACCESS = 36,
	A_AH = 40,
	A_PKEY = 124,
	A_RD = 130,
	A_DEST_RD = 131,
	A_MIN_RNR = 132,
	A_PORT = 133,
	A_TIMEOUT = 134,
	A_RETRY = 135,
	A_RNR = 136
};

static struct pair p;
static uint8_t a[144];

static void attr(int fd, uint32_t id, uint32_t state, uint32_t mask)
{
	memset(a, 0xee, sizeof(a));
	cr_assert_eq(qp_attr(fd, id, state, a), 0, "state %u", state);
	cr_expect_eq(get32(a, A_MASK), mask, "state %u: 0x%x, not 0x%x", state, get32(a, A_MASK),
		     mask);
	cr_expect_eq(get32(a, A_STATE), state);
}

static void none(int fd, uint32_t id, uint32_t state)
{
	cr_expect_eq(qp_attr(fd, id, state, a), EINVAL, "state %u", state);
}

static void check_ah(void)
{
	static const uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};

	cr_expect_arr_eq(a + A_AH, gid, 16);
	cr_expect_eq(a[A_AH + 20], 0);
	cr_expect_eq(a[A_AH + 21], 64);
	cr_expect_eq(a[A_AH + 29], 1, "global");
	cr_expect_eq(a[A_AH + 30], 1, "port");
}

Test(cma_attr, rc)
{
	const struct conn req = {.qpn = 0x111, .responder = 3, .depth = 5, .retry = 6, .rnr = 4};
	const struct conn rep = {.qpn = 0x222, .responder = 4, .depth = 2, .rnr = 3};
	uint32_t psn_c, psn_s;
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	attr(p.c, p.active, INIT, STATE | PKEY | PORT | ACCESS);
	cr_expect_eq(get32(a, A_ACCESS), 0);
	cr_expect_eq(get16(a, A_PKEY), 0);
	cr_expect_eq(a[A_PORT], 1);
	/* rdma_init_qp_attr() of Linux does not look at the state before there is a connection */
	for (uint32_t state = RESET; state <= ERR; state++)
		attr(p.c, p.active, state, STATE | PKEY | PORT | ACCESS);
	none(p.c, p.active, 7);
	cr_assert_eq(connect_id(p.c, p.active, &req), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	p.passive = ev.id;
	attr(p.c, p.active, INIT, STATE | PKEY | PORT | ACCESS);
	cr_expect_eq(get32(a, A_ACCESS), 2 | 4 | 8);
	none(p.c, p.active, RTR);
	/* passive: all of them from the request on */
	attr(p.s, p.passive, INIT, STATE | PKEY | PORT | ACCESS);
	cr_expect_eq(get32(a, A_ACCESS), 2 | 4 | 8);
	attr(p.s, p.passive, RTR, STATE | AV | MTU | DEST_QPN | RQ_PSN | DEST_RD_ATOMIC | MIN_RNR);
	check_ah();
	cr_expect_eq(get32(a, A_DQPN), 0x111);
	cr_expect_eq(get32(a, A_MTU), 5);
	cr_expect_eq(a[A_DEST_RD], 5, "the peer's initiator depth");
	cr_expect_eq(a[A_MIN_RNR], 0);
	psn_s = get32(a, A_RQ_PSN);
	attr(p.s, p.passive, RTS, STATE | SQ_PSN | RETRY | RNR | RD_ATOMIC | TIMEOUT);
	psn_c = get32(a, A_SQ_PSN);
	cr_expect_eq(a[A_RETRY], 6);
	cr_expect_eq(a[A_RNR], 4);
	cr_expect_eq(a[A_RD], 3, "the peer's responder resources");
	cr_expect_eq(a[A_TIMEOUT], 19);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &rep), 0);
	attr(p.s, p.passive, RTR, STATE | AV | MTU | DEST_QPN | RQ_PSN | DEST_RD_ATOMIC | MIN_RNR);
	cr_expect_eq(a[A_DEST_RD], 4, "its own");
	attr(p.s, p.passive, RTS, STATE | SQ_PSN | RETRY | RNR | RD_ATOMIC | TIMEOUT);
	cr_expect_eq(a[A_RD], 2);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	attr(p.c, p.active, RTR, STATE | AV | MTU | DEST_QPN | RQ_PSN | DEST_RD_ATOMIC | MIN_RNR);
	check_ah();
	cr_expect_eq(get32(a, A_DQPN), 0x222);
	cr_expect_eq(a[A_DEST_RD], 2);
	cr_expect_eq(get32(a, A_RQ_PSN), psn_c, "each announces what it expects");
	attr(p.c, p.active, RTS, STATE | SQ_PSN | RETRY | RNR | RD_ATOMIC | TIMEOUT);
	cr_expect_eq(get32(a, A_SQ_PSN), psn_s);
	cr_expect_eq(a[A_RD], 4);
	cr_expect_eq(a[A_RETRY], 6);
	cr_expect_eq(a[A_RNR], 3);
	cr_assert_eq(establish(p.c, p.active), 0);
	attr(p.c, p.active, RTS, STATE | SQ_PSN | RETRY | RNR | RD_ATOMIC | TIMEOUT);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	none(p.c, p.active, RTR);
}

Test(cma_attr, no_reads_without_resources)
{
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = 1, .depth = 0}), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	attr(p.c, p.active, INIT, STATE | PKEY | PORT | ACCESS);
	cr_expect_eq(get32(a, A_ACCESS), 2);
	attr(p.s, ev.id, INIT, STATE | PKEY | PORT | ACCESS);
	cr_expect_eq(get32(a, A_ACCESS), 2);
}

Test(cma_attr, retries_are_cut_to_7)
{
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = 1, .retry = 15, .rnr = 200}),
		     0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_expect_eq(ev.raw[20 + 269], 7);
	cr_expect_eq(ev.raw[20 + 270], 7);
	attr(p.s, ev.id, RTS, STATE | SQ_PSN | RETRY | RNR | RD_ATOMIC | TIMEOUT);
	cr_expect_eq(a[A_RETRY], 7);
	cr_expect_eq(a[A_RNR], 7);
}

static void connect_type(uint8_t active, uint8_t passive)
{
	struct event ev;

	pair_listen(&p, PS_IB, passive);
	p.active = pair_route(&p, PS_IB, active, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = 0x111, .responder = 1}), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	p.passive = ev.id;
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = 0x222}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
}

Test(cma_attr, uc)
{
	connect_type(QP_UC, QP_UC);
	attr(p.c, p.active, INIT, STATE | PKEY | PORT | ACCESS);
	attr(p.c, p.active, RTR, STATE | AV | MTU | DEST_QPN | RQ_PSN);
	attr(p.c, p.active, RTS, STATE | SQ_PSN);
	attr(p.s, p.passive, RTR, STATE | AV | MTU | DEST_QPN | RQ_PSN);
	attr(p.s, p.passive, RTS, STATE | SQ_PSN);
}

Test(cma_attr, xrc)
{
	connect_type(QP_XRC_SEND, QP_XRC_RECV);
	attr(p.c, p.active, RTR, STATE | AV | MTU | DEST_QPN | RQ_PSN);
	cr_expect_eq(get32(a, A_DQPN), 0x222);
	attr(p.c, p.active, RTS, STATE | SQ_PSN | RETRY | RNR | RD_ATOMIC | TIMEOUT);
	attr(p.s, p.passive, RTR, STATE | AV | MTU | DEST_QPN | RQ_PSN | DEST_RD_ATOMIC | MIN_RNR);
	attr(p.s, p.passive, RTS, STATE | SQ_PSN | TIMEOUT);
}

Test(cma_attr, ud)
{
	struct event ev;

	pair_listen(&p, PS_UDP, QP_UD);
	p.active = pair_route(&p, PS_UDP, QP_UD, UID + 2);
	attr(p.c, p.active, INIT, STATE | PKEY | PORT | QKEY);
	cr_expect_eq(get32(a, A_QKEY), 0x01234567);
	attr(p.c, p.active, RTR, STATE | PKEY | PORT | QKEY);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = 1}), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	attr(p.s, ev.id, INIT, STATE | PKEY | PORT | QKEY);
	attr(p.s, ev.id, RTS, STATE | PKEY | PORT | QKEY);
	cr_expect_eq(get32(a, A_QKEY), 0x01234567);
	cr_expect_eq(a[A_PORT], 1);
}

Test(cma_attr, an_ack_timeout_of_the_program)
{
	uint8_t t = 21;

	connect_type(QP_RC, QP_RC);
	cr_assert_eq(set_option(p.c, p.active, 0, 3, &t, 1), 0);
	attr(p.c, p.active, RTS, STATE | SQ_PSN | RETRY | RNR | RD_ATOMIC | TIMEOUT);
	cr_expect_eq(a[A_TIMEOUT], 21, "whenever it is set");
	cr_assert_eq(set_option(p.s, p.passive, 0, 3, &t, 1), 0);
	attr(p.s, p.passive, RTS, STATE | SQ_PSN | RETRY | RNR | RD_ATOMIC | TIMEOUT);
	cr_expect_eq(a[A_TIMEOUT], 21);
}

/*
 * A request that waits for its answer has all attributes that UCX reads: the address of its peer.
 */
Test(cma_attr, a_request_has_attributes_before_its_accept)
{
	pair_request(&p);
	attr(p.s, p.passive, RTR, STATE | AV | MTU | DEST_QPN | RQ_PSN | DEST_RD_ATOMIC | MIN_RNR);
	check_ah();
}
