/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * bind.c - addresses and ports of ids, and listeners. A port is claimed in the network namespace
 * (dpa_cm_port.h); QP1 records which process of the adapter instance serves it. A wildcard address
 * gives the id no device (rdma_bind_addr(3)).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cma/cma.h"
#include "cma/kernel.h"

#define IP_PS_MASK UINT64_C(0xffffffffffff0000) /* RDMA_IB_IP_PS_MASK */

/* ------------------------------------------------------------------- ports */

static int ports_of(struct cma_channel *ch, struct cma_ports **out)
{
	char path[128];
	int err;

	if (!ch->ports) {
		struct cma_ports *p = calloc(1, sizeof(*p));

		if (!p)
			return ENOMEM;
		err = dpa_cm_ports_path(path, sizeof(path));
		if (!err)
			err = dpa_cm_ports_open(path, &p->ports);
		if (err) {
			free(p);
			return err;
		}
		p->refs = 1; /* reference of the channel */
		ch->ports = p;
	}
	*out = ch->ports;
	return 0;
}

void cma_ports_put(struct cma_ports *ports)
{
	if (!ports || --ports->refs)
		return;
	dpa_cm_ports_close(ports->ports);
	free(ports);
}

/* Reads a file of a few bytes as a number; -1: there is none. */
static long sysctl_of(const char *path)
{
	char text[24] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 ? strtol(text, NULL, 10) : -1;
}

static bool is_link_local_addr(const union cma_addr *a)
{
	const uint8_t *b = a->in6.sin6_addr.s6_addr;

	return a->family == AF_INET6 && b[0] == 0xfe && (b[1] & 0xc0) == 0x80;
}

/* Returns the port space of a service id of AF_IB (cma.c: cma_select_ib_ps()). */
static uint16_t ib_ps_of(struct cma_id *id)
{
	static const uint16_t spaces[] = {RDMA_PS_IB, RDMA_PS_TCP, RDMA_PS_UDP};
	uint64_t sid = be64toh(id->src.ib.sid), mask = be64toh(id->src.ib.sid_mask) & IP_PS_MASK;

	sid &= mask;
	for (int i = 0; i < 3; i++)
		if ((id->ps == RDMA_PS_IB || id->ps == spaces[i]) &&
		    sid == ((uint64_t)spaces[i] << 16 & mask))
			return spaces[i];
	return 0;
}

static void set_service(struct cma_id *id, uint16_t ps)
{
	uint64_t sid = (uint64_t)ps << 16 | id->claim.port;

	id->service_id = sid;
	if (id->src.family == CMA_AF_IB) {
		id->src.ib.sid = htobe64(sid);
		id->src.ib.sid_mask = htobe64(UINT64_MAX);
	}
}

/* Writes the address of id->src in the form of a claim. */
static void claimed_addr(const struct cma_id *id, uint8_t addr[16], uint32_t *scope)
{
	cma_addr_gid(&id->src, addr);
	if (id->src.family == AF_INET)
		memset(addr, 0, 12);
	*scope = is_link_local_addr(&id->src) ? id->src.in6.sin6_scope_id : 0;
}

static int claim_id_port(struct cma_id *id)
{
	uint16_t ps = (uint16_t)id->ps;
	struct dpa_cm_claim *c = &id->claim;
	struct cma_ports *ports;
	int err;

	if (id->src.family == CMA_AF_IB) {
		ps = ib_ps_of(id);
		if (!ps)
			return EPROTONOSUPPORT;
	}
	err = ports_of(id->channel, &ports);
	if (err)
		return err;
	memset(c, 0, sizeof(*c));
	c->ps = ps;
	c->port = cma_addr_port(&id->src);
	c->v6 = id->src.family != AF_INET;
	c->afonly = id->src.family == AF_INET || id->afonly;
	c->reuse = id->reuse;
	if (!cma_addr_is_any(&id->src))
		claimed_addr(id, c->addr, &c->scope);
	err = dpa_cm_port_claim(ports->ports, c);
	if (err)
		return err;
	ports->refs++;
	id->ports = ports;
	cma_addr_set_port(&id->src, c->port);
	set_service(id, ps);
	return 0;
}

void cma_claim_source(struct cma_id *id)
{
	uint8_t addr[16];
	uint32_t scope;

	if (!id->ports)
		return;
	claimed_addr(id, addr, &scope);
	/* If no lock is available the claim stays that of the wildcard. */
	(void)dpa_cm_port_narrow(id->ports->ports, &id->claim, addr, scope);
}

void cma_unbind(struct cma_id *id)
{
	struct cma_id **p = &cma.listeners;

	while (*p && *p != id)
		p = &(*p)->next_listener;
	if (*p)
		*p = id->next_listener;
	if (id->served && cma.gsi)
		dpa_hw_gsi_unlisten(cma.gsi, id->service);
	id->served = false;
	if (!id->ports)
		return;
	if (!cma.owner) /* otherwise the open file, and so the claim, belongs to the parent, too */
		dpa_cm_port_release(id->ports->ports, &id->claim);
	cma_ports_put(id->ports);
	id->ports = NULL;
}

/* -------------------------------------------------------------------- bind */

int cma_take_device(struct cma_id *id)
{
	struct dpa_hw_route r;
	uint8_t gid[16];
	int err = cma_engine_start();

	if (err)
		return err;
	cma_addr_gid(&id->src, gid);
	err = dpa_hw_route(cma.ctx, gid, gid, &r);
	if (err)
		return err;
	id->sgid_index = r.sgid_index;
	id->has_device = true;
	return 0;
}

/*
 * A loopback address with a GID is handled like any other. Without a GID (gid_order = no_loopback)
 * it gets no device, as always in the kernel's cma.
 */
static int check_addr(struct cma_id *id)
{
	int err;

	if (is_link_local_addr(&id->src) && !id->src.in6.sin6_scope_id)
		return EINVAL;
	if (cma_addr_is_any(&id->src))
		return 0;
	if (id->src.family == CMA_AF_IB) /* names a port of InfiniBand; RESOLVE refuses it, too */
		return ENODEV;
	err = cma_take_device(id);
	return err == ENODEV && cma_addr_is_loopback(&id->src) ? 0 : err;
}

int cma_bind_to(struct cma_id *id, const union cma_addr *a)
{
	int err;

	if (id->state != CMA_IDLE)
		return EINVAL;
	if (!cma_addr_len(a))
		return EAFNOSUPPORT;
	id->src = *a;
	if (!id->afonly_set)
		id->afonly =
			a->family == AF_INET ||
			(a->family == AF_INET6 && sysctl_of("/proc/sys/net/ipv6/bindv6only") == 1);
	err = check_addr(id);
	if (!err)
		err = claim_id_port(id);
	if (err) {
		id->has_device = false;
		memset(&id->src, 0, sizeof(id->src));
		return err;
	}
	cma_id_enter(id, CMA_BOUND);
	return 0;
}

int cma_bind_any(struct cma_id *id, sa_family_t family)
{
	union cma_addr any = {.family = family};

	return cma_bind_to(id, &any);
}

int cma_bind(struct cma_channel *ch, uint32_t num, const union cma_addr *a)
{
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find(ch, num, &id);
	if (!err)
		err = id->side == CMA_SIDE_BOTH ? cma_kernel_bind(id, a) : cma_bind_to(id, a);
	cma_unlock();
	return err;
}

/* ------------------------------------------------------------------ listen */

static int serve_id(struct cma_id *id)
{
	struct dpa_gsi_service s = {.service_id = id->service_id};
	int err;

	if (!cma_addr_is_any(&id->src))
		cma_addr_gid(&id->src, s.addr);
	s.v4 = id->src.family == AF_INET || !id->afonly;
	s.v6 = id->src.family != AF_INET;
	err = dpa_hw_gsi_listen(cma.gsi, &s, &id->service);
	id->served = !err;
	return err;
}

/*
 * Returns the kernel's limit if its module is loaded. 0 and values beyond the limit mean the limit.
 */
static uint32_t backlog_of(uint32_t wanted)
{
	const long most = sysctl_of("/proc/sys/net/rdma_ucm/max_backlog");
	const uint32_t limit = most > 0 && most < UINT16_MAX ? (uint32_t)most : CMA_BACKLOG;

	return wanted && wanted <= limit ? wanted : limit;
}

int cma_listen_on(struct cma_id *id, uint32_t backlog)
{
	int err = 0;

	if (id->state == CMA_IDLE)
		err = cma_bind_any(id, AF_INET);
	if (!err && id->state != CMA_BOUND)
		return EINVAL;
	if (!err) /* also shows other users' adapter instances that there is a listener */
		err = dpa_cm_port_listen(id->ports->ports, &id->claim);
	if (!err)
		err = cma_engine_start();
	if (err)
		return err;
	id->backlog = backlog_of(backlog);
	id->next_listener = cma.listeners;
	cma.listeners = id;
	err = serve_id(id);
	if (err) {
		cma.listeners = id->next_listener;
		return err;
	}
	cma_id_enter(id, CMA_LISTEN);
	cma_early_look(true);
	return 0;
}

int cma_listen(struct cma_channel *ch, uint32_t num, uint32_t backlog)
{
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find(ch, num, &id);
	if (!err)
		err = id->side == CMA_SIDE_BOTH ? cma_kernel_listen(id, backlog)
						: cma_listen_on(id, backlog);
	cma_unlock();
	return err;
}

void cma_listeners_serve(void)
{
	for (struct cma_id *id = cma.listeners; id; id = id->next_listener)
		(void)serve_id(id); /* ENOMEM: it gets no requests until it listens again */
}

/* 0: not this one; 1: a wildcard; 2: exactly this address. */
static int claim_fits(const struct cma_id *id, uint64_t service_id, const struct dpa_cm_ip *ip)
{
	uint8_t gid[16];

	if (service_id != id->service_id)
		return 0;
	if (cma_addr_is_any(&id->src)) {
		if (!ip)
			return 1;
		if (ip->ip_version == 4)
			return id->src.family == AF_INET || !id->afonly;
		return id->src.family != AF_INET;
	}
	if (!ip)
		return 0;
	cma_addr_gid(&id->src, gid);
	if (ip->ip_version == 4) /* an IPv4 address is in the last bytes of a GID */
		return id->src.family == AF_INET && !memcmp(gid + 12, ip->dst + 12, 4) ? 2 : 0;
	return !memcmp(gid, ip->dst, 16) ? 2 : 0;
}

struct cma_id *cma_listener_of(uint64_t service_id, const struct dpa_cm_ip *ip)
{
	struct cma_id *best = NULL;
	int fit, most = 0;

	for (struct cma_id *id = cma.listeners; id; id = id->next_listener) {
		fit = claim_fits(id, service_id, ip);
		if (fit > most) {
			most = fit;
			best = id;
		}
	}
	return best;
}
