/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * nine_steps - an RDMA program from the beginning to the end, in nine steps.
 *
 *   cc -o nine_steps nine_steps.c -libverbs
 *   ./nine_steps &                  the server: waits on TCP port 18515
 *   ./nine_steps 127.0.0.1          the client: writes into the server's memory, then sends a word
 *
 * On a machine without RDMA hardware, with dpa0 installed, as it is; else behind dpa-run. The
 * device is the first one that libibverbs lists, or the one that $DEVICE names.
 *
 * Steps 1 to 6 make two queue pairs that know each other; 7 to 9 use them.
 */
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define PORT	 "18515"
#define BYTES	 4096
#define GID	 0 /* index in the port's table: for RoCE the address that packets come from */
#define GREETING "written by the peer, without this process doing anything"

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The details that the two sides exchange. Programs on machines of other byte order would convert it. */
struct address {
	uint32_t qpn, psn;
	union ibv_gid gid;
};

struct memory {
	uint64_t addr;
	uint32_t rkey;
};

/* A TCP connection for steps 5 and 8. RDMA does not say how peers find each other. */
static int meet(const char *server)
{
	struct addrinfo hints = {.ai_family = AF_INET,
				 .ai_socktype = SOCK_STREAM,
				 .ai_flags = server ? 0 : AI_PASSIVE},
			*ai;
	int fd, on = 1, conn;

	if (getaddrinfo(server, PORT, &hints, &ai))
		die("getaddrinfo");
	fd = socket(ai->ai_family, ai->ai_socktype, 0);
	if (fd < 0)
		die("socket");
	if (server) {
		if (connect(fd, ai->ai_addr, ai->ai_addrlen))
			die("connect");
		conn = fd;
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, 1))
			die("listen");
		conn = accept(fd, NULL, NULL);
		if (conn < 0)
			die("accept");
		close(fd);
	}
	freeaddrinfo(ai);
	return conn;
}

/* Both sides send n bytes and receive as many. */
static void exchange(int sock, const void *mine, void *theirs, size_t n)
{
	if (write(sock, mine, n) != (ssize_t)n || recv(sock, theirs, n, MSG_WAITALL) != (ssize_t)n)
		die("exchange");
}

/* Polls until one work request is finished. */
static void await(struct ibv_cq *cq, const char *what)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (n == 0);
	if (n < 0)
		die("ibv_poll_cq");
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "%s: %s\n", what, ibv_wc_status_str(wc.status));
		exit(1);
	}
}

/* Step 1: a context is an open device. */
static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	const char *want = getenv("DEVICE");
	struct ibv_context *ctx = NULL;

	if (!list || !list[0]) {
		fprintf(stderr, "no RDMA device: is this started by dpa-run?\n");
		exit(1);
	}
	for (int i = 0; list[i] && !ctx; i++)
		if (!want || !strcmp(want, ibv_get_device_name(list[i])))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	if (!ctx)
		die("ibv_open_device");
	return ctx;
}

/* Step 6: RESET -> INIT -> RTR (ready to receive) -> RTS (ready to send). */
static void connect_qp(struct ibv_qp *qp, const struct address *me, const struct address *peer)
{
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
				   .pkey_index = 0,
				   .port_num = 1,
				   /* what the peer may do here, besides what each region allows */
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .grh = {.dgid = peer->gid, .sgid_index = GID, .hop_limit = 64},
			    .port_num = 1}};
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
				  .sq_psn = me->psn,
				  .timeout = 14,
				  .retry_cnt = 7,
				  .rnr_retry = 7,
				  .max_rd_atomic = 1};

	if (ibv_modify_qp(qp, &init,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("INIT");
	if (ibv_modify_qp(qp, &rtr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("RTR");
	if (ibv_modify_qp(qp, &rts,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTS");
}

/* Step 9. A WRITE goes into memory that the peer told us of; a SEND finds a receive of its. */
static void talk(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_mr *mr, char *buf,
		 const struct memory *peer)
{
	struct ibv_sge sge = {.addr = (uintptr_t)buf, .length = sizeof(GREETING), .lkey = mr->lkey};
	struct ibv_send_wr write_wr = {.opcode = IBV_WR_RDMA_WRITE,
				       .sg_list = &sge,
				       .num_sge = 1,
				       .wr.rdma = {.remote_addr = peer->addr, .rkey = peer->rkey}};
	struct ibv_send_wr send_wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	memcpy(buf, GREETING, sizeof(GREETING));
	write_wr.next = &send_wr; /* one list, one doorbell; RC keeps the order */
	if (ibv_post_send(qp, &write_wr, &bad))
		die("ibv_post_send");
	await(cq, "send");
	printf("client: written, and the server notified\n");
}

int main(int argc, char **argv)
{
	const char *server = argc > 1 ? argv[1] : NULL;
	struct ibv_qp_init_attr qpa = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	struct address me = {0}, peer;
	struct memory mine, theirs;
	struct ibv_recv_wr recv_wr = {0}, *bad;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *buf;
	int sock;

	ctx = open_device(); /* 1 */

	pd = ibv_alloc_pd(ctx); /* 2: what may be used together: QPs and memory regions */
	if (!pd)
		die("ibv_alloc_pd");

	cq = ibv_create_cq(ctx, 4, NULL, NULL, 0); /* 3: where finished work is reported */
	if (!cq)
		die("ibv_create_cq");

	qpa.send_cq = qpa.recv_cq = cq; /* 4: a send queue and a receive queue */
	qp = ibv_create_qp(pd, &qpa);
	if (!qp)
		die("ibv_create_qp");

	sock = meet(server); /* 5: who we are, who they are */
	me.qpn = qp->qp_num;
	me.psn = (uint32_t)rand() & 0xffffff;
	if (ibv_query_gid(ctx, 1, GID, &me.gid))
		die("ibv_query_gid");
	exchange(sock, &me, &peer, sizeof(me));

	connect_qp(qp, &me, &peer); /* 6 */

	buf = calloc(1, BYTES); /* 7: memory that the adapter may reach, and what a peer may do */
	mr = ibv_reg_mr(pd, buf, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		die("ibv_reg_mr");
	/* a receive for the peer's SEND must be there before it comes */
	if (!server && ibv_post_recv(qp, &recv_wr, &bad))
		die("ibv_post_recv");

	mine = (struct memory){(uintptr_t)buf, mr->rkey}; /* 8: where it is, and the key to it */
	exchange(sock, &mine, &theirs, sizeof(mine));

	if (server) { /* 9 */
		talk(qp, cq, mr, buf, &theirs);
	} else {
		await(cq, "receive");
		printf("server: %s\n", buf);
	}

	ibv_destroy_qp(qp);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	close(sock);
	free(buf);
	return 0;
}
