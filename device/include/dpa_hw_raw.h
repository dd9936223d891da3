/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw_raw.h - the commands for raw packets: receive queues over which frames are spread, and
 * flow rules. Do not include it directly; include dpa_hw.h.
 */
#ifndef DPA_HW_RAW_H
#define DPA_HW_RAW_H

#include <stdbool.h>
#include <stdint.h>
#include "dpa_hw_cmd.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * WQs: receive queues over which raw QPs spread frames. RESET: empty, takes nothing; READY; ERROR:
 * posted receives are flushed. EINVAL: ERROR to READY. destroy: EBUSY while a table uses it.
 */
enum dpa_wq_state { DPA_WQS_RESET, DPA_WQS_READY, DPA_WQS_ERROR }; /* values of ibv_wq_state */

struct dpa_wq_attr {
	uint32_t pdn; /* PD of its receive buffers */
	uint32_t max_sge;
	uint32_t log_size;	 /* receive WQEs */
	void *buf;		 /* (1 << log_size) * dpa_rwqe_stride(max_sge) bytes */
	struct dpa_dbrec *dbrec; /* its rq half is used */
	struct dpa_hw_cq *cq;
	uint64_t user_handle;
};

/* CQEs have its number in place of a QPN; no QP has that number. ENOMEM beyond DPA_MAX_WQ. */
int dpa_hw_create_wq(struct dpa_hw_ctx *ctx, const struct dpa_wq_attr *attr, struct dpa_hw_wq **wq,
		     uint32_t *wqn);
/* To RESET: the driver resets the doorbell record and removes its CQEs before it returns. */
int dpa_hw_modify_wq(struct dpa_hw_wq *wq, uint32_t state);
uint32_t dpa_hw_wq_state(struct dpa_hw_wq *wq);
/* Receives were posted: needed only in the error state. */
void dpa_hw_ring_wq(struct dpa_hw_wq *wq);
int dpa_hw_destroy_wq(struct dpa_hw_wq *wq);

/* 1 << log_size WQs, which may repeat. EINVAL, ENOMEM; destroy: EBUSY while a QP uses it. */
int dpa_hw_create_ind_table(struct dpa_hw_ctx *ctx, struct dpa_hw_wq *const *wqs, uint32_t log_size,
			    struct dpa_hw_ind_table **table);
int dpa_hw_destroy_ind_table(struct dpa_hw_ind_table *table);

/*
 * Flow rules: which raw QP gets which frames, for the whole adapter instance. Specs in the order of
 * the headers, filters as in ibv_create_flow(3), network byte order. Bits that are set in mask must
 * equal those of val.
 */
enum dpa_flow_spec_type { /* values of enum ibv_flow_spec_type */
			  DPA_FLOW_ETH = 0x20,
			  DPA_FLOW_IPV4 = 0x30,
			  DPA_FLOW_IPV6 = 0x31,
			  DPA_FLOW_IPV4_EXT = 0x32,
			  DPA_FLOW_ESP = 0x34,
			  DPA_FLOW_TCP = 0x40,
			  DPA_FLOW_UDP = 0x41,
			  DPA_FLOW_VXLAN = 0x50,
			  DPA_FLOW_GRE = 0x51,
			  DPA_FLOW_MPLS = 0x60,
			  DPA_FLOW_INNER = 0x100, /* flag: the header inside of the tunnel */
};

enum dpa_flow_type { DPA_FLOW_NORMAL, DPA_FLOW_ALL_DEFAULT, DPA_FLOW_MC_DEFAULT, DPA_FLOW_SNIFFER };
enum dpa_flow_flags { DPA_FLOW_DONT_TRAP = 1 << 1, DPA_FLOW_EGRESS = 1 << 2 };

#define DPA_FLOW_SPECS	8
#define DPA_FLOW_FILTER 40 /* bytes of the longest filter */

struct dpa_flow_spec {
	uint16_t type; /* enum dpa_flow_spec_type */
	uint16_t rsvd;
	uint8_t val[DPA_FLOW_FILTER], mask[DPA_FLOW_FILTER];
};

struct dpa_flow_attr {
	uint32_t type;	   /* enum dpa_flow_type: values of ibv_flow_attr_type */
	uint32_t flags;	   /* enum dpa_flow_flags; EGRESS: EOPNOTSUPP */
	uint32_t priority; /* a lower number is tried first; 16 bits */
	uint32_t tag;	   /* for the CQE of a matching frame */
	bool drop;
	uint32_t nspecs;
	struct dpa_flow_spec spec[DPA_FLOW_SPECS];
};

/*
 * EINVAL: no such rule, or not a raw QP; EPERM: without CAP_NET_RAW; ENOMEM beyond DPA_MAX_FLOWS of
 * the adapter instance. Rules end with their QP at the latest.
 */
int dpa_hw_create_flow(struct dpa_hw_qp *qp, const struct dpa_flow_attr *attr, uint32_t *handle);
int dpa_hw_destroy_flow(struct dpa_hw_qp *qp, uint32_t handle);
/*
 * Number of frames that the rule matched since it was created, and their bytes, including dropped
 * ones. EINVAL.
 */
int dpa_hw_flow_counts(struct dpa_hw_qp *qp, uint32_t handle, uint64_t *packets, uint64_t *bytes);
/* Return the number of rules of the QP. */
uint32_t dpa_hw_num_flows(struct dpa_hw_qp *qp);

#ifdef __cplusplus
}
#endif

#endif
