/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verbs_end HOST PORT GID_INDEX ROUNDS [die|late]: the peer of echo.c, a verbs program that knows
 * of libdpa what dpa/dpa_rdma.h says. Each round sends a message on each of four connections, then
 * takes the answers and looks at every byte. die: ends after half of the rounds, without waiting
 * for the answers to its last messages. late: in some rounds the long messages of half of the
 * connections are held up on the way until the others', which were sent later, are answered.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <dpa/dpa_rdma.h>
#include <infiniband/verbs.h>

enum { CONNS = 4, SHORT = 512, LONG = 16384, SLOT = SHORT + LONG, SLOW = 1 /* kbit/s */ };

struct conn {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct dpa_rdma_details own, peer;
	uint8_t *out, *in;
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static uint8_t mem[2 * CONNS * SLOT];
static int gid_index;

static void fail(const char *what)
{
	fprintf(stderr, "verbs_end: %s failed\n", what);
	_exit(1);
}

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x))                                                                          \
			fail(#x);                                                                  \
	} while (0)

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	CHECK(list);
	for (int i = 0; list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "dpa0"))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	CHECK(ctx);
	CHECK(pd = ibv_alloc_pd(ctx));
	CHECK(mr = ibv_reg_mr(pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE));
}

static void make(struct conn *c, int n)
{
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1, 0}};
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	union ibv_gid gid;

	CHECK(c->cq = ibv_create_cq(ctx, 16, NULL, NULL, 0));
	a.send_cq = a.recv_cq = c->cq;
	CHECK(c->qp = ibv_create_qp(pd, &a));
	CHECK(!ibv_modify_qp(c->qp, &init,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	CHECK(!ibv_query_gid(ctx, 1, gid_index, &gid));
	c->own = (struct dpa_rdma_details){.magic = htonl(DPA_RDMA_DETAILS_MAGIC),
					   .version = htons(DPA_RDMA_DETAILS_VERSION),
					   .size = htons(sizeof(c->own)),
					   .qpn = htonl(c->qp->qp_num),
					   .psn = htonl(1000 + (uint32_t)n),
					   .mtu = IBV_MTU_512,
					   .rd_atomic = 1,
					   .num_gids = 1};
	memcpy(c->own.gids[0], gid.raw, 16);
	c->out = mem + 2 * n * SLOT;
	c->in = c->out + SLOT;
}

static void join(struct conn *c)
{
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = c->own.mtu < c->peer.mtu ? c->own.mtu : c->peer.mtu,
		.dest_qp_num = ntohl(c->peer.qpn),
		.rq_psn = ntohl(c->peer.psn),
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.sgid_index = (uint8_t)gid_index, .hop_limit = 64}}};
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
				  .timeout = 16,
				  .retry_cnt = 7,
				  .rnr_retry = 7,
				  .sq_psn = ntohl(c->own.psn),
				  .max_rd_atomic = 1};

	memcpy(rtr.ah_attr.grh.dgid.raw, c->peer.gids[0], 16);
	CHECK(!ibv_modify_qp(c->qp, &rtr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER));
	CHECK(!ibv_modify_qp(c->qp, &rts,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

/* 0: no limit. Otherwise the bytes after the first 8 KiB of a long message leave after a minute. */
static void limit_rate(struct conn *c, uint32_t kbps)
{
	struct ibv_qp_rate_limit_attr a = {.rate_limit = kbps, .max_burst_sz = 1};

	CHECK(!ibv_modify_qp_rate_limit(c->qp, &a));
}

static bool is_late_round(uint32_t round)
{
	return round >= 8 && round < 12;
}

static uint32_t length_of(uint32_t round, bool slow)
{
	return (slow ? LONG : 0) + 8 + round * 37 % (SHORT - 7);
}

static void post_receive(struct conn *c)
{
	struct ibv_sge in = {(uintptr_t)c->in, SLOT, mr->lkey};
	struct ibv_recv_wr rwr = {.wr_id = 1, .sg_list = &in, .num_sge = 1}, *rbad;

	memset(c->in, 0, SLOT);
	CHECK(!ibv_post_recv(c->qp, &rwr, &rbad));
}

static void send_message(struct conn *c, uint32_t round, bool slow)
{
	uint32_t len = length_of(round, slow);
	struct ibv_sge out = {(uintptr_t)c->out, len, mr->lkey};
	struct ibv_send_wr swr = {.sg_list = &out,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .imm_data = htonl(len)},
			   *sbad;

	for (uint32_t i = 0; i < len; i++)
		c->out[i] = (uint8_t)(round + i * 3 + c->qp->qp_num);
	CHECK(!ibv_post_send(c->qp, &swr, &sbad));
}

static void take_answer(struct conn *c, uint32_t round, bool slow)
{
	uint32_t len = length_of(round, slow);
	uint64_t sent, got;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(c->cq, 1, &wc)))
		;
	CHECK(n == 1 && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
	CHECK(wc.byte_len == len && ntohl(wc.imm_data) == len);
	memcpy(&sent, c->out, 8);
	memcpy(&got, c->in, 8);
	CHECK(got == sent + 1 && !memcmp(c->in + 8, c->out + 8, len - 8));
}

static void send_messages(struct conn *c, uint32_t round, bool slow)
{
	for (int i = 0; i < CONNS; i++) {
		if (slow && i % 2 == 0)
			limit_rate(&c[i], SLOW);
		send_message(&c[i], round, slow);
	}
}

/* Connections that may be slow come last, and are not slowed any more. */
static void take_answers(struct conn *c, uint32_t round, bool slow)
{
	for (int i = 1; i < CONNS; i += 2)
		take_answer(&c[i], round, slow);
	for (int i = 0; i < CONNS; i += 2) {
		if (slow)
			limit_rate(&c[i], 0);
		take_answer(&c[i], round, slow);
	}
}

static int reach(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *ai;
	int fd;

	CHECK(!getaddrinfo(host, port, &hints, &ai));
	fd = socket(ai->ai_family, ai->ai_socktype, 0);
	CHECK(fd >= 0 && !connect(fd, ai->ai_addr, ai->ai_addrlen));
	freeaddrinfo(ai);
	return fd;
}

int main(int argc, char **argv)
{
	struct conn c[CONNS] = {0};
	bool die, late;
	uint32_t rounds;
	int fd;
	char go;

	CHECK(argc == 5 || argc == 6);
	die = argc == 6 && !strcmp(argv[5], "die");
	late = argc == 6 && !strcmp(argv[5], "late");
	CHECK(argc == 5 || die || late);
	gid_index = atoi(argv[3]);
	rounds = (uint32_t)atoi(argv[4]) / (die ? 2 : 1);
	open_device();
	fd = reach(argv[1], argv[2]);
	for (int i = 0; i < CONNS; i++) {
		make(&c[i], i);
		CHECK(recv(fd, &c[i].peer, sizeof(c[i].peer), MSG_WAITALL) == sizeof(c[i].peer));
		CHECK(send(fd, &c[i].own, sizeof(c[i].own), 0) == sizeof(c[i].own));
		join(&c[i]);
	}
	CHECK(recv(fd, &go, 1, 0) == 1);
	for (uint32_t r = 0; r < rounds; r++) {
		bool slow = late && is_late_round(r), last = die && r == rounds - 1;

		/* the last answers find no receive: they cannot arrive before the end */
		for (int i = 0; i < CONNS && !last; i++)
			post_receive(&c[i]);
		send_messages(c, r, slow);
		if (last)
			_exit(0);
		take_answers(c, r, slow);
	}
	printf("verbs_end: %u answers\n", rounds * CONNS);
	CHECK(send(fd, "d", 1, 0) == 1);
	/* and acknowledgements may not have left yet: the other side ends first */
	CHECK(recv(fd, &go, 1, 0) == 0);
	for (int i = 0; i < CONNS; i++) {
		CHECK(!ibv_destroy_qp(c[i].qp));
		CHECK(!ibv_destroy_cq(c[i].cq));
	}
	CHECK(!ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd) && !ibv_close_device(ctx));
	return 0;
}
