/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpadv.h - direct verbs of the dpa provider: the internals of dpa0's verbs objects, for programs
 * that write WQEs and read CQEs themselves (libdpa, DPA kernels, GPUs). Link with -ldpadv
 * (libdpadv.so.1), which calls the provider that libibverbs has loaded.
 *
 * Formats are those of dpa_hw.h. The owner keeps its objects: the pointers are valid until the
 * verbs object is destroyed. A caller that posts to a queue by hand must not also post to it by
 * verbs, because the verbs have their own indices.
 */
#ifndef DPADV_H
#define DPADV_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <dpa_hw.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DPADV_API __attribute__((visibility("default")))

/*
 * True if the device is a dpa adapter, so that the calls below may be used on its objects. Any
 * thread. For other devices all of them fail with EINVAL.
 */
DPADV_API bool dpadv_is_supported(struct ibv_device *device);

/* The function of a device: the PF or one of the SFs of the adapter instance. */
struct dpadv_function {
	uint64_t comp_mask; /* 0 */
	uint32_t number;    /* 0: the PF, dpa0; N: dpa0_sfN */
	/*
	 * "d9a0:00:00.N", always and on any host the same, in a PCI domain that real machines
	 * rarely have. The kernel has no such device.
	 */
	char pci_addr[16];
};

/* EINVAL: not a dpa device, or a comp_mask bit. Opens nothing. */
DPADV_API int dpadv_query_function(struct ibv_device *device, struct dpadv_function *fn);

/* ------------------------------------------------------------ internals of objects */

struct dpadv_pd {
	uint64_t comp_mask; /* 0 */
	uint32_t pdn;
};

struct dpadv_mr {
	uint64_t comp_mask; /* 0 */
	uint32_t key;	    /* L_Key and R_Key */
};

struct dpadv_cq {
	uint64_t comp_mask; /* 0 */
	struct dpa_cqe *buf;
	uint32_t *ci; /* the consumer writes it (release) */
	uint32_t log_size;
	uint32_t cqn;
	struct dpa_hw_cq *hw;
};

struct dpadv_srq {
	uint64_t comp_mask; /* 0 */
	void *buf;
	uint32_t log_size;
	uint32_t stride;
	uint32_t max_sge;
	struct dpa_dbrec *dbrec; /* its rq half is used */
	struct dpa_hw_srq *hw;
};

struct dpadv_qp {
	uint64_t comp_mask; /* 0 */
	uint32_t qpn;
	uint32_t log_sq; /* blocks of 64 bytes; sq is NULL if there is no SQ */
	uint32_t log_rq; /* receive WQEs; rq is NULL if there is none */
	uint32_t rq_stride;
	uint32_t rq_max_sge;
	uint32_t uar_page, uar_slot; /* place in the BAR */
	void *sq;
	void *rq;
	struct dpa_dbrec *dbrec;
	struct dpa_uar_slot *slot;
	const uint32_t *placement; /* DPA_PLACE_*, read (relaxed) at each post */
	struct dpa_hw_qp *hw;
};

enum dpadv_obj_type {
	DPADV_OBJ_QP = 1 << 0,
	DPADV_OBJ_CQ = 1 << 1,
	DPADV_OBJ_SRQ = 1 << 2,
	DPADV_OBJ_PD = 1 << 3,
	DPADV_OBJ_MR = 1 << 4,
};

/* in: the verbs object; out: filled. */
struct dpadv_obj {
	struct {
		struct ibv_qp *in;
		struct dpadv_qp *out;
	} qp;
	struct {
		struct ibv_cq *in;
		struct dpadv_cq *out;
	} cq;
	struct {
		struct ibv_srq *in;
		struct dpadv_srq *out;
	} srq;
	struct {
		struct ibv_pd *in;
		struct dpadv_pd *out;
	} pd;
	struct {
		struct ibv_mr *in;
		struct dpadv_mr *out;
	} mr;
};

/*
 * Fill the structures of the kinds that obj_type names (enum dpadv_obj_type). EINVAL for an unknown
 * kind or a comp_mask bit; EIO in a forked child.
 */
DPADV_API int dpadv_init_obj(struct dpadv_obj *obj, uint64_t obj_type);

/* ------------------------------------------------------------------ allocators */

/*
 * The resource that is requested from an allocator of a parent domain: the low half of its
 * resource_type; the high half is the driver id, 0. Only this process writes memory from it. Queues
 * that other processes or a GPU must reach have to use the provider's own memory.
 */
enum dpadv_resource {
	DPADV_RESOURCE_SQ = 1,
	DPADV_RESOURCE_RQ = 2,
	DPADV_RESOURCE_DBREC = 3, /* also the consumer index of a CQ */
	DPADV_RESOURCE_SRQ = 4,
	DPADV_RESOURCE_CQ = 5,
};
#define DPADV_RESOURCE_TYPE(resource) ((uint64_t)(resource))

/* ------------------------------------------------------------------- objects */

/*
 * A CQ with a callback in place of a completion channel. The device calls comp(comp_arg) from any
 * thread, once for each arming, after the CQE is visible. It must not block or call verbs.
 */
struct dpadv_cq_init_attr {
	uint64_t comp_mask; /* 0 */
	uint32_t cqe;
	uint32_t flags; /* enum dpa_cq_flags */
	void *cq_context;
	dpa_comp_fn *comp; /* may be NULL */
	void *comp_arg;
};

/* Returns NULL and sets errno on failure. Destroyed by ibv_destroy_cq(). */
DPADV_API struct ibv_cq *dpadv_create_cq(struct ibv_context *context,
					 struct dpadv_cq_init_attr *attr);

struct dpadv_qp_init_attr {
	uint64_t comp_mask;  /* 0 */
	uint32_t user_index; /* in every CQE of the QP (struct dpa_cqe) */
	uint32_t rsvd;	     /* 0 */
};

/*
 * As ibv_create_qp(), with additional attributes. Returns NULL and sets errno on failure (EINVAL: a
 * comp_mask bit or rsvd). Destroyed by ibv_destroy_qp().
 */
DPADV_API struct ibv_qp *dpadv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
					 const struct dpadv_qp_init_attr *dv);

/* ---------------------------------------------------------- device functions */

/*
 * Set where the work of the QP is carried out from now on. eu: -1, or an EU number (DPA_PLACE_EU).
 */
DPADV_API int dpadv_set_placement(struct ibv_qp *qp, enum dpa_placement placement, int eu);
/*
 * From now on the SQ's poster is one that cannot call the device: a GPU, or a process that maps the
 * queues. It writes WQEs, then the SQ producer index in blocks into *word, by one 64-bit store
 * (release, system scope), and an EU reads it: docs/device-reference.md, 2.4. word: 8-byte aligned,
 * valid while it is watched; it holds the current index of the SQ. NULL ends the watch: on return
 * the word is not read any more. RESET and ibv_destroy_qp() end it, too. EBUSY: it is watched, or
 * has WQEs that are not complete; EINVAL: word not aligned, or no SQ; EOPNOTSUPP: not RC, UC or UD;
 * ENOMEM, EAGAIN; EIO in a forked child.
 */
DPADV_API int dpadv_watch_sq(struct ibv_qp *qp, const uint64_t *word);
/*
 * Register memory that the CPU cannot address, for example a GPU's. The device never dereferences
 * `addr`; it calls ops->copy(arg, ...) on a thread of its own (dpa_hw_cmd.h). Deregistered by
 * ibv_dereg_mr(), which waits for copies in progress; re-registration is not supported.
 */
struct dpadv_foreign_mr {
	uint64_t comp_mask; /* 0 */
	uint64_t addr;	    /* address for copy() */
	uint64_t length;    /* bytes, not 0 */
	uint64_t iova;	    /* address used in SGEs and by peers */
	int access;	    /* enum ibv_access_flags */
	uint32_t rsvd;	    /* 0 */
	const struct dpa_foreign_ops *ops;
	void *arg;
};
/*
 * Returns NULL and sets errno on failure: EINVAL (a comp_mask bit, rsvd, no copy, length 0),
 * EOPNOTSUPP (IBV_ACCESS_ON_DEMAND, _MW_BIND, _HUGETLB), EAGAIN (no thread), ENOMEM; EIO in a
 * forked child.
 */
DPADV_API struct ibv_mr *dpadv_reg_foreign_mr(struct ibv_pd *pd, const struct dpadv_foreign_mr *mr);

/*
 * Drive progress on the calling thread. Returns the number of items handled; -EIO in a forked
 * child.
 */
DPADV_API int dpadv_progress(struct ibv_context *context);
/* The calling thread stops polling: the progress thread takes over at once. */
DPADV_API void dpadv_idle(struct ibv_context *context);
/* Block until fd is readable, and drive progress meanwhile. 0, EINTR, EAGAIN (timeout), EIO. */
DPADV_API int dpadv_wait_fd(struct ibv_context *context, int fd, int timeout_ms);
/* Return the number of EUs of the adapter instance. */
DPADV_API uint32_t dpadv_num_eus(struct ibv_context *context);

/*
 * The path of the adapter state file (valid until the context is closed), and settings for libdpa.
 */
struct dpadv_board {
	uint64_t comp_mask; /* 0 */
	const char *path;
	uint32_t max_run_time; /* maximum run time of device code in seconds; 0: no limit */
};
/* EINVAL for a comp_mask bit; EIO in a forked child. */
DPADV_API int dpadv_query_board(struct ibv_context *context, struct dpadv_board *board);

struct dpa_pcc_ops;

/*
 * Return the calls of the port's congestion control: struct dpa_pcc_ops in dpa_hw_pcc.h. *port:
 * argument for these calls, valid until the context is closed. NULL: not a dpa device, or a forked
 * child.
 */
DPADV_API const struct dpa_pcc_ops *dpadv_query_pcc(struct ibv_context *context, void **port);

/*
 * For callers that post by hand, after the WQEs, the doorbell record and the slot. The first
 * carries out work on the calling thread (inline placement), the second wakes the EU (EU
 * placement), the third is for receives of a QP in the error state. arm_cq arms a CQ like
 * ibv_req_notify_cq().
 */
DPADV_API void dpadv_ring_sq(struct dpa_hw_qp *qp);
DPADV_API void dpadv_kick_sq(struct dpa_hw_qp *qp);
DPADV_API void dpadv_ring_rq(struct dpa_hw_qp *qp);
DPADV_API void dpadv_arm_cq(struct dpa_hw_cq *cq, bool solicited_only);

/*
 * True if a send of this QP may read [addr, addr + length) by this key now, and it is plain memory
 * of the process at exactly this address. For callers that copy the payload themselves.
 */
DPADV_API bool dpadv_may_read(struct dpa_hw_qp *qp, uint32_t lkey, uint64_t addr, uint64_t length);

#ifdef __cplusplus
}
#endif
#endif
