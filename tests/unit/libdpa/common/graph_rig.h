/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* graph_rig.h - an engine with a context for copies, for tests of graphs. */
#ifndef TEST_LIBDPA_GRAPH_RIG_H
#define TEST_LIBDPA_GRAPH_RIG_H

#include "../host.h"
#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_dma.h>
#include <doca_graph.h>
#include <doca_mmap.h>
#include <doca_pe.h>

#define RIG_TASKS 3

struct graph_rig {
	struct doca_dev *dev;
	struct doca_pe *pe;
	struct doca_dma *dma;
	struct doca_ctx *ctx;
	struct doca_mmap *map;
	struct doca_buf_inventory *inventory;
	struct doca_buf *src[RIG_TASKS], *dst[RIG_TASKS];
	struct doca_task *task[RIG_TASKS]; /* i copies 10 bytes from 0 to 1000 (i + 1) */
	char mem[4096];
	int done, failed, task_callbacks;
	int again; /* number of times that the callback submits its instance */
	uint64_t instance_data;
};
extern struct graph_rig rig;

void graph_setup(void);
void graph_teardown(void);
/* Make a graph with callbacks that count, and its data. */
struct doca_graph *new_graph(uint32_t instances);
/* Run progress until there is no work. */
void graph_run(void);
/* Restore sources and destinations. */
void graph_rewind(void);

#endif
