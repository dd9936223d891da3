/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_ahead.c - packets out of order. A forged packet took the place of the real one, a thousand
 * PSNs in advance: the application read the attacker's bytes, and the real sender got success.
 */
#include "ctx/qp.h"
#include "link/lane.h"
#include "door.h"

#define PORT  50000u /* of the peer */
#define OTHER 50001u /* of another user on the peer's host: a port can be bound once */
#define AHEAD 1024u  /* distance up to which packets are queued */

static uint32_t kept(const struct door *d)
{
	return d->th->b.qp->ooo.n;
}

static uint64_t count(const struct door *d, enum dpa_counter c)
{
	return th_count(d->th, c);
}

/* A SEND of 100 bytes of this value. */
static void packet(struct door *d, uint32_t sport, uint32_t n, uint8_t value)
{
	memset(d->data, value, 100);
	d->f.net.sport = (uint16_t)sport;
	d->k.psn = PSN0 + n;
	d->k.len = 100;
	knock(d, 0);
}

static void expect_received(struct door *d, uint64_t wr_id, uint8_t value)
{
	struct dpa_cqe e;

	cr_assert(th_poll(&d->th->b.rcq, &e), "receive %lu", (unsigned long)wr_id);
	cr_expect_eq(e.wr_id, wr_id);
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect_eq(d->th->b.mem[(wr_id - 1) * 4096], value, "receive %lu has the bytes of %u",
		     (unsigned long)wr_id, d->th->b.mem[(wr_id - 1) * 4096]);
}

/* An attacker could choose 1,024 PSNs at a time: 16,384 datagrams hit every connection. */
/* IBA 9.7.4 (expected) */
Test(security_ahead, packets_from_elsewhere_are_not_queued)
{
	struct door *d = door_of(DPA_QP_RC);

	packet(d, PORT, 0, 1);
	expect_received(d, 1, 1);
	for (uint32_t n = 2; n <= AHEAD + 2; n++)
		packet(d, OTHER, n, 66);
	cr_expect_eq(kept(d), 0);
	cr_expect_eq(count(d, DPA_CNT_ahead_from_elsewhere), AHEAD);
	cr_expect_eq(d->th->b.qp->resp.ack_syndrome, DPA_AETH_NAK | DPA_NAK_PSN_SEQ);
	cr_expect_eq(d->th->b.qp->resp.ack_psn, PSN0 + 1);
	packet(d, PORT, 1, 2);
	expect_received(d, 2, 2);
	th_recv(&d->th->b, 3, 8192, 4096);
	packet(d, PORT, 2, 3);
	expect_received(d, 3, 3);
	close_door(d);
}

static bool asks_for(struct door *d, uint32_t n)
{
	struct dpa_resp *r = &d->th->b.qp->resp;
	bool asks = r->ack_owed && r->ack_syndrome == (DPA_AETH_NAK | DPA_NAK_PSN_SEQ) &&
		    r->ack_psn == PSN0 + n;

	r->ack_owed = false; /* it is sent */
	return asks;
}

/*
 * There is one NAK for each gap. A stranger's packet used it up: when a packet was lost afterwards
 * the peer detected it only by its timers.
 */
/* IBA 9.7.5 (one-nak) */
Test(security_ahead, a_stranger_uses_up_no_nak)
{
	struct door *d = door_of(DPA_QP_RC);

	packet(d, PORT, 0, 1);
	d->th->b.qp->resp.ack_owed = false;
	packet(d, OTHER, 5, 66);
	cr_expect(asks_for(d, 1));
	packet(d, OTHER, 6, 66);
	cr_expect_not(asks_for(d, 1), "once");
	packet(d, PORT, 2, 3);
	cr_expect(asks_for(d, 1), "this one is the peer's");
	packet(d, PORT, 3, 4);
	packet(d, OTHER, 7, 66);
	packet(d, PORT, 4, 5);
	cr_expect_not(asks_for(d, 1), "once");
	close_door(d);
}

/*
 * Packets of the peer itself are queued as before: their port is that of the last packet in order.
 */
Test(security_ahead, packets_of_the_peer_are_queued)
{
	struct door *d = door_of(DPA_QP_RC);

	th_recv(&d->th->b, 3, 8192, 4096);
	packet(d, PORT, 0, 1);
	packet(d, PORT, 2, 3);
	cr_expect_eq(kept(d), 1);
	packet(d, PORT, 1, 2);
	for (uint8_t i = 1; i <= 3; i++)
		expect_received(d, i, i);
	cr_expect_eq(count(d, DPA_CNT_ahead_from_elsewhere), 0);
	close_door(d);
}

/* A sender may change its port: the next packet in order shows it. */
Test(security_ahead, a_packet_in_order_renews_the_port)
{
	struct door *d = door_of(DPA_QP_RC);

	packet(d, PORT, 0, 1);
	packet(d, OTHER, 3, 4);
	cr_expect_eq(kept(d), 0);
	packet(d, OTHER, 1, 2);
	packet(d, OTHER, 3, 4);
	cr_expect_eq(kept(d), 1);
	packet(d, PORT, 4, 5);
	cr_expect_eq(kept(d), 1);
	close_door(d);
}

/* A queued packet did not arrive in order: it does not set the source port. */
Test(security_ahead, queued_packets_renew_nothing)
{
	struct door *d = door_of(DPA_QP_RC);

	for (uint32_t i = 3; i < 6; i++)
		th_recv(&d->th->b, i, (i - 1) * 4096, 4096);
	packet(d, PORT, 0, 1);
	packet(d, PORT, 2, 3);
	packet(d, OTHER, 1, 2); /* the peer has another port now */
	expect_received(d, 1, 1);
	expect_received(d, 2, 2);
	expect_received(d, 3, 3);
	packet(d, PORT, 4, 5);
	cr_expect_eq(kept(d), 0);
	packet(d, OTHER, 4, 5);
	cr_expect_eq(kept(d), 1);
	close_door(d);
}

/*
 * Before any packet arrived in order the first source counts, until a packet in order shows another
 * one.
 */
Test(security_ahead, before_anything_came_in_order)
{
	struct door *d = door_of(DPA_QP_RC);

	packet(d, OTHER, 1, 66);
	cr_expect_eq(kept(d), 1, "it may be the peer's");
	packet(d, PORT, 2, 3);
	cr_expect_eq(kept(d), 1);
	packet(d, PORT, 0, 1);
	cr_expect_eq(kept(d), 0, "it was not");
	expect_received(d, 1, 1);
	packet(d, PORT, 1, 2);
	expect_received(d, 2, 2);
	cr_expect_eq(count(d, DPA_CNT_ahead_from_elsewhere), 2);
	close_door(d);
}

/* The attacker sends from the peer's port, too: one of the copies is forged. */
Test(security_ahead, of_different_copies_none_is_queued)
{
	struct door *d = door_of(DPA_QP_RC);

	packet(d, PORT, 0, 1);
	packet(d, PORT, 2, 66);
	packet(d, PORT, 2, 3);
	cr_expect_eq(kept(d), 0);
	cr_expect_eq(count(d, DPA_CNT_ahead_copies_differ), 1);
	th_recv(&d->th->b, 3, 8192, 4096);
	packet(d, PORT, 1, 2);
	packet(d, PORT, 2, 3);
	for (uint8_t i = 1; i <= 3; i++)
		expect_received(d, i, i);
	close_door(d);
}

/* Each field of a packet counts, not only its payload; but not its ACK request. */
Test(security_ahead, copies_differ_in_any_field)
{
	struct door *d = door_of(DPA_QP_RC);
	struct dpa_roce_pkt first;

	packet(d, PORT, 0, 1);
	d->k = (struct dpa_roce_pkt){.opcode = DPA_BTH_WRITE_ONLY_IMM,
				     .mig = true,
				     .pkey = DPA_ROCE_PKEY,
				     .dqpn = d->k.dqpn,
				     .psn = PSN0 + 2,
				     .va = (uintptr_t)d->th->b.mem,
				     .rkey = d->th->b.key,
				     .dmalen = 8,
				     .imm = 7,
				     .payload = d->data,
				     .len = 8};
	first = d->k;
	for (uint32_t field = 0; field < 9; field++) {
		uint64_t before = count(d, DPA_CNT_ahead_copies_differ);

		d->k = first;
		knock(d, 0);
		d->k.ackreq = true;
		knock(d, 0);
		cr_assert_eq(kept(d), 1, "the same again");
		cr_expect_eq(count(d, DPA_CNT_ahead_copies_differ), before);
		d->k.va += field == 0 ? 8 : 0;
		d->k.rkey ^= field == 1;
		d->k.dmalen += field == 2;
		d->k.imm ^= field == 3;
		d->k.se = field == 4;
		d->k.len -= field == 5 ? 4 : 0;
		if (field == 6)
			d->k.opcode = DPA_BTH_WRITE_ONLY;
		if (field == 7)
			d->k.opcode = DPA_BTH_SEND_ONLY_IMM;
		d->data[7] ^= field == 8;
		knock(d, 0);
		cr_expect_eq(kept(d), 0, "field %u", field);
		cr_expect_eq(count(d, DPA_CNT_ahead_copies_differ), before + 1, "field %u", field);
	}
	close_door(d);
}

/* A packet that another user of this host forwarded: that user can write any port into it. */
Test(security_ahead, packets_passed_on_by_another_user_are_not_queued)
{
	struct door *d = door_of(DPA_QP_RC);

	d->f.sure = false;
	packet(d, PORT, 0, 1);
	cr_expect_eq(d->th->b.qp->resp.from, DPA_FROM_UNKNOWN, "it shows no source");
	packet(d, PORT, 2, 3);
	cr_expect_eq(kept(d), 0);
	d->f.sure = true;
	packet(d, PORT, 1, 2);
	packet(d, PORT, 3, 4);
	cr_expect_eq(kept(d), 1);
	d->f.sure = false;
	packet(d, PORT, 4, 66);
	cr_expect_eq(kept(d), 1);
	close_door(d);
}
