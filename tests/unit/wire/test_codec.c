/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include "util.h"

#define RAND_RUNS 200000

/*
 * The headers of each opcode, as a copy independent of the codec: s payload, D DETH, X XRCETH, F
 * FETH, R RETH, T AtomicETH, A AETH, K AtomicAckETH, I ImmDt, V IETH. NULL: there is none.
 */
static const char *const rc[32] = {"s",	 "s",  "s",  "sI",  "s",  "sI", "sR", "s",
				   "s",	 "sI", "sR", "sRI", "R",  "sA", "s",  "sA",
				   "sA", "A",  "AK", "T",   "T",  NULL, "sV", "sV",
				   NULL, NULL, NULL, NULL,  "FR", "sR", NULL, NULL};

static bool has_xrceth(uint8_t low)
{
	return low < 0x0d || low > 0x12;
}

static const char *expected(uint8_t opcode, char buf[8])
{
	uint8_t low = opcode & 0x1f;
	const char *e = rc[low];

	switch (opcode >> 5) {
	case 0:
		return e;
	case 1:
		return low < 12 ? e : NULL;
	case 3:
		return low == 4 ? "sD" : low == 5 ? "sDI" : NULL;
	case 5:
		snprintf(buf, 8, "%s%s", e ? e : "", has_xrceth(low) ? "X" : "");
		return e ? buf : NULL;
	default:
		/*
		 * the probe of the round trip and its answer use manufacturer opcodes; those of
		 * programs have a payload
		 */
		return opcode == 0x81 ? "C" : opcode == 0xd3 || opcode == 0xd4 ? "Ts" : NULL;
	}
}

static const struct {
	char c;
	uint32_t ext, bytes;
} kinds[] = {
	{'s', DPA_ROCE_PAYLOAD, 0}, {'D', DPA_ROCE_DETH, 8},	     {'X', DPA_ROCE_XRCETH, 4},
	{'F', DPA_ROCE_FETH, 4},    {'R', DPA_ROCE_RETH, 16},	     {'T', DPA_ROCE_ATOMICETH, 28},
	{'A', DPA_ROCE_AETH, 4},    {'K', DPA_ROCE_ATOMICACKETH, 8}, {'I', DPA_ROCE_IMMDT, 4},
	{'V', DPA_ROCE_IETH, 4},    {'C', DPA_ROCE_CNP, 16},
};

/* IBA 9.2 (opcodes) */
Test(wire_codec, every_opcode_has_its_headers)
{
	uint32_t known = 0;
	char buf[8];

	for (uint32_t op = 0; op < 256; op++) {
		const char *e = expected((uint8_t)op, buf);
		uint32_t ext = e ? DPA_ROCE_KNOWN : 0, len = DPA_ROCE_BTH;

		for (size_t i = 0; e && i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strchr(e, kinds[i].c)) {
				ext |= kinds[i].ext;
				len += kinds[i].bytes;
			}
		cr_expect_eq(dpa_roce_ext_of((uint8_t)op), ext, "opcode %02x: %x", op,
			     dpa_roce_ext_of((uint8_t)op));
		cr_expect_eq(dpa_roce_hdr_len((uint8_t)op), len, "opcode %02x", op);
		cr_expect_eq(strcmp(dpa_roce_opcode_name((uint8_t)op), "unknown") != 0, e != NULL);
		cr_expect_leq(len, DPA_ROCE_MAX_HDR);
		known += e != NULL;
	}
	cr_expect_eq(known, 25 + 12 + 2 + 1 + 25 + 2);
}

Test(wire_codec, names_are_those_of_the_specification)
{
	cr_expect_str_eq(dpa_roce_opcode_name(0x00), "RC SEND First");
	cr_expect_str_eq(dpa_roce_opcode_name(0x2b), "UC RDMA WRITE Only with Immediate");
	cr_expect_str_eq(dpa_roce_opcode_name(0x65), "UD SEND Only with Immediate");
	cr_expect_str_eq(dpa_roce_opcode_name(0xb1), "XRC Acknowledge");
	cr_expect_str_eq(dpa_roce_opcode_name(0x81), "CNP");
	cr_expect_str_eq(dpa_roce_opcode_name(0x15), "unknown");
	for (int v = 0; v < DPA_ROCE_VERDICTS; v++)
		for (int w = 0; w < v; w++)
			cr_expect_str_neq(dpa_roce_verdict_name((enum dpa_roce_verdict)v),
					  dpa_roce_verdict_name((enum dpa_roce_verdict)w));
	cr_expect_str_eq(dpa_roce_verdict_name(DPA_ROCE_VERDICTS), "?");
}

/* Bytes by hand: the place of each field. */
/* IBA 9.3 (order) */
Test(wire_codec, xrc_write_only_with_immediate_byte_for_byte)
{
	static const uint8_t p[] = {0xab, 0xe0 | 0x10, 0xff, 0xff, 0xc5, 0x12, 0x34, 0x56,
				    0x83, 0xab,	       0xcd, 0xef, /* BTH */
				    0x00, 0x11,	       0x22, 0x33, /* XRC */
				    1,	  2,	       3,    4,	   5,	 6,    7,    8,
				    9,	  10,	       11,   12,   0,	 0,    0,    3, /* RETH */
				    0xde, 0xad,	       0xbe, 0xef,			/* ImmDt */
				    'a',  'b',	       'c',  0,	    /* payload, pad */
				    0x78, 0x56,	       0x34, 0x12}; /* ICRC */
	struct dpa_roce_pkt k;
	uint8_t buf[DPA_ROCE_MAX_HDR];

	cr_assert_eq(dpa_roce_decode(p, sizeof(p), &k), DPA_ROCE_OK);
	cr_expect(k.se && k.mig && k.fecn && k.becn && k.ackreq);
	cr_expect_eq(k.pad, 3);
	cr_expect_eq(k.resv6, 5);
	cr_expect_eq(k.resv7, 3);
	cr_expect_eq(k.pkey, 0xffff);
	cr_expect_eq(k.dqpn, 0x123456);
	cr_expect_eq(k.psn, 0xabcdef);
	cr_expect_eq(k.xrcsrq, 0x112233);
	cr_expect_eq(k.va, 0x0102030405060708);
	cr_expect_eq(k.rkey, 0x090a0b0c);
	cr_expect_eq(k.dmalen, 3);
	cr_expect_eq(k.imm, 0xdeadbeef);
	cr_expect_eq(k.len, 1);
	cr_expect_eq(k.payload[0], 'a');
	cr_expect_eq(k.icrc, 0x12345678);
	cr_expect_eq(dpa_roce_encode(&k, buf), 36);
	cr_expect_arr_eq(buf, p, 36);
}

Test(wire_codec, flush_has_its_own_header_before_the_reth)
{
	uint8_t p[12 + 4 + 16 + 4] = {0x1c, 0, 0xff, 0xff, 0, 0, 0, 9, [15] = 0x13, [27] = 7};
	struct dpa_roce_pkt k;

	cr_assert_eq(dpa_roce_decode(p, sizeof(p), &k), DPA_ROCE_OK);
	cr_expect_eq(k.feth, 0x13);
	cr_expect_eq(k.rkey, 7);
}

Test(wire_codec, a_cnp_is_sixteen_reserved_bytes)
{
	struct dpa_roce_pkt k = {.opcode = 0x81, .becn = true, .pkey = 0xffff, .dqpn = 5}, got;
	struct dpa_roce_net net = net_v4();
	uint8_t buf[64];

	memset(buf, 0xee, sizeof(buf));
	cr_assert_eq(dpa_roce_encode_all(&net, &k, buf, sizeof(buf)), 32);
	for (int i = 12; i < 28; i++)
		cr_expect_eq(buf[i], 0);
	cr_expect_eq(dpa_roce_decode(buf, 32, &got), DPA_ROCE_OK);
	cr_expect(got.becn && got.len == 0);
	buf[13] = 0xff; /* reserved: ignored */
	cr_expect_eq(dpa_roce_decode(buf, 32, &got), DPA_ROCE_OK);
}

/* ---- Refusals. The packet: RC SEND Only of 8 bytes to QP 9. */

static uint8_t send_only[12 + 8 + 4] = {4, 0, 0xff, 0xff, 0, 0, 0, 9};

static enum dpa_roce_verdict changed(size_t at, uint8_t to)
{
	uint8_t p[sizeof(send_only)];
	struct dpa_roce_pkt k;

	memcpy(p, send_only, sizeof(p));
	p[at] = to;
	return dpa_roce_decode(p, sizeof(p), &k);
}

static enum dpa_roce_verdict of_len(size_t n)
{
	uint8_t *p = calloc(1, n + 1); /* a read past the end is seen by sanitizers */
	enum dpa_roce_verdict v;
	struct dpa_roce_pkt k;

	memcpy(p, send_only, n < sizeof(send_only) ? n : sizeof(send_only));
	v = dpa_roce_decode(p, n, &k);
	free(p);
	return v;
}

/* IBA CA17-39 */
Test(wire_codec, refused_too_short)
{
	cr_expect_eq(changed(0, 4), DPA_ROCE_OK);
	for (size_t n = 0; n < 16; n++)
		cr_expect_eq(of_len(n), DPA_ROCE_SHORT);
	cr_expect_eq(of_len(16), DPA_ROCE_OK);
	cr_expect_eq(changed(0, 0x13), DPA_ROCE_SHORT); /* the AtomicETH does not fit */
	cr_expect_eq(changed(0, 0x81), DPA_ROCE_SHORT);
}

/* IBA 9.2 (tver) */
Test(wire_codec, refused_version)
{
	for (uint8_t v = 1; v < 16; v++)
		cr_expect_eq(changed(1, v), DPA_ROCE_VERSION);
}

/* IBA 9.2 (reserved-opcode) */
Test(wire_codec, refused_opcode)
{
	char buf[8];

	for (uint32_t op = 0; op < 256; op++)
		cr_expect_eq(changed(0, (uint8_t)op) == DPA_ROCE_OPCODE,
			     !expected((uint8_t)op, buf), "opcode %02x", op);
}

/* IBA 9.2 (pad) */
Test(wire_codec, refused_pad_and_length)
{
	for (size_t n = 17; n < 24; n++)
		cr_expect_eq(of_len(n), n % 4 ? DPA_ROCE_PAD : DPA_ROCE_OK);
	cr_expect_eq(changed(1, 0x30), DPA_ROCE_OK);
	send_only[1] = 0x10; /* pad 1 of no payload */
	cr_expect_eq(of_len(16), DPA_ROCE_PAD);
	cr_expect_eq(of_len(20), DPA_ROCE_OK);
}

Test(wire_codec, refused_longer_than_the_largest_mtu)
{
	cr_expect_eq(of_len(16 + 4096), DPA_ROCE_OK);
	cr_expect_eq(of_len(16 + 4100), DPA_ROCE_LONG);
	send_only[1] = 0x30;
	cr_expect_eq(of_len(16 + 4100), DPA_ROCE_LONG); /* 4097 and pad */
	send_only[1] = 0;
	cr_expect_eq(of_len(65507 & ~3u), DPA_ROCE_LONG);
}

Test(wire_codec, refused_payload_where_there_is_none)
{
	cr_expect_eq(changed(0, 0x11), DPA_ROCE_NO_PAYLOAD); /* 4 bytes of AETH, 4 too many */
	send_only[0] = 0x81;
	cr_expect_eq(of_len(32), DPA_ROCE_OK);
	cr_expect_eq(of_len(36), DPA_ROCE_NO_PAYLOAD);
	send_only[0] = 0x0c;
	cr_expect_eq(of_len(12 + 16 + 4), DPA_ROCE_OK);
	cr_expect_eq(of_len(12 + 16 + 8), DPA_ROCE_NO_PAYLOAD);
}

/* IBA 9.2 (dqpn), CA17-33 */
Test(wire_codec, refused_destination_qp)
{
	cr_expect_eq(changed(7, 0), DPA_ROCE_DQPN); /* QP0 */
	cr_expect_eq(changed(7, 1), DPA_ROCE_DQPN); /* no management packet */
	cr_expect_eq(changed(7, 2), DPA_ROCE_OK);
	send_only[0] = 0x64;
	send_only[7] = 1;
	cr_expect_eq(of_len(12 + 8 + 256 + 4), DPA_ROCE_OK);
	cr_expect_eq(of_len(12 + 8 + 252 + 4), DPA_ROCE_DQPN);
	memset(send_only + 5, 0xff, 3); /* multicast */
	cr_expect_eq(of_len(12 + 8 + 256 + 4), DPA_ROCE_OK);
	send_only[0] = 4;
	cr_expect_eq(of_len(12 + 8 + 256 + 4), DPA_ROCE_DQPN);
}

/* ---- At random */

static uint64_t seed(void)
{
	uint64_t s = 1;

	if (getenv("DPA_TEST_SEED"))
		s = strtoull(getenv("DPA_TEST_SEED"), NULL, 0) | 1;
	cr_log_info("DPA_TEST_SEED=%llu", (unsigned long long)s);
	return s;
}

/* IBA 9.3 (order), CA17-29 */
Test(wire_codec, what_is_encoded_is_decoded)
{
	struct rnd r = {seed()};
	uint8_t data[DPA_ROCE_MAX_MTU], buf[DPA_ROCE_MAX_MTU + DPA_ROCE_MAX_HDR + 8];
	struct dpa_roce_pkt k, got;

	rnd_fill(&r, data, sizeof(data));
	for (uint32_t i = 0; i < 256 * 200; i++) {
		struct dpa_roce_net net = i & 1 ? net_v6() : net_v4();
		uint32_t n;

		if (!dpa_roce_ext_of(i & 0xff))
			continue;
		rnd_pkt(&r, i & 0xff, data, i & 0x100 ? sizeof(data) : 40, &k);
		n = dpa_roce_encode_all(&net, &k, buf, sizeof(buf));
		cr_assert_eq(dpa_roce_decode(buf, n, &got), DPA_ROCE_OK);
		cr_assert(dpa_icrc_ok(&net, buf, n));
		cr_assert_eq(memcmp(got.payload, data, k.len), 0);
		k.payload = got.payload;
		k.icrc = got.icrc;
		/* both began as zeros: padding between members is equal too */
		cr_assert_eq(memcmp(&k, &got, sizeof(k)), 0, "opcode %02x", i & 0xff);
	}
}

/* Clear bytes that the codec does not keep: reserved ones and pad. */
static void blank(const struct dpa_roce_pkt *k, uint8_t *p, size_t n)
{
	uint32_t ext = dpa_roce_ext_of(k->opcode);

	if (ext & DPA_ROCE_DETH)
		p[16] = 0;
	if (ext & DPA_ROCE_XRCETH)
		p[12] = 0;
	if (ext & DPA_ROCE_CNP)
		memset(p + 12, 0, 16);
	memset(p + n - 4 - k->pad, 0, 4u + k->pad);
}

/* Accepted random bytes are equal when encoded again; nothing is read past the end. */
Test(wire_codec, what_is_taken_of_damaged_packets_is_encoded_again)
{
	struct rnd r = {seed()};
	uint32_t taken = 0;

	for (uint32_t i = 0; i < RAND_RUNS; i++) {
		uint32_t n = rnd_next(&r) % 100;
		uint8_t *p = malloc(n ? n : 1), out[200];
		struct dpa_roce_pkt k;

		rnd_fill(&r, p, n);
		if (n > 1 && i & 1)
			p[1] &= 0xf0;
		if (dpa_roce_decode(p, n, &k) == DPA_ROCE_OK) {
			uint32_t hdr = dpa_roce_encode(&k, out);

			taken++;
			cr_assert_eq(hdr + k.len + k.pad + 4, n);
			memcpy(out + hdr, k.payload, k.len);
			memset(out + hdr + k.len, 0, k.pad + 4u);
			blank(&k, p, n);
			cr_assert_arr_eq(out, p, n, "opcode %02x", k.opcode);
		}
		free(p);
	}
	cr_expect_gt(taken, RAND_RUNS / 200);
}
