/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_frame.c - entries become packets and entries again: the content that the transport wrote
 * into one at this host is in that of the other host, with each opcode.
 */
#include <criterion/criterion.h>
#include "link/lane.h"
#include "harness.h"
#include "link/udp/wire.h"

static const struct dpa_roce_net net = {.src = {[10] = 0xff, 0xff, 10, 0, 0, 1},
					.dst = {[10] = 0xff, 0xff, 10, 0, 0, 2},
					.sport = 50000,
					.dport = DPA_ROCE_PORT};

/* Fill each byte of a field with a different value, unlike those of other fields. */
static void fill(const struct dpa_slot *s, struct dpa_ext *x)
{
	uint32_t e = dpa_roce_ext_of(s->opcode);

	if (e & DPA_ROCE_XRCETH)
		x->xrcsrq = 0x414243;
	if (e & DPA_ROCE_DETH) {
		x->qkey = 0x11121314;
		x->sqpn = 0x151617;
		x->ud_imm = e & DPA_ROCE_IMMDT ? 0x21222324 : 0;
		return;
	}
	if (e & (DPA_ROCE_RETH | DPA_ROCE_ATOMICETH)) {
		x->va = 0x0102030405060708;
		x->rkey = 0x31323334;
	}
	if (e & DPA_ROCE_RETH)
		x->dmalen = 0x35363738;
	if (e & DPA_ROCE_FETH)
		x->feth = 0x22;
	else if (e & DPA_ROCE_RETH && e & DPA_ROCE_IMMDT)
		x->imm_after_reth = 0x21222324;
	else if (e & (DPA_ROCE_IMMDT | DPA_ROCE_IETH))
		x->imm = 0x21222324;
	if (e & DPA_ROCE_ATOMICETH) {
		x->swap_add = 0x5152535455565758;
		x->compare = 0x6162636465666768;
	}
	if (e & DPA_ROCE_AETH) {
		x->msn = 0x717273;
		x->syndrome = 0x1f;
		x->orig = e & DPA_ROCE_ATOMICACKETH ? 0x8182838485868788 : 0;
	}
}

static void there(const struct dpa_slot *s, struct dpa_slot *got)
{
	uint8_t bytes[256];
	struct dpa_roce_pkt sent, came;
	uint32_t n;

	dpa_pkt_of_slot(s, &sent);
	n = dpa_roce_encode_all(&net, &sent, bytes, sizeof(bytes));
	cr_assert_gt(n, 0, "%02x", s->opcode);
	cr_assert_eq(dpa_roce_decode(bytes, n, &came), DPA_ROCE_OK, "%02x", s->opcode);
	dpa_slot_of_pkt(&came, s->src, got);
}

Test(udp_frame, a_slot_is_the_same_on_the_other_side)
{
	static const uint8_t flags[] = {0, DPA_PKT_SE, DPA_PKT_ACKREQ, DPA_PKT_SE | DPA_PKT_ACKREQ};
	uint32_t known = 0, inv = 0, feth = 0;

	for (uint32_t op = 0; op < 256; op++) {
		uint32_t e = dpa_roce_ext_of((uint8_t)op);

		if (!e || e & DPA_ROCE_CNP)
			continue;
		known++;
		inv += !!(e & DPA_ROCE_IETH);
		feth += !!(e & DPA_ROCE_FETH);
		for (size_t i = 0; i < sizeof(flags); i++) {
			struct dpa_slot s = {.opcode = (uint8_t)op,
					     .flags = flags[i],
					     .src = 0x12,
					     .dqpn = 0x020011,
					     .psn = 0xfedcba},
					got = {0};

			fill(&s, (struct dpa_ext *)s.ext);
			there(&s, &got);
			cr_expect_eq(got.flags, s.flags, "%02x: flags %x, not %x", op, got.flags,
				     s.flags);
			cr_expect_eq(got.psn, s.psn);
			cr_expect_eq(got.dqpn, s.dqpn);
			cr_expect_eq(got.src, s.src);
			cr_expect_arr_eq(got.ext, s.ext, sizeof(s.ext), "%02x", op);
		}
	}
	cr_expect_gt(known, 50);
	cr_expect_geq(inv, 2);
	cr_expect_geq(feth, 1);
}
