/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hw.h - what libdpa wants of the provider, in one place: hw_dpadv.c does it by direct verbs, the
 * unit tests by a device of their own.
 */
#ifndef DPA_EU_HW_H
#define DPA_EU_HW_H

#include <stdbool.h>
#include <stdint.h>
#include <dpa_hw.h>

struct ibv_context;
struct ibv_cq;
struct ibv_device;
struct ibv_qp;

/* The memory of a CQ. The consumer index is the reader's to keep and to publish. */
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
	bool has_srq;
	bool sq_sig_all;
};

/* Whether the device is an adapter of this project. */
bool dpa_hwif_is_dpa(struct ibv_device *dev);
uint32_t dpa_hwif_num_eus(struct ibv_context *ctx);
int dpa_hwif_progress(struct ibv_context *ctx);
void dpa_hwif_idle(struct ibv_context *ctx); /* progress is not driven by the caller any more */

/* `comp` is called as dpa_comp_fn is: under the device's locks. 0 or errno. */
int dpa_hwif_create_cq(struct ibv_context *ctx, uint32_t entries, dpa_comp_fn *comp, void *arg,
		       struct ibv_cq **cq, struct dpa_cq_view *view);
int dpa_hwif_destroy_cq(struct ibv_cq *cq); /* EBUSY: a QP uses it */
void dpa_hwif_arm_cq(const struct dpa_cq_view *view);

int dpa_hwif_view_qp(struct ibv_qp *qp, struct dpa_qp_view *view);
/* After the slot was written; carries the work out on the caller or wakes who does. */
void dpa_hwif_ring_sq(const struct dpa_qp_view *view);
void dpa_hwif_ring_rq(const struct dpa_qp_view *view);

#endif
