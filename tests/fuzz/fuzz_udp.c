/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fuzz_udp.c - the whole receive path: datagrams from port 4791, as udp/rx.c takes them, with
 * several packets joined in one as by the kernel (GRO), through dpa_frame_check(), to QPs whose
 * peer is on another host (qps.h). Fields that would stop a packet at once are corrected here, with
 * the ICRC.
 *
 * Input: a byte for the QPs (enum fuzz_kind), then packets: a byte (enum fuzz_how), length (13 bits
 * of 16) with enum fuzz_gram, bytes. FLUSH delivers the datagrams so far to dpa_udp_rx(). Without
 * bytes: fuzz_more().
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define dpa_udp_rx   fuzz_udp_rx
#define dpa_wire_get fuzz_wire_get
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/peer.h"
#include "qps.h"
static long take(int fd, struct msghdr *h, int flags);
#define syscall(nr, fd, h, flags) take(fd, h, flags)
#include "device/link/udp/rx.c"
#undef syscall

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum fuzz_gram {
	LENGTH = 0x1fff,
	ENDS = 1 << 13,	    /* the next packet is not joined to this one */
	AS_IT_IS = 1 << 14, /* nothing is corrected */
	MARKED = 1 << 15,   /* ECN's CE, and another datagram */
};

#define GRAMS	 16u
#define GRAM_MAX 16384u

/* A datagram on its way, of segments of `seg` bytes, the last one perhaps shorter. */
struct gram {
	uint32_t len, seg;
	bool whole;
	uint8_t tclass;
	uint16_t sport;
	uint8_t p[GRAM_MAX];
};

static struct gram grams[GRAMS];
static uint32_t ngrams, next_gram;
static struct dpa_wire wire;
static struct dpa_remote remote;
static struct dpa_roce_net from; /* headers of a packet to this side */

struct dpa_wire *fuzz_wire_get(struct dpa_hw *hw)
{
	return &wire;
}

bool dpa_udp_probe(struct dpa_hw *hw, const uint8_t *p, uint32_t n)
{
	return false;
}

struct dpa_hw_qp *dpa_group_deliver(struct dpa_hw *hw, struct dpa_hw_qp *cur,
				    const struct dpa_frame *f, const struct dpa_roce_pkt *pkt)
{
	return cur;
}

void dpa_inspect(struct dpa_hw *hw, enum dpa_inspect_at at, const struct dpa_frame *f,
		 dpa_inspect_emit_fn *emit, void *arg)
{
	abort(); /* no code requests it */
}

static void put_cmsg(struct msghdr *h, size_t *at, int level, int type, const void *v, size_t n)
{
	struct cmsghdr *c = (struct cmsghdr *)((uint8_t *)h->msg_control + *at);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(c), v, n);
	*at += CMSG_SPACE(n);
}

/* The recvmsg() of a dual-stack socket with all options of dpa_udp_open(). */
static long take(int fd, struct msghdr *h, int flags)
{
	const struct gram *g = &grams[next_gram];
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(g->sport)};
	struct in6_pktinfo to = {.ipi6_ifindex = 1};
	size_t at = 0;
	int v;

	if (next_gram == ngrams) {
		errno = EAGAIN;
		return -1;
	}
	next_gram++;
	memcpy(h->msg_iov->iov_base, g->p, g->len);
	memcpy(&a.sin6_addr, from.src, 16);
	memcpy(h->msg_name, &a, sizeof(a));
	memcpy(&to.ipi6_addr, from.dst, 16);
	put_cmsg(h, &at, IPPROTO_IPV6, IPV6_PKTINFO, &to, sizeof(to));
	v = g->tclass;
	put_cmsg(h, &at, IPPROTO_IPV6, IPV6_TCLASS, &v, sizeof(v));
	v = (int)g->seg;
	if (g->len > g->seg)
		put_cmsg(h, &at, IPPROTO_UDP, UDP_GRO, &v, sizeof(v));
	h->msg_controllen = at;
	return g->len;
}

/* The QPs' peer: a path to another host, over the rings of the harness. */
static void go_remote(struct fuzz *f)
{
	struct th *th = f->th;
	struct dpa_peer *p = &remote.peer;

	memset(&remote, 0, sizeof(remote));
	fuzz_net(f, &from);
	remote.net = from;
	memcpy(remote.net.src, from.dst, 16);
	memcpy(remote.net.dst, from.src, 16);
	p->hw = th->hw;
	p->wire = true;
	p->door = &th->door;
	p->export = th->hw->export;
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		p->tx[i].shm = &th->lanes[i];
		p->tx[i].peer = p->rx[i].peer = p;
		atomic_store(&p->rx[i].shm, &th->lanes[i]);
	}
	atomic_store(&p->state, DPA_PEER_UP);
	for (int i = 0; i < 2; i++) {
		f->qp[i]->peer = p;
		f->qp[i]->tx = NULL;
	}
	th->b.qp->peer = p;
	th->b.qp->tx = NULL;
	atomic_store(&th->hw->udp->fd, 0); /* no code uses it in a system call */
	atomic_store(&th->hw->wire, &wire);
}

static void look(struct fuzz *f)
{
	while (next_gram < ngrams)
		fuzz_udp_rx(f->th->hw);
	ngrams = next_gram = 0;
	f->ahead[0] = f->ahead[1] = 0;
	th_drop_all(&f->th->a);
	th_drop_all(&f->th->b);
}

/* Add a packet: to the last datagram if the kernel could have joined them. */
static void add(struct fuzz *f, uint8_t how, uint32_t gram, const uint8_t *p, size_t n)
{
	static uint8_t bytes[DPA_ROCE_MAX_HDR + DPA_ROCE_MAX_MTU + 8];
	struct gram *g = ngrams ? &grams[ngrams - 1] : NULL;
	struct dpa_roce_net net = from;
	uint32_t len = 0;

	net.ip_id = g && !g->whole ? (uint16_t)(g->len / g->seg) : 0;
	net.tclass = gram & MARKED ? 3 : 0;
	net.sport = (uint16_t)(from.sport + ((how & (RIGHT_KEY | ELSEWHERE)) == ELSEWHERE));
	if (!(gram & AS_IT_IS))
		len = fuzz_put_right(f, how, &net, p, n, bytes, sizeof(bytes));
	if (!len) {
		len = n < sizeof(bytes) ? (uint32_t)n : (uint32_t)sizeof(bytes);
		memcpy(bytes, p, len);
	}
	if (!g || g->whole || len > g->seg || g->len + len > GRAM_MAX || g->tclass != net.tclass ||
	    g->sport != net.sport) {
		if (ngrams == GRAMS)
			look(f);
		g = &grams[ngrams++];
		g->len = 0;
		g->seg = len;
		g->tclass = net.tclass;
		g->sport = net.sport;
	}
	memcpy(g->p + g->len, bytes, len);
	g->len += len;
	g->whole = len < g->seg || gram & ENDS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f;
	size_t at = 1;

	if (size < 4)
		return 0;
	if (!wire.rx_buf)
		wire.rx_buf = malloc(DPA_WIRE_BUFS * (size_t)DPA_WIRE_BUF);
	if (!wire.rx_buf)
		abort();
	ngrams = next_gram = 0;
	fuzz_begin(&f, data[0] | KIND_WIRE);
	go_remote(&f);
	fuzz_work(&f);
	while (size - at >= 3) {
		uint32_t gram = data[at + 1] | (uint32_t)data[at + 2] << 8;
		uint8_t how = data[at];
		size_t n = gram & LENGTH;

		at += 3;
		if (n > size - at)
			n = size - at;
		if (n)
			add(&f, how, gram, data + at, n);
		else
			fuzz_more(&f, how);
		at += n;
		if (!n || how & FLUSH)
			look(&f);
		if (!(how & NO_TICK))
			th_tick(f.th);
	}
	look(&f);
	atomic_store(&f.th->hw->udp->fd, -1);
	fuzz_end(&f);
	return 0;
}
