/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cm_plain.h - a peer of connections by address without libdpa: librdmacm and verbs. */
#ifndef TEST_RDMA_CM_PLAIN_H
#define TEST_RDMA_CM_PLAIN_H

#include <rdma/rdma_cma.h>
#include "cm_rig.h"

enum { PLAIN_MEM = 4096 };

struct plain {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *id; /* id: of the last event, or its own */
	struct ibv_mr *mr;
	uint8_t mem[PLAIN_MEM];
	/* of the last event */
	int status;
	uint8_t data_len;
	char data[256];
};

void plain_open(struct plain *p);
void plain_close(struct plain *p);
/* Listen on 127.0.0.1; return the port. */
uint16_t plain_listen(struct plain *p);
/* Make a QP of the id, and its memory. */
void plain_make_qp(struct plain *p);
/* Request a connection from the server, with private data. Without a QP, if the id has none. */
void plain_call(struct plain *p, const char *data);
/* Resolve the path to the server, without a request. */
void plain_resolve(struct plain *p);
void plain_accept(struct plain *p, const char *data);
/* Return the next event, while both contexts work. */
enum rdma_cm_event_type plain_event(struct plain *p);
/* End the id. */
void plain_leave(struct plain *p);
/* Post a receive of its memory, or a send from it, and wait for its end. */
void plain_recv(struct plain *p);
void plain_send(struct plain *p, const char *text);
struct ibv_wc plain_sent(struct plain *p);
struct ibv_wc plain_received(struct plain *p);

#endif
