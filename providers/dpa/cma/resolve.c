/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * resolve.c - RESOLVE_ADDR and RESOLVE_ROUTE. The kernel's tables are read at once, so that the
 * event is queued before the call returns. A packet is sent only if the next hop has no known link
 * address (neighbour.c).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include "cma/cma.h"
#include "cma/kernel.h"

#define LIFE_TIME 18 /* CMA_IBOE_PACKET_LIFETIME, 4.096 us * 2^n: about a second */
#define HOPS	  64

/* No address means that of the loopback interface, as in the kernel. */
static void any_is_loopback(union cma_addr *a)
{
	if (!cma_addr_is_any(a))
		return;
	if (a->family == AF_INET)
		a->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else if (a->family == AF_INET6)
		a->in6.sin6_addr = (struct in6_addr)IN6ADDR_LOOPBACK_INIT;
}

/* Takes the id's own address and keeps its port. */
static int take_source(struct cma_id *id)
{
	union cma_addr src, any = {.family = 0};
	uint16_t port = cma_addr_port(&id->src);
	int err;

	if (cma_addr_is_any(&id->src)) {
		err = cma_addr_source(&id->dst, &src);
		if (err)
			return err;
		if (id->src.family == AF_INET6 && src.family != AF_INET6)
			return EAFNOSUPPORT;
		cma_addr_set_port(&src, port);
		any = id->src;
		id->src = src;
	}
	err = cma_take_device(id);
	if (err && any.family)
		id->src = any;
	else if (any.family)
		cma_claim_source(id);
	return err;
}

/*
 * True for an address of this host that is in no GID table, for example 127.0.0.2: no port can
 * answer from it. The kernel looks up the device of the address, and finds none.
 */
static bool without_gid(const union cma_addr *a)
{
	struct dpa_hw_route r;
	uint8_t gid[16];

	cma_addr_gid(a, gid);
	return dpa_hw_route(cma.ctx, gid, gid, &r) == ENODEV;
}

static int resolve_id(struct cma_id *id, const union cma_addr *src, const union cma_addr *dst,
		      uint32_t timeout_ms)
{
	union cma_addr any = {.family = dst->family};
	int err = 0;

	if (!cma_addr_len(dst))
		return EAFNOSUPPORT;
	if (dst->family == CMA_AF_IB)
		return ENODEV; /* as on any RoCE device: its GIDs are IP addresses */
	if (id->state == CMA_IDLE) {
		const union cma_addr *from = src && src->family ? src : &any;

		if (from->family != dst->family)
			return EINVAL;
		err = cma_bind_to(id, from);
	}
	if (err)
		return err;
	if (id->state != CMA_BOUND)
		return EINVAL;
	if (id->src.family != dst->family)
		return EINVAL;
	id->dst = *dst;
	any_is_loopback(&id->dst);
	err = take_source(id);
	if (!err && without_gid(&id->dst))
		err = ENODEV;
	if (err == EADDRNOTAVAIL || err == ENODEV) {	/* no device has the address */
		cma_event(id, CMA_ADDR_ERROR, -ENODEV); /* it may be tried again */
		return 0;
	}
	if (!err && cma_asked(CMA_ADDR_ERROR)) {
		cma_event(id, CMA_ADDR_ERROR, -ETIMEDOUT);
		return 0;
	}
	if (err || cma_neighbour_wait(id, timeout_ms))
		return err;
	cma_id_enter(id, CMA_ADDR_DONE);
	cma_event(id, CMA_ADDR_RESOLVED, 0);
	return 0;
}

int cma_resolve_addr(struct cma_channel *ch, uint32_t num, const union cma_addr *src,
		     const union cma_addr *dst, uint32_t timeout_ms)
{
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find(ch, num, &id);
	if (!err && id->side == CMA_SIDE_BOTH && cma_kernel_resolves(id, src, dst)) {
		err = cma_kernel_resolve(id, src, dst, timeout_ms);
	} else if (!err) {
		err = resolve_id(id, src, dst, timeout_ms);
		if (id->side == CMA_SIDE_BOTH && id->has_device)
			cma_kernel_drop(id);
	}
	cma_unlock();
	return err;
}

/* ------------------------------------------------------------------- route */

/*
 * cma_get_roce_flow_label(): the label that the program set in an IPv6 address, else computed from
 * the ports.
 */
static uint32_t flow_label(const struct cma_id *id)
{
	uint32_t label = 0, sport = cma_addr_port(&id->src), dport = cma_addr_port(&id->dst);

	if (id->dst.family == AF_INET6)
		label = ntohl(id->dst.in6.sin6_flowinfo) & 0xfffff;
	return label ? label : (sport * 31 + dport) & 0xfffff;
}

static int make_roce_path(struct cma_id *id)
{
	struct dpav_cm_path *p = &id->path;
	struct dpa_hw_route r;
	int err;

	memset(p, 0, sizeof(*p));
	cma_addr_gid(&id->src, p->sgid);
	cma_addr_gid(&id->dst, p->dgid);
	err = dpa_hw_route(cma.ctx, p->sgid, p->dgid, &r);
	if (err)
		return err;
	p->flow_label = flow_label(id);
	p->pkey = 0xffff;
	p->port = 1;
	p->sgid_index = (uint8_t)r.sgid_index;
	p->hop_limit = HOPS;
	p->traffic_class = id->tos_set ? id->tos : 0;
	p->mtu = r.mtu;
	p->life_time = LIFE_TIME;
	if (id->timeout_set && id->ack_timeout)
		p->life_time = (uint8_t)(id->ack_timeout - 1);
	return 0;
}

int cma_resolve_route(struct cma_channel *ch, uint32_t num)
{
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find_bound(ch, num, &id);
	if (!err && id->state != CMA_ADDR_DONE)
		err = EINVAL;
	if (!err)
		err = cma_engine_start(); /* again, in a forked child */
	if (!err && (make_roce_path(id) || cma_asked(CMA_ROUTE_ERROR))) {
		cma_event(id, CMA_ROUTE_ERROR, -ENETUNREACH);
	} else if (!err) {
		cma_id_enter(id, CMA_ROUTE_DONE);
		cma_event(id, CMA_ROUTE_RESOLVED, 0);
	}
	cma_unlock();
	return err;
}

/*
 * RDMA_OPTION_IB_PATH: the program has the path, for example from ib_acm, and calls this instead of
 * RESOLVE_ROUTE.
 */
int cma_set_path(struct cma_channel *ch, uint32_t num, const struct ib_path_rec_data *rec,
		 uint32_t n)
{
	const uint32_t good = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	const struct ib_path_rec_data *found = NULL;
	struct cma_id *id;
	int err;

	for (uint32_t i = 0; i < n && !found; i++)
		if (rec[i].flags == good)
			found = &rec[i];
	if (!found)
		return EINVAL;
	cma_lock();
	err = cma_find_bound(ch, num, &id);
	if (!err && id->state != CMA_ADDR_DONE)
		err = EINVAL;
	if (!err)
		err = cma_engine_start();
	if (!err)
		err = make_roce_path(id); /* the addresses of a RoCE path are those of the id */
	if (!err) {
		cma_id_enter(id, CMA_ROUTE_DONE);
		cma_event(id, CMA_ROUTE_RESOLVED, 0);
	}
	cma_unlock();
	return err;
}

int cma_resolve_ib_service(struct cma_channel *ch, uint32_t num)
{
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find(ch, num, &id);
	if (!err)
		err = id->state == CMA_ADDR_DONE ? EOPNOTSUPP : EINVAL;
	cma_unlock();
	return err;
}
