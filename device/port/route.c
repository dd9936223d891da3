/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* route.c - the way to another host, as the kernel would send it now. */
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

struct answer {
	int err; /* errno; what the kernel said */
	bool got, done;
	uint32_t oif, mtu; /* mtu: of the route, bytes; 0: that of the interface */
};

static int on_route(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[RTA_MAX + 1] = {0}, *m[RTAX_MAX + 1] = {0};
	struct answer *a = arg;

	if (nlmsg_hdr(msg)->nlmsg_type != RTM_NEWROUTE ||
	    nlmsg_parse(nlmsg_hdr(msg), sizeof(struct rtmsg), tb, RTA_MAX, NULL) < 0 ||
	    !tb[RTA_OIF])
		return NL_SKIP;
	a->got = true;
	a->oif = nla_get_u32(tb[RTA_OIF]);
	if (tb[RTA_METRICS] && nla_parse_nested(m, RTAX_MAX, tb[RTA_METRICS], NULL) >= 0 &&
	    m[RTAX_MTU])
		a->mtu = nla_get_u32(m[RTAX_MTU]);
	return NL_OK;
}

static int route_on_ack(struct nl_msg *msg, void *arg)
{
	(void)msg;
	((struct answer *)arg)->done = true;
	return NL_STOP;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct answer *a = arg;

	(void)from;
	a->err = e->error < 0 ? -e->error : 0;
	a->done = true;
	return NL_STOP;
}

/* Link-local addresses mean something on their own interface only. */
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

/* Under port->lock: one question at a time. */
static int ask_route(struct nl_sock *s, struct nl_msg *msg, struct answer *a)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int ret;

	if (!cb)
		return ENOMEM;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_route, a);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, route_on_ack, a);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, a);
	ret = nl_send_auto(s, msg);
	while (ret >= 0 && !a->done)
		ret = nl_recvmsgs(s, cb);
	nl_cb_put(cb);
	if (a->err)
		return a->err;
	return a->got ? 0 : EIO;
}

static uint32_t path_mtu(struct nl_sock *s, const struct answer *a)
{
	struct rtnl_link *link = NULL;
	uint32_t bytes = a->mtu;
	bool lo = false;

	if (rtnl_link_get_kernel(s, (int)a->oif, NULL, &link) == 0) {
		lo = rtnl_link_get_flags(link) & IFF_LOOPBACK;
		if (!bytes || bytes > rtnl_link_get_mtu(link))
			bytes = rtnl_link_get_mtu(link);
		rtnl_link_put(link);
	}
	return lo ? DPA_PORT_MTU_4096 : dpa_port_ib_mtu(bytes ? bytes : 1500);
}

int dpa_route_lookup(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16],
		     uint32_t *oif, uint32_t *mtu)
{
	struct dpa_hw_gid gid = {0};
	struct answer a = {0};
	struct nl_msg *msg;
	int ret, at = dpa_port_find(port, src);

	if (at < 0 && dpa_port_is_own(port, src))
		return ENETUNREACH; /* an SF's derived GID is no address of an interface */
	if (at < 0 || dpa_port_gid(port, (uint32_t)at, &gid) ||
	    dpa_gid_is_v4(src) != dpa_gid_is_v4(dst))
		return EINVAL;
	msg = route_question(src, dst, gid.ifindex);
	if (!msg)
		return ENOMEM;
	pthread_mutex_lock(&port->lock);
	ret = port->query ? ask_route(port->query, msg, &a) : EOPNOTSUPP;
	if (!ret)
		*mtu = path_mtu(port->query, &a);
	pthread_mutex_unlock(&port->lock);
	nlmsg_free(msg);
	if (!ret)
		*oif = a.oif;
	return ret;
}
