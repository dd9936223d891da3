/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * graph.h - graphs and their instances.
 *
 *   instance   IDLE --submit--> RUNNING --all nodes ended, or one failed and none runs--> IDLE
 *   slot       WAITING (for `waiting` others) --> ready list --> begun --> ended
 *
 * An instance with ready nodes, or with none left, is in the engine's list. The thread of the
 * engine owns all of it; no lock is taken.
 */
#ifndef DPA_COMMON_GRAPH_H
#define DPA_COMMON_GRAPH_H

#include "../pe_priv.h"
#include <doca_graph.h>

enum dpa_graph_kind { GRAPH_CTX, GRAPH_USER, GRAPH_SUB };

struct dpa_graph_edge {
	struct doca_graph_node *to;
	struct dpa_graph_edge *next;
};

struct doca_graph_node {
	struct doca_graph *graph;
	struct doca_graph_node *next;
	struct dpa_graph_edge *edges;
	enum dpa_graph_kind kind;
	uint32_t index;	   /* of its slot */
	uint32_t num_from; /* nodes that it waits for */
	uint64_t walk;	   /* the last walk of the graph that reached this node */
	const struct doca_ctx *ctx;
	doca_graph_user_node_cb_t cb;
	struct doca_graph *sub;
};

struct doca_graph {
	struct doca_pe *pe;
	struct doca_graph_node *nodes;
	doca_graph_completion_cb_t done, failed;
	union doca_data user_data;
	uint32_t num_nodes, num_instances, max_instances;
	uint64_t walks; /* walks from node to node that were begun */
	uint64_t walk;	/* the last walk through nested graphs that reached this one */
	bool started;
};

/* A node of an instance. */
struct dpa_graph_slot {
	struct dpa_task_watch watch;
	struct doca_graph_instance *instance;
	const struct doca_graph_node *node;
	struct doca_task *task;
	void *cookie;
	struct doca_graph_instance *sub;
	uint32_t waiting;
	struct dpa_graph_slot *next_ready;
};

struct doca_graph_instance {
	struct doca_graph *graph;
	union doca_data user_data;
	struct dpa_graph_slot *parent; /* slot that has this instance as its data */
	bool submitted, listed;
	bool by_parent; /* the parent's slot submitted it and ends with it */
	doca_error_t status;
	uint32_t running, left; /* slots */
	struct dpa_graph_slot *ready, **ready_end;
	struct doca_graph_instance *next; /* next in the engine's list */
	struct dpa_graph_slot slots[];
};

/* Run the ready nodes: part of doca_pe_progress(). True: there was work. */
bool dpa_graph_progress(struct doca_pe *pe);

#endif
