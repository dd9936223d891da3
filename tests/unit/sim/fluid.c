/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fluid.c - delay differential equations by Euler's method. Steps are a fiftieth of the shortest
 * period of the equations (50 us), so that the error is far below that of reading a figure.
 */
#include "fluid.h"
#include <math.h>
#include <stdlib.h>

#define STEP 1e-6 /* s */

const struct fluid_dcqcn fluid_dcqcn_published = {
	.link = 40e9,
	.packet = 1000,
	.delay = 4e-6,
	.kmin = 5e3,
	.kmax = 200e3,
	.pmax = 0.01,
	.g = 1.0 / 256,
	.rai = 40e6,
	.timer = 55e-6,
	.bytes = 10e6,
	.tau = 50e-6,
	.tau_alpha = 55e-6,
	.flows = 2,
	.recovery = 5,
};

const struct fluid_timely fluid_timely_published = {
	.link = 10e9,
	.segment = 16e3,
	.mtu = 1000,
	.delay = 4e-6,
	.low = 50e-6,
	.high = 500e-6,
	.min_rtt = 20e-6,
	.alpha = 0.875,
	.beta = 0.008,
	.delta = 10e6,
	.first = {7e9, 3e9},
};

static double *history(size_t n)
{
	double *h = malloc((n + 1) * sizeof(*h));

	if (!h)
		abort();
	return h;
}

/* The value `lag` seconds before step i; `first` before the begin. */
static double before(const double *h, size_t i, double lag, double first)
{
	size_t n = (size_t)(lag / STEP + 0.5);

	return n > i ? first : h[i - n];
}

static double clamp(double v, double lo, double hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* ------------------------------------------------------------------------- DCQCN */

/* Rates are in packets/s, the queue in packets, as probabilities are of packets. */
struct dcqcn {
	double rc, rt, alpha, q;
};

/* Equation 3. */
static double marked(const struct fluid_dcqcn *m, double q)
{
	double bytes = q * m->packet;

	if (bytes <= m->kmin)
		return 0;
	return bytes <= m->kmax ? (bytes - m->kmin) / (m->kmax - m->kmin) * m->pmax : 1;
}

/* p / ((1 - p)^-n - 1): how often, of a packet, n packets in a row carry no mark. */
static double unmarked(double p, double n)
{
	if (p <= 0)
		return 1 / n;
	return p < 1 ? p / expm1(-n * log1p(-p)) : 0;
}

/* 1 - (1 - p)^n: one of n packets carries a mark. */
static double any_marked(double p, double n)
{
	return p < 1 ? -expm1(n * log1p(-p)) : 1;
}

/* Equations 4 to 7; rc and p: as they were tau* ago. */
static void step_dcqcn(const struct fluid_dcqcn *m, struct dcqcn *d, double rc, double p)
{
	double packet = m->packet * 8, link = m->link / packet, rai = m->rai / packet;
	double nb = m->bytes / m->packet, nt = m->timer * rc, f = m->recovery;
	double b = unmarked(p, nb), t = unmarked(p, nt), cut = any_marked(p, m->tau * rc);
	double grow = b * (1 - any_marked(p, f * nb)) + t * (1 - any_marked(p, f * nt));
	double dalpha = m->g / m->tau_alpha * (any_marked(p, m->tau_alpha * rc) - d->alpha);
	double drt = -(d->rt - d->rc) / m->tau * cut + rai * rc * grow;
	double drc = -d->rc * d->alpha / (2 * m->tau) * cut + (d->rt - d->rc) / 2 * rc * (b + t);

	if (rc >= link && drc > 0)
		drc = 0;
	d->q = fmax(0, d->q + STEP * (m->flows * d->rc - link));
	d->alpha += STEP * dalpha;
	d->rt += STEP * drt;
	d->rc += STEP * drc;
}

void fluid_dcqcn(const struct fluid_dcqcn *m, double every, struct fluid_point *out, size_t n)
{
	size_t each = (size_t)(every / STEP + 0.5), steps = n * each;
	double packet = m->packet * 8, link = m->link / packet;
	struct dcqcn d = {.rc = link, .rt = link, .alpha = 1};
	double *rc = history(steps), *p = history(steps);

	for (size_t i = 0; i < steps; i++) {
		rc[i] = d.rc;
		p[i] = marked(m, d.q);
		if (i % each == 0)
			out[i / each] = (struct fluid_point){
				.at = (double)i * STEP,
				.rate = {d.rc * packet, d.rc * packet},
				.queue = d.q * m->packet,
			};
		step_dcqcn(m, &d, before(rc, i, m->delay, link), before(p, i, m->delay, 0));
	}
	free(rc);
	free(p);
}

/* ---------------------------------------------------------------- patched TIMELY */

/* Equation 30. */
static double weight(double gradient)
{
	return clamp(2 * gradient + 0.5, 0, 1);
}

/* Equation 29, without 1 / tau*: the change of a rate for each segment. q: in seconds. */
static double change(const struct fluid_timely *m, double rate, double gradient, double q)
{
	double w = weight(gradient);

	if (q < m->low)
		return m->delta;
	if (q > m->high)
		return -m->beta * (1 - m->high / q) * rate;
	return (1 - w) * m->delta - w * m->beta * rate * (q - m->low) / m->low;
}

static void step_timely(const struct fluid_timely *m, double *rate, double *gradient,
			const double *queue, size_t i)
{
	double lag = queue[i] + m->mtu * 8 / m->link + m->delay;
	double q = before(queue, i, lag, 0);
	double interval = fmax(m->segment * 8 / *rate, m->min_rtt);
	double was = before(queue, i, lag + interval, 0), d = change(m, *rate, *gradient, q);

	if (*rate >= m->link && d > 0)
		d = 0;
	*rate += STEP * d / interval;
	*gradient += STEP * m->alpha / interval * ((q - was) / m->min_rtt - *gradient);
}

void fluid_timely(const struct fluid_timely *m, double every, struct fluid_point *out, size_t n)
{
	size_t each = (size_t)(every / STEP + 0.5), steps = n * each;
	double rate[FLUID_FLOWS] = {m->first[0], m->first[1]}, gradient[FLUID_FLOWS] = {0};
	double *queue = history(steps); /* seconds at the link's rate */

	queue[0] = 0;
	for (size_t i = 0; i < steps; i++) {
		double excess = rate[0] + rate[1] - m->link;

		if (i % each == 0)
			out[i / each] = (struct fluid_point){
				.at = (double)i * STEP,
				.rate = {rate[0], rate[1]},
				.queue = queue[i] * m->link / 8,
			};
		for (unsigned k = 0; k < FLUID_FLOWS; k++)
			step_timely(m, &rate[k], &gradient[k], queue, i);
		queue[i + 1] = fmax(0, queue[i] + STEP * excess / m->link);
	}
	free(queue);
}
