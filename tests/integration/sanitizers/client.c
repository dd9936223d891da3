/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * client.c - a program of two threads for ThreadSanitizer: each has a QP, and they send each other
 * messages of many lengths. Every buffer is one thread's, the other's bytes come by the device. The
 * argument "events" waits for completion events; "race" adds a race in the program itself, which
 * must be found.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 500, ROOM = 1 << 19, ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

struct side {
	struct ibv_comp_channel *channel;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *in, *out;
	int nth;
};

static struct side sides[2];
static int events, race;
static int raced; /* "race": written by both threads, nothing orders them */

#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "line %d: %s\n", __LINE__, strerror(errno));               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void make(struct side *s, struct ibv_context *ctx)
{
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC, .cap = {16, 16, 1, 1, 0}};

	s->pd = ibv_alloc_pd(ctx);
	s->channel = ibv_create_comp_channel(ctx);
	s->cq = ibv_create_cq(ctx, 64, NULL, s->channel, 0);
	s->in = calloc(2, ROOM);
	MUST(s->pd && s->cq && s->in);
	s->out = s->in + ROOM;
	s->mr = ibv_reg_mr(s->pd, s->in, 2 * ROOM, ACCESS);
	a.send_cq = a.recv_cq = s->cq;
	s->qp = ibv_create_qp(s->pd, &a);
	MUST(s->mr && s->qp);
}

static void join(struct side *s, const struct side *to)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = to->qp->qp_num,
				.max_rd_atomic = 1,
				.max_dest_rd_atomic = 1,
				.min_rnr_timer = 1,
				.timeout = 14,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 1}};

	MUST(!ibv_query_gid(s->qp->context, 1, 0, &a.ah_attr.grh.dgid));
	MUST(!ibv_modify_qp(s->qp, &a,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	a.qp_state = IBV_QPS_RTR;
	MUST(!ibv_modify_qp(s->qp, &a,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER));
	a.qp_state = IBV_QPS_RTS;
	MUST(!ibv_modify_qp(s->qp, &a,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void post(struct side *s, char *at, uint32_t len)
{
	struct ibv_sge g = {.addr = (uintptr_t)at, .length = len, .lkey = s->mr->lkey};
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED,
				   .sg_list = &g,
				   .num_sge = 1},
			   *bad_send;
	struct ibv_recv_wr recv = {.sg_list = &g, .num_sge = 1}, *bad;

	if (at == s->in)
		MUST(!ibv_post_recv(s->qp, &recv, &bad));
	else
		MUST(!ibv_post_send(s->qp, &send, &bad_send));
}

static void wait_event(struct side *s)
{
	struct ibv_cq *cq;
	void *context;

	MUST(!ibv_get_cq_event(s->channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
}

/* One completion. */
static void complete(struct side *s)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(s->cq, 1, &wc);

	while (!n) {
		if (events)
			MUST(!ibv_req_notify_cq(s->cq, 0));
		n = ibv_poll_cq(s->cq, 1, &wc);
		if (events && !n)
			wait_event(s);
	}
	MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
}

static void *run(void *arg)
{
	struct side *s = arg;

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t len = i % 50 ? 1 + (uint32_t)i * 37 % 9000 : 300000;

		if (race)
			raced++;
		memset(s->out, i + s->nth, len);
		post(s, s->out, len);
		complete(s); /* its own, and the receive of the other's, in either order */
		complete(s);
		MUST(s->in[0] == (char)(i + !s->nth) && s->in[len - 1] == (char)(i + !s->nth));
		post(s, s->in, ROOM);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *ctx = devices && devices[0] ? ibv_open_device(devices[0]) : NULL;
	pthread_t threads[2];

	MUST(ctx);
	events = argc > 1 && !strcmp(argv[1], "events");
	race = argc > 1 && !strcmp(argv[1], "race");
	for (int i = 0; i < 2; i++) {
		sides[i].nth = i;
		make(&sides[i], ctx);
	}
	for (int i = 0; i < 2; i++) {
		join(&sides[i], &sides[!i]);
		post(&sides[i], sides[i].in, ROOM);
	}
	for (int i = 0; i < 2; i++)
		MUST(!pthread_create(&threads[i], NULL, run, &sides[i]));
	for (int i = 0; i < 2; i++)
		MUST(!pthread_join(threads[i], NULL));
	for (int i = 0; i < 2; i++) {
		MUST(!ibv_destroy_qp(sides[i].qp));
		MUST(!ibv_destroy_cq(sides[i].cq));
		MUST(!ibv_destroy_comp_channel(sides[i].channel));
		MUST(!ibv_dereg_mr(sides[i].mr));
		MUST(!ibv_dealloc_pd(sides[i].pd));
		free(sides[i].in);
	}
	MUST(!ibv_close_device(ctx));
	ibv_free_device_list(devices);
	puts("done");
	return 0;
}
