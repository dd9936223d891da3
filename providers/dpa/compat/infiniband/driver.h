/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * driver.h - the part of libibverbs's private ABI that the provider uses.
 *
 * libibverbs-dev does not install its <infiniband/driver.h>; a standalone build finds this one
 * instead. In an rdma-core tree the real header is found first and this file is not used. It
 * declares what the private ABI numbers 34 (rdma-core 44 to 56), 57, 59, 64 and 65 have on a 64-bit
 * machine; every offset that the library depends on is checked at the end, so that a slip is a
 * build error. The installed public header may be older or newer than the number: what follows
 * from that is in driver_ops.h.
 */
#ifndef DPA_COMPAT_INFINIBAND_DRIVER_H
#define DPA_COMPAT_INFINIBAND_DRIVER_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <infiniband/verbs.h>

#ifndef IBVERBS_PABI_VERSION
#error "IBVERBS_PABI_VERSION is set by the build from the symbols of the installed libibverbs"
#elif IBVERBS_PABI_VERSION != 34 && IBVERBS_PABI_VERSION != 57 && IBVERBS_PABI_VERSION != 59 &&    \
	IBVERBS_PABI_VERSION != 64 && IBVERBS_PABI_VERSION != 65
#error "this private ABI of libibverbs is not known here: build inside an rdma-core tree"
#endif

/* A mutex has 40 bytes on x86-64 and 48 on aarch64, and is part of public structures. */
#define DRV_MUTEX_MORE (sizeof(pthread_mutex_t) - 40)

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

/*
 * The library looks for comp_mask just behind its own struct ibv_qp_ex, which has grown under one
 * private number: 352 bytes in rdma-core 44, 360 since 45 on x86-64 (the member there is a call
 * that only a program which asked for flushing makes, and that is refused). Both places get the
 * flags.
 */
#define DRV_QP_EX_SIZE (360 + DRV_MUTEX_MORE)
struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
		struct {
			struct ibv_qp_ex drv_as_built_;
			uint32_t comp_mask; /* enum verbs_qp_mask */
		};
		struct {
			char drv_as_grown_[DRV_QP_EX_SIZE];
			uint32_t drv_comp_mask_;
		};
	};
	struct verbs_xrcd *xrcd;
};

#define DRV_QP_ADD_MASK
static inline void verbs_qp_add_mask(struct verbs_qp *qp, uint32_t mask)
{
	qp->comp_mask |= mask;
	qp->drv_comp_mask_ = qp->comp_mask;
}

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

/* ------------------------------------------------------------- ops, contexts */

#include "driver_ops.h" /* IWYU pragma: export */

/* -------------------------------------------- functions of IBVERBS_PRIVATE_N */

#define DRV_PASTE_(a, b)      a##b
#define DRV_PASTE(a, b)	      DRV_PASTE_(a, b)
#define verbs_register_driver DRV_PASTE(verbs_register_driver_, IBVERBS_PABI_VERSION)
void verbs_register_driver(const struct verbs_device_ops *ops);

/* Makes the library load `drv` together with this shared object. */
#define PROVIDER_DRIVER(provider_name, drv)                                                        \
	static __attribute__((constructor)) void provider_name##_register_driver(void)             \
	{                                                                                          \
		verbs_register_driver(&drv);                                                       \
	}

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
DRV_AT_(verbs_srq, srq, 0, 128 + DRV_MUTEX_MORE);
DRV_AT_(verbs_srq, srq_type, 128 + DRV_MUTEX_MORE, 4);
DRV_AT_(verbs_srq, xrcd, 136 + DRV_MUTEX_MORE, 8);
DRV_AT_(verbs_srq, cq, 144 + DRV_MUTEX_MORE, 8);
DRV_AT_(verbs_srq, srq_num, 152 + DRV_MUTEX_MORE, 4);
DRV_SIZE_(verbs_srq, 160 + DRV_MUTEX_MORE);
DRV_AT_(verbs_xrcd, xrcd, 0, 8);
DRV_AT_(verbs_xrcd, comp_mask, 8, 4);
DRV_AT_(verbs_xrcd, handle, 12, 4);
DRV_SIZE_(verbs_xrcd, 16);
DRV_AT_(verbs_qp, qp, 0, 160 + DRV_MUTEX_MORE);
static_assert(offsetof(struct verbs_qp, comp_mask) == sizeof(struct ibv_qp_ex) &&
		      sizeof(struct ibv_qp_ex) >= 352 + DRV_MUTEX_MORE &&
		      sizeof(struct ibv_qp_ex) <= DRV_QP_EX_SIZE,
	      "rdma-core before 44 or too new");
DRV_AT_(verbs_qp, drv_comp_mask_, 360 + DRV_MUTEX_MORE, 4);
DRV_SIZE_(verbs_qp, 376 + DRV_MUTEX_MORE);
DRV_SIZE_(verbs_cq, 288 + DRV_MUTEX_MORE);
DRV_AT_(verbs_dm, dm, 0, 32);
DRV_AT_(verbs_dm, handle, 32, 4);
DRV_SIZE_(verbs_dm, 40);
DRV_AT_(verbs_counters, counters, 0, 8);
DRV_AT_(verbs_counters, handle, 8, 4);
DRV_SIZE_(verbs_counters, 16);
DRV_SIZE_(verbs_context_ops, DRV_NUM_OPS * 8);
#undef DRV_AT_
#undef DRV_SIZE_

#endif
