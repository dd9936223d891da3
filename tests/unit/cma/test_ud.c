/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_ud.c - UD: service id resolution (SIDR) and multicast groups. */
#include <arpa/inet.h>
#include "util.h"

static struct pair p;
static uint8_t data[256];

static void setup(void)
{
	for (int i = 0; i < 256; i++)
		data[i] = (uint8_t)(i + 1);
}

TestSuite(cma_ud, .init = setup);

static const uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};

/* Fields of an UD event, 20 bytes into the answer. */
static void check(const struct event *ev, uint32_t qpn, uint32_t qkey, uint8_t len, size_t sent)
{
	const uint8_t *u = ev->raw + 20, zero[256] = {0};

	cr_expect_eq(get32(u, 0), qpn);
	cr_expect_eq(get32(u, 4), qkey);
	cr_expect_eq(u[40 + 256], len, "private data: %u", u[296]);
	cr_assert_arr_eq(u + 40, data, sent);
	cr_assert_arr_eq(u + 40 + sent, zero, 256 - sent, "zero-filled");
}

static void check_ah(const struct event *ev, const uint8_t dgid[16], uint8_t tclass)
{
	const uint8_t *ah = ev->raw + 20 + 8;

	cr_expect_arr_eq(ah, dgid, 16);
	cr_expect_eq(ah[20], 0, "GID index");
	cr_expect_eq(ah[21], 64, "hop limit %u", ah[21]);
	cr_expect_eq(ah[22], tclass, "traffic class");
	cr_expect_eq(get16(ah, 24), 0, "DLID");
	cr_expect_eq(ah[29], 1, "global");
	cr_expect_eq(ah[30], 1, "port");
}

static void request(uint16_t ps, const struct conn *c)
{
	struct event ev;

	pair_listen(&p, ps, QP_UD);
	p.active = pair_route(&p, ps, QP_UD, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, c), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(ev.uid, UID);
	cr_assert_eq(ev.status, 0);
	p.passive = ev.id;
	check(&ev, 0, 0, 180, c->len);
}

static void resolve_service(uint16_t ps)
{
	const struct conn req = {.qpn = 0x111, .data = data, .len = 180};
	const struct conn rep = {
		.qpn = 0x222, .data = data, .len = 136, .vendor = 0x1234, .attr_mod = 0x55};
	struct event ev;
	uint32_t reported;

	request(ps, &req);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &rep), 0);
	expect_of(p.c, &ev, EV_ESTABLISHED, UID + 2, p.active);
	cr_assert_eq(ev.status, 0);
	check(&ev, 0x222, 0x01234567, 136, 136);
	check_ah(&ev, gid, 0);
	/* the passive side has no event, now or later */
	expect_none(p.s);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &rep), EINVAL, "once");
	expect_none(p.c);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	cr_assert_eq(disconnect(p.s, p.passive), 0);
	expect_none(p.c);
	cr_assert_eq(destroy(p.s, p.passive, &reported), 0);
	cr_assert_eq(reported, 0);
	cr_assert_eq(destroy(p.c, p.active, &reported), 0);
	cr_assert_eq(reported, 3);
	settle();
	cr_assert_eq(fake_gsi.ids, 0);
}

Test(cma_ud, udp)
{
	resolve_service(PS_UDP);
}

Test(cma_ud, ib)
{
	resolve_service(PS_IB);
}

Test(cma_ud, ipoib)
{
	resolve_service(PS_IPOIB);
}

Test(cma_ud, private_data_that_is_too_long)
{
	struct conn c = {.qpn = 1, .data = data, .len = 181};
	struct event ev;

	pair_listen(&p, PS_UDP, QP_UD);
	p.active = pair_route(&p, PS_UDP, QP_UD, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &c), EINVAL);
	c.len = 255;
	cr_assert_eq(connect_id(p.c, p.active, &c), EINVAL);
	c.len = 7;
	cr_assert_eq(connect_id(p.c, p.active, &c), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	check(&ev, 0, 0, 180, 7);
	c.len = 137;
	cr_assert_eq(accept_id(p.s, ev.id, UID + 1, &c), EINVAL);
	expect(p.c, &ev, EV_UNREACHABLE);
	cr_assert_eq(ev.status, 2);
}

Test(cma_ud, rejected)
{
	struct event ev;

	request(PS_UDP, &(struct conn){.qpn = 1});
	cr_assert_eq(reject(p.s, p.passive, data, 137, 0), EINVAL, "too long");
	cr_assert_eq(reject(p.s, p.passive, data, 136, 0), 0);
	expect_of(p.c, &ev, EV_UNREACHABLE, UID + 2, p.active);
	cr_assert_eq(ev.status, 2);
	check(&ev, 0, 0, 136, 136);
	expect_none(p.s);
}

Test(cma_ud, destroying_a_request_rejects_it)
{
	struct event ev;

	request(PS_UDP, &(struct conn){.qpn = 1});
	cr_assert_eq(destroy(p.s, p.passive, NULL), 0);
	expect(p.c, &ev, EV_UNREACHABLE);
	cr_assert_eq(ev.status, 2);
}

Test(cma_ud, a_port_without_a_listener)
{
	struct event ev;

	pair_listen(&p, PS_UDP, QP_UD);
	p.active = pair_route(&p, PS_UDP, QP_UD, UID + 2);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = 1}), 0);
	expect(p.c, &ev, EV_UNREACHABLE);
	cr_assert_eq(ev.status, 1, "unsupported");
}

Test(cma_ud, an_rc_listener_is_none_of_udp)
{
	struct event ev;

	pair_listen(&p, PS_IB, QP_RC);
	p.active = pair_route(&p, PS_IB, QP_UD, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = 1}), 0);
	expect(p.c, &ev, EV_UNREACHABLE);
	expect_none(p.s);
}

/* udaddy: ten at once from one channel. */
Test(cma_ud, ten_at_once)
{
	uint32_t id[10];
	struct event ev;
	bool seen[10] = {0};

	pair_listen(&p, PS_UDP, QP_UD);
	for (int i = 0; i < 10; i++)
		id[i] = pair_route(&p, PS_UDP, QP_UD, UID + 10 + (uint64_t)i);
	for (int i = 0; i < 10; i++)
		cr_assert_eq(connect_id(p.c, id[i], &(struct conn){.qpn = 0x300u + (uint32_t)i}),
			     0);
	for (int i = 0; i < 10; i++) {
		expect(p.s, &ev, EV_CONNECT_REQUEST);
		cr_assert_eq(accept_id(p.s, ev.id, UID + 1, &(struct conn){.qpn = 5}), 0);
	}
	for (int i = 0; i < 10; i++) {
		expect(p.c, &ev, EV_ESTABLISHED);
		uint64_t n = ev.uid - UID - 10;

		cr_assert_lt(n, 10);
		cr_assert_not(seen[n]);
		seen[n] = true;
	}
	expect_none(p.s);
	expect_none(p.c);
}

/* A connection of TOS: the address handle has its traffic class. */
Test(cma_ud, traffic_class)
{
	struct event ev;
	uint8_t tos = 0x68;

	pair_listen(&p, PS_UDP, QP_UD);
	p.active = create(p.c, UID + 2, PS_UDP, QP_UD);
	cr_assert_eq(set_option(p.c, p.active, 0, 0, &tos, 1), 0);
	cr_assert_eq(resolve(p.c, p.active, NULL, "127.0.0.1", p.port), 0);
	expect(p.c, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(route(p.c, p.active), 0);
	expect(p.c, &ev, EV_ROUTE_RESOLVED);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = 1}), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(accept_id(p.s, ev.id, UID + 1, &(struct conn){.qpn = 5}), 0);
	expect(p.c, &ev, EV_ESTABLISHED);
	check_ah(&ev, gid, 0x68);
}

/* --------------------------------------------------------------- multicast */

static const uint8_t group[16] = {
	[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 2, [15] = 3};

Test(cma_ud, join_and_leave)
{
	int fd = channel_open(O_CLOEXEC);
	uint32_t id = create(fd, UID, PS_UDP, QP_UD), a = 0, b = 0, reported;
	struct event ev;

	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	cr_assert_eq(join(fd, id, UID + 1, "239.1.2.3", 0, &a), 0);
	cr_assert_eq(join(fd, id, UID + 2, "239.1.2.4", 1, &b), 0, "send-only");
	cr_assert_neq(a, b);
	expect_of(fd, &ev, EV_MULTICAST_JOIN, UID + 1, a);
	cr_assert_eq(ev.status, 0);
	check(&ev, 0xffffff, 0x01234567, 0, 0);
	check_ah(&ev, group, 0);
	/* not delivered: leave drops it and counts only delivered events */
	cr_assert_eq(leave(fd, b, &reported), 0);
	cr_assert_eq(reported, 0);
	cr_assert_not(has_event(fd));
	cr_assert_eq(leave(fd, a, &reported), 0);
	cr_assert_eq(reported, 1);
	cr_assert_eq(leave(fd, a, &reported), ENOENT);
	cr_assert_eq(destroy(fd, id, &reported), 0);
	cr_assert_eq(reported, 1, "it counts for the id, too");
}

Test(cma_ud, the_older_join)
{
	int fd = channel_open(O_CLOEXEC);
	uint32_t id = create(fd, UID, PS_UDP, QP_UD), mc = 77;
	uint8_t b[48] = {0};
	struct event ev;

	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	put64(b, 8, UID + 1);
	make_addr(b + 16, "239.1.2.3", 0);
	put32(b, 44, id);
	cr_assert_eq(command_answer(fd, JOIN_IP_MCAST, b, 48, &mc, 4), 0);
	expect_of(fd, &ev, EV_MULTICAST_JOIN, UID + 1, mc);
	check_ah(&ev, group, 0);
}

Test(cma_ud, joins_that_are_refused)
{
	int fd = channel_open(O_CLOEXEC);
	uint32_t id = create(fd, UID, PS_UDP, QP_UD), rc = create(fd, UID, PS_TCP, QP_RC), mc;

	cr_expect_eq(join(fd, id, 1, "239.1.2.3", 0, &mc), EINVAL, "no device");
	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	cr_assert_eq(bind_id(fd, rc, "127.0.0.1", 0), 0);
	cr_expect_eq(join(fd, rc, 1, "239.1.2.3", 0, &mc), EINVAL, "not UD");
	cr_expect_eq(join(fd, rc, 1, "ff0e::1", 0, &mc), EINVAL, "not UD");
	cr_expect_eq(join(fd, id, 1, "239.1.2.3", 2, &mc), EINVAL, "unknown flag");
	cr_expect_eq(join(fd, id, 1, "ff0e::1", 0, &mc), EOPNOTSUPP, "IPv6 groups");
	cr_expect_eq(join(fd, id, 1, "0.0.0.0", 0, &mc), EINVAL);
	cr_assert_eq(listen_id(fd, id, 0), 0);
	cr_expect_eq(join(fd, id, 1, "239.1.2.3", 0, &mc), EINVAL, "LISTEN");
	cr_assert_not(has_event(fd));
}

/* mckey: resolved to the group, joined; then destroyed without leaving. */
Test(cma_ud, a_group_ends_with_its_id)
{
	int fd = channel_open(O_CLOEXEC);
	uint32_t id = create(fd, UID, PS_UDP, QP_UD), mc = 0, reported;
	struct event ev;

	cr_assert_eq(resolve(fd, id, "127.0.0.1", "239.1.2.3", 0), 0);
	expect(fd, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(join(fd, id, UID + 1, "239.1.2.3", 0, &mc), 0);
	cr_assert_eq(destroy(fd, id, &reported), 0);
	cr_assert_eq(reported, 1);
	cr_assert_not(has_event(fd));
	cr_assert_eq(leave(fd, mc, &reported), ENOENT);
}

Test(cma_ud, a_group_moves_with_its_id)
{
	int a = channel_open(O_CLOEXEC), b = channel_open(O_CLOEXEC);
	uint32_t id = create(a, UID, PS_UDP, QP_UD), mc = 0, reported;
	struct event ev;

	cr_assert_eq(bind_id(a, id, "127.0.0.1", 0), 0);
	cr_assert_eq(join(a, id, UID + 1, "239.1.2.3", 0, &mc), 0);
	cr_assert_eq(migrate(b, a, id, &reported), 0);
	cr_assert_eq(reported, 0);
	cr_assert_not(has_event(a));
	expect_of(b, &ev, EV_MULTICAST_JOIN, UID + 1, mc);
	cr_assert_eq(leave(a, mc, &reported), EINVAL, "of another channel");
	cr_assert_eq(leave(b, mc, &reported), 0);
	cr_assert_eq(reported, 1);
}
