/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * group.c - multicast groups on the wire. A group's GID is an IP address; a datagram to it goes
 * there with the QPN 0xffffff. Each process of an adapter instance joins the groups of its own QPs.
 * The kernel gives each receiving socket that joined a copy: nothing is passed on within the
 * instance. Within the instance datagrams reach QPs by memory (ud.c); the copy that returns by the
 * wire is dropped.
 *
 * IPv6: a socket receives the groups that it joined. IPv4: it receives the groups that any process
 * in this namespace joined. From Linux 6.6 on the kernel gives a datagram that only one socket of a
 * port accepts to the socket that the program of steer.c selects, which ignores groups. The
 * adapter's table decides which QPs get it.
 *
 * A socket can join a limited number of groups (IPv4: net.ipv4.igmp_max_memberships; IPv6: by
 * memory). The rest is joined on sockets that are used for nothing else; then IPv6 behaves like
 * IPv4.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "util/sys.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/udp/udp.h"
#include "link/udp/wire.h"
#include "tables/tables.h"

#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif

struct dpa_group {
	uint8_t gid[16];
	uint32_t users; /* QPs */
};

/* Returns the kernel's result: 0 or errno. */
static int set_membership(int fd, const uint8_t gid[16], uint32_t ifindex, bool join)
{
	struct ip_mreqn m4 = {.imr_ifindex = (int)ifindex};
	struct ipv6_mreq m6 = {.ipv6mr_interface = ifindex};
	int ret;

	if (dpa_gid_is_v4(gid)) {
		memcpy(&m4.imr_multiaddr, gid + 12, 4);
		ret = dpa_sys_setsockopt(fd, SOL_IP, join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP,
					 &m4, sizeof(m4));
	} else {
		memcpy(&m6.ipv6mr_multiaddr, gid, 16);
		ret = dpa_sys_setsockopt(fd, SOL_IPV6, join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP,
					 &m6, sizeof(m6));
	}
	return ret ? errno : 0;
}

static bool is_table_full(int err)
{
	return err == ENOBUFS || err == ENOMEM;
}

/* Adds a socket that joins groups for the receiving socket. 0 or errno. */
static int add_socket(struct dpa_udp *u)
{
	int fd, on = 1;

	if (u->nmore == DPA_GROUP_SOCKS)
		return ENOMEM;
	fd = dpa_sys_socket(u->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	if (u->family == AF_INET6)
		dpa_sys_setsockopt(dpa_udp_fd(u), SOL_IPV6, IPV6_MULTICAST_ALL, &on, sizeof(on));
	u->more[u->nmore++] = fd;
	return 0;
}

static int join_on(struct dpa_udp *u, const uint8_t gid[16], uint32_t ifindex)
{
	int err = set_membership(dpa_udp_fd(u), gid, ifindex, true);

	for (uint32_t i = 0; is_table_full(err); i++) {
		if (i == u->nmore && add_socket(u))
			return ENOMEM;
		err = set_membership(u->more[i], gid, ifindex, true);
	}
	return err == EADDRINUSE ? 0 : err;
}

static void leave_on(struct dpa_udp *u, const uint8_t gid[16], uint32_t ifindex)
{
	set_membership(dpa_udp_fd(u), gid, ifindex, false);
	for (uint32_t i = 0; i < u->nmore; i++)
		set_membership(u->more[i], gid, ifindex, false);
}

static bool group_suits(const struct dpa_udp *u, const struct dpa_group_if *f,
			const uint8_t gid[16])
{
	return dpa_gid_is_v4(gid) ? f->v4 : f->v6 && u->family == AF_INET6;
}

static void leave_group(struct dpa_udp *u, const uint8_t gid[16])
{
	for (uint32_t i = 0; i < u->nifs; i++)
		if (group_suits(u, &u->ifs[i], gid))
			leave_on(u, gid, u->ifs[i].index);
}

/*
 * ENOMEM: the kernel joins no more. If an interface refuses for another reason, this is logged and
 * the interface is left out.
 */
static int join_if(struct dpa_hw *hw, const uint8_t gid[16], const struct dpa_group_if *f)
{
	int err = group_suits(hw->udp, f, gid) ? join_on(hw->udp, gid, f->index) : 0;

	if (err == ENOMEM)
		dpa_log(hw, DPA_LOG_ERR, "the kernel's limit of multicast groups is reached");
	else if (err && err != ENODEV) /* the interface was removed */
		dpa_log(hw, DPA_LOG_WARN, "a multicast group is not joined on interface %u: %s",
			f->index, strerror(err));
	return err == ENOMEM ? err : 0;
}

/* Joins on all interfaces or on none. */
static int join_udp_group(struct dpa_hw *hw, const uint8_t gid[16])
{
	struct dpa_udp *u = hw->udp;

	for (uint32_t i = 0; i < u->nifs; i++)
		if (join_if(hw, gid, &u->ifs[i])) {
			leave_group(u, gid);
			return ENOMEM;
		}
	return 0;
}

static bool is_loopback_group(const uint8_t gid[16])
{
	static const uint8_t v6[16] = {[15] = 1};

	return dpa_gid_is_v4(gid) ? gid[12] == 127 : memcmp(gid, v6, 16) == 0;
}

/* The interfaces with addresses that datagrams to groups can leave from or arrive at. */
static uint32_t group_interfaces(struct dpa_hw *hw, struct dpa_group_if *ifs)
{
	struct dpa_hw_gid gid;
	uint32_t n = 0, k;

	for (uint32_t i = 0; i < DPA_MAX_GIDS; i++) {
		if (dpa_port_gid(&hw->port, i, &gid) || !gid.ifindex || is_loopback_group(gid.gid))
			continue;
		for (k = 0; k < n && ifs[k].index != gid.ifindex; k++)
			;
		if (k == n)
			ifs[n++] = (struct dpa_group_if){.index = gid.ifindex};
		if (dpa_gid_is_v4(gid.gid))
			ifs[k].v4 = true;
		else
			ifs[k].v6 = true;
	}
	return n;
}

/* The families of `a` that the same interface in `b` does not have. */
static struct dpa_group_if interfaces_without(struct dpa_group_if a, const struct dpa_group_if *b,
					      uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (b[i].index == a.index) {
			a.v4 &= !b[i].v4;
			a.v6 &= !b[i].v6;
		}
	return a;
}

void dpa_groups_refresh(struct dpa_hw *hw)
{
	struct dpa_group_if now[DPA_MAX_GIDS], f;
	struct dpa_udp *u = hw->udp;
	uint32_t n;

	if (dpa_udp_fd(u) < 0)
		return;
	pthread_mutex_lock(&u->group_lock);
	n = group_interfaces(hw, now);
	for (uint32_t i = 0; i < u->nifs; i++) {
		f = interfaces_without(u->ifs[i], now, n);
		for (uint32_t g = 0; g < u->ngroups && (f.v4 || f.v6); g++)
			if (group_suits(u, &f, u->groups[g].gid))
				leave_on(u, u->groups[g].gid, f.index);
	}
	for (uint32_t i = 0; i < n; i++) {
		f = interfaces_without(now[i], u->ifs, u->nifs);
		for (uint32_t g = 0; g < u->ngroups && (f.v4 || f.v6); g++)
			join_if(hw, u->groups[g].gid, &f);
	}
	memcpy(u->ifs, now, n * sizeof(*now));
	u->nifs = n;
	pthread_mutex_unlock(&u->group_lock);
}

static struct dpa_group *find_group(struct dpa_udp *u, const uint8_t gid[16])
{
	for (uint32_t i = 0; i < u->ngroups; i++)
		if (!memcmp(u->groups[i].gid, gid, 16))
			return &u->groups[i];
	return NULL;
}

static int add_udp_group(struct dpa_hw *hw, const uint8_t gid[16])
{
	struct dpa_udp *u = hw->udp;
	uint32_t room = u->room ? 2 * u->room : 8;
	struct dpa_group *g;

	if (u->ngroups == u->room) {
		g = realloc(u->groups, room * sizeof(*g));
		if (!g)
			return ENOMEM;
		u->groups = g;
		u->room = room;
	}
	if (dpa_udp_fd(u) >= 0 && join_udp_group(hw, gid))
		return ENOMEM;
	g = &u->groups[u->ngroups++];
	memcpy(g->gid, gid, 16);
	g->users = 1;
	return 0;
}

int dpa_group_join(struct dpa_hw *hw, const uint8_t gid[16])
{
	struct dpa_udp *u = hw->udp;
	struct dpa_group *g;
	int ret = 0;

	pthread_mutex_lock(&u->group_lock);
	g = find_group(u, gid);
	if (g)
		g->users++;
	else
		ret = add_udp_group(hw, gid);
	pthread_mutex_unlock(&u->group_lock);
	return ret;
}

void dpa_group_leave(struct dpa_hw *hw, const uint8_t gid[16])
{
	struct dpa_udp *u = hw->udp;
	struct dpa_group *g;

	pthread_mutex_lock(&u->group_lock);
	g = find_group(u, gid);
	if (g && --g->users == 0) {
		if (dpa_udp_fd(u) >= 0)
			leave_group(u, gid);
		*g = u->groups[--u->ngroups];
	}
	pthread_mutex_unlock(&u->group_lock);
}

bool dpa_group_leads_out(const struct dpa_hw_gid *from, const uint8_t gid[16])
{
	return from->ifindex && !is_loopback_group(from->gid) &&
	       dpa_gid_is_v4(from->gid) == dpa_gid_is_v4(gid);
}

/* IBA 9.6 (multicast) */
struct dpa_hw_qp *dpa_group_deliver(struct dpa_hw *hw, struct dpa_hw_qp *cur,
				    const struct dpa_frame *f, const struct dpa_roce_pkt *pkt)
{
	const bool own = pkt->sqpn >> 16 == hw->board->board_num &&
			 dpa_port_find(&hw->port, f->net.src) >= 0;
	struct dpa_roce_pkt copy = *pkt;
	uint32_t at = 0, members = 0;

	/* the group address and the multicast QPN go together */
	if (!f->group || pkt->dqpn != DPA_QPN_MCAST) {
		dpa_count(hw, DPA_CNT_rx_dropped, 1);
		return cur;
	}
	if (own) /* delivered by memory */
		return cur;
	for (; dpa_board_mcast_next(hw->board, f->net.dst, &at, &copy.dqpn); at++, members++)
		if (dpa_qpn_is_ours(hw, copy.dqpn))
			cur = dpa_pkt_deliver(hw, cur, NULL, f, &copy);
	dpa_count(hw, DPA_CNT_rx_dropped, members == 0);
	return cur;
}

void dpa_groups_init(struct dpa_udp *u)
{
	pthread_mutex_init(&u->group_lock, NULL);
}

void dpa_groups_abandon(struct dpa_udp *u)
{
	for (uint32_t i = 0; i < u->nmore; i++)
		dpa_sys_close(u->more[i]);
	u->nmore = 0;
}

void dpa_groups_fini(struct dpa_udp *u)
{
	free(u->groups);
	u->groups = NULL;
	u->ngroups = u->room = u->nifs = 0;
	pthread_mutex_destroy(&u->group_lock);
}
