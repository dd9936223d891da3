/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_sim.c - the simulation: the same run twice, rates and times computed by hand, loss, PFC,
 * messages.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "sim/sim_priv.h"

static struct dpa_sim_scenario s;
static struct dpa_sim_sample x;

static struct dpa_sim *start(const char *text)
{
	char err[256];
	struct dpa_sim *sim;

	cr_assert(dpa_sim_parse(text, &s, err, sizeof(err)), "%s", err);
	sim = dpa_sim_new(&s);
	cr_assert_not_null(sim);
	return sim;
}

/* Run, and sum a flow's values over the whole run. */
static struct dpa_sim_flow_stat run(struct dpa_sim *sim, uint32_t flow)
{
	struct dpa_sim_flow_stat t = {0};

	while (dpa_sim_run(sim, &x)) {
		t.bytes += x.flow[flow].bytes;
		t.sent += x.flow[flow].sent;
		t.lost += x.flow[flow].lost;
		t.marked += x.flow[flow].marked;
		t.naks += x.flow[flow].naks;
		t.timeouts += x.flow[flow].timeouts;
		t.paused += x.flow[flow].paused;
		t.rtt_sum += x.flow[flow].rtt_sum;
		t.rtt_num += x.flow[flow].rtt_num;
	}
	return t;
}

#define MIXED                                                                                      \
	"link = rate=10G,delay=5us,queue=128K,ecn=20K:100K:10%,seed=9\nhost = 20G\ntime = 30ms\n"  \
	"flow = count=5,step=1ms,stop=25ms\nflow = every=100us,message=3000\n"                     \
	"flow = algorithm=none,start=7ms"

/*
 * One step after the other, with drops and marks: the same bytes, and different ones with another
 * seed.
 */
Test(sim, the_same_scenario_gives_the_same_run)
{
	struct dpa_sim *a = start(MIXED), *b = start(MIXED), *c;
	struct dpa_sim_sample y, z;
	bool other = false, more;
	uint64_t lost = 0, marked = 0;

	s.seed++;
	c = dpa_sim_new(&s);
	cr_assert_not_null(c);
	do {
		more = dpa_sim_run(a, &x);
		cr_assert_eq(dpa_sim_run(b, &y), more);
		cr_assert_eq(dpa_sim_run(c, &z), more);
		for (uint32_t i = 0; i < s.n; i++) {
			lost += x.flow[i].lost;
			marked += x.flow[i].marked;
		}
		cr_assert_eq(memcmp(&x, &y, sizeof(x)), 0);
		other |= memcmp(&x, &z, sizeof(x)) != 0;
	} while (more);
	cr_expect(lost && marked, "nothing happened that could differ");
	cr_expect(other);
	dpa_sim_free(a);
	dpa_sim_free(b);
	dpa_sim_free(c);
}

/*
 * A packet of 1024 + 82 bytes takes 884.8 ns at 10 Gbit/s: the link carries 1024 / 1106 of it. The
 * port is as fast, so nothing queues: a round trip is twice that and twice the delay.
 */
Test(sim, one_flow_has_the_link)
{
	struct dpa_sim *sim =
		start("link = rate=10G,delay=5us\nhost = 10G\ntime = 10ms\nflow = count=1");
	struct dpa_sim_flow_stat t = run(sim, 0);
	uint64_t most = 10000000ull * 10 / 8 * 1024 / 1106;

	cr_expect(t.bytes <= most && t.bytes > most - 30000, "%lu of %lu", t.bytes, most);
	cr_expect(t.rtt_sum / t.rtt_num >= 11769 && t.rtt_sum / t.rtt_num <= 11771, "%lu",
		  t.rtt_sum / t.rtt_num);
	cr_expect_eq(t.lost + t.marked + t.naks + t.timeouts, 0u);
	dpa_sim_free(sim);
}

/* A message of 3 packets through an empty link: by hand. */
Test(sim, latency_of_a_message)
{
	struct dpa_sim *sim = start("link = rate=8G,delay=10us\nhost = 8G\ntime = 10ms\n"
				    "flow = message=3000,every=1ms,start=500us");
	struct dpa_sim_latency l;

	run(sim, 0);
	dpa_sim_latency(sim, 0, &l);
	cr_expect_eq(l.num, 10u);
	/* three packets of 1106 ns into the port, the last one through the link, two delays */
	cr_expect_eq(l.max, 3 * 1106u + 1106 + 20000);
	cr_expect_eq(l.p50, l.max);
	dpa_sim_latency(sim, DPA_SIM_FLOWS, &l);
	cr_expect_eq(l.num, 10u);
	dpa_sim_free(sim);
}

/* A queue that drops: all packets still arrive once, and messages end in order. */
Test(sim, lost_packets_come_again)
{
	struct dpa_sim *sim = start("link = rate=10G,delay=10us,queue=64K\nhost = 10G\ntime = 4s\n"
				    "flow = count=8,algorithm=none,stop=20ms,message=40000");
	struct dpa_sim_latency l;
	uint64_t bytes[8] = {0}, lost = 0, naks = 0;

	while (dpa_sim_run(sim, &x))
		for (uint32_t i = 0; i < 8; i++) {
			bytes[i] += x.flow[i].bytes;
			lost += x.flow[i].lost;
			naks += x.flow[i].naks;
		}
	cr_expect(lost > 1000 && naks > 100, "%lu %lu", lost, naks);
	for (uint32_t i = 0; i < 8; i++) {
		struct sim_flow *f = &sim->flow[i];

		dpa_sim_latency(sim, i, &l);
		cr_expect_eq(f->una, f->next);
		cr_expect_eq(f->epsn, f->next);
		cr_expect_eq(bytes[i], f->next * 1024, "flow %u: once each", i);
		cr_expect_eq(l.num * f->per_message, f->next);
		for (uint32_t k = 0; k < SIM_FLIGHT / 64; k++)
			cr_expect_eq(f->kept[k], 0u);
	}
	dpa_sim_free(sim);
}

Test(sim, with_pfc_ports_pause_and_nothing_is_lost)
{
	struct dpa_sim *sim =
		start("link = rate=10G,delay=5us,queue=64K,pfc\nhost = 10G\ntime = 20ms\n"
		      "flow = count=8,algorithm=none");
	uint64_t sum = 0, paused = 0, most = 0, least = UINT64_MAX, bytes[8] = {0};

	while (dpa_sim_run(sim, &x)) {
		for (uint32_t i = 0; i < 8; i++) {
			cr_assert_eq(x.flow[i].lost, 0u);
			bytes[i] += x.flow[i].bytes;
			paused += x.flow[i].paused;
		}
		cr_assert_leq(x.queue_max, (64u << 10) + 8 * 1106, "one packet a port waits");
	}
	for (uint32_t i = 0; i < 8; i++) {
		sum += bytes[i];
		most = bytes[i] > most ? bytes[i] : most;
		least = bytes[i] < least ? bytes[i] : least;
	}
	cr_expect_gt(paused, 8u * 10000000, "most of the time");
	cr_expect_gt(sum, 20000000ull * 10 / 8 * 1024 / 1106 * 99 / 100);
	cr_expect_leq(most - least, most / 20, "each port in its turn");
	dpa_sim_free(sim);
}

static struct dpa_pcc_event probed;
static uint32_t num_probed;

static void no_init(void *priv, const void *param, uint64_t now)
{
}

/* Request the next probe when the previous one returned. */
static void on_event(void *priv, const void *param, const struct dpa_pcc_event *ev)
{
	if (ev->type != DPA_PCC_RTT)
		return;
	probed = *ev;
	num_probed++;
}

static void get(const void *priv, const void *param, struct dpa_pcc_result *res)
{
	res->rate = DPA_PCC_NO_LIMIT;
	res->window = 4096;
	res->events = DPA_PCC_WANT(DPA_PCC_RTT) | DPA_PCC_WANT(DPA_PCC_ACK);
	res->probes = (uint8_t)(num_probed + 1);
}

static const struct dpa_pcc_algo probing = {
	.name = "probing", .init = no_init, .on_event = on_event, .get = get};

/*
 * A packet takes 885 ns through the port and the same time through the link; twice 5 us of delay.
 */
Test(sim, probes_measure_the_round_trip)
{
	struct dpa_sim *sim =
		start("link = rate=10G,delay=5us\nhost = 10G\ntime = 1ms\nflow = count=1");

	dpa_pcc_init(&sim->flow[0].pcc, &probing, NULL, 0);
	run(sim, 0);
	cr_expect(num_probed > 80 && num_probed < 90, "%u: one each 11.8 us", num_probed);
	cr_expect(probed.rtt_ns >= 11769 && probed.rtt_ns < 11769 + 3 * 885, "%lu", probed.rtt_ns);
	cr_expect_eq(probed.resp_sent, probed.req_recv);
	cr_expect_eq(probed.req_recv - probed.req_sent, probed.rtt_ns - 5000);
	dpa_sim_free(sim);
}

Test(sim, percentiles)
{
	static struct sim_hist h;

	cr_expect_eq(sim_hist_at(&h, 500000), 0u);
	for (uint64_t v = 1; v <= 100000; v++)
		sim_hist_add(&h, v * 1000);
	for (uint32_t ppm = 10000; ppm <= 1000000; ppm += 10000) {
		uint64_t want = (uint64_t)ppm * 100, is = sim_hist_at(&h, ppm);

		cr_expect(is >= want && is <= want + want / 31, "%u ppm: %lu", ppm, is);
	}
	cr_expect_eq(h.max, 100000000u);
	sim_hist_add(&h, UINT64_MAX);
	cr_expect_eq(sim_hist_at(&h, 1000000), UINT64_MAX);
}
