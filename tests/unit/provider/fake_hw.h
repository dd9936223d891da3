/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fake_hw.h - a passive device: the functions of dpa_hw.h in memory. A test can read the driver's
 * input, and acts in place of the device.
 */
#ifndef FAKE_HW_H
#define FAKE_HW_H

#include <stdatomic.h>
#include <dpa_hw.h>
#include <infiniband/driver.h>

struct dpa_hw_cq {
	struct dpa_cq_attr attr;
	uint32_t pi;
	_Atomic int refs;
	int armed; /* 0, 1 any, 2 solicited */
	_Atomic uint32_t lock;
};

struct dpa_hw_srq {
	struct dpa_srq_attr attr;
	uint32_t limit;
};

struct dpa_hw_qp {
	struct dpa_qp_attr_create attr;
	_Alignas(64) struct dpa_uar_slot slot;
	uint32_t placement;
	const uint64_t *watched;
	uint32_t qpn;
	struct dpa_qp_attr state;
	uint32_t last_mask; /* of the last modify */
	uint32_t flows;
	_Atomic int rings, kicks, rq_rings;
};

struct fake_counts {
	uint32_t freed_mw; /* key of the last dpa_hw_dealloc_mw() */
	int opened_again, dms, contexts, pds, mrs, mws, cqs, srqs, qps;
	size_t queue_bytes, at_end; /* at_end: number of contexts whose QPs had ended */
	int stray_errno;	    /* errno left by calls that succeed; 0: unchanged */
	_Atomic int progress;
	_Atomic int held; /* of these, those without a yield */
};

extern struct fake_counts fake;
extern struct dpa_mr_attr fake_last_mr;
extern struct dpa_prefetch fake_last_prefetch;
extern uint32_t fake_last_rereg_flags;
/* LID of the port; 0: an Ethernet port. */
extern uint16_t fake_lid;
/* The action of dpa_hw_progress(), once. */
typedef void fake_fn(void);
extern fake_fn *_Atomic fake_on_progress;
/* Waits that were told that a peer is about to answer. */
extern _Atomic int fake_answers;
/* Makes the next call of that kind fail. */
extern int fake_fail_alloc_queue, fake_fail_create_qp, fake_fail_reg_mr, fake_fail_alloc_pd;

/* Open a context on its own device; close it by ibv_close_device(). */
struct ibv_context *fake_open(void);

/* Write a CQE as the device (its owner is set here), and fire the event of an armed CQ. */
void fake_cqe(struct dpa_hw_cq *cq, const struct dpa_cqe *cqe);
void fake_event(enum dpa_event_type type, void *object);
/* Finish all of the SQ as the device; take n receives. */
void fake_finish_sq(struct dpa_hw_qp *qp);
void fake_take_rq(struct dpa_dbrec *dbrec, uint32_t n);

struct dpa_hw_cq *fake_cq(struct ibv_cq *cq);
struct dpa_hw_qp *fake_qp(struct ibv_qp *qp);
struct dpa_hw_srq *fake_srq(struct ibv_srq *srq);

/* A QP of the type in RTS with these capabilities, and its own CQs. */
struct fake_setup {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct dpa_hw_qp *hw;
	struct ibv_qp_cap cap;
};

void fake_setup(struct fake_setup *s, enum ibv_qp_type type, const struct ibv_qp_cap *cap);
void fake_teardown(struct fake_setup *s);
void fake_to_rts(struct ibv_qp *qp);

#endif
