/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_frame.c - headers found in a frame, without a read beyond its end. */
#include <stdlib.h>
#include <criterion/criterion.h>
#include "frames.h"

/* The kinds in order; 0x100: behind a tunnel. */
static void expect_kinds(const struct frame *f, const uint16_t *want, uint32_t n)
{
	struct dpa_layers v = fr_parse(f);

	cr_assert_eq(v.n, n, "%u layers", v.n);
	for (uint32_t i = 0; i < n; i++)
		cr_expect_eq(v.l[i].kind | (v.l[i].inner ? DPA_FLOW_INNER : 0), want[i],
			     "layer %u is 0x%x", i, v.l[i].kind);
}

#define KINDS(f, ...)                                                                              \
	do {                                                                                       \
		const uint16_t want_[] = {__VA_ARGS__};                                            \
		expect_kinds(f, want_, sizeof(want_) / sizeof(want_[0]));                          \
	} while (0)

Test(raw_frame, ethernet_and_tags)
{
	struct frame f = {0}, tagged = {0};
	struct dpa_layers v;

	FR_ETH(&f, 0x0800);
	v = fr_parse(&f);
	cr_assert_eq(v.n, 1u);
	cr_expect(!v.l[0].optional);
	cr_expect(!memcmp(v.l[0].f, f.b, 14));
	FR_ETH(&tagged, 0x88a8);
	FR(&tagged, 0xac, 0x0c, 0x81, 0x00, 0x12, 0x34, 0x86, 0xdd);
	v = fr_parse(&tagged);
	cr_assert_eq(v.n, 1u);
	cr_expect(v.l[0].optional);
	cr_expect(!memcmp(v.l[0].f + 12, "\x86\xdd\xac\x0c", 4), "type and first tag");
}

Test(raw_frame, ip_fields)
{
	struct frame f4 = {0}, f6 = {0};
	struct dpa_layers v;

	FR_ETH(&f4, 0x0800);
	FR_IPV4(&f4, 17);
	FR_UDP(&f4, 1234, 5678);
	v = fr_parse(&f4);
	cr_assert_eq(v.n, 3u);
	cr_expect(!memcmp(v.l[1].f, "\x0a\x01\x01\x01\x0a\x02\x02\x02\x11\x28\x3d\x02", 12));
	cr_expect(!memcmp(v.l[2].f, "\x16\x2e\x04\xd2", 4), "destination first");
	FR_ETH(&f6, 0x86dd);
	FR_IPV6(&f6, 0);
	FR(&f6, 6, 0, 0, 0, 0, 0, 0, 0); /* hop-by-hop options, then TCP */
	FR_TCP(&f6, 7, 8);
	v = fr_parse(&f6);
	cr_assert_eq(v.n, 3u);
	cr_expect(!memcmp(v.l[1].f, f6.b + 14 + 8, 32));
	cr_expect(!memcmp(v.l[1].f + 32, "\x00\x0c\xde\xf1\x06\xab\x21", 7), "label to hop limit");
	cr_expect(!memcmp(v.l[2].f, "\0\x08\0\x07", 4));
}

Test(raw_frame, pieces_have_no_ports)
{
	struct frame f = {0};

	FR_ETH(&f, 0x0800);
	FR_IPV4_PIECE(&f, 17);
	FR_UDP(&f, 1, 2);
	KINDS(&f, DPA_FLOW_ETH, DPA_FLOW_IPV4);
	cr_expect(fr_parse(&f).l[1].optional);
}

Test(raw_frame, tunnels)
{
	const uint16_t in = DPA_FLOW_INNER;
	struct frame vxlan = {0}, gre = {0}, labels = {0}, esp = {0};
	struct dpa_layers v;

	FR_ETH(&vxlan, 0x0800);
	FR_IPV4(&vxlan, 17);
	FR_UDP(&vxlan, 99, 4789);
	FR(&vxlan, 8, 0, 0, 0, 0x76, 0xad, 0xf1, 0);
	FR_ETH(&vxlan, 0x86dd);
	FR_IPV6(&vxlan, 6);
	FR_TCP(&vxlan, 1, 2);
	KINDS(&vxlan, DPA_FLOW_ETH, DPA_FLOW_IPV4, DPA_FLOW_UDP, DPA_FLOW_VXLAN, DPA_FLOW_ETH | in,
	      DPA_FLOW_IPV6 | in, DPA_FLOW_TCP | in);
	v = fr_parse(&vxlan);
	cr_expect(!memcmp(v.l[3].f, "\x00\x76\xad\xf1", 4), "VNI");

	FR_ETH(&gre, 0x86dd);
	FR_IPV6(&gre, 47);
	FR(&gre, 0xa0, 0, 0x08, 0x00, 1, 1, 0, 0, 0xde, 0xad, 0xbe, 0xef); /* checksum, key */
	FR_IPV4(&gre, 17);
	FR_UDP(&gre, 5, 4789); /* a tunnel in a tunnel is not parsed */
	FR(&gre, 8, 0, 0, 0, 1, 2, 3, 0);
	KINDS(&gre, DPA_FLOW_ETH, DPA_FLOW_IPV6, DPA_FLOW_GRE, DPA_FLOW_IPV4 | in,
	      DPA_FLOW_UDP | in);
	v = fr_parse(&gre);
	cr_expect(v.l[2].optional);
	cr_expect(!memcmp(v.l[2].f, "\xa0\0\x08\0\xde\xad\xbe\xef", 8));

	FR_ETH(&labels, 0x8847);
	FR(&labels, 0, 1, 0x20, 64, 0, 2, 0x31, 63);
	FR_IPV4(&labels, 50);
	FR(&labels, 1, 2, 3, 4, 5, 6, 7, 8);
	KINDS(&labels, DPA_FLOW_ETH, DPA_FLOW_MPLS, DPA_FLOW_MPLS, DPA_FLOW_IPV4, DPA_FLOW_ESP);
	FR_ETH(&esp, 0x0800);
	FR_IPV4(&esp, 17);
	FR_UDP(&esp, 1, 6635);
	FR(&esp, 0, 1, 0x21, 64);
	FR_IPV4(&esp, 6);
	KINDS(&esp, DPA_FLOW_ETH, DPA_FLOW_IPV4, DPA_FLOW_UDP, DPA_FLOW_MPLS, DPA_FLOW_IPV4 | in);
}

/* Every frame above truncated at each length, and random data: in memory that ends with it. */
Test(raw_frame, reads_nothing_beyond)
{
	struct frame f = {0};
	uint32_t seed = 1;

	FR_ETH(&f, 0x8100);
	FR(&f, 0, 5, 0x08, 0x00);
	FR_IPV4(&f, 47);
	FR(&f, 0xb0, 0, 0x65, 0x58, 1, 1, 0, 0, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 1);
	FR_ETH(&f, 0x86dd);
	FR_IPV6(&f, 44);
	FR(&f, 17, 0, 0, 1, 0, 0, 0, 9);
	FR_UDP(&f, 5, 4789);
	for (uint32_t round = 0; round < 20000; round++) {
		uint32_t n = round <= f.n ? round : round % (f.n + 1);
		uint8_t *p = malloc(n ? n : 1);
		struct dpa_layers v;

		memcpy(p, f.b, n);
		for (uint32_t k = 0; n && round > f.n && k < 3; k++) {
			seed = seed * 1103515245u + 12345u;
			p[(seed >> 8) % n] = (uint8_t)(seed >> 24);
		}
		dpa_frame_parse(p, n, &v);
		cr_assert_leq(v.n, (uint32_t)DPA_LAYERS);
		free(p);
	}
}

/* More labels than are parsed. */
Test(raw_frame, no_end_of_labels)
{
	struct frame f = {0};

	FR_ETH(&f, 0x8847);
	for (int i = 0; i < 100; i++)
		FR(&f, 0, 0, 0, 0);
	cr_expect_eq(fr_parse(&f).n, (uint32_t)DPA_LAYERS);
}
