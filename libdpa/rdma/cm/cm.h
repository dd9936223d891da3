/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cm.h - connections by address: the two sides exchange their details over TCP, and the TCP
 * connection stays as long as the RDMA connection does, so that the end of either side is seen.
 * docs/connections.md has the messages.
 *
 *   client  CONNECTING --tcp is up: REQ--> ASKED --REP: RTU--> ESTABLISHED
 *   server  GREETED --REQ--> REQUESTED --accept: REP--> ACCEPTED --RTU--> ESTABLISHED
 *   both    ESTABLISHED --disconnect--> CLOSING --end of the peer's--> (gone)
 *
 * From everywhere: a refusal, the peer's end, a wrong message or the time limit to (gone), with the
 * user's callback unless the peer was only greeted. All on the user's thread: calls, and
 * doca_pe_progress().
 */
#ifndef DPA_RDMA_CM_H
#define DPA_RDMA_CM_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <doca_rdma.h>
#include <dpa/dpa_rdma.h>

struct doca_rdma_connection;

/* An address as the user gave it, or that of a peer. */
struct doca_rdma_addr {
	enum doca_rdma_addr_type type;
	uint16_t port;
	char text[INET6_ADDRSTRLEN + 24]; /* and an interface */
	struct sockaddr_storage where;
	socklen_t where_len;
	uint32_t users; /* connections */
	bool own;	/* the library's: goes with its connection */
};

struct dpa_cm_link;
struct dpa_cm_listener;

/* Of a doca_rdma. The descriptors are -1 while there are none. */
struct dpa_cm {
	doca_rdma_connection_request_cb_t requested;
	doca_rdma_connection_established_cb_t established;
	doca_rdma_connection_failure_cb_t failed;
	doca_rdma_connection_disconnection_cb_t disconnected;
	struct dpa_cm_link *links;
	struct dpa_cm_listener *listeners;
	struct dpa_cm_listener *closed; /* the round that works may still have an event of them */
	uint32_t num_greeted;		/* links without a connection */
	uint64_t looked_ns;		/* when the sockets were looked at last */
	int epoll;			/* what doca_pe waits for: all sockets and the timer */
	int timer;
	pid_t owner;  /* whose descriptors these are */
	bool working; /* in dpa_cm_progress(): links and listeners are freed at its end */
};

/* Before the context starts, with an engine: 0 or errno. */
int dpa_cm_start(struct dpa_cm *cm);
/* Ends all without a callback. Their QPs go with the context's connections. */
void dpa_cm_stop(struct doca_rdma *rdma);
/* Whether anything was done. */
bool dpa_cm_progress(struct doca_rdma *rdma);
/* Sets the timer. */
void dpa_cm_arm(struct doca_rdma *rdma);

/* ------------------------------------------------------------------- addr.c */

struct doca_rdma_addr *dpa_addr_of_peer(int fd);
void dpa_addr_hold(struct doca_rdma_addr *addr);
void dpa_addr_release(struct doca_rdma_addr *addr);

#endif
