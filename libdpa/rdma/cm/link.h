/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* link.h - one connection by address, for the files of this folder. */
#ifndef DPA_RDMA_CM_LINK_H
#define DPA_RDMA_CM_LINK_H

#include "../rdma.h"

/* Private data of a REP; librdmacm takes no more. */
#define DPA_CM_REP_DATA 196

enum dpa_cm_state {
	CM_RESOLVING,
	CM_ASKED,
	CM_REQUESTED,
	CM_ACCEPTED,
	CM_ESTABLISHED,
	CM_CLOSING, /* this side has disconnected */
	CM_ENDING,  /* the user's last callback */
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
	struct doca_rdma_addr *addr; /* held */
	enum dpa_cm_state state;
	bool bridged;	   /* the events of id are the user's */
	uint64_t deadline; /* CLOCK_MONOTONIC, ns; 0: none */
};

/* Whether a connection lives and has reached a state. */
static inline bool dpa_cm_is_in(const struct doca_rdma_connection *c, enum dpa_cm_state state)
{
	return dpa_live(c) && c->link && c->link->state == state;
}

/* Whether an answer can carry these bytes. */
static inline bool dpa_cm_is_data(const void *data, uint8_t len)
{
	return !len || (data && len <= DPA_CM_REP_DATA);
}

/* Ends it and drops its connection, without a word to the user. */
void dpa_cm_end(struct dpa_cm_link *l);
/* The same, after the user's callback. */
void dpa_cm_break(struct dpa_cm_link *l);
bool dpa_cm_listen(struct doca_rdma *r, uint16_t port);
/* False: there is no listener. */
bool dpa_cm_unlisten(struct doca_rdma *r, uint16_t port);
/* NULL: it cannot be reached, or there is no room. */
struct dpa_cm_link *dpa_cm_call(struct doca_rdma *r, struct doca_rdma_addr *addr);
/*
 * A request and its connection, REQUESTED. SUCCESS: the id is the link's. FULL;
 * CONNECTION_ABORTED: no queue pair, no memory; INVALID_VALUE: the id is not the adapter's.
 */
doca_error_t dpa_cm_take(struct doca_rdma *r, struct rdma_cm_id *id, struct dpa_cm_link **out);
/* REQUESTED to ACCEPTED. False: the peer is gone, or cannot be addressed. */
bool dpa_cm_accept(struct dpa_cm_link *l, const void *data, uint8_t len);
void dpa_cm_establish(struct dpa_cm_link *l);
/* ESTABLISHED to CLOSING. False: rdma_cm refuses; it ends nevertheless. */
bool dpa_cm_hang_up(struct dpa_cm_link *l);

/* ------------------------------------------------------------------ path.c */

/*
 * The QP to RTS on the path that the id has found, and of *p what it depends on. False: no way
 * there from the context's device.
 */
bool dpa_cm_join(const struct dpa_cm_link *l, struct rdma_conn_param *p);
/* Whether its device is an adapter of this project. */
bool dpa_cm_is_ours(const struct rdma_cm_id *id);
/* Fills in the fields of REQ and REP that describe the QP of a connection. */
void dpa_cm_describe(const struct dpa_cm_link *l, struct rdma_conn_param *p);

#endif
