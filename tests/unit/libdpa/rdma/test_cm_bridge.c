/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_cm_bridge.c - connections on identifiers of librdmacm that the program owns. */
#define DPA_DOCA_API 210 /* doca_rdma_bridge_accept() of 3.3 is called by its own name */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cm_plain.h"

TestSuite(cm_bridge, .timeout = 100);

static struct plain own, peer; /* own: listener of the program; peer: connects to it */
static struct doca_rdma_connection *conn;

static void caller(void)
{
	plain_open(&peer);
	plain_resolve(&peer);
	plain_make_qp(&peer);
	plain_call(&peer, NULL);
	cr_assert_eq(plain_event(&own), RDMA_CM_EVENT_CONNECT_REQUEST);
}

static void begin_bridge(void)
{
	rig_open(&rig);
	make(&server, 1, 30000);
	plain_open(&own);
	port = plain_listen(&own);
	caller();
}

static void bridge(void)
{
	OK(doca_rdma_bridge_accept(server.rdma, own.id, (void *)"hello", 6, &conn));
	own.id = NULL;
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_ESTABLISHED);
	cr_assert_str_eq(peer.data, "hello");
	cr_assert_eq(plain_event(&own), RDMA_CM_EVENT_ESTABLISHED);
	own.id = NULL; /* it belongs to the connection */
}

static void end_bridge(void)
{
	plain_close(&peer);
	unmake(&server); /* with the connection's id: destroyed before the channel */
	server.pe = NULL;
	plain_close(&own);
	end();
}

Test(cm_bridge, accepted)
{
	struct doca_rdma_addr *of;
	union doca_data data;

	begin_bridge();
	bridge();
	OK(doca_rdma_connection_set_user_data(conn, (union doca_data){.u64 = 5}));
	OK(doca_rdma_bridge_established(server.rdma, conn));
	cr_assert_eq(server.established, 1);
	cr_assert_eq(server.user_data.u64, 5);
	IS(doca_rdma_bridge_established(server.rdma, conn), INVALID_VALUE);
	OK(doca_rdma_connection_get_addr(conn, &of));
	OK(doca_rdma_connection_get_user_data(conn, &data));
	cr_assert_eq(rdma_disconnect(peer.id), 0);
	cr_assert_eq(plain_event(&own), RDMA_CM_EVENT_DISCONNECTED);
	own.id = NULL;
	cr_assert_eq(server.disconnected, 0);
	OK(doca_rdma_connection_disconnect(conn));
	AWAIT(server.disconnected == 1);
	IS(doca_rdma_connection_disconnect(conn), INVALID_VALUE);
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_DISCONNECTED);
	cr_assert_eq(server.requested + server.failed, 0);
	end_bridge();
}

/* A context that needs only the DPA. */
Test(cm_bridge, without_an_engine)
{
	struct doca_rdma *bare;
	struct doca_ctx *ctx;

	begin_bridge();
	OK(doca_rdma_create(rig.dev, &bare));
	ctx = doca_rdma_as_ctx(bare);
	OK(doca_ctx_set_datapath_on_dpa(ctx, rig.dpa));
	OK(doca_rdma_dpa_completion_attach(bare, server.comp));
	IS(doca_rdma_bridge_accept(bare, own.id, NULL, 0, &conn), BAD_STATE); /* not started */
	OK(doca_ctx_start(ctx));
	OK(doca_rdma_bridge_accept(bare, own.id, NULL, 0, &conn));
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_ESTABLISHED);
	IS(doca_rdma_bridge_established(server.rdma, conn), INVALID_VALUE); /* of another context */
	OK(doca_rdma_bridge_established(bare, conn));
	cr_assert_eq(plain_event(&own), RDMA_CM_EVENT_ESTABLISHED);
	own.id = NULL;
	OK(doca_rdma_connection_disconnect(conn));
	IS(doca_rdma_connection_disconnect(conn), INVALID_VALUE);
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_DISCONNECTED);
	OK(doca_ctx_stop(ctx));
	OK(doca_rdma_destroy(bare));
	end_bridge();
}

/* A connection that the program never reports as established ends with the context. */
Test(cm_bridge, stopped)
{
	begin_bridge();
	bridge();
	OK(doca_ctx_stop(server.ctx));
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_DISCONNECTED);
	end_bridge();
}

/* In the two steps of 3.0: between them the connection has an id, an address and user data. */
Test(cm_bridge, prepared)
{
	struct doca_rdma_addr *of;
	uint32_t id;

	begin_bridge();
	OK(doca_rdma_bridge_prepare_connection(server.rdma, own.id, &conn));
	own.id = NULL; /* it belongs to the connection */
	OK(doca_rdma_connection_get_id(conn, &id));
	OK(doca_rdma_connection_get_addr(conn, &of));
	OK(doca_rdma_connection_set_user_data(conn, (union doca_data){.u64 = 5}));
	IS(doca_rdma_bridge_established(server.rdma, conn), INVALID_VALUE);
	OK(doca_rdma_bridge_accept_303(server.rdma, (void *)"hello", 6, conn));
	IS(doca_rdma_bridge_accept_303(server.rdma, NULL, 0, conn), INVALID_VALUE); /* again */
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_ESTABLISHED);
	cr_assert_str_eq(peer.data, "hello");
	cr_assert_eq(plain_event(&own), RDMA_CM_EVENT_ESTABLISHED);
	own.id = NULL;
	OK(doca_rdma_bridge_established(server.rdma, conn));
	cr_assert_eq(server.established, 1);
	cr_assert_eq(server.user_data.u64, 5);
	OK(doca_rdma_connection_disconnect(conn));
	AWAIT(server.disconnected == 1);
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_DISCONNECTED);
	end_bridge();
}

/* A connection that is never accepted: the peer gets a rejection, or the end of the context. */
Test(cm_bridge, prepared_and_rejected)
{
	begin_bridge();
	OK(doca_rdma_bridge_prepare_connection(server.rdma, own.id, &conn));
	own.id = NULL;
	OK(doca_rdma_connection_reject(conn));
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_REJECTED);
	IS(doca_rdma_bridge_accept_303(server.rdma, NULL, 0, conn), INVALID_VALUE); /* gone */
	end_bridge();
}

Test(cm_bridge, prepared_and_stopped)
{
	begin_bridge();
	OK(doca_rdma_bridge_prepare_connection(server.rdma, own.id, &conn));
	own.id = NULL;
	OK(doca_ctx_stop(server.ctx));
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_REJECTED);
	end_bridge();
}

Test(cm_bridge, prepare_refused)
{
	struct doca_rdma_connection *c, *other;
	struct doca_rdma *bare;
	struct rdma_cm_id *id;
	const void *details;
	char data[197] = "";
	size_t size;

	begin_bridge();
	IS(doca_rdma_bridge_prepare_connection(NULL, own.id, &c), INVALID_VALUE);
	IS(doca_rdma_bridge_prepare_connection(server.rdma, NULL, &c), INVALID_VALUE);
	IS(doca_rdma_bridge_prepare_connection(server.rdma, own.id, NULL), INVALID_VALUE);
	cr_assert_eq(rdma_create_id(own.channel, &id, NULL, RDMA_PS_TCP), 0);
	IS(doca_rdma_bridge_prepare_connection(server.rdma, id, &c), INVALID_VALUE); /* no peer */
	cr_assert_eq(rdma_destroy_id(id), 0);
	IS(doca_rdma_bridge_prepare_connection(server.rdma, own.listener, &c), INVALID_VALUE);
	OK(doca_rdma_create(rig.dev, &bare));
	IS(doca_rdma_bridge_prepare_connection(bare, own.id, &c), BAD_STATE); /* not started */
	OK(doca_rdma_bridge_prepare_connection(server.rdma, own.id, &c));
	IS(doca_rdma_export(server.rdma, &details, &size, &other), FULL);
	IS(doca_rdma_bridge_prepare_connection(server.rdma, own.id, &other),
	   INVALID_VALUE); /* twice */
	own.id = NULL;	   /* it belongs to the connection */
	IS(doca_rdma_bridge_accept_303(NULL, NULL, 0, c), INVALID_VALUE);
	IS(doca_rdma_bridge_accept_303(server.rdma, NULL, 0, NULL), INVALID_VALUE);
	IS(doca_rdma_bridge_accept_303(server.rdma, NULL, 1, c), INVALID_VALUE);
	IS(doca_rdma_bridge_accept_303(server.rdma, data, 197, c), INVALID_VALUE);
	IS(doca_rdma_bridge_accept_303(bare, NULL, 0, c), INVALID_VALUE); /* of another context */
	OK(doca_rdma_destroy(bare));
	OK(doca_rdma_connection_reject(c));
	end_bridge();
}

Test(cm_bridge, prepare_beside_an_export)
{
	struct doca_rdma_connection *c, *other;
	const void *details;
	size_t size;

	begin_bridge();
	OK(doca_rdma_export(server.rdma, &details, &size, &c));
	IS(doca_rdma_bridge_accept_303(server.rdma, NULL, 0, c), INVALID_VALUE); /* by export */
	IS(doca_rdma_bridge_prepare_connection(server.rdma, own.id, &other), FULL);
	plain_leave(&own);
	end_bridge();
}

/* A request that the program itself has refused meanwhile. */
Test(cm_bridge, prepared_and_gone)
{
	begin_bridge();
	OK(doca_rdma_bridge_prepare_connection(server.rdma, own.id, &conn));
	cr_assert_eq(rdma_reject(own.id, NULL, 0), 0);
	own.id = NULL;
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_REJECTED);
	IS(doca_rdma_bridge_accept_303(server.rdma, NULL, 0, conn), CONNECTION_ABORTED);
	IS(doca_rdma_bridge_accept_303(server.rdma, NULL, 0, conn), INVALID_VALUE);
	end_bridge();
}

/* A child cannot make queue pairs from inherited objects. */
Test(cm_bridge, prepared_in_a_child)
{
	int status;
	pid_t pid;

	begin_bridge();
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		IS(doca_rdma_bridge_prepare_connection(server.rdma, own.id, &conn),
		   CONNECTION_ABORTED);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	OK(doca_rdma_bridge_prepare_connection(server.rdma, own.id, &conn));
	own.id = NULL;
	end_bridge();
}

/* An id stays with the program if the call fails. */
Test(cm_bridge, refused)
{
	struct doca_rdma_connection *c;
	const void *details;
	struct rdma_cm_id *id;
	char data[197] = "";
	size_t size;

	begin_bridge();
	IS(doca_rdma_bridge_accept(NULL, own.id, NULL, 0, &c), INVALID_VALUE);
	IS(doca_rdma_bridge_accept(server.rdma, NULL, NULL, 0, &c), INVALID_VALUE);
	IS(doca_rdma_bridge_accept(server.rdma, own.id, NULL, 0, NULL), INVALID_VALUE);
	IS(doca_rdma_bridge_accept(server.rdma, own.id, NULL, 1, &c), INVALID_VALUE);
	IS(doca_rdma_bridge_accept(server.rdma, own.id, data, 197, &c), INVALID_VALUE);
	cr_assert_eq(rdma_create_id(own.channel, &id, NULL, RDMA_PS_TCP), 0);
	IS(doca_rdma_bridge_accept(server.rdma, id, NULL, 0, &c), INVALID_VALUE); /* no device */
	cr_assert_eq(rdma_destroy_id(id), 0);
	/* not a request */
	IS(doca_rdma_bridge_accept(server.rdma, own.listener, NULL, 0, &c), CONNECTION_ABORTED);
	OK(doca_rdma_export(server.rdma, &details, &size, &c));
	IS(doca_rdma_bridge_established(server.rdma, c), INVALID_VALUE);
	IS(doca_rdma_bridge_established(NULL, c), INVALID_VALUE);
	IS(doca_rdma_bridge_established(server.rdma, NULL), INVALID_VALUE);
	IS(doca_rdma_bridge_accept(server.rdma, own.id, NULL, 0, &c), FULL);
	cr_assert_eq(rdma_reject(own.id, NULL, 0), 0);
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_REJECTED);
	plain_leave(&own);
	end_bridge();
}
