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

/* ---- dpa.c */
extern const struct verbs_device_ops dpa_dev_ops;
/* Owns cmd_fd. `of` NULL: an opening of its own; else part of that one. NULL: sets errno. */
struct verbs_context *dpa_open_context(struct ibv_device *device, int cmd_fd,
				       const struct dpa_context *of);

void dpa_free_context(struct ibv_context *context);

/* ---- inject.c */
/* Count a call (struct dpa_hw_call). Returns the errno that it shall fail with, or 0. */
int dpav_injected(const char *call, uint64_t size, uint32_t qpn, int to);
/*
 * For a call of the data path whose word is not plain: EIO, if the context is dead; else as
 * dpav_injected().
 */
int dpav_asks_call(const uint32_t *alive, const char *call, uint32_t qpn);
/* True if the program wants verbs that destroy to succeed after a failure of the device. */
bool dpav_may_destroy_gone(void);
/* Use the rules of the setting, in programs that call rdma_cm before they open the device, too. */
void dpav_inject_begin(void);

/* ---- device.c */
int dpa_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size);
int dpa_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);
int dpa_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* ---- pd.c */
struct ibv_pd *dpa_alloc_pd(struct ibv_context *context);
int dpa_dealloc_pd(struct ibv_pd *pd);
struct ibv_pd *dpa_import_pd(struct ibv_context *context, uint32_t handle);
void dpa_unimport_pd(struct ibv_pd *pd);
struct ibv_td *dpa_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int dpa_dealloc_td(struct ibv_td *td);
struct ibv_pd *dpa_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr);
/* Allocate zeroed memory, aligned to its size or a page. pd may be NULL. 0 or a positive errno. */
int dpav_mem_alloc(struct dpa_context *ctx, struct dpa_pd *pd, size_t bytes,
		   enum dpadv_resource what, struct dpav_mem *m);
/* Does nothing if nothing was allocated. */
void dpav_mem_free(struct dpa_context *ctx, struct dpav_mem *m);
/* True if the application promised that one thread at a time uses objects of this PD. */
static inline bool dpa_pd_single(const struct dpa_pd *pd)
{
	return pd && pd->td;
}

/* ---- dm.c */
struct ibv_dm *dpa_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int dpa_free_dm(struct ibv_dm *dm);
struct ibv_dm *dpa_import_dm(struct ibv_context *context, uint32_t handle);
void dpa_unimport_dm(struct ibv_dm *dm);
struct ibv_mr *dpa_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			     unsigned int access);

/* ---- import.c */
struct verbs_context *dpa_import_context(struct ibv_device *device, int cmd_fd);

/* ---- mr.c, mw.c */
/* Create a region with these attributes; fills in its pdn and access. NULL: sets errno. */
struct ibv_mr *dpav_mr_new(struct ibv_pd *pd, struct dpa_mr_attr *attr, int access,
			   enum ibv_mr_type type);
struct ibv_mr *dpa_alloc_null_mr(struct ibv_pd *pd);
struct ibv_mr *dpa_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access);
struct ibv_mr *dpa_import_mr(struct ibv_pd *pd, uint32_t handle);
void dpa_unimport_mr(struct ibv_mr *mr);
int dpa_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg, uint32_t n);
struct ibv_mw *dpa_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int dpa_dealloc_mw(struct ibv_mw *mw);
int dpa_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
struct ibv_mr *dpa_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access);
struct dpadv_foreign_mr;
struct ibv_mr *dpa_reg_foreign_mr(struct ibv_pd *pd, const struct dpadv_foreign_mr *mr);
int dpa_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access);
int dpa_dereg_mr(struct verbs_mr *vmr);

/* ---- ah.c */
/* Build an address vector from verbs attributes; EINVAL if they do not fit the RoCE port. */
int dpa_av_from_attr(struct ibv_context *context, const struct ibv_ah_attr *attr,
		     struct dpa_wqe_av *av);
void dpa_av_to_attr(const struct dpa_wqe_av *av, struct ibv_ah_attr *attr);
struct ibv_ah *dpa_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int dpa_destroy_ah(struct ibv_ah *ah);

/* ---- cq.c */
struct dpa_cq_init {
	uint32_t cqe;
	uint32_t flags; /* enum dpa_cq_flags */
	bool single_threaded;
	struct dpa_pd *domain; /* a parent domain, or NULL */
	struct ibv_comp_channel *channel;
	dpa_comp_fn *comp; /* instead of a channel */
	void *comp_arg;
};

struct dpa_cq *dpa_cq_new(struct ibv_context *context, const struct dpa_cq_init *init);
struct ibv_cq *dpa_create_cq(struct ibv_context *context, int cqe, struct ibv_comp_channel *channel,
			     int comp_vector);
int dpa_destroy_cq(struct ibv_cq *cq);
int dpa_resize_cq(struct ibv_cq *cq, int cqe);
int dpa_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int dpa_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int dpa_req_notify_cq(struct ibv_cq *cq, int solicited_only);
/* Remove the completions of a QP that produces no more from the CQ. */
void dpa_cq_purge(struct dpa_cq *cq, uint32_t qpn);
enum ibv_wc_status dpa_wc_status(uint8_t status);

/* Returns the next CQE, or NULL. Context: cq->lock. */
static inline struct dpa_cqe *dpa_cq_peek(struct dpa_cq *cq)
{
	struct dpa_cqe *e = &cq->buf[cq->ci & cq->mask];

	return dpa_cqe_valid(e, cq->ci, cq->log_size) ? e : NULL;
}

/* CQ that ignores overrun, no next CQE: moves ci to the oldest entry. Context: its lock. */
static inline bool dpa_cq_catch_up(struct dpa_cq *cq)
{
	uint32_t was = cq->ci;

	cq->ci = dpa_cqe_oldest(cq->buf, was, cq->log_size);
	return cq->ci != was;
}

/*
 * After this number of polls with results, progress is driven as well: a poller that always finds
 * completions must not starve arriving packets.
 */
#define DPA_PROGRESS_EVERY 16

/* Called after a poll with results, without the lock. */
static inline void dpa_cq_polled(struct dpa_cq *cq)
{
	/* a hint only: two pollers may lose a count */
	uint32_t polls = __atomic_load_n(&cq->polls, __ATOMIC_RELAXED) + 1;

	__atomic_store_n(&cq->polls, polls, __ATOMIC_RELAXED);
	if (dpa_unlikely(polls % DPA_PROGRESS_EVERY == 0))
		dpa_hw_progress(cq->hw_ctx);
}

/* ---- cq_ex.c */
struct ibv_cq_ex *dpa_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);

/* ---- srq.c */
struct ibv_srq *dpa_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
struct ibv_srq *dpa_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int dpa_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int dpa_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int dpa_destroy_srq(struct ibv_srq *srq);
/* Allocate a queue of receives and its memory: srq->log_size etc. Freed by dpa_srq_free(). */
int dpa_srq_alloc(struct dpa_srq *srq, struct ibv_pd *pd, const struct ibv_srq_attr *attr);
void dpa_srq_free(struct dpa_context *ctx, struct dpa_srq *srq);
int dpa_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* ---- qp.c */
struct ibv_qp *dpa_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
/* Create a QP whose CQEs carry user_index. */
struct ibv_qp *dpa_create_qp_indexed(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
				     uint32_t user_index);
struct ibv_qp *dpa_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
int dpa_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
int dpa_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
int dpa_destroy_qp(struct ibv_qp *qp);

/* Allocate an XRC target's handle; valid once hw and info are set. NULL: sets errno. */
struct dpav_qp *dpav_qp_target_new(struct ibv_context *context, struct ibv_xrcd *xrcd);
void dpav_qp_target_ready(struct dpav_qp *qp);

/* ---- raw/wq.c, raw/flow.c, raw/tag.c */
struct ibv_wq *dpa_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
int dpa_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int dpa_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *dpa_create_ind_table(struct ibv_context *context,
					       struct ibv_rwq_ind_table_init_attr *attr);
int dpa_destroy_ind_table(struct ibv_rwq_ind_table *table);
/* Set `a` from the attributes of an RSS QP. 0, EINVAL or EOPNOTSUPP. */
int dpa_rss_attr(const struct ibv_qp_init_attr_ex *attr, struct dpa_qp_attr_create *a);
int dpa_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad);
struct ibv_flow *dpa_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int dpa_destroy_flow(struct ibv_flow *flow);

/* ---- raw/counters.c */
struct ibv_counters *dpa_create_counters(struct ibv_context *context,
					 struct ibv_counters_init_attr *attr);
int dpa_destroy_counters(struct ibv_counters *counters);
int dpa_attach_counters_point_flow(struct ibv_counters *counters,
				   struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);
int dpa_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t n, uint32_t flags);
/* A new rule names counters: points that were set without a rule also apply to it. */
int dpa_counters_follow(struct ibv_counters *counters, struct dpa_flow *flow);
/* A rule is destroyed: its counts stay. */
void dpa_counters_leave(struct dpa_flow *flow);

/* ---- xrc.c */
static inline uint32_t dpa_xrcd_num(const struct ibv_xrcd *xrcd)
{
	return ((const struct verbs_xrcd *)xrcd)->handle;
}
struct ibv_xrcd *dpa_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int dpa_close_xrcd(struct ibv_xrcd *xrcd);
int dpa_get_srq_num(struct ibv_srq *srq, uint32_t *num);
struct ibv_qp *dpa_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/* ---- qp_size.c */
struct dpav_qp_size {
	uint32_t log_sq; /* blocks; 0: no SQ */
	uint32_t max_bb; /* for a send WQE */
	uint32_t log_rq; /* receive WQEs */
	uint32_t rq_sge; /* 0: no RQ */
	struct ibv_qp_cap cap;
};

/*
 * Compute the size of a QP of this type with these capabilities, and the resulting capabilities.
 * EINVAL beyond a limit.
 */
int dpav_qp_size(enum ibv_qp_type type, bool has_srq, const struct ibv_qp_cap *cap,
		 struct dpav_qp_size *size);

/* ---- qp_state.c */
/* Check a transition and its attributes: 0, EINVAL or EOPNOTSUPP. */
int dpav_qp_transition(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
		       int mask);

/* ---- qp_modify.c */
int dpa_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
/* Remove the QP's completions from its CQs. */
void dpav_qp_purge(struct dpav_qp *qp);
int dpa_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags);
int dpa_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);
int dpa_query_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int dpa_set_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int dpa_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init);

/* ---- send.c, recv.c */
/* Return a bit mask of the opcodes that a QP of this type may post. */
uint32_t dpa_send_ops(enum ibv_qp_type type);
int dpa_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int dpa_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/* Write one receive WQE at its place. EINVAL: too many SGEs. */
int dpa_recv_build(uint8_t *at, const struct ibv_recv_wr *wr, uint32_t max_sge);

/* ---- wr.c */
/* Prepare the QP for ibv_wr_*. ENOMEM. */
int dpa_wr_init(struct dpav_qp *qp);

/* ---- bf.c */
/* Write a whole WQE of nbb <= DPA_BF_BLOCKS blocks into the slot, with its check value. */
void dpa_bf_write(struct dpa_uar_slot *slot, const void *wqe, uint32_t nbb);

/* ---- async.c */
/* Returns NULL and sets errno on failure; the context's async_fd is its descriptor. */
struct dpa_async *dpa_async_create(struct dpa_context *ctx);
int dpa_async_fd(const struct dpa_async *as);
void dpa_async_destroy(struct dpa_async *as);
void dpa_async_event(void *arg, const struct dpa_event *ev); /* dpa_event_fn; arg: dpa_async */
/* Drop the unread events of an object. Returns the number of events that were read. */
uint32_t dpa_async_forget(struct dpa_async *as, const void *element, const uint32_t *reported);

/* ---- channel.c */
/* Create a completion channel of the context. Returns its descriptor, or -1 and sets errno. */
int dpa_channel_create(struct dpa_context *ctx);
/* The device has failed: their readers return. Context: a device thread, after ctx->fatal was set. */
void dpa_channels_fail(struct dpa_context *ctx);
/* The context is closed: channels that are left belong to no context. */
void dpa_channels_leave(struct dpa_context *ctx);
void dpa_channel_comp(void *cq); /* dpa_comp_fn; arg: dpa_cq */
/* Drop the CQ's unread events. Returns the number of events that were read. */
uint32_t dpa_channel_forget(struct dpa_cq *cq);

/* ---- gid.c */
/* Carry out an ioctl of libibverbs on a cmd_fd: 0 or a positive errno. */
int dpa_ioctl(struct dpa_context *ctx, unsigned long request, void *arg);

/* ---- log.c */
void dpa_log_line(int level, const char *text); /* dpa_log_fn */
void dpa_log_setup(const char *file, int level);

#endif
