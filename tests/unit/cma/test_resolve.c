/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_resolve.c - RESOLVE_ADDR, RESOLVE_ROUTE, the queries and the options that change their
 * answers.
 */
#include <arpa/inet.h>
#include "util.h"

static int fd;

static void setup(void)
{
	fd = channel_open(O_CLOEXEC);
}

TestSuite(cma_resolve, .init = setup);

static uint32_t resolved(const char *ip, uint16_t port)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	struct event ev;

	cr_assert_eq(resolve(fd, id, NULL, ip, port), 0);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID, id);
	cr_assert_eq(ev.status, 0);
	return id;
}

static void routed(uint32_t id)
{
	struct event ev;

	cr_assert_eq(route(fd, id), 0);
	expect_of(fd, &ev, EV_ROUTE_RESOLVED, UID, id);
	cr_assert_eq(ev.status, 0);
}

Test(cma_resolve, states)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	const struct conn c = {.qpn = 9};
	struct event ev;

	cr_expect_eq(route(fd, id), EINVAL, "IDLE");
	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	cr_expect_eq(route(fd, id), EINVAL, "BOUND");
	cr_expect_eq(connect_id(fd, id, &c), EINVAL, "BOUND");
	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID, id);
	cr_expect_eq(resolve(fd, id, NULL, "127.0.0.1", 7), EINVAL, "ADDR_RESOLVED");
	cr_expect_eq(connect_id(fd, id, &c), EINVAL, "ADDR_RESOLVED");
	uint32_t no_time[2] = {id, 0};

	cr_expect_eq(command(fd, RESOLVE_ROUTE, no_time, 8, 0), EINVAL, "timeout 0");
	routed(id);
	cr_expect_eq(route(fd, id), EINVAL, "ROUTE_RESOLVED");
	cr_expect_eq(resolve(fd, id, NULL, "127.0.0.1", 7), EINVAL, "ROUTE_RESOLVED");
	cr_expect_eq(notify(fd, id, 4), EINVAL);
	cr_expect_eq(disconnect(fd, id), EINVAL);
	expect_none(fd);
}

Test(cma_resolve, families)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	struct event ev;

	cr_expect_eq(resolve(fd, id, "::1", "127.0.0.1", 7), EINVAL);
	id = create(fd, UID, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	cr_expect_eq(resolve(fd, id, NULL, "::1", 7), EINVAL);
	/* the resolution can continue */
	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect(fd, &ev, EV_ADDR_RESOLVED);
	id = resolved("::1", 7);
	routed(id);
}

Test(cma_resolve, the_older_command)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	uint8_t b[64] = {0}, r[208];
	struct event ev;

	make_addr(b, "127.0.0.5", 0);
	make_addr(b + 28, "127.0.0.1", 7471);
	put32(b, 56, id);
	put32(b, 60, 2000);
	cr_assert_eq(command(fd, RESOLVE_IP, b, 64, 0), 0);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID, id);
	memset(r, 0xee, sizeof(r));
	cr_assert_eq(query_route(fd, id, r), 0);
	cr_assert_eq(get32(r, 136 + 4), htonl(0x7f000005), "the source that was named");
	cr_assert_eq(get32(r, 164 + 4), htonl(INADDR_LOOPBACK));
	cr_assert_eq(ntohs(get16(r, 164 + 2)), 7471);
}

/* Errors of routing are returned at once; a source that no device has is reported by an event. */
Test(cma_resolve, errors)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	struct event ev;

	cr_expect_eq(resolve(fd, id, "192.0.2.1", "127.0.0.1", 7), EADDRNOTAVAIL, "no such source");
	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0, "again, after the failure");
	expect(fd, &ev, EV_ADDR_RESOLVED);
}

/* No device has the source: an event, after which the program may try again (cmtime). */
Test(cma_resolve, addr_error)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC), reported;
	struct event ev;

	fake_gsi.fail_route = ENODEV;
	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect_of(fd, &ev, EV_ADDR_ERROR, UID, id);
	cr_assert_eq(ev.status, -ENODEV);
	cr_assert_eq(route(fd, id), EINVAL);
	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID, id);
	/* the path is lost until the route is requested, and found again */
	fake_gsi.fail_route = EHOSTUNREACH;
	cr_assert_eq(route(fd, id), 0);
	expect_of(fd, &ev, EV_ROUTE_ERROR, UID, id);
	cr_assert_lt(ev.status, 0);
	routed(id);
	cr_assert_eq(destroy(fd, id, &reported), 0);
	cr_assert_eq(reported, 4);
}

/* An error that does not concern the address is the call's errno, not "no device". */
/* A request to it would be lost: no answer could come from there. */
Test(cma_resolve, a_destination_without_a_gid)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	struct event ev;

	fake_gsi.no_index = 9;
	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.9", 7), 0);
	expect_of(fd, &ev, EV_ADDR_ERROR, UID, id);
	cr_assert_eq(ev.status, -ENODEV);
	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID, id);
}

Test(cma_resolve, other_errors_are_not_events)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	struct event ev;

	fake_gsi.fail_route = EMFILE;
	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), EMFILE);
	expect_none(fd);
	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID, id);
}

Test(cma_resolve, an_address_without_a_device_cannot_be_bound)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);

	cr_assert_eq(inet_pton(AF_INET6, "fd77::9", fake_gsi.gid), 1);
	fake_gsi.fail_route = ENODEV;
	cr_assert_eq(bind_id(fd, id, "fd77::9", 0), ENODEV);
	cr_assert_eq(bind_id(fd, id, "fd77::9", 0), 0, "it was IDLE still");
}

/* As always in the kernel; here with gid_order = no_loopback. */
Test(cma_resolve, a_loopback_address_without_a_gid_binds_no_device)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	uint8_t r[208];

	fake_gsi.fail_route = ENODEV;
	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	cr_assert_eq(query_route(fd, id, r), 0);
	cr_assert_eq(get64(r, 0), 0);
}

/* The wildcard as destination is this host (rdma_resolve_addr(3), cma_resolve_loopback()). */
Test(cma_resolve, the_wildcard_is_this_host)
{
	uint32_t id = resolved("0.0.0.0", 7);
	uint8_t r[208];

	cr_assert_eq(query_route(fd, id, r), 0);
	cr_assert_neq(get64(r, 0), 0, "it has a device");
	cr_assert_eq(get32(r, 136 + 4), htonl(INADDR_LOOPBACK));
	routed(id);
	routed(resolved("::", 7));
}

Test(cma_resolve, query_route)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	static const uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
	uint8_t r[208], zero[64] = {0};

	memset(r, 0xff, sizeof(r));
	cr_assert_eq(query_route(fd, id, r), 0);
	cr_assert_eq(get64(r, 0), 0, "no device yet");
	cr_assert_eq(get32(r, 192), 0);
	cr_assert_eq(get16(r, 136), 0, "no address");
	cr_assert_eq(destroy(fd, id, NULL), 0);

	id = resolved("127.0.0.1", 7174);
	memset(r, 0xff, sizeof(r));
	cr_assert_eq(query_route(fd, id, r), 0);
	cr_assert_neq(get64(r, 0), 0);
	cr_assert_eq(get32(r, 192), 0, "no path yet");
	cr_assert_eq(r[196], 1);
	cr_assert_eq(get32(r, 200), UINT32_MAX, "any index, as the library has preset");

	routed(id);
	memset(r, 0xff, sizeof(r));
	cr_assert_eq(query_route(fd, id, r), 0);
	cr_assert_eq(get32(r, 192), 1);
	cr_assert_arr_eq(r + 8, gid, 16);
	cr_assert_arr_eq(r + 24, gid, 16);
	const uint8_t *p = r + 8;
	uint32_t flow = (uint32_t)(port_of(fd, id) * 31 + 7174) & 0xfffff;

	cr_expect_eq(ntohl(get32(p, 40)), flow, "flow label of the ports");
	cr_expect_eq(get32(p, 48), 5, "MTU");
	cr_expect_eq(get16(p, 52), 0xffff, "P_Key");
	cr_expect_eq(p[54], 64, "hop limit");
	cr_expect_eq(p[55], 0, "traffic class");
	cr_expect_eq(p[62], 18, "life time");
	cr_assert_arr_eq(r + 72, zero, 64, "there is no second path");
	cr_assert_eq(get16(r, 136), AF_INET);
	cr_assert_eq(get16(r, 164), AF_INET);
	cr_assert_eq(ntohs(get16(r, 166)), 7174);
}

Test(cma_resolve, older_rooms)
{
	uint32_t id = resolved("::1", 7);
	uint8_t r[300], b[16] = {0};

	/* before ibdev_index the answer ended behind the port */
	put32(b, 8, id);
	memset(r, 0xee, sizeof(r));
	cr_assert_eq(command_answer(fd, QUERY_ROUTE, b, 16, r, 200), 0);
	cr_assert_eq(get16(r, 136), AF_INET6);
	cr_assert_eq(get32(r, 200), 0xeeeeeeee);
	memset(r, 0xee, sizeof(r));
	cr_assert_eq(query(fd, id, 0, r, 272), 0);
	cr_assert_eq(get16(r, 12), 28);
	cr_assert_eq(get32(r, 272), 0xeeeeeeee);
}

Test(cma_resolve, query_addresses)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	static const uint8_t one[16] = {[15] = 1};
	uint8_t r[280];

	memset(r, 0xff, sizeof(r));
	cr_assert_eq(query(fd, id, 0, r, 280), 0);
	cr_assert_eq(get64(r, 0), 0);
	cr_assert_eq(get16(r, 12), 0);
	cr_assert_eq(get16(r, 14), 0);
	cr_assert_eq(destroy(fd, id, NULL), 0);

	id = resolved("::1", 7174);
	memset(r, 0xff, sizeof(r));
	cr_assert_eq(query(fd, id, 0, r, 280), 0);
	cr_assert_neq(get64(r, 0), 0);
	cr_assert_eq(r[8], 1);
	cr_assert_eq(get16(r, 10), 0xffff);
	cr_assert_eq(get16(r, 12), 28);
	cr_assert_eq(get16(r, 14), 28);
	cr_assert_eq(get16(r, 16), AF_INET6);
	cr_assert_arr_eq(r + 16 + 8, one, 16);
	cr_assert_eq(get16(r, 144), AF_INET6);
	cr_assert_eq(ntohs(get16(r, 146)), 7174);
	cr_assert_eq(get32(r, 272), UINT32_MAX);

	/* GIDs: the addresses as sockaddr_ib */
	memset(r, 0xff, sizeof(r));
	cr_assert_eq(query(fd, id, 2, r, 280), 0);
	cr_assert_eq(get16(r, 12), 48);
	cr_assert_eq(get16(r, 14), 48);
	cr_assert_eq(get16(r, 16), AF_IB);
	cr_assert_arr_eq(r + 16 + 8, one, 16);
	cr_assert_arr_eq(r + 144 + 8, one, 16);
	cr_assert_eq(__builtin_bswap64(get64(r, 144 + 24)), 0x01060000u + 7174);
	cr_assert_eq(__builtin_bswap64(get64(r, 16 + 24)), 0x01060000u + port_of(fd, id));
}

Test(cma_resolve, query_path)
{
	uint32_t id = resolved("127.0.0.1", 7174);
	static const uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
	uint8_t r[8 + 6 * 72];

	memset(r, 0xee, sizeof(r));
	cr_assert_eq(query(fd, id, 1, r, sizeof(r)), 0);
	cr_assert_eq(get32(r, 0), 0, "no path yet");
	routed(id);
	memset(r, 0xee, sizeof(r));
	cr_assert_eq(query(fd, id, 1, r, sizeof(r)), 0);
	cr_assert_eq(get32(r, 0), 1);
	cr_assert_eq(get32(r, 8), 43, "GMP, primary, both ways");
	const uint8_t *p = r + 16;

	cr_expect_arr_eq(p + 8, gid, 16);
	cr_expect_arr_eq(p + 24, gid, 16);
	uint32_t flow = (uint32_t)(port_of(fd, id) * 31 + 7174) & 0xfffff;

	cr_expect_eq(ntohl(get32(p, 44)), flow << 8 | 64);
	cr_expect_eq(p[48], 0);
	cr_expect_eq(p[49], 0x81);
	cr_expect_eq(get16(p, 50), 0xffff);
	cr_expect_eq(p[54], 0x80 | 5);
	cr_expect_eq(p[56], 0x80 | 18);
	/* no room for an entry */
	memset(r, 0xee, sizeof(r));
	cr_assert_eq(query(fd, id, 1, r, 8), 0);
	cr_assert_eq(get32(r, 8), 0xeeeeeeee);
	cr_expect_eq(query(fd, id, 1, r, 7), ENOSPC);
	cr_expect_eq(query(fd, id, 4, r, sizeof(r)), ENOSYS);
	cr_expect_eq(query(fd, id, UINT32_MAX, r, sizeof(r)), ENOSYS);
}

/* ------------------------------------------------------------------ options */

enum { TOS, REUSEADDR, AFONLY, ACK_TIMEOUT };

Test(cma_resolve, options_and_what_they_refuse)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC), ud = create(fd, UID, PS_UDP, QP_UD);
	uint32_t tgt = create(fd, UID, PS_IB, QP_XRC_RECV),
		 ini = create(fd, UID, PS_IB, QP_XRC_SEND);
	uint8_t big[8192] = {0};
	int one = 1;

	for (uint32_t len = 0; len < 9; len++) {
		cr_expect_eq(set_option(fd, id, 0, TOS, big, len), len == 1 ? 0 : EINVAL);
		cr_expect_eq(set_option(fd, id, 0, REUSEADDR, big, len), len == 4 ? 0 : EINVAL);
		cr_expect_eq(set_option(fd, id, 0, AFONLY, big, len), len == 4 ? 0 : EINVAL);
		cr_expect_eq(set_option(fd, id, 0, ACK_TIMEOUT, big, len), len == 1 ? 0 : EINVAL);
	}
	cr_expect_eq(set_option(fd, id, 0, 4, &one, 4), ENOSYS);
	cr_expect_eq(set_option(fd, id, 2, 1, &one, 4), ENOSYS);
	cr_expect_eq(set_option(fd, id, 1, 2, &one, 4), ENOSYS);
	cr_expect_eq(set_option(fd, id, 1, 1, big, 0), EINVAL);
	cr_expect_eq(set_option(fd, id, 1, 1, big, 71), EINVAL);
	cr_expect_eq(set_option(fd, id, 0, TOS, big, 8192), EINVAL);
	cr_expect_eq(set_option(fd, ud, 0, ACK_TIMEOUT, &one, 1), EINVAL, "UD has no ACKs");
	cr_expect_eq(set_option(fd, tgt, 0, ACK_TIMEOUT, &one, 1), EINVAL, "it sends no request");
	cr_expect_eq(set_option(fd, ini, 0, ACK_TIMEOUT, &one, 1), 0);
	cr_expect_eq(set_option(fd, NOBODY, 9, 9, &one, 4), ENOENT);
	cr_expect_eq(set_option(fd, NOBODY, 0, TOS, NULL, 1), ENOENT);
	cr_expect_eq(set_option(fd, id, 0, REUSEADDR, NULL, 4), EFAULT);
	cr_expect_eq(set_option(fd, id, 1, 1, NULL, 72), EFAULT);
	cr_expect_eq(set_option(fd, id, 0, TOS, NULL, 0), EINVAL);
	/* bound: AFONLY may change, listening: not */
	cr_assert_eq(bind_id(fd, id, "::1", 0), 0);
	cr_expect_eq(set_option(fd, id, 0, AFONLY, &one, 4), 0);
	cr_assert_eq(listen_id(fd, id, 0), 0);
	cr_expect_eq(set_option(fd, id, 0, AFONLY, &one, 4), EINVAL);
	cr_expect_eq(set_option(fd, id, 0, REUSEADDR, &one, 4), EINVAL);
}

Test(cma_resolve, tos_is_the_traffic_class)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	uint8_t tos = 0xb8, r[8 + 72];
	struct event ev;

	cr_assert_eq(set_option(fd, id, 0, TOS, &tos, 1), 0);
	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect(fd, &ev, EV_ADDR_RESOLVED);
	routed(id);
	cr_assert_eq(query(fd, id, 1, r, sizeof(r)), 0);
	cr_assert_eq(r[16 + 48], 0xb8);
}

Test(cma_resolve, ack_timeout_makes_the_life_time)
{
	uint32_t id = resolved("127.0.0.1", 7);
	uint8_t t = 21, r[8 + 72];

	cr_assert_eq(set_option(fd, id, 0, ACK_TIMEOUT, &t, 1), 0);
	routed(id);
	cr_assert_eq(query(fd, id, 1, r, sizeof(r)), 0);
	cr_assert_eq(r[16 + 56], 0x80 | 20);
}

Test(cma_resolve, flow_label_of_the_program)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	uint8_t b[272] = {0}, r[8 + 72];
	struct event ev;

	put32(b, 0, id);
	put32(b, 4, 1000);
	put16(b, 10, (uint16_t)make_addr(b + 144, "::1", 7));
	put32(b, 144 + 4, htonl(0xabcde));
	cr_assert_eq(command(fd, RESOLVE_ADDR, b, sizeof(b), 0), 0);
	expect(fd, &ev, EV_ADDR_RESOLVED);
	routed(id);
	cr_assert_eq(query(fd, id, 1, r, sizeof(r)), 0);
	cr_assert_eq(ntohl(get32(r, 16 + 44)) >> 8, 0xabcde);
}

/* A path as ib_acm passes it, in place of RESOLVE_ROUTE. */
Test(cma_resolve, a_path_of_the_program)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	uint8_t path[2 * 72] = {0}, r[8 + 72];
	struct event ev;

	put32(path, 72, 43);
	cr_expect_eq(set_option(fd, id, 1, 1, path, 144), EINVAL, "no device");
	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect(fd, &ev, EV_ADDR_RESOLVED);
	cr_expect_eq(set_option(fd, id, 1, 1, path, 72), EINVAL, "no primary path in it");
	cr_assert_eq(set_option(fd, id, 1, 1, path, 144), 0);
	expect_of(fd, &ev, EV_ROUTE_RESOLVED, UID, id);
	cr_expect_eq(set_option(fd, id, 1, 1, path, 144), EINVAL, "ROUTE_RESOLVED");
	cr_assert_eq(query(fd, id, 1, r, sizeof(r)), 0);
	cr_assert_eq(get32(r, 0), 1);
}

/* A multicast group is a destination, too (mckey). */
Test(cma_resolve, towards_a_group)
{
	uint32_t id = create(fd, UID, PS_UDP, QP_UD);
	struct event ev;

	cr_assert_eq(resolve(fd, id, "127.0.0.1", "239.1.1.1", 0), 0);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID, id);
}
