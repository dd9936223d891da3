/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "cm_plain.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>

void plain_open(struct plain *p)
{
	memset(p, 0, sizeof(*p));
	p->channel = rdma_create_event_channel();
	cr_assert_not_null(p->channel);
	cr_assert_eq(fcntl(p->channel->fd, F_SETFL, O_NONBLOCK), 0);
}

void plain_leave(struct plain *p)
{
	if (p->id->qp)
		rdma_destroy_qp(p->id);
	if (p->mr)
		cr_assert_eq(ibv_dereg_mr(p->mr), 0);
	cr_assert_eq(rdma_destroy_id(p->id), 0);
	p->mr = NULL;
	p->id = NULL;
}

void plain_close(struct plain *p)
{
	if (p->id)
		plain_leave(p);
	if (p->listener)
		cr_assert_eq(rdma_destroy_id(p->listener), 0);
	rdma_destroy_event_channel(p->channel);
}

uint16_t plain_listen(struct plain *p)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	cr_assert_eq(rdma_create_id(p->channel, &p->listener, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_bind_addr(p->listener, (struct sockaddr *)&in), 0);
	cr_assert_eq(rdma_listen(p->listener, 0), 0);
	return ntohs(rdma_get_src_port(p->listener));
}

enum rdma_cm_event_type plain_event(struct plain *p)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *ev;

	while (rdma_get_cm_event(p->channel, &ev))
		work();
	type = ev->event;
	p->status = ev->status;
	p->id = ev->id;
	p->data_len = ev->param.conn.private_data_len;
	if (p->data_len)
		memcpy(p->data, ev->param.conn.private_data, p->data_len);
	cr_assert_eq(rdma_ack_cm_event(ev), 0);
	return type;
}

void plain_resolve(struct plain *p)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	cr_assert_eq(rdma_create_id(p->channel, &p->id, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_resolve_addr(p->id, NULL, (struct sockaddr *)&in, 2000), 0);
	cr_assert_eq(plain_event(p), RDMA_CM_EVENT_ADDR_RESOLVED);
	cr_assert_eq(rdma_resolve_route(p->id, 2000), 0);
	cr_assert_eq(plain_event(p), RDMA_CM_EVENT_ROUTE_RESOLVED);
}

void plain_make_qp(struct plain *p)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
	};

	cr_assert_eq(rdma_create_qp(p->id, NULL, &attr), 0);
	p->mr = ibv_reg_mr(p->id->qp->pd, p->mem, PLAIN_MEM, IBV_ACCESS_LOCAL_WRITE);
	cr_assert_not_null(p->mr);
}

/* Parameters as in rping: one READ at a time, and its own QP number if there is no QP. */
static struct rdma_conn_param plain_param(const char *data)
{
	return (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = (uint8_t)(data ? strlen(data) + 1 : 0),
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = 1,
	};
}

void plain_call(struct plain *p, const char *data)
{
	struct rdma_conn_param param = plain_param(data);

	cr_assert_eq(rdma_connect(p->id, &param), 0);
}

void plain_accept(struct plain *p, const char *data)
{
	struct rdma_conn_param param = plain_param(data);

	cr_assert_eq(rdma_accept(p->id, &param), 0);
}

void plain_recv(struct plain *p)
{
	struct ibv_sge sge = {(uintptr_t)p->mem, PLAIN_MEM, p->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	cr_assert_eq(ibv_post_recv(p->id->qp, &wr, &bad), 0);
}

void plain_send(struct plain *p, const char *text)
{
	struct ibv_sge sge = {(uintptr_t)p->mem, (uint32_t)strlen(text) + 1, p->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;

	strcpy((char *)p->mem, text);
	cr_assert_eq(ibv_post_send(p->id->qp, &wr, &bad), 0);
}

static struct ibv_wc wc_of(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		work();
	cr_assert_eq(n, 1);
	return wc;
}

struct ibv_wc plain_sent(struct plain *p)
{
	return wc_of(p->id->send_cq);
}

struct ibv_wc plain_received(struct plain *p)
{
	return wc_of(p->id->recv_cq);
}
