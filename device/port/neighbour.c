/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* neighbour.c - checks whether the kernel has the link address of the next hop to another host. */
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <netlink/netlink.h>
#include <netlink/msg.h>
#include <netlink/route/link.h>

#include "port/port.h"

/* As NUD_VALID of the kernel. */
#define HAS_ADDRESS (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)

static bool needs_address(struct nl_sock *s, uint32_t oif)
{
	struct rtnl_link *link = NULL;
	bool needs = false;

	if (rtnl_link_get_kernel(s, (int)oif, NULL, &link) == 0) {
		needs = !(rtnl_link_get_flags(link) & (IFF_LOOPBACK | IFF_NOARP | IFF_POINTOPOINT));
		rtnl_link_put(link);
	}
	return needs;
}

static struct nl_msg *neighbour_question(const struct dpa_route *r)
{
	struct ndmsg ndm = {.ndm_family = r->hop_family, .ndm_ifindex = (int)r->oif};
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETNEIGH, 0);

	if (msg && nlmsg_append(msg, &ndm, sizeof(ndm), NLMSG_ALIGNTO) >= 0 &&
	    nla_put(msg, NDA_DST, r->hop_len, r->hop) >= 0)
		return msg;
	nlmsg_free(msg);
	return NULL;
}

static void take_neighbour(struct nlmsghdr *h, void *arg)
{
	const struct ndmsg *ndm = nlmsg_data(h);

	if (h->nlmsg_type == RTM_NEWNEIGH)
		*(uint16_t *)arg = ndm->ndm_state;
}

static int ask_neighbour(struct nl_sock **s, const struct dpa_route *r)
{
	struct nl_msg *msg = neighbour_question(r);
	uint16_t state = 0;
	int ret;

	if (!msg)
		return ENOMEM;
	ret = dpa_netlink_ask(s, msg, take_neighbour, &state);
	nlmsg_free(msg);
	if (ret == ENOENT)
		return EAGAIN;
	if (ret == EINVAL)
		return EOPNOTSUPP;
	return ret || state & HAS_ADDRESS ? ret : EAGAIN;
}

int dpa_neighbour_lookup(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16])
{
	const bool v4 = dpa_gid_is_v4(dst);
	struct dpa_route r;
	int ret;

	pthread_mutex_lock(&port->lock);
	ret = dpa_route_ask(port, src, dst, &r);
	if (!r.hop_len) {
		r.hop_len = v4 ? 4 : 16;
		memcpy(r.hop, dst + (v4 ? 12 : 0), r.hop_len);
	}
	if (!ret && r.type == RTN_UNICAST && needs_address(port->query, r.oif))
		ret = ask_neighbour(&port->query, &r);
	pthread_mutex_unlock(&port->lock);
	return ret;
}
