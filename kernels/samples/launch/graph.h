/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* graph.h - events between the stages of a graph, and the log of the kernels that ran. */
#ifndef DPA_SAMPLE_GRAPH_H
#define DPA_SAMPLE_GRAPH_H

#include "launch.h"
#include "res.h"

enum { GRAPH_EVENTS = 8 };

struct graph {
	struct res res;
	doca_dpa_dev_uintptr_t log;
	struct doca_sync_event *event[GRAPH_EVENTS];
	doca_dpa_dev_sync_event_t handle[GRAPH_EVENTS];
};

/* kinds[i] is the use of event i. */
bool graph_open(struct graph *g, const struct args *a, struct doca_dpa_app *app,
		const enum res_event_kind *kinds, int num);
/* Return the kernels that ran, with a zero at the end. False: the log cannot be read. */
bool graph_order(struct graph *g, char order[17]);
bool graph_close(struct graph *g);

#endif
