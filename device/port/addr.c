/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * addr.c - reads the addresses of the network namespace by rtnetlink, in the order of a new GID
 * table.
 */
#include <net/if.h>
#include <linux/if_addr.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netlink/netlink.h>
#include <netlink/cache.h>
#include <netlink/addr.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>

#include "port/port.h"

/*
 * Maximum of RoCEv2 headers around a payload, as computed by the kernel's iboe_get_mtu(): GRH's 40
 * for IPv6, UDP 8, BTH 12, XRC 4, atomic 28, ICRC 4.
 */
#define ROCE_OVERHEAD 96

struct scan {
	struct nl_cache *links;
	struct dpa_port_addr *addrs;
	int num, room;
};

uint32_t dpa_port_ib_mtu(uint32_t if_mtu)
{
	uint32_t mtu = DPA_PORT_MTU_4096;

	while (mtu > DPA_PORT_MTU_256 && if_mtu < (128u << mtu) + ROCE_OVERHEAD)
		mtu--;
	return mtu;
}

/* Writes the bytes of a GID. False: the family has none. */
static bool gid_of_nl_addr(struct nl_addr *local, uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (nl_addr_get_family(local) == AF_INET && nl_addr_get_len(local) == 4) {
		memcpy(gid, mapped, 12);
		memcpy(gid + 12, nl_addr_get_binary_addr(local), 4);
		return true;
	}
	if (nl_addr_get_family(local) == AF_INET6 && nl_addr_get_len(local) == 16) {
		memcpy(gid, nl_addr_get_binary_addr(local), 16);
		return true;
	}
	return false;
}

/*
 * Rank by kind in the order of port.h; 8 ranks a kind, for the carrier; within a kind the kernel's
 * order.
 */
static uint32_t rank_of(const uint8_t gid[16], int family, unsigned link_flags)
{
	uint32_t kind;

	if (link_flags & IFF_LOOPBACK)
		kind = family == AF_INET ? DPA_PORT_RANK_LO : DPA_PORT_RANK_LO + 1;
	else if (family == AF_INET)
		kind = 0;
	else
		kind = gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80 ? 2 : 1;
	return kind * 8 + !(link_flags & IFF_RUNNING);
}

static void add_scanned_addr(struct nl_object *obj, void *arg)
{
	struct rtnl_addr *addr = (struct rtnl_addr *)obj;
	struct nl_addr *local = rtnl_addr_get_local(addr);
	struct scan *s = arg;
	struct dpa_port_addr *a;
	struct rtnl_link *link;
	unsigned flags;

	/* An address that failed duplicate detection does not belong to the namespace. */
	if (!local || s->num == s->room || (rtnl_addr_get_flags(addr) & IFA_F_DADFAILED) ||
	    ((rtnl_addr_get_flags(addr) & IFA_F_TENTATIVE) &&
	     !(rtnl_addr_get_flags(addr) & IFA_F_OPTIMISTIC)))
		return;
	link = rtnl_link_get(s->links, rtnl_addr_get_ifindex(addr));
	if (!link)
		return;
	a = &s->addrs[s->num];
	flags = rtnl_link_get_flags(link);
	if (gid_of_nl_addr(local, a->gid)) {
		a->ifindex = (uint32_t)rtnl_addr_get_ifindex(addr);
		a->mtu = flags & IFF_LOOPBACK ? DPA_PORT_MTU_4096
					      : dpa_port_ib_mtu(rtnl_link_get_mtu(link));
		a->rank = rank_of(a->gid, nl_addr_get_family(local), flags);
		s->num++;
	}
	rtnl_link_put(link);
}

/* Insertion sort: stable, and fast for nearly sorted input. */
static void sort_addrs(struct dpa_port_addr *a, int n)
{
	for (int i = 1; i < n; i++) {
		struct dpa_port_addr key = a[i];
		int j = i;

		for (; j > 0 && a[j - 1].rank > key.rank; j--)
			a[j] = a[j - 1];
		a[j] = key;
	}
}

int dpa_port_scan(struct nl_sock *query, struct dpa_port_addr **addrs)
{
	struct nl_cache *cache = NULL;
	struct scan s = {0};
	int ret = -1;

	if (rtnl_link_alloc_cache(query, AF_UNSPEC, &s.links) < 0)
		return -1;
	if (rtnl_addr_alloc_cache(query, &cache) < 0)
		goto free_links;
	s.room = nl_cache_nitems(cache);
	s.addrs = calloc((size_t)s.room + 1, sizeof(*s.addrs)); /* + 1: for the derived GID */
	if (!s.addrs)
		goto free_cache;
	nl_cache_foreach(cache, add_scanned_addr, &s);
	sort_addrs(s.addrs, s.num);
	*addrs = s.addrs;
	ret = s.num;
free_cache:
	nl_cache_free(cache);
free_links:
	nl_cache_free(s.links);
	return ret;
}
