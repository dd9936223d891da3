/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* route.c - the route to another host, as the kernel would use it now. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <netlink/netlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/route/link.h>

#include "port/port.h"

/* Receives an answer of the kernel. */
struct asked {
	int err; /* errno: the kernel's result */
	bool done;
	void (*take)(struct nlmsghdr *h, void *arg);
	void *arg;
};

static int on_answer(struct nl_msg *msg, void *arg)
{
	struct asked *a = arg;

	a->take(nlmsg_hdr(msg), a->arg);
	return NL_OK;
}

static int on_route_ack(struct nl_msg *msg, void *arg)
{
	((struct asked *)arg)->done = true;
	return NL_STOP;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct asked *a = arg;

	a->err = e->error < 0 ? -e->error : 0;
	a->done = true;
	return NL_STOP;
}

/*
 * Opens a new socket: after a lost answer the sequence numbers of requests and answers no longer
 * agree.
 */
static void reopen_netlink(struct nl_sock **s)
{
	nl_socket_free(*s);
	*s = dpa_netlink_open(); /* NULL: no descriptor; the next request opens it */
}

int dpa_netlink_ask(struct nl_sock **s, struct nl_msg *msg,
		    void (*take)(struct nlmsghdr *h, void *arg), void *arg)
{
	struct asked a = {.take = take, .arg = arg};
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int ret;

	if (!cb)
		return ENOMEM;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_answer, &a);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_route_ack, &a);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &a);
	ret = nl_send_auto(*s, msg);
	while (ret >= 0 && !a.done)
		ret = nl_recvmsgs(*s, cb);
	nl_cb_put(cb);
	if (a.err)
		return a.err;
	if (ret == -NLE_AGAIN) {
		reopen_netlink(s);
		return ETIMEDOUT;
	}
	return ret < 0 ? EIO : 0;
}

/* Reads the next hop: RTA_GATEWAY, or RTA_VIA if it is of another family than the destination. */
static void take_hop(struct nlattr *tb[RTA_MAX + 1], uint8_t family, struct dpa_route *r)
{
	const struct nlattr *gw = tb[RTA_GATEWAY], *via = tb[RTA_VIA];

	r->hop_family = family;
	if (gw && (nla_len(gw) == 4 || nla_len(gw) == 16)) {
		r->hop_len = (uint8_t)nla_len(gw);
		memcpy(r->hop, nla_data(gw), r->hop_len);
	} else if (via && nla_len(via) == (int)sizeof(struct rtvia) + 16) {
		const struct rtvia *v = nla_data(via);

		r->hop_family = (uint8_t)v->rtvia_family;
		r->hop_len = 16;
		memcpy(r->hop, v->rtvia_addr, 16);
	}
}

static void take_route(struct nlmsghdr *h, void *arg)
{
	struct nlattr *tb[RTA_MAX + 1] = {0}, *m[RTAX_MAX + 1] = {0};
	const struct rtmsg *rtm = nlmsg_data(h);
	struct dpa_route *r = arg;

	if (h->nlmsg_type != RTM_NEWROUTE ||
	    nlmsg_parse(h, sizeof(struct rtmsg), tb, RTA_MAX, NULL) < 0 || !tb[RTA_OIF])
		return;
	r->oif = nla_get_u32(tb[RTA_OIF]);
	r->type = rtm->rtm_type;
	take_hop(tb, rtm->rtm_family, r);
	if (tb[RTA_METRICS] && nla_parse_nested(m, RTAX_MAX, tb[RTA_METRICS], NULL) >= 0 &&
	    m[RTAX_MTU])
		r->mtu = nla_get_u32(m[RTAX_MTU]);
}

/* True for link-local addresses, which are valid on their own interface only. */
static bool needs_oif(const uint8_t gid[16])
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

static struct nl_msg *route_question(const uint8_t src[16], const uint8_t dst[16], uint32_t ifindex)
{
	bool v4 = dpa_gid_is_v4(dst);
	int at = v4 ? 12 : 0, n = v4 ? 4 : 16;
	struct rtmsg rtm = {.rtm_family = v4 ? AF_INET : AF_INET6,
			    .rtm_dst_len = (unsigned char)(8 * n),
			    .rtm_src_len = (unsigned char)(8 * n)};
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETROUTE, 0);

	if (msg && nlmsg_append(msg, &rtm, sizeof(rtm), NLMSG_ALIGNTO) >= 0 &&
	    nla_put(msg, RTA_DST, n, dst + at) >= 0 && nla_put(msg, RTA_SRC, n, src + at) >= 0 &&
	    (!needs_oif(dst) || nla_put_u32(msg, RTA_OIF, ifindex) >= 0))
		return msg;
	nlmsg_free(msg);
	return NULL;
}

static uint32_t path_mtu(struct nl_sock *s, const struct dpa_route *r)
{
	struct rtnl_link *link = NULL;
	uint32_t bytes = r->mtu;
	bool lo = false;

	if (rtnl_link_get_kernel(s, (int)r->oif, NULL, &link) == 0) {
		lo = rtnl_link_get_flags(link) & IFF_LOOPBACK;
		if (!bytes || bytes > rtnl_link_get_mtu(link))
			bytes = rtnl_link_get_mtu(link);
		rtnl_link_put(link);
	}
	return lo ? DPA_PORT_MTU_4096 : dpa_port_ib_mtu(bytes ? bytes : 1500);
}

int dpa_route_ask(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16],
		  struct dpa_route *r)
{
	struct dpa_hw_gid gid = {0};
	struct nl_msg *msg;
	int ret, at = dpa_port_find(port, src);

	memset(r, 0, sizeof(*r));
	if (at < 0 && dpa_port_is_own(port, src))
		return ENETUNREACH; /* an SF's derived GID is not an address of an interface */
	if (at < 0 || dpa_port_gid(port, (uint32_t)at, &gid) ||
	    dpa_gid_is_v4(src) != dpa_gid_is_v4(dst))
		return EINVAL;
	if (!port->query)
		port->query = dpa_netlink_open();
	if (!port->query)
		return EOPNOTSUPP;
	msg = route_question(src, dst, gid.ifindex);
	if (!msg)
		return ENOMEM;
	ret = dpa_netlink_ask(&port->query, msg, take_route, r);
	nlmsg_free(msg);
	return ret || r->oif ? ret : EIO;
}

int dpa_route_lookup(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16],
		     uint32_t *oif, uint32_t *mtu)
{
	struct dpa_route r;
	int ret;

	pthread_mutex_lock(&port->lock);
	ret = dpa_route_ask(port, src, dst, &r);
	if (!ret) {
		*oif = r.oif;
		*mtu = path_mtu(port->query, &r);
	}
	pthread_mutex_unlock(&port->lock);
	return ret;
}
