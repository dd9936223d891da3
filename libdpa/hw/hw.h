/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hw.h - the calls of libdpa to the provider, in one place: hw_dpadv.c implements them by direct
 * verbs, the unit tests by a simulated device.
 */
#ifndef DPA_HW_HW_H
#define DPA_HW_HW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <dpa_hw.h>

struct ibv_context;
struct ibv_cq;
struct ibv_device;
struct ibv_mr;
struct ibv_pd;
struct ibv_qp;
struct ibv_qp_init_attr;
struct dpa_inject_ops;
struct dpa_pcc_ops;
struct dpa_trace_ops;
struct ibv_srq;
struct timespec;

/* The memory of a CQ. The reader keeps and publishes the consumer index. */
struct dpa_cq_view {
	const struct dpa_cqe *buf;
	uint32_t *ci;
	uint32_t log_size;
	void *hw; /* to arm it */
};

/* The memory of a QP. sq is NULL when it has no SQ, rq when it has no RQ of its own. */
struct dpa_qp_view {
	uint8_t *sq, *rq;
	struct dpa_dbrec *dbrec;
	struct dpa_uar_slot *slot;
	const uint32_t *placement;
	void *hw; /* for the doorbell calls below */
	uint32_t log_sq, log_rq;
	uint32_t max_send_sge, max_recv_sge;
	uint32_t qpn;
	uint32_t type; /* enum dpa_qp_type */
	bool sq_sig_all;
};

/* The memory of an SRQ. */
struct dpa_srq_view {
	uint8_t *buf;
	struct dpa_dbrec *dbrec; /* its rq half */
	uint32_t log_size, stride, max_sge;
};

/* Return whether the device is an adapter of this project. */
bool dpa_hwif_is_dpa(struct ibv_device *dev);
/*
 * Return its number among the adapter's functions (0: the PF) and its PCI address. Only for an
 * adapter of this project.
 */
uint32_t dpa_hwif_function(struct ibv_device *dev, char pci_addr[16]);
/* Read "gids/N" or "gid_attrs/ndevs/N" of a function's port. Returns the length or -1. */
int dpa_hwif_port_file(uint32_t function, const char *name, char *text, size_t len);
uint32_t dpa_hwif_num_eus(struct ibv_context *ctx);
/* Read the clock of CQE time stamps. 0 or errno. Any thread. */
int dpa_hwif_raw_clock(struct ibv_context *ctx, struct timespec *now);
/* The adapter state file ("" if there is none) and the limit of an activation. */
struct dpa_hwif_board {
	const char *path;      /* valid until the context is closed */
	uint32_t max_run_time; /* seconds; 0: no limit */
};
void dpa_hwif_query_board(struct ibv_context *ctx, struct dpa_hwif_board *board);
/* Return the port's congestion control (dpa_hw_pcc.h); NULL in a forked child. */
const struct dpa_pcc_ops *dpa_hwif_pcc(struct ibv_context *ctx, void **port);
/* Return the points of the timeline (dpa_hw_trace.h); NULL: none. After a device was opened. */
const struct dpa_trace_ops *dpa_hwif_trace(void);
/* Return the points of injected failures (dpa_hw_inject.h); NULL: none. After a device was opened. */
const struct dpa_inject_ops *dpa_hwif_inject(void);
int dpa_hwif_progress(struct ibv_context *ctx);
void dpa_hwif_idle(struct ibv_context *ctx); /* the caller does not drive progress any more */

/* Create a CQ. `comp` is called as a dpa_comp_fn: under the device's locks. 0 or errno. */
int dpa_hwif_create_cq(struct ibv_context *ctx, uint32_t entries, dpa_comp_fn *comp, void *arg,
		       struct ibv_cq **cq, struct dpa_cq_view *view);
int dpa_hwif_destroy_cq(struct ibv_cq *cq); /* EBUSY: a QP uses it */
void dpa_hwif_arm_cq(const struct dpa_cq_view *view);

/* Create a QP as ibv_create_qp(); the CQEs of the QP carry user_index. */
struct ibv_qp *dpa_hwif_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
				  uint32_t user_index);
/*
 * Watch the doorbell word of an SQ: its poster, a GPU or another process, announces WQEs by a store
 * of the producer index in blocks to *word (dpa_hw_watch_sq()); NULL ends it. 0 or errno.
 */
int dpa_hwif_watch_sq(struct ibv_qp *qp, const uint64_t *word);
/*
 * Register a region of memory that the CPU cannot address: `ops` copies (dpa_hw_cmd.h), on a thread
 * of the device. access: enum ibv_access_flags. NULL and errno; deregister it by ibv_dereg_mr().
 */
struct ibv_mr *dpa_hwif_reg_foreign(struct ibv_pd *pd, uint64_t addr, uint64_t length, int access,
				    const struct dpa_foreign_ops *ops, void *arg);
/* Move a QP to the error state: posted work is flushed. */
void dpa_hwif_fail_qp(struct ibv_qp *qp);
int dpa_hwif_view_qp(struct ibv_qp *qp, struct dpa_qp_view *view);
int dpa_hwif_view_srq(struct ibv_srq *srq, struct dpa_srq_view *view);
/* Return whether a send of the QP may read this memory by this key, at this very address. */
bool dpa_hwif_may_read(const struct dpa_qp_view *view, uint32_t lkey, uint64_t addr, uint64_t len);
/*
 * Ring the doorbell, after the slot was written: carries the work out on the caller or wakes the EU
 * that does.
 */
void dpa_hwif_ring_sq(const struct dpa_qp_view *view);
void dpa_hwif_ring_rq(const struct dpa_qp_view *view);

#endif
