/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_resp_check.c - the responder's check of a packet: each statement of IBA 9.7.4.1 against
 * generated packets.
 */
#include <criterion/criterion.h>
#include "ctx/qp.h"
#include "link/lane.h"
#include "harness.h"

#define MTU 1024u
static const uint32_t lens[] = {0,	 1,	  8,	       MTU - 1,	     MTU,
				MTU + 1, 2 * MTU, 3 * MTU + 5, DPA_LANE_MTU, DPA_LANE_MTU + MTU};
#define NLENS (sizeof(lens) / sizeof(lens[0]))

static enum dpa_resp_verdict judge(const struct dpa_resp *r, uint32_t access, bool rc, uint8_t op,
				   uint32_t psn, uint32_t len, uint32_t dmalen)
{
	struct dpa_slot s = {.opcode = op, .psn = psn & DPA_PSN_MASK, .len = len};

	((struct dpa_ext *)s.ext)->dmalen = dmalen;
	return dpa_resp_check(r, MTU, access, rc, &s);
}

static struct dpa_resp fresh(uint32_t epsn)
{
	return (struct dpa_resp){.epsn = epsn, .last_op = DPA_RESP_NONE};
}

/* Walk a message packet by packet; `access` is exactly the access that it needs. */
static void walk(uint8_t kind, uint32_t total, uint32_t run, bool rc, uint32_t access, uint8_t end)
{
	struct dpa_resp r = fresh(0xffffff);
	uint32_t off = 0, first = kind == DPA_RESP_SEND ? DPA_BTH_SEND_FIRST : DPA_BTH_WRITE_FIRST;

	do {
		uint32_t n = total - off < run ? total - off : run;
		bool last = off + n == total;
		uint8_t op = (uint8_t)(first + (last ? (off ? 2 : 4) + end : off ? 1 : 0));

		cr_assert_eq(judge(&r, access, rc, op, r.epsn, n, total), DPA_RESP_GO,
			     "kind %u, %u of %u", kind, off, total);
		if (!off)
			r.wr_len = total;
		off += n;
		r.off = off;
		r.last_op = last ? DPA_RESP_NONE : kind;
		r.epsn = dpa_psn_add(r.epsn, dpa_npkts(n, MTU));
	} while (off < total);
}

/* IBA 9.7.4 (sequence), C9-92 */
Test(transport_resp_check, whole_messages_go)
{
	for (size_t i = 0; i < NLENS; i++) {
		for (uint32_t run = MTU; run <= DPA_LANE_MTU; run *= 2) {
			for (uint8_t rc = 0; rc < 2; rc++) {
				for (uint8_t end = 0; end < 2; end++) {
					walk(DPA_RESP_SEND, lens[i], run, rc, 0, end);
					walk(DPA_RESP_WRITE, lens[i], run, rc,
					     DPA_ACCESS_REMOTE_WRITE, end);
				}
			}
		}
	}
}

/*
 * An entry of a ring that begins before the expected PSN and reaches it: its packets before that
 * are duplicates, the next one continues the present message or is out of sequence.
 */
Test(transport_resp_check, a_burst_across_the_expected_psn)
{
	struct dpa_resp r = fresh(7);

	cr_expect_eq(judge(&r, 0, true, DPA_BTH_SEND_ONLY, 5, 2 * MTU, 0), DPA_RESP_DUPLICATE);
	cr_expect_eq(judge(&r, 0, true, DPA_BTH_SEND_ONLY, 5, 2 * MTU + 1, 0), DPA_RESP_INVALID);
	cr_expect_eq(judge(&r, 0, true, DPA_BTH_SEND_FIRST, 5, 4 * MTU, 0), DPA_RESP_INVALID);
	r.last_op = DPA_RESP_SEND;
	cr_expect_eq(judge(&r, 0, true, DPA_BTH_SEND_FIRST, 5, 4 * MTU, 0), DPA_RESP_GAP);
	cr_expect_eq(judge(&r, 0, true, DPA_BTH_SEND_LAST, 5, 4 * MTU, 0), DPA_RESP_GAP);
	cr_expect_eq(judge(&r, DPA_ACCESS_REMOTE_WRITE, true, DPA_BTH_WRITE_MIDDLE, 5, 4 * MTU, 0),
		     DPA_RESP_INVALID);
}

/* IBA 9.7.4.1.2: before the expected PSN: duplicate; after it: a gap; for any packet. */
/* IBA 9.7.1 (half), 9.7.4 (expected) */
Test(transport_resp_check, psn_offsets)
{
	static const int32_t d[] = {-0x800000, -0x7fffff, -2, -1, 1, 2, 0x7fffff};
	static const uint32_t epsn[] = {0, 1, 0x7fffff, 0x800000, 0xffffff};

	for (size_t e = 0; e < 5; e++) {
		struct dpa_resp r = fresh(epsn[e]);

		for (size_t i = 0; i < 7; i++)
			for (uint8_t op = 0; op < 32; op++)
				if ((dpa_op_props(op) & (DPA_OPP_VALID | DPA_OPP_RESP)) ==
				    DPA_OPP_VALID)
					cr_assert_eq(judge(&r, 0, true, op,
							   epsn[e] + (uint32_t)d[i], 1000, 7),
						     d[i] < 0 ? DPA_RESP_DUPLICATE : DPA_RESP_GAP);
	}
}

/* FIRST and ONLY when no message is in progress, MIDDLE and LAST of the present one. */
/* IBA 9.7.4 (sequence) */
Test(transport_resp_check, packets_out_of_sequence_are_invalid)
{
	static const uint8_t now[] = {DPA_RESP_NONE, DPA_RESP_SEND, DPA_RESP_WRITE};

	for (int i = 0; i < 3; i++) {
		for (uint8_t op = 0; op < 32; op++) {
			struct dpa_resp r = {.last_op = now[i], .off = MTU, .wr_len = 3 * MTU};
			uint16_t p = dpa_op_props(op);
			uint32_t n = p & (DPA_OPP_READ | DPA_OPP_ATOMIC) ? 0
				     : p & DPA_OPP_AWRITE		 ? 8
									 : MTU;
			uint32_t dma = p & DPA_OPP_END ? n : 2 * n;
			bool start = p & DPA_OPP_START, fits;

			if (!(p & DPA_OPP_VALID) || p & DPA_OPP_RESP || op == DPA_BTH_FLUSH)
				continue; /* a FLUSH: flushes() */
			if ((p & DPA_OPP_WRITE) && !start && (p & DPA_OPP_END))
				n = 2 * MTU;
			fits = start ? now[i] == DPA_RESP_NONE
				     : now[i] ==
					       (p & DPA_OPP_SEND ? DPA_RESP_SEND : DPA_RESP_WRITE);
			cr_expect_eq(judge(&r, TH_ALL, true, op, 0, n, dma),
				     fits ? DPA_RESP_GO : DPA_RESP_INVALID, "%02x in %d", op, i);
			if (!(p & (DPA_OPP_READ | DPA_OPP_ATOMIC | DPA_OPP_AWRITE | DPA_OPP_INV)))
				cr_expect_eq(judge(&r, TH_ALL, false, op, 0, n, dma),
					     fits ? DPA_RESP_GO : DPA_RESP_DROP);
		}
	}
}

/* FIRST and MIDDLE fill the MTU, LAST has at least one byte. */
/* IBA C9-92 */
Test(transport_resp_check, lengths_of_send_packets)
{
	for (size_t i = 0; i < NLENS; i++) {
		uint32_t n = lens[i];
		bool whole = n && n % MTU == 0 && n <= DPA_LANE_MTU;
		struct dpa_resp none = fresh(0), mid = {.last_op = DPA_RESP_SEND, .off = MTU};

		cr_expect_eq(judge(&none, 0, true, DPA_BTH_SEND_FIRST, 0, n, 0),
			     whole ? DPA_RESP_GO : DPA_RESP_INVALID);
		cr_expect_eq(judge(&mid, 0, true, DPA_BTH_SEND_MIDDLE, 0, n, 0),
			     whole ? DPA_RESP_GO : DPA_RESP_INVALID);
		cr_expect_eq(judge(&mid, 0, true, DPA_BTH_SEND_LAST, 0, n, 0),
			     n && n <= DPA_LANE_MTU ? DPA_RESP_GO : DPA_RESP_INVALID);
		cr_expect_eq(judge(&none, 0, true, DPA_BTH_SEND_ONLY, 0, n, 0),
			     n <= DPA_LANE_MTU ? DPA_RESP_GO : DPA_RESP_INVALID);
	}
}

/* A WRITE carries the bytes that its RETH announces, 2^31 at most. */
/* IBA 9.7.4 (write-length), C9-94 */
Test(transport_resp_check, lengths_of_write_packets)
{
	struct dpa_resp none = fresh(0), mid = {.last_op = DPA_RESP_WRITE, .off = MTU};

	cr_expect_eq(judge(&none, TH_ALL, true, DPA_BTH_WRITE_ONLY, 0, 10, 10), DPA_RESP_GO);
	cr_expect_eq(judge(&none, TH_ALL, true, DPA_BTH_WRITE_ONLY, 0, 10, 9), DPA_RESP_INVALID);
	cr_expect_eq(judge(&none, TH_ALL, true, DPA_BTH_WRITE_ONLY, 0, 10, 11), DPA_RESP_INVALID);
	cr_expect_eq(judge(&none, TH_ALL, true, DPA_BTH_WRITE_ONLY, 0, 0, 0), DPA_RESP_GO);
	cr_expect_eq(judge(&none, TH_ALL, true, DPA_BTH_WRITE_FIRST, 0, MTU, MTU),
		     DPA_RESP_INVALID);
	cr_expect_eq(judge(&none, TH_ALL, true, DPA_BTH_WRITE_FIRST, 0, MTU, MTU + 1), DPA_RESP_GO);
	cr_expect_eq(judge(&none, TH_ALL, true, DPA_BTH_WRITE_FIRST, 0, MTU, 0x80000000u),
		     DPA_RESP_GO);
	cr_expect_eq(judge(&none, TH_ALL, true, DPA_BTH_WRITE_FIRST, 0, MTU, 0x80000001u),
		     DPA_RESP_INVALID);
	for (uint32_t total = MTU + 1; total < 4 * MTU; total += 511) {
		mid.wr_len = total;
		for (size_t i = 1; i < NLENS - 1; i++) {
			uint32_t n = lens[i];

			cr_expect_eq(judge(&mid, TH_ALL, true, DPA_BTH_WRITE_LAST, 0, n, 0),
				     MTU + n == total ? DPA_RESP_GO : DPA_RESP_INVALID);
			cr_expect_eq(judge(&mid, TH_ALL, true, DPA_BTH_WRITE_MIDDLE, 0, n, 0),
				     n % MTU == 0 && MTU + n < total ? DPA_RESP_GO
								     : DPA_RESP_INVALID);
		}
	}
}

/* IBA 9.7.4 (no-payload) */
Test(transport_resp_check, requests_without_payload)
{
	struct dpa_resp r = fresh(0);

	for (uint32_t n = 0; n < 20; n++)
		for (uint8_t op = DPA_BTH_COMPARE_SWAP; op <= DPA_BTH_FETCH_ADD; op++) {
			cr_expect_eq(judge(&r, TH_ALL, true, op, 0, n, n),
				     n ? DPA_RESP_INVALID : DPA_RESP_GO);
			cr_expect_eq(judge(&r, TH_ALL, true, DPA_BTH_READ_REQUEST, 0, n, 100),
				     n ? DPA_RESP_INVALID : DPA_RESP_GO);
		}
}

/* IBA 9.7.4 (send-max) */
Test(transport_resp_check, a_send_is_2_to_the_31_bytes_at_most)
{
	struct dpa_resp r = {.last_op = DPA_RESP_SEND, .off = 0x80000000u - MTU};

	cr_expect_eq(judge(&r, 0, true, DPA_BTH_SEND_LAST, 0, MTU, 0), DPA_RESP_GO);
	cr_expect_eq(judge(&r, 0, true, DPA_BTH_SEND_LAST, 0, MTU + 1, 0), DPA_RESP_INVALID);
}

/* A request that the QP does not permit is an invalid request. */
/* IBA 9.7.4 (permission) */
Test(transport_resp_check, access_flags)
{
	for (uint32_t access = 0; access < 16; access++) {
		struct dpa_resp r = fresh(0);
		bool w = access & DPA_ACCESS_REMOTE_WRITE, rd = access & DPA_ACCESS_REMOTE_READ,
		     at = access & DPA_ACCESS_REMOTE_ATOMIC;

		cr_expect_eq(judge(&r, access, true, DPA_BTH_SEND_ONLY, 0, 1, 0), DPA_RESP_GO);
		cr_expect_eq(judge(&r, access, true, DPA_BTH_WRITE_ONLY, 0, 1, 1),
			     w ? DPA_RESP_GO : DPA_RESP_INVALID);
		cr_expect_eq(judge(&r, access, true, DPA_BTH_READ_REQUEST, 0, 0, 1),
			     rd ? DPA_RESP_GO : DPA_RESP_INVALID);
		cr_expect_eq(judge(&r, access, true, DPA_BTH_COMPARE_SWAP, 0, 0, 0),
			     at ? DPA_RESP_GO : DPA_RESP_INVALID);
		cr_expect_eq(judge(&r, access, true, DPA_BTH_FETCH_ADD, 0, 0, 0),
			     at ? DPA_RESP_GO : DPA_RESP_INVALID);
		cr_expect_eq(judge(&r, access, false, DPA_BTH_UC | DPA_BTH_WRITE_ONLY, 0, 1, 1),
			     w ? DPA_RESP_GO : DPA_RESP_DROP);
	}
}

/* Annex A19: 8 bytes, and it needs the right to write. */
/* IBA 9.4 (atomic-write) */
Test(transport_resp_check, atomic_writes)
{
	struct dpa_resp r = fresh(0);

	cr_expect_eq(judge(&r, TH_ALL, true, DPA_BTH_ATOMIC_WRITE, 0, 8, 8), DPA_RESP_GO);
	cr_expect_eq(judge(&r, TH_ALL, true, DPA_BTH_ATOMIC_WRITE, 0, 4, 4), DPA_RESP_INVALID);
	cr_expect_eq(judge(&r, TH_ALL, true, DPA_BTH_ATOMIC_WRITE, 0, 8, 16), DPA_RESP_INVALID);
	cr_expect_eq(judge(&r, TH_ALL, true, DPA_BTH_ATOMIC_WRITE, 0, 0, 8), DPA_RESP_INVALID);
	cr_expect_eq(
		judge(&r, TH_ALL & ~DPA_ACCESS_REMOTE_WRITE, true, DPA_BTH_ATOMIC_WRITE, 0, 8, 8),
		DPA_RESP_INVALID);
	cr_expect_eq(judge(&r, TH_ALL, false, DPA_BTH_UC | DPA_BTH_ATOMIC_WRITE, 0, 8, 8),
		     DPA_RESP_DROP);
}

static enum dpa_resp_verdict judge_flush(uint32_t access, bool rc, uint32_t feth, uint32_t len,
					 uint8_t last_op)
{
	struct dpa_slot s = {.opcode = rc ? DPA_BTH_FLUSH : DPA_BTH_UC | DPA_BTH_FLUSH, .len = len};
	struct dpa_resp r = fresh(0);

	r.last_op = last_op;
	((struct dpa_ext *)s.ext)->feth = feth;
	((struct dpa_ext *)s.ext)->dmalen = 4096;
	return dpa_resp_check(&r, MTU, access, rc, &s);
}

/* Annex A19: each scope is a separate right; it carries no bytes; RC only. */
/* IBA 9.4 (flush) */
Test(transport_resp_check, flushes)
{
	const uint32_t g = DPA_ACCESS_FLUSH_GLOBAL, p = DPA_ACCESS_FLUSH_PERSISTENT;

	for (uint32_t feth = 0; feth < 256; feth++) {
		uint32_t type = feth & 0xf, need = (type & 1 ? g : 0) | (type & 2 ? p : 0);
		bool good = type >= 1 && type <= 3 && feth >> 4 <= 1;

		for (int i = 0; i < 4; i++) {
			uint32_t have = (i & 1 ? g : 0) | (i & 2 ? p : 0);
			bool may = good && (have & need) == need;

			cr_expect_eq(judge_flush(have, true, feth, 0, DPA_RESP_NONE),
				     may ? DPA_RESP_GO : DPA_RESP_INVALID, "%x of %x", feth, have);
		}
		cr_expect_eq(judge_flush(TH_ALL, true, feth, 0, DPA_RESP_NONE), DPA_RESP_INVALID);
		cr_expect_eq(judge_flush(g | p, false, feth, 0, DPA_RESP_NONE), DPA_RESP_DROP);
	}
	cr_expect_eq(judge_flush(g, true, 1 | 1u << 8, 0, DPA_RESP_NONE), DPA_RESP_INVALID);
	cr_expect_eq(judge_flush(g, true, 1, 8, DPA_RESP_NONE), DPA_RESP_INVALID, "bytes");
	cr_expect_eq(judge_flush(g, true, 1, 0, DPA_RESP_WRITE), DPA_RESP_INVALID, "in a WRITE");
}

/* UC has SENDs and WRITEs; RC has no reserved opcode. */
/* IBA 9.7.4 (unknown) */
Test(transport_resp_check, opcodes_that_a_transport_does_not_have)
{
	struct dpa_resp r = fresh(0);

	for (uint8_t op = 0; op < 32; op++) {
		uint16_t p = dpa_op_props(op);

		if (!(p & DPA_OPP_VALID))
			cr_expect_eq(judge(&r, TH_ALL, true, op, 0, 0, 0), DPA_RESP_INVALID);
		if (!(p & DPA_OPP_VALID) || p & (DPA_OPP_READ | DPA_OPP_ATOMIC | DPA_OPP_INV))
			cr_expect_eq(judge(&r, TH_ALL, false, DPA_BTH_UC | op, 0, 0, 0),
				     DPA_RESP_DROP);
	}
}

/* A random walk over a model: only the next packet of a message is accepted. */
/* IBA 9.7.4 (expected) */
Test(transport_resp_check, random_packets)
{
	uint64_t seed = 3;
	uint32_t went = 0;

	for (int i = 0; i < 300000; i++) {
		struct dpa_resp r = {.epsn = th_rand(&seed) & 3,
				     .last_op = (uint8_t[]){0, 1, 0xff}[th_rand(&seed) % 3],
				     .off = th_rand(&seed) % 3 * MTU,
				     .wr_len = th_rand(&seed) % 5000};
		uint8_t op = th_rand(&seed) & 31;
		uint32_t psn = th_rand(&seed) & 3, len = lens[th_rand(&seed) % NLENS];
		uint32_t access = th_rand(&seed) & 15, dma = th_rand(&seed) % 3 ? len : 5000;
		uint16_t p = dpa_op_props(op);

		if (p & DPA_OPP_RESP) /* for the completer */
			continue;
		if (judge(&r, access, true, op, psn, len, dma) != DPA_RESP_GO)
			continue;
		went++;
		cr_assert(p & DPA_OPP_VALID);
		cr_assert_eq(psn, r.epsn);
		cr_assert_eq(!!(p & DPA_OPP_START), r.last_op == DPA_RESP_NONE);
		cr_assert(len <= DPA_LANE_MTU);
		if (p & DPA_OPP_WRITE) {
			cr_assert(access & DPA_ACCESS_REMOTE_WRITE);
			cr_assert_leq((p & DPA_OPP_START ? 0 : r.off) + len,
				      p & DPA_OPP_START ? dma : r.wr_len);
		}
		if (!(p & DPA_OPP_END))
			cr_assert(len && len % MTU == 0);
	}
	cr_assert_gt(went, 1000u);
}
