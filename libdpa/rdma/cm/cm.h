/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cm.h - connections by address: librdmacm makes them, with the QPs of this library.
 *
 *   client  RESOLVING --route: REQ--> ASKED --REP: QP to RTS, RTU--> ESTABLISHED
 *   server  REQUESTED --accept: QP to RTS, REP--> ACCEPTED --RTU--> ESTABLISHED
 *   both    ESTABLISHED --disconnect: DREQ--> CLOSING --DREP--> (gone)
 *
 * From everywhere: a refusal, an error, the peer's DREQ or the time limit to (gone), by way of
 * ENDING, in which the user's last callback runs. An id of the user's (bridged.c)
 * has its events at the user's channel: he reports ESTABLISHED, and disconnects when the peer does.
 *
 * All on the user's thread: calls, and doca_pe_progress(). docs/connections.md has the rest.
 */
#ifndef DPA_RDMA_CM_H
#define DPA_RDMA_CM_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <rdma/rdma_cma.h>
#include <doca_rdma.h>
#include <dpa/dpa_rdma.h>

struct doca_rdma_connection;

/* An address as the user gave it, or that of a peer. */
struct doca_rdma_addr {
	enum doca_rdma_addr_type type;
	uint16_t port;
	char text[INET6_ADDRSTRLEN + 24]; /* and an interface */
	struct sockaddr_storage where;
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
	struct rdma_event_channel *channel; /* NULL: nothing has needed it */
	uint64_t looked_ns;		    /* when events and limits were looked at last */
	int epoll;			    /* what doca_pe waits for: the channel and the timer */
	int timer;
	bool working; /* in dpa_cm_progress(): links are freed at its end */
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

/* NULL: no memory. */
struct doca_rdma_addr *dpa_addr_of_peer(const struct sockaddr *peer);
/* For a connection that is disconnected: a copy of the user's address, which may go before it. */
struct doca_rdma_addr *dpa_addr_leave(struct doca_rdma_addr *addr);
void dpa_addr_hold(struct doca_rdma_addr *addr);
void dpa_addr_release(struct doca_rdma_addr *addr);

#endif
