/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_rtt.c - the algorithm that follows round trip times (device/pcc/rtt.c), several flows into
 * one: shares, queue, starvation, recovery. The link of test_incast.c without PFC, whose queue of 4
 * MiB must not fill, and a slower one whose queue is hardly longer than the target.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include "pcc/rtt.h"
#include "sim/sim.h"

#define LINK_40G     "rate=40G,delay=2us,queue=4M,ecn=5000:200000:1%,seed=3"
#define LINK_10G     "rate=10G,delay=10us,queue=256K,seed=3"
#define PAYLOAD(bps) ((bps)*1024 / (1024 + DPA_SIM_HEADERS))
#define QUEUE	     (4u << 20)
#define MS	     UINT64_C(1000000)
#define RUN_MS	     300u

static struct dpa_sim_scenario s;
static struct dpa_sim_sample x;

static struct dpa_sim *start(const char *link, const char *flows)
{
	char text[512], err[256];
	struct dpa_sim *sim;

	snprintf(text, sizeof(text), "link = %s\nhost = 40G\ntime = %ums\nsample = 1ms\n%s", link,
		 RUN_MS, flows);
	cr_assert(dpa_sim_parse(text, &s, err, sizeof(err)), "%s", err);
	sim = dpa_sim_new(&s);
	cr_assert_not_null(sim);
	return sim;
}

struct seen {
	double bytes[16], all, queue; /* queue: mean */
	uint64_t queue_max, lost;
	uint64_t silent; /* samples in which a flow got less than a tenth of its share */
};

/* Watch from one time to another. */
static void watch(struct dpa_sim *sim, uint32_t from_ms, uint32_t to_ms, struct seen *v)
{
	uint32_t n = 0;

	*v = (struct seen){0};
	while (dpa_sim_run(sim, &x)) {
		double sum = 0;

		if (x.at <= from_ms * MS)
			continue;
		n++;
		v->queue += (double)x.queue_avg;
		v->queue_max = x.queue_max > v->queue_max ? x.queue_max : v->queue_max;
		for (uint32_t i = 0; i < s.n; i++)
			sum += (double)x.flow[i].bytes;
		for (uint32_t i = 0; i < s.n; i++) {
			v->bytes[i] += (double)x.flow[i].bytes;
			v->lost += x.flow[i].lost;
			v->silent += (double)x.flow[i].bytes * s.n * 10 < sum;
		}
		v->all += sum;
		if (x.at >= to_ms * MS)
			break;
	}
	v->queue /= n;
}

static double used(const struct seen *v, uint32_t ms, double bps)
{
	return v->all * 8000 / ms / PAYLOAD(bps);
}

static void expect_shares(const struct seen *v, uint32_t from, uint32_t n, double part)
{
	for (uint32_t i = from; i < from + n; i++)
		cr_expect(fabs(v->bytes[i] * n / v->all - 1) < part, "flow %u of %u: %.3f", i, n,
			  v->bytes[i] * n / v->all);
}

/*
 * The fixed point: a change removes what `ai` adds, rate * beta * (rtt - target) / rtt = ai, with
 * the target of a flow at its share of the link.
 */
static double fixed_point(uint32_t n)
{
	const struct dpa_pcc_rtt_param *p = &dpa_pcc_rtt_default;
	double rate = PAYLOAD(40e9) / 8 / n, beta = p->beta / 65536.0;
	double target = p->target * (1 - log2(rate / 12.5e6) / 16);
	double rtt = target / (1 - (double)p->ai / rate / beta);

	return (rtt - 4000) * 40 / 8; /* bytes; 4 us are the delay of the path */
}

static void incast(uint32_t n)
{
	char flows[64];
	struct dpa_sim *sim;
	struct seen v;

	snprintf(flows, sizeof(flows), "flow = count=%u,algorithm=rtt", n);
	sim = start(LINK_40G, flows);
	watch(sim, 50, RUN_MS, &v);
	expect_shares(&v, 0, n, 0.05);
	cr_expect_geq(used(&v, RUN_MS - 50, 40e9), 0.99, "%.3f", used(&v, RUN_MS - 50, 40e9));
	cr_expect(fabs(v.queue / fixed_point(n) - 1) < 0.1, "%u flows: %.0f, not %.0f", n, v.queue,
		  fixed_point(n));
	cr_expect_lt(v.queue_max, QUEUE / 2, "%lu", v.queue_max);
	cr_expect_eq(v.lost, 0u, "%lu", v.lost);
	cr_expect_eq(v.silent, 0u, "%lu", v.silent);
	dpa_sim_free(sim);
}

Test(rtt, two_into_one)
{
	incast(2);
}

Test(rtt, four_into_one)
{
	incast(4);
}

Test(rtt, sixteen_into_one)
{
	incast(16);
}

/* One of four leaves: the others have its part 10 ms later. */
Test(rtt, recovery_after_a_flow_leaves)
{
	struct dpa_sim *sim = start(LINK_40G, "flow = stop=100ms,algorithm=rtt\n"
					      "flow = count=3,algorithm=rtt");
	struct seen v;

	watch(sim, 50, 100, &v);
	expect_shares(&v, 0, 4, 0.1);
	watch(sim, 110, RUN_MS, &v);
	cr_expect_eq(v.bytes[0], 0);
	cr_expect_geq(used(&v, RUN_MS - 110, 40e9), 0.99, "%.3f", used(&v, RUN_MS - 110, 40e9));
	expect_shares(&v, 1, 3, 0.05);
	dpa_sim_free(sim);
}

/* One joins three that fill the link: it sees only their queue, and still gets its share. */
Test(rtt, a_flow_that_joins)
{
	struct dpa_sim *sim = start(LINK_40G, "flow = start=100ms,algorithm=rtt\n"
					      "flow = count=3,algorithm=rtt");
	struct seen v;

	watch(sim, 120, RUN_MS, &v);
	expect_shares(&v, 0, 4, 0.05);
	dpa_sim_free(sim);
}

/*
 * A queue of 210 us, and a target of 200 us for the slowest flow. It was always full: 16 flows lost
 * 38,811 packets in these 250 ms, and the smallest share was 0.18 of the largest.
 */
static void short_queue(uint32_t n, uint64_t lost)
{
	char flows[64];
	struct dpa_sim *sim;
	struct seen v;

	snprintf(flows, sizeof(flows), "flow = count=%u,algorithm=rtt", n);
	sim = start(LINK_10G, flows);
	watch(sim, 50, RUN_MS, &v);
	cr_expect_geq(used(&v, RUN_MS - 50, 10e9), 0.98, "%.3f", used(&v, RUN_MS - 50, 10e9));
	cr_expect_leq(v.lost, lost, "%u flows: %lu", n, v.lost);
	dpa_sim_free(sim);
	/* losses of the start are repaired by then: a hole takes a round trip */
	sim = start(LINK_10G, flows);
	watch(sim, 175, RUN_MS, &v);
	expect_shares(&v, 0, n, 0.1);
	cr_expect_eq(v.lost, 0u, "%lu", v.lost);
	cr_expect_eq(v.silent, 0u, "%lu", v.silent);
	dpa_sim_free(sim);
}

Test(rtt, short_queue_two)
{
	short_queue(2, 0);
}

Test(rtt, short_queue_four)
{
	short_queue(4, 0);
}

Test(rtt, short_queue_sixteen)
{
	short_queue(16, 100);
}
