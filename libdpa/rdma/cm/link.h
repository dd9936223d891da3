/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* link.h - one exchange, for the files of this folder. */
#ifndef DPA_RDMA_CM_LINK_H
#define DPA_RDMA_CM_LINK_H

#include "cm.h"

#define DPA_CM_MAGIC   0x6470636du /* "dpcm" */
#define DPA_CM_VERSION 1

enum dpa_cm_type { CM_REQ = 1, CM_REP = 2, CM_RTU = 3, CM_REJ = 4 };

/* All messages are of one size; numbers are in network order. */
struct dpa_cm_msg {
	uint32_t magic;
	uint16_t version;
	uint8_t type;			 /* enum dpa_cm_type */
	uint8_t private_len;		 /* of REP: bytes of private_data */
	struct dpa_rdma_details details; /* of REQ and REP; 0 else */
	uint8_t private_data[256];
};
_Static_assert(sizeof(struct dpa_cm_msg) == 8 + 160 + 256, "the format of messages");

enum dpa_cm_state {
	CM_CONNECTING, /* TCP is not up yet */
	CM_ASKED,
	CM_GREETED, /* TCP is up, from a peer that has not asked yet: no connection object */
	CM_REQUESTED,
	CM_ACCEPTED,
	CM_ESTABLISHED,
	CM_CLOSING, /* this side has disconnected */
	CM_ENDING,  /* the user's last callback */
	CM_GONE,
};

/* A descriptor in the epoll set. */
struct dpa_cm_fd {
	int fd;
	void (*ready)(struct doca_rdma *r, struct dpa_cm_fd *f, uint32_t events);
};

struct dpa_cm_listener {
	struct dpa_cm_fd f;
	uint16_t port;
	struct dpa_cm_listener *next;
};

struct dpa_cm_link {
	struct dpa_cm_fd f;
	struct dpa_cm_link *next;
	struct doca_rdma *rdma;
	struct doca_rdma_connection *c;
	struct doca_rdma_addr *addr; /* held */
	enum dpa_cm_state state;
	uint64_t deadline; /* CLOCK_MONOTONIC, ns; 0: none */
	struct dpa_cm_msg in, out;
	size_t got;	      /* of in */
	size_t to_send, sent; /* of out */
};

void dpa_cm_link_ready(struct doca_rdma *r, struct dpa_cm_fd *f, uint32_t events);
/* Closes it and drops its connection, without a word to the user. */
void dpa_cm_end(struct dpa_cm_link *l);
/* The same, after the user's callback. */
void dpa_cm_break(struct dpa_cm_link *l);
/* False: it cannot be sent. */
bool dpa_cm_send(struct dpa_cm_link *l, enum dpa_cm_type type, const void *private_data,
		 uint8_t private_len);
bool dpa_cm_listen(struct doca_rdma *r, uint16_t port);
/* False: there is no listener. */
bool dpa_cm_unlisten(struct doca_rdma *r, uint16_t port);
/* NULL: it cannot be reached, or there is no room. */
struct dpa_cm_link *dpa_cm_call(struct doca_rdma *r, struct doca_rdma_addr *addr);
/* The time that its next step may take begins now. */
void dpa_cm_limit(struct dpa_cm_link *l);
/* The peer sees the end of this side. False: it has ended itself. */
bool dpa_cm_hang_up(struct dpa_cm_link *l);

#endif
