/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * raw.h - raw packets: Ethernet frames between the raw packet QPs of a board. See README.md.
 * frame.c, match.c and hash.c are pure; the others use the device.
 */
#ifndef DPA_RAW_H
#define DPA_RAW_H

#include "ctx/hw.h"
#include "ctx/qp.h"
#include "ctx/srq.h"
#include "link/lane.h"

/* ------------------------------------------------------------ frame.c: headers of a frame */

#define DPA_LAYERS 16 /* headers behind the 16th are not parsed */

/* A header of a frame, in the form of a flow spec. */
struct dpa_layer {
	uint16_t kind; /* enum dpa_flow_spec_type; an IPv4 header: DPA_FLOW_IPV4 */
	bool inner;    /* behind a tunnel's header */
	bool optional; /* ETH: has a VLAN tag; GRE: has a key; IP: the packet is a fragment */
	uint8_t f[DPA_FLOW_FILTER];
};

struct dpa_layers {
	uint32_t n;
	struct dpa_layer l[DPA_LAYERS];
};

/* Parse the headers of a frame of n bytes as far as they are complete. Reads nothing beyond n. */
void dpa_frame_parse(const uint8_t *p, uint32_t n, struct dpa_layers *v);

/* ------------------------------------------------------------------ match.c: rules */

/* The entry in the board's table: 8 + 4 + 4 + 8 * 84 = 688 bytes. */
struct dpa_flow_rule {
	uint16_t type; /* enum dpa_flow_type */
	uint16_t priority;
	uint16_t flags; /* enum dpa_flow_flags */
	uint16_t nspecs;
	uint32_t tag;
	uint32_t drop;
	struct dpa_flow_spec spec[DPA_FLOW_SPECS];
};

/* 0; EINVAL: an invalid rule; EOPNOTSUPP: a valid rule that is not supported. */
int dpa_flow_check(const struct dpa_flow_attr *a);
/* True if all specs of a rule match. The rule may be damaged: it comes from shared memory. */
bool dpa_flow_match(const struct dpa_flow_rule *r, const struct dpa_layers *v);

/* A rule in a sender's copy. */
struct dpa_flow_kept {
	uint32_t at; /* index in the board's table */
	uint32_t qpn;
	dpa_owner_t owner;
	struct dpa_flow_rule rule;
};

/* A receiver of a frame. */
struct dpa_flow_to {
	uint32_t qpn, tag;
};

/* True if a rule's owner is alive. Called once for each rule that matches. */
typedef bool dpa_flow_lives_fn(void *arg, const struct dpa_flow_kept *k);
/*
 * Find the QPs that get a frame, each once: those of the sniffer rules, and those of the matching
 * rules of the best priority. Returns their number; to: room for n.
 */
uint32_t dpa_flow_choose(const struct dpa_flow_kept *rules, uint32_t n, const struct dpa_layers *v,
			 bool mcast, dpa_flow_lives_fn *lives, void *arg, struct dpa_flow_to *to);
/* Sort rules into the order in which they are tried. */
void dpa_flow_sort(struct dpa_flow_kept *rules, uint32_t n);

/* ------------------------------------------------------------------- hash.c: RSS */

uint32_t dpa_toeplitz(const uint8_t key[DPA_RSS_KEY], const uint8_t *in, uint32_t n);
/* 0; EINVAL: fields that exclude each other, or none although some are needed; EOPNOTSUPP. */
int dpa_rss_check(const struct dpa_rss *rss, uint32_t log_size);
/* Return the hash of the fields that the frame has; 0: it has none of them. */
uint32_t dpa_rss_hash(const struct dpa_rss *rss, const struct dpa_layers *v);

/* -------------------------------------------------------------- flow.c: rules of this function */

/* True if the process may have raw QPs and flow rules: it has CAP_NET_RAW. */
bool dpa_may_raw(void);
/* Allocate the senders' copy of the rules, before the first raw QP. ENOMEM. */
int dpa_flows_init(struct dpa_hw *hw);
void dpa_flows_fini(struct dpa_hw *hw);
/* A QP is destroyed: remove its rules. */
void dpa_flow_forget(struct dpa_hw_qp *qp);
/*
 * Return the receivers of a frame; to: DPA_MAX_FLOWS. counted: add the frame to the counts of the
 * matching rules.
 */
uint32_t dpa_flow_receivers(struct dpa_hw *hw, const uint8_t *frame, uint32_t n, bool counted,
			    struct dpa_flow_to *to);

/* --------------------------------------------------------------------- send.c, recv.c, wq.c */

/* Send one WQE of a raw QP, as dpa_ud_send(): 0, or 1: not now, or failed. */
int dpa_raw_send(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);
/* Take in a frame from a ring for a raw QP. Context: its lock. */
void dpa_raw_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload);

/* For a QP that spreads the frames that it receives. */
struct dpa_hw_rss {
	struct dpa_hw_ind_table *table;
	struct dpa_rss conf;
};
/* Prepare a raw QP: EPERM, ENOMEM, EINVAL. *rss: its RSS state if it spreads frames, else NULL. */
int dpa_raw_begin(struct dpa_hw *hw, const struct dpa_qp_attr_create *a, struct dpa_hw_rss **rss);
void dpa_rss_free(struct dpa_hw_rss *rss); /* does nothing for NULL */

struct dpa_hw_wq {
	struct dpa_hw_srq rq; /* its queue, PD and CQ */
	uint32_t wqn;
	/*
	 * enum dpa_wq_state; set under hw->ctl, read under a QP's lock: a thread that changes it
	 * waits for those readers (dpa_quiesce).
	 */
	_Atomic uint32_t state;
	_Atomic uint32_t refs; /* uses by entries of indirection tables */
};

/* A WQ cannot continue: put it into the error state and flush everything. Context: a QP's lock. */
void dpa_wq_fail(struct dpa_hw_wq *wq);

struct dpa_hw_ind_table {
	struct dpa_hw_ctx *ctx;
	uint32_t mask;	       /* entries - 1 */
	_Atomic uint32_t refs; /* QPs */
	struct dpa_hw_wq *wq[];
};

#endif
