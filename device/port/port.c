/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * port.c - keeps the GID table equal to the namespace. The event socket only shows that something
 * changed; the table is then compared with a fresh dump. So a burst of events costs one dump, and
 * messages that the kernel dropped (ENOBUFS) cost nothing more.
 */
#include <errno.h>
#include <net/if.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "util/sys.h"
#include "port/port.h"

/* The kernel answers while the request is sent: an answer that has not come by then was lost. */
#define ANSWER_S 1

struct nl_sock *dpa_netlink_open(void)
{
	const struct timeval limit = {.tv_sec = ANSWER_S};
	struct nl_sock *s = nl_socket_alloc();

	if (s && (nl_connect(s, NETLINK_ROUTE) < 0 ||
		  dpa_sys_setsockopt(nl_socket_get_fd(s), SOL_SOCKET, SO_RCVTIMEO, &limit,
				     sizeof(limit)))) {
		nl_socket_free(s);
		return NULL;
	}
	return s;
}

static struct nl_sock *open_events(void)
{
	struct nl_sock *s = dpa_netlink_open();

	if (!s)
		return NULL;
	if (nl_socket_add_memberships(s, RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
				      0) < 0 ||
	    nl_socket_set_nonblocking(s) < 0) {
		nl_socket_free(s);
		return NULL;
	}
	return s;
}

/*
 * Returns the MTU that every path of the port supports: the smallest one of the interfaces that
 * lead to other hosts. Interfaces with a carrier have precedence. If there is no such interface:
 * the MTU of shared memory.
 */
static uint32_t common_mtu(const struct dpa_port_addr *addrs, int n)
{
	uint32_t mtu[2] = {DPA_PORT_MTU_4096 + 1, DPA_PORT_MTU_4096}; /* with a carrier; without */

	for (int i = 0; i < n; i++) {
		uint32_t *m = &mtu[!dpa_port_has_carrier(addrs[i].rank)];

		if (addrs[i].ifindex && dpa_port_leads_out(addrs[i].rank) && addrs[i].mtu < *m)
			*m = addrs[i].mtu;
	}
	return mtu[0] <= DPA_PORT_MTU_4096 ? mtu[0] : mtu[1];
}

static bool has_link_local(const struct dpa_port_addr *addrs, int n)
{
	for (int i = 0; i < n; i++)
		if (dpa_gid_is_link_local(addrs[i].gid))
			return true;
	return false;
}

/*
 * Append the derived GID if it was shown before, if no address is shown, or if an adapter's table
 * has no link-local address for index 1. addrs has room for one more.
 */
static int add_derived(struct dpa_port *port, struct dpa_port_addr *addrs, int n, int shown)
{
	bool wanted =
		shown == 0 || (port->order == DPA_CFG_GIDS_ADAPTER && !has_link_local(addrs, n));

	if (!wanted && !port->derived)
		return n;
	port->derived = true;
	addrs[n] = (struct dpa_port_addr){.mtu = DPA_PORT_MTU_4096};
	dpa_port_derive_gid(port->node_guid, addrs[n].gid);
	return n + 1;
}

/* Make the table hold addrs, and the derived GID if needed. addrs has room for one more. */
static unsigned apply_addrs(struct dpa_port *port, struct dpa_port_addr *addrs, int n)
{
	unsigned what = 0;
	uint32_t mtu;

	n = add_derived(port, addrs, n, dpa_port_hide(port->order, addrs, n));
	if (dpa_port_table_update(port, addrs, n))
		what |= DPA_PORT_CHANGE_GID;
	mtu = common_mtu(addrs, n);
	if (mtu != atomic_exchange_explicit(&port->active_mtu, mtu, memory_order_relaxed))
		what |= DPA_PORT_CHANGE_MTU;
	return what;
}

/* Without a socket to ask the kernel the state is unknown, and none is reported. */
static enum dpa_port_state interface_state(const char *ifname)
{
	struct ifreq r = {.ifr_flags = 0};
	int fd = dpa_sys_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool runs = true;

	if (!ifname[0] || fd < 0) {
		if (fd >= 0)
			close(fd);
		return DPA_PORT_ACTIVE;
	}
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", ifname);
	runs = !ioctl(fd, SIOCGIFFLAGS, &r) && (r.ifr_flags & IFF_RUNNING);
	close(fd);
	return runs ? DPA_PORT_ACTIVE : DPA_PORT_DOWN;
}

/* Applies a function's part of the addresses. An interface that does not exist has none. */
static unsigned apply_sf(struct dpa_port *sf, const struct dpa_port_addr *addrs, int n)
{
	struct dpa_port_addr *own = calloc((size_t)n + 1, sizeof(*own));
	unsigned ifindex = sf->ifname[0] ? if_nametoindex(sf->ifname) : 0, what;
	uint32_t state;
	int num = 0;

	if (!own)
		return 0; /* unchanged; the next change tries again */
	for (int i = 0; i < n; i++)
		if (!sf->ifname[0] || (ifindex && addrs[i].ifindex == ifindex))
			own[num++] = addrs[i];
	what = apply_addrs(sf, own, num);
	state = interface_state(sf->ifname);
	if (state != atomic_exchange_explicit(&sf->state, state, memory_order_relaxed))
		what |= DPA_PORT_CHANGE_STATE;
	free(own);
	return what;
}

/* Compares the tables with the namespace. Returns a set of enum dpa_port_change. */
static unsigned rescan_addrs(struct dpa_port *port)
{
	struct dpa_port_addr only, *addrs = NULL;
	unsigned what = 0;
	int n = -1;

	pthread_mutex_lock(&port->lock);
	if (!port->query)
		port->query = dpa_netlink_open();
	if (port->query)
		n = dpa_port_scan(port->query, &addrs);
	if (n < 0 && atomic_load_explicit(&port->num, memory_order_relaxed)) {
		/*
		 * A failed dump gives no information about the addresses; a new function has at
		 * least its own.
		 */
		for (uint32_t f = 0; f < DPA_MAX_FUNCTIONS; f++) {
			struct dpa_port *sf = port->sf[f];

			if (sf && !atomic_load_explicit(&sf->num, memory_order_relaxed))
				what |= apply_sf(sf, NULL, 0);
		}
		goto out;
	}
	n = n < 0 ? 0 : n;
	for (uint32_t f = 0; f < DPA_MAX_FUNCTIONS; f++)
		if (port->sf[f])
			what |= apply_sf(port->sf[f], addrs, n);
	what |= apply_addrs(port, addrs ? addrs : &only, n);
out:
	pthread_mutex_unlock(&port->lock);
	free(addrs);
	return what;
}

struct dpa_port *dpa_port_function(struct dpa_port *port, uint32_t function, const char *ifname)
{
	struct dpa_port *sf;

	if (!function && !ifname[0])
		return port;
	pthread_mutex_lock(&port->lock);
	sf = port->sf[function];
	if (!sf) {
		sf = calloc(1, sizeof(*sf));
		if (sf) {
			sf->function = function;
			sf->node_guid = dpa_port_node_guid(function);
			sf->state = DPA_PORT_ACTIVE;
			atomic_store_explicit(
				&sf->down, atomic_load_explicit(&port->down, memory_order_relaxed),
				memory_order_relaxed);
			sf->order = port->order;
			/* always, because it distinguishes the SF from others */
			sf->derived = function;
			snprintf(sf->ifname, sizeof(sf->ifname), "%s", ifname);
			atomic_store_explicit(&port->sf[function], sf, memory_order_release);
		}
	}
	pthread_mutex_unlock(&port->lock);
	if (sf)
		rescan_addrs(port);
	return sf;
}

void dpa_port_set_down(struct dpa_port *port, bool down)
{
	pthread_mutex_lock(&port->lock);
	atomic_store_explicit(&port->down, down, memory_order_relaxed);
	for (uint32_t f = 0; f < DPA_MAX_FUNCTIONS; f++)
		if (port->sf[f])
			atomic_store_explicit(&port->sf[f]->down, down, memory_order_relaxed);
	pthread_mutex_unlock(&port->lock);
}

int dpa_port_init(struct dpa_port *port, enum dpa_cfg_gid_order order)
{
	int ret;

	memset(port, 0, sizeof(*port));
	ret = pthread_mutex_init(&port->lock, NULL);
	if (ret)
		return ret;
	port->order = order;
	port->node_guid = dpa_port_node_guid(0);
	port->state = DPA_PORT_ACTIVE;
	/* Events first: a change between this and the dump is seen twice instead of never. */
	port->events = open_events();
	port->query = dpa_netlink_open();
	rescan_addrs(port);
	return 0;
}

void dpa_port_fini(struct dpa_port *port)
{
	nl_socket_free(port->events);
	nl_socket_free(port->query);
	for (uint32_t f = 0; f < DPA_MAX_FUNCTIONS; f++)
		free(port->sf[f]);
	port->events = NULL;
	port->query = NULL;
	pthread_mutex_destroy(&port->lock);
}

void dpa_port_abandon(struct dpa_port *port)
{
	dpa_port_withdraw_in_child();
	if (port->events)
		close(nl_socket_get_fd(port->events));
	if (port->query)
		close(nl_socket_get_fd(port->query));
	port->events =
		/*
		 * The memory is the parent's copy: freeing it is not worth a lock that may be held.
		 */
		NULL;
	port->query = NULL;
}

int dpa_port_fd(struct dpa_port *port)
{
	return port->events ? nl_socket_get_fd(port->events) : -1;
}

/* Discards what is queued. True if there was anything, or too much for the socket. */
static bool drain_events(int fd)
{
	bool any = false;
	ssize_t ret;

	for (;;) {
		ret = dpa_sys_recv(fd, NULL, 0, MSG_DONTWAIT | MSG_TRUNC);
		if (ret < 0 && errno != ENOBUFS && errno != EINTR)
			return any;
		any |= ret >= 0 || errno == ENOBUFS;
	}
}

int dpa_port_poll(struct dpa_port *port, dpa_port_change_fn *fn, void *arg)
{
	unsigned what;

	if (!port->events || !drain_events(nl_socket_get_fd(port->events)))
		return 0;
	what = rescan_addrs(port);
	for (unsigned bit = 1; bit <= DPA_PORT_CHANGE_STATE; bit <<= 1)
		if (what & bit)
			fn(arg, (enum dpa_port_change)bit);
	return 0;
}

void dpa_port_attr(struct dpa_port *port, struct dpa_hw_port_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->state = (uint8_t)dpa_port_state(port);
	attr->active_mtu = (uint8_t)atomic_load_explicit(&port->active_mtu, memory_order_relaxed);
	attr->max_mtu = DPA_PORT_MTU_4096;
	attr->gid_tbl_len = DPA_MAX_GIDS;
}
