/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* graph.c - graphs: nodes and their dependencies, start and stop. */
#include <stdlib.h>
#include "../object/object.h"
#include "graph.h"

doca_error_t doca_graph_create(struct doca_pe *pe, struct doca_graph **graph)
{
	struct doca_graph *g;

	if (!dpa_live(pe) || !graph)
		return DOCA_ERROR_INVALID_VALUE;
	g = dpa_obj_new(DPA_T_GRAPH, sizeof(*g));
	if (!g)
		return DOCA_ERROR_NO_MEMORY;
	g->pe = pe;
	pe->num_graphs++;
	*graph = g;
	return DOCA_SUCCESS;
}

static void graph_free_node(struct doca_graph_node *n)
{
	struct dpa_graph_edge *e, *next;

	for (e = n->edges; e; e = next) {
		next = e->next;
		free(e);
	}
	dpa_obj_free(n);
}

doca_error_t doca_graph_destroy(struct doca_graph *graph)
{
	struct doca_graph_node *n, *next;

	if (!dpa_live(graph))
		return DOCA_ERROR_INVALID_VALUE;
	if (graph->started)
		return DOCA_ERROR_BAD_STATE;
	for (n = graph->nodes; n; n = next) {
		next = n->next;
		graph_free_node(n);
	}
	graph->pe->num_graphs--;
	dpa_obj_free(graph);
	return DOCA_SUCCESS;
}

doca_error_t doca_graph_set_conf(struct doca_graph *graph,
				 doca_graph_completion_cb_t graph_completion_cb,
				 doca_graph_completion_cb_t graph_error_cb, uint32_t num_instances)
{
	if (!dpa_live(graph) || !graph_completion_cb || !graph_error_cb || !num_instances)
		return DOCA_ERROR_INVALID_VALUE;
	if (graph->started)
		return DOCA_ERROR_BAD_STATE;
	graph->done = graph_completion_cb;
	graph->failed = graph_error_cb;
	graph->max_instances = num_instances;
	return DOCA_SUCCESS;
}

doca_error_t doca_graph_set_user_data(struct doca_graph *graph, union doca_data user_data)
{
	if (!dpa_live(graph))
		return DOCA_ERROR_INVALID_VALUE;
	if (graph->started)
		return DOCA_ERROR_BAD_STATE;
	graph->user_data = user_data;
	return DOCA_SUCCESS;
}

doca_error_t doca_graph_get_user_data(const struct doca_graph *graph, union doca_data *user_data)
{
	DPA_RETURN_VALUE(graph, user_data, graph->user_data);
}

/* -------------------------------------------------------------------- nodes */

static doca_error_t graph_add_node(struct doca_graph *g, enum dpa_graph_kind kind,
				   struct doca_graph_node **out)
{
	struct doca_graph_node *n;

	if (g->started)
		return DOCA_ERROR_BAD_STATE;
	n = dpa_obj_new(DPA_T_GRAPH_NODE, sizeof(*n));
	if (!n)
		return DOCA_ERROR_NO_MEMORY;
	n->graph = g;
	n->kind = kind;
	n->index = g->num_nodes++;
	n->next = g->nodes;
	g->nodes = n;
	*out = n;
	return DOCA_SUCCESS;
}

doca_error_t doca_graph_node_create_from_ctx(struct doca_graph *graph, const struct doca_ctx *ctx,
					     struct doca_graph_node **node)
{
	doca_error_t ret;

	if (!dpa_live(graph) || !dpa_live(ctx) || !node)
		return DOCA_ERROR_INVALID_VALUE;
	ret = graph_add_node(graph, GRAPH_CTX, node);
	if (!ret)
		(*node)->ctx = ctx;
	return ret;
}

doca_error_t doca_graph_node_create_from_user(struct doca_graph *graph,
					      doca_graph_user_node_cb_t cb,
					      struct doca_graph_node **node)
{
	doca_error_t ret;

	if (!dpa_live(graph) || !cb || !node)
		return DOCA_ERROR_INVALID_VALUE;
	ret = graph_add_node(graph, GRAPH_USER, node);
	if (!ret)
		(*node)->cb = cb;
	return ret;
}

/*
 * Return whether `what` is g or inside it. A destroyed graph has nothing inside. A walk visits each
 * graph once: nested graphs have one engine.
 */
static bool graph_holds(struct doca_graph *g, const struct doca_graph *what)
{
	if (g == what)
		return true;
	if (!dpa_live(g) || g->walk == g->pe->graph_walks)
		return false;
	g->walk = g->pe->graph_walks;
	for (const struct doca_graph_node *n = g->nodes; n; n = n->next)
		if (n->kind == GRAPH_SUB && graph_holds(n->sub, what))
			return true;
	return false;
}

doca_error_t doca_graph_node_create_from_graph(struct doca_graph *graph,
					       struct doca_graph *sub_graph,
					       struct doca_graph_node **node)
{
	doca_error_t ret;

	if (!dpa_live(graph) || !dpa_live(sub_graph) || !node || sub_graph->pe != graph->pe)
		return DOCA_ERROR_INVALID_VALUE;
	graph->pe->graph_walks++;
	if (graph_holds(sub_graph, graph))
		return DOCA_ERROR_NOT_PERMITTED;
	if (!sub_graph->started)
		return DOCA_ERROR_BAD_STATE;
	ret = graph_add_node(graph, GRAPH_SUB, node);
	if (!ret)
		(*node)->sub = sub_graph;
	return ret;
}

/* Return whether `node` begins after `from`, or is it. A walk visits each node once. */
static bool graph_node_follows(struct doca_graph_node *from, const struct doca_graph_node *node)
{
	if (from == node)
		return true;
	if (from->walk == from->graph->walks)
		return false;
	from->walk = from->graph->walks;
	for (const struct dpa_graph_edge *e = from->edges; e; e = e->next)
		if (graph_node_follows(e->to, node))
			return true;
	return false;
}

doca_error_t doca_graph_add_dependency(struct doca_graph *graph, struct doca_graph_node *from,
				       struct doca_graph_node *to)
{
	struct dpa_graph_edge *e;

	if (!dpa_live(graph) || !dpa_live(from) || !dpa_live(to) || from->graph != graph ||
	    to->graph != graph)
		return DOCA_ERROR_INVALID_VALUE;
	if (graph->started)
		return DOCA_ERROR_BAD_STATE;
	graph->walks++;
	if (graph_node_follows(to, from))
		return DOCA_ERROR_NOT_PERMITTED;
	e = malloc(sizeof(*e));
	if (!e)
		return DOCA_ERROR_NO_MEMORY;
	*e = (struct dpa_graph_edge){.to = to, .next = from->edges};
	from->edges = e;
	to->num_from++;
	return DOCA_SUCCESS;
}

/* ----------------------------------------------------------- start and stop */

/* Return whether a node has a context, and all contexts run. */
static bool graph_can_start(const struct doca_graph *g)
{
	bool any = false;

	for (const struct doca_graph_node *n = g->nodes; n; n = n->next) {
		if (n->kind != GRAPH_CTX)
			continue;
		if (!dpa_live(n->ctx) || n->ctx->state != DOCA_CTX_STATE_RUNNING)
			return false;
		any = true;
	}
	return any && g->done;
}

doca_error_t doca_graph_start(struct doca_graph *graph)
{
	if (!dpa_live(graph))
		return DOCA_ERROR_INVALID_VALUE;
	if (!graph->started && !graph_can_start(graph))
		return DOCA_ERROR_BAD_STATE;
	graph->started = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_graph_stop(struct doca_graph *graph)
{
	if (!dpa_live(graph))
		return DOCA_ERROR_INVALID_VALUE;
	if (graph->num_instances)
		return DOCA_ERROR_IN_USE;
	graph->started = false;
	return DOCA_SUCCESS;
}
