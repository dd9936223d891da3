/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fluid.h - the fluid models of DCQCN and of patched TIMELY (Zhu, Ghobadi, Misra, Padhye: "ECN or
 * Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016), solved in steps of 1 us.
 */
#ifndef TESTS_SIM_FLUID_H
#define TESTS_SIM_FLUID_H

#include <stddef.h>

#define FLUID_FLOWS 2u

struct fluid_point {
	double at;		  /* s */
	double rate[FLUID_FLOWS]; /* bit/s */
	double queue;		  /* bytes */
};

/* Equations 3 to 7 (figure 1). All flows begin at line rate and have the same rates: rate[0]. */
struct fluid_dcqcn {
	double link;	   /* bit/s */
	double packet;	   /* bytes: marks and the byte counter are of packets */
	double delay;	   /* s: tau*, of the control loop */
	double kmin, kmax; /* bytes */
	double pmax;
	double g, rai, timer, bytes; /* R_AI: bit/s; T: s; B: bytes */
	double tau, tau_alpha;	     /* s: between two CNPs; between two updates of alpha */
	unsigned flows, recovery;    /* N; F */
};

/* Equations 20 to 24 (figure 7) with 29 and 30: the rule between T_low and T_high is the patched one. */
struct fluid_timely {
	double link, segment, mtu; /* bit/s; bytes */
	double delay;		   /* s: D_prop */
	double low, high, min_rtt; /* s */
	double alpha, beta, delta; /* delta: bit/s */
	double first[FLUID_FLOWS]; /* bit/s: rates at time 0 */
};

extern const struct fluid_dcqcn fluid_dcqcn_published;
extern const struct fluid_timely fluid_timely_published;

/* Fill out[n], a point each `every` seconds from 0 on. Aborts without memory. */
void fluid_dcqcn(const struct fluid_dcqcn *m, double every, struct fluid_point *out, size_t n);
void fluid_timely(const struct fluid_timely *m, double every, struct fluid_point *out, size_t n);

#endif
