/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_dev_native.h - posting to a verbs QP from device code.
 *
 * Handles come from dpa_qp_get_dpa_handle(). Addresses and keys are those of verbs: an lkey of an
 * MR that the host registered. One thread at a time may post to a QP.
 */
#ifndef DPA_DEV_NATIVE_H_
#define DPA_DEV_NATIVE_H_

#include <doca_dpa_dev.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t dpa_dev_qp_t;

/* Values of enum ibv_wr_opcode. */
enum dpa_dev_opcode {
	DPA_DEV_RDMA_WRITE = 0,
	DPA_DEV_RDMA_WRITE_IMM = 1,
	DPA_DEV_SEND = 2,
	DPA_DEV_SEND_IMM = 3,
	DPA_DEV_RDMA_READ = 4,
};

enum dpa_dev_send_flags {
	DPA_DEV_SIGNALED = 1 << 0,  /* report the success of this operation too */
	DPA_DEV_SOLICITED = 1 << 1, /* as IBV_SEND_SOLICITED */
	DPA_DEV_FENCE = 1 << 2,	    /* start after earlier READs are done */
};

/* A segment of local memory. */
struct dpa_dev_sge {
	uint64_t addr;
	uint32_t length; /* bytes */
	uint32_t lkey;
};

struct dpa_dev_send_wr {
	uint32_t opcode; /* enum dpa_dev_opcode */
	uint32_t flags;	 /* enum dpa_dev_send_flags */
	uint64_t wr_id;
	uint64_t remote_addr; /* RDMA operations */
	uint32_t rkey;
	uint32_t imm; /* *_IMM: a number; the peer's dpa reads the same, verbs' imm_data is its
			 htonl() */
	uint32_t num_sge;
	uint32_t rsvd; /* 0 */
	const struct dpa_dev_sge *sg_list;
};

/* Results of the two calls below; 0 is success. */
enum dpa_dev_post_error {
	DPA_DEV_EINVAL = 22, /* unknown opcode or flag, too many segments */
	DPA_DEV_ENOMEM = 12, /* the queue is full */
	DPA_DEV_ENOTSUP = 95 /* this type of QP cannot do it (UD: no posting yet) */
};

/*
 * Post one work request and ring the doorbell. The memory must stay as it is until the operation is
 * done. Returns 0 or enum dpa_dev_post_error.
 */
int dpa_dev_qp_post_send(dpa_dev_qp_t qp, const struct dpa_dev_send_wr *wr);

/*
 * Post one receive of num_sge segments.
 * @wr_id: comes back in dpa_dev_completion_wr_id()
 * Returns 0 or enum dpa_dev_post_error.
 */
int dpa_dev_qp_post_recv(dpa_dev_qp_t qp, uint64_t wr_id, const struct dpa_dev_sge *sg_list,
			 uint32_t num_sge);

/* Return the wr_id of the work request that an element reports. */
uint64_t dpa_dev_completion_wr_id(doca_dpa_dev_completion_element_t comp_element);

/* Return the number of the QP of the element. */
uint32_t dpa_dev_completion_qpn(doca_dpa_dev_completion_element_t comp_element);

/* Return the bytes received, for receive elements. */
uint32_t dpa_dev_completion_byte_len(doca_dpa_dev_completion_element_t comp_element);

/* Return the status of an element, a value of enum ibv_wc_status; 0: no error. */
uint32_t dpa_dev_completion_status(doca_dpa_dev_completion_element_t comp_element);

#ifdef __cplusplus
}
#endif

#endif /* DPA_DEV_NATIVE_H_ */
