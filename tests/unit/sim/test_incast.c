/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_incast.c - DCQCN with the parameters of its paper (Zhu et al., SIGCOMM 2015) in the paper's
 * setting: 40 Gbit/s, marks from 5 to 200 KB up to 1 %, PFC, packets of 1 KB. Shares, queue,
 * starvation, recovery; and the queue of the fluid model's fixed point.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include "sim/sim.h"

#define LINK_BPS  40e9
#define KMIN	  5000.0
#define KMAX	  200000.0
#define SETTLE_MS 50u /* until then flows converge to their shares */
#define RUN_MS	  300u
#define BURST	  16384u /* that a flow may send at once */

static struct dpa_sim_scenario s;
static struct dpa_sim_sample x;

static struct dpa_sim *start(const char *flows)
{
	char text[512], err[256];
	struct dpa_sim *sim;

	snprintf(text, sizeof(text),
		 "link = rate=40G,delay=2us,queue=4M,ecn=5000:200000:1%%,pfc,seed=3\n"
		 "host = 40G\ntime = %ums\nsample = 1ms\n%s",
		 RUN_MS, flows);
	cr_assert(dpa_sim_parse(text, &s, err, sizeof(err)), "%s", err);
	sim = dpa_sim_new(&s);
	cr_assert_not_null(sim);
	return sim;
}

struct seen {
	double bytes[16], all, queue; /* queue: mean */
	uint64_t queue_max;
	uint64_t silent; /* samples in which a flow got less than a tenth of its share */
};

/* Watch from one time to another. */
static void watch(struct dpa_sim *sim, uint32_t from_ms, uint32_t to_ms, struct seen *v)
{
	uint32_t n = 0;

	*v = (struct seen){0};
	while (dpa_sim_run(sim, &x)) {
		double sum = 0;

		if (x.at <= from_ms * 1000000ull)
			continue;
		n++;
		v->queue += (double)x.queue_avg;
		v->queue_max = x.queue_max > v->queue_max ? x.queue_max : v->queue_max;
		for (uint32_t i = 0; i < s.n; i++)
			sum += (double)x.flow[i].bytes;
		for (uint32_t i = 0; i < s.n; i++) {
			v->bytes[i] += (double)x.flow[i].bytes;
			v->silent += (double)x.flow[i].bytes * s.n * 10 < sum;
		}
		v->all += sum;
		if (x.at >= to_ms * 1000000ull)
			break;
	}
	v->queue /= n;
}

static double goodput(const struct seen *v, uint32_t ms)
{
	return v->all * 8000 / ms / LINK_BPS * 1106 / 1024;
}

static void expect_shares(const struct seen *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		cr_expect(fabs(v->bytes[i] * n / v->all - 1) < 0.1, "flow %u of %u: %.3f", i, n,
			  v->bytes[i] * n / v->all);
}

static void incast(uint32_t n)
{
	char flows[64];
	struct dpa_sim *sim;
	struct seen v;

	snprintf(flows, sizeof(flows), "flow = count=%u", n);
	sim = start(flows);
	watch(sim, SETTLE_MS, RUN_MS, &v);
	expect_shares(&v, n);
	cr_expect_geq(goodput(&v, RUN_MS - SETTLE_MS), 0.95, "%.3f",
		      goodput(&v, RUN_MS - SETTLE_MS));
	cr_expect_lt(v.queue, KMAX / 2, "mean queue %.0f", v.queue);
	cr_expect_lt(v.queue_max, KMAX + n * BURST, "%lu", v.queue_max);
	cr_expect_eq(v.silent, 0u, "%lu of %u", v.silent, n * (RUN_MS - SETTLE_MS));
	dpa_sim_free(sim);
}

Test(incast, two_into_one)
{
	incast(2);
}

Test(incast, four_into_one)
{
	incast(4);
}

Test(incast, sixteen_into_one)
{
	incast(16);
}

/* One of four leaves: the others share its part. */
Test(incast, recovery_after_a_flow_leaves)
{
	struct dpa_sim *sim = start("flow = stop=150ms\nflow = count=3");
	struct seen v;

	watch(sim, SETTLE_MS, 150, &v);
	expect_shares(&v, 4);
	watch(sim, 170, RUN_MS, &v);
	cr_expect_eq(v.bytes[0], 0);
	cr_expect_geq(goodput(&v, RUN_MS - 170), 0.95, "%.3f", goodput(&v, RUN_MS - 170));
	for (uint32_t i = 1; i < 4; i++)
		cr_expect(fabs(v.bytes[i] * 3 / v.all - 1) < 0.1, "flow %u: %.3f", i,
			  v.bytes[i] * 3 / v.all);
	dpa_sim_free(sim);
}

/* One joins three that share the link: it gets its share, and they yield it. */
Test(incast, a_flow_that_joins)
{
	struct dpa_sim *sim = start("flow = start=100ms\nflow = count=3");
	struct seen v;

	watch(sim, 100 + SETTLE_MS, RUN_MS, &v);
	expect_shares(&v, 4);
	dpa_sim_free(sim);
}

static double rate_at(struct dpa_sim *sim, uint32_t flow, uint32_t ms)
{
	while (dpa_sim_run(sim, &x))
		if (x.at >= ms * 1000000ull)
			return (double)x.flow[flow].bytes * 8000; /* of a sample of 1 ms */
	cr_assert_fail("no sample at %u ms", ms);
	return 0;
}

/*
 * The paper's additive increase: R_AI in each 55 us. A second flow meets one that has the link; both are
 * cut four or five times at once, and rise side by side from there.
 */
Test(incast, two_flows_rise_as_in_the_paper)
{
	struct dpa_sim *sim = start("flow = start=0\nflow = start=50ms");
	double at = rate_at(sim, 0, 55), published = 40e6 / 55e-6;
	double slope = (rate_at(sim, 1, 67) - at) / 12e-3;

	cr_expect(fabs(slope / published - 1) < 0.05, "%.0f Mbit/s a ms, not %.0f", slope / 1e9,
		  published / 1e9);
	dpa_sim_free(sim);
}

/*
 * Fixed point of the fluid model (Zhu et al., "ECN or Delay", CoNEXT 2016): the share of marked
 * packets p* = cbrt(R_AI N^2 / (tau' C^2) (1 / B + N / (T C))^2), in packets and seconds, and the
 * queue at which RED marks this share. If p* is above 1 % there is no fixed point: the queue
 * oscillates (16 flows).
 */
static double fixed_point(double n)
{
	double pkt = 1106, c = LINK_BPS / 8 / pkt, rai = 40e6 / 8 / pkt, b = 10e6 / 1024;
	double t = 55e-6, in = 1 / b + n / (t * c);
	double p = cbrt(rai * n * n / (t * c * c) * in * in);

	return KMIN + p / 0.01 * (KMAX - KMIN);
}

Test(incast, the_queue_is_at_the_fixed_point)
{
	for (uint32_t n = 2; n <= 6; n += 2) {
		char flows[64];
		struct dpa_sim *sim;
		struct seen v;

		snprintf(flows, sizeof(flows), "flow = count=%u", n);
		sim = start(flows);
		watch(sim, SETTLE_MS, RUN_MS, &v);
		cr_expect(fabs(v.queue / fixed_point(n) - 1) < 0.2, "%u flows: %.0f, not %.0f", n,
			  v.queue, fixed_point(n));
		dpa_sim_free(sim);
	}
}
