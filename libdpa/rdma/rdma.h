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
#define DPA_RDMA_DRAIN_MS      100 /* that an end gives what was posted */
#define DPA_RDMA_FLUSH_MS      500 /* for a QP to flush what it has */

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
	struct dpa_gpu_link *gpu; /* GPU data path */
	/* CPU data path: in flight, in order */
	struct dpa_rdma_task *sent, **sent_end;
	/* EUs */
	struct dpal_eu_lock lock;
	struct dpa_qp_queues queues; /* under lock, but view */
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
	uint32_t refs; /* the user's, and one of each task */
	bool working;  /* in doca_pe_progress() */
	/* while started */
	bool started;
	pid_t owner;		  /* a child of fork() has no memory of its queues */
	bool ending;		  /* its connections with it */
	struct doca_dpa *dpa;	  /* the data path of this DPA context, */
	struct dpa_gpu_path *gpu; /* or of a GPU; both NULL: of the CPU */
	struct ibv_cq *cq;	  /* of the completion context, or its own */
	struct ibv_srq *srq;
	uint64_t *scratch; /* of each connection 8 bytes in a cache line: what atomics fetch */
	struct ibv_mr *scratch_mr;
	struct doca_rdma_connection **conns; /* conf.max_connections; host's calls */
	uint32_t num_conns;		     /* of these */
	/*
	 * The same for EUs. One that has ended stays, its QP in the error state, until the next one
	 * of its id is connected: what is posted to it fails, as with any QP, and is reported.
	 */
	_Atomic(struct doca_rdma_connection *) *live;
	/* EUs */
	struct dpal_eu_lock recv_lock;
	struct dpa_srq_queue recv;     /* under recv_lock, but view */
	struct dpa_wr_indices indices; /* under recv_lock */
	uint16_t seat;		       /* at its completion context: dpa_rdma_recv_id() */
	_Atomic(struct doca_rdma *) next_at_comp;
};

#define DPA_RDMA_SCRATCH 64 /* bytes of a connection */

/*
 * wr_id of a receive: its index in the low half, which device code reads, and above it whose it is.
 * A seat has its top bit set, which user pointers have not: the CQ may have QPs of the user's, too.
 */
#define DPA_RDMA_SEAT 0x8000u

static inline uint64_t dpa_rdma_recv_id(uint16_t seat, uint16_t turn, uint16_t index)
{
	return (uint64_t)seat << 48 | (uint64_t)turn << 32 | index;
}

/* Whether tasks are its data path; also before it is started. */
static inline bool dpa_rdma_on_cpu(const struct doca_rdma *r)
{
	return !r->ctx.dpa && !r->ctx.gpu;
}

/* Whether something was announced to the device that is not done. In a child of fork(): nothing. */
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

/* Its memory stays. */
void dpa_rdma_hold(struct doca_rdma *rdma);
void dpa_rdma_release(struct doca_rdma *rdma);

/* ------------------------------------------------------------ connection.c */

/* Of a started context; errors as of doca_rdma_export(). */
doca_error_t dpa_rdma_new_connection(struct doca_rdma *rdma, struct doca_rdma_connection **out);
/* Errors as of doca_rdma_connect(); the connection is shown. */
doca_error_t dpa_rdma_join(struct doca_rdma_connection *c, const void *details, size_t size);
/* Its QP is in RTS: it may be posted to. */
void dpa_rdma_show_connection(struct doca_rdma_connection *c);
/* Its posted work requests are flushed. */
void dpa_rdma_fail_connection(struct doca_rdma_connection *c);
/* Its id may be given again. */
void dpa_rdma_drop_connection(struct doca_rdma_connection *c);
/* Ends all; EUs find none of them any more. */
void dpa_rdma_drop_connections(struct doca_rdma *rdma);

/* -------------------------------------------------------------------- qp.c */

/* The QP of a connection, in INIT, and its side of the details. 0 or errno. */
int dpa_rdma_make_qp(struct doca_rdma_connection *c);
/* The path to a peer: of the QP's attributes those that depend on it. */
struct dpa_rdma_path {
	struct ibv_qp_attr rtr, rts;
};

/*
 * To RTS. 0 or errno; then the QP is in INIT again, or of no use. The path's numbers of READs are
 * cut to what the device has.
 */
int dpa_rdma_join_path(struct doca_rdma_connection *c, struct dpa_rdma_path *path);
/* The same with the peer's side of the details. */
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
