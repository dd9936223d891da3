/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plot.h - curves of flows over time: one HTML page that needs nothing else, with SVG in it. Of a
 * simulation and of a recording alike. Integers only, so that the same numbers give the same page.
 */
#ifndef DPACTL_PLOT_H
#define DPACTL_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PLOT_POINTS 1000u      /* of a curve, at most */
#define PLOT_ANY    UINT64_MAX /* a rate: not limited */

/* Of a flow, in the time of one point. */
struct plot_flow {
	uint64_t bytes;
	uint64_t rate;		   /* bytes/s that are allowed at its end; PLOT_ANY */
	uint64_t rtt_sum, rtt_num; /* ns */
};

struct plot_point {
	uint64_t ns, queue_sum, queue_num, queue_max;
	uint64_t marked, cnps, lost;
	struct plot_flow *flow;
};

struct plot {
	FILE *out;
	const char *title;
	const char *about;		  /* a line below it */
	const char *goodput;		  /* what the first panel shows */
	const char *lost;		  /* what the last panel calls that */
	uint32_t flows, n;		  /* n: points */
	struct plot_point *p;		  /* plot_points() */
	uint32_t ecn_min, ecn_max, queue; /* lines of the queue's panel, bytes; 0: none */
	const void *arg;
	/* The name of a flow, up to so many bytes. */
	void (*name)(const struct plot *t, uint32_t flow, char *to, size_t len);
	/* Tables behind the curves. */
	void (*tables)(const struct plot *t);
	/* plot.c's own */
	uint32_t top;  /* of the panel */
	uint64_t full; /* value at its upper edge */
	uint64_t time; /* of all points, ns */
};

/* n points, zero; ends the process without memory. */
void plot_points(struct plot *t, uint32_t n);
void plot_write(struct plot *t);
void plot_free(struct plot *t);
/* Text within the page. */
void plot_text(FILE *out, const char *s);
/* v / 1000, with a digit behind the point, in a cell of a table. */
void plot_cell(FILE *out, uint64_t v);

/* Thousandths of Mbit/s of so many bytes in a time. */
uint64_t plot_mbits(uint64_t bytes, uint64_t ns);
/* v / 10^digits, exactly. */
void plot_fixed(FILE *out, uint64_t v, unsigned digits);

#endif
