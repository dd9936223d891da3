/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_hash.c - the Toeplitz hash compared with the vectors that Microsoft published for receive
 * side scaling, and the fields that it covers.
 */
#include <errno.h>
#include <criterion/criterion.h>
#include "frames.h"

#define IP4   (DPA_RSS_SRC_IPV4 | DPA_RSS_DST_IPV4)
#define IP6   (DPA_RSS_SRC_IPV6 | DPA_RSS_DST_IPV6)
#define PORTS (DPA_RSS_SRC_PORT_TCP | DPA_RSS_DST_PORT_TCP)
#define UPORT (DPA_RSS_SRC_PORT_UDP | DPA_RSS_DST_PORT_UDP)

static struct dpa_rss conf(uint64_t fields)
{
	return (struct dpa_rss){
		.fields = fields,
		.key = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
			0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
			0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
			0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa},
	};
}

static uint32_t hash(const struct frame *f, uint64_t fields)
{
	struct dpa_layers v = fr_parse(f);
	struct dpa_rss c = conf(fields);

	return dpa_rss_hash(&c, &v);
}

/* 66.9.149.187:2794 to 161.142.100.80:1766 */
static struct frame v4(void)
{
	struct frame f = {0};

	FR_ETH(&f, 0x0800);
	FR(&f, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 66, 9, 149, 187, 161, 142, 100, 80);
	FR_TCP(&f, 2794, 1766);
	return f;
}

/* 3ffe:2501:200:1fff::7, 2794 to 3ffe:2501:200:3::1, 1766 */
static struct frame v6(void)
{
	struct frame f = {0};

	FR_ETH(&f, 0x86dd);
	FR(&f, 0x60, 0, 0, 0, 0, 20, 6, 64, 0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff, 0, 0, 0,
	   0, 0, 0, 0, 7, 0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x00, 0x03, 0, 0, 0, 0, 0, 0, 0, 1);
	FR_TCP(&f, 2794, 1766);
	return f;
}

Test(raw_hash, published)
{
	struct frame a = v4(), b = v6();

	cr_expect_eq(hash(&a, IP4), 0x323e8fc2u);
	cr_expect_eq(hash(&a, IP4 | PORTS), 0x51ccc178u);
	cr_expect_eq(hash(&b, IP6), 0x2cc18cd5u);
	cr_expect_eq(hash(&b, IP6 | PORTS), 0x40207d3du);
}

Test(raw_hash, only_what_is_asked_for)
{
	static const uint8_t src[] = {66, 9, 149, 187}, port[] = {0x06, 0xe6};
	struct frame a = v4(), b = v6(), piece = {0};
	struct dpa_rss c = conf(0);

	cr_expect_eq(hash(&a, DPA_RSS_SRC_IPV4), dpa_toeplitz(c.key, src, 4));
	cr_expect_eq(hash(&a, DPA_RSS_DST_PORT_TCP), dpa_toeplitz(c.key, port, 2));
	cr_expect_eq(hash(&a, IP4 | UPORT), hash(&a, IP4), "its ports are TCP's");
	cr_expect_eq(hash(&a, IP6), 0u);
	cr_expect_eq(hash(&b, IP4), 0u);
	cr_expect_eq(hash(&a, 0), 0u);
	FR_ETH(&piece, 0x0800);
	FR(&piece, 0x45, 0, 0, 40, 0, 0, 0x20, 0, 64, 6, 0, 0, 66, 9, 149, 187, 161, 142, 100, 80);
	FR_TCP(&piece, 2794, 1766);
	cr_expect_eq(hash(&piece, IP4 | PORTS), 0x323e8fc2u, "a first piece is as its next ones");
}

Test(raw_hash, what_may_be_asked_for)
{
	struct dpa_rss c = conf(IP4 | PORTS);

	cr_expect_eq(dpa_rss_check(&c, 3), 0);
	c.fields = IP4 | DPA_RSS_SRC_IPV6;
	cr_expect_eq(dpa_rss_check(&c, 3), EINVAL);
	c.fields = IP4 | DPA_RSS_SRC_PORT_TCP | DPA_RSS_DST_PORT_UDP;
	cr_expect_eq(dpa_rss_check(&c, 3), EINVAL);
	c.fields = 1 << 8;
	cr_expect_eq(dpa_rss_check(&c, 3), EOPNOTSUPP);
	c.fields = 0;
	cr_expect_eq(dpa_rss_check(&c, 3), EINVAL);
	cr_expect_eq(dpa_rss_check(&c, 0), 0);
}
