/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_published.c - the device's congestion control beside the published curves and the fluid
 * models behind them ("ECN or Delay", CoNEXT 2016). The bounds are what docs/congestion.md says.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include "curves.h"

#define DCQCN_POINTS  1000u /* 100 ms */
#define TIMELY_POINTS 2000u
#define RAMP_2_MS     18.0 /* two flows rise until then */
#define RAMP_10_MS    7.0

static struct fluid_point model[TIMELY_POINTS], device[TIMELY_POINTS];

struct distance {
	double sum, max;
	unsigned num;
};

static void add_distance(struct distance *d, double a, double b)
{
	d->sum += (a - b) * (a - b);
	d->max = fmax(d->max, fabs(a - b));
	d->num++;
}

static double rms(const struct distance *d)
{
	return sqrt(d->sum / d->num);
}

/* Of curve[n] from the published points from one time to another: rate[0], Gbit/s. */
static struct distance distance_of(const struct fluid_point *curve, const struct published *p,
				   unsigned num, double from_ms, double to_ms)
{
	struct distance d = {0};

	for (unsigned i = 0; i < num; i++)
		if (p[i].ms >= from_ms && p[i].ms <= to_ms)
			add_distance(&d, curve_at(curve, DCQCN_POINTS, p[i].ms).rate[0] / 1e9,
				     p[i].rate[0]);
	return d;
}

/* ms: rate[0] has risen to 0.9 of the fair share, after the cuts. */
static double settled_at(const struct fluid_point *curve, double fair)
{
	for (unsigned ms = 1; ms < 99; ms++)
		if (curve_at(curve, DCQCN_POINTS, ms).rate[0] >= 0.9 * fair)
			return ms;
	return 100;
}

static double mean_queue(const struct fluid_point *curve, size_t from, size_t to)
{
	double sum = 0;

	for (size_t i = from; i < to; i++)
		sum += curve[i].queue;
	return sum / (double)(to - from);
}

static void run_dcqcn(unsigned flows)
{
	struct fluid_dcqcn m = fluid_dcqcn_published;

	m.flows = flows;
	fluid_dcqcn(&m, CURVE_EVERY, model, DCQCN_POINTS);
	curve_dcqcn(flows, device, DCQCN_POINTS);
}

/* ------------------------------------------------------------ the solver of the models */

static void expect_model(unsigned flows, const struct published *p)
{
	struct distance d;

	run_dcqcn(flows);
	d = distance_of(model, p, PUBLISHED_FLUID, 0, 100);
	printf("DCQCN, %2u flows, model from figure 2: rms %.2f, max %.2f Gbit/s\n", flows, rms(&d),
	       d.max);
	cr_expect_lt(d.max, 0.35, "%.2f", d.max);
	cr_expect_lt(rms(&d), 0.2, "%.2f", rms(&d));
}

Test(published, the_model_of_dcqcn_is_the_papers)
{
	expect_model(2, published_fluid_2);
	expect_model(10, published_fluid_10);
}

/* Equation 31: the fixed point of patched TIMELY. */
Test(published, the_model_of_timely_is_the_papers)
{
	const struct fluid_timely *m = &fluid_timely_published;
	double low = m->link * m->low / 8, fixed = low * (1 + 2 * m->delta / (m->beta * m->link));
	struct distance d = {0};

	fluid_timely(m, CURVE_EVERY, model, TIMELY_POINTS);
	for (unsigned i = 0; i < PUBLISHED_TIMELY; i++)
		add_distance(
			&d,
			curve_share(curve_at(model, TIMELY_POINTS, published_timely[i].ms).rate),
			curve_share(published_timely[i].rate));
	printf("TIMELY, model from figure 12: share rms %.4f, max %.4f; queue %.1f KB\n", rms(&d),
	       d.max, mean_queue(model, 1000, TIMELY_POINTS) / 1e3);
	cr_expect_lt(d.max, 0.01, "%.4f", d.max);
	cr_expect_float_eq(mean_queue(model, 1000, TIMELY_POINTS), fixed, fixed / 100, "%.0f",
			   mean_queue(model, 1000, TIMELY_POINTS));
}

/* ---------------------------------------------------------------------- the device */

struct bounds {
	unsigned flows;
	const struct published *curve;
	double ramp_ms; /* end of the common rise */
	double rise;	/* Gbit/s: rms on it */
	double after;	/* Gbit/s: the same behind it, where flows swing */
	double late;	/* ms: settled so much before or behind the published curve, at most */
	double settled; /* ms: the published curve */
	double queue;	/* bytes: from the model's fixed point */
};

static void expect_dcqcn(const struct bounds *b)
{
	double fair = 40e9 / b->flows, at, queue, fixed;
	struct distance rise, after;

	run_dcqcn(b->flows);
	rise = distance_of(device, b->curve, PUBLISHED_DCQCN, 2, b->ramp_ms);
	after = distance_of(device, b->curve, PUBLISHED_DCQCN, b->ramp_ms + 1, 100);
	at = settled_at(device, fair);
	queue = mean_queue(device, 500, DCQCN_POINTS);
	fixed = mean_queue(model, 500, DCQCN_POINTS);
	printf("DCQCN, %2u flows, device from figure 2: rise rms %.2f, max %.2f; then rms %.2f "
	       "Gbit/s; settled %.0f ms; queue %.0f KB, model %.0f KB\n",
	       b->flows, rms(&rise), rise.max, rms(&after), at, queue / 1e3, fixed / 1e3);
	cr_expect_lt(rms(&rise), b->rise, "%.2f", rms(&rise));
	cr_expect_lt(rms(&after), b->after, "%.2f", rms(&after));
	cr_expect_leq(fabs(at - b->settled), b->late, "%.0f ms", at);
	cr_expect_lt(fabs(queue - fixed), b->queue, "%.0f, not %.0f", queue, fixed);
}

Test(published, two_flows_of_dcqcn)
{
	expect_dcqcn(&(struct bounds){.flows = 2,
				      .curve = published_dcqcn_2,
				      .ramp_ms = RAMP_2_MS,
				      .rise = 1.1,
				      .after = 1.6,
				      .settled = 15.6,
				      .late = 2,
				      .queue = 15e3});
}

Test(published, ten_flows_of_dcqcn)
{
	expect_dcqcn(&(struct bounds){.flows = 10,
				      .curve = published_dcqcn_10,
				      .ramp_ms = RAMP_10_MS,
				      .rise = 0.8,
				      .after = 0.6,
				      .settled = 6.6,
				      .late = 1.6,
				      .queue = 60e3});
}

Test(published, two_flows_of_patched_timely)
{
	struct distance share = {0}, queue = {0};

	curve_timely(device, TIMELY_POINTS);
	for (unsigned i = 0; i < PUBLISHED_TIMELY; i++) {
		const struct published *p = &published_timely[i];
		struct fluid_point x = curve_at(device, TIMELY_POINTS, p->ms);

		add_distance(&share, curve_share(x.rate), curve_share(p->rate));
		if (p->ms >= 20)
			add_distance(&queue, x.queue / 1e3, p->queue);
	}
	printf("TIMELY, device from figure 12: share rms %.4f, max %.4f; queue from 20 ms on rms "
	       "%.1f, max %.1f KB, mean %.1f KB\n",
	       rms(&share), share.max, rms(&queue), queue.max,
	       mean_queue(device, 1000, TIMELY_POINTS) / 1e3);
	cr_expect_lt(rms(&share), 0.01, "%.4f", rms(&share));
	cr_expect_lt(share.max, 0.015, "%.4f", share.max);
	cr_expect_lt(queue.max, 4, "%.1f", queue.max);
}
