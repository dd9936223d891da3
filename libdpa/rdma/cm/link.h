/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* link.h - one connection by address; for the files of this folder. */
#ifndef DPA_RDMA_CM_LINK_H
#define DPA_RDMA_CM_LINK_H

#include "../rdma.h"

/* Bytes of private data of a REP; librdmacm accepts no more. */
#define DPA_CM_REP_DATA 196

enum dpa_cm_state {
	CM_RESOLVING,
	CM_ASKED,
	CM_REQUESTED,
	CM_ACCEPTED,
	CM_ESTABLISHED,
	CM_CLOSING, /* this side has disconnected */
	CM_ENDING,  /* the user's last callback runs */
	CM_GONE,
};

struct dpa_cm_listener {
	struct rdma_cm_id *id;
	uint16_t port;
	struct dpa_cm_listener *next;
};

struct dpa_cm_link {
	struct dpa_cm_link *next;
	struct doca_rdma *rdma;
	struct doca_rdma_connection *c;
	struct rdma_cm_id *id;
	struct doca_rdma_addr *addr; /* referenced */
	enum dpa_cm_state state;
	bool bridged;	   /* events of the id go to the user */
	uint64_t deadline; /* CLOCK_MONOTONIC, ns; 0: none */
};

/* Return whether a connection exists and has reached a state. */
static inline bool dpa_cm_is_in(const struct doca_rdma_connection *c, enum dpa_cm_state state)
{
	return dpa_live(c) && c->link && c->link->state == state;
}

/* Return whether an answer can carry these bytes. */
static inline bool dpa_cm_is_data(const void *data, uint8_t len)
{
	return !len || (data && len <= DPA_CM_REP_DATA);
}

/* End a link and drop its connection, without a report to the user. */
void dpa_cm_end(struct dpa_cm_link *l);
/* Do the same after the user's callback. */
void dpa_cm_break(struct dpa_cm_link *l);
bool dpa_cm_listen(struct doca_rdma *r, uint16_t port);
/* Stop listening. False: there is no listener. */
bool dpa_cm_unlisten(struct doca_rdma *r, uint16_t port);
/* Connect. NULL: the address is not reachable, or there is no room. */
struct dpa_cm_link *dpa_cm_call(struct doca_rdma *r, struct doca_rdma_addr *addr);
/*
 * Take a request and make its connection, in REQUESTED. SUCCESS: the link owns the id. FULL;
 * CONNECTION_ABORTED: no queue pair, no memory; INVALID_VALUE: the id is not of this adapter.
 */
doca_error_t dpa_cm_take(struct doca_rdma *r, struct rdma_cm_id *id, struct dpa_cm_link **out);
/* Step from REQUESTED to ACCEPTED. False: the peer is gone, or cannot be addressed. */
bool dpa_cm_accept(struct dpa_cm_link *l, const void *data, uint8_t len);
void dpa_cm_establish(struct dpa_cm_link *l);
/* Step from ESTABLISHED to CLOSING. False: rdma_cm refuses; the link ends nevertheless. */
bool dpa_cm_hang_up(struct dpa_cm_link *l);

/* ------------------------------------------------------------------ path.c */

/*
 * Move the QP to RTS on the path that the id has found, and set the members of *p that depend on
 * it. False: there is no path from the context's device.
 */
bool dpa_cm_join(const struct dpa_cm_link *l, struct rdma_conn_param *p);
/* Return whether its device is an adapter of this project. */
bool dpa_cm_is_ours(const struct rdma_cm_id *id);
/* Fill in the fields of REQ and REP that describe the QP of a connection. */
void dpa_cm_describe(const struct dpa_cm_link *l, struct rdma_conn_param *p);

#endif
