/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw_raw.h - the commands for raw packets: receive queues that frames are spread over, and flow
 * rules. Part of dpa_hw.h, which is included instead.
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
 * WQs: receive queues that raw QPs spread frames over. RESET: empty, takes nothing; READY; ERROR:
 * what is posted is flushed. EINVAL: ERROR to READY. destroy: EBUSY while a table has it.
 */
enum dpa_wq_state { DPA_WQS_RESET, DPA_WQS_READY, DPA_WQS_ERROR }; /* values of ibv_wq_state */

struct dpa_wq_attr {
	uint32_t pdn; /* of its receive buffers */
	uint32_t max_sge;
	uint32_t log_size;	 /* receive WQEs */
	void *buf;		 /* (1 << log_size) * dpa_rwqe_stride(max_sge) bytes */
	struct dpa_dbrec *dbrec; /* its rq half */
	struct dpa_hw_cq *cq;
	uint64_t user_handle;
};

/* Its number is what CQEs have for the QPN, and no QP's. ENOMEM past DPA_MAX_WQ. */
int dpa_hw_create_wq(struct dpa_hw_ctx *ctx, const struct dpa_wq_attr *attr, struct dpa_hw_wq **wq,
		     uint32_t *wqn);
/* To RESET: the driver resets the doorbell record and takes its CQEs out before it returns. */
int dpa_hw_modify_wq(struct dpa_hw_wq *wq, uint32_t state);
uint32_t dpa_hw_wq_state(struct dpa_hw_wq *wq);
/* Receives were posted: needed only in the error state. */
void dpa_hw_ring_wq(struct dpa_hw_wq *wq);
int dpa_hw_destroy_wq(struct dpa_hw_wq *wq);

/* 1 << log_size WQs, which may be the same. EINVAL, ENOMEM; destroy: EBUSY while a QP has it. */
int dpa_hw_create_ind_table(struct dpa_hw_ctx *ctx, struct dpa_hw_wq *const *wqs, uint32_t log_size,
			    struct dpa_hw_ind_table **table);
int dpa_hw_destroy_ind_table(struct dpa_hw_ind_table *table);

/*
 * Flow rules: which raw QP gets which frames, for all of the board. Specs in the order of the
 * header, filters as ibv_create_flow(3) has them, network byte order; bits that are set in mask
 * must be those of val.
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
			  DPA_FLOW_INNER = 0x100, /* or-ed: of the header behind the tunnel's */
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
	uint32_t priority; /* the lower number is tried first; 16 bits */
	uint32_t tag;	   /* for the CQE of what matches */
	bool drop;
	uint32_t nspecs;
	struct dpa_flow_spec spec[DPA_FLOW_SPECS];
};

/*
 * EINVAL: no such rule, or not a raw QP; EPERM: without CAP_NET_RAW; ENOMEM past DPA_MAX_FLOWS of
 * the board. Rules end with their QP at the latest.
 */
int dpa_hw_create_flow(struct dpa_hw_qp *qp, const struct dpa_flow_attr *attr, uint32_t *handle);
int dpa_hw_destroy_flow(struct dpa_hw_qp *qp, uint32_t handle);
/* Frames that the rule matched since it was made, and their bytes, of what it drops, too. EINVAL.
 */
int dpa_hw_flow_counts(struct dpa_hw_qp *qp, uint32_t handle, uint64_t *packets, uint64_t *bytes);
/* Rules of the QP. */
uint32_t dpa_hw_num_flows(struct dpa_hw_qp *qp);

#ifdef __cplusplus
}
#endif

#endif
