/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rdma.h - RDMA contexts as the host's calls and the EUs see them.
 *
 *             setters                         export, connect
 *   IDLE -------------> IDLE --doca_ctx_start()--> RUNNING --doca_ctx_stop()--> IDLE
 *
 * A started context has an SRQ and a table of connections, each an RC QP whose CQ is that of the
 * attached completion context. EUs find the context by its handle, and a connection by its id.
 *
 * Who writes what: the host's calls write everything but the queues, one call at a time. EUs read
 * it between the publication of the handle and of a connection (release: `ready`) and
 * dpa_pool_quiesce() after the handle was dropped. The queues (indices and memory) are written by
 * the EU that holds their lock.
 */
#ifndef DPA_RDMA_H
#define DPA_RDMA_H

#ifndef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_ALLOW_EXPERIMENTAL_API
#endif
#include <doca_rdma.h>
#include <dpa/dpa_rdma.h>
#include "../common/ctx.h"
#include "../eu/lock.h"
#include "../host/libdpa.h"
#include "cm/cm.h"
#include "task/task.h"

/* A WQE with the largest payload that a post copies is 4 blocks. */
_Static_assert(sizeof(struct dpa_wqe_ctrl) + sizeof(struct dpa_wqe_raddr) + DPA_DEV_RDMA_INLINE ==
		       4 * DPA_WQEBB,
	       "what doca_dpa_dev_rdma.h says");

#define DPA_RDMA_DEFAULT_QUEUE 64
#define DPA_RDMA_TIMEOUT_MS    2000
#define DPA_RDMA_DRAIN_MS      100 /* that doca_ctx_stop() gives what was posted */

/* Local ACK timeout, 4.096 us * 2^x: a quarter of a second, so that a busy machine is no error. */
#define DPA_RDMA_ACK_TIMEOUT 16
#define DPA_RDMA_RETRIES     7
#define DPA_RDMA_RNR_TIMER   1 /* 0.01 ms */

struct dpa_rdma_conf {
	uint32_t send_queue_size, recv_queue_size; /* powers of two */
	uint32_t send_list_len, recv_list_len;
	uint32_t permissions; /* enum doca_access_flag */
	uint32_t gid_index, sl;
	enum doca_mtu_size mtu;
	uint16_t max_connections;
	uint16_t timeout_ms;
	uint8_t rnr_retry;
};

struct doca_rdma_connection {
	struct doca_rdma *rdma;
	uint32_t id;
	_Atomic uint32_t ready; /* connected: EUs may post */
	union doca_data user_data;
	struct ibv_qp *qp;
	struct dpa_fatal_hook fatal; /* to the error state with the DPA context */
	struct dpa_rdma_details details;
	struct dpa_cm_link *link; /* NULL: exported */
	/* CPU data path: in flight, in order */
	struct dpa_rdma_task *sent, **sent_end;
	/* EUs */
	struct dpa_eu_lock lock;
	struct dpa_qp_queues queues; /* under lock, but view */
	uint32_t posted;	     /* under lock: operations so far */
	bool held;		     /* under lock: no doorbell told of the last one */
};

struct doca_rdma {
	struct doca_ctx ctx;
	struct dpa_object obj; /* while started: in the table of ctx.dpa */
	bool has_hw_thread;    /* while started: dpa_hw_thread_take() */
	struct dpa_rdma_conf conf;
	struct doca_dpa_completion *comp;
	struct dpa_cm cm;
	struct dpa_rdma_tasks tasks;
	uint32_t refs; /* the user's, and one of each task */
	bool working;  /* in doca_pe_progress() */
	/* while started */
	bool started;
	struct doca_dpa *dpa; /* NULL: the data path of the CPU */
	struct ibv_cq *cq;    /* of the completion context, or its own */
	struct ibv_srq *srq;
	uint64_t *scratch; /* of each connection 8 bytes in a cache line: what atomics fetch */
	struct ibv_mr *scratch_mr;
	_Atomic(struct doca_rdma_connection *) *conns; /* conf.max_connections */
	uint32_t num_conns;			       /* of these; host's calls */
	/* EUs */
	struct dpa_eu_lock recv_lock;
	struct dpa_srq_queue recv; /* under recv_lock, but view */
};

#define DPA_RDMA_SCRATCH 64 /* bytes of a connection */

/* In `conns`: there was one, and may be again. What device code posts to it is dropped. */
#define DPA_RDMA_GONE ((struct doca_rdma_connection *)1)

/* For the host's calls: the connection of an id, or NULL. */
static inline struct doca_rdma_connection *dpa_rdma_conn(const struct doca_rdma *r, uint32_t id)
{
	struct doca_rdma_connection *c = atomic_load_explicit(&r->conns[id], memory_order_relaxed);

	return c == DPA_RDMA_GONE ? NULL : c;
}

static inline struct doca_rdma *dpa_rdma_of_ctx(struct doca_ctx *ctx)
{
	return container_of(ctx, struct doca_rdma, ctx);
}

/* Its memory stays. */
void dpa_rdma_hold(struct doca_rdma *rdma);
void dpa_rdma_release(struct doca_rdma *rdma);

/* ------------------------------------------------------------ connection.c */

/* Of a started context; errors as doca_rdma_export() says. */
doca_error_t dpa_rdma_new_connection(struct doca_rdma *rdma, struct doca_rdma_connection **out);
/* Errors as doca_rdma_connect() says. */
doca_error_t dpa_rdma_join(struct doca_rdma_connection *c, const void *details, size_t size);
/* What is posted to it is flushed. */
void dpa_rdma_fail_connection(struct doca_rdma_connection *c);
/* Its id may be given again. */
void dpa_rdma_drop_connection(struct doca_rdma_connection *c);
/* Ends all; EUs find none of them any more. */
void dpa_rdma_drop_connections(struct doca_rdma *rdma);

/* -------------------------------------------------------------------- qp.c */

/* The QP of a connection, in INIT, and its side of the details. 0 or errno. */
int dpa_rdma_make_qp(struct doca_rdma_connection *c);
/* To RTS with the peer's side. 0 or errno; then the QP is in INIT again, or of no use. */
int dpa_rdma_join_qp(struct doca_rdma_connection *c, const struct dpa_rdma_details *peer);

/* ------------------------------------------------------------------- gid.c */

/*
 * Fills gids and node_guid: the wish first, then the other addresses of the device. 0, or ENODATA:
 * it has none.
 */
int dpa_rdma_own_gids(struct ibv_context *ctx, uint32_t wish, struct dpa_rdma_details *own);
/* The pair that both sides come to: indices into their gids. */
void dpa_rdma_choose_gids(const struct dpa_rdma_details *own, const struct dpa_rdma_details *peer,
			  uint32_t *own_gid, uint32_t *peer_gid);
/* Where the device has this address; -1: nowhere any more. */
int dpa_rdma_gid_index(struct ibv_context *ctx, const uint8_t gid[16]);

#endif
