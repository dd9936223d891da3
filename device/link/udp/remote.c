/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* remote.c - remotes: paths to other hosts, and their send sockets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>
#include "pcc/pcc.h"
#include "ctx/hw.h"
#include "port/port.h"
#include "link/kick.h"
#include "util/sys.h"
#include "link/udp/wire.h"

#ifndef IPV6_FLOWINFO_SEND
#define IPV6_FLOWINFO_SEND 33
#endif
#ifndef IPV6_AUTOFLOWLABEL
#define IPV6_AUTOFLOWLABEL 70
#endif

#define SNDBUF	   (4 << 20)
#define FIRST_PORT 49152u /* IANA's dynamic ports, used by RoCEv2 senders */

struct dpa_wire *dpa_wire_get(struct dpa_hw *hw)
{
	struct dpa_wire *w = atomic_load_explicit(&hw->wire, memory_order_acquire), *none = NULL;

	if (w)
		return w;
	if (posix_memalign((void **)&w, DPA_CACHE_LINE, sizeof(*w)))
		return NULL;
	memset(w, 0, sizeof(*w));
	for (int i = 0; i < 2; i++)
		for (uint32_t l = 0; l < DPA_LANES; l++)
			w->tx_fd[i][l] = -1;
	w->probe_fd[0] = w->probe_fd[1] = -1;
	w->rx_buf = mmap(NULL, DPA_WIRE_BUFS * DPA_WIRE_BUF, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (w->rx_buf == MAP_FAILED) {
		free(w);
		return NULL;
	}
	if (!atomic_compare_exchange_strong_explicit(&hw->wire, &none, w, memory_order_acq_rel,
						     memory_order_acquire)) {
		munmap(w->rx_buf, DPA_WIRE_BUFS * DPA_WIRE_BUF);
		free(w);
		return none;
	}
	return w;
}

struct dpa_lane_stat *dpa_wire_rx_stat(struct dpa_hw *hw)
{
	return &hw->wire->rx_stat;
}

void dpa_wire_abandon(struct dpa_hw *hw)
{
	struct dpa_wire *w = hw->wire;

	if (!w)
		return;
	for (int i = 0; i < 2; i++)
		for (uint32_t l = 0; l < DPA_LANES; l++) {
			if (w->tx_fd[i][l] >= 0)
				dpa_sys_close(w->tx_fd[i][l]);
			w->tx_fd[i][l] = -1;
		}
	for (int i = 0; i < 2; i++) {
		if (w->probe_fd[i] >= 0)
			dpa_sys_close(w->probe_fd[i]);
		w->probe_fd[i] = -1;
	}
	for (uint32_t i = 0; i < w->nfrom; i++)
		for (uint32_t l = 0; l < DPA_LANES; l++) {
			if (w->from[i].fd[l] >= 0)
				dpa_sys_close(w->from[i].fd[l]);
			w->from[i].fd[l] = -1;
		}
}

void dpa_wire_fini(struct dpa_hw *hw)
{
	struct dpa_wire *w = hw->wire;

	if (!w)
		return;
	dpa_wire_abandon(hw);
	for (uint32_t i = 0; i < DPA_WIRE_ROOMS; i++)
		free(w->room[i].scratch);
	munmap(w->rx_buf, DPA_WIRE_BUFS * DPA_WIRE_BUF);
	free(w);
	hw->wire = NULL;
}

static int bind_somewhere(int fd, int family, const uint8_t *src, uint32_t scope, uint16_t *port)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} a;
	uint32_t r = 0;

	for (int i = 0; i < 64; i++) {
		if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
			r = r * 1103515245u + 12345u + (uint32_t)dpa_now_ns();
		*port = (uint16_t)(FIRST_PORT + r % (65536u - FIRST_PORT));
		memset(&a, 0, sizeof(a));
		a.sa.sa_family = (sa_family_t)family;
		if (family == AF_INET) {
			a.in.sin_port = htons(*port);
			if (src)
				memcpy(&a.in.sin_addr, src + 12, 4);
		} else {
			a.in6.sin6_port = htons(*port);
			a.in6.sin6_scope_id = scope;
			if (src)
				memcpy(&a.in6.sin6_addr, src, 16);
		}
		if (!dpa_sys_bind(fd, &a.sa, family == AF_INET ? sizeof(a.in) : sizeof(a.in6)))
			return 0;
		if (errno != EADDRINUSE)
			return errno;
	}
	return EADDRINUSE;
}

/*
 * Makes the socket use the flow label of the path, which each destination address carries, and none
 * that the kernel chooses. No lease is needed unless a process has one exclusively (Linux 5.3).
 */
static int show_flow(int fd)
{
	int on = 1, off = 0;

	if (dpa_sys_setsockopt(fd, IPPROTO_IPV6, IPV6_FLOWINFO_SEND, &on, sizeof(on)))
		return -1;
	dpa_sys_setsockopt(fd, IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, &off, sizeof(off));
	return 0;
}

/* IBA CA17-7 */
int dpa_wire_socket(int family, const uint8_t *src, uint32_t scope, uint16_t *port)
{
	int fd = dpa_sys_socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, err;
	int pmtu = family == AF_INET ? IP_PMTUDISC_DO : IPV6_PMTUDISC_DO, size = SNDBUF;

	if (fd < 0)
		return -errno;
	if (family == AF_INET6)
		err = dpa_sys_setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) ||
		      show_flow(fd) ||
		      dpa_sys_setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &pmtu, sizeof(pmtu));
	else
		err = dpa_sys_setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &pmtu, sizeof(pmtu));
	if (err)
		goto fail;
	if (dpa_sys_setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		dpa_sys_setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	errno = bind_somewhere(fd, family, src, scope, port);
	if (!errno)
		return fd;
fail:
	err = errno;
	dpa_sys_close(fd);
	return -err;
}

static int open_tx(struct dpa_wire *w, bool v4, uint32_t lane)
{
	int fd, i = !v4;

	if (atomic_load_explicit(&w->tx_fd[i][lane], memory_order_acquire) >= 0)
		return 0;
	fd = dpa_wire_socket(v4 ? AF_INET : AF_INET6, NULL, 0, &w->tx_port[i][lane]);
	if (fd < 0)
		return -fd;
	atomic_store_explicit(&w->tx_fd[i][lane], fd, memory_order_release);
	return 0;
}

static bool set_socket_path(int fd, bool v4, const struct dpa_roce_net *net)
{
	int tclass = net->tclass, hop = net->hop, lvl = v4 ? IPPROTO_IP : IPPROTO_IPV6;

	return !dpa_sys_setsockopt(fd, lvl, v4 ? IP_TOS : IPV6_TCLASS, &tclass, sizeof(tclass)) &&
	       !dpa_sys_setsockopt(fd, lvl, v4 ? IP_TTL : IPV6_UNICAST_HOPS, &hop, sizeof(hop));
}

/* NULL: the limit is reached, or it failed; the shared sockets are used then. Context: w->lock. */
static struct dpa_wire_from *from_get(struct dpa_wire *w, const struct dpa_roce_net *net,
				      uint32_t ifindex)
{
	const bool v4 = dpa_gid_is_v4(net->src);
	const bool local = net->src[0] == 0xfe && (net->src[1] & 0xc0) == 0x80;
	const uint32_t scope = local ? ifindex : 0;
	struct dpa_wire_from *f;

	for (uint32_t i = 0; i < w->nfrom; i++) {
		f = &w->from[i];
		if (!memcmp(f->src, net->src, 16) && f->scope == scope &&
		    f->tclass == net->tclass && f->hop == net->hop)
			return f;
	}
	if (w->nfrom == DPA_WIRE_FROM)
		return NULL;
	f = &w->from[w->nfrom];
	memcpy(f->src, net->src, 16);
	f->scope = scope;
	f->tclass = net->tclass;
	f->hop = net->hop;
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		f->fd[i] = dpa_wire_socket(v4 ? AF_INET : AF_INET6, f->src, scope, &f->port[i]);
		if (f->fd[i] >= 0 && set_socket_path(f->fd[i], v4, net))
			continue;
		for (uint32_t k = 0; k <= i; k++)
			if (f->fd[k] >= 0)
				dpa_sys_close(f->fd[k]);
		return NULL;
	}
	w->nfrom++;
	return f;
}

/* IBA CA17-1, CA17-20 */
static void set_addr(struct dpa_remote *r, uint32_t scope)
{
	r->v4 = dpa_gid_is_v4(r->net.dst);
	if (r->v4) {
		struct sockaddr_in *a = (struct sockaddr_in *)&r->to;

		a->sin_family = AF_INET;
		a->sin_port = htons(DPA_ROCE_PORT);
		memcpy(&a->sin_addr, r->net.dst + 12, 4);
		r->tolen = sizeof(*a);
	} else {
		struct sockaddr_in6 *a = (struct sockaddr_in6 *)&r->to;

		a->sin6_family = AF_INET6;
		a->sin6_port = htons(DPA_ROCE_PORT);
		a->sin6_flowinfo = htonl(r->net.flow);
		memcpy(&a->sin6_addr, r->net.dst, 16);
		a->sin6_scope_id =
			r->net.dst[0] == 0xfe && (r->net.dst[1] & 0xc0) == 0x80 ? scope : 0;
		r->tolen = sizeof(*a);
	}
}

#define LANES_BYTES (DPA_LANES * sizeof(struct dpa_lane_shm))

/* Sets its path. 0 or errno. */
static int aim_at_path(struct dpa_wire *w, struct dpa_remote *r, const struct dpa_roce_net *net,
		       uint32_t scope)
{
	int err = 0;

	r->net = *net;
	memset(&r->to, 0, sizeof(r->to));
	set_addr(r, scope);
	/* A socket has other hop limits and routes for groups than those that from_get() sets. */
	r->oif = dpa_gid_is_mcast(net->dst) ? scope : 0;
	r->from = r->oif ? NULL : from_get(w, net, scope);
	for (uint32_t i = 0; i < DPA_LANES && !r->from && !err; i++)
		err = open_tx(w, r->v4, i);
	return err;
}

static struct dpa_remote *remote_new(struct dpa_hw *hw, struct dpa_wire *w,
				     const struct dpa_roce_net *net, uint32_t scope)
{
	struct dpa_remote *r;
	struct dpa_peer *p;

	if (posix_memalign((void **)&r, DPA_CACHE_LINE, sizeof(*r))) {
		errno = ENOMEM;
		return NULL;
	}
	memset(r, 0, sizeof(*r));
	p = &r->peer;
	p->hw = hw;
	p->wire = true;
	p->slot = UINT32_MAX;
	p->pidfd = p->sock = p->sock2 = p->wake_fd = p->wait_fd = p->tx_fd = -1;
	errno = aim_at_path(w, r, net, scope);
	if (errno)
		goto fail;
	p->tx_map = mmap(NULL, LANES_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->tx_map == MAP_FAILED)
		goto fail;
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		p->tx[i].shm = (struct dpa_lane_shm *)p->tx_map + i;
		p->tx[i].peer = p;
		atomic_store_explicit(&p->tx[i].shm->pull, 1, memory_order_relaxed);
		atomic_store_explicit(&p->tx[i].shm->lossy, 1, memory_order_relaxed);
	}
	atomic_store_explicit(&p->state, DPA_PEER_UP, memory_order_release);
	dpa_spin_lock(&hw->peer_lock);
	p->next = hw->all_peers;
	hw->all_peers = p;
	dpa_spin_unlock(&hw->peer_lock);
	return r;
fail:
	free(r);
	return NULL;
}

static uint64_t path_key_of(const struct dpa_roce_net *n)
{
	uint64_t h = n->flow, v;

	for (int i = 0; i < 16; i += 8) {
		memcpy(&v, n->dst + i, 8);
		h = (h ^ v) * 0xff51afd7ed558ccdull;
		memcpy(&v, n->src + i, 8);
		h = (h ^ v) * 0xff51afd7ed558ccdull;
		h ^= h >> 29;
	}
	return h;
}

static _Atomic(struct dpa_remote *) *remote_chain(struct dpa_wire *w, uint64_t key)
{
	return &w->remotes[(uint32_t)(key >> 32) % DPA_WIRE_HASH];
}

static bool is_same_net(const struct dpa_roce_net *a, const struct dpa_roce_net *b)
{
	return !memcmp(a->src, b->src, 16) && !memcmp(a->dst, b->dst, 16) &&
	       a->tclass == b->tclass && a->hop == b->hop && a->flow == b->flow;
}

void dpa_remote_drop(struct dpa_peer *remote)
{
	atomic_fetch_sub_explicit(&dpa_remote_of(remote)->users, 1, memory_order_release);
}

/*
 * Finds a remote and takes a hold on it. Without the wire's lock an existing one may be missed: it,
 * or one before it in the list, may be changing its path just now.
 */
static struct dpa_remote *find_remote(struct dpa_wire *w, uint64_t key,
				      const struct dpa_roce_net *net)
{
	struct dpa_remote *r = atomic_load_explicit(remote_chain(w, key), memory_order_acquire);

	for (; r; r = atomic_load_explicit(&r->next, memory_order_acquire)) {
		if (atomic_load_explicit(&r->key, memory_order_relaxed) != key)
			continue;
		if (!(atomic_fetch_add_explicit(&r->users, 1, memory_order_acquire) &
		      DPA_REMOTE_TURNS) &&
		    is_same_net(&r->net, net)) {
			if (!atomic_load_explicit(&r->recent, memory_order_relaxed))
				atomic_store_explicit(&r->recent, true, memory_order_relaxed);
			return r;
		}
		dpa_remote_drop(&r->peer);
	}
	return NULL;
}

static void link_in(struct dpa_wire *w, struct dpa_remote *r, uint64_t key)
{
	_Atomic(struct dpa_remote *) *head = remote_chain(w, key);

	atomic_store_explicit(&r->key, key, memory_order_relaxed);
	atomic_store_explicit(&r->next, atomic_load_explicit(head, memory_order_relaxed),
			      memory_order_release);
	atomic_store_explicit(head, r, memory_order_release);
}

static void unlink_it(struct dpa_wire *w, struct dpa_remote *r)
{
	_Atomic(struct dpa_remote *) *p =
		remote_chain(w, atomic_load_explicit(&r->key, memory_order_relaxed));
	struct dpa_remote *at = atomic_load_explicit(p, memory_order_relaxed);

	while (at != r) {
		p = &at->next;
		at = atomic_load_explicit(p, memory_order_relaxed);
	}
	atomic_store_explicit(p, atomic_load_explicit(&r->next, memory_order_relaxed),
			      memory_order_release);
}

/*
 * Takes a remote without users and gives it this path. Takes the next one that was used once only,
 * or not since the last round. Its rings are empty, because datagrams leave before the hold is
 * dropped; one that a fault delays has a hold of its own. EBUSY: each has a user.
 */
static struct dpa_remote *reuse_remote(struct dpa_wire *w, const struct dpa_roce_net *net,
				       uint32_t scope, uint64_t key)
{
	for (uint32_t i = 0; i < 2 * DPA_WIRE_UD; i++) {
		struct dpa_remote *r = w->ud[w->ud_at++ % DPA_WIRE_UD];
		uint32_t none = 0;

		if (atomic_exchange_explicit(&r->recent, false, memory_order_relaxed) ||
		    !atomic_compare_exchange_strong_explicit(&r->users, &none, DPA_REMOTE_TURNS,
							     memory_order_acquire,
							     memory_order_relaxed))
			continue;
		unlink_it(w, r);
		errno = aim_at_path(w, r, net, scope);
		if (errno) { /* it has no path now: the next caller takes it */
			memset(&r->net, 0, sizeof(r->net));
			key = 0;
		}
		atomic_store_explicit(&r->no_gso, false, memory_order_relaxed);
		atomic_store_explicit(&r->last_err, errno, memory_order_relaxed);
		link_in(w, r, key);
		atomic_fetch_sub_explicit(&r->users, DPA_REMOTE_TURNS, memory_order_release);
		return errno ? NULL : r;
	}
	errno = EBUSY;
	return NULL;
}

/* Takes a hold on it. Context: w->lock. */
static struct dpa_remote *find_or_make(struct dpa_hw *hw, struct dpa_wire *w,
				       const struct dpa_roce_net *net, uint32_t scope, bool stays)
{
	const uint64_t key = path_key_of(net);
	struct dpa_remote *r = find_remote(w, key, net);

	if (r)
		return r;
	if (!stays && w->nud == DPA_WIRE_UD) {
		r = reuse_remote(w, net, scope, key);
	} else {
		r = remote_new(hw, w, net, scope);
		if (r) {
			if (!stays)
				w->ud[w->nud++] = r;
			r->stays = stays;
			link_in(w, r, key);
		}
	}
	if (r)
		atomic_fetch_add_explicit(&r->users, 1, memory_order_acquire);
	return r;
}

static void keep_remote(struct dpa_wire *w, struct dpa_remote *r)
{
	for (uint32_t i = 0; i < w->nud && !r->stays; i++)
		if (w->ud[i] == r) {
			w->ud[i] = w->ud[--w->nud];
			r->stays = true;
		}
}

static struct dpa_peer *get_remote_peer(struct dpa_hw *hw, struct dpa_port *port,
					const struct dpa_wqe_av *av, bool stays)
{
	struct dpa_wire *w = dpa_wire_get(hw);
	struct dpa_roce_net net = {.dport = DPA_ROCE_PORT,
				   .df = true,
				   .hop = av->hop_limit ? av->hop_limit : 64,
				   .tclass = av->traffic_class & 0xfc};
	struct dpa_hw_gid gid;
	struct dpa_remote *r;

	if (!w) {
		errno = ENOMEM;
		return NULL;
	}
	if (dpa_port_gid(port, av->sgid_index, &gid)) {
		errno = EINVAL;
		return NULL;
	}
	if (hw->cfg.congestion != DPA_CFG_CONGESTION_NONE)
		net.tclass |= DPA_ECN_ECT0;
	memcpy(net.src, gid.gid, 16);
	memcpy(net.dst, av->dgid, 16);
	if (!dpa_gid_is_v4(net.dst))
		net.flow = av->flow_label & 0xfffff;
	r = stays ? NULL : find_remote(w, path_key_of(&net), &net);
	if (dpa_likely(r))
		return &r->peer;
	dpa_spin_lock(&w->lock);
	r = find_or_make(hw, w, &net, gid.ifindex, stays);
	if (r && stays)
		keep_remote(w, r);
	dpa_spin_unlock(&w->lock);
	return r ? &r->peer : NULL;
}

struct dpa_peer *dpa_remote_get(struct dpa_hw *hw, struct dpa_port *port,
				const struct dpa_wqe_av *av)
{
	struct dpa_peer *p = get_remote_peer(hw, port, av, true);

	if (p)
		dpa_remote_drop(p);
	return p;
}

struct dpa_peer *dpa_remote_hold(struct dpa_hw *hw, struct dpa_port *port,
				 const struct dpa_wqe_av *av)
{
	return get_remote_peer(hw, port, av, false);
}
