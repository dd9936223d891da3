/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_context.c - life cycles of contexts and connections, on the real device. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rig.h"

TestSuite(context, .timeout = 60);

Test(context, states)
{
	enum doca_ctx_states state;
	uint64_t handle;
	struct rig r;

	rig_make(&r);
	OK(doca_ctx_get_state(r.ctx, &state));
	cr_assert_eq(state, DOCA_CTX_STATE_IDLE);
	rig_start(&r);
	OK(doca_ctx_get_state(r.ctx, &state));
	cr_assert_eq(state, DOCA_CTX_STATE_RUNNING);
	OK(doca_rdma_get_dpa_handle(r.rdma, &handle));
	IS(doca_rdma_destroy(r.rdma), BAD_STATE);
	IS(doca_dpa_completion_stop(r.comp), IN_USE);
	IS(doca_dpa_completion_destroy(r.comp), IN_USE);
	IS(doca_dpa_stop(r.dpa), IN_USE);
	IS(doca_dpa_destroy(r.dpa), IN_USE);
	OK(doca_ctx_stop(r.ctx));
	OK(doca_ctx_get_state(r.ctx, &state));
	cr_assert_eq(state, DOCA_CTX_STATE_IDLE);
	IS(doca_rdma_get_dpa_handle(r.rdma, &handle), BAD_STATE);
	rig_down(&r);
}

Test(context, nothing_can_be_set_while_started)
{
	struct rig r;

	rig_up(&r);
	IS(doca_rdma_set_send_queue_size(r.rdma, 1), BAD_STATE);
	IS(doca_rdma_set_recv_queue_size(r.rdma, 1), BAD_STATE);
	IS(doca_rdma_set_max_send_buf_list_len(r.rdma, 1), BAD_STATE);
	IS(doca_rdma_task_receive_set_dst_buf_list_len(r.rdma, 1), BAD_STATE);
	IS(doca_rdma_set_transport_type(r.rdma, DOCA_RDMA_TRANSPORT_TYPE_RC), BAD_STATE);
	IS(doca_rdma_set_mtu(r.rdma, DOCA_MTU_SIZE_1K_BYTES), BAD_STATE);
	IS(doca_rdma_set_permissions(r.rdma, 0), BAD_STATE);
	IS(doca_rdma_set_grh_enabled(r.rdma, 1), BAD_STATE);
	IS(doca_rdma_set_gid_index(r.rdma, 0), BAD_STATE);
	IS(doca_rdma_set_sl(r.rdma, 0), BAD_STATE);
	IS(doca_rdma_set_connection_request_timeout(r.rdma, 1), BAD_STATE);
	IS(doca_rdma_set_max_num_connections(r.rdma, 1), BAD_STATE);
	IS(doca_rdma_set_rnr_retry_count(r.rdma, 1), BAD_STATE);
	IS(doca_rdma_dpa_completion_attach(r.rdma, r.comp), BAD_STATE);
	IS(doca_ctx_set_datapath_on_dpa(r.ctx, r.dpa), BAD_STATE);
	rig_down(&r);
}

Test(context, what_start_wants)
{
	struct doca_dpa_completion *c;
	struct doca_rdma *rdma;
	struct doca_ctx *ctx;
	struct doca_dpa *dpa2;
	struct rig r;

	rig_make(&r);
	OK(doca_rdma_create(r.dev, &rdma));
	ctx = doca_rdma_as_ctx(rdma);
	IS(doca_ctx_start(ctx), NOT_CONNECTED);
	OK(doca_ctx_set_datapath_on_dpa(ctx, r.dpa));
	IS(doca_ctx_start(ctx), INVALID_VALUE); /* no completion context */
	OK(doca_dpa_completion_create(r.dpa, 4, &c));
	OK(doca_rdma_dpa_completion_attach(rdma, c));
	IS(doca_ctx_start(ctx), INITIALIZATION); /* not started */
	OK(doca_dpa_completion_start(c));
	OK(doca_ctx_start(ctx));
	OK(doca_ctx_stop(ctx));
	OK(doca_dpa_completion_destroy(c)); /* an attached one can be destroyed */
	IS(doca_ctx_start(ctx), INVALID_VALUE);
	/* one of another DPA context */
	OK(doca_dpa_create(r.dev, &dpa2));
	OK(doca_dpa_completion_create(dpa2, 4, &c));
	OK(doca_rdma_dpa_completion_attach(rdma, c));
	IS(doca_ctx_start(ctx), INVALID_VALUE);
	OK(doca_dpa_completion_destroy(c));
	OK(doca_dpa_destroy(dpa2));
	OK(doca_rdma_destroy(rdma));
	rig_down(&r);
}

Test(context, connections)
{
	struct doca_rdma_connection *c;
	struct dpa_rdma_details d;
	union doca_data data = {.u64 = 5};
	const void *details;
	struct rig r;
	uint32_t id;
	size_t size;

	rig_up(&r);
	IS(doca_rdma_export(r.rdma, &details, &size, &c), FULL);
	for (uint32_t i = 0; i < RIG_CONNS; i++) {
		OK(doca_rdma_connection_get_id(r.conn[i], &id));
		cr_assert_eq(id, i);
		OK(doca_rdma_connection_get_user_data(r.conn[i], &data));
		cr_assert_eq(data.u64, 0u);
		data.u64 = 100 + i;
		OK(doca_rdma_connection_set_user_data(r.conn[i], data));
	}
	OK(doca_rdma_connection_get_user_data(r.conn[0], &data));
	cr_assert_eq(data.u64, 100u);
	IS(doca_rdma_connection_get_id(r.conn[0], NULL), INVALID_VALUE);
	IS(doca_rdma_connection_get_user_data(r.conn[0], NULL), INVALID_VALUE);
	peer_destroy(&r.peer[0]);
	peer_make(&r, &r.peer[0], &d);
	IS(doca_rdma_connect(r.rdma, &d, sizeof(d), r.conn[0]), BAD_STATE);
	rig_down(&r);
}

Test(context, details_that_are_none)
{
	struct dpa_rdma_details good, d;
	struct doca_rdma *other;
	const void *details;
	uint8_t shifted[sizeof(d) + 1];
	struct rig r;
	size_t size;

	rig_make(&r);
	OK(doca_ctx_start(r.ctx));
	OK(doca_rdma_export(r.rdma, &details, &size, &r.conn[0]));
	peer_make(&r, &r.peer[0], &good);
	d = good;
	d.magic++;
	IS(doca_rdma_connect(r.rdma, &d, sizeof(d), r.conn[0]), INVALID_VALUE);
	d = good;
	d.version++;
	IS(doca_rdma_connect(r.rdma, &d, sizeof(d), r.conn[0]), INVALID_VALUE);
	d = good;
	d.mtu = 6;
	IS(doca_rdma_connect(r.rdma, &d, sizeof(d), r.conn[0]), INVALID_VALUE);
	d = good;
	d.num_gids = DPA_RDMA_DETAILS_GIDS + 1;
	IS(doca_rdma_connect(r.rdma, &d, sizeof(d), r.conn[0]), INVALID_VALUE);
	d = good;
	d.qpn = htonl(1 << 24);
	IS(doca_rdma_connect(r.rdma, &d, sizeof(d), r.conn[0]), INVALID_VALUE);
	IS(doca_rdma_connect(r.rdma, &good, sizeof(good) - 1, r.conn[0]), INVALID_VALUE);
	OK(doca_rdma_create(r.dev, &other));
	IS(doca_rdma_connect(other, &good, sizeof(good), r.conn[0]), BAD_STATE);
	OK(doca_rdma_destroy(other));
	/* an unreachable address does no harm: the right one still connects */
	d = good;
	memset(d.gids, 0, sizeof(d.gids));
	IS(doca_rdma_connect(r.rdma, &d, sizeof(d), r.conn[0]), CONNECTION_ABORTED);
	memcpy(shifted + 1, &good, sizeof(good));
	peer_join(&r.peer[0], details);
	OK(doca_rdma_connect(r.rdma, shifted + 1, sizeof(good), r.conn[0]));
	OK(doca_rdma_get_dpa_handle(r.rdma, &r.handle));
	peer_recv(&r, 0, 9, 0, 8);
	rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, FLUSH));
	cr_assert_eq(peer_wc(&r, 0).wr_id, 9u);
	rig_down(&r);
}

/* After stop and start all objects are new. */
Test(context, started_again)
{
	struct rig r;

	rig_up(&r);
	for (int i = 0; i < 3; i++) {
		uint64_t old = r.handle;

		peer_recv(&r, 0, 7, 0, 8);
		rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, FLUSH | OPTIMIZE));
		cr_assert_eq(peer_wc(&r, 0).wr_id, 7u);
		OK(doca_ctx_stop(r.ctx));
		for (int k = 0; k < RIG_CONNS; k++)
			peer_destroy(&r.peer[k]);
		rig_start(&r);
		cr_assert_neq(r.handle, old);
	}
	rig_down(&r);
}

/* 4b.17: receives are posted, messages arrive, no thread polls: all can be destroyed. */
Test(context, leftovers)
{
	struct rig r;

	rig_up(&r);
	for (int i = 0; i < RIG_QUEUE; i++) /* each to its own place: two QPs fill them */
		rig_do(&r, send_cmd(&r, CMD_RECV, (uint64_t)i * 8, 8, 0));
	for (int i = 0; i < 8; i++)
		peer_send(&r, i % 2, IBV_WR_SEND, 0, 8, 0);
	cr_assert_eq(peer_wc(&r, 0).status, IBV_WC_SUCCESS);
	rig_do(&r, (struct cmd){.op = CMD_FINISH});
	for (int i = 0; i < 8; i++)
		peer_send(&r, i % 2, IBV_WR_SEND, 0, 8, 0);
	OK(doca_dpa_peek_at_last_error(r.dpa));
	r.foul = true; /* the thread has finished */
	rig_down(&r);
}

/* The queues of a child belong to its parent: it can release all, and the parent continues. */
Test(context, ended_in_a_child)
{
	int status;
	struct rig r;
	pid_t pid;

	rig_up(&r);
	rig_do(&r, send_cmd(&r, CMD_RECV, 0, 8, 0));
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		OK(doca_ctx_stop(r.ctx));
		OK(doca_rdma_destroy(r.rdma));
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "signal %d", WTERMSIG(status));
	cr_assert_eq(WEXITSTATUS(status), 0);
	peer_send(&r, 0, IBV_WR_SEND, 0, 8, 0);
	cr_assert_eq(peer_wc(&r, 0).status, IBV_WC_SUCCESS);
	rig_down(&r);
}

struct late {
	struct rig *r;
	_Atomic bool stopping;
};

static void *post_late(void *arg)
{
	struct late *l = arg;

	while (!l->stopping)
		sched_yield();
	peer_recv(l->r, 0, 7, 0, 8);
	return NULL;
}

/* 4b.1, 4b.2: the last post arrives, although the context is stopped at once. */
Test(context, the_last_post_arrives)
{
	pthread_t thread;
	struct rig r;
	struct late l = {.r = &r};

	rig_up(&r);
	cr_assert_eq(pthread_create(&thread, NULL, post_late, &l), 0);
	rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, FLUSH | OPTIMIZE));
	rig_do(&r, (struct cmd){.op = CMD_FINISH});
	r.foul = true; /* the thread has finished */
	l.stopping = true;
	OK(doca_ctx_stop(r.ctx));
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert(!peer_no_wc(&r, 0));
	rig_down(&r);
}

/* 4b.13: the index that samples hard-code, and an index without an address. */
Test(context, any_gid_index)
{
	static const uint32_t index[] = {1, 255};
	struct rig r;

	for (int i = 0; i < 2; i++) {
		rig_make(&r);
		OK(doca_rdma_set_gid_index(r.rdma, index[i]));
		rig_start(&r);
		peer_recv(&r, 0, 7, 0, 8);
		rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, FLUSH));
		cr_assert_eq(peer_wc(&r, 0).wr_id, 7u);
		rig_down(&r);
	}
}

Test(context, gids_are_those_of_verbs)
{
	static const struct doca_rdma_gid none;
	struct doca_rdma_gid g[256];
	struct ibv_context *ctx;
	struct doca_dev *dev = open_dpa0();
	uint32_t n, found = 0;

	OK(dpa_dev_get_ibv_context(dev, &ctx));
	OK(doca_rdma_cap_get_gid_table_size(doca_dev_as_devinfo(dev), &n));
	cr_assert_leq(n, 256u);
	OK(doca_rdma_cap_get_gid(doca_dev_as_devinfo(dev), 0, n, g));
	for (uint32_t i = 0; i < n; i++) {
		union ibv_gid v;

		if (ibv_query_gid(ctx, 1, (int)i, &v))
			memset(&v, 0, sizeof(v));
		cr_assert_eq(memcmp(v.raw, g[i].raw, 16), 0);
		found += memcmp(&g[i], &none, 16) != 0;
	}
	cr_assert_gt(found, 0u);
	OK(doca_dev_close(dev));
}

/* As a program with both sides in one process, or a rank that sends to itself. */
Test(context, connected_with_another_and_with_itself)
{
	struct doca_rdma_connection *c0, *c1;
	const void *d0, *d1;
	size_t size;
	struct rig r;

	rig_make(&r);
	OK(doca_rdma_set_gid_index(r.rdma, 1));
	OK(doca_ctx_start(r.ctx));
	OK(doca_rdma_get_dpa_handle(r.rdma, &r.handle));
	OK(doca_rdma_export(r.rdma, &d0, &size, &c0));
	OK(doca_rdma_export(r.rdma, &d1, &size, &c1));
	OK(doca_rdma_connect(r.rdma, d1, size, c0));
	OK(doca_rdma_connect(r.rdma, d0, size, c1));
	*(uint64_t *)r.mem = 1234;
	rig_do(&r, send_cmd(&r, CMD_RECV, 64, 8, 0));
	rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, FLUSH | OPTIMIZE));
	cr_assert_eq(rig_element(&r).user_data, 1u);
	cr_assert_eq(*(uint64_t *)(r.mem + 64), 1234u);
	OK(doca_ctx_stop(r.ctx));
	OK(doca_ctx_start(r.ctx));
	OK(doca_rdma_get_dpa_handle(r.rdma, &r.handle));
	OK(doca_rdma_export(r.rdma, &d0, &size, &c0));
	OK(doca_rdma_connect(r.rdma, d0, size, c0));
	rig_do(&r, send_cmd(&r, CMD_RECV, 128, 8, 0));
	rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, FLUSH | OPTIMIZE));
	cr_assert_eq(rig_element(&r).user_data, 0u);
	cr_assert_eq(*(uint64_t *)(r.mem + 128), 1234u);
	rig_down(&r);
}

/* Each started RDMA context takes one of the adapter's 256 threads. */
Test(context, hardware_threads)
{
	struct doca_dpa_thread *t[256];
	struct rig r;
	int n = 0;

	rig_make(&r);
	while (n < 256 && doca_dpa_thread_create(r.dpa, &t[n]) == DOCA_SUCCESS)
		n++;
	IS(doca_dpa_thread_create(r.dpa, &t[255]), NO_MEMORY);
	IS(doca_ctx_start(r.ctx), INITIALIZATION);
	OK(doca_dpa_thread_destroy(t[--n]));
	OK(doca_ctx_start(r.ctx));
	IS(doca_dpa_thread_create(r.dpa, &t[n]), NO_MEMORY);
	OK(doca_ctx_stop(r.ctx));
	OK(doca_dpa_thread_create(r.dpa, &t[n++]));
	while (n--)
		OK(doca_dpa_thread_destroy(t[n]));
	rig_down(&r);
}
