/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_bind.c - addresses and ports: rdma_bind_addr(3), rdma_listen(3), cma_check_port() of Linux.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "util.h"

static int fd;

static void setup(void)
{
	fd = channel_open(O_CLOEXEC);
}

TestSuite(cma_bind, .init = setup);

static uint32_t tcp(void)
{
	return create(fd, UID, PS_TCP, QP_RC);
}

static uint32_t bound(const char *ip, uint16_t port)
{
	uint32_t id = tcp();

	cr_assert_eq(bind_id(fd, id, ip, port), 0, "%s", ip);
	return id;
}

/* Return the result of a bind of another id. */
static int again(const char *ip, uint16_t port)
{
	uint32_t id = tcp();
	int err = bind_id(fd, id, ip, port);

	cr_assert_eq(destroy(fd, id, NULL), 0);
	return err;
}

static int flag(uint32_t id, uint32_t name, int on)
{
	return set_option(fd, id, 0, name, &on, sizeof(on));
}
enum { TOS, REUSEADDR, AFONLY, ACK_TIMEOUT };

static bool dual_stack(void)
{
	FILE *f = fopen("/proc/sys/net/ipv6/bindv6only", "r");
	int v = 0;

	if (!f)
		return false;
	if (fscanf(f, "%d", &v) != 1)
		v = 1;
	fclose(f);
	return !v;
}

Test(cma_bind, port_0_is_any_free_one_and_shown)
{
	uint16_t seen[16];

	for (int i = 0; i < 16; i++) {
		uint32_t id = bound("127.0.0.1", 0);

		seen[i] = port_of(fd, id);
		cr_assert_gt(seen[i], 0);
		for (int k = 0; k < i; k++)
			cr_assert_neq(seen[k], seen[i]);
	}
}

Test(cma_bind, old_and_new_command_do_the_same)
{
	uint32_t a = tcp(), b = tcp();
	uint16_t port;

	cr_assert_eq(bind_ip(fd, a, "::1", 0), 0);
	port = port_of(fd, a);
	cr_assert_gt(port, 0);
	cr_assert_eq(bind_ip(fd, b, "::1", port), EADDRINUSE);
	cr_assert_eq(bind_ip(fd, b, "127.0.0.1", 0), 0);
	cr_assert_eq(bind_ip(fd, b, "127.0.0.1", 0), EINVAL, "it is bound");
}

Test(cma_bind, one_address_one_port)
{
	uint32_t id = bound("127.0.0.1", 0);
	uint16_t port = port_of(fd, id);

	cr_expect_eq(again("127.0.0.1", port), EADDRINUSE);
	cr_expect_eq(again("0.0.0.0", port), EADDRNOTAVAIL);
	cr_expect_eq(again("127.0.0.2", port), 0, "another address");
	cr_expect_eq(again("::1", port), 0, "another address");
	cr_assert_eq(destroy(fd, id, NULL), 0);
	cr_expect_eq(again("127.0.0.1", port), 0, "given up at once");
	cr_expect_eq(again("0.0.0.0", port), 0);
}

Test(cma_bind, a_wildcard_has_the_port_alone)
{
	uint32_t id = bound("0.0.0.0", 0);
	uint16_t port = port_of(fd, id);

	cr_expect_eq(again("127.0.0.1", port), EADDRNOTAVAIL);
	cr_expect_eq(again("0.0.0.0", port), EADDRNOTAVAIL);
	if (dual_stack())
		cr_expect_eq(again("::", port), EADDRNOTAVAIL, "not afonly");
}

Test(cma_bind, families_coexist_if_both_are_afonly)
{
	uint32_t v4 = bound("0.0.0.0", 0), v6 = tcp(), v6b = tcp();
	uint16_t port = port_of(fd, v4);

	cr_assert_eq(flag(v6, AFONLY, 1), 0);
	cr_assert_eq(bind_id(fd, v6, "::", port), 0);
	cr_assert_eq(flag(v6b, AFONLY, 1), 0);
	cr_assert_eq(bind_id(fd, v6b, "::", port), EADDRNOTAVAIL);
	/* AFONLY 0 takes both families, whatever the system's default is */
	cr_assert_eq(destroy(fd, v6, NULL), 0);
	cr_assert_eq(flag(v6b, AFONLY, 0), 0);
	cr_assert_eq(bind_id(fd, v6b, "::", port), EADDRNOTAVAIL);
	cr_assert_eq(destroy(fd, v4, NULL), 0);
	cr_assert_eq(bind_id(fd, v6b, "::", port), 0);
	cr_assert_eq(again("127.0.0.1", port), EADDRNOTAVAIL);
}

Test(cma_bind, port_spaces_are_apart)
{
	uint32_t id = bound("127.0.0.1", 0), udp = create(fd, 1, PS_UDP, QP_UD);
	uint32_t ib = create(fd, 1, PS_IB, QP_RC), ipoib = create(fd, 1, PS_IPOIB, QP_UD);
	uint16_t port = port_of(fd, id);

	cr_assert_eq(bind_id(fd, udp, "127.0.0.1", port), 0);
	cr_assert_eq(bind_id(fd, ib, "127.0.0.1", port), 0);
	cr_assert_eq(bind_id(fd, ipoib, "127.0.0.1", port), 0);
}

/* The host's own TCP and UDP ports are a separate space. */
Test(cma_bind, a_socket_has_no_port_of_ours)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(bind(s, (struct sockaddr *)&a, sizeof(a)), 0);
	cr_assert_eq(getsockname(s, (struct sockaddr *)&a, &len), 0);
	cr_assert_eq(again("127.0.0.1", ntohs(a.sin_port)), 0);
	close(s);
}

Test(cma_bind, reuse_allows_duplicates_until_one_listens)
{
	uint32_t a = tcp(), b = tcp(), c = tcp();
	uint16_t port;

	cr_assert_eq(flag(a, REUSEADDR, 1), 0);
	cr_assert_eq(flag(b, REUSEADDR, 1), 0);
	cr_assert_eq(bind_id(fd, a, "127.0.0.1", 0), 0);
	port = port_of(fd, a);
	cr_assert_eq(bind_id(fd, b, "127.0.0.1", port), 0);
	cr_assert_eq(bind_id(fd, c, "127.0.0.1", port), EADDRINUSE, "one without it");
	cr_assert_eq(listen_id(fd, a, 0), EADDRINUSE, "it would not be alone");
	cr_assert_eq(destroy(fd, b, NULL), 0);
	cr_assert_eq(listen_id(fd, a, 0), 0, "the failure left it bound");
	cr_assert_eq(flag(c, REUSEADDR, 1), 0);
	cr_assert_eq(bind_id(fd, c, "127.0.0.1", port) ? EADDRINUSE : listen_id(fd, c, 0),
		     EADDRINUSE, "two listeners");
}

/* rdma_set_reuseaddr(): it may be set until the id listens, and withdrawn until it is bound. */
Test(cma_bind, reuse_is_set_after_the_bind)
{
	static const char *const addrs[] = {"127.0.0.1", "::1"};

	for (size_t i = 0; i < sizeof(addrs) / sizeof(*addrs); i++) {
		uint32_t a = bound(addrs[i], 0), b = tcp(), c = tcp();
		uint16_t port = port_of(fd, a);

		cr_expect_eq(flag(a, REUSEADDR, 0), EINVAL, "bound");
		cr_assert_eq(flag(b, REUSEADDR, 1), 0);
		cr_expect_neq(bind_id(fd, b, addrs[i], port), 0, "%s", addrs[i]);
		cr_assert_eq(flag(a, REUSEADDR, 1), 0);
		cr_assert_eq(flag(a, REUSEADDR, 1), 0, "again");
		cr_expect_neq(bind_id(fd, c, addrs[i], port), 0, "one without it");
		cr_expect_eq(bind_id(fd, b, addrs[i], port), 0, "%s", addrs[i]);
		cr_expect_eq(flag(b, REUSEADDR, 0), EINVAL);
		cr_expect_neq(listen_id(fd, a, 0), 0, "not alone");
		cr_assert_eq(destroy(fd, b, NULL), 0);
		cr_assert_eq(listen_id(fd, a, 0), 0);
		cr_expect_eq(flag(a, REUSEADDR, 1), EINVAL, "it listens");
		cr_assert_eq(destroy(fd, a, NULL), 0);
		cr_expect_eq(bind_id(fd, c, addrs[i], port), 0, "nothing is left");
		cr_assert_eq(destroy(fd, c, NULL), 0);
	}
}

Test(cma_bind, addresses_that_are_not_here)
{
	uint32_t id = tcp();
	uint8_t a[28];
	size_t len = make_addr(a, "fe80::1", 0);

	cr_expect_eq(bind_id(fd, id, "192.0.2.1", 0), EADDRNOTAVAIL);
	cr_expect_eq(bind_id(fd, id, "2001:db8::1", 0), EADDRNOTAVAIL);
	cr_expect_eq(bind_raw(fd, id, a, len), EINVAL, "link-local without a scope");
	put32(a, 24, 1);
	cr_expect_eq(bind_raw(fd, id, a, len), EADDRNOTAVAIL);
	/* it is still IDLE */
	cr_expect_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
}

Test(cma_bind, states)
{
	uint32_t id = bound("127.0.0.1", 0), idle = tcp();
	struct event ev;

	cr_expect_eq(bind_id(fd, id, "127.0.0.1", 0), EINVAL, "BOUND");
	cr_assert_eq(listen_id(fd, id, 3), 0);
	cr_expect_eq(listen_id(fd, id, 3), EINVAL, "LISTEN");
	cr_expect_eq(bind_id(fd, id, "127.0.0.1", 0), EINVAL, "LISTEN");
	cr_expect_eq(resolve(fd, id, NULL, "127.0.0.1", 7), EINVAL, "LISTEN");
	cr_expect_eq(connect_id(fd, id, &(struct conn){.qpn = 5}), EINVAL, "LISTEN");
	cr_expect_eq(disconnect(fd, id), EINVAL, "never connected");
	cr_expect_eq(reject(fd, id, NULL, 0, 0), EINVAL, "no request");
	cr_expect_eq(accept_id(fd, id, 1, &(struct conn){.qpn = 5}), EINVAL, "no request");
	cr_assert_eq(listen_id(fd, idle, 0), 0, "IDLE: 0.0.0.0 and any port");
	cr_assert_gt(port_of(fd, idle), 0);
	cr_assert_eq(again("127.0.0.2", port_of(fd, idle)), EADDRNOTAVAIL);
	idle = tcp();
	cr_assert_eq(resolve(fd, idle, NULL, "127.0.0.1", 7), 0);
	expect(fd, &ev, EV_ADDR_RESOLVED);
	cr_expect_eq(listen_id(fd, idle, 0), EINVAL, "ADDR_RESOLVED");
	cr_expect_eq(bind_id(fd, idle, "127.0.0.1", 0), EINVAL);
}

/* A client has its local port, too. */
Test(cma_bind, a_resolved_id_holds_its_port)
{
	uint32_t id = tcp();
	struct event ev;
	uint16_t port;

	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect(fd, &ev, EV_ADDR_RESOLVED);
	port = port_of(fd, id);
	cr_assert_gt(port, 0);
	cr_assert_neq(again("127.0.0.1", port), 0);
	cr_assert_eq(destroy(fd, id, NULL), 0);
	cr_assert_eq(again("127.0.0.1", port), 0);
}

/*
 * It was bound to the wildcard and has a source address now. Linux compares that address
 * (cma_check_port()), so other addresses can use the same port.
 */
Test(cma_bind, a_resolved_id_holds_its_port_at_its_address)
{
	uint32_t id = tcp();
	int other = channel_open(O_CLOEXEC);
	struct event ev;
	uint16_t port;

	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect(fd, &ev, EV_ADDR_RESOLVED);
	port = port_of(fd, id);
	cr_expect_eq(again("127.0.0.1", port), EADDRINUSE);
	cr_expect_eq(again("0.0.0.0", port), EADDRNOTAVAIL);
	cr_expect_eq(again("127.0.0.2", port), 0);
	cr_expect_eq(again("::1", port), 0);
	/* of another open file */
	cr_expect_eq(bind_id(other, create(other, 1, PS_TCP, QP_RC), "127.0.0.1", port),
		     EADDRINUSE);
	cr_expect_eq(bind_id(other, create(other, 1, PS_TCP, QP_RC), "0.0.0.0", port),
		     EADDRNOTAVAIL);
	cr_expect_eq(bind_id(other, create(other, 1, PS_TCP, QP_RC), "127.0.0.2", port), 0);
	cr_assert_eq(destroy(fd, id, NULL), 0);
	cr_expect_eq(bind_id(other, create(other, 1, PS_TCP, QP_RC), "127.0.0.1", port), 0);
	channel_close(other);
}

Test(cma_bind, closing_the_channel_gives_the_ports_up)
{
	int ch = channel_open(O_CLOEXEC);
	uint32_t id = create(ch, 1, PS_TCP, QP_RC);
	uint16_t port;

	cr_assert_eq(bind_id(ch, id, "127.0.0.1", 0), 0);
	cr_assert_eq(listen_id(ch, id, 0), 0);
	port = port_of(ch, id);
	cr_assert_eq(again("127.0.0.1", port), EADDRINUSE);
	channel_close(ch);
	cr_assert_eq(again("127.0.0.1", port), 0);
	cr_assert_eq(fake_gsi.services, 0);
}

static int first_port(void)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "r");
	int v = 1024;

	if (f && fscanf(f, "%d", &v) != 1)
		v = 1024;
	if (f)
		fclose(f);
	return v;
}

Test(cma_bind, ports_of_the_system)
{
	int first = first_port(), status;
	pid_t pid;

	if (first < 2)
		cr_skip_test("every port is everybody's here (ip_unprivileged_port_start)");
	pid = fork();
	if (!pid) {
		int err;

		if (!geteuid() && seteuid(65534))
			_exit(100);
		err = bind_id(fd, create(fd, 1, PS_TCP, QP_RC), "127.0.0.1", (uint16_t)(first - 1));
		_exit(err);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), EACCES);
	if (!geteuid())
		cr_assert_eq(again("127.0.0.1", (uint16_t)(first - 1)), 0, "CAP_NET_BIND_SERVICE");
}

/* ----------------------------------------------------------------- AF_IB */

static void make_ib(uint8_t a[48], uint64_t sid, uint64_t mask)
{
	memset(a, 0, 48);
	put16(a, 0, AF_IB);
	put64(a, 24, __builtin_bswap64(sid));
	put64(a, 32, __builtin_bswap64(mask));
}

/* The first bind of librdmacm (ucma_set_af_ib_support()). */
Test(cma_bind, the_probe_of_librdmacm)
{
	uint32_t id = create(fd, 0, PS_IB, QP_RC);
	uint8_t a[48], r[280];

	make_ib(a, 0x01060000, 0xffffffffffff0000);
	cr_assert_eq(bind_raw(fd, id, a, 48), 0);
	memset(r, 0xff, sizeof(r));
	cr_assert_eq(query(fd, id, 0, r, 280), 0);
	cr_assert_eq(get64(r, 0), 0, "no device");
	cr_assert_eq(get16(r, 12), 48);
	cr_assert_eq(get16(r, 16), AF_IB);
	/* a port of the TCP port space was found */
	uint64_t sid = __builtin_bswap64(get64(r, 16 + 24));

	cr_assert_eq(sid >> 16, 0x106);
	cr_assert_gt(sid & 0xffff, 0);
	cr_assert_eq(again("127.0.0.1", (uint16_t)(sid & 0xffff)), EADDRNOTAVAIL,
		     "a wildcard of the same port space");
	cr_assert_eq(destroy(fd, id, NULL), 0);
	cr_assert_eq(again("127.0.0.1", (uint16_t)(sid & 0xffff)), 0);
}

Test(cma_bind, service_ids_of_AF_IB)
{
	uint32_t id = create(fd, 1, PS_IB, QP_RC), t = tcp();
	uint8_t a[48];

	make_ib(a, 0x01070000, 0xffffffffffff0000);
	cr_expect_eq(bind_raw(fd, id, a, 48), EPROTONOSUPPORT, "no such port space");
	make_ib(a, 0x01110000, 0xffffffffffff0000);
	cr_expect_eq(bind_raw(fd, t, a, 48), EPROTONOSUPPORT, "not its port space");
	make_ib(a, 0x01060000, 0xffffffffffff0000);
	cr_expect_eq(bind_raw(fd, t, a, 48), 0);
}

/* gid_order = no_loopback: bound, but to no device, as in Linux. */
Test(cma_bind, a_loopback_address_without_a_gid)
{
	const char *ips[] = {"127.0.0.1", "::1"};
	uint8_t attr[144];

	for (int i = 0; i < 2; i++) {
		uint32_t id = tcp();

		fake_gsi.fail_route = ENODEV;
		cr_assert_eq(bind_id(fd, id, ips[i], 0), 0, "%s", ips[i]);
		cr_expect_neq(port_of(fd, id), 0);
		cr_expect_eq(qp_attr(fd, id, 1, attr), EINVAL, "no device");
		cr_expect_eq(listen_id(fd, id, 1), 0);
		cr_assert_eq(destroy(fd, id, NULL), 0);
	}
}
