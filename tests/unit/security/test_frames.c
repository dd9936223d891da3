/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_frames.c - packets of an attacker at the entry for packets of the UDP socket: with wrong
 * addresses, ICRC, P_Key, Q_Key, QPN, PSN, opcode. Each changes only error counters; the same
 * packet with the right value is executed.
 */
#include <criterion/criterion.h>
#include "wire/opcode.h"
#include "ctx/qp.h"
#include "door.h"

/* Impersonation (ReDMArk A1): all fields are right except source or destination. */
/* IBA 9.6 (sender) */
Test(security_frames, wrong_addresses)
{
	static const uint32_t types[] = {DPA_QP_RC, DPA_QP_UC};

	for (int t = 0; t < 2; t++) {
		struct door *d = door_of(types[t]);

		for (int bit = 0; bit < 128; bit++) {
			if (bit / 8 == 10 || bit / 8 == 11 || bit / 8 < 10)
				continue; /* not an IPv4 address any more */
			d->f.net.src[bit / 8] ^= (uint8_t)(1 << bit % 8);
			expect_refused(d, 0, "source address");
			d->f.net.src[bit / 8] ^= (uint8_t)(1 << bit % 8);
			d->f.net.dst[bit / 8] ^= (uint8_t)(1 << bit % 8);
			expect_refused(d, 0, "destination address");
			d->f.net.dst[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		memset(d->f.net.src, 0xfe, 16);
		memset(d->f.net.dst, 0xfe, 16);
		expect_refused(d, 0, "another family");
		addr(d->f.net.src, 1);
		addr(d->f.net.dst, 2);
		expect_taken(d);
		close_door(d);
	}
}

/* IBA CA17-24, CA17-39 */
Test(security_frames, wrong_icrc)
{
	struct door *d = door_of(DPA_QP_RC);

	for (int bit = 0; bit < 32; bit++)
		expect_refused(d, 1u << bit, "ICRC");
	expect_refused(d, 0xffffffff, "ICRC");
	cr_expect_eq(th_count(d->th, DPA_CNT_rx_icrc_encapsulated), 33);
	expect_taken(d);
	close_door(d);
}

/* IBA C9-42, C9-43 */
Test(security_frames, wrong_p_key)
{
	struct door *d = door_of(DPA_QP_RC);

	for (uint32_t pkey = 0; pkey < 0x10000; pkey++) {
		if ((pkey & 0x7fff) == 0x7fff)
			continue;
		d->k.pkey = (uint16_t)pkey;
		if (pkey % 257 == 0 || (pkey & (pkey - 1)) == 0 || pkey > 0xfff0)
			expect_refused(d, 0, "P_Key");
	}
	d->k.pkey = 0x7fff; /* a limited member speaks to a full one */
	expect_taken(d);
	close_door(d);
}

/* Injection into datagram QPs: the Q_Key protects them. */
/* IBA 9.6 (qkey) */
Test(security_frames, wrong_q_key)
{
	struct door *d = door_of(DPA_QP_UD);

	for (int bit = 0; bit < 32; bit++) {
		d->k.qkey = 0x11111111u ^ 1u << bit;
		expect_refused(d, 0, "Q_Key");
	}
	d->k.qkey = 0x80010000u; /* that of management, which is public */
	expect_refused(d, 0, "privileged Q_Key");
	d->k.qkey = 0x11111111;
	expect_taken(d);
	close_door(d);
}

/* IBA 9.6 (qp-exists) */
Test(security_frames, wrong_qpn)
{
	struct door *d = door_of(DPA_QP_RC);
	uint32_t right = d->k.dqpn;

	for (int bit = 0; bit < 24; bit++) {
		d->k.dqpn = right ^ 1u << bit;
		if (d->k.dqpn != d->th->a.qp->qpn)
			expect_refused(d, 0, "QPN");
	}
	d->k.dqpn = 0;
	expect_refused(d, 0, "QP0");
	d->k.dqpn = 1;
	expect_refused(d, 0, "QP1");
	d->k.dqpn = 0xffffff;
	expect_refused(d, 0, "multicast");
	d->k.dqpn = right;
	expect_taken(d);
	close_door(d);
}

/* A transport that differs from the QP's, and opcodes that are not on the wire. */
/* IBA 9.6 (transport), 9.2 (reserved-opcode) */
Test(security_frames, wrong_opcodes)
{
	struct door *d = door_of(DPA_QP_RC);
	uint8_t *op = d->buf + ROOM;

	for (uint32_t o = 0; o < 256; o++) {
		uint64_t before = errors(d);
		uint32_t crc;

		if ((o & DPA_BTH_TRANSPORT) == DPA_BTH_RC && dpa_roce_ext_of((uint8_t)o))
			continue;
		if (o == DPA_BTH_PROBE || o == DPA_BTH_PROBED) /* they may have a payload */
			continue;
		d->k.len = 64;
		d->f.n = dpa_roce_encode_all(&d->f.net, &d->k, op, sizeof(d->buf) - ROOM);
		op[0] = (uint8_t)o; /* DPA_LINK_NO_QP and DPA_LINK_FRAME among them */
		crc = dpa_icrc_of(&d->f.net, op, d->f.n);
		dpa_icrc_put(op + d->f.n - 4, crc);
		d->f.p = op;
		d->f.ip_known = true;
		dpa_frame_in(d->th->hw, NULL, &d->f, true);
		cr_expect_eq(errors(d), before + 1, "opcode %02x", o);
		expect_untouched(d, "opcode");
	}
	d->k.len = 100;
	expect_taken(d);
	close_door(d);
}

/* Every second one is close enough before `next` to be queued, none is `next` itself. */
static uint32_t guess(uint64_t *seed, uint32_t next)
{
	uint32_t psn = th_rand(seed) & DPA_PSN_MASK;

	if (th_rand(seed) & 1)
		psn = next + psn % 1024;
	return psn == next ? next + 1 : psn;
}

/* One packet has arrived, so that the source is known; the others come from elsewhere. */
static struct door *door_with_a_packet(void)
{
	struct door *d = door_of(DPA_QP_RC);

	expect_taken(d);
	d->f.net.sport++;
	return d;
}

static void expect_next_taken(struct door *d)
{
	d->f.net.sport--;
	d->k.opcode = DPA_BTH_SEND_ONLY;
	d->k.psn = PSN0 + 1;
	d->k.len = 100;
	expect_taken(d);
}

/*
 * Injection with a guessed PSN (ReDMArk): one in 2^24 is executed; any number of others only makes
 * one NAK pending.
 */
Test(security_frames, guessed_psns)
{
	struct door *d = door_with_a_packet();
	struct dpa_resp *r = &d->th->b.qp->resp;
	uint64_t seed = 5;
	struct dpa_cqe e;

	for (int i = 0; i < 20000; i++) {
		d->k.psn = guess(&seed, PSN0 + 1);
		knock(d, 0);
		cr_assert_eq(r->epsn, PSN0 + 1);
		cr_assert_eq(d->th->b.qp->rq_ci, 1);
		cr_assert_eq(d->th->b.qp->ooo.n, 0);
		cr_assert(!r->ack_owed || (r->ack_syndrome & DPA_AETH_KIND) == DPA_AETH_ACK ||
			  r->ack_syndrome == (DPA_AETH_NAK | DPA_NAK_PSN_SEQ));
	}
	cr_expect_not(th_poll(&d->th->b.rcq, &e));
	cr_expect_eq(d->th->b.qp->state, DPA_QPS_RTS);
	cr_expect_eq(th_count(d->th, DPA_CNT_out_of_sequence) +
			     th_count(d->th, DPA_CNT_duplicate_request),
		     20000);
	cr_expect_gt(th_count(d->th, DPA_CNT_ahead_from_elsewhere), 9000);
	expect_next_taken(d);
	close_door(d);
}

/*
 * The same for each kind of request, with a right or a wrong key. A READ or FLUSH in the half of
 * the PSNs behind the expected one was taken for a duplicate: with a wrong key it ended the
 * connection, with the right one it was answered.
 */
/* IBA 9.7.5 (read-known) */
Test(security_frames, guessed_psns_of_all_requests)
{
	static const struct {
		uint8_t op;
		uint32_t len;
	} t[] = {{DPA_BTH_SEND_ONLY_INV, 100},
		 {DPA_BTH_WRITE_ONLY, 100},
		 {DPA_BTH_WRITE_ONLY_IMM, 100},
		 {DPA_BTH_READ_REQUEST, 0},
		 {DPA_BTH_COMPARE_SWAP, 0},
		 {DPA_BTH_FETCH_ADD, 0},
		 {DPA_BTH_FLUSH, 0},
		 {DPA_BTH_ATOMIC_WRITE, 8}};

	for (size_t k = 0; k < sizeof(t) / sizeof(t[0]); k++) {
		struct door *d = door_with_a_packet();
		struct dpa_resp *r = &d->th->b.qp->resp;
		uint64_t seed = 6 + k;
		struct dpa_cqe e;

		d->k.opcode = t[k].op;
		d->k.len = t[k].len;
		d->k.va = (uintptr_t)d->th->b.mem + 8192;
		d->k.swap_add = 1;
		d->k.dmalen = t[k].len ? t[k].len : 64;
		d->k.feth = DPA_FLUSH_GLOBAL;
		for (int i = 0; i < 2000; i++) {
			d->k.psn = guess(&seed, PSN0 + 1);
			d->k.rkey = d->th->b.key ^ (uint32_t)(i & 1);
			knock(d, 0);
			cr_assert_not(dpa_resp_failing(r), "opcode %02x, PSN %u", t[k].op,
				      d->k.psn);
			cr_assert_eq(r->epsn, PSN0 + 1);
			cr_assert_eq(r->rd_head, r->rd_tail, "opcode %02x", t[k].op);
		}
		cr_expect_eq(d->th->b.mem[8192], 0);
		cr_expect_eq(d->th->b.qp->rq_ci, 1);
		cr_expect_eq(d->th->b.qp->ooo.n, 0);
		cr_expect_not(th_poll(&d->th->b.rcq, &e));
		expect_next_taken(d);
		close_door(d);
	}
}

/* Forged acknowledgements for packets that were never sent complete nothing and fail nothing. */
Test(security_frames, forged_answers)
{
	struct door *d = door_of(DPA_QP_RC);
	struct dpa_hw_qp *a = d->th->a.qp;
	uint64_t seed = 8;
	struct dpa_cqe e;

	a->peer = &d->remote->peer;
	d->k.dqpn = a->qpn;
	d->k.len = 0;
	for (int i = 0; i < 20000; i++) {
		d->k.opcode = (uint8_t[]){DPA_BTH_ACK, DPA_BTH_ATOMIC_ACK,
					  DPA_BTH_READ_RESP_ONLY}[th_rand(&seed) % 3];
		d->k.psn = th_rand(&seed) & DPA_PSN_MASK;
		d->k.syndrome = (uint8_t)th_rand(&seed);
		d->k.orig = th_rand(&seed);
		knock(d, 0);
		cr_assert_eq(a->state, DPA_QPS_RTS);
		cr_assert_eq(a->req.una_psn, PSN0);
	}
	cr_expect_not(th_poll(&d->th->a.scq, &e));
	a->peer = d->th->peer;
	close_door(d);
}

/* Replay of an executed packet: it is a duplicate, and the memory does not change. */
Test(security_frames, replayed_packets)
{
	struct door *d = door_of(DPA_QP_RC);
	struct dpa_cqe e;

	expect_taken(d);
	memset(d->th->b.mem, 0, 8192);
	for (int i = 0; i < 1000; i++)
		knock(d, 0);
	cr_expect_eq(th_count(d->th, DPA_CNT_duplicate_request), 1000);
	cr_expect_not(th_poll(&d->th->b.rcq, &e));
	cr_expect_eq(d->th->b.mem[0], 0);
	cr_expect_eq(d->th->b.qp->resp.epsn, PSN0 + 1);
	close_door(d);
}

/* Flooding with requests that need answers: the pending answers have a bound, for any requests. */
Test(security_frames, pending_answers_have_a_bound)
{
	struct door *d = door_of(DPA_QP_RC);
	struct dpa_resp *r = &d->th->b.qp->resp;

	d->k.opcode = DPA_BTH_READ_REQUEST;
	d->k.len = 0;
	d->k.va = (uintptr_t)d->th->b.mem;
	d->k.rkey = d->th->b.key;
	d->k.dmalen = 1u << 20;
	knock(d, 0);
	for (int i = 0; i < 5000; i++) {
		knock(d, 0); /* duplicates: amplification */
		cr_assert_leq(r->rd_head - r->rd_tail, (uint32_t)DPA_RD_OWED);
	}
	cr_expect_eq(d->th->b.qp->state, DPA_QPS_RTS);
	close_door(d);
}

/* Duplicates are answered in the order of their PSNs, as they arrive. */
/* IBA C9-110 */
Test(security_frames, duplicates_are_answered_in_order)
{
	struct door *d = door_of(DPA_QP_RC);
	struct dpa_resp *r = &d->th->b.qp->resp;

	d->k.opcode = DPA_BTH_FETCH_ADD;
	d->k.len = 0;
	d->k.va = (uintptr_t)d->th->b.mem;
	d->k.rkey = d->th->b.key;
	d->k.swap_add = 1;
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 3; i++) {
			d->k.psn = PSN0 + i;
			knock(d, 0);
		}
	cr_assert_eq(r->rd_head - r->rd_tail, 6);
	for (uint32_t i = 0; i < 6; i++) {
		const struct dpa_rd_resource *rd = &r->rd[(r->rd_tail + i) % DPA_RD_OWED];

		cr_expect_eq(rd->psn, PSN0 + i % 3);
		cr_expect_eq(rd->orig, i % 3);
	}
	cr_expect_eq(d->th->b.mem[0], 3, "each once");
	close_door(d);
}

/* 100,000 packets for which the attacker knows the format, but not the numbers. */
Test(security_frames, random_and_mutated_packets)
{
	struct door *d = door_of(DPA_QP_RC);
	uint64_t seed = 20, before = errors(d);

	for (int i = 0; i < 100000; i++) {
		uint32_t n = 16 + th_rand(&seed) % 128, flips = 1 + th_rand(&seed) % 8;

		if (i & 1) {
			for (uint32_t k = 0; k < n; k++)
				d->buf[ROOM + k] = (uint8_t)th_rand(&seed);
			d->f.n = n;
		} else {
			d->f.n = dpa_roce_encode_all(&d->f.net, &d->k, d->buf + ROOM,
						     sizeof(d->buf) - ROOM);
			while (flips--)
				d->buf[ROOM + th_rand(&seed) % d->f.n] ^=
					(uint8_t)(1 + th_rand(&seed) % 255);
			if (dpa_icrc_ok(&d->f.net, d->buf + ROOM, d->f.n))
				/* flipped back, or in a field that the ICRC does not cover */
				continue;
		}
		d->f.p = d->buf + ROOM;
		d->f.ip_known = true;
		dpa_frame_in(d->th->hw, NULL, &d->f, true);
	}
	cr_expect_gt(errors(d) - before, 99000u);
	expect_untouched(d, "noise");
	expect_taken(d);
	close_door(d);
}
