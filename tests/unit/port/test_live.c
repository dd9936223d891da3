/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_live.c - the port in network namespaces of the test: addresses are added and removed. */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>

#include "port/port.h"

static struct dpa_port port;

/* An empty namespace, lo down. As an ordinary user inside a user namespace, where that is allowed.
 */
static void new_netns(void)
{
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		cr_skip_test("no network namespace is available: %s", strerror(errno));
}

static void lo_up(bool up)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(ioctl(fd, SIOCSIFFLAGS, &ifr), 0);
	close(fd);
}

static void address(const char *text, bool add)
{
	struct nl_sock *s = nl_socket_alloc();
	struct rtnl_addr *a = rtnl_addr_alloc();
	struct nl_addr *local;

	cr_assert_eq(nl_connect(s, NETLINK_ROUTE), 0);
	cr_assert_eq(nl_addr_parse(text, AF_UNSPEC, &local), 0);
	rtnl_addr_set_ifindex(a, 1);
	rtnl_addr_set_local(a, local);
	cr_assert_eq(add ? rtnl_addr_add(s, a, 0) : rtnl_addr_delete(s, a, 0), 0);
	nl_addr_put(local);
	rtnl_addr_put(a);
	nl_socket_free(s);
}

static int find(const char *text)
{
	uint8_t gid[16] = {[10] = 0xff, [11] = 0xff};

	if (strchr(text, ':'))
		inet_pton(AF_INET6, text, gid);
	else
		inet_pton(AF_INET, text, gid + 12);
	return dpa_port_find(&port, gid);
}

static void note(void *arg, enum dpa_port_change what)
{
	*(unsigned *)arg |= what;
}

/* The notification is queued before the system call that causes it returns. */
static unsigned changes(void)
{
	struct pollfd p = {.fd = dpa_port_fd(&port), .events = POLLIN};
	unsigned what = 0;

	cr_assert_eq(poll(&p, 1, 10000), 1);
	cr_assert_eq(dpa_port_poll(&port, note, &what), 0);
	return what;
}

Test(port_live, empty_namespace)
{
	struct dpa_hw_port_attr attr;
	struct dpa_hw_gid gid;
	uint8_t want[16];

	new_netns();
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	cr_assert_eq(dpa_port_gid(&port, 0, &gid), 0);
	dpa_port_derive_gid(port.node_guid, want);
	cr_expect_eq(memcmp(gid.gid, want, 16), 0);
	dpa_port_attr(&port, &attr);
	cr_expect_eq(attr.state, DPA_PORT_ACTIVE);
	cr_expect_eq(attr.active_mtu, DPA_PORT_MTU_4096);
	lo_up(true);
	cr_expect_eq(changes(), (unsigned)DPA_PORT_CHANGE_GID);
	cr_expect_eq(find("127.0.0.1"), 1);
	cr_expect_eq(dpa_port_find(&port, want), 0, "what was given out stays");
	dpa_port_fini(&port);
}

Test(port_live, loopback_is_last)
{
	new_netns();
	lo_up(true);
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	cr_expect_eq(find("127.0.0.1"), 0);
	cr_expect_eq(find("::1"), 1);
	dpa_port_fini(&port);
}

Test(port_live, address_comes_and_goes)
{
	new_netns();
	lo_up(true);
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	address("10.11.12.13/24", true);
	cr_expect_eq(changes(), (unsigned)DPA_PORT_CHANGE_GID);
	cr_expect_eq(find("10.11.12.13"), 2);
	address("10.11.12.14/24", true);
	cr_expect_eq(changes(), (unsigned)DPA_PORT_CHANGE_GID);
	cr_expect_eq(find("10.11.12.14"), 3);
	address("10.11.12.13/24", false);
	cr_expect_eq(changes(), (unsigned)DPA_PORT_CHANGE_GID);
	cr_expect_eq(find("10.11.12.13"), -1);
	cr_expect_eq(find("127.0.0.1"), 0);
	address("10.11.12.15/24", true);
	cr_expect_eq(changes(), (unsigned)DPA_PORT_CHANGE_GID);
	cr_expect_eq(find("10.11.12.15"), 2, "the first free index");
	dpa_port_fini(&port);
}

static int sf_find(struct dpa_port *sf, const char *text)
{
	uint8_t gid[16] = {[10] = 0xff, [11] = 0xff};

	cr_assert_eq(inet_pton(AF_INET, text, gid + 12), 1);
	return dpa_port_find(sf, gid);
}

/* Each function has its own table: the addresses of an interface or all, and its derived GID. */
Test(port_live, functions)
{
	struct dpa_port *all, *lo, *gone;
	uint8_t gid[16];

	new_netns();
	lo_up(true);
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	cr_assert_eq(dpa_port_function(&port, 0, ""), &port);
	all = dpa_port_function(&port, 1, "");
	lo = dpa_port_function(&port, 2, "lo");
	gone = dpa_port_function(&port, 3, "nowhere0");
	cr_assert(all && lo && gone);
	cr_expect_eq(dpa_port_function(&port, 2, "lo"), lo);
	cr_expect_eq(all->node_guid, dpa_port_node_guid(1));
	cr_expect_neq(all->node_guid, lo->node_guid);

	cr_expect_eq(sf_find(all, "127.0.0.1"), 0);
	cr_expect_eq(sf_find(lo, "127.0.0.1"), 0);
	cr_expect_eq(sf_find(gone, "127.0.0.1"), -1);
	dpa_port_derive_gid(gone->node_guid, gid);
	cr_expect_eq(dpa_port_find(gone, gid), 0, "there is always one GID");
	cr_expect_eq(dpa_port_find(lo, gid), -1);
	cr_expect_eq(dpa_port_find(&port, gid), -1, "it is not the PF's");
	cr_expect(dpa_port_is_own(&port, gid), "but this board's");
	gid[14] ^= 1;
	cr_expect_not(dpa_port_is_own(&port, gid));
	dpa_port_derive_gid(port.node_guid, gid);
	cr_expect_not(dpa_port_is_own(&port, gid), "the PF has none while it has an address");

	address("127.0.0.9/8", true);
	cr_expect_eq(changes(), (unsigned)DPA_PORT_CHANGE_GID);
	cr_expect_geq(sf_find(lo, "127.0.0.9"), 0);
	cr_expect_geq(sf_find(all, "127.0.0.9"), 0);
	cr_expect_eq(sf_find(gone, "127.0.0.9"), -1);
	dpa_port_fini(&port);
}

static uint8_t state_of(struct dpa_port *p)
{
	struct dpa_hw_port_attr attr;

	dpa_port_attr(p, &attr);
	return attr.state;
}

/* An SF's port follows its interface; one without, and the PF's, cannot go down. */
Test(port_live, state)
{
	struct dpa_port *all, *lo, *gone;

	new_netns();
	lo_up(true);
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	all = dpa_port_function(&port, 1, "");
	lo = dpa_port_function(&port, 2, "lo");
	gone = dpa_port_function(&port, 3, "nowhere0");
	cr_assert(all && lo && gone);
	cr_expect_eq(state_of(lo), DPA_PORT_ACTIVE);
	cr_expect_eq(state_of(gone), DPA_PORT_DOWN);
	lo_up(false);
	cr_expect(changes() & DPA_PORT_CHANGE_STATE);
	cr_expect_eq(state_of(lo), DPA_PORT_DOWN);
	cr_expect_eq(state_of(all), DPA_PORT_ACTIVE);
	cr_expect_eq(state_of(&port), DPA_PORT_ACTIVE);
	lo_up(true);
	cr_expect(changes() & DPA_PORT_CHANGE_STATE);
	cr_expect_eq(state_of(lo), DPA_PORT_ACTIVE);
	dpa_port_fini(&port);
}

/*
 * dpa0 with its own interface: the addresses of that one, and its state; the derived GID if it has
 * none.
 */
Test(port_live, pf_with_an_interface)
{
	struct dpa_port *pf;
	uint8_t gid[16];
	unsigned what;

	new_netns();
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	pf = dpa_port_function(&port, 0, "lo");
	cr_assert(pf && pf != &port);
	cr_expect_eq(dpa_port_function(&port, 0, "lo"), pf);
	cr_expect_eq(pf->node_guid, port.node_guid);
	cr_expect_eq(state_of(pf), DPA_PORT_DOWN);
	cr_expect_eq(sf_find(pf, "127.0.0.1"), -1);
	dpa_port_derive_gid(pf->node_guid, gid);
	cr_expect_eq(dpa_port_find(pf, gid), 0);
	cr_expect(dpa_port_is_own(&port, gid));
	lo_up(true);
	what = changes();
	cr_expect(what & DPA_PORT_CHANGE_GID && what & DPA_PORT_CHANGE_STATE, "%u", what);
	cr_expect_eq(state_of(pf), DPA_PORT_ACTIVE);
	cr_expect_geq(sf_find(pf, "127.0.0.1"), 0);
	lo_up(false);
	cr_expect(changes() & DPA_PORT_CHANGE_STATE);
	cr_expect_eq(state_of(pf), DPA_PORT_DOWN);
	cr_expect_eq(state_of(&port), DPA_PORT_ACTIVE);
	dpa_port_fini(&port);
}

/* Nothing pending: no dump, no call. */
Test(port_live, quiet)
{
	struct pollfd p = {.events = POLLIN};
	unsigned what = 0;

	new_netns();
	lo_up(true);
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	p.fd = dpa_port_fd(&port);
	cr_expect_eq(poll(&p, 1, 0), 0);
	cr_expect_eq(dpa_port_poll(&port, note, &what), 0);
	cr_expect_eq(what, 0u);
	dpa_port_fini(&port);
}

/* More messages than the socket holds: they are dropped (ENOBUFS), the table is still correct. */
Test(port_live, flood)
{
	char text[32];

	new_netns();
	lo_up(true);
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "10.20.%d.1/24", i % 100);
		address(text, i / 100 % 2 == 0);
	}
	address("10.99.0.1/24", true);
	changes();
	cr_expect_geq(find("10.99.0.1"), 0);
	cr_expect_eq(find("10.20.5.1"), -1);
	dpa_port_fini(&port);
}

static _Noreturn void in_child(void)
{
	char text[128];

	alarm(20); /* a limit, not a measurement */
	dpa_port_abandon(&port);
	if (dpa_hw_port_file(0, "", 0, "gids/0", text, sizeof(text)) <= 0 ||
	    strcmp(text, "0000:0000:0000:0000:0000:ffff:7f00:0001\n") != 0)
		_exit(1);
	_exit(0);
}

/* fork() while another thread was changing the table: that change never ends in the child. */
Test(port_live, files_in_a_child_of_a_table_half_changed)
{
	int status;
	pid_t pid;

	new_netns();
	lo_up(true);
	cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
	dpa_port_publish(&port);
	atomic_fetch_add(&port.seq, 1);
	pid = fork();
	if (!pid)
		in_child();
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	atomic_fetch_add(&port.seq, 1);
	cr_expect_eq(status, 0, "status %#x", (unsigned)status);
	dpa_port_withdraw(&port);
	dpa_port_fini(&port);
}

Test(port_live, files)
{
	char text[128];

	new_netns();
	lo_up(true);
	for (int live = 0; live < 2; live++) { /* of the namespace, then of this port */
		if (live) {
			cr_assert_eq(dpa_port_init(&port, DPA_CFG_GIDS_ADDRESSES), 0);
			dpa_port_publish(&port);
		}
		cr_assert_gt(dpa_hw_port_file(0, "", 0, "gids/0", text, sizeof(text)), 0);
		cr_expect_str_eq(text, "0000:0000:0000:0000:0000:ffff:7f00:0001\n");
		cr_assert_gt(dpa_hw_port_file(0, "", 0, "gid_attrs/types/0", text, sizeof(text)),
			     0);
		cr_expect_str_eq(text, "RoCE v2\n");
		cr_assert_gt(dpa_hw_port_file(0, "", 0, "gid_attrs/ndevs/1", text, sizeof(text)),
			     0);
		cr_expect_str_eq(text, "lo\n");
		cr_assert_gt(dpa_hw_port_file(0, "", 0, "gids/9", text, sizeof(text)), 0);
		cr_expect_str_eq(text, "0000:0000:0000:0000:0000:0000:0000:0000\n");
		cr_expect_eq(dpa_hw_port_file(0, "", 0, "gid_attrs/types/9", text, sizeof(text)),
			     -1);
		cr_expect_eq(errno, EINVAL);
		cr_expect_eq(dpa_hw_port_file(0, "", 0, "gids/256", text, sizeof(text)), -1);
		cr_expect_eq(dpa_hw_port_file(0, "", 0, "gids/", text, sizeof(text)), -1);
		cr_expect_eq(dpa_hw_port_file(0, "", 0, "gids/1x", text, sizeof(text)), -1);
		cr_expect_eq(dpa_hw_port_file(0, "", 0, "other/1", text, sizeof(text)), -1);
		cr_expect_eq(errno, ENOENT);
		cr_assert_gt(dpa_hw_port_file(0, "", 0, "netdevs", text, sizeof(text)), 0);
		cr_expect_str_eq(text, "lo\n", "once, though it has two GIDs");
		cr_assert_gt(dpa_hw_port_file(0, "", 0, "state", text, sizeof(text)), 0);
		cr_expect_str_eq(text, "4: ACTIVE\n");
		cr_assert_gt(dpa_hw_port_file(0, "nowhere0", 0, "state", text, sizeof(text)), 0);
		cr_expect_str_eq(text, "1: DOWN\n");
		cr_assert_gt(dpa_hw_port_file(0, "nowhere0", 0, "phys_state", text, sizeof(text)),
			     0);
		cr_expect_str_eq(text, "3: Disabled\n");
		cr_expect_eq(dpa_hw_port_file(0, "nowhere0", 0, "netdevs", text, sizeof(text)), 0);
		cr_expect_eq(dpa_hw_port_file(0, "", 0, "state/1", text, sizeof(text)), -1);
	}
	dpa_port_withdraw(&port);
	dpa_port_fini(&port);
}
