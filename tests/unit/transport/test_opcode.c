/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_opcode.c - BTH opcodes, PSN arithmetic, timers: the numbers of IBA volume 1, as a second
 * copy.
 */
#include <criterion/criterion.h>
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "link/lane.h"

#define REQ (DPA_OPP_VALID)
#define ANS (DPA_OPP_VALID | DPA_OPP_RESP)

/* IBA 9.2.1, table 38: headers after the BTH, in bytes on the wire. */
static const struct {
	const char *name;
	uint8_t op;
	bool first, last; /* of the message */
	uint16_t kind;
	uint32_t reth, atomic, aeth, atomic_ack, imm; /* immediate or IETH */
	bool receive;				      /* takes a receive when it is complete */
} ops[] = {
	{"SEND First", 0x00, 1, 0, REQ | DPA_OPP_SEND, 0, 0, 0, 0, 0, 0},
	{"SEND Middle", 0x01, 0, 0, REQ | DPA_OPP_SEND, 0, 0, 0, 0, 0, 0},
	{"SEND Last", 0x02, 0, 1, REQ | DPA_OPP_SEND, 0, 0, 0, 0, 0, 1},
	{"SEND Last Imm", 0x03, 0, 1, REQ | DPA_OPP_SEND | DPA_OPP_IMM, 0, 0, 0, 0, 4, 1},
	{"SEND Only", 0x04, 1, 1, REQ | DPA_OPP_SEND, 0, 0, 0, 0, 0, 1},
	{"SEND Only Imm", 0x05, 1, 1, REQ | DPA_OPP_SEND | DPA_OPP_IMM, 0, 0, 0, 0, 4, 1},
	{"WRITE First", 0x06, 1, 0, REQ | DPA_OPP_WRITE, 16, 0, 0, 0, 0, 0},
	{"WRITE Middle", 0x07, 0, 0, REQ | DPA_OPP_WRITE, 0, 0, 0, 0, 0, 0},
	{"WRITE Last", 0x08, 0, 1, REQ | DPA_OPP_WRITE, 0, 0, 0, 0, 0, 0},
	{"WRITE Last Imm", 0x09, 0, 1, REQ | DPA_OPP_WRITE | DPA_OPP_IMM, 0, 0, 0, 0, 4, 1},
	{"WRITE Only", 0x0a, 1, 1, REQ | DPA_OPP_WRITE, 16, 0, 0, 0, 0, 0},
	{"WRITE Only Imm", 0x0b, 1, 1, REQ | DPA_OPP_WRITE | DPA_OPP_IMM, 16, 0, 0, 0, 4, 1},
	{"READ Request", 0x0c, 1, 1, REQ | DPA_OPP_READ, 16, 0, 0, 0, 0, 0},
	{"READ Response First", 0x0d, 1, 0, ANS | DPA_OPP_READ, 0, 0, 4, 0, 0, 0},
	{"READ Response Middle", 0x0e, 0, 0, ANS | DPA_OPP_READ, 0, 0, 0, 0, 0, 0},
	{"READ Response Last", 0x0f, 0, 1, ANS | DPA_OPP_READ, 0, 0, 4, 0, 0, 0},
	{"READ Response Only", 0x10, 1, 1, ANS | DPA_OPP_READ, 0, 0, 4, 0, 0, 0},
	{"Acknowledge", 0x11, 1, 1, ANS, 0, 0, 4, 0, 0, 0},
	{"ATOMIC Acknowledge", 0x12, 1, 1, ANS | DPA_OPP_ATOMIC, 0, 0, 4, 8, 0, 0},
	{"CmpSwap", 0x13, 1, 1, REQ | DPA_OPP_ATOMIC, 0, 28, 0, 0, 0, 0},
	{"FetchAdd", 0x14, 1, 1, REQ | DPA_OPP_ATOMIC, 0, 28, 0, 0, 0, 0},
	{"SEND Last Inv", 0x16, 0, 1, REQ | DPA_OPP_SEND | DPA_OPP_INV, 0, 0, 0, 0, 4, 1},
	{"SEND Only Inv", 0x17, 1, 1, REQ | DPA_OPP_SEND | DPA_OPP_INV, 0, 0, 0, 0, 4, 1},
	{"FLUSH", 0x1c, 1, 1, REQ | DPA_OPP_FLUSH, 16, 0, 0, 0, 4, 0}, /* and its FETH */
	{"ATOMIC WRITE", 0x1d, 1, 1, REQ | DPA_OPP_AWRITE, 16, 0, 0, 0, 0, 0},
};
#define NOPS (sizeof(ops) / sizeof(ops[0]))

static uint32_t up8(uint32_t n)
{
	return (n + 7) & ~7u;
}

/* IBA 9.2 (opcodes) */
Test(transport_opcode, table)
{
	for (size_t i = 0; i < NOPS; i++) {
		uint16_t want = ops[i].kind | (ops[i].first ? DPA_OPP_START : 0) |
				(ops[i].last ? DPA_OPP_END : 0) | (ops[i].reth ? DPA_OPP_RETH : 0) |
				(ops[i].aeth ? DPA_OPP_AETH : 0) |
				(ops[i].receive ? DPA_OPP_RQ : 0);

		for (uint32_t tr = 0; tr < 256; tr += 0x20)
			cr_expect_eq(dpa_op_props((uint8_t)(tr | ops[i].op)), want, "%s",
				     ops[i].name);
	}
}

/* IBA 9.2 (reserved-opcode) */
Test(transport_opcode, reserved_ones_are_not_valid)
{
	uint32_t known = 0;

	for (size_t i = 0; i < NOPS; i++)
		known |= 1u << ops[i].op;
	for (uint32_t op = 0; op < 32; op++)
		if (!(known >> op & 1))
			cr_expect_eq(dpa_op_props((uint8_t)op), 0);
}

/* A burst of three packets: IBA table 38. */
Test(transport_opcode, a_run_is_split_and_joined)
{
	static const struct {
		uint8_t op, of[3];
	} t[] = {
		{0x00, {0x00, 0x01, 0x01}}, {0x01, {0x01, 0x01, 0x01}}, {0x02, {0x01, 0x01, 0x02}},
		{0x03, {0x01, 0x01, 0x03}}, {0x04, {0x00, 0x01, 0x02}}, {0x05, {0x00, 0x01, 0x03}},
		{0x06, {0x06, 0x07, 0x07}}, {0x07, {0x07, 0x07, 0x07}}, {0x08, {0x07, 0x07, 0x08}},
		{0x09, {0x07, 0x07, 0x09}}, {0x0a, {0x06, 0x07, 0x08}}, {0x0b, {0x06, 0x07, 0x09}},
		{0x0d, {0x0d, 0x0e, 0x0e}}, {0x0e, {0x0e, 0x0e, 0x0e}}, {0x0f, {0x0e, 0x0e, 0x0f}},
		{0x10, {0x0d, 0x0e, 0x0f}}, {0x16, {0x01, 0x01, 0x16}}, {0x17, {0x00, 0x01, 0x16}},
		{0x24, {0x20, 0x21, 0x22}}, {0x2b, {0x26, 0x27, 0x29}},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		cr_expect_eq(dpa_op_split(t[i].op, true, true), t[i].op);
		for (uint32_t k = 0; k < 3; k++)
			cr_expect_eq(dpa_op_split(t[i].op, !k, k == 2), t[i].of[k], "%#x, %u",
				     t[i].op, k);
		cr_expect_eq(dpa_op_join(t[i].of[0], t[i].of[2]), t[i].op, "%#x", t[i].op);
		cr_expect_eq(dpa_op_join(t[i].op, t[i].op), t[i].op, "%#x", t[i].op);
	}
}

/* An opcode without segments is the same at any position of its packet. */
Test(transport_opcode, one_packet_is_not_split)
{
	static const uint8_t alone[] = {0x0c, 0x11, 0x12, 0x13, 0x14, 0x1c, 0x1d};

	for (size_t i = 0; i < sizeof(alone); i++)
		for (uint8_t where = 0; where < 4; where++)
			cr_expect_eq(dpa_op_segment(DPA_BTH_XRC | alone[i], where >> 1, where & 1),
				     DPA_BTH_XRC | alone[i]);
}

/* An entry has room for the wire's headers, in host order and aligned. */
/* IBA 9.2 (opcodes) */
Test(transport_opcode, header_lengths)
{
	for (size_t i = 0; i < NOPS; i++) {
		uint32_t n = dpa_ext_len(ops[i].op), aeth = ops[i].aeth ? 16 : 0;
		uint32_t want = up8(ops[i].reth) + up8(ops[i].atomic) + aeth + up8(ops[i].imm);

		cr_expect_eq(n, want, "%s: %u, not %u", ops[i].name, n, want);
		cr_expect_eq(n % 8, 0);
		cr_expect_leq(n, DPA_PKT_EXT);
	}
	cr_expect_eq(dpa_ext_len(DPA_BTH_UD | DPA_BTH_SEND_ONLY), 16); /* DETH 8, ImmDt */
	cr_expect_eq(dpa_ext_len(DPA_BTH_UD | DPA_BTH_SEND_ONLY_IMM), 16);
	cr_expect_eq(offsetof(struct dpa_ext, imm_after_reth), 16);
	cr_expect_eq(offsetof(struct dpa_ext, swap_add), 16);
	cr_expect_eq(offsetof(struct dpa_ext, compare), 24);
	cr_expect_eq(offsetof(struct dpa_ext, orig), 8);
}

/* IBA 9.2 (psn-bits) */
Test(transport_opcode, psn_wraps_at_24_bits)
{
	cr_expect_eq(dpa_psn_add(0xffffff, 1), 0);
	cr_expect_eq(dpa_psn_add(0xfffff0, 0x20), 0x10);
	cr_expect_eq(dpa_psn_add(0, 0xffffff), 0xffffff);
	cr_expect_eq(dpa_psn_diff(0, 0xffffff), 1);
	cr_expect_eq(dpa_psn_diff(0xffffff, 0), -1);
	cr_expect_eq(dpa_psn_diff(5, 5), 0);
}

/* IBA 9.7.1: half of the space is old, half is new. */
/* IBA 9.7.1 (half) */
Test(transport_opcode, psn_window_is_half_the_space)
{
	static const uint32_t base[] = {0, 1, 0x7fffff, 0x800000, 0x800001, 0xfffffe, 0xffffff};
	static const uint32_t step[] = {1, 2, 1000, 0x3fffff, 0x7ffffe, 0x7fffff};

	for (size_t i = 0; i < sizeof(base) / sizeof(base[0]); i++) {
		for (size_t k = 0; k < sizeof(step) / sizeof(step[0]); k++) {
			uint32_t a = dpa_psn_add(base[i], step[k]);

			cr_expect_eq(dpa_psn_diff(a, base[i]), (int32_t)step[k]);
			cr_expect_eq(dpa_psn_diff(base[i], a), -(int32_t)step[k]);
		}
		cr_expect_lt(dpa_psn_diff(dpa_psn_add(base[i], 0x800000), base[i]), 0);
	}
}

/* IBA 9.7.1 (message-packets) */
Test(transport_opcode, packets_of_a_message)
{
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
		cr_expect_eq(dpa_npkts(0, mtu), 1);
		cr_expect_eq(dpa_npkts(1, mtu), 1);
		cr_expect_eq(dpa_npkts(mtu, mtu), 1);
		cr_expect_eq(dpa_npkts(mtu + 1, mtu), 2);
		cr_expect_eq(dpa_npkts(0x80000000u, mtu), 0x80000000u / mtu);
		cr_expect_eq(dpa_npkts(0xffffffffu, mtu), 0x100000000ull / mtu);
	}
}

/* IBA 9.7.5.2.8, table 46: milliseconds times 100. */
/* IBA 9.7.5 (rnr-timer) */
Test(transport_opcode, rnr_timer)
{
	static const uint32_t t[32] = {65536, 1,    2,	  3,	 4,	6,     8,     12,
				       16,    24,   32,	  48,	 64,	96,    128,   192,
				       256,   384,  512,  768,	 1024,	1536,  2048,  3072,
				       4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

	for (uint32_t i = 0; i < 32; i++)
		cr_expect_eq(dpa_rnr_ns((uint8_t)i), t[i] * 10000ull);
	for (uint32_t i = 3; i < 31; i++) /* each is a half or a third more than the one before */
		cr_expect(dpa_rnr_ns((uint8_t)(i + 1)) * 2 <= dpa_rnr_ns((uint8_t)i) * 3 + 10000);
}

/* IBA 9.7.6.1.3: 4.096 us * 2^t; 0 is without end. */
/* IBA C9-140 */
Test(transport_opcode, ack_timeout)
{
	cr_expect_eq(dpa_timeout_ns(0), UINT64_MAX);
	cr_expect_eq(dpa_timeout_ns(1), 8192);
	cr_expect_eq(dpa_timeout_ns(14), 67108864);
	for (uint32_t i = 1; i < 32; i++)
		cr_expect_eq(dpa_timeout_ns((uint8_t)i), 4096ull << i);
}
