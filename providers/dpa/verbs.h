/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verbs.h - the functions of the provider, by file. Part of dpa.h, which has the objects: include that.
 */
#ifndef DPA_PROVIDER_VERBS_H
#define DPA_PROVIDER_VERBS_H

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
/* Wait until so many events of a QP, SRQ or WQ have been acknowledged (man ibv_get_async_event). */
#define dpa_async_wait(obj, reported)                                                              \
	dpa_async_await(&(obj)->mutex, &(obj)->cond, &(obj)->events_completed, reported)
void dpa_async_await(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		     uint32_t reported);

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
