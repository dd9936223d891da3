/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_identification.c - a UDP socket does not show the IPv4 identification that the ICRC covers.
 * For a peer whose packets counted from 0 in each call later packets must do so, too; packets of
 * other hosts do not affect it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "util/lock.h"
#include "wire/opcode.h"
#include "harness.h"
#include "link/udp/wire.h"

#define SURE 16u

static const uint8_t from[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
static const uint8_t to[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};

struct sender {
	struct th *th;
	struct dpa_wire *wire;
	struct dpa_remote far; /* source of the packets */
	uint32_t psn;	       /* of the next packet in order */
};

static void set_up(struct sender *s)
{
	memset(s, 0, sizeof(*s));
	s->far.peer.wire = true;
	memcpy(s->far.net.dst, from, 16);
	memcpy(s->far.net.src, to, 16);
	s->th = th_new(&(struct th_opt){0});
	cr_assert_eq(posix_memalign((void **)&s->wire, DPA_CACHE_LINE, sizeof(*s->wire)), 0);
	memset(s->wire, 0, sizeof(*s->wire));
	atomic_store(&s->th->hw->wire, s->wire);
}

static void tear_down(struct sender *s)
{
	atomic_store(&s->th->hw->wire, NULL);
	free(s->wire);
	th_free(s->th);
}

/* A packet that was sent with this identification. */
struct made {
	struct dpa_frame f;
	uint8_t bytes[128];
};

static void make_from(struct sender *s, const uint8_t src[16], uint16_t sport, uint32_t psn,
		      uint16_t id, struct made *m)
{
	struct dpa_roce_pkt k = {.opcode = DPA_BTH_SEND_ONLY,
				 .mig = true,
				 .pkey = DPA_ROCE_PKEY,
				 .dqpn = s->th->b.qp->qpn,
				 .psn = psn};

	m->f = (struct dpa_frame){.p = m->bytes,
				  .sure = true,
				  .net = {.sport = sport,
					  .dport = DPA_ROCE_PORT,
					  .df = true,
					  .hop = 64,
					  .ip_id = id}};
	memcpy(m->f.net.src, src, 16);
	memcpy(m->f.net.dst, to, 16);
	m->f.n = dpa_roce_encode_all(&m->f.net, &k, m->bytes, sizeof(m->bytes));
	cr_assert(m->f.n);
	m->f.net.ip_id = 0; /* the socket does not show it */
}

static void make(struct sender *s, uint16_t id, struct made *m)
{
	make_from(s, from, 50000, 7, id, m);
}

/* Frames of an entry from a ring are handled here as well; the entry is counted with its ring. */
Test(udp_identification, packets_counted_with_their_ring_are_not_counted_again)
{
	struct dpa_frame f;
	struct sender s;
	struct made m;

	set_up(&s);
	make(&s, 0, &m);
	for (uint32_t i = 0; i < 3; i++) {
		f = m.f;
		dpa_frame_in(s.th->hw, s.th->peer, &f, false);
	}
	cr_expect_eq(s.wire->rx_stat.packets, 0);
	s.th->b.qp->peer = &s.far.peer;
	f = m.f;
	dpa_frame_in(s.th->hw, NULL, &f, false);
	cr_expect_eq(s.wire->rx_stat.packets, 1);
	s.th->b.qp->peer = NULL;
	tear_down(&s);
}

static void arrive(struct sender *s, const uint8_t src[16], uint16_t sport, uint32_t psn,
		   uint16_t id)
{
	struct dpa_frame f;
	struct made m;

	make_from(s, src, sport, psn, id, &m);
	f = m.f;
	dpa_frame_in(s->th->hw, NULL, &f, false);
}

/* Send the next packet of the peer; return whether the QP took it. */
static bool taken(struct sender *s, uint16_t id)
{
	cr_assert(th_recv(&s->th->b, s->psn, 0, 64));
	arrive(s, from, 50000, s->psn, id);
	if (s->th->b.qp->resp.epsn != s->psn + 1)
		return false;
	s->psn++;
	return true;
}

static void set_up_peer(struct sender *s)
{
	set_up(s);
	s->th->b.qp->peer = &s->far.peer;
}

static void tear_down_peer(struct sender *s)
{
	s->th->b.qp->peer = NULL;
	tear_down(s);
}

static uint64_t refused(struct sender *s)
{
	return th_count(s->th, DPA_CNT_rx_icrc_encapsulated);
}

Test(udp_identification, a_sender_that_counts_from_0_must_go_on)
{
	struct sender s;

	set_up_peer(&s);
	cr_expect(taken(&s, 4711), "nothing is known of it");
	for (uint32_t i = 0; i < SURE; i++)
		cr_expect(taken(&s, 0));
	cr_expect_not(taken(&s, 4711), "one corrupted packet of 65,536 would look like this");
	cr_expect_eq(refused(&s), 1);
	cr_expect(taken(&s, 4711), "it comes again: it is not corrupted");
	cr_expect(taken(&s, 4712));
	cr_expect_eq(refused(&s), 1);
	tear_down_peer(&s);
}

/*
 * It was decided by a hash of addresses: of two hosts with one hash one made the other's packets
 * invalid. Here the peer's identifications are random, as those of a hardware port.
 */
Test(udp_identification, a_neighbour_changes_nothing)
{
	uint8_t other[16];
	uint64_t seed = 1;
	struct sender s;

	set_up_peer(&s);
	memcpy(other, from, 16);
	for (uint32_t i = 0; i < 20; i++) {
		for (uint32_t last = 1; last < 255;
		     last++) { /* the peer's own address among them */
			other[14] = (uint8_t)i;
			other[15] = (uint8_t)last;
			arrive(&s, other, 50001, 1u << 20, 0);
		}
		cr_expect(taken(&s, (uint16_t)(th_rand(&seed) | 256)), "packet %u", i);
	}
	cr_expect_eq(refused(&s), 0);
	tear_down_peer(&s);
}

/* Another user of the peer's host: packets that the QP does not take in order prove nothing. */
Test(udp_identification, what_is_not_taken_in_order_shows_nothing)
{
	struct sender s;

	set_up_peer(&s);
	for (uint32_t i = 0; i < 4; i++)
		cr_expect(taken(&s, 1000));
	for (uint32_t i = 0; i < 10 * SURE; i++)
		arrive(&s, from, 50001, s.psn + 500, 0); /* from elsewhere */
	cr_expect(taken(&s, 2000));
	for (uint32_t i = 0; i < 10 * SURE; i++)
		arrive(&s, from, 50000, 0, 0); /* a duplicate */
	cr_expect(taken(&s, 2000));
	for (uint32_t i = 0; i < 10 * SURE; i++)
		arrive(&s, from, 50000, s.psn + 5, 0); /* queued, the first time */
	cr_expect(taken(&s, 2000));
	cr_expect_eq(refused(&s), 0);
	tear_down_peer(&s);
}

/* Another port is another sender, which may behave differently. */
Test(udp_identification, of_another_port_nothing_is_known)
{
	struct sender s;

	set_up_peer(&s);
	for (uint32_t i = 0; i < 2 * SURE; i++)
		cr_expect(taken(&s, 0));
	cr_assert(th_recv(&s.th->b, 99, 0, 64));
	arrive(&s, from, 50001, s.psn, 4711);
	cr_expect_eq(s.th->b.qp->resp.epsn, ++s.psn);
	cr_expect(taken(&s, 4711));
	cr_expect_eq(refused(&s), 0);
	tear_down_peer(&s);
}

/* The segments of one call: the kernel counts them from 0, and may show them one by one. */
Test(udp_identification, pieces_of_one_call)
{
	struct sender s;

	set_up_peer(&s);
	for (uint32_t i = 0; i < 64 * SURE; i++)
		cr_expect(taken(&s, (uint16_t)(i % 64)), "piece %u", i % 64);
	cr_expect_not(taken(&s, 64));
	tear_down_peer(&s);
}

/* A sender that counts its packets passes 0 to 63, too. */
Test(udp_identification, a_sender_that_counts_on_need_not_begin_at_0)
{
	struct sender s;

	set_up_peer(&s);
	for (uint32_t i = 0; i < 200; i++)
		cr_expect(taken(&s, (uint16_t)(65500 + i)), "packet %u", i);
	cr_expect_eq(refused(&s), 0);
	tear_down_peer(&s);
}

/* A process that forwards a packet has computed it; it does not count as one from 0 there. */
Test(udp_identification, a_packet_that_was_passed_on)
{
	struct sender s;

	set_up_peer(&s);
	for (uint32_t i = 0; i < 2 * SURE; i++) {
		struct dpa_frame f;
		struct made m;

		cr_assert(th_recv(&s.th->b, i, 0, 64));
		make_from(&s, from, 50000, s.psn, 4711, &m);
		f = m.f;
		f.net.ip_id = 4711;
		dpa_frame_in(s.th->hw, NULL, &f, false);
		cr_expect_eq(s.th->b.qp->resp.epsn, ++s.psn);
	}
	cr_expect(taken(&s, 4712));
	cr_expect_eq(refused(&s), 0);
	tear_down_peer(&s);
}
