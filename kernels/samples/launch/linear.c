/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * linear.c - dpa_linear: three launches in sequence, A -> B -> C. A's launch waits for an event of
 * the host; each kernel signals the next one by an event, C signals the host.
 */
#include <stdio.h>
#include <string.h>
#include "graph.h"

extern struct doca_dpa_app *linear_app;
extern doca_dpa_func_t stage_kernel;

enum { START, B, C, END_ };

static bool run_linear(struct graph *g)
{
	static const uint64_t none;
	char order[17];

	TRY(doca_dpa_kernel_launch_update_add(g->res.pf_dpa, g->event[START], 1, NULL, 0, 1,
					      &stage_kernel, none, none, g->handle[B], none, g->log,
					      (uint64_t)'A'));
	TRY(doca_dpa_kernel_launch_update_add(g->res.pf_dpa, NULL, 0, NULL, 0, 1, &stage_kernel,
					      g->handle[B], (uint64_t)0, g->handle[C], none, g->log,
					      (uint64_t)'B'));
	TRY(doca_dpa_kernel_launch_update_add(g->res.pf_dpa, NULL, 0, NULL, 0, 1, &stage_kernel,
					      g->handle[C], (uint64_t)0, g->handle[END_], none,
					      g->log, (uint64_t)'C'));
	TRY(doca_sync_event_update_set(g->event[START], 1));
	if (!res_await(&g->res, g->event[END_], 0) || !graph_order(g, order))
		return false;
	printf("the stages ran in the order %s\n", order);
	return strcmp(order, "ABC") == 0;
}

int main(int argc, char **argv)
{
	static const enum res_event_kind kinds[] = {RES_EVENT_TO_DPA, RES_EVENT_IN_DPA,
						    RES_EVENT_IN_DPA, RES_EVENT_TO_HOST};
	struct graph g = {0};
	struct args a = {0};
	bool ok;

	if (!args_parse(&a, "dpa_linear", ARGS_LOCAL, argc, argv))
		return 1;
	ok = graph_open(&g, &a, linear_app, kinds, 4) && run_linear(&g);
	return graph_close(&g) && ok ? 0 : 1;
}
