/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* instance.c - instances of graphs: their data, and how they run. */
#include "../../host/libdpa.h"
#include "graph.h"

/* --------------------------------------------------------------- life cycle */

doca_error_t doca_graph_instance_create(const struct doca_graph *graph,
					struct doca_graph_instance **graph_instance)
{
	struct doca_graph *g = (struct doca_graph *)graph;
	struct doca_graph_instance *in;

	if (!dpa_live(graph) || !graph_instance)
		return DOCA_ERROR_INVALID_VALUE;
	if (!g->started)
		return DOCA_ERROR_BAD_STATE;
	if (g->num_instances >= g->max_instances)
		return DOCA_ERROR_NO_MEMORY;
	in = dpa_obj_new(DPA_T_GRAPH_INSTANCE, sizeof(*in) + g->num_nodes * sizeof(in->slots[0]));
	if (!in)
		return DOCA_ERROR_NO_MEMORY;
	in->graph = g;
	for (const struct doca_graph_node *n = g->nodes; n; n = n->next) {
		in->slots[n->index].instance = in;
		in->slots[n->index].node = n;
	}
	g->num_instances++;
	*graph_instance = in;
	return DOCA_SUCCESS;
}

doca_error_t doca_graph_instance_destroy(struct doca_graph_instance *graph_instance)
{
	struct doca_graph_instance *in = graph_instance;

	if (!dpa_live(in))
		return DOCA_ERROR_INVALID_VALUE;
	if (in->submitted || in->parent)
		return DOCA_ERROR_IN_USE;
	for (uint32_t i = 0; i < in->graph->num_nodes; i++)
		if (in->slots[i].sub)
			in->slots[i].sub->parent = NULL;
	in->graph->num_instances--;
	dpa_obj_free(in);
	return DOCA_SUCCESS;
}

doca_error_t doca_graph_instance_set_user_data(struct doca_graph_instance *graph_instance,
					       union doca_data user_data)
{
	if (!dpa_live(graph_instance))
		return DOCA_ERROR_INVALID_VALUE;
	if (graph_instance->submitted)
		return DOCA_ERROR_IN_USE;
	graph_instance->user_data = user_data;
	return DOCA_SUCCESS;
}

doca_error_t doca_graph_instance_get_user_data(const struct doca_graph_instance *graph_instance,
					       union doca_data *user_data)
{
	DPA_RETURN_VALUE(graph_instance, user_data, graph_instance->user_data);
}

/* --------------------------------------------------------------------- data */

static doca_error_t instance_find_slot(struct doca_graph_instance *in,
				       const struct doca_graph_node *node, enum dpa_graph_kind kind,
				       struct dpa_graph_slot **slot)
{
	if (!dpa_live(in) || !dpa_live(node))
		return DOCA_ERROR_INVALID_VALUE;
	if (in->submitted)
		return DOCA_ERROR_BAD_STATE;
	if (node->graph != in->graph || node->kind != kind)
		return DOCA_ERROR_NOT_PERMITTED;
	*slot = &in->slots[node->index];
	return DOCA_SUCCESS;
}

doca_error_t doca_graph_instance_set_ctx_node_data(struct doca_graph_instance *graph_instance,
						   struct doca_graph_node *node,
						   struct doca_task *task)
{
	struct dpa_graph_slot *s;
	doca_error_t ret;

	if (!dpa_live(task))
		return DOCA_ERROR_INVALID_VALUE;
	ret = instance_find_slot(graph_instance, node, GRAPH_CTX, &s);
	if (!ret && task->ctx != node->ctx)
		ret = DOCA_ERROR_NOT_PERMITTED;
	if (!ret)
		s->task = task;
	return ret;
}

doca_error_t doca_graph_instance_set_user_node_data(struct doca_graph_instance *graph_instance,
						    struct doca_graph_node *node, void *cookie)
{
	struct dpa_graph_slot *s;
	doca_error_t ret = instance_find_slot(graph_instance, node, GRAPH_USER, &s);

	if (!ret)
		s->cookie = cookie;
	return ret;
}

doca_error_t
doca_graph_instance_set_sub_graph_node_data(struct doca_graph_instance *graph_instance,
					    struct doca_graph_node *node,
					    struct doca_graph_instance *sub_graph_instance)
{
	struct doca_graph_instance *sub = sub_graph_instance;
	struct dpa_graph_slot *s;
	doca_error_t ret;

	if (!dpa_live(sub))
		return DOCA_ERROR_INVALID_VALUE;
	ret = instance_find_slot(graph_instance, node, GRAPH_SUB, &s);
	if (ret)
		return ret;
	if (sub->graph != node->sub || sub->submitted || (sub->parent && sub->parent != s))
		return DOCA_ERROR_NOT_PERMITTED;
	if (s->sub)
		s->sub->parent = NULL;
	s->sub = sub;
	sub->parent = s;
	return DOCA_SUCCESS;
}

/* ------------------------------------------------------------------ running */

/* Put the instance into the list that doca_pe_progress() works through. */
static void instance_list(struct doca_graph_instance *in)
{
	struct doca_pe *pe = in->graph->pe;

	if (in->listed)
		return;
	in->listed = true;
	in->next = NULL;
	if (pe->graphs)
		pe->graphs_last->next = in;
	else
		pe->graphs = in;
	pe->graphs_last = in;
	dpa_pe_wake(pe);
}

static void slot_make_ready(struct dpa_graph_slot *s)
{
	s->next_ready = NULL;
	*s->instance->ready_end = s;
	s->instance->ready_end = &s->next_ready;
}

static struct dpa_graph_slot *instance_next_ready(struct doca_graph_instance *in)
{
	struct dpa_graph_slot *s = in->ready;

	if (s) {
		in->ready = s->next_ready;
		if (!in->ready)
			in->ready_end = &in->ready;
	}
	return s;
}

static void slot_put_back(struct dpa_graph_slot *s)
{
	struct doca_graph_instance *in = s->instance;

	s->next_ready = in->ready;
	if (!in->ready)
		in->ready_end = &s->next_ready;
	in->ready = s;
}

static void slot_ended(struct dpa_graph_slot *s, doca_error_t status)
{
	struct doca_graph_instance *in = s->instance;

	in->left--;
	if (status && !in->status)
		in->status = status;
	for (const struct dpa_graph_edge *e = s->node->edges; e && !status; e = e->next) {
		struct dpa_graph_slot *to = &in->slots[e->to->index];

		if (!--to->waiting)
			slot_make_ready(to);
	}
	instance_list(in);
}

/* Handle the end of a task, within doca_pe_progress() of its context. */
static void slot_task_ended(struct doca_task *task)
{
	struct dpa_graph_slot *s = container_of(task->watch, struct dpa_graph_slot, watch);

	task->watch = NULL;
	s->instance->running--;
	slot_ended(s, task->status);
}

static doca_error_t slot_begin_task(struct dpa_graph_slot *s)
{
	doca_error_t ret;

	if (!dpa_live(s->task))
		return DOCA_ERROR_INVALID_VALUE;
	if (s->task->watch || s->task->inflight)
		return DOCA_ERROR_BAD_STATE;
	s->watch.ended = slot_task_ended;
	s->task->watch = &s->watch;
	s->instance->running++;
	ret = doca_task_submit(s->task);
	if (ret) {
		s->task->watch = NULL;
		s->instance->running--;
	}
	return ret;
}

static bool instance_has_data(const struct doca_graph_instance *in)
{
	for (uint32_t i = 0; i < in->graph->num_nodes; i++) {
		const struct dpa_graph_slot *s = &in->slots[i];

		if ((s->node->kind == GRAPH_CTX && !dpa_live(s->task)) ||
		    (s->node->kind == GRAPH_SUB && !(s->sub && instance_has_data(s->sub))))
			return false;
	}
	return true;
}

static void instance_begin(struct doca_graph_instance *in)
{
	in->submitted = true;
	in->status = DOCA_SUCCESS;
	in->running = 0;
	in->left = in->graph->num_nodes;
	in->ready = NULL;
	in->ready_end = &in->ready;
	for (uint32_t i = 0; i < in->graph->num_nodes; i++) {
		in->slots[i].waiting = in->slots[i].node->num_from;
		if (!in->slots[i].waiting)
			slot_make_ready(&in->slots[i]);
	}
}

/* Begin a node. AGAIN: its context has no room now. */
static doca_error_t slot_begin(struct dpa_graph_slot *s)
{
	doca_error_t ret;

	switch (s->node->kind) {
	case GRAPH_CTX:
		return slot_begin_task(s);
	case GRAPH_SUB:
		if (s->sub->submitted)
			return DOCA_ERROR_BAD_STATE;
		if (!instance_has_data(s->sub))
			return DOCA_ERROR_INVALID_VALUE;
		s->instance->running++;
		instance_begin(s->sub);
		s->sub->by_parent = true;
		instance_list(s->sub);
		return DOCA_SUCCESS;
	default:
		ret = s->node->cb(s->cookie);
		if (ret == DOCA_ERROR_AGAIN) /* the user's own */
			ret = DOCA_ERROR_UNEXPECTED;
		if (!ret)
			slot_ended(s, DOCA_SUCCESS);
		return ret;
	}
}

static void instance_end(struct doca_graph_instance *in)
{
	const struct doca_graph *g = in->graph;
	struct dpa_graph_slot *parent = in->parent;

	in->submitted = false;
	if (in->by_parent) {
		in->by_parent = false;
		parent->instance->running--;
		slot_ended(parent, in->status);
	} else {
		(in->status ? g->failed : g->done)(in, in->user_data, g->user_data);
	}
}

/* Begin the ready nodes. The instance ends if no node runs. */
static void instance_run(struct doca_graph_instance *in)
{
	struct dpa_graph_slot *s;
	doca_error_t ret;

	while (!in->status && (s = instance_next_ready(in))) {
		ret = slot_begin(s);
		if (ret == DOCA_ERROR_AGAIN) {
			slot_put_back(s);
			instance_list(in);
			return;
		}
		if (ret)
			in->status = ret;
	}
	if (!in->running && !in->listed && (in->status || !in->left))
		instance_end(in);
}

/* Run the listed instances. Instances that callbacks list wait for the next call. */
bool dpa_graph_progress(struct doca_pe *pe)
{
	struct doca_graph_instance *last = pe->graphs_last, *in;
	bool any = pe->graphs != NULL && !pe->graphs_run;

	pe->graphs_run |= any; /* a callback may call doca_pe_progress() */
	for (bool more = any; more;) {
		in = pe->graphs;
		more = in != last;
		pe->graphs = in->next;
		in->listed = false;
		instance_run(in);
	}
	if (any)
		pe->graphs_run = false;
	return any;
}

/* Begin the tasks without dependencies at once. */
static doca_error_t instance_begin_roots(struct doca_graph_instance *in)
{
	doca_error_t ret = DOCA_SUCCESS;

	for (uint32_t i = 0; i < in->graph->num_nodes && !ret; i++) {
		struct dpa_graph_slot *s = &in->slots[i];

		if (s->node->num_from) /* not s->waiting: a task may end during its submit */
			continue;
		ret = s->node->kind == GRAPH_CTX ? slot_begin_task(s) : DOCA_ERROR_AGAIN;
		if (ret == DOCA_ERROR_AGAIN) {
			slot_make_ready(s);
			ret = DOCA_SUCCESS;
		}
	}
	return ret;
}

doca_error_t doca_graph_instance_submit(struct doca_graph_instance *graph_instance)
{
	struct doca_graph_instance *in = graph_instance;
	doca_error_t ret;

	if (!dpa_live(in))
		return DOCA_ERROR_INVALID_VALUE;
	if (in->submitted)
		return DOCA_ERROR_IN_USE;
	if (!instance_has_data(in))
		return DOCA_ERROR_INVALID_VALUE;
	instance_begin(in);
	in->ready = NULL; /* its tasks begin below */
	in->ready_end = &in->ready;
	ret = instance_begin_roots(in);
	if (ret && !in->running) {
		in->submitted = false;
		return ret;
	}
	in->status = ret;
	instance_list(in);
	return DOCA_SUCCESS;
}
