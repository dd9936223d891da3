/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plot.c - the page: see plot.h. Five panels over the same time: what each flow sent, what it was
 * allowed, its round trip, the queue with its thresholds, and what was marked, answered and lost.
 */
#include <stdlib.h>
#include "dpactl.h"
#include "plot.h"

#define LEFT   70u
#define WIDTH  900u
#define HEIGHT 150u
#define GAP    46u
#define PANELS 5u

static const char *const colours[] = {"#2a7fc4", "#d9463e", "#2f9e44", "#e8831a",
				      "#9a6bd0", "#9c6b57", "#d869b4", "#17a2b8"};

static const char *curve_colour(uint32_t i)
{
	return colours[i % (sizeof(colours) / sizeof(colours[0]))];
}

void plot_points(struct plot *t, uint32_t n)
{
	struct plot_flow *f = calloc((size_t)n * t->flows + 1, sizeof(*f));

	t->p = calloc(n + 1, sizeof(*t->p));
	if (!t->p || !f)
		die(EXIT_NONE, "no memory");
	t->p[0].flow = f; /* also if there is no point: plot_free() */
	for (uint32_t i = 0; i < n; i++)
		t->p[i].flow = f + (size_t)i * t->flows;
	t->n = n;
}

void plot_free(struct plot *t)
{
	free(t->p[0].flow);
	free(t->p);
}

uint64_t plot_mbits(uint64_t bytes, uint64_t ns)
{
	return ns ? (uint64_t)((unsigned __int128)bytes * 8000000 / ns) : 0;
}

void plot_fixed(FILE *out, uint64_t v, unsigned digits)
{
	uint64_t unit = 1;

	for (unsigned i = 0; i < digits; i++)
		unit *= 10;
	fprintf(out, "%llu.%0*llu", (unsigned long long)(v / unit), (int)digits,
		(unsigned long long)(v % unit));
}

/* ---------------------------------------------------------------------- panels */

typedef uint64_t value_fn(const struct plot_point *p, uint32_t flow);

static uint64_t flow_goodput(const struct plot_point *p, uint32_t flow)
{
	return plot_mbits(p->flow[flow].bytes, p->ns);
}

static uint64_t flow_allowed_rate(const struct plot_point *p, uint32_t flow)
{
	uint64_t rate = p->flow[flow].rate;

	return rate == PLOT_ANY ? PLOT_ANY : rate / 125;
}

static uint64_t flow_round_trip(const struct plot_point *p, uint32_t flow)
{
	return p->flow[flow].rtt_num ? p->flow[flow].rtt_sum / p->flow[flow].rtt_num : 0;
}

static uint64_t queue_of(const struct plot_point *p, uint32_t which)
{
	return which || !p->queue_num ? p->queue_max : p->queue_sum / p->queue_num;
}

static uint64_t event_count(const struct plot_point *p, uint32_t which)
{
	return which == 0 ? p->marked : which == 1 ? p->cnps : p->lost;
}

static uint64_t highest_value(const struct plot *t, value_fn *value, uint32_t curves)
{
	uint64_t most = 1;

	for (uint32_t k = 0; k < t->n; k++)
		for (uint32_t i = 0; i < curves; i++) {
			uint64_t v = value(&t->p[k], i);

			most = v > most && v != PLOT_ANY ? v : most;
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
static void put_axes(struct plot *t, const char *title, uint64_t unit)
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

static void put_curve(struct plot *t, value_fn *value, uint32_t i, const char *stroke,
		      const char *name)
{
	fprintf(t->out, "<path class=\"c\" stroke=\"%s\" d=\"", stroke);
	for (uint32_t k = 0; k < t->n; k++) {
		uint32_t x = LEFT + (t->n > 1 ? (k + 1) * WIDTH / t->n : WIDTH);

		fprintf(t->out, "%c%u %u", k ? 'L' : 'M', x, y_of(t, value(&t->p[k], i)));
	}
	fputs("\"><title>", t->out);
	plot_text(t->out, name);
	fputs("</title></path>\n", t->out);
}

static void begin_panel(struct plot *t, uint32_t nth, uint64_t full)
{
	t->top = 40 + nth * (HEIGHT + GAP);
	t->full = full + full / 20 + 1;
}

static void flow_panel(struct plot *t, uint32_t nth, const char *title, value_fn *value)
{
	char name[96];

	begin_panel(t, nth, highest_value(t, value, t->flows));
	put_axes(t, title, 1000);
	for (uint32_t i = 0; i < t->flows; i++) {
		t->name(t, i, name, sizeof(name));
		put_curve(t, value, i, curve_colour(i), name);
	}
}

static void put_queue_level(struct plot *t, uint32_t v, const char *name)
{
	uint32_t y = y_of(t, v);

	if (v && v <= t->full)
		fprintf(t->out,
			"<path class=\"l\" d=\"M%u %uh%u\"/><text class=\"n\" x=\"%u\" "
			"y=\"%u\">%s</text>\n",
			LEFT, y, WIDTH, LEFT + WIDTH - 4, y - 3, name);
}

static void queue_panel(struct plot *t)
{
	uint64_t most = highest_value(t, queue_of, 2);

	begin_panel(t, 3, most < t->ecn_max ? t->ecn_max : most);
	put_axes(t, "queue, KiB: mean and largest that packets met", 1024);
	put_curve(t, queue_of, 1, "#aaaaaa", "largest");
	put_curve(t, queue_of, 0, curve_colour(0), "mean");
	put_queue_level(t, t->ecn_min, "ECN min");
	put_queue_level(t, t->ecn_max, "ECN max");
	put_queue_level(t, t->queue, "full");
}

static void event_panel(struct plot *t)
{
	char title[96];

	begin_panel(t, 4, highest_value(t, event_count, 3));
	snprintf(title, sizeof(title), "packets marked (blue), CNPs (red), %s (green)", t->lost);
	put_axes(t, title, 1);
	put_curve(t, event_count, 0, curve_colour(0), "marked");
	put_curve(t, event_count, 1, curve_colour(1), "CNPs");
	put_curve(t, event_count, 2, curve_colour(2), t->lost);
}

static void time_axis(struct plot *t)
{
	uint64_t step = nice_step(t->time);
	uint32_t y = t->top + HEIGHT + 16;

	for (uint64_t v = 0; v <= t->time; v += step) {
		uint32_t x = LEFT + (uint32_t)(t->time ? v * WIDTH / t->time : 0);

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

void plot_text(FILE *out, const char *s)
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

void plot_cell(FILE *out, uint64_t v)
{
	fprintf(out, "<td>%llu.%llu</td>", (unsigned long long)(v / 1000),
		(unsigned long long)(v / 100 % 10));
}

/* Dark where the reader's system is; as wide as the window, 1000 pixels at most. */
static void put_page_head(struct plot *t)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	      "<meta name=\"viewport\" content=\"width=device-width\"><title>",
	      t->out);
	plot_text(t->out, t->title);
	fputs("</title>\n<style>:root{color-scheme:light dark;--ink:#333;--grid:#eee;--frame:#999;"
	      "--paper:#fff}@media(prefers-color-scheme:dark){:root{--ink:#ddd;--grid:#333;"
	      "--frame:#777;--paper:#181818}}body{font:14px sans-serif;margin:1em;color:var(--ink);"
	      "background:var(--paper)}svg{width:100%;max-width:1000px;height:auto}td,th{padding:"
	      "2px "
	      "10px;text-align:right}table{border-collapse:collapse;display:block;overflow-x:auto}"
	      "h1{overflow-wrap:anywhere}</style></head><body>\n"
	      "<h1>",
	      t->out);
	plot_text(t->out, t->title);
	fputs("</h1>\n<p>", t->out);
	plot_text(t->out, t->about);
	fputs("</p>\n", t->out);
}

static void put_legend(struct plot *t)
{
	char name[96];

	fputs("<p>", t->out);
	for (uint32_t i = 0; i < t->flows; i++) {
		t->name(t, i, name, sizeof(name));
		fprintf(t->out, "<span style=\"color:%s\">&#9632;</span> ", curve_colour(i));
		plot_text(t->out, name);
		fputs(i + 1 < t->flows ? " &nbsp; " : "", t->out);
	}
	fputs("</p>\n", t->out);
}

void plot_write(struct plot *t)
{
	t->time = 0;
	for (uint32_t k = 0; k < t->n; k++)
		t->time += t->p[k].ns;
	put_page_head(t);
	put_legend(t);
	fprintf(t->out,
		"<svg viewBox=\"0 0 %u %u\" xmlns=\"http://www.w3.org/2000/svg\">\n"
		"<style>text{font:12px sans-serif;fill:var(--ink)}.t{font-weight:bold}"
		".y,.n{text-anchor:end}.x{text-anchor:middle}.g{stroke:var(--grid)}"
		".f{fill:none;stroke:var(--frame)}.c{fill:none;stroke-width:1.3}"
		".l{stroke:#d9463e;stroke-dasharray:5 4}</style>\n",
		LEFT + WIDTH + 20, 40 + PANELS * (HEIGHT + GAP) + 20);
	flow_panel(t, 0, t->goodput, flow_goodput);
	flow_panel(t, 1, "rate that the algorithm allows, Mbit/s; at the edge: not limited",
		   flow_allowed_rate);
	flow_panel(t, 2, "round trip, us", flow_round_trip);
	queue_panel(t);
	event_panel(t);
	time_axis(t);
	fputs("</svg>\n", t->out);
	t->tables(t);
	fputs("</body></html>\n", t->out);
}
