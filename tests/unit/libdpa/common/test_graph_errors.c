/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_graph_errors.c - graphs: refused calls. */
#include "graph_rig.h"

TestSuite(graph_errors, .init = graph_setup, .fini = graph_teardown, .timeout = 60);

static doca_error_t nothing(void *cookie)
{
	return DOCA_SUCCESS;
}

static void ended(struct doca_graph_instance *in, union doca_data own, union doca_data data)
{
}

/* Started, of one copy. */
static struct doca_graph *started(struct doca_graph_node **n)
{
	struct doca_graph *g = new_graph(1);

	OK(doca_graph_node_create_from_ctx(g, rig.ctx, n));
	OK(doca_graph_start(g));
	return g;
}

Test(graph_errors, life)
{
	struct doca_graph *g, *none = NULL;
	struct doca_graph_node *n;
	union doca_data data = {0};

	IS(doca_graph_create(NULL, &g), INVALID_VALUE);
	IS(doca_graph_create(rig.pe, NULL), INVALID_VALUE);
	OK(doca_graph_create(rig.pe, &g));
	IS(doca_pe_destroy(rig.pe), IN_USE);
	IS(doca_graph_set_conf(none, ended, ended, 1), INVALID_VALUE);
	IS(doca_graph_set_conf(g, NULL, ended, 1), INVALID_VALUE);
	IS(doca_graph_set_conf(g, ended, NULL, 1), INVALID_VALUE);
	IS(doca_graph_set_conf(g, ended, ended, 0), INVALID_VALUE);
	IS(doca_graph_start(g), BAD_STATE); /* without a node, */
	OK(doca_graph_node_create_from_user(g, nothing, &n));
	IS(doca_graph_start(g), BAD_STATE); /* one with a context, */
	OK(doca_graph_node_create_from_ctx(g, rig.ctx, &n));
	IS(doca_graph_start(g), BAD_STATE); /* and callbacks */
	OK(doca_graph_set_conf(g, ended, ended, 1));
	OK(doca_ctx_stop(rig.ctx));
	IS(doca_graph_start(g), BAD_STATE); /* and the context runs */
	OK(doca_ctx_start(rig.ctx));
	OK(doca_graph_start(g));
	OK(doca_graph_start(g));
	IS(doca_graph_start(none), INVALID_VALUE);
	IS(doca_graph_set_conf(g, ended, ended, 1), BAD_STATE);
	IS(doca_graph_set_user_data(g, data), BAD_STATE);
	IS(doca_graph_set_user_data(none, data), INVALID_VALUE);
	IS(doca_graph_get_user_data(g, NULL), INVALID_VALUE);
	IS(doca_graph_get_user_data(none, &data), INVALID_VALUE);
	OK(doca_graph_get_user_data(g, &data));
	IS(doca_graph_destroy(g), BAD_STATE);
	OK(doca_graph_stop(g));
	OK(doca_graph_stop(g));
	IS(doca_graph_stop(none), INVALID_VALUE);
	OK(doca_graph_destroy(g));
	IS(doca_graph_destroy(g), INVALID_VALUE);
	IS(doca_graph_destroy(none), INVALID_VALUE);
}

Test(graph_errors, nodes)
{
	struct doca_graph_node *a, *b, *other, *n;
	struct doca_graph *g = new_graph(1), *foreign, *s;
	struct doca_pe *pe;

	IS(doca_graph_node_create_from_ctx(NULL, rig.ctx, &n), INVALID_VALUE);
	IS(doca_graph_node_create_from_ctx(g, NULL, &n), INVALID_VALUE);
	IS(doca_graph_node_create_from_ctx(g, rig.ctx, NULL), INVALID_VALUE);
	IS(doca_graph_node_create_from_user(NULL, nothing, &n), INVALID_VALUE);
	IS(doca_graph_node_create_from_user(g, NULL, &n), INVALID_VALUE);
	IS(doca_graph_node_create_from_user(g, nothing, NULL), INVALID_VALUE);
	s = started(&other);
	IS(doca_graph_node_create_from_graph(NULL, s, &n), INVALID_VALUE);
	IS(doca_graph_node_create_from_graph(g, NULL, &n), INVALID_VALUE);
	IS(doca_graph_node_create_from_graph(g, s, NULL), INVALID_VALUE);
	OK(doca_pe_create(&pe));
	OK(doca_graph_create(pe, &foreign));
	IS(doca_graph_node_create_from_graph(foreign, s, &n), INVALID_VALUE);
	OK(doca_graph_destroy(foreign));
	OK(doca_pe_destroy(pe));

	OK(doca_graph_node_create_from_ctx(g, rig.ctx, &a));
	OK(doca_graph_node_create_from_user(g, nothing, &b));
	IS(doca_graph_add_dependency(NULL, a, b), INVALID_VALUE);
	IS(doca_graph_add_dependency(g, NULL, b), INVALID_VALUE);
	IS(doca_graph_add_dependency(g, a, NULL), INVALID_VALUE);
	IS(doca_graph_add_dependency(g, a, other), INVALID_VALUE);
	IS(doca_graph_add_dependency(g, a, a), NOT_PERMITTED);
	OK(doca_graph_add_dependency(g, a, b));
	OK(doca_graph_add_dependency(g, a, b)); /* once more */
	IS(doca_graph_add_dependency(g, b, a), NOT_PERMITTED);

	/* a graph inside itself, at once or by another */
	IS(doca_graph_node_create_from_graph(g, g, &n), NOT_PERMITTED);
	OK(doca_graph_node_create_from_graph(g, s, &n));
	OK(doca_graph_start(g));
	OK(doca_graph_stop(s));
	IS(doca_graph_node_create_from_graph(s, g, &n), NOT_PERMITTED);

	IS(doca_graph_node_create_from_ctx(g, rig.ctx, &n), BAD_STATE);
	IS(doca_graph_node_create_from_user(g, nothing, &n), BAD_STATE);
	OK(doca_graph_start(s));
	IS(doca_graph_node_create_from_graph(g, s, &n), BAD_STATE);
	IS(doca_graph_add_dependency(g, a, b), BAD_STATE);
	OK(doca_graph_stop(g));
	OK(doca_graph_stop(s));
	IS(doca_graph_node_create_from_graph(g, s, &n), BAD_STATE); /* not started */
	OK(doca_graph_destroy(g));
	OK(doca_graph_destroy(s));
	IS(doca_graph_add_dependency(g, a, b), INVALID_VALUE);
}

/* Each level contains the next one twice: a walk enters each graph once, or this does not end. */
Test(graph_errors, deeply_nested)
{
	enum { LEVELS = 48 };
	struct doca_graph *level[LEVELS];
	struct doca_graph_node *n;

	for (int i = 0; i < LEVELS; i++) {
		level[i] = new_graph(1);
		OK(doca_graph_node_create_from_ctx(level[i], rig.ctx, &n));
		for (int k = 0; i && k < 2; k++)
			OK(doca_graph_node_create_from_graph(level[i], level[i - 1], &n));
		OK(doca_graph_start(level[i]));
	}
	OK(doca_graph_stop(level[0]));
	IS(doca_graph_node_create_from_graph(level[0], level[LEVELS - 1], &n), NOT_PERMITTED);
	for (int i = LEVELS; i--;) {
		doca_graph_stop(level[i]);
		OK(doca_graph_destroy(level[i]));
	}
}

Test(graph_errors, instances)
{
	struct doca_graph_node *n, *foreign, *user;
	struct doca_graph_instance *in, *none = NULL, *more;
	struct doca_graph *g = new_graph(1), *other = started(&foreign);
	const union doca_data zero = {0};
	union doca_data data;

	OK(doca_graph_node_create_from_ctx(g, rig.ctx, &n));
	OK(doca_graph_node_create_from_user(g, nothing, &user));
	IS(doca_graph_instance_create(g, &in), BAD_STATE);
	OK(doca_graph_start(g));
	IS(doca_graph_instance_create(NULL, &in), INVALID_VALUE);
	IS(doca_graph_instance_create(g, NULL), INVALID_VALUE);
	OK(doca_graph_instance_create(g, &in));
	IS(doca_graph_instance_create(g, &more), NO_MEMORY);
	IS(doca_graph_stop(g), IN_USE);

	IS(doca_graph_instance_set_ctx_node_data(none, n, rig.task[0]), INVALID_VALUE);
	IS(doca_graph_instance_set_ctx_node_data(in, NULL, rig.task[0]), INVALID_VALUE);
	IS(doca_graph_instance_set_ctx_node_data(in, n, NULL), INVALID_VALUE);
	IS(doca_graph_instance_set_ctx_node_data(in, foreign, rig.task[0]), NOT_PERMITTED);
	IS(doca_graph_instance_set_ctx_node_data(in, user, rig.task[0]), NOT_PERMITTED);
	IS(doca_graph_instance_set_user_node_data(none, user, &rig), INVALID_VALUE);
	IS(doca_graph_instance_set_user_node_data(in, NULL, &rig), INVALID_VALUE);
	IS(doca_graph_instance_set_user_node_data(in, n, &rig), NOT_PERMITTED);
	IS(doca_graph_instance_set_user_data(none, zero), INVALID_VALUE);
	IS(doca_graph_instance_get_user_data(none, &data), INVALID_VALUE);
	IS(doca_graph_instance_get_user_data(in, NULL), INVALID_VALUE);
	OK(doca_graph_instance_get_user_data(in, &data));

	IS(doca_graph_instance_submit(none), INVALID_VALUE);
	IS(doca_graph_instance_submit(in), INVALID_VALUE); /* no data */
	OK(doca_graph_instance_set_ctx_node_data(in, n, rig.task[0]));
	OK(doca_graph_instance_submit(in));
	IS(doca_graph_instance_submit(in), IN_USE);
	IS(doca_graph_instance_destroy(in), IN_USE);
	IS(doca_graph_instance_set_user_data(in, zero), IN_USE);
	IS(doca_graph_instance_set_ctx_node_data(in, n, rig.task[0]), BAD_STATE);
	IS(doca_graph_instance_set_user_node_data(in, user, &rig), BAD_STATE);
	graph_run();
	cr_assert_eq(rig.done, 1);
	OK(doca_graph_instance_destroy(in));
	IS(doca_graph_instance_destroy(in), INVALID_VALUE);
	IS(doca_graph_instance_destroy(none), INVALID_VALUE);
	OK(doca_graph_stop(g));
	OK(doca_graph_destroy(g));
	OK(doca_graph_stop(other));
	OK(doca_graph_destroy(other));
}

/* Layers in which each node depends on all nodes of the previous layer: 2^LAYERS paths. */
Test(graph_errors, many_ways)
{
	enum { LAYERS = 60 };
	struct doca_graph_node *node[LAYERS][2];
	struct doca_graph *g = new_graph(1);

	for (int i = LAYERS - 1; i >= 0; i--)
		for (int k = 0; k < 2; k++) {
			OK(doca_graph_node_create_from_ctx(g, rig.ctx, &node[i][k]));
			if (i == LAYERS - 1)
				continue;
			OK(doca_graph_add_dependency(g, node[i][k], node[i + 1][0]));
			OK(doca_graph_add_dependency(g, node[i][k], node[i + 1][1]));
		}
	IS(doca_graph_add_dependency(g, node[LAYERS - 1][1], node[0][0]), NOT_PERMITTED);
	IS(doca_graph_add_dependency(g, node[1][0], node[0][1]), NOT_PERMITTED);
	OK(doca_graph_add_dependency(g, node[0][0], node[0][1]));
	OK(doca_graph_destroy(g));
}

Test(graph_errors, graphs_inside)
{
	struct doca_graph_node *copy, *a, *b, *leaf;
	struct doca_graph_instance *in, *sub, *none = NULL;
	struct doca_graph *s = started(&leaf), *g = new_graph(1);

	OK(doca_graph_node_create_from_ctx(g, rig.ctx, &copy));
	OK(doca_graph_node_create_from_graph(g, s, &a));
	OK(doca_graph_node_create_from_graph(g, s, &b));
	OK(doca_graph_start(g));
	OK(doca_graph_instance_create(g, &in));
	OK(doca_graph_instance_create(s, &sub));
	OK(doca_graph_instance_set_ctx_node_data(sub, leaf, rig.task[0]));
	IS(doca_graph_instance_set_sub_graph_node_data(none, a, sub), INVALID_VALUE);
	IS(doca_graph_instance_set_sub_graph_node_data(in, NULL, sub), INVALID_VALUE);
	IS(doca_graph_instance_set_sub_graph_node_data(in, a, none), INVALID_VALUE);
	IS(doca_graph_instance_set_sub_graph_node_data(in, copy, sub), NOT_PERMITTED);
	IS(doca_graph_instance_set_sub_graph_node_data(in, a, in), NOT_PERMITTED);
	OK(doca_graph_instance_submit(sub));
	IS(doca_graph_instance_set_sub_graph_node_data(in, a, sub), NOT_PERMITTED);
	graph_run();
	OK(doca_graph_instance_set_sub_graph_node_data(in, a, sub));
	OK(doca_graph_instance_set_sub_graph_node_data(in, a, sub)); /* as before */
	IS(doca_graph_instance_set_sub_graph_node_data(in, b, sub), NOT_PERMITTED);
	OK(doca_graph_instance_set_ctx_node_data(in, copy, rig.task[1]));
	IS(doca_graph_instance_submit(in), INVALID_VALUE); /* no data of b */
	OK(doca_graph_instance_destroy(in));
	OK(doca_graph_instance_submit(sub)); /* it is independent again */
	IS(doca_graph_instance_set_sub_graph_node_data(sub, leaf, sub), BAD_STATE);
	graph_run();
	OK(doca_graph_instance_destroy(sub));
	OK(doca_graph_stop(g));
	OK(doca_graph_destroy(g));
	OK(doca_graph_stop(s));
	OK(doca_graph_destroy(s));
}
