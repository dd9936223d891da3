/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plot.c - writes docs/examples/congestion-published.svg to standard output: published curves as
 * dots, their fluid models as grey lines, the device's code in simulated time as blue ones.
 */
#include <stdio.h>
#include "curves.h"

#define POINTS 2000u
#define WIDTH  420.0 /* of a panel's axes; its place has 480 x 260 */
#define HEIGHT 180.0
#define MODEL  "#888888"
#define DEVICE "#1f5fbf"
#define PAPER  "#c03020"

static struct fluid_point model[POINTS], device[POINTS];

struct panel {
	const char *title, *unit;
	double left, top; /* px */
	double ms, most;  /* ends of the axes */
	double (*value)(const struct fluid_point *p, unsigned curve);
	unsigned curves;
	const struct published *paper;
	unsigned papers;
};

static double x_of(const struct panel *v, double ms)
{
	return v->left + ms / v->ms * WIDTH;
}

static double y_of(const struct panel *v, double value)
{
	return v->top + HEIGHT * (1 - (value < v->most ? value : v->most) / v->most);
}

static void axes(const struct panel *v)
{
	printf("<text x=\"%.0f\" y=\"%.0f\" font-weight=\"bold\">%s</text>\n", v->left, v->top - 10,
	       v->title);
	for (unsigned i = 0; i <= 4; i++) {
		double y = y_of(v, v->most * i / 4), x = x_of(v, v->ms * i / 4);

		printf("<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
		       v->left, v->left + WIDTH, y, y);
		printf("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", v->left - 6,
		       y + 4, v->most * i / 4);
		printf("<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%g</text>\n", x,
		       v->top + HEIGHT + 18, v->ms * i / 4);
	}
	printf("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">ms; %s</text>\n", v->left + WIDTH,
	       v->top + HEIGHT + 34, v->unit);
}

static void line(const struct panel *v, const struct fluid_point *p, unsigned curve,
		 const char *color)
{
	printf("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.2\" points=\"", color);
	for (unsigned i = 0; i < POINTS && p[i].at * 1e3 <= v->ms; i++)
		if (p[i].at * 1e3 < 10 || i % 5 == 0)
			printf("%.1f,%.1f ", x_of(v, p[i].at * 1e3),
			       y_of(v, v->value(&p[i], curve)));
	printf("\"/>\n");
}

static void dots(const struct panel *v, unsigned curve)
{
	for (unsigned i = 0; i < v->papers; i++) {
		const struct published *q = &v->paper[i];
		struct fluid_point p = {.rate = {q->rate[0] * 1e9, q->rate[1] * 1e9},
					.queue = q->queue * 1e3};

		printf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/>\n", x_of(v, q->ms),
		       y_of(v, v->value(&p, curve)), PAPER);
	}
}

static void draw(const struct panel *v)
{
	axes(v);
	for (unsigned i = 0; i < v->curves; i++) {
		line(v, model, i, MODEL);
		line(v, device, i, DEVICE);
		dots(v, i);
	}
}

static double gbit(const struct fluid_point *p, unsigned curve)
{
	return p->rate[curve] / 1e9;
}

static double share(const struct fluid_point *p, unsigned curve)
{
	return curve ? 1 - curve_share(p->rate) : curve_share(p->rate);
}

static double kilobytes(const struct fluid_point *p, unsigned curve)
{
	(void)curve;
	return p->queue / 1e3;
}

static void dcqcn(unsigned flows, const struct panel *v)
{
	struct fluid_dcqcn m = fluid_dcqcn_published;

	m.flows = flows;
	fluid_dcqcn(&m, CURVE_EVERY, model, POINTS);
	curve_dcqcn(flows, device, POINTS);
	draw(v);
}

int main(void)
{
	printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" height=\"590\" "
	       "font-family=\"sans-serif\" font-size=\"12\">\n"
	       "<rect width=\"1000\" height=\"590\" fill=\"white\"/>\n"
	       "<text x=\"60\" y=\"24\"><tspan fill=\"%s\">published simulation</tspan>, "
	       "<tspan fill=\"%s\">published fluid model</tspan>, "
	       "<tspan fill=\"%s\">this device</tspan></text>\n",
	       PAPER, MODEL, DEVICE);
	dcqcn(2, &(struct panel){"DCQCN, two flows (figure 2)", "Gbit/s of a flow", 60, 70, 100, 40,
				 gbit, 1, published_dcqcn_2, PUBLISHED_DCQCN});
	dcqcn(10, &(struct panel){"DCQCN, ten flows (figure 2)", "Gbit/s of a flow", 550, 70, 100,
				  8, gbit, 1, published_dcqcn_10, PUBLISHED_DCQCN});
	fluid_timely(&fluid_timely_published, CURVE_EVERY, model, POINTS);
	curve_timely(device, POINTS);
	draw(&(struct panel){"patched TIMELY, two flows (figure 12a)", "share of a flow", 60, 340,
			     200, 1, share, 2, published_timely, PUBLISHED_TIMELY});
	draw(&(struct panel){"patched TIMELY, the queue (figure 12b)", "KB", 550, 340, 200, 160,
			     kilobytes, 1, published_timely, PUBLISHED_TIMELY});
	printf("</svg>\n");
	return 0;
}
