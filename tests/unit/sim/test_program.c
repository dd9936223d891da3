/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_program.c - flows whose rate a program decides: its events, and the effect of its answers.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include "pcc/report.h"
#include "sim/sim.h"

#define RATE_1G (DPA_PCC_RATE_ONE / 100) /* of 100 Gbit/s */

static struct dpa_sim_scenario s;
static struct dpa_sim_sample x;

static struct seen {
	uint32_t events[8], flow[8], bad, rtt_min, rtt_max, probes_sent;
	uint64_t last;
	bool asks;
} seen;

static uint32_t answer(void *arg, uint64_t now, const struct dpa_pcc_report *r, uint32_t ctxt[12],
		       uint32_t rate, bool *probe)
{
	struct seen *v = arg;

	v->bad += now < v->last || (uint32_t)now != r->time || r->slot != 3 || r->flow > 2;
	v->bad += ctxt[11] && ctxt[11] != r->flow;
	v->bad += rate != (ctxt[11] ? RATE_1G : DPA_PCC_RATE_ONE);
	ctxt[11] = r->flow;
	v->last = now;
	v->events[r->type & 7]++;
	v->flow[r->flow & 7]++;
	v->probes_sent += r->type == DPA_PCC_EV_TX && r->flags & DPA_PCC_EV_TX_RTT_SENT;
	if (r->type == DPA_PCC_EV_RTT) {
		uint32_t rtt = r->time - r->word[0];

		v->rtt_min = !v->rtt_min || rtt < v->rtt_min ? rtt : v->rtt_min;
		v->rtt_max = rtt > v->rtt_max ? rtt : v->rtt_max;
	}
	*probe = v->asks && (r->type == DPA_PCC_EV_RTT || v->events[DPA_PCC_EV_TX] == 1);
	return RATE_1G;
}

static void run(const char *flows, uint32_t disabled)
{
	struct dpa_sim_program p = {
		.answer = answer, .arg = &seen, .slot = 3, .disabled = disabled};
	char text[256], err[256];
	struct dpa_sim *sim;

	snprintf(text, sizeof(text),
		 "link = rate=10G,delay=5us,queue=1M,ecn=1000:2000:100%%,seed=1\ntime = 20ms\n"
		 "sample = 20ms\n%s",
		 flows);
	cr_assert(dpa_sim_parse(text, &s, err, sizeof(err)), "%s", err);
	s.program = &p;
	dpa_sim_prefer_program(&s);
	sim = dpa_sim_new(&s);
	cr_assert(dpa_sim_run(sim, &x));
	dpa_sim_free(sim);
	cr_expect_eq(seen.bad, 0u, "%u", seen.bad);
}

Test(sim_program, its_rate_is_the_flows)
{
	run("flow = count=1", 0);
	/* 1 Gbit/s of packets with 64 of their 82 bytes around */
	cr_expect_geq(x.flow[0].bytes, 20u * 125000 * 1024 / 1088 * 99 / 100, "%lu",
		      x.flow[0].bytes);
	cr_expect_leq(x.flow[0].bytes, 20u * 125000 + 131072, "%lu", x.flow[0].bytes);
	cr_expect_eq(x.flow[0].rate, UINT64_C(12500000000) / DPA_PCC_RATE_ONE * RATE_1G, "%lu",
		     x.flow[0].rate);
	cr_expect_gt(seen.events[DPA_PCC_EV_TX], 100u);
	cr_expect_gt(seen.events[DPA_PCC_EV_ACK], 10u);
	cr_expect_eq(seen.events[DPA_PCC_EV_RTT], 0u); /* it has not requested it */
}

Test(sim_program, a_probe_for_each_wish)
{
	seen.asks = true;
	run("flow = count=1", 0);
	cr_expect_gt(seen.events[DPA_PCC_EV_RTT], 100u, "%u", seen.events[DPA_PCC_EV_RTT]);
	cr_expect_leq(seen.events[DPA_PCC_EV_RTT], seen.probes_sent);
	cr_expect_leq(seen.probes_sent, seen.events[DPA_PCC_EV_RTT] + 1);
	cr_expect_geq(seen.rtt_min, 10000u, "%u", seen.rtt_min);
	cr_expect_leq(seen.rtt_min, 11000u, "%u", seen.rtt_min);
}

/* Marks: CNPs are events like others, and a disabled event does not arrive. */
Test(sim_program, events_that_it_does_not_want)
{
	run("flow = count=2", 0);
	cr_expect_gt(seen.events[DPA_PCC_EV_CNP], 0u);
	cr_expect_gt(seen.flow[1], 10u);
	cr_expect_gt(seen.flow[2], 10u);
	memset(&seen, 0, sizeof(seen));
	run("flow = count=2", 1u << DPA_PCC_EV_CNP | 1u << DPA_PCC_EV_ACK);
	cr_expect_eq(seen.events[DPA_PCC_EV_CNP], 0u);
	cr_expect_eq(seen.events[DPA_PCC_EV_ACK], 0u);
	cr_expect_gt(seen.events[DPA_PCC_EV_TX], 10u);
}

/* A flow whose algorithm is set in the scenario keeps it. */
Test(sim_program, others_beside_it)
{
	run("flow = count=1\nflow = algorithm=dcqcn", 0);
	cr_expect_eq(seen.flow[2], 0u);
	cr_expect_gt(seen.flow[1], 10u);
	cr_expect_str_eq(dpa_sim_algo(s.flow[0].algo), "image");
	cr_expect(dpa_sim_is_program(s.flow[0].algo) && !dpa_sim_is_program(s.flow[1].algo));
}

/* ---------------------------------------------------------------- reports by themselves */

static struct dpa_pcc_sender sender = {.flow = 5, .qpn = 9, .mtu = 1024, .psn = 77, .slot = 2};

Test(report, bursts_are_joined)
{
	struct dpa_pcc_reporter r = {0};
	struct dpa_pcc_event ev = {.type = DPA_PCC_SENT, .now = 1000, .bytes = 2048};
	struct dpa_pcc_report out;

	cr_expect(dpa_pcc_report_make(&r, &sender, &ev, &out)); /* the first */
	cr_expect_eq(out.word[1], 2048u / 32 << 16 | 2);
	cr_expect_eq(out.sn, 77u);
	ev.now = 2000;
	cr_expect_not(dpa_pcc_report_make(&r, &sender, &ev, &out));
	ev.now = 8999;
	cr_expect_not(dpa_pcc_report_make(&r, &sender, &ev, &out));
	ev.now = 9000;
	cr_expect(dpa_pcc_report_make(&r, &sender, &ev, &out));
	cr_expect_eq(out.word[0], 2000u);
	cr_expect_eq(out.word[1], 3u * 2048 / 32 << 16 | 6);
	ev.bytes = 65536; /* this number at once in any case */
	ev.now = 9001;
	cr_expect(dpa_pcc_report_make(&r, &sender, &ev, &out));
	ev.bytes = 1;
	ev.now = 9002;
	cr_expect_not(dpa_pcc_report_make(&r, &sender, &ev, &out));
	sender.sent = 1; /* with a probe behind it */
	cr_expect(dpa_pcc_report_make(&r, &sender, &ev, &out));
	cr_expect_eq(out.flags, DPA_PCC_EV_TX_RTT_SENT);
}

Test(report, what_programs_do_not_hear_of)
{
	struct dpa_pcc_reporter r = {0};
	struct dpa_pcc_report out;

	for (uint32_t t = 0; t < DPA_PCC_EVENTS; t++) {
		struct dpa_pcc_event ev = {.type = t, .now = 1000, .bytes = 1};

		cr_expect_eq(dpa_pcc_report_make(&r, &sender, &ev, &out),
			     t != DPA_PCC_RNR && t != DPA_PCC_TIMER, "%u", t);
	}
}

Test(report, rates)
{
	cr_expect_eq(dpa_pcc_report_rate(DPA_PCC_RATE_ONE), DPA_PCC_NO_LIMIT);
	cr_expect_eq(dpa_pcc_report_rate(UINT32_MAX), DPA_PCC_NO_LIMIT);
	cr_expect_eq(dpa_pcc_report_rate(0), dpa_pcc_report_rate(1));
	cr_expect_eq(dpa_pcc_report_rate(DPA_PCC_RATE_ONE / 2),
		     UINT64_C(12500000000) / DPA_PCC_RATE_ONE * (DPA_PCC_RATE_ONE / 2));
}
