/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpadv.h - direct verbs of the dpa provider: what lies below the verbs objects of dpa0, for
 * programs that write WQEs and read CQEs themselves (libdpa, DPA kernels, GPUs).
 *
 * Link with -ldpadv (libdpadv.so.1), which calls the provider that libibverbs has loaded. Formats
 * are those of dpa_hw.h. Objects stay the owner's: the pointers are valid until the verbs object is
 * destroyed. A caller that posts to a queue by hand must not post to it by verbs as well: the verbs
 * have their own indices.
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
 * Whether the device is a dpa adapter, and the calls below may be used on its objects. Any thread.
 * Of a device that is none all of them fail with EINVAL.
 */
DPADV_API bool dpadv_is_supported(struct ibv_device *device);

/* The function of a device: the PF or one of the SFs of the adapter instance. */
struct dpadv_function {
	uint64_t comp_mask; /* 0 */
	uint32_t number;    /* 0: the PF, dpa0; N: dpa0_sfN */
	/*
	 * "d9a0:00:00.N", the same at any time on any host, in a domain that machines hardly have.
	 * Nothing is there for the kernel.
	 */
	char pci_addr[16];
};

/* EINVAL: not a device of ours, or a comp_mask bit. Opens nothing. */
DPADV_API int dpadv_query_function(struct ibv_device *device, struct dpadv_function *fn);

/* ------------------------------------------------------------ looking inside */

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
	struct dpa_dbrec *dbrec; /* its rq half */
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
 * Fills the structures of the kinds that obj_type names (enum dpadv_obj_type). EINVAL for an
 * unknown kind or a comp_mask bit; EIO in a forked child.
 */
DPADV_API int dpadv_init_obj(struct dpadv_obj *obj, uint64_t obj_type);

/* ------------------------------------------------------------------ allocators */

/*
 * The resource that an allocator of a parent domain is asked for: the low half of its
 * resource_type, whose high half is the driver id, 0. Memory that it gives is written by this
 * process only; queues that other processes or a GPU shall reach must be the provider's own.
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
 * A CQ with a callback in place of a completion channel: comp(comp_arg) is called by the device, by
 * any thread, once for each arming, after the CQE is visible. It must not block nor call verbs.
 */
struct dpadv_cq_init_attr {
	uint64_t comp_mask; /* 0 */
	uint32_t cqe;
	uint32_t flags; /* enum dpa_cq_flags */
	void *cq_context;
	dpa_comp_fn *comp; /* may be NULL */
	void *comp_arg;
};

/* NULL and errno. Destroyed by ibv_destroy_cq(). */
DPADV_API struct ibv_cq *dpadv_create_cq(struct ibv_context *context,
					 struct dpadv_cq_init_attr *attr);

struct dpadv_qp_init_attr {
	uint64_t comp_mask;  /* 0 */
	uint32_t user_index; /* of every CQE of the QP (struct dpa_cqe) */
	uint32_t rsvd;	     /* 0 */
};

/*
 * As ibv_create_qp(), with what that has no room for. NULL and errno (EINVAL: a comp_mask bit or
 * rsvd). Destroyed by ibv_destroy_qp().
 */
DPADV_API struct ibv_qp *dpadv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
					 const struct dpadv_qp_init_attr *dv);

/* ---------------------------------------------------------- device functions */

/* Where the work of the QP is carried out from now on. eu: -1, or an EU number (DPA_PLACE_EU). */
DPADV_API int dpadv_set_placement(struct ibv_qp *qp, enum dpa_placement placement, int eu);
/*
 * From now on the SQ's poster is one that cannot call the device, as a GPU, or a process that maps
 * the queues: it writes WQEs, then the SQ producer index in blocks into *word, by one 64-bit store
 * (release, system scope), and an EU reads it: docs/device-reference.md, 2.4. word: 8-byte aligned,
 * valid while it is watched; holds the index that the SQ is at. NULL ends it: the word is not read
 * any more when the call returns. RESET and ibv_destroy_qp() do so, too. EBUSY: it is watched, or
 * has WQEs that are not complete; EINVAL: word not aligned, or no SQ; EOPNOTSUPP: not RC, UC or UD;
 * ENOMEM, EAGAIN; EIO in a forked child.
 */
DPADV_API int dpadv_watch_sq(struct ibv_qp *qp, const uint64_t *word);
/*
 * Registers memory that the CPU cannot address, as a GPU's: the device never dereferences `addr`,
 * it calls ops->copy(arg, ...) on a thread of its own (dpa_hw_cmd.h). Deregistered by
 * ibv_dereg_mr(), which waits for copies that are under way; not re-registered.
 */
struct dpadv_foreign_mr {
	uint64_t comp_mask; /* 0 */
	uint64_t addr;	    /* as copy() gets it */
	uint64_t length;    /* bytes, not 0 */
	uint64_t iova;	    /* what addr is called in SGEs and by peers */
	int access;	    /* enum ibv_access_flags */
	uint32_t rsvd;	    /* 0 */
	const struct dpa_foreign_ops *ops;
	void *arg;
};
/*
 * NULL and errno: EINVAL (a comp_mask bit, rsvd, no copy, length 0), EOPNOTSUPP
 * (IBV_ACCESS_ON_DEMAND, _MW_BIND, _HUGETLB), EAGAIN (no thread), ENOMEM; EIO in a forked child.
 */
DPADV_API struct ibv_mr *dpadv_reg_foreign_mr(struct ibv_pd *pd, const struct dpadv_foreign_mr *mr);

/* Drives progress on the calling thread: number of things done; -EIO in a forked child. */
DPADV_API int dpadv_progress(struct ibv_context *context);
/* The calling thread stops polling: the device's own thread takes over at once. */
DPADV_API void dpadv_idle(struct ibv_context *context);
/* Blocks until fd is readable, driving progress. 0, EINTR, EAGAIN (timeout), EIO. */
DPADV_API int dpadv_wait_fd(struct ibv_context *context, int fd, int timeout_ms);
/* EUs of the adapter instance. */
DPADV_API uint32_t dpadv_num_eus(struct ibv_context *context);

/*
 * The path of the adapter state file (valid until the context is closed), and settings for libdpa.
 */
struct dpadv_board {
	uint64_t comp_mask; /* 0 */
	const char *path;
	uint32_t max_run_time; /* seconds that device code may run at a time; 0: no limit */
};
/* EINVAL for a comp_mask bit; EIO in a forked child. */
DPADV_API int dpadv_query_board(struct ibv_context *context, struct dpadv_board *board);

struct dpa_pcc_ops;

/*
 * The port's congestion control, by struct dpa_pcc_ops: dpa_hw_pcc.h. *port is what those calls
 * take; it is valid until the context is closed. NULL: not a device of ours, or a forked child.
 */
DPADV_API const struct dpa_pcc_ops *dpadv_query_pcc(struct ibv_context *context, void **port);

/*
 * For callers that post by hand: after the WQEs, the doorbell record and the slot. The first
 * carries out work on the calling thread (inline placement), the second wakes the EU (EU
 * placement), the third is for receives of a QP in the error state. arm_cq arms a CQ as
 * ibv_req_notify_cq() does.
 */
DPADV_API void dpadv_ring_sq(struct dpa_hw_qp *qp);
DPADV_API void dpadv_kick_sq(struct dpa_hw_qp *qp);
DPADV_API void dpadv_ring_rq(struct dpa_hw_qp *qp);
DPADV_API void dpadv_arm_cq(struct dpa_hw_cq *cq, bool solicited_only);

/*
 * Whether a send of this QP may read [addr, addr + length) by this key now, and that is plain
 * memory of the process at this very address: for callers that copy the payload themselves.
 */
DPADV_API bool dpadv_may_read(struct dpa_hw_qp *qp, uint32_t lkey, uint64_t addr, uint64_t length);

#ifdef __cplusplus
}
#endif
#endif
