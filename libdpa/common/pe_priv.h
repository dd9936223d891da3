/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DPA_COMMON_PE_PRIV_H
#define DPA_COMMON_PE_PRIV_H

#include "pe.h"

struct doca_pe {
	struct doca_ctx *ctxs;
	/* instances of graphs for doca_pe_progress(), in the order of their entry */
	struct doca_graph_instance *graphs, *graphs_last;
	uint32_t num_graphs;  /* graphs that exist */
	uint64_t graph_walks; /* walks through nested graphs that were begun */
	bool graphs_run;
	/*
	 * 1: the next dpa_pe_raise() must write to fd. The user's thread sets it, then checks each
	 * context for work; the raising thread clears it. Both accesses are seq_cst, so that one
	 * side sees the other.
	 */
	_Atomic uint32_t armed;
	int event; /* eventfd, non-blocking */
	int fd; /* descriptor of the user: an epoll of `event` and of the contexts' descriptors */
};

void dpa_pe_disconnect(struct doca_ctx *ctx);
/* Report work for doca_pe_progress(): any thread. */
doca_error_t dpa_pe_wake(struct doca_pe *pe);

#endif
