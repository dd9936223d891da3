/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * driver.h - the part of libibverbs's private ABI that the provider uses.
 *
 * libibverbs-dev does not install its <infiniband/driver.h>; a standalone build finds this one
 * instead. In an rdma-core tree the real header is found first and this file is not used. It
 * declares what private ABI number 34 (rdma-core 36 to 56) has on a 64-bit machine; every
 * offset that the library depends on is checked at the end, so that a slip is a build error.
 */
#ifndef DPA_COMPAT_INFINIBAND_DRIVER_H
#define DPA_COMPAT_INFINIBAND_DRIVER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <infiniband/verbs.h>

#ifndef IBVERBS_PABI_VERSION
#error "IBVERBS_PABI_VERSION is set by the build from the symbols of the installed libibverbs"
#elif IBVERBS_PABI_VERSION != 34
#error "this private ABI of libibverbs is not known here: build inside an rdma-core tree"
#endif

struct list_node {
	struct list_node *next, *prev;
};

/* ----------------------------------------------------- objects of the library */

struct verbs_xrcd {
	struct ibv_xrcd xrcd;
	uint32_t comp_mask;
	uint32_t handle;
};

struct verbs_srq {
	struct ibv_srq srq;
	enum ibv_srq_type srq_type;
	struct verbs_xrcd *xrcd;
	struct ibv_cq *cq;
	uint32_t srq_num;
};

enum verbs_qp_mask {
	VERBS_QP_XRCD = 1 << 0, /* the xrcd member is valid */
	VERBS_QP_EX = 1 << 1,	/* ibv_qp_to_qp_ex() may be used */
};

struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
	};
	uint32_t comp_mask; /* enum verbs_qp_mask */
	struct verbs_xrcd *xrcd;
};

struct verbs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
	};
};

/* Kinds of struct verbs_mr; ibv_rereg_mr() takes the first only. */
enum ibv_mr_type {
	IBV_MR_TYPE_MR,
	IBV_MR_TYPE_NULL_MR,
	IBV_MR_TYPE_IMPORTED_MR,
	IBV_MR_TYPE_DMABUF_MR,
};

struct verbs_mr {
	struct ibv_mr ibv_mr;
	enum ibv_mr_type mr_type;
	int access; /* IBV_ACCESS_ON_DEMAND in it: fork protection is left alone */
};

static inline struct verbs_mr *verbs_get_mr(struct ibv_mr *mr)
{
	return (struct verbs_mr *)((char *)mr - offsetof(struct verbs_mr, ibv_mr));
}

struct verbs_dm {
	struct ibv_dm dm;
	uint32_t handle;
};

struct verbs_counters {
	struct ibv_counters counters;
	uint32_t handle;
};

/* ------------------------------------------------------------ device matching */

enum {
	VERBS_MATCH_SENTINEL = 0, /* ends a table */
	VERBS_MATCH_PCI = 1,
	VERBS_MATCH_MODALIAS = 2,
	VERBS_MATCH_DRIVER_ID = 3,
};

struct verbs_match_ent {
	void *driver_data;
	union {
		const char *modalias;
		uint64_t driver_id;
	} u;
	uint16_t vendor;
	uint16_t device;
	uint8_t kind; /* VERBS_MATCH_* */
};

/* Bits of verbs_sysfs_dev.flags: the member is valid. */
enum { VSYSFS_READ_MODALIAS = 1 << 0, VSYSFS_READ_NODE_GUID = 1 << 1 };

/* A device that the library found in its class folder. */
struct verbs_sysfs_dev {
	struct list_node entry;
	void *provider_data;
	const struct verbs_match_ent *match;
	unsigned int flags;
	char sysfs_name[IBV_SYSFS_NAME_MAX];
	dev_t sysfs_cdev;
	char ibdev_name[IBV_SYSFS_NAME_MAX];
	char ibdev_path[IBV_SYSFS_PATH_MAX];
	char modalias[512];
	uint64_t node_guid;
	uint32_t driver_id;
	enum ibv_node_type node_type;
	int ibdev_idx;
	uint32_t num_ports;
	uint32_t abi_ver;
	struct timespec time_created;
};

struct verbs_device;

struct verbs_device_ops {
	const char *name;
	uint32_t match_min_abi_version;
	uint32_t match_max_abi_version;
	const struct verbs_match_ent *match_table;
	const struct verbs_device_ops **static_providers;
	bool (*match_device)(struct verbs_sysfs_dev *sysfs_dev);
	/* Owns cmd_fd from the call on, whether it succeeds or fails. */
	struct verbs_context *(*alloc_context)(struct ibv_device *device, int cmd_fd,
					       void *private_data);
	struct verbs_context *(*import_context)(struct ibv_device *device, int cmd_fd);
	struct verbs_device *(*alloc_device)(struct verbs_sysfs_dev *sysfs_dev);
	void (*uninit_device)(struct verbs_device *device);
};

struct verbs_device {
	struct ibv_device device; /* first */
	const struct verbs_device_ops *ops;
	int refcount; /* the library's, atomic there */
	struct list_node entry;
	struct verbs_sysfs_dev *sysfs;
	uint64_t core_support; /* IB_UVERBS_CORE_SUPPORT_* */
};

static inline struct verbs_device *verbs_get_device(const struct ibv_device *device)
{
	return (struct verbs_device *)(uintptr_t)device;
}

/* ------------------------------------------------------------------- the ops */

/* In alphabetical order, as the library reads them by position. */
struct verbs_context_ops {
	int (*advise_mr)(struct ibv_pd *, enum ibv_advise_mr_advice, uint32_t, struct ibv_sge *,
			 uint32_t);
	struct ibv_dm *(*alloc_dm)(struct ibv_context *, struct ibv_alloc_dm_attr *);
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
	int (*dealloc_mw)(struct ibv_mw *);
	int (*dealloc_pd)(struct ibv_pd *);
	int (*dealloc_td)(struct ibv_td *);
	int (*dereg_mr)(struct verbs_mr *);
	int (*destroy_ah)(struct ibv_ah *);
	int (*destroy_counters)(struct ibv_counters *);
	int (*destroy_cq)(struct ibv_cq *);
	int (*destroy_flow)(struct ibv_flow *);
	int (*destroy_flow_action)(struct ibv_flow_action *);
	int (*destroy_qp)(struct ibv_qp *);
	int (*destroy_rwq_ind_table)(struct ibv_rwq_ind_table *);
	int (*destroy_srq)(struct ibv_srq *);
	int (*destroy_wq)(struct ibv_wq *);
	int (*detach_mcast)(struct ibv_qp *, const union ibv_gid *, uint16_t);
	void (*free_context)(struct ibv_context *);
	int (*free_dm)(struct ibv_dm *);
	int (*get_srq_num)(struct ibv_srq *, uint32_t *);
	struct ibv_dm *(*import_dm)(struct ibv_context *, uint32_t);
	struct ibv_mr *(*import_mr)(struct ibv_pd *, uint32_t);
	struct ibv_pd *(*import_pd)(struct ibv_context *, uint32_t);
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
	int (*query_device_ex)(struct ibv_context *, const struct ibv_query_device_ex_input *,
			       struct ibv_device_attr_ex *, size_t);
	int (*query_ece)(struct ibv_qp *, struct ibv_ece *);
	int (*query_port)(struct ibv_context *, uint8_t, struct ibv_port_attr *);
	int (*query_qp)(struct ibv_qp *, struct ibv_qp_attr *, int, struct ibv_qp_init_attr *);
	int (*query_qp_data_in_order)(struct ibv_qp *, enum ibv_wr_opcode, uint32_t);
	int (*query_rt_values)(struct ibv_context *, struct ibv_values_ex *);
	int (*query_srq)(struct ibv_srq *, struct ibv_srq_attr *);
	int (*read_counters)(struct ibv_counters *, uint64_t *, uint32_t, uint32_t);
	struct ibv_mr *(*reg_dm_mr)(struct ibv_pd *, struct ibv_dm *, uint64_t, size_t,
				    unsigned int);
	struct ibv_mr *(*reg_dmabuf_mr)(struct ibv_pd *, uint64_t, size_t, uint64_t, int, int);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t, uint64_t, int);
	int (*req_notify_cq)(struct ibv_cq *, int);
	int (*rereg_mr)(struct verbs_mr *, int, struct ibv_pd *, void *, size_t, int);
	int (*resize_cq)(struct ibv_cq *, int);
	int (*set_ece)(struct ibv_qp *, struct ibv_ece *);
	void (*unimport_dm)(struct ibv_dm *);
	void (*unimport_mr)(struct ibv_mr *);
	void (*unimport_pd)(struct ibv_pd *);
};

/* ------------------------------------------- functions of IBVERBS_PRIVATE_34 */

#define verbs_register_driver verbs_register_driver_34
void verbs_register_driver(const struct verbs_device_ops *ops);

/* Makes the library load `drv` together with this shared object. */
#define PROVIDER_DRIVER(provider_name, drv)                                                        \
	static __attribute__((constructor)) void provider_name##_register_driver(void)             \
	{                                                                                          \
		verbs_register_driver(&drv);                                                       \
	}

/* On failure cmd_fd is closed, errno set and NULL returned. */
void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd, size_t size,
				    struct verbs_context *offset, uint32_t driver_id);
#define verbs_init_and_alloc_context(ibdev, cmd_fd, ptr, member, driver_id)                        \
	((__typeof__(ptr))_verbs_init_and_alloc_context(                                           \
		ibdev, cmd_fd, sizeof(*(ptr)), &((__typeof__(ptr))NULL)->member, driver_id))

void verbs_set_ops(struct verbs_context *ctx, const struct verbs_context_ops *ops);
/* Closes cmd_fd and async_fd and drops the device reference. */
void verbs_uninit_context(struct verbs_context *ctx);
void verbs_init_cq(struct ibv_cq *cq, struct ibv_context *context, struct ibv_comp_channel *channel,
		   void *cq_context);
int ibv_read_ibdev_sysfs_file(char *buf, size_t size, struct verbs_sysfs_dev *sysfs_dev,
			      const char *fnfmt, ...) __attribute__((format(printf, 4, 5)));

enum {
	VERBS_LOG_LEVEL_NONE,
	VERBS_LOG_ERR,
	VERBS_LOG_WARN,
	VERBS_LOG_INFO,
	VERBS_LOG_DEBUG,
};

void __verbs_log(struct verbs_context *ctx, uint32_t level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------- layout checks */

#define DRV_AT_(type, member, off, size)                                                           \
	static_assert(offsetof(struct type, member) == (off) &&                                    \
			      sizeof(((struct type *)0)->member) == (size),                        \
		      #type "." #member)
#define DRV_SIZE_(type, size) static_assert(sizeof(struct type) == (size), #type)

DRV_AT_(verbs_sysfs_dev, entry, 0, 16);
DRV_AT_(verbs_sysfs_dev, provider_data, 16, 8);
DRV_AT_(verbs_sysfs_dev, match, 24, 8);
DRV_AT_(verbs_sysfs_dev, flags, 32, 4);
DRV_AT_(verbs_sysfs_dev, sysfs_name, 36, 64);
DRV_AT_(verbs_sysfs_dev, sysfs_cdev, 104, 8);
DRV_AT_(verbs_sysfs_dev, ibdev_name, 112, 64);
DRV_AT_(verbs_sysfs_dev, ibdev_path, 176, 256);
DRV_AT_(verbs_sysfs_dev, modalias, 432, 512);
DRV_AT_(verbs_sysfs_dev, node_guid, 944, 8);
DRV_AT_(verbs_sysfs_dev, driver_id, 952, 4);
DRV_AT_(verbs_sysfs_dev, node_type, 956, 4);
DRV_AT_(verbs_sysfs_dev, ibdev_idx, 960, 4);
DRV_AT_(verbs_sysfs_dev, num_ports, 964, 4);
DRV_AT_(verbs_sysfs_dev, abi_ver, 968, 4);
DRV_AT_(verbs_sysfs_dev, time_created, 976, 16);
DRV_SIZE_(verbs_sysfs_dev, 992);
DRV_AT_(verbs_match_ent, driver_data, 0, 8);
DRV_AT_(verbs_match_ent, u, 8, 8);
DRV_AT_(verbs_match_ent, vendor, 16, 2);
DRV_AT_(verbs_match_ent, device, 18, 2);
DRV_AT_(verbs_match_ent, kind, 20, 1);
DRV_SIZE_(verbs_match_ent, 24);
DRV_AT_(verbs_device_ops, name, 0, 8);
DRV_AT_(verbs_device_ops, match_min_abi_version, 8, 4);
DRV_AT_(verbs_device_ops, match_max_abi_version, 12, 4);
DRV_AT_(verbs_device_ops, match_table, 16, 8);
DRV_AT_(verbs_device_ops, static_providers, 24, 8);
DRV_AT_(verbs_device_ops, match_device, 32, 8);
DRV_AT_(verbs_device_ops, alloc_context, 40, 8);
DRV_AT_(verbs_device_ops, import_context, 48, 8);
DRV_AT_(verbs_device_ops, alloc_device, 56, 8);
DRV_AT_(verbs_device_ops, uninit_device, 64, 8);
DRV_SIZE_(verbs_device_ops, 72);
DRV_AT_(verbs_device, device, 0, 664);
DRV_AT_(verbs_device, ops, 664, 8);
DRV_AT_(verbs_device, refcount, 672, 4);
DRV_AT_(verbs_device, entry, 680, 16);
DRV_AT_(verbs_device, sysfs, 696, 8);
DRV_AT_(verbs_device, core_support, 704, 8);
DRV_SIZE_(verbs_device, 712);
DRV_AT_(verbs_mr, ibv_mr, 0, 48);
DRV_AT_(verbs_mr, mr_type, 48, 4);
DRV_AT_(verbs_mr, access, 52, 4);
DRV_SIZE_(verbs_mr, 56);
DRV_AT_(verbs_srq, srq, 0, 128);
DRV_AT_(verbs_srq, srq_type, 128, 4);
DRV_AT_(verbs_srq, xrcd, 136, 8);
DRV_AT_(verbs_srq, cq, 144, 8);
DRV_AT_(verbs_srq, srq_num, 152, 4);
DRV_SIZE_(verbs_srq, 160);
DRV_AT_(verbs_xrcd, xrcd, 0, 8);
DRV_AT_(verbs_xrcd, comp_mask, 8, 4);
DRV_AT_(verbs_xrcd, handle, 12, 4);
DRV_SIZE_(verbs_xrcd, 16);
DRV_AT_(verbs_qp, qp, 0, 160);
DRV_AT_(verbs_qp, comp_mask, 352, 4);
DRV_AT_(verbs_qp, xrcd, 360, 8);
DRV_SIZE_(verbs_qp, 368);
DRV_SIZE_(verbs_cq, 288);
DRV_AT_(verbs_dm, dm, 0, 32);
DRV_AT_(verbs_dm, handle, 32, 4);
DRV_SIZE_(verbs_dm, 40);
DRV_AT_(verbs_counters, counters, 0, 8);
DRV_AT_(verbs_counters, handle, 8, 4);
DRV_SIZE_(verbs_counters, 16);
DRV_SIZE_(verbs_context_ops, 608);
DRV_SIZE_(verbs_context, 648);
#undef DRV_AT_
#undef DRV_SIZE_

#endif
