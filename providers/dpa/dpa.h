/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa.h - the provider's objects in memory. Each begins with libibverbs's part, so that a pointer
 * to one is a pointer to the other.
 *
 * A context that a forked child inherits is dead: dpa_alive() returns false. Its queues are not
 * mapped there and its locks may be held for ever. So verbs of a dead context take no lock and
 * touch no queue: the data path fails with EIO, and verbs that destroy free local memory only.
 */
#ifndef DPA_PROVIDER_H
#define DPA_PROVIDER_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/driver.h>
#include <dpa_hw.h>

#include "control/handles.h"
#include "mr/arena.h"
#include "dpadv.h"
#include "lock.h"

#define dpa_likely(x)	__builtin_expect(!!(x), 1)
#define dpa_unlikely(x) __builtin_expect(!!(x), 0)

/* IBV_ACCESS_FLUSH_* where libibverbs has them (rdma-core 45 on). */
#ifdef DPA_HAVE_FLUSH
#define DPA_ACCESS_FLUSHES (IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)
#else
#define DPA_ACCESS_FLUSHES 0
#endif

#define DPA_PORTS	 1
#define DPA_COMP_VECTORS 1
/* Blocks of the longest WQE: UD header and maximum inline data. */
#define DPA_WQE_MAX_BB	 ((80 + DPA_MAX_INLINE + DPA_WQEBB - 1) / DPA_WQEBB)

/* The flags of a CQE that are values of enum ibv_wc_flags. */
#define DPA_WC_FLAGS ((uint8_t)~DPA_CQE_F_SOLICITED)

struct dpa_async;
struct dpa_counters;
struct dpa_channel;

/* Missing if rdma-core's own headers are used, in its tree: everything is of one version. */
#ifndef DRV_LIB_CONTEXT
static inline struct verbs_context *verbs_lib_context(struct verbs_context *ctx)
{
	return ctx;
}
#endif
#ifndef DRV_QP_ADD_MASK
static inline void verbs_qp_add_mask(struct verbs_qp *qp, uint32_t mask)
{
	qp->comp_mask |= mask;
}
#endif

struct dpa_context {
#ifdef DRV_CONTEXT_ROOM
	_Alignas(8) char vctx_head[DRV_CONTEXT_ROOM];
#endif
	struct verbs_context vctx;
	struct dpa_hw_ctx *hw;
	const uint32_t *alive;
	struct dpa_async *async;
	struct dpa_arena arena;
	struct dpav_handles handles; /* of the objects of this context */
	struct dpa_hw_dev_attr dev;  /* limits, read once */
	_Atomic uint32_t num_ah;
	bool blueflame;
	/*
	 * The device has failed: control verbs return EIO, and so does a read of events when none is left.
	 * Set once, by a device thread (release); read by any thread (acquire).
	 */
	_Atomic bool fatal;
	pthread_mutex_t channels_lock; /* protects the list; a channel's lock is taken inside */
	struct dpa_channel *channels;
};

struct dpa_td {
	struct ibv_td td;
	_Atomic uint32_t refs; /* parent domains */
};

struct dpa_pd {
	struct ibv_pd pd;
	uint32_t pdn;
	_Atomic uint32_t refs; /* pd.c */
	/* For parent domains only. */
	struct dpa_pd *of;
	struct dpa_td *td;
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
	void *pd_context;
};

#define DPA_QUEUE_ALIGN 4096

/* Memory of a queue: from the context's arena, or from a parent domain's allocator. */
struct dpav_mem {
	void *p;
	size_t bytes;	   /* a power of two from 64 on */
	struct dpa_pd *pd; /* NULL: from the arena */
	enum dpadv_resource what;
};

struct dpav_mr {
	struct verbs_mr vmr;
	void *map; /* mapping of a dma-buf; NULL: none */
	size_t map_bytes;
};

struct dpa_ah {
	struct ibv_ah ah;
	struct dpa_wqe_av av;
	struct dpa_pd *of; /* counts this in its refs */
};

/*
 * Threads that poll a CQ (cq/pollers.h). Hints, relaxed: written by polls that find nothing,
 * perhaps of two threads at a time. A turn is DPA_POLLS_TURN such polls in a row.
 */
struct dpa_cq_pollers {
	uintptr_t last;	 /* thread that polled last, */
	uintptr_t turn;	 /* and the one that had the last turn */
	uint32_t row;	 /* polls of `last` in a row, up to DPA_POLLS_TURN, */
	uint32_t tick;	 /* all within this tick of the coarse clock (ns) */
	uint32_t shared; /* polls for which the CQ still counts as shared */
};

struct dpa_cq {
	struct verbs_cq vcq;
	/* Written by pollers, under lock. */
	struct dpa_lock lock;
	uint32_t ci;
	uint32_t log_size;
	uint32_t mask;
	struct dpa_cqe *buf;
	uint32_t *ci_rec; /* ci as read by the device */
	const uint32_t *alive;
	struct dpa_hw_ctx *hw_ctx;
	struct dpa_hw_cq *hw;
	uint32_t polls;
	struct dpa_cq_pollers pollers;
	bool overruns;		   /* ignores it: DPA_CQ_IGNORE_OVERRUN */
	bool by_hand;		   /* has a callback: the reader has its own consumer index */
	uint32_t async_reported;   /* under the lock of the context's async queue */
	uint32_t want;		   /* dpa_cqe_last() of the next entry in the common case */
	const struct dpa_cqe *cur; /* between start_poll and end_poll of ibv_cq_ex */
	const struct dpa_cqe *end; /* of buf */
	/* under the channel's lock */
	struct dpa_channel *channel;
	struct dpa_cq *next_pending;
	uint32_t pending;	/* completion events not read yet */
	uint32_t comp_reported; /* read so far */
	struct dpav_mem mem, ci_mem;
	struct dpa_pd *domain; /* a parent domain, or NULL */
};

struct dpa_srq {
	struct verbs_srq vsrq;
	struct dpa_lock lock;
	uint32_t pi;
	uint32_t log_size;
	uint32_t stride;
	uint32_t max_sge;
	uint32_t max_wr;
	uint8_t *buf;
	struct dpa_dbrec *dbrec;
	struct dpa_hw_srq *hw;
	uint32_t max_tags; /* tag matching */
	struct dpav_mem mem, db_mem;
	struct dpa_pd *domain; /* a parent domain, or NULL: further memory comes from it */
	uint32_t async_reported;
};

/* Its queue is posted to like an SRQ. */
struct dpa_wq {
	struct ibv_wq wq;
	struct dpa_srq rq;
	struct dpa_hw_wq *hw;
	uint32_t async_reported;
};

struct dpa_ind_table {
	struct ibv_rwq_ind_table table;
	struct dpa_hw_ind_table *hw;
};

struct dpa_flow {
	struct ibv_flow flow;
	struct dpa_hw_qp *hw_qp;
	struct dpa_counters *counters; /* NULL: none; set at creation or by an attach */
};

struct dpa_sq {
	/* Line 0 begins with the members of struct dpav_qp before it: 24 bytes. */
	struct dpa_lock lock;
	uint32_t pi;	/* blocks */
	uint32_t count; /* WQEs posted ever */
	uint8_t *buf;
	struct dpa_uar_slot *slot;
	struct dpa_dbrec *dbrec;
	/* line 1 */
	const uint32_t *placement;
	uint32_t ci;	 /* blocks, as last read from the doorbell record */
	uint32_t mask;	 /* blocks - 1 */
	uint32_t last;	 /* last block where the longest WQE may begin without wrapping */
	uint32_t max_wr; /* WQEs that may be outstanding */
	uint32_t ops;	 /* bit mask of enum ibv_wr_opcode */
	uint32_t max_inline;
	uint32_t max_sge;
	uint32_t max_bb;    /* blocks of the longest WQE that these caps allow */
	uint8_t signal_all; /* DPA_WQE_SIGNALED or 0 */
	bool is_ud, is_xrc;
	bool blueflame;
	uint64_t doorbells, blueflames; /* shown so far */
};

struct dpa_rq {
	struct dpa_lock lock;
	uint32_t pi;
	uint32_t ci;
	uint32_t max_wr; /* capacity of the device's queue: a power of two */
	uint32_t stride;
	uint32_t max_sge;
	uint8_t *buf;
	struct dpa_dbrec *dbrec;
};

/*
 * For ibv_wr_*: valid from wr_start to wr_complete, under the SQ's lock. `wqe` is the current
 * request. `at` is the place of its data; NULL: there is no request, or it takes no (more) data.
 * The SQ's pi and count include it.
 */
struct dpa_batch {
	struct dpa_wqe_ctrl *wqe;
	uint8_t *at;
	uint32_t pi, count;   /* values of the SQ at wr_start */
	int err;	      /* wr.c; BATCH_DEAD: a dead context, the lock is not held */
	uint32_t needs;	      /* missing parts of the request: DPA_NEEDS_*; UD, XRC */
	uint8_t *aside;	      /* room for a WQE that may wrap; NULL: another kind of QP */
	struct dpa_mw *bound; /* windows that it binds; NULL: none */
};

enum { DPA_NEEDS_AH = 1, DPA_NEEDS_SRQN = 2 };

struct dpav_qp {
	struct verbs_qp vqp;
	/* Members for posting begin here: with thousands of QPs each cache line is a miss. */
	const uint32_t *alive __attribute__((aligned(64)));
	struct dpa_hw_qp *hw;
	/* enum dpa_qp_state as last set by the driver; the device enters SQE and ERR by itself. */
	_Atomic uint32_t state;
	struct dpa_sq sq;
	struct dpa_batch batch;
	struct dpa_rq rq;
	struct dpa_qp_info info;
	struct ibv_qp_cap cap;
	uint32_t log_sq;
	struct dpav_mem sq_mem, rq_mem, db_mem;
	bool sq_sig_all;
	bool rss;		 /* receives into WQs: has no queues, and cannot be modified */
	uint32_t async_reported; /* under the lock of the context's async queue */
};

static inline struct dpa_context *to_dpa_ctx(struct ibv_context *c)
{
	return (struct dpa_context *)((char *)c - offsetof(struct dpa_context, vctx.context));
}

static inline struct dpa_pd *to_dpa_pd(struct ibv_pd *pd)
{
	return (struct dpa_pd *)pd;
}

/* A memory window. The application may overwrite mw.rkey: nothing here depends on it. */
struct dpa_mw {
	struct ibv_mw mw;
	uint32_t key; /* its key at allocation, by which the device always identifies it */
	/* wr.c, under the lock of the SQ whose batch binds it: the next window; its key before. */
	struct dpa_mw *next;
	uint32_t before;
};

static inline struct dpa_mw *to_dpa_mw(struct ibv_mw *mw)
{
	return (struct dpa_mw *)mw;
}

/* The R_Key after a bind with `rkey`: the consumer chooses the low 8 bits (IBA 10.6.7.2.3). */
static inline uint32_t dpa_mw_bound_key(const struct dpa_mw *mw, uint32_t rkey)
{
	return (mw->key & ~0xffu) | (rkey & 0xff);
}

static inline struct dpa_ah *to_dpa_ah(struct ibv_ah *ah)
{
	return (struct dpa_ah *)ah;
}

static inline struct dpa_cq *to_dpa_cq(struct ibv_cq *cq)
{
	return (struct dpa_cq *)cq;
}

static inline struct dpa_srq *to_dpa_srq(struct ibv_srq *srq)
{
	return (struct dpa_srq *)srq;
}

static inline struct dpav_qp *to_dpa_qp(struct ibv_qp *qp)
{
	return (struct dpav_qp *)qp;
}

static inline bool dpa_word_alive(const uint32_t *alive)
{
	return dpa_likely(__atomic_load_n(alive, __ATOMIC_RELAXED) != 0);
}

/*
 * The same for the data path: false, too, if the call may have to fail on request. Then
 * dpav_asks_call() decides.
 */
static inline bool dpa_word_plain(const uint32_t *alive)
{
	return dpa_likely(__atomic_load_n(alive, __ATOMIC_RELAXED) == DPA_HW_ALIVE);
}

static inline bool dpa_is_fatal(const struct dpa_context *ctx)
{
	return __builtin_expect(atomic_load_explicit(&ctx->fatal, memory_order_acquire), 0);
}

static inline bool dpa_alive(struct ibv_context *c)
{
	return dpa_word_alive(to_dpa_ctx(c)->alive);
}

/* For verbs that create: sets errno = err and returns NULL. */
static inline void *dpa_null(int err)
{
	errno = err;
	return NULL;
}

static inline uint32_t dpa_log2_up(uint32_t n)
{
	return n <= 1 ? 0 : 32u - (uint32_t)__builtin_clz(n - 1);
}

#include "verbs.h"

#endif
