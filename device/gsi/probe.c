/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * probe.c - checks whether UDP port 4791 of another host is open, by the ICMP answers of that host.
 * It uses sockets of its own. On the sockets of the data path an ICMP message would make the next
 * send fail, and any host can send such messages.
 */
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <time.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include "port/port.h"
#include "util/sys.h"
#include "gsi/endpoint.h"
#include "link/udp/wire.h"

#define AT_TID (12 + 8 + 8) /* in the UDP payload: BTH, DETH, MAD header */
#define TRIES  4	    /* of one send: the error of an earlier probe makes it fail */
#define SCAN   64	    /* ICMP messages that one call reads */

static void make_mad(uint64_t tid, uint8_t mad[DPA_MAD_BYTES])
{
	const struct dpa_mad m = {.attr = DPA_CM_DREP, .tid = tid}; /* both ids are 0 */

	(void)dpa_mad_encode(&m, mad);
}

/*
 * Makes the socket receive ICMP messages, and nothing else: unread datagrams would fill the buffer
 * that both share. The filter drops datagrams; ICMP messages do not pass it.
 */
static int errors_only(int fd, bool v4)
{
	struct sock_filter drop = {.code = BPF_RET | BPF_K, .k = 0};
	const struct sock_fprog prog = {.len = 1, .filter = &drop};
	const int on = 1;

	if (dpa_sys_setsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_RECVERR : IPV6_RECVERR,
			       &on, sizeof(on)) ||
	    dpa_sys_setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)))
		return errno;
	return 0;
}

/* Return the probe socket of the family, or -errno. */
static int probe_socket_of(struct dpa_wire *w, bool v4)
{
	int err, fd = w->probe_fd[!v4];

	if (fd >= 0)
		return fd;
	fd = dpa_wire_socket(v4 ? AF_INET : AF_INET6, NULL, 0, &w->probe_port[!v4]);
	if (fd < 0)
		return fd;
	err = errors_only(fd, v4);
	if (err) {
		dpa_sys_close(fd);
		return -err;
	}
	w->probe_fd[!v4] = fd;
	return fd;
}

union address {
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Set destination and source address. h->msg_control has room for a struct in6_pktinfo. */
static void probe_address(const struct dpa_gsi_addr *to, uint32_t ifindex, bool v4,
			  union address *a, struct msghdr *h)
{
	struct cmsghdr *c = h->msg_control;

	memset(a, 0, sizeof(*a));
	h->msg_name = a;
	if (v4) {
		struct in_pktinfo pi = {0};

		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(DPA_ROCE_PORT);
		memcpy(&a->in.sin_addr, to->dgid + 12, 4);
		memcpy(&pi.ipi_spec_dst, to->sgid + 12, 4);
		h->msg_namelen = sizeof(a->in);
		h->msg_controllen = CMSG_SPACE(sizeof(pi));
		*c = (struct cmsghdr){CMSG_LEN(sizeof(pi)), IPPROTO_IP, IP_PKTINFO};
		memcpy(CMSG_DATA(c), &pi, sizeof(pi));
	} else {
		struct in6_pktinfo pi = {0};

		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons(DPA_ROCE_PORT);
		memcpy(&a->in6.sin6_addr, to->dgid, 16);
		if (IN6_IS_ADDR_LINKLOCAL(&a->in6.sin6_addr))
			a->in6.sin6_scope_id = pi.ipi6_ifindex = ifindex;
		memcpy(&pi.ipi6_addr, to->sgid, 16);
		h->msg_namelen = sizeof(a->in6);
		h->msg_controllen = CMSG_SPACE(sizeof(pi));
		*c = (struct cmsghdr){CMSG_LEN(sizeof(pi)), IPPROTO_IPV6, IPV6_PKTINFO};
		memcpy(CMSG_DATA(c), &pi, sizeof(pi));
	}
}

/* A pending ICMP error makes a send fail once. The error queue keeps the message. */
static int send_it(int fd, const struct msghdr *h)
{
	int rc = 0;

	for (int i = 0; i < TRIES; i++) {
		rc = dpa_sys_sendmsg(fd, h, MSG_DONTWAIT) < 0 ? errno : 0;
		if (rc != ECONNREFUSED && rc != EHOSTUNREACH)
			break;
	}
	return rc;
}

int dpa_hw_gsi_probe(struct dpa_hw_gsi *g, const struct dpa_gsi_addr *to, uint64_t tid)
{
	uint8_t ctl[CMSG_SPACE(sizeof(struct in6_pktinfo))] __attribute__((aligned(8))) = {0};
	uint8_t mad[DPA_MAD_BYTES], room[DPA_GSI_FRAME];
	const bool v4 = dpa_gid_is_v4(to->dgid);
	struct iovec iov;
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl};
	struct dpa_hw_gid gid;
	struct dpa_wire *w;
	struct dpa_frame f;
	union address a;
	int fd, index;

	if (!dpa_gsi_alive(g))
		return EIO;
	index = dpa_port_find(g->ctx->port, to->sgid);
	if (index < 0 || dpa_port_gid(g->ctx->port, (uint32_t)index, &gid) ||
	    dpa_gid_is_v4(to->sgid) != v4)
		return EINVAL;
	w = dpa_wire_get(g->hw);
	fd = w ? probe_socket_of(w, v4) : -ENOMEM;
	if (fd < 0)
		return -fd;
	make_mad(tid, mad);
	dpa_gsi_frame(to, to->sgid, to->dgid, w->probe_port[!v4], mad, room, &f);
	iov = (struct iovec){(void *)(uintptr_t)f.p, f.n};
	probe_address(to, gid.ifindex, v4, &a, &h);
	return send_it(fd, &h);
}

static bool is_port_unreachable(const struct sock_extended_err *e)
{
	return (e->ee_origin == SO_EE_ORIGIN_ICMP && e->ee_type == ICMP_DEST_UNREACH &&
		e->ee_code == ICMP_PORT_UNREACH) ||
	       (e->ee_origin == SO_EE_ORIGIN_ICMP6 && e->ee_type == ICMP6_DST_UNREACH &&
		e->ee_code == ICMP6_DST_UNREACH_NOPORT);
}

static bool is_unreachable_msg(struct msghdr *h)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		struct sock_extended_err e;

		if (!((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
		      (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR)) ||
		    c->cmsg_len < CMSG_LEN(sizeof(e)))
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		if (is_port_unreachable(&e))
			return true;
	}
	return false;
}

static void gid_of_address(const union address *a, uint8_t gid[16])
{
	if (a->in.sin_family == AF_INET6) {
		memcpy(gid, &a->in6.sin6_addr, 16);
		return;
	}
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, &a->in.sin_addr, 4);
}

/* Read one ICMP message. *good: it counts, and *dgid and *tid are set. False: there is none. */
static bool read_one(int fd, uint8_t dgid[16], uint64_t *tid, bool *good)
{
	uint8_t ctl[256] __attribute__((aligned(8))), p[AT_TID + 8];
	struct iovec iov = {p, sizeof(p)};
	union address a = {0};
	struct msghdr h = {.msg_name = &a,
			   .msg_namelen = sizeof(a),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = ctl,
			   .msg_controllen = sizeof(ctl)};
	ssize_t n = dpa_sys_recvmsg(fd, &h, MSG_ERRQUEUE | MSG_DONTWAIT);

	if (n < 0)
		return false;
	*good = n == sizeof(p) && is_unreachable_msg(&h); /* some routers quote only 8 bytes */
	if (*good) {
		gid_of_address(&a, dgid);
		*tid = 0;
		for (int i = 0; i < 8; i++)
			*tid = *tid << 8 | p[AT_TID + i];
	}
	return true;
}

bool dpa_hw_gsi_refused(struct dpa_hw_gsi *g, uint8_t dgid[16], uint64_t *tid)
{
	struct dpa_wire *w = dpa_gsi_alive(g) ? dpa_wire_get(g->hw) : NULL;

	for (int v6 = 0; w && v6 < 2; v6++) {
		bool good = false;

		for (int i = 0; i < SCAN && w->probe_fd[v6] >= 0; i++) {
			if (!read_one(w->probe_fd[v6], dgid, tid, &good))
				break;
			if (good)
				return true;
		}
	}
	return false;
}
