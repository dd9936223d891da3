/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpadv.h - direct verbs of the dpa provider: what lies below the verbs objects of dpa0, for
 * programs that write WQEs and read CQEs themselves (libdpa, DPA kernels, GPUs).
 *
 * Link with -ldpadv (libdpadv.so.1), which is the same file that libibverbs loads as its provider.
 * Formats are those of dpa_hw.h. Objects stay the owner's: the pointers are valid until the verbs
 * object is destroyed. Who posts to a queue by hand must not post to it by verbs as well: the
 * verbs keep their own indices.
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

/* Whether the device is a dpa adapter, and the calls below may be used on its objects. */
DPADV_API bool dpadv_is_supported(struct ibv_device *device);

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

/* ---------------------------------------------------------- device functions */

/* Where the work of the QP is carried out from now on. eu: -1, or an EU number (DPA_PLACE_EU). */
DPADV_API int dpadv_set_placement(struct ibv_qp *qp, enum dpa_placement placement, int eu);
/* Drives progress on the calling thread: number of things done; -EIO in a forked child. */
DPADV_API int dpadv_progress(struct ibv_context *context);
/* The calling thread stops polling: the device's own thread takes over at once. */
DPADV_API void dpadv_idle(struct ibv_context *context);
/* Blocks until fd is readable, driving progress. 0, EINTR, EAGAIN (timeout), EIO. */
DPADV_API int dpadv_wait_fd(struct ibv_context *context, int fd, int timeout_ms);
/* EUs of the board. */
DPADV_API uint32_t dpadv_num_eus(struct ibv_context *context);

/*
 * For those who post by hand: after the WQEs, the doorbell record and the slot. The first carries
 * out work on the calling thread (inline placement), the second wakes the EU (EU placement), the
 * third is for receives of a QP in the error state. arm_cq arms a CQ as ibv_req_notify_cq() does.
 */
DPADV_API void dpadv_ring_sq(struct dpa_hw_qp *qp);
DPADV_API void dpadv_kick_sq(struct dpa_hw_qp *qp);
DPADV_API void dpadv_ring_rq(struct dpa_hw_qp *qp);
DPADV_API void dpadv_arm_cq(struct dpa_hw_cq *cq, bool solicited_only);

#ifdef __cplusplus
}
#endif
#endif
