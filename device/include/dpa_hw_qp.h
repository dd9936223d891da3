/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw_qp.h - the command set: QPs. Do not include it directly; include dpa_hw.h.
 */
#ifndef DPA_HW_CMD_QP_H
#define DPA_HW_CMD_QP_H

#include <stdbool.h>
#include <stdint.h>
#include "dpa_hw_cmd.h"

#ifdef __cplusplus
extern "C" {
#endif

enum dpa_qp_type { /* values of ibv_qp_type; GSI, which is not there, of the kernel's ib_qp_type */
		   DPA_QP_GSI = 1, /* for display: the endpoint of QP1, dpa_hw_gsi.h */
		   DPA_QP_RC = 2,
		   DPA_QP_UC = 3,
		   DPA_QP_UD = 4,
		   DPA_QP_RAW = 8,	/* whole Ethernet frames; needs CAP_NET_RAW */
		   DPA_QP_XRC_SEND = 9, /* no RQ */
		   DPA_QP_XRC_RECV =
			   /*
			    * no queues, CQs or PD of its own: uses those of the SRQs of its domain
			    */
		   10,
};

enum dpa_qp_state { /* values of ibv_qp_state */
		    DPA_QPS_RESET,
		    DPA_QPS_INIT,
		    DPA_QPS_RTR,
		    DPA_QPS_RTS,
		    DPA_QPS_SQD,
		    DPA_QPS_SQE,
		    DPA_QPS_ERR,
};

/*
 * Receive side scaling of a raw QP. A frame goes to the table's WQ with the index in the low bits
 * of the Toeplitz hash of its requested fields; to index 0 if it has none of them. The fields have
 * the values of enum ibv_rx_hash_fields.
 */
enum dpa_rss_fields {
	DPA_RSS_SRC_IPV4 = 1 << 0,
	DPA_RSS_DST_IPV4 = 1 << 1,
	DPA_RSS_SRC_IPV6 = 1 << 2,
	DPA_RSS_DST_IPV6 = 1 << 3,
	DPA_RSS_SRC_PORT_TCP = 1 << 4,
	DPA_RSS_DST_PORT_TCP = 1 << 5,
	DPA_RSS_SRC_PORT_UDP = 1 << 6,
	DPA_RSS_DST_PORT_UDP = 1 << 7,
	DPA_RSS_FIELDS = (1 << 8) - 1, /* all fields */
};
#define DPA_RSS_KEY 40 /* bytes */

struct dpa_rss {
	uint64_t fields; /* IPv4 or IPv6, TCP or UDP; 0 only with a table of one entry */
	uint8_t key[DPA_RSS_KEY];
};

struct dpa_qp_attr_create {
	uint32_t type; /* enum dpa_qp_type */
	uint32_t pdn;
	uint32_t user_index; /* returned in CQEs */
	uint32_t sq_sig_all;
	struct dpa_hw_cq *send_cq, *recv_cq;
	struct dpa_hw_srq *srq; /* NULL: own RQ */
	void *sq;		/* (1 << log_sq) blocks of 64 bytes; NULL if log_sq is 0 */
	void *rq; /* (1 << log_rq) receive WQEs; NULL with an SRQ or if max_recv_sge is 0 */
	uint32_t log_sq;
	uint32_t log_rq;
	uint32_t max_recv_sge;
	uint32_t xrcd;	       /* domain of a DPA_QP_XRC_RECV */
	bool block_self_mcast; /* its own multicast datagrams are not delivered to it */
	/*
	 * Raw only. Not NULL: the QP has no queues and CQs of its own, and receives from the start.
	 */
	struct dpa_hw_ind_table *ind_table;
	struct dpa_rss rss;
	struct dpa_dbrec *dbrec;
	uint64_t user_handle; /* 0, or the address that posting reads first */
	const void *poster;   /* NULL, or 128 bytes that posting uses: prefetched */
};

struct dpa_qp_info {
	uint32_t qpn;
	uint32_t uar_page, uar_slot; /* place in the BAR */
	uint32_t rsvd;
	struct dpa_uar_slot *slot; /* mapped; owned by this QP until it is destroyed */
	/*
	 * Placement, read by the poster (relaxed) at each post, written by the device. 0: inline,
	 * ring with dpa_hw_ring_sq(). Else: EU, write the slot and call dpa_hw_kick_sq().
	 */
	const uint32_t *placement;
};

/*
 * ENOMEM: BAR full or QPN space full (a log message names the limit). EPERM: a raw QP without
 * CAP_NET_RAW.
 */
int dpa_hw_create_qp(struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *attr,
		     struct dpa_hw_qp **qp, struct dpa_qp_info *info);
/*
 * Destroy. On return the QP's queues and the memory that its WQEs name are not touched any more.
 * Ends its multicast attachments.
 */
int dpa_hw_destroy_qp(struct dpa_hw_qp *qp);
/*
 * Open an XRC_RECV QP of this adapter instance once more. EINVAL: no such QP in that domain. A
 * context that created or opened one closes it by its user_handle; the last one in the creating
 * process destroys it. A QP of another process can be queried, not modified (EOPNOTSUPP). Other
 * types of QPs are destroyed by dpa_hw_destroy_qp().
 */
int dpa_hw_open_qp(struct dpa_hw_ctx *ctx, uint32_t xrcd, uint32_t qpn, uint64_t user_handle,
		   struct dpa_hw_qp **qp, struct dpa_qp_info *info);
/*
 * Destroy all QPs of the context; XRC SRQs that it has left receive nothing any more. For a caller
 * that frees their queues before dpa_hw_close(), which does this, too.
 */
void dpa_hw_destroy_qps(struct dpa_hw_ctx *ctx);
int dpa_hw_close_qp(struct dpa_hw_qp *qp, uint64_t user_handle);

/*
 * Multicast (UD): from now on datagrams to the group reach this QP; a second call changes nothing.
 * EINVAL: gid is no multicast address (ff00::/8 or ::ffff:224.0.0.0/100), the QP is not UD, or
 * (detach) it is not attached. ENOMEM beyond DPA_MAX_MCAST, or if the kernel joins no more groups
 * for this process.
 */
int dpa_hw_attach_mcast(struct dpa_hw_qp *qp, const uint8_t gid[16]);
int dpa_hw_detach_mcast(struct dpa_hw_qp *qp, const uint8_t gid[16]);
/* Return the number of groups to which it is attached. */
uint32_t dpa_hw_num_mcast(struct dpa_hw_qp *qp);

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
 * Carry out a transition that the driver has found legal (the driver has the table of states and
 * masks; the device checks values: EINVAL). To RESET: queues are emptied, indices in the device
 * become 0; the driver resets the doorbell record before the call returns to its user. To ERR:
 * everything outstanding is flushed on return.
 */
int dpa_hw_modify_qp(struct dpa_hw_qp *qp, const struct dpa_qp_attr *attr, uint32_t mask);
int dpa_hw_query_qp(struct dpa_hw_qp *qp, struct dpa_qp_attr *attr);

/*
 * Long-term rate of the QP's packets, headers and retransmissions included; kbps 0: no limit. Sends
 * exceed it by `burst` bytes at most (0: 64 KiB), plus one entry or packet.
 */
struct dpa_rate {
	uint32_t kbps;
	uint32_t burst;
};

#define DPA_MAX_RATE_KBPS 100000000u
/* EINVAL beyond DPA_MAX_RATE_KBPS. */
int dpa_hw_set_rate(struct dpa_hw_qp *qp, const struct dpa_rate *rate);
void dpa_hw_get_rate(struct dpa_hw_qp *qp, struct dpa_rate *rate);

/*
 * Doorbells. The poster has written WQEs, sq_pi (release) and the slot. The caller holds no device
 * lock. The driver may hold the QP's SQ lock (EU placement), but should release it before ring_sq,
 * which carries out work of this QP on the calling thread (bounded).
 */
void dpa_hw_ring_sq(struct dpa_hw_qp *qp);
void dpa_hw_kick_sq(struct dpa_hw_qp *qp);
/* Receives were posted. Needed only if the QP is in the error state, where they are flushed. */
void dpa_hw_ring_rq(struct dpa_hw_qp *qp);

/*
 * Watch the SQ of a QP whose poster cannot call the device: a GPU, another process, any thread that
 * maps the memory.
 *
 * Such a poster writes WQEs into the SQ, their blocks counted from 0 (the first one after RESET) in
 * ctrl.index. After them it stores the SQ producer index in blocks into *word, by one 64-bit store
 * that releases (system scope): in its low 32 bits; the others are 0. An EU reads the word, takes
 * the WQEs and carries them out. It spins while the word moves, then checks it every 50 us. It does
 * not check while the QP is in RESET, INIT, RTR or SQD; in SQE or ERR, where posted WQEs are
 * flushed, it checks less and less often. The QP gets no posts by doorbell. As always, sq_ci of the
 * doorbell record is the SQ's consumer index: the poster lets the producer index exceed it by the
 * size of the SQ at most. Receives are posted by a store of rq_pi (release, system scope) without a
 * doorbell. They are flushed when the QP enters ERR; later ones only by dpa_hw_ring_rq().
 *
 * Each WQE is read once, when the word passes it: later writes of the poster have no effect. An
 * invalid WQE gets an error completion. If the word goes back, exceeds the SQ's size, or passes a
 * WQE of length 0 or one that extends beyond the word, the WQE at that index gets one, and no more
 * WQEs are taken before RESET.
 *
 * qp: RC, UC or UD, and no other call for it runs. word: 8-byte aligned, valid until the watch
 * ends; it holds the current producer index of the QP, 0 after RESET. NULL ends the watch: on
 * return the word is not read any more. RESET and destroy end it, too. After NULL the WQEs that
 * were taken are still carried out; more can be posted only by another watch, until RESET.
 * Meanwhile the QP is placed on an EU (the first of the policy; dpa_hw_set_placement() moves it).
 * Returns 0; EBUSY: it is watched already, or has WQEs that are not complete; EINVAL: word not
 * aligned, QP without SQ; EOPNOTSUPP: another type of QP, or its SRQ matches tags; ENOMEM; EAGAIN:
 * no thread for an EU.
 */
int dpa_hw_watch_sq(struct dpa_hw_qp *qp, const uint64_t *word);

/*
 * EU placement of a QP: DPA_PLACE_*; initially by the policy. EBUSY: inline, for a QP whose SQ is
 * watched.
 */
enum dpa_placement { DPA_PLACE_INLINE = 0, DPA_PLACE_EU = 1 };
int dpa_hw_set_placement(struct dpa_hw_qp *qp, uint32_t placement, int eu);

#ifdef __cplusplus
}
#endif

#endif
