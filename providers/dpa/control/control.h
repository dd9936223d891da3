/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * control.h - control verbs as libibverbs calls them. dpa_ctl_X() is dpa_X() with the common
 * behaviour of control verbs (call.h).
 */
#ifndef DPA_CONTROL_H
#define DPA_CONTROL_H

#include "dpa.h"

/*
 * Verbs of newer libraries that are called on a context and return an errno. For a provider without
 * them libibverbs returns the error but does not set errno. In a tree of rdma-core 59 to 61 there
 * is no query_port_speed under number 59.
 */
#if IBVERBS_PABI_VERSION >= 64 || (IBVERBS_PABI_VERSION >= 59 && defined(DRV_LIB_CONTEXT))
#define DPA_HAVE_PORT_SPEED
#endif
#if IBVERBS_PABI_VERSION >= 65
#define DPA_HAVE_COMP_CNTR
#endif

/* ---- ops.c */
extern const struct verbs_context_ops dpa_ctx_ops;

/* ---- memory.c */
int dpa_ctl_query_device_ex(struct ibv_context *context,
			    const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t attr_size);
int dpa_ctl_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);
#ifdef DPA_HAVE_PORT_SPEED
int dpa_ctl_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed);
#endif
#ifdef DPA_HAVE_COMP_CNTR
int dpa_ctl_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
				 size_t size);
#endif
int dpa_ctl_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);
struct ibv_pd *dpa_ctl_alloc_pd(struct ibv_context *context);
int dpa_ctl_dealloc_pd(struct ibv_pd *pd);
struct ibv_pd *dpa_ctl_import_pd(struct ibv_context *context, uint32_t handle);
void dpa_ctl_unimport_pd(struct ibv_pd *pd);
struct ibv_td *dpa_ctl_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int dpa_ctl_dealloc_td(struct ibv_td *td);
struct ibv_pd *dpa_ctl_alloc_parent_domain(struct ibv_context *context,
					   struct ibv_parent_domain_init_attr *attr);
struct ibv_xrcd *dpa_ctl_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int dpa_ctl_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_mr *dpa_ctl_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			      int access);
struct dpadv_foreign_mr;
struct ibv_mr *dpa_ctl_reg_foreign_mr(struct ibv_pd *pd, const struct dpadv_foreign_mr *mr);
struct ibv_mr *dpa_ctl_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
				     uint64_t iova, int fd, int access);
struct ibv_mr *dpa_ctl_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
				 size_t length, unsigned int access);
struct ibv_mr *dpa_ctl_alloc_null_mr(struct ibv_pd *pd);
struct ibv_mr *dpa_ctl_import_mr(struct ibv_pd *pd, uint32_t handle);
void dpa_ctl_unimport_mr(struct ibv_mr *mr);
int dpa_ctl_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		      struct ibv_sge *sg, uint32_t n);
int dpa_ctl_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		     int access);
int dpa_ctl_dereg_mr(struct verbs_mr *vmr);
struct ibv_mw *dpa_ctl_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int dpa_ctl_dealloc_mw(struct ibv_mw *mw);
struct ibv_dm *dpa_ctl_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int dpa_ctl_free_dm(struct ibv_dm *dm);
struct ibv_dm *dpa_ctl_import_dm(struct ibv_context *context, uint32_t handle);
void dpa_ctl_unimport_dm(struct ibv_dm *dm);

/* ---- queues.c */
struct ibv_cq *dpa_ctl_create_cq(struct ibv_context *context, int cqe,
				 struct ibv_comp_channel *channel, int comp_vector);
struct ibv_cq_ex *dpa_ctl_create_cq_ex(struct ibv_context *context,
				       struct ibv_cq_init_attr_ex *attr);
/* For the direct verbs: as dpa_cq_new(), and also a CQ of the library. */
struct ibv_cq *dpa_ctl_cq_by_hand(struct ibv_context *context, const struct dpa_cq_init *init,
				  void *cq_context);
int dpa_ctl_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int dpa_ctl_resize_cq(struct ibv_cq *cq, int cqe);
int dpa_ctl_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int dpa_ctl_destroy_cq(struct ibv_cq *cq);
struct ibv_srq *dpa_ctl_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
struct ibv_srq *dpa_ctl_create_srq_ex(struct ibv_context *context,
				      struct ibv_srq_init_attr_ex *attr);
int dpa_ctl_get_srq_num(struct ibv_srq *srq, uint32_t *num);
int dpa_ctl_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int dpa_ctl_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int dpa_ctl_destroy_srq(struct ibv_srq *srq);
struct ibv_qp *dpa_ctl_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *dpa_ctl_create_qp_indexed(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
					 uint32_t user_index);
struct ibv_qp *dpa_ctl_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *dpa_ctl_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
int dpa_ctl_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int dpa_ctl_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);
int dpa_ctl_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init);
int dpa_ctl_query_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int dpa_ctl_set_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int dpa_ctl_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
int dpa_ctl_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
int dpa_ctl_destroy_qp(struct ibv_qp *qp);
struct ibv_ah *dpa_ctl_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int dpa_ctl_destroy_ah(struct ibv_ah *ah);

/* ---- raw.c */
struct ibv_wq *dpa_ctl_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
int dpa_ctl_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int dpa_ctl_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *dpa_ctl_create_rwq_ind_table(struct ibv_context *context,
						       struct ibv_rwq_ind_table_init_attr *attr);
int dpa_ctl_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
struct ibv_flow *dpa_ctl_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int dpa_ctl_destroy_flow(struct ibv_flow *flow);
struct ibv_counters *dpa_ctl_create_counters(struct ibv_context *context,
					     struct ibv_counters_init_attr *attr);
int dpa_ctl_attach_counters_point_flow(struct ibv_counters *counters,
				       struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);
int dpa_ctl_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t n,
			  uint32_t flags);
int dpa_ctl_destroy_counters(struct ibv_counters *counters);

#endif
