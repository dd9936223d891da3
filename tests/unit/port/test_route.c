/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_route.c - routes and MTUs, in network namespaces of the test with a veth pair in them. */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <netlink/netlink.h>
#include <netlink/msg.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

#include "port/port.h"

static struct dpa_port port;
static struct nl_sock *nl;

static void new_netns(void)
{
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		cr_skip_test("no network namespace is available: %s", strerror(errno));
	nl = nl_socket_alloc();
	cr_assert_eq(nl_connect(nl, NETLINK_ROUTE), 0);
}

static void up(const char *name, int mtu)
{
	struct ifreq ifr = {.ifr_mtu = mtu};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (mtu)
		cr_assert_eq(ioctl(fd, SIOCSIFMTU, &ifr), 0);
	ifr.ifr_flags = IFF_UP;
	cr_assert_eq(ioctl(fd, SIOCSIFFLAGS, &ifr), 0);
	close(fd);
}

/* v0 and v1 are one cable; both ends are in this namespace. */
static void veth(int mtu)
{
	if (rtnl_link_veth_add(nl, "v0", "v1", getpid()) < 0)
		cr_skip_test("no veth in this kernel");
	up("v1", mtu);
	up("v0", mtu);
}

static void address(const char *dev, const char *text)
{
	struct rtnl_addr *a = rtnl_addr_alloc();
	struct nl_addr *local;

	cr_assert_eq(nl_addr_parse(text, AF_UNSPEC, &local), 0);
	rtnl_addr_set_ifindex(a, (int)if_nametoindex(dev));
	rtnl_addr_set_local(a, local);
	rtnl_addr_set_flags(a, 0x02); /* IFA_F_NODAD */
	cr_assert_eq(rtnl_addr_add(nl, a, 0), 0);
	nl_addr_put(local);
	rtnl_addr_put(a);
}

/* type: RTN_*; mtu: 0 none; over v0. */
static void route(const char *text, uint8_t type, uint32_t mtu)
{
	struct rtnl_route *r = rtnl_route_alloc();
	struct rtnl_nexthop *nh = rtnl_route_nh_alloc();
	struct nl_addr *dst;

	cr_assert_eq(nl_addr_parse(text, AF_UNSPEC, &dst), 0);
	rtnl_route_set_dst(r, dst);
	rtnl_route_set_type(r, type);
	if (type == RTN_UNICAST) {
		rtnl_route_nh_set_ifindex(nh, (int)if_nametoindex("v0"));
		rtnl_route_add_nexthop(r, nh);
		rtnl_route_set_scope(r, RT_SCOPE_LINK);
	} else {
		rtnl_route_nh_free(nh);
	}
	if (mtu)
		rtnl_route_set_metric(r, RTAX_MTU, mtu);
	cr_assert_eq(rtnl_route_add(nl, r, 0), 0);
	nl_addr_put(dst);
	rtnl_route_put(r);
}

static void gid_of(const char *text, uint8_t gid[16])
{
	memset(gid, 0, 16);
	gid[10] = gid[11] = 0xff;
	if (strchr(text, ':'))
		inet_pton(AF_INET6, text, gid);
	else
		inet_pton(AF_INET, text, gid + 12);
}

static int look(const char *from, const char *to, uint32_t *oif, uint32_t *mtu)
{
	uint8_t src[16], dst[16];

	gid_of(from, src);
	gid_of(to, dst);
	return dpa_route_lookup(&port, src, dst, oif, mtu);
}

static uint32_t active_mtu(void)
{
	struct dpa_hw_port_attr attr;

	dpa_port_attr(&port, &attr);
	return attr.active_mtu;
}

Test(port_route, v4)
{
	uint32_t oif, mtu, v0;

	new_netns();
	up("lo", 0);
	veth(1500);
	v0 = if_nametoindex("v0");
	address("v0", "10.9.8.1/24");
	route("10.7.0.0/16", RTN_UNICAST, 700);
	route("10.6.0.0/16", RTN_UNREACHABLE, 0);
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	cr_assert_eq(look("10.9.8.1", "10.9.8.2", &oif, &mtu), 0);
	cr_expect_eq(oif, v0);
	cr_expect_eq(mtu, 3u, "1024 on Ethernet");
	cr_assert_eq(look("10.9.8.1", "10.7.1.1", &oif, &mtu), 0);
	cr_expect_eq(mtu, 2u, "512: the route says 700");
	cr_expect_eq(look("10.9.8.1", "10.6.1.1", &oif, &mtu), EHOSTUNREACH);
	cr_expect_eq(look("10.9.8.1", "192.0.2.1", &oif, &mtu), ENETUNREACH);
	cr_expect_eq(look("10.9.8.7", "10.9.8.2", &oif, &mtu), EINVAL, "not an address of ours");
	cr_expect_eq(look("10.9.8.1", "fd00::1", &oif, &mtu), EINVAL);
	cr_assert_eq(look("10.9.8.1", "10.9.8.1", &oif, &mtu), 0, "another board of this host");
	cr_expect_eq(mtu, 5u);
	/* the socket still answers dumps */
	cr_assert_eq(look("10.9.8.1", "10.9.8.2", &oif, &mtu), 0);
	dpa_port_fini(&port);
}

Test(port_route, v6)
{
	uint32_t oif, mtu;

	new_netns();
	up("lo", 0);
	veth(9000);
	address("v0", "fd00:9::1/64");
	address("v0", "fe80::77/64");
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	cr_assert_eq(look("fd00:9::1", "fd00:9::2", &oif, &mtu), 0);
	cr_expect_eq(oif, if_nametoindex("v0"));
	cr_expect_eq(mtu, 5u);
	cr_assert_eq(look("fe80::77", "fe80::88", &oif, &mtu), 0);
	cr_expect_eq(oif, if_nametoindex("v0"), "link-local: the address's own interface");
	cr_expect_eq(look("fd00:9::1", "2001:db8::1", &oif, &mtu), ENETUNREACH);
	dpa_port_fini(&port);
}

static void note(void *arg, enum dpa_port_change what)
{
	*(unsigned *)arg |= what;
}

Test(port_route, active_mtu)
{
	unsigned what = 0;

	new_netns();
	up("lo", 0);
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	cr_expect_eq(active_mtu(), 5u, "loopback alone");
	veth(9000);
	address("v0", "10.9.8.1/24");
	cr_assert_eq(dpa_port_poll(&port, note, &what), 0);
	cr_expect_eq(active_mtu(), 5u);
	up("v1", 1500);
	address("v1", "10.9.9.1/24");
	cr_assert_eq(dpa_port_poll(&port, note, &what), 0);
	cr_expect_eq(active_mtu(), 3u, "what both interfaces carry, although the first has more");
	cr_expect(what & DPA_PORT_CHANGE_MTU);
	dpa_port_fini(&port);
}
static void take_nothing(struct nlmsghdr *h, void *arg)
{
	(void)h;
	(void)arg;
}

/* The kernel sends no answer to a message that requests none, as if its answer was lost. */
Test(port_route, an_answer_that_does_not_come, .timeout = 30)
{
	struct nl_msg *msg = nlmsg_alloc_simple(NLMSG_NOOP, 0);
	uint32_t oif, mtu;

	new_netns();
	up("lo", 0);
	veth(1500);
	address("v0", "10.9.8.1/24");
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	cr_assert_not_null(msg);
	nl_socket_disable_auto_ack(port.query);
	cr_expect_eq(dpa_netlink_ask(&port.query, msg, take_nothing, NULL), ETIMEDOUT);
	nlmsg_free(msg);
	cr_expect_eq(look("10.9.8.1", "10.9.8.2", &oif, &mtu), 0, "the next question");
	cr_expect_eq(oif, if_nametoindex("v0"));
	dpa_port_fini(&port);
}

/* The same while descriptors have run out: no socket now, one when some are free again. */
Test(port_route, no_descriptor_for_another_socket, .timeout = 30)
{
	struct nl_msg *msg = nlmsg_alloc_simple(NLMSG_NOOP, 0);
	struct rlimit was, none;
	uint32_t oif, mtu;

	new_netns();
	up("lo", 0);
	veth(1500);
	address("v0", "10.9.8.1/24");
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	cr_assert_not_null(msg);
	nl_socket_disable_auto_ack(port.query);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = was.rlim_max};
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_expect_eq(dpa_netlink_ask(&port.query, msg, take_nothing, NULL), ETIMEDOUT);
	cr_expect_null(port.query);
	cr_expect_eq(look("10.9.8.1", "10.9.8.2", &oif, &mtu), EOPNOTSUPP);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
	nlmsg_free(msg);
	cr_expect_eq(look("10.9.8.1", "10.9.8.2", &oif, &mtu), 0);
	cr_expect_eq(oif, if_nametoindex("v0"));
	dpa_port_fini(&port);
}
