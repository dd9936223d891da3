/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_pcc_dev_data_structures.h - an event of a flow, and the flow's memory. Words of an event are
 * big endian: programs use the calls of doca_pcc_dev_event.h.
 */
#ifndef DOCA_PCC_DEV_DATA_STRUCTURES_H_
#define DOCA_PCC_DEV_DATA_STRUCTURES_H_

#include <stdint.h>

/* A flow's memory: 12 words, 0 for a new flow. */
typedef struct doca_pcc_dev_algo_ctxt {
	uint32_t data[12];
} doca_pcc_dev_algo_ctxt_t;

typedef struct doca_pcc_dev_attr {
	uint32_t algo_slot : 4;
	uint32_t overload : 1; /* 0 */
	uint32_t reserved_at_0 : 27;
} doca_pcc_dev_attr_t;

typedef struct doca_pcc_dev_event_general_attr {
	uint32_t ev_type : 8;	 /* doca_pcc_dev_event_type_enum */
	uint32_t ev_subtype : 8; /* NACK: doca_pcc_dev_nack_event_sub_type_enum */
	uint32_t port_num : 8;	 /* 0 */
	uint32_t flags : 8;	 /* TX: DOCA_PCC_DEV_TX_FLAG_... */
} doca_pcc_dev_event_general_attr_t;

/* Traffic since the last TX event. */
typedef struct doca_pcc_dev_roce_tx_cntrs {
	uint32_t sent_32bytes : 16; /* units of 32 bytes */
	uint32_t sent_pkts : 16;
} doca_pcc_dev_roce_tx_cntrs_t;

typedef struct doca_pcc_dev_roce_tx_extra {
	uint32_t flow_qpn : 24;
	uint32_t reserved_at_0 : 8;
} doca_pcc_dev_roce_tx_extra_t;

typedef struct doca_pcc_dev_roce_tx {
	uint32_t first_timestamp;
	doca_pcc_dev_roce_tx_cntrs_t cntrs;
	doca_pcc_dev_roce_tx_extra_t extra;
	unsigned char reserved_at_60[4];
} doca_pcc_dev_roce_tx_t;

typedef struct doca_pcc_dev_ack_nack_cnp_extra {
	uint32_t num_coalesced : 16; /* 1 */
	uint32_t reserved_at_0 : 16;
} doca_pcc_dev_ack_nack_cnp_extra_t;

typedef struct doca_pcc_dev_ack_nack_cnp {
	uint32_t first_timestamp;
	uint32_t first_sn;
	doca_pcc_dev_ack_nack_cnp_extra_t extra;
	unsigned char reserved_at_60[4];
} doca_pcc_dev_ack_nack_cnp_t;

typedef struct doca_pcc_dev_rtt_tstamp {
	uint32_t req_send_timestamp, req_recv_timestamp, resp_send_timestamp;
	unsigned char reserved_at_60[4];
} doca_pcc_dev_rtt_tstamp_t;

typedef struct doca_pcc_dev_fw_data {
	uint32_t data[3];
} doca_pcc_dev_fw_data_t;

typedef union doca_pcc_dev_event_spec_attr {
	doca_pcc_dev_roce_tx_t roce_tx;
	doca_pcc_dev_ack_nack_cnp_t ack_nack_cnp;
	doca_pcc_dev_rtt_tstamp_t rtt_tstamp;
	doca_pcc_dev_fw_data_t fw_data;
	unsigned char reserved_at_0[16];
} doca_pcc_dev_event_spec_attr_t;

/* 12 + 4 + 4 + 4 + 4 + 16 = 44 bytes. Times in ns, the low 32 bits. */
typedef struct doca_pcc_dev_event {
	unsigned char reserved_at_0[12];
	doca_pcc_dev_event_general_attr_t ev_attr;
	uint32_t flow_tag;
	uint32_t sn; /* PSN */
	uint32_t timestamp;
	doca_pcc_dev_event_spec_attr_t ev_spec_attr;
} doca_pcc_dev_event_t;

#endif /* DOCA_PCC_DEV_DATA_STRUCTURES_H_ */
