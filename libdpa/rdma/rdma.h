/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rdma.h - RDMA contexts, for calls of the host and for EUs.
 *
 *             setters                         export, connect
 *   IDLE -------------> IDLE --doca_ctx_start()--> RUNNING --doca_ctx_stop()--> IDLE
 *
 * A started context has an SRQ and a table of connections, each an RC QP whose CQ is that of the
 * attached completion context. EUs find the context by its handle, and a connection by its id.
 *
 * Writers: the host's calls write everything but the queues, one call at a time. EUs read it
 * between the publication of the handle and of a connection (release: `ready`) and
 * dpa_pool_quiesce() after the handle was dropped. The queues (indices and memory) are written by
 * the EU that holds their lock.
 */
#ifndef DPA_RDMA_H
#define DPA_RDMA_H

#ifndef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_ALLOW_EXPERIMENTAL_API
#endif
#include <unistd.h>
#include <doca_rdma.h>
#include <dpa/dpa_rdma.h>
#include "../common/ctx.h"
#include "../eu/lock.h"
#include "../gpu/gpu.h"
#include "../host/libdpa.h"
#include "cm/cm.h"
#include "task/task.h"
#include "wr_index.h"

/* A WQE with the largest payload that a post copies is 4 blocks. */
_Static_assert(sizeof(struct dpa_wqe_ctrl) + sizeof(struct dpa_wqe_raddr) + DPA_DEV_RDMA_INLINE ==
		       4 * DPA_WQEBB,
	       "what doca_dpa_dev_rdma.h says");

#define DPA_RDMA_DEFAULT_QUEUE 64
#define DPA_RDMA_TIMEOUT_MS    2000
#define DPA_RDMA_DRAIN_MS      100 /* ms that an end waits for posted work */
#define DPA_RDMA_FLUSH_MS      500 /* ms for a QP to flush its work */

/*
 * Local ACK timeout, 4.096 us * 2^x: a quarter of a second, so that a busy machine causes no error.
 */
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
	struct dpa_fatal_hook fatal; /* moves it to the error state with the DPA context */
	struct dpa_rdma_details details;
	struct dpa_cm_link *link; /* NULL: exported */
	struct dpa_gpu_link *gpu; /* GPU data path */
	/* CPU data path: in flight, in order */
	struct dpa_rdma_task *sent, **sent_end;
	/* used by EUs */
	struct dpal_eu_lock lock;
	struct dpa_qp_queues queues; /* under lock, except view */
	uint32_t posted;	     /* under lock: operations so far */
	bool held;		     /* under lock: the last one has no doorbell yet */
};

struct doca_rdma {
	struct doca_ctx ctx;
	struct dpa_object obj; /* while started: in the table of ctx.dpa */
	bool has_hw_thread;    /* while started: dpa_hw_thread_take() */
	struct dpa_rdma_conf conf;
	struct doca_dpa_completion *comp;
	struct dpa_cm cm;
	struct dpa_rdma_tasks tasks;
	uint32_t refs; /* references: the user's, and one for each task */
	bool working;  /* in doca_pe_progress() */
	/* while started */
	bool started;
	pid_t owner;		  /* a child of fork() has no memory for its queues */
	bool ending;		  /* it ends together with its connections */
	struct doca_dpa *dpa;	  /* DPA context of the data path, */
	struct dpa_gpu_path *gpu; /* or path of a GPU; both NULL: on the CPU */
	struct ibv_cq *cq;	  /* CQ of the completion context, or its own */
	struct ibv_srq *srq;
	uint64_t *scratch; /* for each connection 8 bytes in a cache line: results of atomics */
	struct ibv_mr *scratch_mr;
	/* array of conf.max_connections; used by the host's calls */
	struct doca_rdma_connection **conns;
	uint32_t num_conns; /* connections in it */
	/*
	 * The same array for EUs. An ended connection stays, its QP in the error state, until the
	 * next one with its id is connected: posts to it fail and are reported, as with any QP.
	 */
	_Atomic(struct doca_rdma_connection *) *live;
	/* used by EUs */
	struct dpal_eu_lock recv_lock;
	struct dpa_srq_queue recv;     /* under recv_lock, except view */
	struct dpa_wr_indices indices; /* under recv_lock */
	uint16_t seat;		       /* seat at its completion context: dpa_rdma_recv_id() */
	_Atomic(struct doca_rdma *) next_at_comp;
};

#define DPA_RDMA_SCRATCH 64 /* bytes for each connection */

/*
 * wr_id of a receive: its index in the low half, which device code reads, and the owner's seat
 * above it. A seat has its top bit set, which user pointers do not have: the CQ may serve QPs of
 * the user, too.
 */
#define DPA_RDMA_SEAT 0x8000u

static inline uint64_t dpa_rdma_recv_id(uint16_t seat, uint16_t turn, uint16_t index)
{
	return (uint64_t)seat << 48 | (uint64_t)turn << 32 | index;
}

/* Return whether tasks are its data path; valid before it is started, too. */
static inline bool dpa_rdma_on_cpu(const struct doca_rdma *r)
{
	return !r->ctx.dpa && !r->ctx.gpu;
}

/* Return whether announced work is not done. In a child of fork(): false. */
static inline bool dpa_rdma_has_work(const struct doca_rdma_connection *c)
{
	const struct dpa_dbrec *d = c->queues.view.dbrec;

	return c->rdma->owner == getpid() && __atomic_load_n(&d->sq_pi, __ATOMIC_RELAXED) !=
						     __atomic_load_n(&d->sq_ci, __ATOMIC_ACQUIRE);
}

static inline struct doca_rdma *dpa_rdma_of_ctx(struct doca_ctx *ctx)
{
	return container_of(ctx, struct doca_rdma, ctx);
}

/* Keep its memory; release it. */
void dpa_rdma_hold(struct doca_rdma *rdma);
void dpa_rdma_release(struct doca_rdma *rdma);

/* ------------------------------------------------------------ connection.c */

/* Create a connection of a started context. Errors: as doca_rdma_export(). */
doca_error_t dpa_rdma_new_connection(struct doca_rdma *rdma, struct doca_rdma_connection **out);
/* Connect it, and publish it to EUs. Errors: as doca_rdma_connect(). */
doca_error_t dpa_rdma_join(struct doca_rdma_connection *c, const void *details, size_t size);
/* Publish it: its QP is in RTS, and EUs may post to it. */
void dpa_rdma_show_connection(struct doca_rdma_connection *c);
/* Flush its posted work requests. */
void dpa_rdma_fail_connection(struct doca_rdma_connection *c);
/* Drop it; its id may be reused. */
void dpa_rdma_drop_connection(struct doca_rdma_connection *c);
/* End all; EUs do not find any of them any more. */
void dpa_rdma_drop_connections(struct doca_rdma *rdma);

/* -------------------------------------------------------------------- qp.c */

/* Create the QP of a connection, in INIT, and its side of the details. 0 or errno. */
int dpa_rdma_make_qp(struct doca_rdma_connection *c);
/* The path to a peer: the QP's attributes that depend on the path. */
struct dpa_rdma_path {
	struct ibv_qp_attr rtr, rts;
};

/*
 * Move the QP to RTS. 0 or errno; on errno the QP is in INIT again, or unusable. The path's numbers
 * of READs are reduced to the limits of the device.
 */
int dpa_rdma_join_path(struct doca_rdma_connection *c, struct dpa_rdma_path *path);
/* Do the same with the peer's side of the details. */
int dpa_rdma_join_qp(struct doca_rdma_connection *c, const struct dpa_rdma_details *peer);

/* ------------------------------------------------------------------- gid.c */

/*
 * Fill in gids and node_guid: the preferred address first, then the other addresses of the device.
 * 0, or ENODATA: it has none.
 */
int dpa_rdma_own_gids(struct ibv_context *ctx, uint32_t wish, struct dpa_rdma_details *own);
/* Choose the pair that both sides agree on: indices into their gids. */
void dpa_rdma_choose_gids(const struct dpa_rdma_details *own, const struct dpa_rdma_details *peer,
			  uint32_t *own_gid, uint32_t *peer_gid);
/* Return the index of this address on the device; -1: it does not exist any more. */
int dpa_rdma_gid_index(struct ibv_context *ctx, const uint8_t gid[16]);

#endif
