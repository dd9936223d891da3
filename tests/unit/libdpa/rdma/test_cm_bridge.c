/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connections on identifiers of librdmacm that the program has. */
#include <string.h>
#include "cm_plain.h"

TestSuite(cm_bridge, .timeout = 100);

static struct plain own, peer; /* the program's listener; whoever calls there */
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
	own.id = NULL; /* it is the connection's */
}

static void end_bridge(void)
{
	plain_close(&peer);
	unmake(&server); /* with the connection's id: before the channel */
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

/* A context that needs nothing but the DPA. */
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
	IS(doca_rdma_bridge_established(server.rdma, conn), INVALID_VALUE); /* another's */
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

/* One that the program never reports as established goes with the context. */
Test(cm_bridge, stopped)
{
	begin_bridge();
	bridge();
	OK(doca_ctx_stop(server.ctx));
	cr_assert_eq(plain_event(&peer), RDMA_CM_EVENT_DISCONNECTED);
	end_bridge();
}

/* An id stays the program's if the call fails. */
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
	/* nothing that asked */
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
