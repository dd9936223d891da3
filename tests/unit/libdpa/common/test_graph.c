/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_graph.c - graphs: the order of their nodes, failures, graphs inside graphs, and contexts
 * without room.
 */
#include <poll.h>
#include <string.h>
#include "graph_rig.h"

TestSuite(graph, .init = graph_setup, .fini = graph_teardown, .timeout = 60);

static char order[16];
static doca_error_t user_status;

static doca_error_t note(void *cookie)
{
	strcat(order, cookie);
	return user_status;
}

/* Two copies, then a callback: B and C after A, and D after both. */
struct diamond {
	struct doca_graph *graph;
	struct doca_graph_node *a, *b, *c, *d;
	struct doca_graph_instance *in;
};

static void draw(struct diamond *d)
{
	d->graph = new_graph(2);
	OK(doca_graph_node_create_from_user(d->graph, note, &d->d));
	OK(doca_graph_node_create_from_ctx(d->graph, rig.ctx, &d->b));
	OK(doca_graph_node_create_from_ctx(d->graph, rig.ctx, &d->c));
	OK(doca_graph_node_create_from_user(d->graph, note, &d->a));
	OK(doca_graph_add_dependency(d->graph, d->a, d->b));
	OK(doca_graph_add_dependency(d->graph, d->a, d->c));
	OK(doca_graph_add_dependency(d->graph, d->b, d->d));
	OK(doca_graph_add_dependency(d->graph, d->c, d->d));
	OK(doca_graph_start(d->graph));
	OK(doca_graph_instance_create(d->graph, &d->in));
	OK(doca_graph_instance_set_ctx_node_data(d->in, d->b, rig.task[0]));
	OK(doca_graph_instance_set_ctx_node_data(d->in, d->c, rig.task[1]));
	OK(doca_graph_instance_set_user_node_data(d->in, d->a, "a"));
	OK(doca_graph_instance_set_user_node_data(d->in, d->d, "d"));
	OK(doca_graph_instance_set_user_data(d->in, (union doca_data){.u64 = 5}));
}

static void erase(struct diamond *d)
{
	OK(doca_graph_instance_destroy(d->in));
	OK(doca_graph_stop(d->graph));
	OK(doca_graph_destroy(d->graph));
}

Test(graph, order)
{
	struct diamond d;

	draw(&d);
	for (int i = 1; i <= 3; i++) {
		OK(doca_graph_instance_submit(d.in));
		cr_assert_eq(rig.done, i - 1, "callbacks come from progress");
		graph_run();
		cr_assert(rig.done == i && !rig.failed);
		cr_assert_eq(rig.instance_data, 5u);
		cr_assert_str_eq(order, "ad");
		cr_assert_arr_eq(rig.mem + 1000, rig.mem, 10);
		cr_assert_arr_eq(rig.mem + 2000, rig.mem, 10);
		order[0] = 0;
		graph_rewind();
	}
	cr_assert_eq(rig.task_callbacks, 0, "those of the tasks do not come");
	erase(&d);
	/* the tasks belong to the user again */
	OK(doca_task_submit(rig.task[0]));
	doca_pe_progress(rig.pe);
	cr_assert_eq(rig.task_callbacks, 1);
}

/* A node that fails: nodes that depend on it do not begin. */
Test(graph, a_callback_fails)
{
	struct diamond d;

	draw(&d);
	user_status = DOCA_ERROR_TOO_BIG;
	OK(doca_graph_instance_submit(d.in));
	graph_run();
	cr_assert(!rig.done && rig.failed == 1);
	cr_assert_str_eq(order, "a");
	/* and again, without the failure */
	user_status = DOCA_SUCCESS;
	order[0] = 0;
	OK(doca_graph_instance_submit(d.in));
	graph_run();
	cr_assert(rig.done == 1 && rig.failed == 1);
	cr_assert_str_eq(order, "ad");
	erase(&d);
}

/* AGAIN from the user does not mean a context without room. */
Test(graph, a_callback_returns_again)
{
	struct diamond d;

	draw(&d);
	user_status = DOCA_ERROR_AGAIN;
	OK(doca_graph_instance_submit(d.in));
	graph_run();
	cr_assert(!rig.done && rig.failed == 1);
	cr_assert_str_eq(order, "a");
	erase(&d);
}

/* The instance waits for the other copy, and the last node does not begin. */
Test(graph, a_task_fails)
{
	struct diamond d;

	draw(&d);
	OK(doca_buf_reset_data_len(rig.src[1])); /* nothing to copy */
	OK(doca_graph_instance_submit(d.in));
	graph_run();
	cr_assert(!rig.done && rig.failed == 1 && !rig.task_callbacks);
	cr_assert_str_eq(order, "a");
	erase(&d);
}

/* The context has stopped under the graph: the submission of its task fails. */
Test(graph, a_context_that_stopped)
{
	struct doca_graph *g = new_graph(1);
	struct doca_graph_instance *in;
	struct doca_graph_node *n;
	struct diamond d;

	draw(&d);
	OK(doca_graph_node_create_from_ctx(g, rig.ctx, &n));
	OK(doca_graph_start(g));
	OK(doca_graph_instance_create(g, &in));
	OK(doca_graph_instance_set_ctx_node_data(in, n, rig.task[0]));
	OK(doca_ctx_stop(rig.ctx));
	IS(doca_graph_instance_submit(in), BAD_STATE); /* its first task */
	graph_run();
	cr_assert(!rig.done && !rig.failed);
	OK(doca_graph_instance_submit(d.in)); /* its first is a callback */
	graph_run();
	cr_assert(!rig.done && rig.failed == 1);
	OK(doca_graph_instance_destroy(in));
	OK(doca_graph_stop(g));
	OK(doca_graph_destroy(g));
	erase(&d);
}

/* Two instances share a task: the second one cannot use it meanwhile. */
Test(graph, a_task_in_flight)
{
	struct doca_graph_instance *other;
	struct doca_graph *g = new_graph(2);
	struct doca_graph_instance *in;
	struct doca_graph_node *n;

	OK(doca_graph_node_create_from_ctx(g, rig.ctx, &n));
	OK(doca_graph_start(g));
	OK(doca_graph_instance_create(g, &in));
	OK(doca_graph_instance_create(g, &other));
	OK(doca_graph_instance_set_ctx_node_data(in, n, rig.task[0]));
	OK(doca_graph_instance_set_ctx_node_data(other, n, rig.task[0]));
	OK(doca_graph_instance_submit(in));
	IS(doca_graph_instance_submit(other), BAD_STATE);
	doca_task_free(rig.task[0]); /* ignored: it is in flight */
	graph_run();
	cr_assert_eq(rig.done, 1);
	OK(doca_graph_instance_destroy(in));
	OK(doca_graph_instance_destroy(other));
	OK(doca_graph_stop(g));
	OK(doca_graph_destroy(g));
}

/* A graph with a diamond inside; the callbacks of the diamond do not run. */
Test(graph, inside_another)
{
	struct doca_graph_node *copy, *sub, *last;
	struct doca_graph *g = new_graph(1);
	struct doca_graph_instance *in;
	struct diamond d;

	draw(&d);
	OK(doca_graph_node_create_from_ctx(g, rig.ctx, &copy));
	OK(doca_graph_node_create_from_graph(g, d.graph, &sub));
	OK(doca_graph_node_create_from_user(g, note, &last));
	OK(doca_graph_add_dependency(g, copy, sub));
	OK(doca_graph_add_dependency(g, sub, last));
	OK(doca_graph_start(g));
	OK(doca_graph_instance_create(g, &in));
	OK(doca_graph_instance_set_ctx_node_data(in, copy, rig.task[2]));
	OK(doca_graph_instance_set_user_node_data(in, last, "z"));
	IS(doca_graph_instance_submit(in), INVALID_VALUE); /* no data of sub */
	OK(doca_graph_instance_set_sub_graph_node_data(in, sub, d.in));
	OK(doca_graph_instance_submit(in));
	graph_run();
	cr_assert(rig.done == 1 && !rig.failed);
	cr_assert_str_eq(order, "adz");
	IS(doca_graph_instance_destroy(d.in), IN_USE);

	/* its failure is a failure of the outer one */
	order[0] = 0;
	graph_rewind();
	OK(doca_buf_reset_data_len(rig.src[0]));
	OK(doca_graph_instance_submit(in));
	graph_run();
	cr_assert(rig.done == 1 && rig.failed == 1);
	cr_assert_str_eq(order, "a");

	/* submitted on its own when it should begin */
	OK(doca_ctx_start(rig.ctx));
	graph_rewind();
	order[0] = 0;
	OK(doca_graph_instance_submit(in));
	OK(doca_graph_instance_submit(d.in));
	graph_run();
	cr_assert(rig.done + rig.failed == 4);
	OK(doca_graph_instance_destroy(in));
	OK(doca_graph_stop(g));
	OK(doca_graph_destroy(g));
	erase(&d);
}

/* The callback submits its instance again, and calls the engine's progress. */
Test(graph, again_from_the_callback)
{
	struct diamond d;

	draw(&d);
	rig.again = 3;
	OK(doca_graph_instance_submit(d.in));
	graph_run();
	cr_assert_eq(rig.done, 4);
	cr_assert_str_eq(order, "adadadad");
	erase(&d);
}

/* The engine's descriptor becomes readable for a graph without a task in flight. */
Test(graph, notification)
{
	doca_notification_handle_t fd;
	struct pollfd p;
	struct diamond d;

	draw(&d);
	OK(doca_pe_get_notification_handle(rig.pe, &fd));
	p = (struct pollfd){.fd = fd, .events = POLLIN};
	OK(doca_pe_request_notification(rig.pe));
	cr_assert_eq(poll(&p, 1, 0), 0);
	OK(doca_graph_instance_submit(d.in));
	cr_assert_eq(poll(&p, 1, 0), 1);
	OK(doca_pe_clear_notification(rig.pe, fd));
	OK(doca_pe_request_notification(rig.pe)); /* the work is present already */
	cr_assert_eq(poll(&p, 1, 0), 1);
	OK(doca_pe_clear_notification(rig.pe, fd));
	graph_run();
	cr_assert_eq(rig.done, 1);
	erase(&d);
}
