/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_flush.c - the result for a QP when the socket does not take its packets. (dpa_wire_flush is
 * named wire_flush here, because the harness has a stand-in of that name.)
 */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "link/lane.h"
#include "harness.h"
#include "link/inspect.h"
#include "link/udp/wire.h"

void dpa_inspect_tx(struct dpa_hw *hw, const struct dpa_frame *f, dpa_inspect_emit_fn *emit,
		    void *arg, _Atomic uint32_t *users)
{
}

/* The fault link, which here only loses packets: every third one. */
static uint32_t asked;

bool dpa_inspect_only_drops(struct dpa_hw *hw)
{
	return true;
}

bool dpa_inspect_drops(struct dpa_hw *hw, const uint8_t *p, uint32_t n)
{
	cr_assert_eq((uint32_t)p[9] << 16 | (uint32_t)p[10] << 8 | p[11], asked, "its PSN");
	cr_assert_eq(n, 12 + 1024 + 4);
	return asked++ % 3 == 1;
}

#define SRC 0x12

/* A remote whose sockets accept nothing. */
static struct dpa_remote *remote(struct th *th)
{
	struct dpa_remote *r = NULL;
	static struct dpa_wire w;

	for (uint32_t i = 0; i < DPA_LANES; i++)
		w.tx_fd[0][i] = w.tx_fd[1][i] = -1;
	atomic_store(&th->hw->wire, &w);
	cr_assert_eq(posix_memalign((void **)&r, DPA_CACHE_LINE, sizeof(*r)), 0);
	memset(r, 0, sizeof(*r));
	r->peer.hw = th->hw;
	r->peer.wire = true;
	r->v4 = true;
	r->net.src[10] = r->net.src[11] = r->net.dst[10] = r->net.dst[11] = 0xff;
	r->peer.tx[0].peer = &r->peer;
	r->peer.tx[0].shm = aligned_alloc(4096, sizeof(struct dpa_lane_shm));
	memset(r->peer.tx[0].shm, 0, sizeof(struct dpa_lane_shm));
	return r;
}

static void put(struct dpa_remote *r, uint8_t opcode, uint32_t psn, uint32_t len)
{
	uint8_t *data;
	struct dpa_slot *s = dpa_lane_reserve(&r->peer.tx[0], len, &data);

	cr_assert_not_null(s);
	s->opcode = opcode;
	s->flags = dpa_pkt_mtu_flags(1024);
	s->src = SRC;
	s->dqpn = 0x020011;
	s->psn = psn;
	s->len = len;
	dpa_lane_publish(&r->peer.tx[0], s);
}

static void end(struct th *th, struct dpa_remote *r)
{
	for (uint32_t i = 0; i < DPA_WIRE_ROOMS; i++) {
		free(th->hw->wire->room[i].scratch);
		th->hw->wire->room[i].scratch = NULL;
	}
	free(r->peer.tx[0].shm);
	free(r);
	atomic_store(&th->hw->wire, NULL);
	th_free(th);
}

/* A QP moved back to a PSN of its peer, or of a QP of another kind on the same ring. */
Test(udp_flush, only_requests_name_the_psn_to_go_on_from)
{
	static const uint8_t foreign[] = {DPA_BTH_ACK, DPA_BTH_ATOMIC_ACK, DPA_BTH_READ_RESP_LAST,
					  DPA_BTH_UD | DPA_BTH_SEND_ONLY, DPA_BTH_CNP};
	struct th *th = th_new(&(struct th_opt){0});
	struct dpa_remote *r = remote(th);
	uint32_t psn;

	for (uint32_t i = 0; i < sizeof(foreign); i++) {
		put(r, foreign[i], 0x123456, 0);
		psn = 0;
		cr_expect_eq(wire_flush(&r->peer.tx[0], SRC, &psn), 1);
		cr_expect_eq(psn, DPA_WIRE_NO_PSN, "%02x: %06x", foreign[i], psn);
		put(r, foreign[i], 0x123456, 0);
		put(r, DPA_BTH_SEND_ONLY, 7, 100);
		put(r, DPA_BTH_SEND_ONLY, 8, 100);
		cr_expect_eq(wire_flush(&r->peer.tx[0], SRC, &psn), 3);
		cr_expect_eq(psn, 7, "%02x: %06x", foreign[i], psn);
		/* a packet of another QP, which waited in the ring for more packets */
		put(r, DPA_BTH_SEND_ONLY, 9, 100);
		cr_expect_eq(wire_flush(&r->peer.tx[0], SRC + 1, &psn), 1);
		cr_expect_eq(psn, DPA_WIRE_NO_PSN);
	}
	end(th, r);
}

/* Open a socket of this host that receives the packets of the remote's ring 0. */
static int listen_for(struct th *th, struct dpa_remote *r)
{
	struct sockaddr_in *to = (struct sockaddr_in *)&r->to;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), room = 1 << 20;

	cr_assert_geq(fd, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	*to = (struct sockaddr_in){.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	r->tolen = sizeof(*to);
	cr_assert_eq(bind(fd, (struct sockaddr *)to, r->tolen), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)to, &r->tolen), 0);
	r->net.hop = 64;
	memcpy(r->net.src + 12, &to->sin_addr, 4);
	memcpy(r->net.dst + 12, &to->sin_addr, 4);
	th->hw->wire->tx_fd[0][0] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_assert_geq(th->hw->wire->tx_fd[0][0], 0);
	return fd;
}

#define MESSAGE (64u * 1024)

static const uint8_t *lossy; /* the message, of which every third packet is lost; NULL: no loss */

/* Take the present packets: each packet of the message once, in order; *n were taken before. */
static void take(int fd, uint8_t *got, uint32_t *n)
{
	static uint8_t buf[2048];
	struct dpa_roce_pkt k;
	ssize_t len;

	while ((len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		cr_assert_eq(dpa_roce_decode(buf, (size_t)len, &k), DPA_ROCE_OK);
		if (lossy && *n % 3 == 1) { /* as if it had arrived */
			memcpy(got + *n * 1024, lossy + *n * 1024, 1024);
			++*n;
		}
		cr_assert_eq(k.psn, *n, "packet %u, not %u", k.psn, *n);
		cr_assert_leq((*n + 1) * 1024, MESSAGE);
		cr_assert_eq(k.len, 1024);
		memcpy(got + (*n)++ * 1024, k.payload, k.len);
	}
}

static void expect_message(int fd)
{
	static uint8_t got[MESSAGE];
	uint32_t n = 0;

	take(fd, got, &n);
	cr_expect_eq(n, MESSAGE / 1024);
	cr_expect(th_check(got, MESSAGE, 5));
}

/* Put the message from this packet on, as its QP writes it. */
static void put_from(struct th *th, struct dpa_remote *r, uint32_t psn)
{
	struct dpa_tx *tx = &r->peer.tx[0];

	for (uint32_t at = psn * 1024, n; at < MESSAGE; at += n) {
		struct dpa_slot *s = &tx->shm->slots[tx->head % DPA_LANE_SLOTS];

		n = MESSAGE - at < DPA_LANE_MTU ? MESSAGE - at : DPA_LANE_MTU;
		put(r, DPA_BTH_SEND_MIDDLE, at / 1024, n);
		memcpy(tx->shm->data + (size_t)(s->data % DPA_LANE_UNITS) * 64, th->a.mem + at, n);
	}
}

/*
 * For any amount that leaves at once: in the middle of an entry, too; and with individual losses.
 */
Test(udp_flush, pieces_make_the_same_packets)
{
	static const uint32_t pieces[] = {0, 1, 3000, 9000, DPA_WIRE_PIECE};
	struct th *th = th_new(&(struct th_opt){0});
	struct dpa_remote *r = remote(th);
	struct dpa_tx *tx = &r->peer.tx[0];
	int fd = listen_for(th, r);
	uint32_t psn;

	th_fill(th->a.mem, MESSAGE, 5);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		for (int k = 0; k < 2; k++) {
			lossy = k ? th->a.mem : NULL;
			atomic_store(&th->hw->inspect, (uint32_t)k);
			asked = 0;
			put_from(th, r, 0);
			tx->piece = pieces[i];
			cr_assert_eq(wire_flush(tx, SRC, &psn), 0);
			cr_expect_eq(asked, k ? MESSAGE / 1024 : 0u);
			expect_message(fd);
		}
		lossy = NULL;
		atomic_store(&th->hw->inspect, 0);
	}
	close(fd);
	close(th->hw->wire->tx_fd[0][0]);
	end(th, r);
}

/* An ACK after the last segment of a message leaves with it, and no second one does. */
Test(udp_flush, an_ack_goes_with_the_last_segment)
{
	static uint8_t buf[MESSAGE];
	struct th *th = th_new(&(struct th_opt){0});
	struct dpa_remote *r = remote(th);
	struct dpa_tx *tx = &r->peer.tx[0];
	const ssize_t packet = 12 + 1024 + 4, ack = 12 + 4 + 4;
	int fd = listen_for(th, r), on = 1;
	uint32_t psn;

	if (setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on))) {
		close(fd);
		cr_skip_test("the kernel joins no datagrams");
	}
	put(r, DPA_BTH_SEND_ONLY, 0, 4 * 1024);
	put(r, DPA_BTH_ACK, 7, 0);
	put(r, DPA_BTH_ACK, 9, 0);
	tx->piece = 4 * 1024;
	cr_assert_eq(wire_flush(tx, SRC, &psn), 0);
	cr_expect_eq(recv(fd, buf, sizeof(buf), MSG_DONTWAIT), 4 * packet + ack);
	cr_expect_eq(recv(fd, buf, sizeof(buf), MSG_DONTWAIT), ack);
	cr_expect_lt(recv(fd, buf, sizeof(buf), MSG_DONTWAIT), 0);
	close(fd);
	close(th->hw->wire->tx_fd[0][0]);
	end(th, r);
}

#ifndef __SANITIZE_THREAD__ /* which would rightly report a race */
static atomic_bool done;

/* The ICRC covers the bytes that leave, even if a thread writes to the memory meanwhile. */
static void *scribble(void *arg)
{
	struct th *th = arg;

	for (uint32_t i = 0; !atomic_load(&done); i++)
		memset(th->a.mem, (int)i, MESSAGE);
	return NULL;
}

Test(udp_flush, memory_may_change_while_it_is_sent)
{
	static uint8_t buf[2048];
	struct th *th = th_new(&(struct th_opt){0});
	struct dpa_remote *r = remote(th);
	struct dpa_tx *tx = &r->peer.tx[0];
	struct dpa_roce_net net;
	int fd = listen_for(th, r);
	struct dpa_slot *s;
	struct dpa_pull *p;
	pthread_t other;
	uint32_t psn;
	ssize_t n;

	atomic_store(&done, false);
	cr_assert_eq(pthread_create(&other, NULL, scribble, th), 0);
	for (uint32_t i = 0; i < 500; i++) {
		uint8_t *data;

		s = dpa_lane_reserve(tx, sizeof(*p), &data);
		cr_assert_not_null(s);
		s->opcode = DPA_BTH_SEND_ONLY;
		s->flags = dpa_pkt_mtu_flags(1024) | DPA_PKT_PULL;
		s->src = SRC;
		s->dqpn = 0x020011;
		s->psn = i;
		s->len = 16 * 1024;
		p = (struct dpa_pull *)data;
		p->niov = 1;
		p->iov[0].addr = (uintptr_t)th->a.mem;
		p->iov[0].len = s->len;
		dpa_lane_publish(tx, s);
		cr_assert_eq(wire_flush(tx, SRC, &psn), 0);
		net = r->net;
		net.sport = dpa_remote_port(r, 0);
		cr_assert_eq(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 10000), 1);
		for (net.ip_id = 0; (n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0; net.ip_id++)
			cr_assert(dpa_icrc_ok(&net, buf, (size_t)n), "packet %u of %u", net.ip_id,
				  i);
		cr_assert_gt(net.ip_id, 0);
	}
	atomic_store(&done, true);
	pthread_join(other, NULL);
	close(fd);
	close(th->hw->wire->tx_fd[0][0]);
	end(th, r);
}
#endif

/*
 * A socket that accepts a few packets until its peer reads them. (A UDP socket is full while its
 * device is slow, and no device here is.) The QP gets the first packet that did not leave, in the
 * middle of an entry, too, and nothing of it is left in the ring.
 */
Test(udp_flush, a_full_socket_returns_where_to_go_on)
{
	static uint8_t got[MESSAGE];
	struct th *th = th_new(&(struct th_opt){0});
	struct dpa_remote *r = remote(th);
	uint32_t n = 0, inside = 0, psn = 0;
	int sv[2], room = 8192;

	th_fill(th->a.mem, MESSAGE, 5);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sv), 0);
	th->hw->wire->tx_fd[0][0] = sv[0];
	r->no_gso = true;
	while (n < MESSAGE / 1024) {
		uint32_t before = n, lost;

		cr_assert_eq(setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
		room += 1000;
		put_from(th, r, n);
		lost = wire_flush(&r->peer.tx[0], SRC, &psn);
		cr_expect_eq(r->peer.tx[0].head, r->peer.tx[0].tail);
		take(sv[1], got, &n);
		cr_assert_gt(n, before, "nothing left");
		cr_assert_eq(lost == 0, n == MESSAGE / 1024, "%u lost, %u came", lost, n);
		cr_assert(!lost || psn == n, "goes on at %u, %u came", psn, n);
		inside += lost && n % (DPA_LANE_MTU / 1024);
	}
	cr_expect_gt(inside, 1);
	cr_expect_gt(th_count(th, DPA_CNT_tx_dropped), 0);
	cr_expect(th_check(got, MESSAGE, 5));
	close(sv[0]);
	close(sv[1]);
	end(th, r);
}

/* ------------------------------------------------------------- the DSCP of probes and answers */

/* The traffic class of the next datagram that arrived, and its bytes. */
static int tclass_of_next(int fd, ssize_t *n)
{
	uint8_t bytes[2048], ctl[64];
	struct iovec iov = {bytes, sizeof(bytes)};
	struct msghdr h = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = ctl,
			   .msg_controllen = sizeof(ctl)};
	struct pollfd p = {.fd = fd, .events = POLLIN};

	cr_assert_eq(poll(&p, 1, 10000), 1);
	*n = recvmsg(fd, &h, 0);
	cr_assert_gt(*n, 0);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c; c = CMSG_NXTHDR(&h, c))
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
			return *CMSG_DATA(c);
	return -1;
}

static void put_probe(struct dpa_remote *r, uint8_t opcode, uint32_t dscp)
{
	uint8_t *data;
	struct dpa_slot *s = dpa_lane_reserve(&r->peer.tx[0], 0, &data);

	cr_assert_not_null(s);
	memset(s->ext, 0, sizeof(s->ext));
	((struct dpa_ext *)s->ext)->dscp = dscp;
	s->opcode = opcode;
	s->flags = dpa_pkt_mtu_flags(1024) | DPA_PKT_INSLOT;
	s->src = SRC;
	s->dqpn = 0x020011;
	s->psn = 5;
	s->len = 0;
	dpa_lane_publish(&r->peer.tx[0], s);
}

/* Two probes have the same size: they leave in one datagram unless their classes differ. */
static void expect_classes(struct dpa_remote *r, int fd)
{
	static const struct {
		uint8_t opcode;
		uint32_t dscp;
		int tclass;
	} c[] = {{DPA_BTH_PROBE, 0, 0x22},
		 {DPA_BTH_PROBE, 47, 46 << 2 | 2},
		 {DPA_BTH_PROBED, 1, 0 << 2 | 2},
		 {DPA_BTH_PROBED, 64, 63 << 2 | 2},
		 {DPA_BTH_CNP, 47, 0x22}};
	uint32_t psn;
	ssize_t n;

	for (uint32_t i = 0; i < sizeof(c) / sizeof(*c); i++)
		put_probe(r, c[i].opcode, c[i].dscp);
	cr_assert_eq(wire_flush(&r->peer.tx[0], SRC, &psn), 0);
	for (uint32_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		int tclass = tclass_of_next(fd, &n);

		cr_expect_eq(tclass, c[i].tclass, "%u: %02x, not %02x", i, (unsigned)tclass,
			     (unsigned)c[i].tclass);
	}
}

Test(udp_flush, a_probe_may_have_a_dscp_of_its_own)
{
	struct th *th = th_new(&(struct th_opt){0});
	struct dpa_remote *r = remote(th);
	int fd = listen_for(th, r), on = 1, tos = 0x22, ttl = 64;
	struct dpa_wire_from from = {.fd = {-1}};

	cr_assert_eq(setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on)), 0);
	r->net.tclass = 0x22;
	expect_classes(r, fd);
	/* a socket that has the class of the path set */
	from.fd[0] = th->hw->wire->tx_fd[0][0];
	cr_assert_eq(setsockopt(from.fd[0], IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), 0);
	cr_assert_eq(setsockopt(from.fd[0], IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl)), 0);
	r->from = &from;
	expect_classes(r, fd);
	close(from.fd[0]);
	close(fd);
	end(th, r);
}
