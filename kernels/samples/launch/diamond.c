/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_diamond: launches that split and join.
 *
 *       A
 *      / \
 *     C   B
 *     |   |
 *     D   |
 *      \ /
 *       E
 */
#include <stdio.h>
#include <string.h>
#include "graph.h"

extern struct doca_dpa_app *diamond_app;
extern doca_dpa_func_t stage_kernel;

enum { START, B, C, D, E, END_ };

/* wait: event of the `parents` stages before it. */
static bool launch_stage(struct graph *g, char name, int wait, uint64_t parents, int next,
			 int other)
{
	TRY(doca_dpa_kernel_launch_update_set(
		g->res.pf_dpa, NULL, 0, NULL, 0, 1, &stage_kernel, g->handle[wait], parents - 1,
		g->handle[next], other ? g->handle[other] : 0, g->log, (uint64_t)name));
	return true;
}

static bool is_before(const char *order, char first, char second)
{
	const char *a = strchr(order, first), *b = strchr(order, second);

	return a && b && a < b;
}

static bool run_diamond(struct graph *g)
{
	char order[17];

	TRY(doca_dpa_kernel_launch_update_set(g->res.pf_dpa, g->event[START], 1, NULL, 0, 1,
					      &stage_kernel, (uint64_t)0, (uint64_t)0, g->handle[B],
					      g->handle[C], g->log, (uint64_t)'A'));
	if (!launch_stage(g, 'B', B, 1, E, 0) || !launch_stage(g, 'C', C, 1, D, 0) ||
	    !launch_stage(g, 'D', D, 1, E, 0) || !launch_stage(g, 'E', E, 2, END_, 0))
		return false;
	TRY(doca_sync_event_update_set(g->event[START], 1));
	if (!res_await(&g->res, g->event[END_], 0) || !graph_order(g, order))
		return false;
	printf("the stages ran in the order %s\n", order);
	return strlen(order) == 5 && order[0] == 'A' && order[4] == 'E' &&
	       is_before(order, 'C', 'D') && strchr(order, 'B');
}

int main(int argc, char **argv)
{
	static const enum res_event_kind kinds[] = {RES_EVENT_TO_DPA, RES_EVENT_IN_DPA,
						    RES_EVENT_IN_DPA, RES_EVENT_IN_DPA,
						    RES_EVENT_IN_DPA, RES_EVENT_TO_HOST};
	struct graph g = {0};
	struct args a = {0};
	bool ok;

	if (!args_parse(&a, "dpa_diamond", ARGS_LOCAL, argc, argv))
		return 1;
	ok = graph_open(&g, &a, diamond_app, kinds, 6) && run_diamond(&g);
	return graph_close(&g) && ok ? 0 : 1;
}
