/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_probe.c - the data of probes, and the packets for a program of the notification point. */
#include <criterion/criterion.h>
#include <string.h>
#include <wire/probe.h>

static const struct dpa_ifa_hop hop = {.device = 0x12345678 & 0x3fffffff,
				       .port = 3,
				       .ttl = 60,
				       .came = 5 * 1000000000ull + 7,
				       .left = 0x1122334455667788,
				       .queued = 0x12345,
				       .sent = 0xaabbccddee};

static uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
	return be16(p) << 16 | be16(p + 2);
}

/* Check a hop, as the public program of the notification point reads it. */
static void expect_hop(const uint8_t *md)
{
	cr_expect_eq((be32(md) >> 8) << 6 | md[3] >> 2, hop.device);
	cr_expect_eq(be16(md + 8), 0x8000);
	cr_expect_eq(be16(md + 10) << 16 | be16(md + 22), hop.queued);
	cr_expect_eq(be16(md + 18) << 16 | be16(md + 20), (uint32_t)hop.left);
	cr_expect_eq(be16(md + 26), hop.port);
	cr_expect_eq(be32(md + 28), (uint32_t)hop.sent);
	cr_expect_eq(md[6], 60);
}

Test(wire_probe, ifa2_takes_as_many_hops_as_its_header_has)
{
	uint8_t p[512], q[512];
	uint32_t n = dpa_ifa2_begin(p, 2), k;

	cr_expect_eq(n, DPA_IFA2_HEAD);
	k = dpa_ifa_add(DPA_PCC_IFA2, p, n, &hop, q);
	cr_assert_eq(k, 36u);
	cr_expect_eq(q[2], 1);
	cr_expect_eq(q[3], 8, "words");
	expect_hop(q + 4);
	q[4 + 31] ^= 1;
	n = dpa_ifa_add(DPA_PCC_IFA2, q, k, &hop, p);
	cr_assert_eq(n, 68u);
	expect_hop(p + 4); /* the last switch is the first */
	cr_expect_eq(p[4 + 32 + 31], q[4 + 31]);
	cr_expect_eq(p[2], 0);
	cr_expect_eq(dpa_ifa_add(DPA_PCC_IFA2, p, n, &hop, q), 0u);
}

Test(wire_probe, ifa1)
{
	uint8_t p[512], q[512];
	uint32_t n = dpa_ifa1_begin(p, UINT64_C(0xaaaaaaaabbbbbbbb));

	cr_expect_eq(n, DPA_IFA1_HEAD);
	cr_expect_eq(dpa_ifa1_marker(p, n), UINT64_C(0xaaaaaaaabbbbbbbb));
	cr_expect_eq(dpa_ifa1_marker(p, n - 1), 0u);
	n = dpa_ifa_add(DPA_PCC_IFA1, p, n, &hop, q);
	cr_assert_eq(n, 60u);
	cr_expect_eq(q[16], DPA_IFA_HOPS - 1);
	cr_expect_eq(q[17], 1);
	cr_expect_eq(be16(q + 22), 8u);
	expect_hop(q + 28);
}

Test(wire_probe, no_room_and_no_header)
{
	uint8_t p[512] = {0}, q[512];
	uint32_t n = dpa_ifa2_begin(p, 255), k = 0;

	for (; n; k++) {
		uint32_t m = dpa_ifa_add(DPA_PCC_IFA2, p, n, &hop, q);

		memcpy(p, q, m);
		n = m;
	}
	cr_expect_eq(k, DPA_IFA_HOPS + 1);
	cr_expect_eq(dpa_ifa_add(DPA_PCC_IFA2, p, 3, &hop, q), 0u);
	cr_expect_eq(dpa_ifa_add(DPA_PCC_IFA1, p, 27, &hop, q), 0u);
	cr_expect_eq(dpa_ifa_add(DPA_PCC_CCMAD, p, 100, &hop, q), 0u);
}

static struct dpa_probe_shown shown(enum dpa_pcc_format format, bool v4)
{
	struct dpa_probe_shown s = {.format = format,
				    .gns = 5,
				    .dqpn = 0x123456,
				    .psn = 7,
				    .sent = 0x1122334455667788,
				    .net = {.sport = 0xc001, .tclass = 2, .hop = 64}};

	if (v4) {
		memcpy(s.net.src, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\1", 16);
		memcpy(s.net.dst, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\2", 16);
	} else {
		s.net.src[0] = s.net.dst[0] = 0x20;
		s.net.src[15] = 1;
		s.net.dst[15] = 2;
	}
	return s;
}

/* The offsets at which public programs read: addresses at 26 and 30, ports at 34 and 36. */
Test(wire_probe, a_custom_header_is_behind_the_mad)
{
	struct dpa_probe_shown s = shown(DPA_PCC_CCMAD, true);
	struct dpa_pcc_probe p;

	s.payload = (const uint8_t *)"custom header123";
	s.len = 16;
	cr_assert(dpa_probe_show(&s, &p));
	cr_expect_eq(p.size - p.payload, 64u + 16);
	cr_expect_arr_eq(p.packet + p.payload + 64, s.payload, 16);
	cr_expect_eq(be16(p.packet + 16), p.size - 14, "the length of IP");
	cr_expect_eq(be16(p.packet + p.l4 + 4), p.size - p.l4, "and of UDP");
	s.len = DPA_PCC_PROBE_BYTES;
	cr_expect_not(dpa_probe_show(&s, &p));
}

Test(wire_probe, a_ccmad_packet)
{
	struct dpa_probe_shown s = shown(DPA_PCC_CCMAD, true);
	struct dpa_pcc_probe p;
	uint32_t sum = 0;

	cr_assert(dpa_probe_show(&s, &p));
	cr_expect_eq(be16(p.packet + 12), 0x0800);
	cr_expect_eq(p.packet[14 + 9], 17);
	cr_expect_eq(be32(p.packet + 26), 0xc0000201);
	cr_expect_eq(be32(p.packet + 30), 0xc0000202);
	cr_expect_eq(be16(p.packet + 34), 0xc001);
	cr_expect_eq(be16(p.packet + 36), DPA_ROCE_PORT);
	for (int i = 0; i < 20; i += 2)
		sum += be16(p.packet + 14 + i);
	cr_expect_eq((sum & 0xffff) + (sum >> 16), 0xffff);
	cr_expect_eq(p.l4, 34u);
	cr_expect_eq(p.payload, 34u + 8 + 20 + 24);
	cr_expect_eq(be32(p.packet + p.payload), 0x55667788, "the time when it left");
	cr_expect_eq(be16(p.packet + 16) + 14, p.size);
	cr_expect_eq(be16(p.packet + 38) + 34, p.size);
}

Test(wire_probe, an_ifa2_packet)
{
	struct dpa_probe_shown s = shown(DPA_PCC_IFA2, true);
	uint8_t payload[512];
	struct dpa_pcc_probe p;

	s.payload = payload;
	s.len = dpa_ifa2_begin(payload, 9);
	cr_assert(dpa_probe_show(&s, &p));
	cr_expect_eq(p.packet[14 + 9], 253);
	cr_expect_eq(p.packet[34], 0x25, "version 2, GNS 5");
	cr_expect_eq(p.packet[35], 17);
	cr_expect_eq(p.l4, 38u);
	cr_expect_eq(p.payload, 46u);
	cr_expect_eq(p.packet[p.l4 + 8 + 2], 9, "the metadata header is behind UDP's");
	cr_expect_eq(p.size, 50u);
	s.len = sizeof(payload);
	cr_expect_not(dpa_probe_show(&s, &p), "too long");
}

Test(wire_probe, of_ipv6)
{
	struct dpa_probe_shown s = shown(DPA_PCC_IFA1, false);
	uint8_t payload[DPA_IFA_HEAD];
	struct dpa_pcc_probe p;

	s.payload = payload;
	s.len = dpa_ifa1_begin(payload, 1);
	cr_assert(dpa_probe_show(&s, &p));
	cr_expect_eq(be16(p.packet + 12), 0x86dd);
	cr_expect_eq(p.packet[14 + 6], 17);
	cr_expect_eq(be16(p.packet + 14 + 4), 8u + DPA_IFA1_HEAD);
	cr_expect_arr_eq(p.packet + 14 + 8, s.net.src, 16);
	cr_expect_eq(p.l4, 54u);
	cr_expect_eq(p.size, 62u + DPA_IFA1_HEAD);
}
