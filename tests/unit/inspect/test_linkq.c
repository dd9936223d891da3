/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_linkq.c - the bottleneck's arithmetic: against cases computed by hand, and the waiting time
 * of M/D/1.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include "util/draw.h"
#include "inspect/linkq.h"

static struct dpa_linkq q;
static struct dpa_linkq_act a;

static struct dpa_link_rule rule(const char *text)
{
	struct dpa_link_spec l;

	cr_assert(dpa_link_parse(text, &l), "%s", text);
	memset(&q, 0, sizeof(q));
	return l.rule[0];
}

static const struct dpa_linkq_act *arrive(const struct dpa_link_rule *r, uint64_t now, uint32_t n)
{
	dpa_linkq_arrive(&q, r, 1, now, n, DPA_LINKQ_ECT, &a);
	return &a;
}

/* 1250 bytes at 10 Gbit/s are 1 us. */
Test(linkq, an_empty_queue)
{
	struct dpa_link_rule r = rule("rate=10G,delay=5us");

	cr_expect_eq(arrive(&r, 77000, 1250)->due, 77000 + 1000 + 5000);
	cr_expect_eq(a.queued, 0u);
	cr_expect_not(a.marked || a.dropped || a.waited);
	cr_expect_eq(arrive(&r, 78000, 1250)->due, 78000 + 1000 + 5000, "just when it is empty");
	cr_expect_eq(a.queued, 0u);
}

Test(linkq, packets_wait_for_those_before)
{
	struct dpa_link_rule r = rule("rate=10G,delay=5us");

	arrive(&r, 0, 1250);
	cr_expect_eq(arrive(&r, 0, 2500)->due, 3000u + 5000);
	cr_expect_eq(a.queued, 1250u);
	cr_expect_eq(dpa_linkq_queued(&q, &r, 0), 3750u);
	cr_expect_eq(dpa_linkq_queued(&q, &r, 500), 3125u, "half of the first has left");
	cr_expect_eq(arrive(&r, 2000, 125)->due, 3100u + 5000);
	cr_expect_eq(a.queued, 1250u);
	cr_expect_eq(dpa_linkq_queued(&q, &r, 3100), 0u);
}

Test(linkq, a_delay_alone)
{
	struct dpa_link_rule r = rule("delay=1ms");

	for (int i = 0; i < 10; i++)
		cr_expect_eq(arrive(&r, 5, 4096)->due, 1000005u);
	cr_expect_eq(dpa_linkq_queued(&q, &r, 5), 0u);
}

/* 8000 bits at 7 Gbit/s are 1142.857... ns: 7000 packets are 8 ms, without rounding loss. */
Test(linkq, fractions_add_up)
{
	struct dpa_link_rule r = rule("rate=7G,queue=64M");

	for (int i = 0; i < 7000; i++)
		arrive(&r, 0, 1000);
	cr_expect_eq(q.busy, 8000000u);
	cr_expect_eq(q.part, 0u);
	cr_expect_eq(a.due, 8000000u);
	cr_expect_eq(arrive(&r, 0, 1000)->due, 8001143u, "the last bit has left");
	cr_expect_eq(arrive(&r, 9000000, 1000)->due, 9001143u, "the fraction of before is over");
}

/* One bit a second: no intermediate number overflows. */
Test(linkq, slow_and_fast)
{
	struct dpa_link_rule r = rule("rate=1,queue=64M,pfc");

	cr_expect_eq(arrive(&r, 0, 4096)->due, 32768000000000u);
	cr_expect_eq(dpa_linkq_queued(&q, &r, 0), 4096u);
	r = rule("rate=1000G,queue=64M,pfc");
	for (int i = 0; i < 100000; i++)
		arrive(&r, 0, 4096);
	cr_expect_eq(q.busy, 3276800u);
	cr_expect_eq(dpa_linkq_queued(&q, &r, 0), 409600000u);
}

Test(linkq, what_does_not_fit_is_dropped)
{
	struct dpa_link_rule r = rule("rate=8G,queue=8K"); /* a byte a ns */

	cr_expect_not(arrive(&r, 0, 4096)->dropped);
	cr_expect_not(arrive(&r, 0, 4096)->dropped);
	cr_expect(arrive(&r, 0, 1)->dropped);
	cr_expect_eq(dpa_linkq_queued(&q, &r, 0), 8192u, "a lost packet takes no room");
	cr_expect_not(arrive(&r, 1, 1)->dropped);
	cr_expect(arrive(&r, 2, 2)->dropped);
}

Test(linkq, with_pfc_it_waits)
{
	struct dpa_link_rule r = rule("rate=8G,queue=8K,pfc,delay=10us");

	for (uint64_t i = 1; i <= 4; i++) {
		arrive(&r, 0, 4096);
		cr_expect_eq(a.due, i * 4096 + 10000);
		cr_expect_eq(a.waited, i > 2);
		cr_expect_not(a.dropped);
	}
}

/* Keep the queue at a level: as much arrives as leaves. Return how many of n packets are hit. */
static uint32_t hits_at(const struct dpa_link_rule *r, uint32_t level, uint32_t n, unsigned flags)
{
	uint64_t now = 1000000000;
	uint32_t hits = 0;

	memset(&q, 0, sizeof(q));
	for (uint32_t i = 0; i < n; i++, now += 1000) {
		q.busy = now + level;
		dpa_linkq_arrive(&q, r, 7, now, 1000, flags, &a);
		cr_assert_eq(a.queued, level);
		cr_assert(!a.marked || !a.dropped);
		hits += a.marked || a.dropped;
	}
	return hits;
}

/* RED: (120 - 40) / (200 - 40) of 10 % is 5 %; three standard deviations of 100000 are 207. */
Test(linkq, marks_as_red_does)
{
	struct dpa_link_rule r = rule("rate=8G,queue=256K,ecn=40000:200000:10%");
	uint32_t n = 100000, hits;

	cr_expect_eq(hits_at(&r, 0, n, DPA_LINKQ_ECT), 0u);
	cr_expect_eq(hits_at(&r, 40000, n, DPA_LINKQ_ECT), 0u);
	hits = hits_at(&r, 120000, n, DPA_LINKQ_ECT);
	cr_expect(hits > 5000 - 207 && hits < 5000 + 207, "%u", hits);
	cr_expect(a.marked || !a.dropped);
	hits = hits_at(&r, 200000, n, DPA_LINKQ_ECT);
	cr_expect(hits > 10000 - 285 && hits < 10000 + 285, "%u", hits);
	cr_expect_eq(hits_at(&r, 200001, n, DPA_LINKQ_ECT), n);
}

/* RFC 3168: dropped where it would be marked. */
Test(linkq, without_ecn_it_drops)
{
	struct dpa_link_rule r = rule("rate=8G,queue=256K,ecn=40000:200000:10%");
	uint32_t hits = hits_at(&r, 120000, 100000, 0);

	cr_expect(hits > 5000 - 207 && hits < 5000 + 207, "%u", hits);
	cr_expect_eq(hits_at(&r, 200001, 10, 0), 10u);
	cr_expect(a.dropped);
	r.pfc = true;
	cr_expect_eq(hits_at(&r, 200001, 10, 0), 0u, "nothing is lost with PFC");
}

Test(linkq, urgent_goes_ahead)
{
	struct dpa_link_rule r = rule("rate=8G,queue=8K,ecn=0:1K:100%");

	arrive(&r, 0, 4096);
	arrive(&r, 0, 4096);
	dpa_linkq_arrive(&q, &r, 1, 0, 100, DPA_LINKQ_URGENT, &a);
	cr_expect_eq(a.due, 100u);
	cr_expect_not(a.marked || a.dropped);
	cr_expect_eq(q.busy, 8292u, "the others wait for it");
}

/* The numbers of a packet depend only on the seed and its position. */
Test(linkq, the_same_seed_gives_the_same)
{
	struct dpa_link_rule r = rule("rate=8G,queue=256K,ecn=0:200000:50%");
	bool same = true, other = true;

	for (uint32_t i = 0; i < 1000; i++) {
		struct dpa_linkq x = {.busy = 1000000 + 100000, .index = i}, y = x, z = x;
		struct dpa_linkq_act b, c;

		dpa_linkq_arrive(&x, &r, 1, 1000000, 100, DPA_LINKQ_ECT, &a);
		dpa_linkq_arrive(&y, &r, 1, 1000000, 100, DPA_LINKQ_ECT, &b);
		dpa_linkq_arrive(&z, &r, 2, 1000000, 100, DPA_LINKQ_ECT, &c);
		same &= a.marked == b.marked;
		other &= a.marked == c.marked;
	}
	cr_expect(same);
	cr_expect_not(other);
}

/*
 * M/D/1, Pollaczek and Khinchine: Poisson arrivals of a load rho, a fixed time of service S: the
 * mean wait is rho S / (2 (1 - rho)).
 */
Test(linkq, waits_as_m_d_1_does)
{
	static const double loads[] = {0.3, 0.5, 0.8, 0.9};
	const uint32_t n = 1000000;

	for (size_t k = 0; k < sizeof(loads) / sizeof(loads[0]); k++) {
		struct dpa_link_rule r = rule("rate=8G,queue=64M");
		double rho = loads[k], now = 0, sum = 0, want = rho * 1000 / (2 * (1 - rho));

		for (uint32_t i = 0; i < n; i++) {
			double u = ((double)(dpa_draw(99, i, 5) >> 11) + 1) / 9007199254740993.0;

			now += -log(u) * 1000 / rho;
			arrive(&r, (uint64_t)now, 1000);
			sum += (double)a.due - (double)(uint64_t)now - 1000;
		}
		cr_expect(fabs(sum / n - want) < 0.03 * want, "load %.1f: %.1f ns, not %.1f", rho,
			  sum / n, want);
	}
}
