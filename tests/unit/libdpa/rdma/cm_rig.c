/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "cm_rig.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct side server, client;
struct rig rig;
struct doca_rdma_addr *addr;
uint16_t port;

/* Overwrite memory that was freed just now. */
static void spoil_what_is_free(void)
{
	void *p[32];

	for (int i = 0; i < 32; i++) {
		p[i] = malloc(32);
		cr_assert_not_null(p[i]);
		memset(p[i], 0x5a, 32);
	}
	for (int i = 0; i < 32; i++)
		free(p[i]);
}

void on_request(struct doca_rdma_connection *c, union doca_data ctx)
{
	struct side *s = ctx.ptr;

	s->requested++;
	s->conn = c;
	if (s->answer == ACCEPT)
		s->answered = doca_rdma_connection_accept(c, (void *)"hello", 6);
	else if (s->answer == REJECT)
		s->answered = doca_rdma_connection_reject(c);
	else if (s->answer == STOP)
		s->answered = doca_ctx_stop(s->ctx);
	else if (s->answer == STOP_LISTENING) {
		s->answered = doca_rdma_stop_listen_to_port(s->rdma, port);
		spoil_what_is_free();
	}
}

static void note(struct side *s, int *count, struct doca_rdma_connection *c, union doca_data own)
{
	++*count;
	s->conn = c;
	s->user_data = own;
}

void on_established(struct doca_rdma_connection *c, union doca_data own, union doca_data ctx)
{
	note(ctx.ptr, &((struct side *)ctx.ptr)->established, c, own);
}

void on_failure(struct doca_rdma_connection *c, union doca_data own, union doca_data ctx)
{
	note(ctx.ptr, &((struct side *)ctx.ptr)->failed, c, own);
}

void on_disconnection(struct doca_rdma_connection *c, union doca_data own, union doca_data ctx)
{
	note(ctx.ptr, &((struct side *)ctx.ptr)->disconnected, c, own);
	OK(doca_rdma_connection_disconnect(c)); /* it is ending already */
}

void make(struct side *s, uint16_t connections, uint16_t timeout_ms)
{
	memset(s, 0, sizeof(*s));
	OK(doca_dpa_completion_create(rig.dpa, 16, &s->comp));
	OK(doca_dpa_completion_start(s->comp));
	OK(doca_pe_create(&s->pe));
	OK(doca_rdma_create(rig.dev, &s->rdma));
	s->ctx = doca_rdma_as_ctx(s->rdma);
	OK(doca_ctx_set_user_data(s->ctx, (union doca_data){.ptr = s}));
	OK(doca_ctx_set_datapath_on_dpa(s->ctx, rig.dpa));
	OK(doca_rdma_dpa_completion_attach(s->rdma, s->comp));
	OK(doca_rdma_set_max_num_connections(s->rdma, connections));
	OK(doca_rdma_set_connection_request_timeout(s->rdma, timeout_ms));
	OK(doca_rdma_set_connection_state_callbacks(s->rdma, on_request, on_established, on_failure,
						    on_disconnection));
	OK(doca_pe_connect_ctx(s->pe, s->ctx));
	OK(doca_ctx_start(s->ctx));
}

void unmake(struct side *s)
{
	enum doca_ctx_states state;

	OK(doca_ctx_get_state(s->ctx, &state));
	if (state != DOCA_CTX_STATE_IDLE)
		OK(doca_ctx_stop(s->ctx));
	OK(doca_rdma_destroy(s->rdma));
	OK(doca_pe_destroy(s->pe));
	OK(doca_dpa_completion_destroy(s->comp));
}

void work(void)
{
	bool any = false;

	if (server.pe)
		any |= doca_pe_progress(server.pe);
	if (client.pe)
		any |= doca_pe_progress(client.pe);
	if (!any)
		sched_yield();
}

void end(void)
{
	if (client.pe)
		unmake(&client);
	if (server.pe)
		unmake(&server);
	if (addr)
		OK(doca_rdma_addr_destroy(addr));
	OK(doca_dpa_destroy(rig.dpa));
	OK(doca_dev_close(rig.dev));
}

/* Return a port, most likely free. */
static uint16_t some_port(void)
{
	uint16_t n;

	cr_assert_eq(getrandom(&n, sizeof(n), 0), (ssize_t)sizeof(n));
	return (uint16_t)(1024 + n % 64000);
}

void listen_somewhere(void)
{
	doca_error_t ret;

	do {
		port = some_port();
		ret = doca_rdma_start_listen_to_port(server.rdma, port);
	} while (ret == DOCA_ERROR_CONNECTION_ABORTED); /* the port is in use */
	OK(ret);
}

void begin(uint16_t connections, uint16_t timeout_ms)
{
	rig_open(&rig);
	make(&server, connections, timeout_ms);
	make(&client, connections, timeout_ms);
	listen_somewhere();
	OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "127.0.0.1", port, &addr));
}

void call(uint64_t user_data)
{
	OK(doca_rdma_connect_to_addr(client.rdma, addr, (union doca_data){.u64 = user_data}));
}

void connect_both(void)
{
	call(17);
	AWAIT(server.established && client.established);
}
