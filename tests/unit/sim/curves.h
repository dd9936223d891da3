/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * curves.h - curves of the papers, of their fluid models (fluid.h) and of the device's code in
 * simulated time (sim/sim.h), all as points of the same kind.
 */
#ifndef TESTS_SIM_CURVES_H
#define TESTS_SIM_CURVES_H

#include "fluid.h"

#define CURVE_EVERY 1e-4 /* s: between two points of a model or of the device */

/*
 * Read off a figure, as the mean of the curve from half a millisecond before to half a millisecond
 * behind `ms`. 0 behind the first field: not shown, or not legible.
 */
struct published {
	double ms;
	double rate[FLUID_FLOWS]; /* Gbit/s */
	double queue;		  /* KB */
};

/* "ECN or Delay" (CoNEXT 2016), packet simulation: figure 2, one flow of 2 and of 10; figure 12. */
#define PUBLISHED_DCQCN	 23u
#define PUBLISHED_TIMELY 20u
extern const struct published published_dcqcn_2[PUBLISHED_DCQCN];
extern const struct published published_dcqcn_10[PUBLISHED_DCQCN];
extern const struct published published_timely[PUBLISHED_TIMELY];
/* Fluid model in figure 2: until it stands still. */
#define PUBLISHED_FLUID 8u
extern const struct published published_fluid_2[PUBLISHED_FLUID];
extern const struct published published_fluid_10[PUBLISHED_FLUID];

/*
 * The device in the setting of a figure: fill out[n]. Rates are shares of the link, with the bytes
 * around the payload. DCQCN: rate[0] is the mean of all flows, rate[1] the greatest distance of one
 * from it.
 */
void curve_dcqcn(unsigned flows, struct fluid_point *out, size_t n);
/* Patched TIMELY, as a program of the device, for two flows of 7 and 3 Gbit/s. */
void curve_timely(struct fluid_point *out, size_t n);

/* The mean of out[n] over the same time as a published point has it. */
struct fluid_point curve_at(const struct fluid_point *out, size_t n, double ms);
/* The part that the first of two flows has of both. */
double curve_share(const double rate[FLUID_FLOWS]);

#endif
