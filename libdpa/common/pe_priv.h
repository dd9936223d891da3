/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DPA_COMMON_PE_PRIV_H
#define DPA_COMMON_PE_PRIV_H

#include "pe.h"

struct doca_pe {
	struct doca_ctx *ctxs;
	/* instances of graphs that doca_pe_progress() is to look at, first come first */
	struct doca_graph_instance *graphs, *graphs_last;
	uint32_t num_graphs;  /* that exist */
	uint64_t graph_walks; /* through nested graphs, that were begun */
	bool graphs_run;
	/*
	 * 1: the next dpa_pe_raise() is to write to fd. The user's thread sets it, then asks each
	 * context whether it has something already; whoever raises clears it. Both are seq_cst, so
	 * that one of them sees the other.
	 */
	_Atomic uint32_t armed;
	int event; /* eventfd, non-blocking */
	int fd;	   /* what the user waits for: an epoll of that, and of the contexts' */
};

void dpa_pe_disconnect(struct doca_ctx *ctx);
/* There is something for doca_pe_progress(): any thread. */
void dpa_pe_wake(struct doca_pe *pe);

#endif
