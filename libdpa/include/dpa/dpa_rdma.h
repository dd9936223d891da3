/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_rdma.h - format of the description that doca_rdma_export() returns and doca_rdma_connect()
 * takes, for peers that use verbs instead.
 *
 * To connect with a doca_rdma, a verbs program creates an RC queue pair, fills in struct
 * dpa_rdma_details for it (num_gids 1, node_guid 0), and exchanges it for that of the other side.
 * It sets its QP to RTR with qpn, psn, gids[0] and the smaller one of the two path MTUs, and to RTS
 * with the psn that it sent. Its max_rd_atomic and max_dest_rd_atomic are at most the other side's
 * rd_atomic.
 *
 * If gids[0] of both sides do not match, two libdpas with node GUIDs both choose the first pair of
 * addresses that match: of one family, both link-local or neither, loopback on one host only.
 *
 * All numbers are in network order. The structure has no padding and may be sent as it is.
 */
#ifndef DPA_RDMA_H_
#define DPA_RDMA_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DPA_RDMA_DETAILS_MAGIC	 0x64706172u /* "dpar" */
#define DPA_RDMA_DETAILS_VERSION 1
#define DPA_RDMA_DETAILS_GIDS	 8

struct dpa_rdma_details {
	uint32_t magic;	  /* DPA_RDMA_DETAILS_MAGIC */
	uint16_t version; /* DPA_RDMA_DETAILS_VERSION */
	uint16_t size;	  /* of the structure, bytes */
	uint32_t qpn;
	uint32_t psn;	    /* of the first packet that this side sends */
	uint64_t node_guid; /* the PF's: distinguishes hosts; 0: both sides use gids[0] */
	uint8_t mtu;	    /* largest path MTU, a value of enum ibv_mtu */
	uint8_t rd_atomic;  /* READs and atomics that this side can answer at a time */
	uint8_t num_gids;   /* 1 to DPA_RDMA_DETAILS_GIDS */
	uint8_t rsvd[5];    /* 0 */
	/* gids[0] is preferred; two libdpas may choose others, see above */
	uint8_t gids[DPA_RDMA_DETAILS_GIDS][16];
};

#ifdef __cplusplus
}
#endif

#endif /* DPA_RDMA_H_ */
