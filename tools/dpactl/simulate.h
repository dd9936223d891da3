/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* simulate.h - a run of a scenario, for the writers of its results. */
#ifndef DPACTL_SIMULATE_H
#define DPACTL_SIMULATE_H

#include <stdio.h>
#include <sim/sim.h>
#include "dpactl.h"

struct sim_run {
	const char *name;
	struct dpa_sim_scenario s;
	struct dpa_sim_program program;
	struct dpa_sim *sim;
};

/* program.c: the image in this file; ends the process where it cannot. Once. */
void sim_program_load(const char *path, struct dpa_sim_program *out);

/* simplot.c: runs it, and writes one HTML page with its curves in it. */
void sim_plot(FILE *out, struct sim_run *r);

#endif
