/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plot.c - the curves of a simulated run: one HTML page that needs nothing else, with SVG in it.
 * Four panels over the same time: goodput of each flow, round trip, queue with its thresholds, and
 * what was marked, answered and lost. Integers only, so that the same run gives the same page.
 */
#include <stdlib.h>
#include <string.h>
#include "simulate.h"

#define COLUMNS 1000u /* points of a curve at most */
#define LEFT	70u
#define WIDTH	900u
#define HEIGHT	170u
#define GAP	46u
#define PANELS	4u

/* Sums of the samples that fall into one point. */
struct point {
	uint64_t ns, queue_max, queue_avg, n;
	uint64_t marked, cnps, lost;
	struct {
		uint64_t bytes, rtt_sum, rtt_num;
	} flow[DPA_SIM_FLOWS];
};

struct plot {
	FILE *out;
	struct sim_run *r;
	struct point *p;
	uint32_t n;
	uint32_t top;  /* of the panel */
	uint64_t full; /* value at its upper edge */
};

static const char *const colours[] = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e",
				      "#9467bd", "#8c564b", "#e377c2", "#17becf"};

static const char *colour(uint32_t i)
{
	return colours[i % (sizeof(colours) / sizeof(colours[0]))];
}

/* ----------------------------------------------------------------------- data */

static void add_sample(struct point *p, const struct dpa_sim_sample *x, uint32_t flows)
{
	p->ns += x->ns;
	p->queue_avg += x->queue_avg;
	p->queue_max = x->queue_max > p->queue_max ? x->queue_max : p->queue_max;
	p->n++;
	for (uint32_t i = 0; i < flows; i++) {
		p->marked += x->flow[i].marked;
		p->cnps += x->flow[i].cnps;
		p->lost += x->flow[i].lost;
		p->flow[i].bytes += x->flow[i].bytes;
		p->flow[i].rtt_sum += x->flow[i].rtt_sum;
		p->flow[i].rtt_num += x->flow[i].rtt_num;
	}
}

static void gather(struct plot *t)
{
	struct sim_run *r = t->r;
	uint64_t samples = (r->s.time + r->s.sample - 1) / r->s.sample;
	uint64_t each = (samples + COLUMNS - 1) / COLUMNS, k = 0;
	struct dpa_sim_sample x;

	t->p = calloc((size_t)(samples / each + 1), sizeof(*t->p));
	if (!t->p)
		die(EXIT_NONE, "no memory");
	for (; dpa_sim_run(r->sim, &x); k++)
		add_sample(&t->p[k / each], &x, r->s.n);
	t->n = (uint32_t)((k + each - 1) / each);
}

/* ---------------------------------------------------------------------- panels */

typedef uint64_t value_fn(const struct plot *t, const struct point *p, uint32_t flow);

static uint64_t goodput(const struct plot *t, const struct point *p, uint32_t flow)
{
	return sim_mbits(p->flow[flow].bytes, p->ns);
}

static uint64_t round_trip(const struct plot *t, const struct point *p, uint32_t flow)
{
	return p->flow[flow].rtt_num ? p->flow[flow].rtt_sum / p->flow[flow].rtt_num : 0;
}

static uint64_t queue_of(const struct plot *t, const struct point *p, uint32_t which)
{
	return which || !p->n ? p->queue_max : p->queue_avg / p->n;
}

static uint64_t events(const struct plot *t, const struct point *p, uint32_t which)
{
	return which == 0 ? p->marked : which == 1 ? p->cnps : p->lost;
}

static uint64_t highest(const struct plot *t, value_fn *value, uint32_t curves)
{
	uint64_t most = 1;

	for (uint32_t k = 0; k < t->n; k++)
		for (uint32_t i = 0; i < curves; i++) {
			uint64_t v = value(t, &t->p[k], i);

			most = v > most ? v : most;
		}
	return most;
}

/* 1, 2 or 5 times a power of ten, so that 4 to 10 of them are v. */
static uint64_t nice_step(uint64_t v)
{
	static const unsigned of[] = {1, 2, 5};
	uint64_t unit = 1;

	for (;; unit *= 10)
		for (unsigned i = 0; i < 3; i++)
			if (of[i] * unit * 6 >= v)
				return of[i] * unit;
}

static uint32_t y_of(const struct plot *t, uint64_t v)
{
	v = v > t->full ? t->full : v;
	return t->top + HEIGHT - (uint32_t)(v * HEIGHT / t->full);
}

/* unit: the value that the axis calls 1. */
static void axes(struct plot *t, const char *title, uint64_t unit)
{
	uint64_t step = unit > t->full ? nice_step(t->full) : nice_step(t->full / unit) * unit;

	fprintf(t->out, "<text class=\"t\" x=\"%u\" y=\"%u\">%s</text>\n", LEFT, t->top - 8, title);
	for (uint64_t v = 0; v <= t->full; v += step) {
		uint32_t y = y_of(t, v);

		fprintf(t->out,
			"<path class=\"g\" d=\"M%u %uh%u\"/><text class=\"y\" x=\"%u\" "
			"y=\"%u\">",
			LEFT, y, WIDTH, LEFT - 6, y + 4);
		fprintf(t->out, "%llu", (unsigned long long)(v / unit));
		if (v % unit)
			fprintf(t->out, ".%02llu", (unsigned long long)(v % unit * 100 / unit));
		fputs("</text>\n", t->out);
	}
	fprintf(t->out, "<rect class=\"f\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"/>\n", LEFT,
		t->top, WIDTH, HEIGHT);
}

static void curve(struct plot *t, value_fn *value, uint32_t i, const char *stroke, const char *name)
{
	fprintf(t->out, "<path class=\"c\" stroke=\"%s\" d=\"", stroke);
	for (uint32_t k = 0; k < t->n; k++) {
		uint32_t x = LEFT + (t->n > 1 ? (k + 1) * WIDTH / t->n : WIDTH);

		fprintf(t->out, "%c%u %u", k ? 'L' : 'M', x, y_of(t, value(t, &t->p[k], i)));
	}
	fprintf(t->out, "\"><title>%s</title></path>\n", name);
}

static void flow_curves(struct plot *t, value_fn *value)
{
	char name[64];

	for (uint32_t i = 0; i < t->r->s.n; i++) {
		snprintf(name, sizeof(name), "flow %u, %s", i, dpa_sim_algo(t->r->s.flow[i].algo));
		curve(t, value, i, colour(i), name);
	}
}

static void level(struct plot *t, uint32_t v, const char *name)
{
	uint32_t y = y_of(t, v);

	if (v <= t->full)
		fprintf(t->out,
			"<path class=\"l\" d=\"M%u %uh%u\"/><text class=\"n\" x=\"%u\" "
			"y=\"%u\">%s</text>\n",
			LEFT, y, WIDTH, LEFT + WIDTH - 4, y - 3, name);
}

static void panel(struct plot *t, uint32_t nth, uint64_t full)
{
	t->top = 40 + nth * (HEIGHT + GAP);
	t->full = full + full / 20 + 1;
}

static void queue_panel(struct plot *t)
{
	const struct dpa_link_rule *l = &t->r->s.link;
	uint64_t most = highest(t, queue_of, 2);

	if (l->ecn_max && most < l->ecn_max)
		most = l->ecn_max;
	panel(t, 2, most);
	axes(t, "queue, KiB: mean and largest that packets met", 1024);
	curve(t, queue_of, 1, "#bbbbbb", "largest");
	curve(t, queue_of, 0, "#1f77b4", "mean");
	if (l->ecn_max) {
		level(t, l->ecn_min, "ECN min");
		level(t, l->ecn_max, "ECN max");
	}
	level(t, l->queue, "full");
}

static void time_axis(struct plot *t)
{
	uint64_t step = nice_step(t->r->s.time);
	uint32_t y = t->top + HEIGHT + 16;

	for (uint64_t v = 0; v <= t->r->s.time; v += step) {
		uint32_t x = LEFT + (uint32_t)(v * WIDTH / t->r->s.time);

		fprintf(t->out, "<text class=\"x\" x=\"%u\" y=\"%u\">%llu", x, y,
			(unsigned long long)(v / 1000000));
		if (step % 1000000)
			fprintf(t->out, ".%03llu", (unsigned long long)(v / 1000 % 1000));
		fputs("</text>\n", t->out);
	}
	fprintf(t->out, "<text class=\"x\" x=\"%u\" y=\"%u\">time, ms</text>\n", LEFT + WIDTH / 2,
		y + 16);
}

/* ----------------------------------------------------------------------- page */

static void text(FILE *out, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		default:
			fputc((unsigned char)*s < ' ' ? '?' : *s, out);
		}
}

static void head(struct plot *t)
{
	struct dpa_link_spec l = {.set = true, .n = 1, .seed = t->r->s.seed};
	char spec[2 * DPA_LINK_TEXT];

	l.rule[0] = t->r->s.link;
	dpa_link_text(&l, spec, sizeof(spec));
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", t->out);
	text(t->out, t->r->name);
	fputs("</title>\n<style>body{font:14px sans-serif;margin:1em}svg{max-width:100%}"
	      "td,th{padding:2px 10px;text-align:right}</style></head><body>\n<h1>",
	      t->out);
	text(t->out, t->r->name);
	fprintf(t->out, "</h1>\n<p>%u flows, path MTU %u; link %s</p>\n", t->r->s.n, t->r->s.mtu,
		spec);
}

static void latency_row(struct plot *t, uint32_t flow, const char *name, const char *algo)
{
	struct dpa_sim_latency l;
	uint64_t v[4];

	dpa_sim_latency(t->r->sim, flow, &l);
	v[0] = l.p50, v[1] = l.p99, v[2] = l.p999, v[3] = l.max;
	fprintf(t->out, "<tr><td>%s</td><td>%s</td><td>%llu</td>", name, algo,
		(unsigned long long)l.num);
	for (int i = 0; i < 4; i++)
		fprintf(t->out, "<td>%llu.%llu</td>", (unsigned long long)(v[i] / 1000),
			(unsigned long long)(v[i] / 100 % 10));
	fputs("</tr>\n", t->out);
}

static void latency_table(struct plot *t)
{
	char name[16];

	fputs("<table><tr><th>flow</th><th>algorithm</th><th>messages</th><th>p50, "
	      "us</th><th>p99</th>"
	      "<th>p99.9</th><th>max</th></tr>\n",
	      t->out);
	for (uint32_t i = 0; i < t->r->s.n; i++) {
		snprintf(name, sizeof(name), "%u", i);
		latency_row(t, i, name, dpa_sim_algo(t->r->s.flow[i].algo));
	}
	latency_row(t, DPA_SIM_FLOWS, "all", "");
	fputs("</table>\n", t->out);
}

void sim_plot(FILE *out, struct sim_run *r)
{
	static const char *const names[] = {"marked", "CNPs", "lost"};
	struct plot t = {.out = out, .r = r};

	gather(&t);
	head(&t);
	fprintf(out,
		"<svg viewBox=\"0 0 %u %u\" width=\"%u\" xmlns=\"http://www.w3.org/2000/svg\">\n"
		"<style>text{font:12px sans-serif;fill:#333}.t{font-weight:bold}"
		".y,.n{text-anchor:end}.x{text-anchor:middle}.g{stroke:#eee}"
		".f{fill:none;stroke:#999}.c{fill:none;stroke-width:1.3}"
		".l{stroke:#d62728;stroke-dasharray:5 4}</style>\n",
		LEFT + WIDTH + 20, 40 + PANELS * (HEIGHT + GAP) + 20, LEFT + WIDTH + 20);
	panel(&t, 0, highest(&t, goodput, r->s.n));
	axes(&t, "goodput, Mbit/s", 1000);
	flow_curves(&t, goodput);
	panel(&t, 1, highest(&t, round_trip, r->s.n));
	axes(&t, "round trip, us", 1000);
	flow_curves(&t, round_trip);
	queue_panel(&t);
	panel(&t, 3, highest(&t, events, 3));
	axes(&t, "packets marked (blue), CNPs (red), packets lost (green)", 1);
	for (uint32_t i = 0; i < 3; i++)
		curve(&t, events, i, colour(i), names[i]);
	time_axis(&t);
	fputs("</svg>\n", out);
	latency_table(&t);
	fputs("</body></html>\n", out);
	free(t.p);
}
