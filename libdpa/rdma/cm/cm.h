/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cm.h - connections by address: librdmacm makes them, with the QPs of this library.
 *
 * client  RESOLVING --route: REQ--> ASKED --REP: QP to RTS, RTU--> ESTABLISHED
 *   server  REQUESTED --accept: QP to RTS, REP--> ACCEPTED --RTU--> ESTABLISHED
 *   both    ESTABLISHED --disconnect: DREQ--> CLOSING --DREP--> (gone)
 *
 * From each state, a refusal, an error, the peer's DREQ or the time limit leads to (gone), by way
 * of ENDING, in which the user's last callback runs. An id of the user's (bridged.c)
 * has its events at the user's channel: the user reports ESTABLISHED, and disconnects when the peer
 * does.
 *
 * All of it runs on the user's thread: calls, and doca_pe_progress(). docs/connections.md has the
 * rest.
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

/* An address of the user, or of a peer. */
struct doca_rdma_addr {
	enum doca_rdma_addr_type type;
	uint16_t port;
	char text[INET6_ADDRSTRLEN + 24]; /* and an interface */
	struct sockaddr_storage where;
	uint32_t users; /* connections that use it */
	bool own;	/* owned by the library: freed with its connection */
};

struct dpa_cm_link;
struct dpa_cm_listener;

/* Part of a doca_rdma. The descriptors are -1 while they are not open. */
struct dpa_cm {
	doca_rdma_connection_request_cb_t requested;
	doca_rdma_connection_established_cb_t established;
	doca_rdma_connection_failure_cb_t failed;
	doca_rdma_connection_disconnection_cb_t disconnected;
	struct dpa_cm_link *links;
	struct dpa_cm_listener *listeners;
	struct rdma_event_channel *channel; /* NULL: not needed so far */
	uint64_t looked_ns;		    /* time of the last check of events and limits */
	int epoll;			    /* descriptor for doca_pe: the channel and the timer */
	int timer;
	bool working; /* in dpa_cm_progress(): links are freed at its end */
};

/* Start it before the context starts, with an engine: 0 or errno. */
int dpa_cm_start(struct dpa_cm *cm);
/* End all connections without a callback. Their QPs are freed with the context's connections. */
void dpa_cm_stop(struct doca_rdma *rdma);
/* Run it. Returns whether there was work. */
bool dpa_cm_progress(struct doca_rdma *rdma);
/* Set the timer. */
void dpa_cm_arm(struct doca_rdma *rdma);

/* ------------------------------------------------------------------- addr.c */

/* Make the address of a peer. NULL: no memory. */
struct doca_rdma_addr *dpa_addr_of_peer(const struct sockaddr *peer);
/*
 * Copy the user's address for a connection that is disconnected: the user may destroy the original
 * first.
 */
struct doca_rdma_addr *dpa_addr_leave(struct doca_rdma_addr *addr);
void dpa_addr_hold(struct doca_rdma_addr *addr);
void dpa_addr_release(struct doca_rdma_addr *addr);

#endif
