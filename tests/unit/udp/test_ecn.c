/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_ecn.c - the effect of an ECN mark (annex A17.9): the receiver answers it by a CNP that
 * leaves by a real socket, not too often; an incoming CNP slows its QP, and no other one.
 */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/peer.h"
#include "config/knobs.h"
#include "harness.h"
#include "link/inspect.h"
#include "link/udp/wire.h"
#include "pcc/dcqcn.h"

#define PSN0  1000u
#define ROOM  64
#define BURST 16384u /* the least amount that leaves at once: device/pcc/pcc.c */

void dpa_inspect_tx(struct dpa_hw *hw, const struct dpa_frame *f, dpa_inspect_emit_fn *emit,
		    void *arg, _Atomic uint32_t *users)
{
}

/* Two QPs whose peer is on another host, which is a socket of this one. */
struct far {
	struct th *th;
	struct dpa_remote *remote;
	int fd, out;
	struct dpa_frame f;
	struct dpa_roce_pkt k;
	uint8_t buf[ROOM + 4200], data[64];
};

static struct dpa_wire wire;

static int udp_socket(struct sockaddr_in *a)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(*a);

	*a = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)a, sizeof(*a)), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)a, &len), 0);
	return fd;
}

static void make_remote(struct far *d)
{
	struct sockaddr_in own, *to;
	struct dpa_remote *r = NULL;

	memset(&wire, 0, sizeof(wire));
	for (uint32_t i = 0; i < DPA_LANES; i++)
		wire.tx_fd[0][i] = wire.tx_fd[1][i] = -1;
	d->out = udp_socket(&own);
	wire.tx_port[0][0] = ntohs(own.sin_port);
	atomic_store(&wire.tx_fd[0][0], d->out);
	atomic_store(&d->th->hw->wire, &wire);
	cr_assert_eq(posix_memalign((void **)&r, DPA_CACHE_LINE, sizeof(*r)), 0);
	memset(r, 0, sizeof(*r));
	d->remote = r;
	to = (struct sockaddr_in *)&r->to;
	d->fd = udp_socket(to);
	r->tolen = sizeof(*to);
	r->v4 = true;
	r->net = (struct dpa_roce_net){.dport = DPA_ROCE_PORT, .df = true, .hop = 64};
	r->net.src[10] = r->net.src[11] = r->net.dst[10] = r->net.dst[11] = 0xff;
	memcpy(r->net.src + 12, &to->sin_addr, 4);
	memcpy(r->net.dst + 12, &to->sin_addr, 4);
	r->peer.hw = d->th->hw;
	r->peer.wire = true;
	atomic_store(&r->peer.state, DPA_PEER_UP);
	r->peer.tx[0].peer = &r->peer;
	r->peer.tx[0].shm = aligned_alloc(4096, sizeof(struct dpa_lane_shm));
	cr_assert_not_null(r->peer.tx[0].shm);
	memset(r->peer.tx[0].shm, 0, sizeof(struct dpa_lane_shm));
}

/* Let the QP receive from the other host, and answer it. */
static void move_out(struct far *d, struct th_side *s)
{
	s->qp->peer = &d->remote->peer;
	s->qp->tx = &d->remote->peer.tx[0];
}

static void move_back(struct far *d, struct th_side *s)
{
	s->qp->peer = d->th->peer;
	s->qp->tx = &d->th->peer->tx[s->qp->lane];
}

static struct far *far_of(uint32_t type, uint8_t congestion)
{
	struct far *d = calloc(1, sizeof(*d));

	cr_assert_not_null(d);
	d->th = th_new(&(struct th_opt){.type = type,
					.psn = PSN0,
					.retry = 7,
					.timeout = 20,
					.wire = type != DPA_QP_UD,
					.congestion = congestion});
	make_remote(d);
	d->f.net = d->remote->net;
	d->f.net.sport = 50000;
	d->f.ip_known = true;
	d->k = (struct dpa_roce_pkt){.opcode = (type == DPA_QP_UC   ? DPA_BTH_UC
						: type == DPA_QP_UD ? DPA_BTH_UD
								    : DPA_BTH_RC) |
					       DPA_BTH_SEND_ONLY,
				     .mig = true,
				     .pkey = DPA_ROCE_PKEY,
				     .psn = PSN0,
				     .qkey = 0x11111111,
				     .sqpn = 0x123456,
				     .payload = d->data,
				     .len = sizeof(d->data)};
	for (uint32_t i = 0; i < 32; i++) {
		th_recv(&d->th->a, i, 0, 4096);
		th_recv(&d->th->b, i, 0, 4096);
	}
	if (type != DPA_QP_UD)
		move_out(d, &d->th->b);
	return d;
}

static void end(struct far *d)
{
	move_back(d, &d->th->a);
	move_back(d, &d->th->b);
	for (uint32_t i = 0; i < DPA_WIRE_ROOMS; i++)
		free(wire.room[i].scratch);
	close(d->fd);
	close(d->out);
	atomic_store(&d->th->hw->wire, NULL);
	th_free(d->th);
	free(d->remote->peer.tx[0].shm);
	free(d->remote);
	free(d);
}

/* A frame for the QP, with this mark; the QP's answers stay pending. */
static void knock(struct far *d, struct th_side *to, uint8_t tclass)
{
	struct dpa_hw_qp *qp;
	struct dpa_roce_pkt got;

	d->k.dqpn = to->qp->qpn;
	d->f.net.tclass = tclass;
	d->f.p = d->buf + ROOM;
	d->f.n = dpa_roce_encode_all(&d->f.net, &d->k, d->buf + ROOM, sizeof(d->buf) - ROOM);
	cr_assert(d->f.n);
	cr_assert(dpa_frame_check(d->th->hw, &d->f, &got));
	qp = dpa_pkt_deliver(d->th->hw, NULL, NULL, &d->f, &got);
	cr_assert_eq(qp, to->qp);
	dpa_qp_leave(qp);
	d->k.psn++;
}

static void cnp_for(struct far *d, struct th_side *to)
{
	const struct dpa_roce_pkt send = d->k;

	d->k.opcode = DPA_BTH_CNP;
	d->k.becn = true;
	d->k.psn = d->k.len = 0;
	knock(d, to, 0);
	d->k = send;
}

/* Count the CNPs that left: for this QPN and nothing else, complete and correct. */
static uint32_t cnps(struct far *d, uint32_t dqpn)
{
	struct dpa_roce_net net = d->remote->net;
	struct dpa_roce_pkt k;
	uint8_t p[256];
	uint32_t n = 0;
	ssize_t len;

	net.sport = wire.tx_port[0][0];
	for (; (len = recv(d->fd, p, sizeof(p), 0)) > 0; n++) {
		cr_assert_eq(dpa_roce_decode(p, (size_t)len, &k), DPA_ROCE_OK);
		cr_expect_eq(k.opcode, DPA_BTH_CNP, "%02x", k.opcode);
		cr_expect(k.becn);
		cr_expect_not(k.fecn);
		cr_expect_eq(k.dqpn, dqpn, "%06x", k.dqpn);
		cr_expect_eq(len, 12 + 16 + 4, "reserved bytes and ICRC behind the BTH");
		cr_expect(dpa_icrc_ok(&net, p, (size_t)len));
	}
	return n;
}

static void expect_counted(struct far *d, uint64_t marked, uint64_t sent)
{
	cr_expect_eq(th_count(d->th, DPA_CNT_np_ecn_marked_roce_packets), marked);
	cr_expect_eq(th_count(d->th, DPA_CNT_np_cnp_sent), sent);
}

/* --------------------------------------------------------------- receivers */

Test(udp_ecn, a_marked_packet_is_answered_by_a_cnp)
{
	static const uint32_t types[] = {DPA_QP_RC, DPA_QP_UC};

	for (int t = 0; t < 2; t++) {
		struct far *d = far_of(types[t], DPA_CFG_CONGESTION_DCQCN);
		struct dpa_cqe e;

		for (uint8_t ecn = 0; ecn < DPA_ECN_CE; ecn++)
			knock(d, &d->th->b, 0x60 | ecn);
		cr_expect_eq(cnps(d, d->th->a.qp->qpn), 0);
		expect_counted(d, 0, 0);
		knock(d, &d->th->b, 0x60 | DPA_ECN_CE);
		cr_expect_eq(cnps(d, d->th->a.qp->qpn), 1);
		expect_counted(d, 1, 1);
		for (int i = 0; i < 4; i++)
			cr_expect(th_poll(&d->th->b.rcq, &e), "it is taken as any other one");
		end(d);
	}
}

Test(udp_ecn, one_cnp_an_interval_and_flow)
{
	struct far *d = far_of(DPA_QP_RC, DPA_CFG_CONGESTION_DCQCN);
	struct th *th = d->th;
	uint32_t psn;

	for (int i = 0; i < 6; i++)
		knock(d, &th->b, DPA_ECN_CE);
	th_now += DPA_CNP_MIN_GAP - 1;
	knock(d, &th->b, DPA_ECN_CE);
	cr_expect_eq(cnps(d, th->a.qp->qpn), 1);
	expect_counted(d, 7, 1);
	/* another QP does not wait for this one's interval */
	psn = d->k.psn;
	d->k.psn = PSN0;
	move_out(d, &th->a);
	knock(d, &th->a, DPA_ECN_CE);
	cr_expect_eq(cnps(d, th->b.qp->qpn), 1);
	expect_counted(d, 8, 2);
	d->k.psn = psn;
	th_now++;
	knock(d, &th->b, DPA_ECN_CE);
	cr_expect_eq(cnps(d, th->a.qp->qpn), 1);
	expect_counted(d, 9, 3);
	end(d);
}

/* A socket without room: the next marked packet is answered at once. */
Test(udp_ecn, a_cnp_that_did_not_leave_is_pending)
{
	struct far *d = far_of(DPA_QP_RC, DPA_CFG_CONGESTION_DCQCN);

	atomic_store(&wire.tx_fd[0][0], -1);
	knock(d, &d->th->b, DPA_ECN_CE);
	expect_counted(d, 1, 0);
	atomic_store(&wire.tx_fd[0][0], d->out);
	knock(d, &d->th->b, DPA_ECN_CE);
	cr_expect_eq(cnps(d, d->th->a.qp->qpn), 1);
	expect_counted(d, 2, 1);
	end(d);
}

/* Datagrams have no flow that could be slowed: the mark is only counted. */
Test(udp_ecn, marked_datagrams_are_counted)
{
	struct far *d = far_of(DPA_QP_UD, DPA_CFG_CONGESTION_DCQCN);

	knock(d, &d->th->b, DPA_ECN_CE);
	cr_expect_eq(cnps(d, 0), 0);
	expect_counted(d, 1, 0);
	end(d);
}

/* Otherwise two hosts would answer each other for ever. */
Test(udp_ecn, a_marked_cnp_is_not_answered)
{
	struct far *d = far_of(DPA_QP_RC, DPA_CFG_CONGESTION_DCQCN);

	d->k.opcode = DPA_BTH_CNP;
	d->k.len = 0;
	knock(d, &d->th->b, DPA_ECN_CE);
	cr_expect_eq(cnps(d, d->th->a.qp->qpn), 0);
	expect_counted(d, 0, 0);
	cr_expect_eq(th_count(d->th, DPA_CNT_rp_cnp_handled), 1);
	end(d);
}

/* ----------------------------------------------------------------- senders */

#define LEN	 60000u
#define MESSAGES 8u

/* Return the bytes that leave at once for this number of messages. */
static uint32_t at_once(struct th_side *s)
{
	struct th_pkt p;
	uint32_t n = 0;

	for (uint32_t i = 0; i < MESSAGES; i++)
		th_send(s, DPA_OP_RDMA_WRITE, 0, LEN, 0);
	while (th_take(s, &p))
		n += p.s.len;
	return n;
}

/* Receive CNPs at the interval of a receiver. */
static void hear_cnps(struct far *d, struct th_side *s, uint32_t n)
{
	move_out(d, s);
	for (uint32_t i = 0; i < n; i++) {
		cnp_for(d, s);
		th_now += DPA_CNP_MIN_GAP + 1;
	}
	move_back(d, s);
}

static void expect_heard(struct far *d, uint64_t handled, uint64_t ignored)
{
	cr_expect_eq(th_count(d->th, DPA_CNT_rp_cnp_handled), handled);
	cr_expect_eq(th_count(d->th, DPA_CNT_rp_cnp_ignored), ignored);
}

Test(udp_ecn, a_cnp_cuts_the_rate_of_its_qp)
{
	static const uint32_t types[] = {DPA_QP_RC, DPA_QP_UC};

	for (int t = 0; t < 2; t++) {
		struct far *d = far_of(types[t], DPA_CFG_CONGESTION_DCQCN);
		struct dpa_pcc_flow *flow = &d->th->a.qp->pcc;
		uint64_t first;
		uint32_t n;

		cr_expect_eq(flow->rate, DPA_PCC_NO_LIMIT);
		hear_cnps(d, &d->th->a, 1);
		first = flow->rate;
		cr_expect_lt(first, DPA_PCC_NO_LIMIT);
		hear_cnps(d, &d->th->a, 14);
		cr_expect_lt(flow->rate, first / 100);
		expect_heard(d, 15, 0);
		n = at_once(&d->th->a);
		/* a burst that has begun to leave is not cut */
		cr_expect(n && n <= BURST + DPA_GSO_BYTES, "%u", n);
		cr_expect_eq(d->th->b.qp->pcc.rate, DPA_PCC_NO_LIMIT,
			     "the other one's is as it was");
		cr_expect_eq(d->th->a.qp->state, DPA_QPS_RTS);
		end(d);
	}
}

/*
 * Only packets with the addresses of its path slow a QP: with any number of them, some rate is
 * left.
 */
Test(udp_ecn, a_cnp_from_elsewhere_is_dropped)
{
	struct far *d = far_of(DPA_QP_RC, DPA_CFG_CONGESTION_DCQCN);

	d->f.net.src[15] ^= 1;
	hear_cnps(d, &d->th->a, 15);
	expect_heard(d, 0, 0);
	cr_expect_eq(th_count(d->th, DPA_CNT_rx_dropped), 15);
	cr_expect_eq(d->th->a.qp->pcc.rate, DPA_PCC_NO_LIMIT);
	d->f.net.src[15] ^= 1;
	hear_cnps(d, &d->th->a, 1000);
	expect_heard(d, 1000, 0);
	cr_expect_geq(d->th->a.qp->pcc.rate, dpa_pcc_dcqcn_default.rpg_min_rate);
	end(d);
}

Test(udp_ecn, policy_none_ignores_cnps)
{
	struct far *d = far_of(DPA_QP_RC, DPA_CFG_CONGESTION_NONE);

	hear_cnps(d, &d->th->a, 15);
	expect_heard(d, 0, 15);
	cr_expect_eq(d->th->a.qp->pcc.rate, DPA_PCC_NO_LIMIT);
	cr_expect_eq(at_once(&d->th->a), MESSAGES * LEN);
	end(d);
}

/* A CNP does not identify a flow of a QP that has many. */
Test(udp_ecn, datagrams_are_not_slowed)
{
	struct far *d = far_of(DPA_QP_UD, DPA_CFG_CONGESTION_DCQCN);

	for (uint32_t i = 0; i < 15; i++) {
		cnp_for(d, &d->th->a);
		th_now += DPA_CNP_MIN_GAP + 1;
	}
	expect_heard(d, 0, 15);
	cr_expect_eq(d->th->a.qp->pcc.rate, DPA_PCC_NO_LIMIT);
	end(d);
}

/* A QP that does not send has no rate yet, or no rate any more. */
Test(udp_ecn, a_qp_that_does_not_send_ignores_cnps)
{
	struct far *d = far_of(DPA_QP_RC, DPA_CFG_CONGESTION_DCQCN);
	struct dpa_qp_attr a = {.state = DPA_QPS_ERR};

	cr_assert_eq(dpa_hw_modify_qp(d->th->b.qp, &a, DPA_QPM_STATE), 0);
	cnp_for(d, &d->th->b);
	expect_heard(d, 0, 1);
	cr_expect_eq(d->th->b.qp->pcc.rate, DPA_PCC_NO_LIMIT);
	end(d);
}
