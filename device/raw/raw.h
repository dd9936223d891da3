/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * raw.h - raw packets: Ethernet frames between the raw packet QPs of a board. See README.md.
 *
 * frame.c, match.c and hash.c are pure; the others stand on the device.
 */
#ifndef DPA_RAW_H
#define DPA_RAW_H

#include "ctx/hw.h"
#include "ctx/qp.h"
#include "ctx/srq.h"
#include "link/lane.h"

/* ------------------------------------------------------------ frame.c: what is in a frame */

#define DPA_LAYERS 16 /* what lies behind the 16th is not looked at */

/* A header of a frame, in the form that a flow's spec has it. */
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

/* Headers of the frame of n bytes as far as they are whole. Reads nothing beyond them. */
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

/* 0; EINVAL: no such rule can be; EOPNOTSUPP: it could, but is not there. */
int dpa_flow_check(const struct dpa_flow_attr *a);
/* Do all specs of a rule match? Data of the board's file may be anything. */
bool dpa_flow_match(const struct dpa_flow_rule *r, const struct dpa_layers *v);

/* A rule as senders keep it. */
struct dpa_flow_kept {
	uint32_t at; /* place in the board's table */
	uint32_t qpn;
	dpa_owner_t owner;
	struct dpa_flow_rule rule;
};

/* A receiver of a frame. */
struct dpa_flow_to {
	uint32_t qpn, tag;
};

/* Is a rule's owner still there? Asked once of each rule that matches. */
typedef bool dpa_flow_lives_fn(void *arg, const struct dpa_flow_kept *k);
/*
 * The QPs that a frame goes to, each once: those of the sniffer rules, and those of the rules of
 * the best priority that match. Returns how many; to: room for n.
 */
uint32_t dpa_flow_choose(const struct dpa_flow_kept *rules, uint32_t n, const struct dpa_layers *v,
			 bool mcast, dpa_flow_lives_fn *lives, void *arg, struct dpa_flow_to *to);
/* Sorts rules into that order. */
void dpa_flow_sort(struct dpa_flow_kept *rules, uint32_t n);

/* ------------------------------------------------------------------- hash.c: RSS */

uint32_t dpa_toeplitz(const uint8_t key[DPA_RSS_KEY], const uint8_t *in, uint32_t n);
/* 0; EINVAL: fields that exclude each other, or none where it takes some; EOPNOTSUPP. */
int dpa_rss_check(const struct dpa_rss *rss, uint32_t log_size);
/* Of the fields that the frame has; 0: it has none of them. */
uint32_t dpa_rss_hash(const struct dpa_rss *rss, const struct dpa_layers *v);

/* -------------------------------------------------------------- flow.c: this function's view */

/* The process may have raw QPs and flow rules: it has CAP_NET_RAW. */
bool dpa_may_raw(void);
/* Room for what senders keep of the rules; before the first raw QP. ENOMEM. */
int dpa_flows_init(struct dpa_hw *hw);
void dpa_flows_fini(struct dpa_hw *hw);
/* A QP that goes away. */
void dpa_flow_forget(struct dpa_hw_qp *qp);
/*
 * The receivers of the frame; to: DPA_MAX_FLOWS. `counted`: the rules that match have one frame
 * more.
 */
uint32_t dpa_flow_receivers(struct dpa_hw *hw, const uint8_t *frame, uint32_t n, bool counted,
			    struct dpa_flow_to *to);

/* --------------------------------------------------------------------- send.c, recv.c, wq.c */

/* One send WQE of a raw QP, as dpa_ud_send(): 0, or 1: not now, or failed. */
int dpa_raw_send(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);
/* A frame off a lane for a raw QP; under its lock. */
void dpa_raw_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload);

/* Of a QP that spreads what it receives. */
struct dpa_hw_rss {
	struct dpa_hw_ind_table *table;
	struct dpa_rss conf;
};
/*
 * Before a raw QP is made: EPERM, ENOMEM, EINVAL; *rss: what it has if it spreads what it receives,
 * else NULL.
 */
int dpa_raw_begin(struct dpa_hw *hw, const struct dpa_qp_attr_create *a, struct dpa_hw_rss **rss);
void dpa_rss_free(struct dpa_hw_rss *rss); /* nothing if it is NULL */

struct dpa_hw_wq {
	struct dpa_hw_srq rq; /* its queue, PD and CQ */
	uint32_t wqn;
	/* enum dpa_wq_state; set under hw->ctl, read under a QP's lock: who changes it waits for
	 * those (dpa_quiesce) */
	_Atomic uint32_t state;
	_Atomic uint32_t refs; /* entries of indirection tables */
};

/* It cannot go on: to the error state, with everything flushed. Under a QP's lock. */
void dpa_wq_fail(struct dpa_hw_wq *wq);

struct dpa_hw_ind_table {
	struct dpa_hw_ctx *ctx;
	uint32_t mask;	       /* entries - 1 */
	_Atomic uint32_t refs; /* QPs */
	struct dpa_hw_wq *wq[];
};

#endif
