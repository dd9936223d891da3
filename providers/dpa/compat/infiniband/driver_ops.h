/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * driver_ops.h - the table of verbs and the context, which differ from one private ABI number to
 * the next. Only driver.h includes it.
 *
 * struct verbs_context is public and grows at its front. The library's may be longer or shorter
 * than the one of the header that this is built with: it starts drv_context_head() bytes before
 * it, and those bytes are the library's. Pointers to contexts are converted where they pass to
 * the library and back.
 *
 * rdma-core 62 and 63 have two ops and one context member more than 59 to 61 under the same
 * number: which it is shows when the provider is loaded.
 */
#ifndef DPA_COMPAT_INFINIBAND_DRIVER_OPS_H
#define DPA_COMPAT_INFINIBAND_DRIVER_OPS_H

#include <string.h>

/* A member whose type newer public headers have: the provider has no such verb. */
typedef void (*drv_later_op)(void);
struct ibv_comp_cntr_caps;

/* In alphabetical order, as the library reads them by position: of 59 those of rdma-core 62 and 63.
 */
struct verbs_context_ops {
	int (*advise_mr)(struct ibv_pd *, enum ibv_advise_mr_advice, uint32_t, struct ibv_sge *,
			 uint32_t);
#if IBVERBS_PABI_VERSION >= 64
	drv_later_op alloc_buf;
#endif
	struct ibv_dm *(*alloc_dm)(struct ibv_context *, struct ibv_alloc_dm_attr *);
#if IBVERBS_PABI_VERSION >= 59
	drv_later_op alloc_dmah;
#endif
	struct ibv_mw *(*alloc_mw)(struct ibv_pd *, enum ibv_mw_type);
	struct ibv_mr *(*alloc_null_mr)(struct ibv_pd *);
	struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *,
					      struct ibv_parent_domain_init_attr *);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *);
	struct ibv_td *(*alloc_td)(struct ibv_context *, struct ibv_td_init_attr *);
	void (*async_event)(struct ibv_context *, struct ibv_async_event *);
	int (*attach_counters_point_flow)(struct ibv_counters *, struct ibv_counter_attach_attr *,
					  struct ibv_flow *);
	int (*attach_mcast)(struct ibv_qp *, const union ibv_gid *, uint16_t);
	int (*bind_mw)(struct ibv_qp *, struct ibv_mw *, struct ibv_mw_bind *);
	int (*close_xrcd)(struct ibv_xrcd *);
	void (*cq_event)(struct ibv_cq *);
	struct ibv_ah *(*create_ah)(struct ibv_pd *, struct ibv_ah_attr *);
#if IBVERBS_PABI_VERSION >= 65
	drv_later_op create_comp_cntr;
#endif
	struct ibv_counters *(*create_counters)(struct ibv_context *,
						struct ibv_counters_init_attr *);
	struct ibv_cq *(*create_cq)(struct ibv_context *, int, struct ibv_comp_channel *, int);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *, struct ibv_cq_init_attr_ex *);
	struct ibv_flow *(*create_flow)(struct ibv_qp *, struct ibv_flow_attr *);
	struct ibv_flow_action *(*create_flow_action_esp)(struct ibv_context *,
							  struct ibv_flow_action_esp_attr *);
	struct ibv_qp *(*create_qp)(struct ibv_pd *, struct ibv_qp_init_attr *);
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *, struct ibv_qp_init_attr_ex *);
	struct ibv_rwq_ind_table *(*create_rwq_ind_table)(struct ibv_context *,
							  struct ibv_rwq_ind_table_init_attr *);
	struct ibv_srq *(*create_srq)(struct ibv_pd *, struct ibv_srq_init_attr *);
	struct ibv_srq *(*create_srq_ex)(struct ibv_context *, struct ibv_srq_init_attr_ex *);
	struct ibv_wq *(*create_wq)(struct ibv_context *, struct ibv_wq_init_attr *);
#if IBVERBS_PABI_VERSION >= 59
	drv_later_op dealloc_dmah;
#endif
	int (*dealloc_mw)(struct ibv_mw *);
	int (*dealloc_pd)(struct ibv_pd *);
	int (*dealloc_td)(struct ibv_td *);
	int (*dereg_mr)(struct verbs_mr *);
	int (*destroy_ah)(struct ibv_ah *);
#if IBVERBS_PABI_VERSION >= 65
	drv_later_op destroy_comp_cntr;
#endif
	int (*destroy_counters)(struct ibv_counters *);
	int (*destroy_cq)(struct ibv_cq *);
	int (*destroy_flow)(struct ibv_flow *);
	int (*destroy_flow_action)(struct ibv_flow_action *);
	int (*destroy_qp)(struct ibv_qp *);
	int (*destroy_rwq_ind_table)(struct ibv_rwq_ind_table *);
	int (*destroy_srq)(struct ibv_srq *);
	int (*destroy_wq)(struct ibv_wq *);
	int (*detach_mcast)(struct ibv_qp *, const union ibv_gid *, uint16_t);
#if IBVERBS_PABI_VERSION >= 59
	drv_later_op dm_export_dmabuf_fd;
#endif
#if IBVERBS_PABI_VERSION >= 64
	drv_later_op free_buf;
#endif
	void (*free_context)(struct ibv_context *);
	int (*free_dm)(struct ibv_dm *);
	int (*get_srq_num)(struct ibv_srq *, uint32_t *);
	struct ibv_dm *(*import_dm)(struct ibv_context *, uint32_t);
	struct ibv_mr *(*import_mr)(struct ibv_pd *, uint32_t);
	struct ibv_pd *(*import_pd)(struct ibv_context *, uint32_t);
#if IBVERBS_PABI_VERSION >= 65
	drv_later_op inc_comp_cntr;
	drv_later_op inc_err_comp_cntr;
#endif
	int (*modify_cq)(struct ibv_cq *, struct ibv_modify_cq_attr *);
	int (*modify_flow_action_esp)(struct ibv_flow_action *, struct ibv_flow_action_esp_attr *);
	int (*modify_qp)(struct ibv_qp *, struct ibv_qp_attr *, int);
	int (*modify_qp_rate_limit)(struct ibv_qp *, struct ibv_qp_rate_limit_attr *);
	int (*modify_srq)(struct ibv_srq *, struct ibv_srq_attr *, int);
	int (*modify_wq)(struct ibv_wq *, struct ibv_wq_attr *);
	struct ibv_qp *(*open_qp)(struct ibv_context *, struct ibv_qp_open_attr *);
	struct ibv_xrcd *(*open_xrcd)(struct ibv_context *, struct ibv_xrcd_init_attr *);
	int (*poll_cq)(struct ibv_cq *, int, struct ibv_wc *);
	int (*post_recv)(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
	int (*post_send)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
	int (*post_srq_ops)(struct ibv_srq *, struct ibv_ops_wr *, struct ibv_ops_wr **);
	int (*post_srq_recv)(struct ibv_srq *, struct ibv_recv_wr *, struct ibv_recv_wr **);
#if IBVERBS_PABI_VERSION >= 65
	drv_later_op qp_attach_comp_cntr;
	int (*query_comp_cntr_caps)(struct ibv_context *, struct ibv_comp_cntr_caps *, size_t);
#endif
	int (*query_device_ex)(struct ibv_context *, const struct ibv_query_device_ex_input *,
			       struct ibv_device_attr_ex *, size_t);
	int (*query_ece)(struct ibv_qp *, struct ibv_ece *);
	int (*query_port)(struct ibv_context *, uint8_t, struct ibv_port_attr *);
#if IBVERBS_PABI_VERSION >= 59
	int (*query_port_speed)(struct ibv_context *, uint32_t, uint64_t *);
#endif
	int (*query_qp)(struct ibv_qp *, struct ibv_qp_attr *, int, struct ibv_qp_init_attr *);
	int (*query_qp_data_in_order)(struct ibv_qp *, enum ibv_wr_opcode, uint32_t);
	int (*query_rt_values)(struct ibv_context *, struct ibv_values_ex *);
	int (*query_srq)(struct ibv_srq *, struct ibv_srq_attr *);
#if IBVERBS_PABI_VERSION >= 65
	drv_later_op read_comp_cntr;
#endif
	int (*read_counters)(struct ibv_counters *, uint64_t *, uint32_t, uint32_t);
#if IBVERBS_PABI_VERSION >= 65
	drv_later_op read_err_comp_cntr;
#endif
	struct ibv_mr *(*reg_dm_mr)(struct ibv_pd *, struct ibv_dm *, uint64_t, size_t,
				    unsigned int);
	struct ibv_mr *(*reg_dmabuf_mr)(struct ibv_pd *, uint64_t, size_t, uint64_t, int, int);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t, uint64_t, int);
#if IBVERBS_PABI_VERSION >= 59
	drv_later_op reg_mr_ex;
#endif
	int (*req_notify_cq)(struct ibv_cq *, int);
	int (*rereg_mr)(struct verbs_mr *, int, struct ibv_pd *, void *, size_t, int);
	int (*resize_cq)(struct ibv_cq *, int);
#if IBVERBS_PABI_VERSION >= 65
	drv_later_op set_comp_cntr;
#endif
	int (*set_ece)(struct ibv_qp *, struct ibv_ece *);
#if IBVERBS_PABI_VERSION >= 65
	drv_later_op set_err_comp_cntr;
#endif
	void (*unimport_dm)(struct ibv_dm *);
	void (*unimport_mr)(struct ibv_mr *);
	void (*unimport_pd)(struct ibv_pd *);
};

#if IBVERBS_PABI_VERSION < 59
#define DRV_NUM_OPS 76
#elif IBVERBS_PABI_VERSION == 59
#define DRV_NUM_OPS 81
#elif IBVERBS_PABI_VERSION == 64
#define DRV_NUM_OPS 83
#else
#define DRV_NUM_OPS 93
#endif

#if IBVERBS_PABI_VERSION >= 59
/* Bytes that a provider leaves before its struct verbs_context for the library's longer one. */
#define DRV_CONTEXT_ROOM 48
#endif

#if IBVERBS_PABI_VERSION == 59
/* Came with rdma-core 62. */
extern int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm) __attribute__((weak));

static inline bool drv_is_62(void)
{
	return ibv_dm_export_dmabuf_fd;
}
#endif

static inline ptrdiff_t drv_context_head(void)
{
#if IBVERBS_PABI_VERSION < 59
	ptrdiff_t size = 648;
#elif IBVERBS_PABI_VERSION == 59
	ptrdiff_t size = drv_is_62() ? 680 : 672;
#else
	ptrdiff_t size = 696;
#endif
	return size + (ptrdiff_t)DRV_MUTEX_MORE - (ptrdiff_t)sizeof(struct verbs_context);
}

/* The library's start of a context of the provider. */
#define DRV_LIB_CONTEXT
static inline struct verbs_context *verbs_lib_context(struct verbs_context *ctx)
{
	return (struct verbs_context *)((char *)ctx - drv_context_head());
}

/* `offset`: where the library's context starts in the structure of `size` bytes that it allocates.
 * On failure cmd_fd is closed, errno set and NULL returned. */
void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd, size_t size,
				    struct verbs_context *offset, uint32_t driver_id);
#define verbs_init_and_alloc_context(ibdev, cmd_fd, ptr, member, driver_id)                        \
	((__typeof__(ptr))_verbs_init_and_alloc_context(                                           \
		ibdev, cmd_fd, sizeof(*(ptr)),                                                     \
		(struct verbs_context *)((ptrdiff_t)offsetof(__typeof__(*(ptr)), member) -         \
					 drv_context_head()),                                      \
		driver_id))

void verbs_set_ops(struct verbs_context *ctx, const struct verbs_context_ops *ops);
static inline void drv_set_ops(struct verbs_context *ctx, const struct verbs_context_ops *ops)
{
#if IBVERBS_PABI_VERSION == 59
	const size_t a = offsetof(struct verbs_context_ops, dm_export_dmabuf_fd);
	const size_t b = offsetof(struct verbs_context_ops, query_port_speed);
	const size_t op = sizeof(drv_later_op);
	const char *from = (const char *)ops;
	struct verbs_context_ops shorter;
	char *to = (char *)&shorter;

	if (!drv_is_62()) {
		memcpy(to, from, a);
		memcpy(to + a, from + a + op, b - a - op);
		memcpy(to + b - op, from + b + op, sizeof(*ops) - b - op);
		verbs_set_ops(verbs_lib_context(ctx), &shorter);
		return;
	}
#endif
	verbs_set_ops(verbs_lib_context(ctx), ops);
}
#define verbs_set_ops drv_set_ops

/* Closes cmd_fd and async_fd and drops the device reference. */
void verbs_uninit_context(struct verbs_context *ctx);
static inline void drv_uninit_context(struct verbs_context *ctx)
{
	verbs_uninit_context(verbs_lib_context(ctx));
}
#define verbs_uninit_context drv_uninit_context

#endif
