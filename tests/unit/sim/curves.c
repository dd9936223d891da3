/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * curves.c - the device's code in the settings of the papers. The network has a round trip of 4 us,
 * packets have 1024 bytes of payload.
 */
#include "curves.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pcc/report.h"
#include "sim/sim.h"

#define ON_LINK ((1024.0 + DPA_SIM_HEADERS) / 1024)

struct fluid_point curve_at(const struct fluid_point *out, size_t n, double ms)
{
	struct fluid_point sum = {.at = ms * 1e-3};
	double num = 0;

	for (size_t i = 0; i < n; i++) {
		if (fabs(out[i].at - sum.at) > 0.5e-3)
			continue;
		num++;
		for (unsigned k = 0; k < FLUID_FLOWS; k++)
			sum.rate[k] += out[i].rate[k];
		sum.queue += out[i].queue;
	}
	for (unsigned k = 0; k < FLUID_FLOWS; k++)
		sum.rate[k] /= num;
	sum.queue /= num;
	return sum;
}

double curve_share(const double rate[FLUID_FLOWS])
{
	return rate[0] / (rate[0] + rate[1]);
}

static struct dpa_sim *begin(const char *text, const struct dpa_sim_program *program)
{
	static struct dpa_sim_scenario s; /* large */
	struct dpa_sim *sim;
	char err[256];

	if (!dpa_sim_parse(text, &s, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		abort();
	}
	s.program = program;
	if (program)
		dpa_sim_prefer_program(&s);
	sim = dpa_sim_new(&s);
	if (!sim)
		abort();
	return sim;
}

/* bit/s on the link */
static double rate_of(const struct dpa_sim_sample *x, unsigned flow)
{
	return (double)x->flow[flow].bytes * 8e9 / (double)x->ns * ON_LINK;
}

/* ------------------------------------------------------------------------- DCQCN */

void curve_dcqcn(unsigned flows, struct fluid_point *out, size_t n)
{
	static struct dpa_sim_sample x;
	struct dpa_sim *sim;
	char text[256];

	snprintf(text, sizeof(text),
		 "link = rate=40G,delay=2us,queue=16M,ecn=5000:200000:1%%,pfc,seed=3\n"
		 "host = 40G\ntime = %zuus\nsample = 100us\nflow = count=%u",
		 n * 100, flows);
	sim = begin(text, NULL);
	for (size_t i = 0; i < n && dpa_sim_run(sim, &x); i++) {
		struct fluid_point *p = &out[i];

		*p = (struct fluid_point){.at = ((double)x.at - (double)x.ns / 2) * 1e-9,
					  .queue = (double)x.queue_avg};
		for (unsigned k = 0; k < flows; k++)
			p->rate[0] += rate_of(&x, k) / flows;
		for (unsigned k = 0; k < flows; k++)
			p->rate[1] = fmax(p->rate[1], fabs(rate_of(&x, k) - p->rate[0]));
	}
	dpa_sim_free(sim);
}

/* ---------------------------------------------------------------- patched TIMELY */

#define LINE 100e9 /* bit/s: DPA_PCC_LINE_GBPS, of which answers are parts */

/* State of a flow: at most the 12 words that a program has. */
struct timely {
	double rate;	 /* bit/s */
	double gradient; /* of round trips, smoothed, in units of min_rtt */
	uint32_t last;	 /* ns: the round trip before; 0: none */
	uint32_t at;	 /* ns: time of its answer */
	uint32_t begun;	 /* the first event has come */
};
_Static_assert(sizeof(struct timely) <= 12 * sizeof(uint32_t), "fits");

/* Algorithm 2, once. rtt, diff: s; the latter to the round trip of the segment before. */
static void update(struct timely *t, const struct fluid_timely *m, double rtt, double diff)
{
	double w;

	t->gradient += m->alpha * (diff / m->min_rtt - t->gradient);
	w = fmin(1, fmax(0, 2 * t->gradient + 0.5));
	if (rtt < m->low)
		t->rate += m->delta;
	else if (rtt > m->high)
		t->rate *= 1 - m->beta * (1 - m->high / rtt);
	else
		t->rate =
			m->delta * (1 - w) + t->rate * (1 - m->beta * w * (rtt - m->low) / m->low);
	t->rate = fmin(t->rate, m->link);
}

/*
 * TIMELY has a round trip for each segment; a flow here has one probe under way at a time. The
 * segments between two answers get round trips on the line between these.
 */
static void take_rtt(struct timely *t, const struct fluid_timely *m, uint32_t now, uint32_t ns)
{
	double interval = fmax(m->segment * 8 / t->rate, m->min_rtt);
	double since = t->last ? (double)(now - t->at) * 1e-9 : interval;
	double part = since / interval, was = (t->last ? t->last : ns) * 1e-9;
	double each = (ns * 1e-9 - was) / part;
	unsigned whole = (unsigned)(part + 0.5);

	if (!whole)
		return; /* too early: the next answer counts for both */
	for (unsigned i = 1; i <= whole; i++)
		update(t, m, was + (ns * 1e-9 - was) * i / whole, each);
	t->last = ns;
	t->at = now;
}

static uint32_t answer(void *arg, uint64_t now, const struct dpa_pcc_report *r, uint32_t ctxt[12],
		       uint32_t rate, bool *probe)
{
	const struct fluid_timely *m = arg;
	struct timely t;

	(void)rate;
	memcpy(&t, ctxt, sizeof(t));
	if (!t.begun) {
		t.rate = m->first[r->flow - 1];
		t.begun = 1;
		*probe = true;
	}
	if (r->type == DPA_PCC_EV_RTT) {
		take_rtt(&t, m, (uint32_t)now, r->time - r->word[0]);
		*probe = true;
	}
	memcpy(ctxt, &t, sizeof(t));
	return (uint32_t)(t.rate / LINE * DPA_PCC_RATE_ONE + 0.5);
}

void curve_timely(struct fluid_point *out, size_t n)
{
	static struct dpa_sim_sample x;
	struct fluid_timely m = fluid_timely_published;
	struct dpa_sim_program program = {.answer = answer, .arg = &m};
	struct dpa_sim *sim;
	char text[256];

	snprintf(text, sizeof(text),
		 "link = rate=10G,delay=2us,queue=16M,seed=3\nhost = 10G\ntime = %zuus\n"
		 "sample = 100us\nflow = count=2",
		 n * 100);
	sim = begin(text, &program);
	for (size_t i = 0; i < n && dpa_sim_run(sim, &x); i++)
		out[i] = (struct fluid_point){.at = ((double)x.at - (double)x.ns / 2) * 1e-9,
					      .rate = {rate_of(&x, 0), rate_of(&x, 1)},
					      .queue = (double)x.queue_avg};
	dpa_sim_free(sim);
}
