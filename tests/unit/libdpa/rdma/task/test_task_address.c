/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_task_address.c - tasks on connections by address: their state after the end of the
 * connection.
 */
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rig.h"

TestSuite(task_address, .timeout = 100);

static struct task_rig rig;
static struct doca_rdma_addr *addr;
static int disconnected, received_before;
static struct doca_rdma_task_send *last_words; /* sent within b's callback; NULL: none */

static struct side *side_of(union doca_data ctx)
{
	return ctx.ptr;
}

static void on_request(struct doca_rdma_connection *c, union doca_data ctx)
{
	(void)ctx;
	OK(doca_rdma_connection_accept(c, NULL, 0));
}

static void on_established(struct doca_rdma_connection *c, union doca_data own, union doca_data ctx)
{
	(void)own;
	side_of(ctx)->conn = c;
}

static void on_failure(struct doca_rdma_connection *c, union doca_data own, union doca_data ctx)
{
	(void)c;
	(void)own;
	(void)ctx;
	cr_assert_fail("no connection");
}

static void progress(struct side *s)
{
	if (!doca_pe_progress(s->pe))
		sched_yield();
}

/* Its end shows that it has arrived. */
static void send_now(struct doca_rdma_task_send *t)
{
	int before = rig.a.done + rig.a.failed;

	OK(doca_task_submit(doca_rdma_task_send_as_task(t)));
	while (rig.a.done + rig.a.failed == before)
		progress(&rig.a);
	OK(rig.a.status);
}

static void on_disconnection(struct doca_rdma_connection *c, union doca_data own,
			     union doca_data ctx)
{
	(void)c;
	(void)own;
	if (side_of(ctx) != &rig.b)
		return;
	disconnected++;
	received_before = rig.b.done;
	if (last_words)
		send_now(last_words);
}

/* Return a port, most likely free. */
static uint16_t some_port(void)
{
	uint16_t n;

	cr_assert_eq(getrandom(&n, sizeof(n), 0), (ssize_t)sizeof(n));
	return (uint16_t)(1024 + n % 64000);
}

static void connect_by_address(void)
{
	doca_error_t ret;
	uint16_t port;

	do {
		port = some_port();
		ret = doca_rdma_start_listen_to_port(rig.b.rdma, port);
	} while (ret == DOCA_ERROR_CONNECTION_ABORTED); /* the port is in use */
	OK(ret);
	OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "127.0.0.1", port, &addr));
	OK(doca_rdma_connect_to_addr(rig.a.rdma, addr, number(0)));
	while (!rig.a.conn || !rig.b.conn) {
		progress(&rig.a);
		progress(&rig.b);
	}
}

static void begin(void)
{
	task_rig_make(&rig, 0);
	for (int i = 0; i < 2; i++)
		OK(doca_rdma_set_connection_state_callbacks(i ? rig.b.rdma : rig.a.rdma, on_request,
							    on_established, on_failure,
							    on_disconnection));
	OK(doca_ctx_start(rig.a.ctx));
	OK(doca_ctx_start(rig.b.ctx));
	connect_by_address();
}

static struct doca_rdma_task_send *a_send(struct doca_buf *src)
{
	struct doca_rdma_task_send *t;

	OK(doca_rdma_task_send_allocate_init(rig.a.rdma, rig.a.conn, src, number(9), &t));
	return t;
}

static void free_receive(struct doca_rdma_task_receive *t)
{
	struct doca_buf *dst = doca_rdma_task_receive_get_dst_buf(t);

	doca_task_free(doca_rdma_task_receive_as_task(t));
	put_buf(dst);
}

static void end(void)
{
	task_rig_stop(&rig);
	OK(doca_rdma_addr_destroy(addr));
}

/* A message that arrived before the peer left is reported before the end, and not lost. */
Test(task_address, received_before_the_end)
{
	struct doca_rdma_task_receive *in;
	struct doca_rdma_task_send *out;
	struct doca_buf *src;

	begin();
	in = receive(&rig, 0, 64);
	src = local_buf(&rig, &rig.a, 0, 64, 64);
	out = a_send(src);
	send_now(out);
	doca_task_free(doca_rdma_task_send_as_task(out));
	OK(doca_rdma_connection_disconnect(rig.a.conn));
	while (!disconnected)
		progress(&rig.b);
	cr_assert_eq(received_before, 1);
	cr_assert_eq(rig.b.done, 1);
	free_receive(in);
	put_buf(src);
	end();
}

/* A message that arrives while the end is reported was acknowledged: it is reported, too. */
Test(task_address, received_at_the_end)
{
	struct doca_rdma_task_receive *in;
	struct doca_buf *src;

	begin();
	in = receive(&rig, 0, 64);
	src = local_buf(&rig, &rig.a, 0, 64, 64);
	last_words = a_send(src);
	OK(doca_rdma_connection_disconnect(rig.a.conn));
	while (!disconnected)
		progress(&rig.b);
	cr_assert_eq(received_before, 0);
	cr_assert_eq(rig.b.done, 1);
	cr_assert_eq(doca_rdma_task_receive_get_result_len(in), 64);
	doca_task_free(doca_rdma_task_send_as_task(last_words));
	free_receive(in);
	put_buf(src);
	end();
}

/* A child that stops the context does not disturb its parent's. */
Test(task_address, stopped_in_a_child)
{
	int status;
	pid_t pid;

	begin();
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid)
		_exit(doca_ctx_stop(rig.b.ctx) != DOCA_SUCCESS);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "%x", status);
	for (int i = 0; i < 1000; i++)
		progress(&rig.b);
	cr_assert_eq(disconnected, 0);
	OK(doca_rdma_connection_disconnect(rig.a.conn));
	while (!disconnected)
		progress(&rig.b);
	end();
}
