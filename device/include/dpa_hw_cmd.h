/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw_cmd.h - the command set: objects of the device and what can be asked of them. Part of
 * dpa_hw.h, which is included instead.
 */
#ifndef DPA_HW_CMD_H
#define DPA_HW_CMD_H

#include <stdbool.h>
#include <stdint.h>
#include "dpa_hw_format.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------- objects */

/*
 * Handles are opaque to the driver. All calls are thread-safe unless they say otherwise.
 * Every int call returns 0 or a positive errno.
 */
struct dpa_hw;	   /* the function: one per process, shared by its contexts */
struct dpa_hw_ctx; /* an open of the device */
struct dpa_hw_cq;
struct dpa_hw_srq;
struct dpa_hw_qp;

/* Called by any device thread; must not block nor call back into the device. */
typedef void dpa_event_fn(void *arg, const struct dpa_event *ev);
/* A completion event of an armed CQ: called after the CQE is visible, at most once an arming. */
typedef void dpa_comp_fn(void *arg);

enum dpa_log_level { DPA_LOG_ERR = 2, DPA_LOG_WARN = 3, DPA_LOG_INFO = 4, DPA_LOG_DEBUG = 5 };
typedef void dpa_log_fn(int level, const char *text);

struct dpa_hw_open_attr {
	uint32_t hw_version; /* DPA_HW_VERSION */
	uint32_t rsvd;
	dpa_event_fn *event; /* asynchronous events of this context */
	void *event_arg;
	dpa_log_fn *log; /* may be NULL: nothing is logged */
};

/*
 * Opens the adapter for this process: the first open attaches to (or creates) the board and
 * starts the parked EU. Errors: EINVAL (bad DPA_* variable or configuration; EPROTO (foreign or
 * corrupt board file, or another version of the library on it), EMFILE/ENOMEM/ENOSPC.
 */
int dpa_hw_open(const struct dpa_hw_open_attr *attr, struct dpa_hw_ctx **ctx);
/* The caller destroyed its objects before; QPs and regions that it left are destroyed here. */
void dpa_hw_close(struct dpa_hw_ctx *ctx);
/*
 * One word that reads 1 in the process that opened the context and 0 in a forked child (raw
 * clone included). The driver loads it (relaxed) before each data path call.
 */
const uint32_t *dpa_hw_alive(struct dpa_hw_ctx *ctx);

struct dpa_hw_dev_attr {
	char fw_ver[64];
	uint64_t node_guid; /* network order */
	uint64_t hca_core_clock_khz;
	uint32_t max_qp, max_cq, max_srq, max_pd, max_mr, max_ah;
	uint32_t uar_pages;
};

enum dpa_port_state { DPA_PORT_DOWN = 1, DPA_PORT_ACTIVE = 4 };

struct dpa_hw_port_attr {
	uint8_t state;	    /* enum dpa_port_state */
	uint8_t active_mtu; /* 1 = 256 .. 5 = 4096 */
	uint8_t max_mtu;
	uint8_t active_speed; /* values of ibv_port_attr */
	uint8_t active_width;
	uint8_t rsvd[3];
	uint32_t gid_tbl_len;
	uint32_t bad_pkey_cntr;
	uint32_t qkey_viol_cntr;
	uint32_t rsvd2;
};

enum dpa_gid_type { DPA_GID_ROCE_V2 = 2 }; /* value of enum ibv_gid_type */

struct dpa_hw_gid {
	uint8_t gid[16]; /* network order; an IPv4 address is ::ffff:a.b.c.d */
	uint32_t index;
	uint32_t ifindex;
	uint32_t type; /* enum dpa_gid_type */
	uint32_t valid;
};

int dpa_hw_query_device(struct dpa_hw_ctx *ctx, struct dpa_hw_dev_attr *attr);
int dpa_hw_query_port(struct dpa_hw_ctx *ctx, struct dpa_hw_port_attr *attr);
/* ENODATA: the index is empty; EINVAL: past the table. */
int dpa_hw_query_gid(struct dpa_hw_ctx *ctx, uint32_t index, struct dpa_hw_gid *gid);
/*
 * Text of a file below the port's sysfs folder ("gids/3", "gid_attrs/types/3"), for discovery: of
 * the open function's table, else of the namespace's. Needs no open device. Length, or -1 and
 * errno.
 */
int dpa_hw_port_file(const char *name, char *text, size_t len);
/* Node GUID, network order: the same as in dpa_hw_dev_attr. Needs no open device. */
uint64_t dpa_hw_node_guid(void);

/* PD: a number. ENOMEM past DPA_MAX_PD. EBUSY on dealloc while something uses it. */
int dpa_hw_alloc_pd(struct dpa_hw_ctx *ctx, uint32_t *pdn);
int dpa_hw_dealloc_pd(struct dpa_hw_ctx *ctx, uint32_t pdn);

/* Access flags: values of enum ibv_access_flags. */
enum dpa_access {
	DPA_ACCESS_LOCAL_WRITE = 1 << 0,
	DPA_ACCESS_REMOTE_WRITE = 1 << 1,
	DPA_ACCESS_REMOTE_READ = 1 << 2,
	DPA_ACCESS_REMOTE_ATOMIC = 1 << 3,
	DPA_ACCESS_MW_BIND = 1 << 4,
	DPA_ACCESS_ZERO_BASED = 1 << 5,
	DPA_ACCESS_ON_DEMAND = 1 << 6,
	DPA_ACCESS_HUGETLB = 1 << 7,
	DPA_ACCESS_RELAXED_ORDERING = 1 << 20,
};

struct dpa_mr_attr {
	uint32_t pdn;
	uint32_t access; /* enum dpa_access; unknown bits: EINVAL */
	uint64_t addr;	 /* of the memory in this process */
	uint64_t length; /* bytes */
	uint64_t iova;	 /* what addr is called in SGEs and by peers */
};

/* EFAULT: the range is not mapped with the needed protection. ENOMEM past DPA_MAX_MR. */
int dpa_hw_reg_mr(struct dpa_hw_ctx *ctx, const struct dpa_mr_attr *attr, uint32_t *key);
enum dpa_rereg { DPA_REREG_TRANSLATION = 1, DPA_REREG_PD = 2, DPA_REREG_ACCESS = 4 };
/* Fields that flags do not name keep their value. The key may change. */
int dpa_hw_rereg_mr(struct dpa_hw_ctx *ctx, uint32_t *key, uint32_t flags,
		    const struct dpa_mr_attr *attr);
/* When it returns no device thread and no peer touches the memory any more. */
int dpa_hw_dereg_mr(struct dpa_hw_ctx *ctx, uint32_t key);

/*
 * Memory windows (man ibv_alloc_mw; IBA 10.6.7). The R_Key of a new one grants nothing until it is
 * bound by a BIND_MW WQE. A key's low 8 bits are the consumer's to choose when it binds a type 2
 * window (IBA 10.6.7.2.4), the rest names the window. dealloc unbinds. EINVAL: no such window.
 * Takes its number from DPA_MAX_MR.
 */
enum dpa_mw_type { DPA_MW_TYPE_1 = 1, DPA_MW_TYPE_2 = 2 }; /* values of enum ibv_mw_type */
int dpa_hw_alloc_mw(struct dpa_hw_ctx *ctx, uint32_t pdn, uint32_t type, uint32_t *rkey);
int dpa_hw_dealloc_mw(struct dpa_hw_ctx *ctx, uint32_t rkey);

enum dpa_cq_flags {
	DPA_CQ_IGNORE_OVERRUN = 1 << 0,
	DPA_CQ_TIMESTAMP = 1 << 1,
};

struct dpa_cq_attr {
	void *buf;    /* (1 << log_size) CQEs, zeroed, 64-byte aligned; the driver's */
	uint32_t *ci; /* consumer index; written by the poller (release), read by the device */
	uint32_t log_size;
	uint32_t flags;	      /* enum dpa_cq_flags */
	uint64_t user_handle; /* in asynchronous events */
	dpa_comp_fn *comp;    /* may be NULL */
	void *comp_arg;
};

int dpa_hw_create_cq(struct dpa_hw_ctx *ctx, const struct dpa_cq_attr *attr, struct dpa_hw_cq **cq,
		     uint32_t *cqn);
/* The caller holds off pollers. Entries not yet polled move to buf, from index *ci on. EINVAL if
 * they do not fit. */
int dpa_hw_resize_cq(struct dpa_hw_cq *cq, void *buf, uint32_t log_size);
/* EBUSY while a QP uses it. */
int dpa_hw_destroy_cq(struct dpa_hw_cq *cq);
/*
 * Arms the CQ for one event: at the next CQE, or the next solicited or failed one; at once if such
 * a one was not polled and no event told of it, or it was left when the CQ was armed before (not
 * with DPA_CQ_IGNORE_OVERRUN).
 */
void dpa_hw_arm_cq(struct dpa_hw_cq *cq, bool solicited_only);
/* Takes the lock under which CQEs are produced, e.g. to purge those of a destroyed QP. */
void dpa_hw_cq_lock(struct dpa_hw_cq *cq);
void dpa_hw_cq_unlock(struct dpa_hw_cq *cq);
/* Under dpa_hw_cq_lock(): producer index (next CQE to be written); set it back after a purge. */
uint32_t dpa_hw_cq_pi(struct dpa_hw_cq *cq);
void dpa_hw_cq_set_pi(struct dpa_hw_cq *cq, uint32_t pi);

struct dpa_srq_attr {
	uint32_t pdn;
	uint32_t max_sge;
	uint32_t log_size;	 /* receive WQEs */
	uint32_t limit;		 /* 0: not armed */
	void *buf;		 /* (1 << log_size) * dpa_rwqe_stride(max_sge) bytes */
	struct dpa_dbrec *dbrec; /* its rq half */
	uint64_t user_handle;
};

int dpa_hw_create_srq(struct dpa_hw_ctx *ctx, const struct dpa_srq_attr *attr,
		      struct dpa_hw_srq **srq, uint32_t *srqn);
int dpa_hw_set_srq_limit(struct dpa_hw_srq *srq, uint32_t limit);
uint32_t dpa_hw_get_srq_limit(struct dpa_hw_srq *srq);
/* New buffer for a resized SRQ: the caller holds off posters and has copied the WQEs [ci, pi). */
int dpa_hw_resize_srq(struct dpa_hw_srq *srq, void *buf, uint32_t log_size);
int dpa_hw_destroy_srq(struct dpa_hw_srq *srq);
/* Locks out the device from the SRQ while the driver changes its buffer. */
void dpa_hw_srq_lock(struct dpa_hw_srq *srq);
void dpa_hw_srq_unlock(struct dpa_hw_srq *srq);

enum dpa_qp_type { DPA_QP_RC = 2, DPA_QP_UC = 3, DPA_QP_UD = 4 }; /* values of ibv_qp_type */

enum dpa_qp_state { /* values of ibv_qp_state */
		    DPA_QPS_RESET,
		    DPA_QPS_INIT,
		    DPA_QPS_RTR,
		    DPA_QPS_RTS,
		    DPA_QPS_SQD,
		    DPA_QPS_SQE,
		    DPA_QPS_ERR,
};

struct dpa_qp_attr_create {
	uint32_t type; /* enum dpa_qp_type */
	uint32_t pdn;
	uint32_t user_index; /* comes back in CQEs */
	uint32_t sq_sig_all;
	struct dpa_hw_cq *send_cq, *recv_cq;
	struct dpa_hw_srq *srq; /* NULL: own RQ */
	void *sq;		/* (1 << log_sq) blocks of 64 bytes; NULL if log_sq is 0 */
	void *rq; /* (1 << log_rq) receive WQEs; NULL with an SRQ or if max_recv_sge is 0 */
	uint32_t log_sq;
	uint32_t log_rq;
	uint32_t max_recv_sge;
	uint32_t rsvd;
	struct dpa_dbrec *dbrec;
	uint64_t user_handle; /* 0, or where posting begins to read */
	const void *poster;   /* NULL, or 128 bytes that posting uses: fetched beforehand */
};

struct dpa_qp_info {
	uint32_t qpn;
	uint32_t uar_page, uar_slot; /* place in the BAR */
	uint32_t rsvd;
	struct dpa_uar_slot *slot; /* mapped; owned by this QP until it is destroyed */
	/*
	 * Placement, read by the poster (relaxed) at each post, written by the device:
	 * 0: inline, ring with dpa_hw_ring_sq(); else: EU, write the slot and dpa_hw_kick_sq().
	 */
	const uint32_t *placement;
};

/* ENOMEM: BAR full, QPN space full (a log line names the limit). */
int dpa_hw_create_qp(struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *attr,
		     struct dpa_hw_qp **qp, struct dpa_qp_info *info);
/* When it returns nothing of the QP's queues and no memory that its WQEs name is touched. */
int dpa_hw_destroy_qp(struct dpa_hw_qp *qp);

/* Attribute bits: values of enum ibv_qp_attr_mask. */
enum dpa_qp_mask {
	DPA_QPM_STATE = 1 << 0,
	DPA_QPM_CUR_STATE = 1 << 1,
	DPA_QPM_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	DPA_QPM_ACCESS = 1 << 3,
	DPA_QPM_PKEY_INDEX = 1 << 4,
	DPA_QPM_PORT = 1 << 5,
	DPA_QPM_QKEY = 1 << 6,
	DPA_QPM_AV = 1 << 7,
	DPA_QPM_PATH_MTU = 1 << 8,
	DPA_QPM_TIMEOUT = 1 << 9,
	DPA_QPM_RETRY_CNT = 1 << 10,
	DPA_QPM_RNR_RETRY = 1 << 11,
	DPA_QPM_RQ_PSN = 1 << 12,
	DPA_QPM_MAX_RD_ATOMIC = 1 << 13,
	DPA_QPM_ALT_PATH = 1 << 14,
	DPA_QPM_MIN_RNR_TIMER = 1 << 15,
	DPA_QPM_SQ_PSN = 1 << 16,
	DPA_QPM_MAX_DEST_RD_ATOMIC = 1 << 17,
	DPA_QPM_PATH_MIG_STATE = 1 << 18,
	DPA_QPM_CAP = 1 << 19,
	DPA_QPM_DEST_QPN = 1 << 20,
	DPA_QPM_RATE_LIMIT = 1 << 25,
};

struct dpa_qp_attr {
	uint32_t state; /* enum dpa_qp_state */
	uint32_t access;
	uint32_t qkey;
	uint32_t rq_psn, sq_psn; /* 24 bits */
	uint32_t dest_qpn;
	struct dpa_wqe_av av; /* dqpn and qkey unused */
	uint16_t pkey_index;
	uint8_t port;
	uint8_t path_mtu; /* 1 = 256 .. 5 = 4096 */
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t sqd_async_notify;
	uint8_t sq_draining; /* query only */
};

/*
 * Carries out a transition that the driver has found legal (it holds the table of states and
 * masks; the device checks values: EINVAL). To RESET: queues are emptied, indices 0 in the device;
 * the driver resets the doorbell record before the call returns to its user. To ERR: everything
 * outstanding is flushed before it returns.
 */
int dpa_hw_modify_qp(struct dpa_hw_qp *qp, const struct dpa_qp_attr *attr, uint32_t mask);
int dpa_hw_query_qp(struct dpa_hw_qp *qp, struct dpa_qp_attr *attr);

/*
 * Doorbells. The poster has written WQEs, sq_pi (release) and the slot. None may be called with a
 * device lock held; the driver may hold the QP's SQ lock (EU placement) but should have dropped it
 * before ring_sq, which carries out work of this QP on the calling thread (bounded).
 */
void dpa_hw_ring_sq(struct dpa_hw_qp *qp);
void dpa_hw_kick_sq(struct dpa_hw_qp *qp);
/* Receives were posted: needed only when the QP is in the error state (they are flushed). */
void dpa_hw_ring_rq(struct dpa_hw_qp *qp);

/*
 * Drives progress on the calling thread: what poll_cq does when it finds nothing. Returns the
 * number of packets and work items handled, 0 if there was nothing. Yields the processor now and
 * then when called in vain. With nothing to do it costs a load of each hot lane's next slot.
 */
int dpa_hw_progress(struct dpa_hw_ctx *ctx);
/*
 * The calling thread has driven progress and will not for a while: whoever stands in takes over now
 * rather than within a millisecond. Cheap when that is so already.
 */
void dpa_hw_idle(struct dpa_hw_ctx *ctx);
/*
 * Blocks until fd is readable (returns 0), driving progress meanwhile, so that the wake-up of a
 * peer goes straight to this thread. Returns EINTR if a signal handler ran, as read(2) would,
 * EAGAIN if timeout_ms passed (-1: none).
 */
int dpa_hw_wait_fd(struct dpa_hw_ctx *ctx, int fd, int timeout_ms);

/*
 * Queue memory: zeroed, page aligned, in a sealed memfd of the function (so that another process of
 * the board or a GPU can map it), not inherited by fork. ENOMEM.
 */
int dpa_hw_alloc_queue(struct dpa_hw_ctx *ctx, size_t bytes, void **mem);
void dpa_hw_free_queue(struct dpa_hw_ctx *ctx, void *mem, size_t bytes);

/* EU placement of a QP: DPA_PLACE_*; from the policy when it is created. */
enum dpa_placement { DPA_PLACE_INLINE = 0, DPA_PLACE_EU = 1 };
int dpa_hw_set_placement(struct dpa_hw_qp *qp, uint32_t placement, int eu);

/* Board-wide inventory, for libdpa: number of EUs, and EU numbers for DPA threads. */
uint32_t dpa_hw_num_eus(struct dpa_hw_ctx *ctx);

#ifdef __cplusplus
}
#endif

#endif
