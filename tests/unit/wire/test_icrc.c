/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <zlib.h>
#include <wire/crc32.h>
#include "util.h"

#define MOST 4400

static uint8_t data[MOST + 64];

static void fill(void)
{
	struct rnd r = {0x123456789};

	rnd_fill(&r, data, sizeof(data));
}

/* Compare with zlib: all lengths, with copies, which write nothing beside their target. */
static void same_as_zlib(dpa_crc32_fn *fn)
{
	static uint8_t copy[MOST + 64];

	fill();
	for (size_t n = 0; n < MOST; n++) {
		size_t off = n * 7 % 33;
		uint32_t want = (uint32_t)crc32(0, data + off, (uInt)n);

		cr_assert_eq(~fn(~0u, NULL, data + off, n), want, "%zu bytes", n);
		memset(copy, 0xa5, sizeof(copy));
		cr_assert_eq(~fn(~0u, copy + 5, data + off, n), want, "%zu bytes", n);
		cr_assert_eq(memcmp(copy + 5, data + off, n), 0);
		cr_assert_eq(copy[4], 0xa5);
		cr_assert_eq(copy[5 + n], 0xa5);
	}
}

Test(wire_icrc, tables_are_right)
{
	same_as_zlib(dpa_crc32_table);
}

Test(wire_icrc, carry_less_multiplication_is_right)
{
	if (!dpa_crc32_clmul_init())
		cr_skip("not on this machine");
	same_as_zlib(dpa_crc32_clmul);
	cr_expect_eq(dpa_crc32, dpa_crc32_vclmul_init() ? dpa_crc32_vclmul : dpa_crc32_clmul);
}

Test(wire_icrc, four_blocks_at_once_are_right)
{
	if (!dpa_crc32_vclmul_init())
		cr_skip("not on this machine");
	same_as_zlib(dpa_crc32_vclmul);
	cr_expect_eq(dpa_crc32, dpa_crc32_vclmul);
}

Test(wire_icrc, arm_instructions_are_right)
{
	if (!dpa_crc32_arm_init())
		cr_skip("not on this machine");
	same_as_zlib(dpa_crc32_arm);
}

Test(wire_icrc, pieces_are_as_good_as_the_whole)
{
	fill();
	for (size_t cut = 0; cut <= 300; cut++) {
		uint32_t s = dpa_icrc_add(dpa_icrc_add(~0u, data, cut), data + cut, 300 - cut);

		cr_assert_eq(dpa_icrc_end(s), (uint32_t)crc32(0, data, 300));
	}
}

/* Make a packet of 64 bytes of payload and n bytes in all. */
static size_t packet(const struct dpa_roce_net *net, uint32_t len, uint8_t *buf)
{
	struct dpa_roce_pkt k = {
		.opcode = 4, .pkey = 0xffff, .dqpn = 7, .psn = 9, .payload = data, .len = len};

	fill();
	return dpa_roce_encode_all(net, &k, buf, MOST);
}

/* Build the bytes that the ICRC covers: ones for the LRH, IP and UDP headers, packet; masked. */
static uint32_t by_hand(const struct dpa_roce_net *net, const uint8_t *p, size_t n)
{
	uint8_t b[8 + DPA_RAW_MAX_HDR + MOST];
	uint32_t h = dpa_raw_headers(net, (uint32_t)n, b + 8);

	memset(b, 0xff, 8);
	memcpy(b + 8 + h, p, n - 4);
	if (h == 28) {
		b[8 + 1] = b[8 + 8] = b[8 + 10] = b[8 + 11] = 0xff;
	} else {
		b[8] |= 0x0f;
		memset(b + 9, 0xff, 3);
		b[8 + 7] = 0xff;
	}
	b[8 + h - 2] = b[8 + h - 1] = b[8 + h + 4] = 0xff;
	return (uint32_t)crc32(0, b, (uInt)(8 + h + n - 4));
}

/* IBA CA17-1, CA17-22 */
Test(wire_icrc, covers_what_it_shall)
{
	uint8_t buf[MOST];

	for (uint32_t len = 0; len < 200; len++) {
		struct dpa_roce_net net = len & 1 ? net_v6() : net_v4();
		size_t n = packet(&net, len, buf);
		const uint8_t *e = buf + n - 4;
		uint32_t want = by_hand(&net, buf, n);

		cr_assert_eq(dpa_icrc_of(&net, buf, n), want);
		cr_assert_eq(e[0] | e[1] << 8 | e[2] << 16 | (uint32_t)e[3] << 24, want);
	}
}

Test(wire_icrc, every_bit_but_those_of_switches_matters)
{
	struct dpa_roce_net net = net_v4(), other = net;
	uint8_t buf[MOST];
	size_t n = packet(&net, 50, buf);

	for (size_t i = 0; i < n * 8; i++) {
		buf[i / 8] ^= (uint8_t)(1 << i % 8);
		cr_assert_eq(dpa_icrc_ok(&net, buf, n), i / 8 == 4, "byte %zu", i / 8);
		buf[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	other.tclass = 3;
	other.hop = 1;
	cr_expect(dpa_icrc_ok(&other, buf, n));
	other.ip_id++;
	cr_expect_not(dpa_icrc_ok(&other, buf, n));
	other = net;
	other.df = false;
	cr_expect_not(dpa_icrc_ok(&other, buf, n));
	other = net;
	other.sport++;
	cr_expect_not(dpa_icrc_ok(&other, buf, n));
	other = net;
	other.src[15]++;
	cr_expect_not(dpa_icrc_ok(&other, buf, n));
}

/* IBA CA17-22 */
Test(wire_icrc, flow_label_and_traffic_class_do_not_matter)
{
	struct dpa_roce_net net = net_v6();
	uint8_t buf[MOST];
	size_t n = packet(&net, 5, buf);

	net.flow = 0;
	net.tclass = 0xff;
	net.hop = 3;
	cr_expect(dpa_icrc_ok(&net, buf, n));
	net.dst[0]++;
	cr_expect_not(dpa_icrc_ok(&net, buf, n));
}

Test(wire_icrc, solved_for_every_length_and_identification)
{
	struct dpa_roce_net net = net_v4();
	uint8_t buf[MOST];

	for (uint32_t i = 0; i < 65536; i += 1 + i % 7) {
		uint16_t id = 1;
		bool df = true;
		size_t n;

		net.ip_id = (uint16_t)i;
		net.df = i >> 3 & 1;
		n = packet(&net, i % 4097, buf);
		cr_assert(dpa_icrc_solve(&net, buf, n, &id, &df));
		cr_assert_eq(id, i);
		cr_assert_eq(df, net.df);
	}
}

Test(wire_icrc, damage_has_no_solution)
{
	struct dpa_roce_net net = net_v4();
	uint8_t buf[MOST];
	size_t n = packet(&net, 100, buf);
	uint32_t taken = 0;
	uint16_t id;
	bool df;

	for (size_t i = 0; i < n * 8; i++) {
		buf[i / 8] ^= (uint8_t)(1 << i % 8);
		taken += i / 8 != 4 && dpa_icrc_solve(&net, buf, n, &id, &df);
		buf[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	cr_expect_eq(taken, 0); /* one in 32768 by chance; these bytes are always the same */
	net.sport++;
	cr_expect_not(dpa_icrc_solve(&net, buf, n, &id, &df));
}

Test(wire_icrc, ipv6_has_nothing_to_solve)
{
	struct dpa_roce_net net = net_v6();
	uint8_t buf[MOST];
	size_t n = packet(&net, 100, buf);
	uint16_t id;
	bool df;

	cr_expect(dpa_icrc_solve(&net, buf, n, &id, &df));
	cr_expect(id == 0 && !df);
	buf[20] ^= 1;
	cr_expect_not(dpa_icrc_solve(&net, buf, n, &id, &df));
}

Test(wire_icrc, too_short_is_wrong_and_is_not_read)
{
	struct dpa_roce_net net = net_v4();
	uint8_t *p = calloc(1, 15);
	uint16_t id;
	bool df;

	for (size_t n = 0; n < 16; n++) {
		cr_expect_not(dpa_icrc_ok(&net, p, n));
		cr_expect_not(dpa_icrc_solve(&net, p, n, &id, &df));
	}
	free(p);
}
