/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* simplot.c - the page of a simulated run. */
#include <string.h>
#include <pcc/pcc.h>
#include "plot.h"
#include "simulate.h"

static void add_sample(struct plot_point *p, const struct dpa_sim_sample *x, uint32_t flows)
{
	p->ns += x->ns;
	p->queue_sum += x->queue_avg;
	p->queue_num++;
	p->queue_max = x->queue_max > p->queue_max ? x->queue_max : p->queue_max;
	for (uint32_t i = 0; i < flows; i++) {
		const struct dpa_sim_flow_stat *f = &x->flow[i];

		p->marked += f->marked;
		p->cnps += f->cnps;
		p->lost += f->lost;
		p->flow[i].bytes += f->bytes;
		p->flow[i].rate = f->rate < DPA_PCC_NO_LIMIT ? f->rate : PLOT_ANY;
		p->flow[i].rtt_sum += f->rtt_sum;
		p->flow[i].rtt_num += f->rtt_num;
	}
}

static void gather_sim_points(struct plot *t, struct sim_run *r)
{
	uint64_t samples = (r->s.time + r->s.sample - 1) / r->s.sample;
	uint64_t each = (samples + PLOT_POINTS - 1) / PLOT_POINTS, k = 0;
	struct dpa_sim_sample x;

	plot_points(t, (uint32_t)((samples + each - 1) / each));
	for (; dpa_sim_run(r->sim, &x); k++)
		add_sample(&t->p[k / each], &x, r->s.n);
}

static void sim_flow_name(const struct plot *t, uint32_t flow, char *to, size_t len)
{
	const struct sim_run *r = t->arg;

	snprintf(to, len, "flow %u, %s", flow, dpa_sim_algo(r->s.flow[flow].algo));
}

static void latency_row(const struct plot *t, uint32_t flow, const char *name, const char *algo)
{
	const struct sim_run *r = t->arg;
	struct dpa_sim_latency l;

	dpa_sim_latency(r->sim, flow, &l);
	fprintf(t->out, "<tr><td>%s</td><td>%s</td><td>%llu</td>", name, algo,
		(unsigned long long)l.num);
	plot_cell(t->out, l.p50);
	plot_cell(t->out, l.p99);
	plot_cell(t->out, l.p999);
	plot_cell(t->out, l.max);
	fputs("</tr>\n", t->out);
}

static void latency_table(const struct plot *t)
{
	const struct sim_run *r = t->arg;
	char name[16];

	fputs("<table><tr><th>flow</th><th>algorithm</th><th>messages</th><th>p50, "
	      "us</th><th>p99</th>"
	      "<th>p99.9</th><th>max</th></tr>\n",
	      t->out);
	for (uint32_t i = 0; i < r->s.n; i++) {
		snprintf(name, sizeof(name), "%u", i);
		latency_row(t, i, name, dpa_sim_algo(r->s.flow[i].algo));
	}
	latency_row(t, DPA_SIM_FLOWS, "all", "");
	fputs("</table>\n", t->out);
}

void sim_plot(FILE *out, struct sim_run *r)
{
	struct dpa_link_spec l = {.set = true, .n = 1, .seed = r->s.seed};
	char spec[2 * DPA_LINK_TEXT], about[sizeof(spec) + 64];
	struct plot t = {.out = out,
			 .title = r->name,
			 .about = about,
			 .goodput = "goodput, Mbit/s",
			 .lost = "packets lost",
			 .flows = r->s.n,
			 .ecn_min = r->s.link.ecn_max ? r->s.link.ecn_min : 0,
			 .ecn_max = r->s.link.ecn_max,
			 .queue = r->s.link.queue,
			 .arg = r,
			 .name = sim_flow_name,
			 .tables = latency_table};

	l.rule[0] = r->s.link;
	dpa_link_text(&l, spec, sizeof(spec));
	snprintf(about, sizeof(about), "%u flows, path MTU %u; link %s", r->s.n, r->s.mtu, spec);
	gather_sim_points(&t, r);
	plot_write(&t);
	plot_free(&t);
}
