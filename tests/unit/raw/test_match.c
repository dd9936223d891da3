/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_match.c - rules that match a frame, and the receivers of the frame. */
#include <errno.h>
#include <criterion/criterion.h>
#include "frames.h"

static struct frame udp_frame(void)
{
	struct frame f = {0};

	FR_ETH(&f, 0x0800);
	FR_IPV4(&f, 17);
	FR_UDP(&f, 1234, 5678);
	return f;
}

static struct dpa_flow_spec spec(uint16_t type, const char *val, const char *mask, uint32_t n)
{
	struct dpa_flow_spec s = {.type = type};

	memcpy(s.val, val, n);
	memcpy(s.mask, mask, n);
	return s;
}

static bool one(const struct frame *f, struct dpa_flow_spec s)
{
	struct dpa_flow_rule r = {.nspecs = 1, .spec = {s}};
	struct dpa_layers v = fr_parse(f);

	return dpa_flow_match(&r, &v);
}

Test(raw_match, masks)
{
	struct frame f = udp_frame();

	cr_expect(one(&f, spec(DPA_FLOW_ETH, "\1\2\3", "\xff\xff\xff", 3)));
	cr_expect(!one(&f, spec(DPA_FLOW_ETH, "\1\2\4", "\xff\xff\xff", 3)));
	cr_expect(one(&f, spec(DPA_FLOW_ETH, "\1\2\4", "\xff\xff\xf8", 3)), "bits of a byte");
	cr_expect(one(&f, spec(DPA_FLOW_IPV4, "\x0a\1\1\1", "\xff\xff\xff\xff", 4)));
	cr_expect(one(&f,
		      spec(DPA_FLOW_IPV4_EXT, "\0\0\0\0\0\0\0\0\x11", "\0\0\0\0\0\0\0\0\xff", 9)));
	cr_expect(one(&f, spec(DPA_FLOW_UDP, "\x16\x2e\x04\xd2", "\xff\xff\xff\xff", 4)));
	cr_expect(!one(&f, spec(DPA_FLOW_TCP, "", "", 0)), "a spec asks for its header");
	cr_expect(!one(&f, spec(DPA_FLOW_UDP | DPA_FLOW_INNER, "", "", 0)));
	cr_expect(!one(&f, spec(DPA_FLOW_ETH, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
				"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16)),
		  "a tag of any number is a tag");
}

Test(raw_match, all_specs)
{
	struct frame f = udp_frame();
	struct dpa_layers v = fr_parse(&f);
	struct dpa_flow_rule r = {
		.nspecs = 2,
		.spec = {spec(DPA_FLOW_UDP, "\x16\x2e", "\xff\xff", 2),
			 spec(DPA_FLOW_IPV4, "\x0a\1\1\1", "\xff\xff\xff\xff", 4)},
	};

	cr_expect(dpa_flow_match(&r, &v), "in any order");
	r.spec[1].val[3] = 2;
	cr_expect(!dpa_flow_match(&r, &v));
	r.nspecs = 0;
	cr_expect(dpa_flow_match(&r, &v), "no spec: every frame");
	r.nspecs = UINT16_MAX; /* invalid input */
	r.spec[2].type = 0x7777;
	cr_expect(!dpa_flow_match(&r, &v));
}

/* A label is that of its position in the list of specs. */
Test(raw_match, labels_in_order)
{
	struct frame f = {0};
	struct dpa_layers v;
	struct dpa_flow_rule r = {
		.nspecs = 2,
		.spec = {spec(DPA_FLOW_MPLS, "\0\1", "\xff\xff", 2),
			 spec(DPA_FLOW_MPLS, "\0\2", "\xff\xff", 2)},
	};

	FR_ETH(&f, 0x8847);
	FR(&f, 0, 1, 0x20, 64, 0, 2, 0x31, 63);
	v = fr_parse(&f);
	cr_expect(dpa_flow_match(&r, &v));
	r.spec[0].val[1] = 2;
	r.spec[1].val[1] = 1;
	cr_expect(!dpa_flow_match(&r, &v));
}

Test(raw_match, inner)
{
	struct frame f = {0};

	FR_ETH(&f, 0x0800);
	FR_IPV4(&f, 47);
	FR(&f, 0, 0, 0x08, 0);
	FR(&f, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 9, 9, 9, 9, 8, 8, 8, 8);
	cr_expect(one(&f, spec(DPA_FLOW_IPV4 | DPA_FLOW_INNER, "\x9", "\xff", 1)));
	cr_expect(!one(&f, spec(DPA_FLOW_IPV4, "\x9", "\xff", 1)));
	cr_expect(!one(&f, spec(DPA_FLOW_GRE, "\0\0\0\0", "\0\0\0\0\xff", 5)),
		  "a key of 0 is a key");
}

Test(raw_match, refused)
{
	struct dpa_flow_attr a = {.type = DPA_FLOW_NORMAL};

	cr_expect_eq(dpa_flow_check(&a), 0);
	a.flags = DPA_FLOW_EGRESS;
	cr_expect_eq(dpa_flow_check(&a), EOPNOTSUPP);
	a.flags = 1;
	cr_expect_eq(dpa_flow_check(&a), EINVAL);
	a.flags = DPA_FLOW_DONT_TRAP;
	cr_expect_eq(dpa_flow_check(&a), 0);
	a.type = DPA_FLOW_SNIFFER;
	cr_expect_eq(dpa_flow_check(&a), EINVAL, "normal rules only");
	a.flags = 0;
	cr_expect_eq(dpa_flow_check(&a), 0);
	a.nspecs = 1;
	a.spec[0].type = DPA_FLOW_ETH;
	cr_expect_eq(dpa_flow_check(&a), EINVAL);
	a.type = DPA_FLOW_NORMAL;
	cr_expect_eq(dpa_flow_check(&a), 0);
	a.spec[0].type = DPA_FLOW_VXLAN | DPA_FLOW_INNER;
	cr_expect_eq(dpa_flow_check(&a), EOPNOTSUPP);
	a.spec[0].type = 0x21;
	cr_expect_eq(dpa_flow_check(&a), EINVAL);
	a.spec[0].type = DPA_FLOW_ETH;
	a.nspecs = DPA_FLOW_SPECS + 1;
	cr_expect_eq(dpa_flow_check(&a), EINVAL);
	a.nspecs = 0;
	a.priority = 1 << 16;
	cr_expect_eq(dpa_flow_check(&a), EINVAL);
}

/* ------------------------------------------------------------------ destination */

static bool lives(void *arg, const struct dpa_flow_kept *k)
{
	return k->owner;
}

static struct dpa_flow_kept rule(uint32_t at, uint32_t qpn, uint16_t type, uint16_t priority)
{
	return (struct dpa_flow_kept){.at = at,
				      .qpn = qpn,
				      .owner = 1,
				      .rule = {.type = type, .priority = priority, .tag = at}};
}

static uint32_t choose(struct dpa_flow_kept *k, uint32_t n, bool mcast, struct dpa_flow_to *to)
{
	struct frame f = udp_frame();
	struct dpa_layers v = fr_parse(&f);

	dpa_flow_sort(k, n);
	return dpa_flow_choose(k, n, &v, mcast, lives, NULL, to);
}

Test(raw_match, the_best_priority_has_it)
{
	struct dpa_flow_kept k[] = {
		rule(0, 10, DPA_FLOW_NORMAL, 5), rule(1, 11, DPA_FLOW_NORMAL, 2),
		rule(2, 12, DPA_FLOW_NORMAL, 2), rule(3, 11, DPA_FLOW_NORMAL, 2)};
	struct dpa_flow_to to[4];

	cr_assert_eq(choose(k, 4, false, to), 2u, "equals share it, a QP has it once");
	cr_expect_eq(to[0].qpn, 11u);
	cr_expect_eq(to[0].tag, 1u);
	cr_expect_eq(to[1].qpn, 12u);
	for (int i = 0; i < 3; i++)
		k[i].rule.flags = DPA_FLOW_DONT_TRAP; /* those of 11 and 12 */
	cr_expect_eq(choose(k, 4, false, to), 3u);
	cr_expect_eq(to[2].qpn, 10u);
}

Test(raw_match, dropped)
{
	struct dpa_flow_kept k[] = {
		rule(0, 10, DPA_FLOW_NORMAL, 5), rule(1, 11, DPA_FLOW_NORMAL, 2),
		rule(2, 12, DPA_FLOW_NORMAL, 2), rule(3, 13, DPA_FLOW_SNIFFER, 0)};
	struct dpa_flow_to to[4];

	k[2].rule.drop = 1;
	cr_assert_eq(choose(k, 4, false, to), 1u, "a sniffer sees it all the same");
	cr_expect_eq(to[0].qpn, 13u);
}

Test(raw_match, what_nobody_has)
{
	struct dpa_flow_kept k[] = {rule(0, 10, DPA_FLOW_ALL_DEFAULT, 0),
				    rule(1, 11, DPA_FLOW_MC_DEFAULT, 0),
				    rule(2, 12, DPA_FLOW_NORMAL, 9)};
	struct dpa_flow_to to[3];

	cr_assert_eq(choose(k, 3, true, to), 1u);
	cr_expect_eq(to[0].qpn, 12u);
	for (int i = 0; i < 3; i++)
		if (k[i].qpn == 12)
			k[i].owner = 0;
	cr_expect_eq(choose(k, 3, true, to), 2u, "its owner is gone");
	cr_expect_eq(choose(k, 3, false, to), 1u, "unicast");
	cr_expect_eq(to[0].qpn, 10u);
}
