/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plain.c - plain PORT [ADDRESS] [stay]: the same as peers.c, by librdmacm and verbs, with private
 * data as in real programs.
 */
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include "message.h"

static uint8_t memory[RECEIVES + 1][MESSAGE];
static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;
static struct ibv_mr *mr;
static int sent, got, server;

static void fail(const char *what)
{
	fprintf(stderr, "plain: %s failed\n", what);
	_exit(1);
}

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x))                                                                          \
			fail(#x);                                                                  \
	} while (0)

static struct rdma_cm_id *expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *of;

	CHECK(!rdma_get_cm_event(channel, &ev));
	if (ev->event != type) {
		fprintf(stderr, "plain: %s, status %d\n", rdma_event_str(ev->event), ev->status);
		_exit(1);
	}
	of = ev->id;
	rdma_ack_cm_event(ev);
	return of;
}

static void post_receive(uint64_t i)
{
	struct ibv_sge sge = {(uintptr_t)memory[i], MESSAGE, mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

	CHECK(!ibv_post_recv(id->qp, &wr, &bad));
}

static void make_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {1, RECEIVES, 1, 1, 0},
	};

	CHECK(!rdma_create_qp(id, NULL, &attr));
	mr = ibv_reg_mr(id->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr);
	for (uint64_t i = 0; i < RECEIVES; i++)
		post_receive(i);
}

static struct rdma_conn_param param(void)
{
	static char data[56] = "of a plain program";

	return (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = sizeof(data),
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static void call(const char *address, const char *port)
{
	struct addrinfo want = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *at;
	struct rdma_conn_param p = param();

	CHECK(!getaddrinfo(address, port, &want, &at));
	CHECK(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK(!rdma_resolve_addr(id, NULL, at->ai_addr, 2000));
	freeaddrinfo(at);
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!rdma_resolve_route(id, 2000));
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp();
	CHECK(!rdma_connect(id, &p));
	expect(RDMA_CM_EVENT_ESTABLISHED);
}

static void answer(const char *port)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(atoi(port))};
	struct rdma_conn_param p = param();
	struct rdma_cm_id *listener;

	CHECK(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	CHECK(!rdma_bind_addr(listener, (struct sockaddr *)&any));
	CHECK(!rdma_listen(listener, 1));
	id = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp();
	CHECK(!rdma_accept(id, &p));
	expect(RDMA_CM_EVENT_ESTABLISHED);
	rdma_destroy_id(listener);
}

static void send_next(void)
{
	struct ibv_sge sge = {(uintptr_t)memory[RECEIVES], (uint32_t)length(sent), mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;

	for (size_t k = 0; k < sge.length; k++)
		memory[RECEIVES][k] = byte(server, sent, k);
	CHECK(!ibv_post_send(id->qp, &wr, &bad));
}

static void look_at(const struct ibv_wc *wc)
{
	CHECK(wc->byte_len == length(got));
	for (size_t k = 0; k < wc->byte_len; k++)
		CHECK(memory[wc->wr_id][k] == byte(!server, got, k));
	got++;
	post_receive(wc->wr_id);
}

static bool completion(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(cq, 1, wc);

	CHECK(n >= 0);
	CHECK(!n || !wc->status);
	return n;
}

static void exchange(void)
{
	struct ibv_wc wc;

	send_next();
	while (sent < ROUNDS || got < ROUNDS) {
		if (completion(id->recv_cq, &wc))
			look_at(&wc);
		if (completion(id->send_cq, &wc) && ++sent < ROUNDS)
			send_next();
	}
	printf("%d messages\n", got);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	bool stay = !strcmp(argv[argc - 1], "stay");

	if (argc < 2)
		return 1;
	server = argc - stay == 2;
	channel = rdma_create_event_channel();
	CHECK(channel);
	if (server)
		answer(argv[1]);
	else
		call(argv[2], argv[1]);
	printf(stay ? "connected\n" : "");
	fflush(stdout);
	if (!stay)
		exchange();
	if (!server && !stay)
		rdma_disconnect(id);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	printf(stay ? "disconnected\n" : "");
	rdma_disconnect(id);
	rdma_destroy_qp(id);
	ibv_dereg_mr(mr);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	return 0;
}
