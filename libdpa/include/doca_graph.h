/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_graph.h - tasks and callbacks that depend on each other.
 *
 *   A ---> B ---> D        D begins when B and C have ended. A graph is such a drawing; an instance
 *    '---> C ----'         has the tasks of one run of it, and may be submitted again and again.
 *
 * doca_pe_progress() of the engine begins the nodes that have become ready, and calls the
 * callbacks. A node that fails ends its instance: nothing more of it begins, and its error callback
 * runs when the nodes that had begun have ended. A task for which its context has no room is
 * submitted again by the next progress. The callbacks of a task do not run while it belongs to an
 * instance that is submitted, nor those of a graph inside another.
 *
 * All calls on a graph, its nodes and instances belong to the thread of its engine. The errors are
 * those that the DOCA API 2.10 documents.
 */
#ifndef DOCA_GRAPH_H_
#define DOCA_GRAPH_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_ctx;
struct doca_graph;
struct doca_graph_instance;
struct doca_graph_node;
struct doca_pe;
struct doca_task;

/* An instance has ended. The callback may submit or destroy it. */
typedef void (*doca_graph_completion_cb_t)(struct doca_graph_instance *instance,
					   union doca_data instance_user_data,
					   union doca_data graph_user_data);

/*
 * The work of a user node, on the thread of doca_pe_progress(). Any result but SUCCESS fails the
 * instance.
 */
typedef doca_error_t (*doca_graph_user_node_cb_t)(void *cookie);

/*
 * Create an empty graph on an engine, which cannot be destroyed before it.
 * INVALID_VALUE: NULL; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_graph_create(struct doca_pe *pe, struct doca_graph **graph);

/* Free it and its nodes. INVALID_VALUE: NULL; BAD_STATE: it is started. */
DOCA_EXPERIMENTAL doca_error_t doca_graph_destroy(struct doca_graph *graph);

/*
 * Configure instances. Call it before the graph starts.
 * @graph_completion_cb, @graph_error_cb: called when an instance has succeeded, or failed
 * @num_instances: instances that may exist at a time
 * INVALID_VALUE: NULL or 0; BAD_STATE: the graph is started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_graph_set_conf(struct doca_graph *graph,
						   doca_graph_completion_cb_t graph_completion_cb,
						   doca_graph_completion_cb_t graph_error_cb,
						   uint32_t num_instances);

/*
 * Set or get the data for the callbacks. INVALID_VALUE: NULL; BAD_STATE (set): the graph is
 * started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_graph_set_user_data(struct doca_graph *graph,
							union doca_data user_data);
DOCA_EXPERIMENTAL doca_error_t doca_graph_get_user_data(const struct doca_graph *graph,
							union doca_data *user_data);

/*
 * Add a node: for a task of a context, for a call of cb, or for an instance of a started graph of
 * the same engine. The node belongs to the graph and is freed with it.
 * @node: receives it
 * INVALID_VALUE: NULL, or a sub graph of another engine; BAD_STATE: the graph is started, or sub_graph
 * is not; NO_MEMORY; NOT_PERMITTED: sub_graph has the graph inside.
 */
DOCA_EXPERIMENTAL doca_error_t doca_graph_node_create_from_ctx(struct doca_graph *graph,
							       const struct doca_ctx *ctx,
							       struct doca_graph_node **node);
DOCA_EXPERIMENTAL doca_error_t doca_graph_node_create_from_user(struct doca_graph *graph,
								doca_graph_user_node_cb_t cb,
								struct doca_graph_node **node);
DOCA_EXPERIMENTAL doca_error_t doca_graph_node_create_from_graph(struct doca_graph *graph,
								 struct doca_graph *sub_graph,
								 struct doca_graph_node **node);

/*
 * Begin `to` only after `from` has ended.
 * INVALID_VALUE: NULL, or a node of another graph; BAD_STATE: the graph is started; NO_MEMORY;
 * NOT_PERMITTED: from depends on to.
 */
DOCA_EXPERIMENTAL doca_error_t doca_graph_add_dependency(struct doca_graph *graph,
							 struct doca_graph_node *from,
							 struct doca_graph_node *to);

/*
 * Start a graph: it can have instances, and no new nodes, from now on. SUCCESS if it is started
 * already.
 * INVALID_VALUE: NULL; BAD_STATE: no node has a context, a context is not running, or
 * doca_graph_set_conf() was not called; NO_MEMORY does not occur.
 */
DOCA_EXPERIMENTAL doca_error_t doca_graph_start(struct doca_graph *graph);

/* Stop a graph. SUCCESS if it is stopped already. INVALID_VALUE: NULL; IN_USE: it has instances. */
DOCA_EXPERIMENTAL doca_error_t doca_graph_stop(struct doca_graph *graph);

/*
 * Create an instance. INVALID_VALUE: NULL; BAD_STATE: the graph is not started; NO_MEMORY, or as
 * many as configured.
 */
DOCA_EXPERIMENTAL doca_error_t doca_graph_instance_create(
	const struct doca_graph *graph, struct doca_graph_instance **graph_instance);

/*
 * Destroy an instance. INVALID_VALUE: NULL; IN_USE: it is submitted, or is the data of a node of
 * another instance.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_graph_instance_destroy(struct doca_graph_instance *graph_instance);

/*
 * Set or get the data for the callbacks. INVALID_VALUE: NULL; IN_USE (set): the instance is
 * submitted.
 */
DOCA_EXPERIMENTAL doca_error_t doca_graph_instance_set_user_data(
	struct doca_graph_instance *graph_instance, union doca_data user_data);
DOCA_EXPERIMENTAL doca_error_t doca_graph_instance_get_user_data(
	const struct doca_graph_instance *graph_instance, union doca_data *user_data);

/*
 * Set the work of a node in this instance: a task, which must live as long as the instance; the
 * argument of the callback (NULL unless it is set); an instance of the node's graph.
 * INVALID_VALUE: NULL; BAD_STATE: the instance is submitted; NOT_PERMITTED: the node is of another
 * graph or kind, the task of another context, or the sub graph's instance is of another graph,
 * submitted, or the data of another node.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_graph_instance_set_ctx_node_data(struct doca_graph_instance *graph_instance,
				      struct doca_graph_node *node, struct doca_task *task);
DOCA_EXPERIMENTAL doca_error_t doca_graph_instance_set_user_node_data(
	struct doca_graph_instance *graph_instance, struct doca_graph_node *node, void *cookie);
DOCA_EXPERIMENTAL doca_error_t doca_graph_instance_set_sub_graph_node_data(
	struct doca_graph_instance *graph_instance, struct doca_graph_node *node,
	struct doca_graph_instance *sub_graph_instance);

/*
 * Begin the tasks that depend on nothing; doca_pe_progress() does the rest.
 * INVALID_VALUE: NULL, or a node has no data; IN_USE: it is submitted; the error of doca_task_submit()
 * if the first task of all is refused: then nothing runs and no callback comes.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_graph_instance_submit(struct doca_graph_instance *graph_instance);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_GRAPH_H_ */
