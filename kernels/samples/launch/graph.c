/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "graph.h"

bool graph_open(struct graph *g, const struct args *a, struct doca_dpa_app *app,
		const enum res_event_kind *kinds, int num)
{
	if (!res_open(&g->res, a, app) || !res_alloc(&g->res, sizeof(struct launch_log), &g->log))
		return false;
	for (int i = 0; i < num; i++)
		if (!res_event(&g->res, kinds[i], &g->event[i], &g->handle[i]))
			return false;
	return true;
}

bool graph_order(struct graph *g, char order[17])
{
	struct launch_log log;

	TRY(doca_dpa_d2h_memcpy(g->res.pf_dpa, &log, g->log, sizeof(log)));
	for (uint64_t i = 0; i < log.num && i < 16; i++)
		order[i] = (char)log.who[i];
	order[log.num < 16 ? log.num : 16] = 0;
	return true;
}

bool graph_close(struct graph *g)
{
	bool ok = true;

	for (int i = 0; i < GRAPH_EVENTS; i++)
		END(&ok, g->event[i], doca_sync_event_destroy(g->event[i]));
	END(&ok, g->log, doca_dpa_mem_free(g->res.pf_dpa, g->log));
	return res_close(&g->res) && ok;
}
