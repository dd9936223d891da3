/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_fault.c - the faults: rates, repetition from the same seed, damage, and frames that are held
 * back.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include "link/inspect.h"

static struct dpa_fault_spec spec(const char *text)
{
	struct dpa_fault_spec s;

	cr_assert(dpa_fault_parse(text, &s), "%s", text);
	return s;
}

enum { N = 1000000 };

static void tally(const struct dpa_fault_spec *s, uint32_t n[DPA_FAULT_KINDS])
{
	struct dpa_fault_act a;

	memset(n, 0, DPA_FAULT_KINDS * sizeof(*n));
	for (uint32_t i = 0; i < N; i++) {
		dpa_fault_decide(s, i, 1000, &a);
		for (uint32_t k = 0; k < DPA_FAULT_KINDS; k++)
			n[k] += a.kinds >> k & 1;
	}
}

/* Five standard deviations of a binomial: the seeds are fixed, so the result is reproducible. */
static void about(uint32_t n, double rate)
{
	double dev = (double)n - N * rate;

	cr_expect(dev * dev <= 25 * N * rate * (1 - rate) + 1, "%u of %d, not %g", n, N, rate);
}

Test(fault, rates)
{
	static const char *const seeds[] = {"1", "2", "77", "18446744073709551615"};
	uint32_t n[DPA_FAULT_KINDS];
	char text[128];

	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		struct dpa_fault_spec s;

		snprintf(text, sizeof(text), "drop=1%%,dup=2%%,reorder=5%%,corrupt=0.1%%,seed=%s",
			 seeds[i]);
		s = spec(text);
		tally(&s, n);
		about(n[DPA_FAULT_DROP], 0.01);
		about(n[DPA_FAULT_DUP], 0.99 * 0.02);
		about(n[DPA_FAULT_REORDER], 0.99 * 0.05);
		about(n[DPA_FAULT_CORRUPT], 0.99 * 0.001);
		cr_expect_eq(n[DPA_FAULT_DELAY] + n[DPA_FAULT_TRUNCATE], 0u);
	}
}

Test(fault, all_and_none)
{
	struct dpa_fault_spec s = spec("drop=100%,dup=100%,reorder=100%");
	uint32_t n[DPA_FAULT_KINDS];

	tally(&s, n);
	cr_expect_eq(n[DPA_FAULT_DROP], (uint32_t)N);
	cr_expect_eq(n[DPA_FAULT_DUP] + n[DPA_FAULT_REORDER], 0u,
		     "what is dropped is nothing else");
	s = spec("off");
	tally(&s, n);
	for (int k = 0; k < DPA_FAULT_KINDS; k++)
		cr_expect_eq(n[k], 0u);
}

/* The same seed gives the same faults; another rate or kind does not change those of a kind. */
Test(fault, repeats)
{
	struct dpa_fault_spec s = spec("drop=1%,corrupt=3%,seed=9"), t = s;
	struct dpa_fault_spec more = spec("drop=1%,corrupt=3%,dup=50%,delay=50%:1ms,seed=9");
	struct dpa_fault_spec other = spec("drop=1%,corrupt=3%,seed=10");
	uint32_t differ = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		struct dpa_fault_act a, b, c, d;
		uint32_t both = 1u << DPA_FAULT_DROP | 1u << DPA_FAULT_CORRUPT;

		dpa_fault_decide(&s, i, 500, &a);
		dpa_fault_decide(&t, i, 500, &b);
		dpa_fault_decide(&more, i, 500, &c);
		dpa_fault_decide(&other, i, 500, &d);
		cr_assert_eq(memcmp(&a, &b, sizeof(a)), 0);
		cr_assert_eq(a.kinds & both, c.kinds & both, "%u", i);
		differ += a.kinds != d.kinds;
	}
	cr_expect_gt(differ, 1000u);
}

Test(fault, corruption_always_changes_the_frame)
{
	struct dpa_fault_spec s = spec("corrupt=100%,seed=3");
	uint32_t hit[16] = {0}, flips[4] = {0};

	for (uint32_t i = 0; i < 20000; i++) {
		struct dpa_fault_act a;
		uint8_t p[16] = {0};
		uint32_t bits = 0;

		dpa_fault_decide(&s, i, sizeof(p), &a);
		cr_assert_eq(dpa_fault_damage(&a, p, sizeof(p)), sizeof(p));
		for (size_t k = 0; k < sizeof(p); k++) {
			bits += (uint32_t)__builtin_popcount(p[k]);
			hit[k] += p[k] != 0;
		}
		cr_assert(bits >= 1 && bits <= 3, "%u bits", bits);
		cr_assert_eq(bits, a.nflips);
		flips[bits]++;
	}
	for (size_t k = 0; k < 16; k++)
		cr_expect(hit[k] > 2000 && hit[k] < 3000, "byte %zu: %u", k, hit[k]);
	for (int k = 1; k <= 3; k++)
		cr_expect(flips[k] > 6000, "%d flips: %u", k, flips[k]);
}

Test(fault, truncation_leaves_less)
{
	struct dpa_fault_spec s = spec("truncate=100%,corrupt=100%");
	uint32_t seen[20] = {0};

	for (uint32_t i = 0; i < 20000; i++) {
		struct dpa_fault_act a;
		uint8_t p[20] = {0};
		uint32_t n;

		dpa_fault_decide(&s, i, sizeof(p), &a);
		cr_assert_eq(a.kinds, 1u << DPA_FAULT_TRUNCATE);
		n = dpa_fault_damage(&a, p, sizeof(p));
		cr_assert_lt(n, sizeof(p));
		seen[n]++;
	}
	for (size_t k = 0; k < 20; k++)
		cr_expect_gt(seen[k], 700u, "length %zu", k);
}

Test(fault, meant)
{
	static const struct {
		uint8_t op;
		bool request, response;
	} ops[] = {{0x04, 1, 0}, {0x0c, 1, 0}, {0x11, 0, 1}, {0x0d, 0, 1}, {0x12, 0, 1},
		   {0x13, 1, 0}, {0x24, 1, 0}, {0x64, 1, 0}, {0x81, 0, 1}};
	uint8_t p[16] = {[5] = 0x01, [6] = 0x02, [7] = 0x03};
	struct dpa_fault_spec s;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		p[0] = ops[i].op;
		s = spec("drop=1%,only=requests");
		cr_expect_eq(dpa_fault_meant(&s, p, 16), ops[i].request, "%#x", ops[i].op);
		s = spec("drop=1%,only=responses");
		cr_expect_eq(dpa_fault_meant(&s, p, 16), ops[i].response, "%#x", ops[i].op);
		s = spec("drop=1%");
		cr_expect(dpa_fault_meant(&s, p, 16));
		cr_expect_not(dpa_fault_meant(&s, p, 11), "too short to be one");
	}
	s = spec("drop=1%,qpn=0x010203");
	cr_expect(dpa_fault_meant(&s, p, 16));
	s = spec("drop=1%,qpn=0x010204");
	cr_expect_not(dpa_fault_meant(&s, p, 16));
}

/* -------------------------------------------------------------------- held back */

static struct dpa_fault q;
static uint8_t bytes[64];

static struct dpa_shown frame(uint32_t number, uint8_t qpn)
{
	struct dpa_shown s = {.f = {.p = bytes, .n = sizeof(bytes)}};

	memset(bytes, 0, sizeof(bytes));
	bytes[7] = qpn;
	memcpy(bytes + 20, &number, 4);
	return s;
}

static uint32_t number_of(const struct dpa_held *h)
{
	uint32_t n;

	memcpy(&n, h->s.f.p + 20, 4);
	return n;
}

static bool hold(uint64_t now, uint32_t kind, uint32_t behind, uint32_t number, uint8_t qpn)
{
	struct dpa_fault_act a = {.kinds = 1u << kind, .behind = behind};
	struct dpa_shown s = frame(number, qpn);

	return dpa_fault_hold(&q, now, &a, &s);
}

static void set(const char *text)
{
	struct dpa_fault_spec s = spec(text);

	cr_assert_eq(dpa_fault_set(&q, &s), 0);
}

static uint32_t key_of(uint8_t qpn)
{
	struct dpa_shown s = frame(0, qpn);

	return dpa_fault_key(&s.f);
}

Test(fault, delayed_come_in_their_order)
{
	struct dpa_held *h;

	set("delay=1%:1ms");
	cr_expect_eq(dpa_fault_next(&q), UINT64_MAX);
	for (uint32_t i = 0; i < 10; i++)
		cr_assert(hold(1000 + i, DPA_FAULT_DELAY, 0, i, 1));
	cr_expect_eq(dpa_fault_next(&q), 1001000u);
	cr_expect_null(dpa_fault_due(&q, 1000999));
	h = dpa_fault_due(&q, 1001004);
	for (uint32_t i = 0; i < 5; i++, h = h->next)
		cr_assert_eq(number_of(h), i);
	cr_expect_null(h);
	cr_expect_eq(dpa_fault_next(&q), 1001005u);
	dpa_fault_free(&q);
}

/*
 * Each is overtaken as often as was decided, only by frames to the same destination, or waits 1 ms.
 */
Test(fault, reordered)
{
	struct dpa_held *h;

	set("reorder=1%");
	cr_assert(hold(0, DPA_FAULT_REORDER, 2, 1, 1));
	cr_assert(hold(0, DPA_FAULT_REORDER, 1, 2, 1));
	cr_assert(hold(5, DPA_FAULT_REORDER, 8, 3, 2));
	cr_expect_null(dpa_fault_overtaken(&q, key_of(9)));
	h = dpa_fault_overtaken(&q, key_of(1));
	cr_assert_not_null(h);
	cr_expect_eq(number_of(h), 2u);
	cr_expect_null(h->next);
	dpa_fault_done(&q, h);
	h = dpa_fault_overtaken(&q, key_of(1));
	cr_expect_eq(number_of(h), 1u);
	dpa_fault_done(&q, h);
	cr_expect_null(dpa_fault_overtaken(&q, key_of(1)));
	cr_expect_eq(dpa_fault_next(&q), DPA_REORDER_NS + 5);
	h = dpa_fault_due(&q, DPA_REORDER_NS + 5);
	cr_expect_eq(number_of(h), 3u);
	dpa_fault_done(&q, h);
	cr_expect_eq(q.held, 0u);
	dpa_fault_free(&q);
}

/* With any request, no more than that number; frames that left make room again. */
Test(fault, the_store_is_bounded)
{
	uint32_t kept = 0;

	set("delay=1%:1ms,reorder=1%");
	for (uint32_t i = 0; i < 2 * DPA_HELD_FRAMES; i++)
		kept += hold(i, i & 1 ? DPA_FAULT_DELAY : DPA_FAULT_REORDER, 8, i, 1);
	cr_expect_eq(kept, DPA_HELD_FRAMES);
	cr_expect_eq(q.held, DPA_HELD_FRAMES);
	for (int round = 0; round < 3; round++) {
		struct dpa_held *list = dpa_fault_due(&q, UINT64_MAX - 1);
		uint64_t last = 0;

		kept = 0;
		for (struct dpa_held *h = list; h; h = h->next, kept++) {
			cr_assert_geq(h->due, last);
			last = h->due;
		}
		cr_expect_eq(kept, DPA_HELD_FRAMES);
		dpa_fault_done(&q, list);
		cr_expect_eq(q.held, 0u);
		for (uint32_t i = 0; i < DPA_HELD_FRAMES; i++)
			cr_assert(hold(i, DPA_FAULT_DELAY, 0, i, 1));
		cr_expect_not(hold(0, DPA_FAULT_DELAY, 0, 0, 1));
	}
	dpa_fault_free(&q);
}

Test(fault, other_faults_let_go_what_is_held)
{
	set("delay=1%:10000ms");
	cr_assert(hold(1000, DPA_FAULT_DELAY, 0, 1, 1));
	set("off");
	cr_expect_eq(dpa_fault_next(&q), 0u);
	cr_expect_not_null(dpa_fault_due(&q, 0));
	dpa_fault_free(&q);
}

Test(fault, nothing_to_hold_with_without_reorder_and_delay)
{
	struct dpa_shown s;

	set("drop=1%");
	cr_expect_null(q.pool);
	s = frame(1, 1);
	s.f.n = DPA_FRAME_BYTES + 1;
	set("delay=1%:1ms");
	cr_expect_not(dpa_fault_hold(&q, 0, &(struct dpa_fault_act){.kinds = 8}, &s), "too long");
	dpa_fault_free(&q);
}
