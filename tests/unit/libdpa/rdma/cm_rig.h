/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cm_rig.h - two contexts with their engines, a server that listens and a client. */
#ifndef TEST_RDMA_CM_RIG_H
#define TEST_RDMA_CM_RIG_H

#include "rig.h"
#include <doca_pe.h>

/* The server's answer to a request. */
enum answer { ACCEPT, REJECT, LATER, STOP, STOP_LISTENING };

/* A context with its engine. */
struct side {
	struct doca_dpa_completion *comp;
	struct doca_rdma *rdma;
	struct doca_ctx *ctx;
	struct doca_pe *pe;
	struct doca_rdma_connection *conn; /* of the last callback */
	union doca_data user_data;	   /* of the last callback */
	enum answer answer;
	int requested, established, failed, disconnected;
	doca_error_t answered;
};

extern struct side server, client;
extern struct rig rig;
extern struct doca_rdma_addr *addr; /* the server's */
extern uint16_t port;

/* The callbacks of both; ctx: the side. */
void on_request(struct doca_rdma_connection *c, union doca_data ctx);
void on_established(struct doca_rdma_connection *c, union doca_data own, union doca_data ctx);
void on_failure(struct doca_rdma_connection *c, union doca_data own, union doca_data ctx);
void on_disconnection(struct doca_rdma_connection *c, union doca_data own, union doca_data ctx);

void make(struct side *s, uint16_t connections, uint16_t timeout_ms);
void unmake(struct side *s);
/* Make both, and let the server listen. */
void begin(uint16_t connections, uint16_t timeout_ms);
void end(void);
void listen_somewhere(void);
/* Let the client connect. */
void call(uint64_t user_data);
void connect_both(void);

/* Run progress of both. */
void work(void);
#define AWAIT(condition)                                                                           \
	do                                                                                         \
		work();                                                                            \
	while (!(condition))

#endif
