/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sim_priv.h - private to the parts of the simulation. */
#ifndef DPA_SIM_PRIV_H
#define DPA_SIM_PRIV_H

#include "inspect/linkq.h"
#include "pcc/dcqcn.h"
#include "pcc/report.h"
#include "pcc/split.h"
#include "sim/sim.h"

#define SIM_NEVER  UINT64_MAX
#define SIM_FLIGHT 4096u /* maximum of outstanding packets of a flow: DPA_LOSS_PACKETS */

/* A packet on the link to its receiver. */
struct sim_pkt {
	uint64_t due, sent;
	uint32_t psn;
	uint16_t flow;
	bool marked, ackreq, probe; /* probe: a round trip probe follows it */
};

enum sim_answer { SIM_ACK, SIM_NAK, SIM_CNP, SIM_PROBED };

/* An answer on its way back. */
struct sim_back {
	uint64_t due, sent; /* PROBED: time when the probe was sent */
	uint32_t psn;	    /* ACK: one past the last PSN; NAK: the missing one */
	uint16_t flow;
	uint8_t what; /* enum sim_answer */
};

/* A logarithmic histogram: 32 steps for each power of two. */
#define HIST_SUB  5u
#define HIST_SIZE (64u << HIST_SUB)
struct sim_hist {
	uint64_t num, max;
	uint32_t count[HIST_SIZE];
};

/*
 * A flow. PSNs count up from 0 without wrapping: 64 bits here, 24 on a wire. una <= pos <= next <=
 * posted.
 */
struct sim_flow {
	struct dpa_sim_work work;
	uint16_t index;
	uint32_t per_message; /* packets of each message */
	/* State of the sender. */
	struct dpa_pcc_flow pcc;
	struct dpa_pcc_split split; /* of pcc, where that is rtt or a program */
	uint32_t ctxt[12];	    /* a program's */
	uint64_t at;		    /* when it looks next */
	uint64_t port_at;	    /* its port is busy until then, */
	uint64_t port_part;	    /* and for so many parts of 1/host ns longer */
	struct sim_pkt port;	    /* packet that leaves the port at port_at, */
	bool leaving;		    /* if there is one */
	uint64_t una, next;	    /* first not acknowledged; next new one */
	uint64_t pos;		    /* next PSN to send; below next: retransmission */
	uint64_t probe;		    /* one past the PSN that a probe sent again; 0: no probe */
	uint64_t posted;	    /* packets of the messages posted so far */
	uint64_t post_at;	    /* time of the next post (every) */
	uint64_t asked;		    /* PSN of the last packet that asked for an ACK, plus 1 */
	uint32_t unacked;	    /* bytes sent since then */
	bool window_full;
	uint8_t probes; /* probes requested, as in struct dpa_pcc_result, and sent */
	bool again;	/* una must be sent again */
	bool recovery;	/* a packet was missing, up to: */
	uint64_t recover;
	uint64_t srtt, pto, pto_at, ack_at; /* ns */
	uint64_t rtt_psn, rtt_at;	    /* the packet whose ACK is timed; rtt_at 0: none */
	uint64_t sent_at[SIM_FLIGHT];	    /* send times of outstanding packets */
	uint64_t *posted_at; /* post times of unacknowledged messages: ring of SIM_FLIGHT */
	uint64_t done;	     /* messages acknowledged */
	/* State of the receiver. */
	struct dpa_np_flow np;
	uint64_t epsn;
	bool nak_sent;
	uint64_t kept[SIM_FLIGHT / 64]; /* bits: it arrived out of order */
	struct dpa_sim_flow_stat stat;
	struct sim_hist hist;
};

struct sim_ring {
	uint64_t head, tail, size;
};

struct dpa_sim {
	struct dpa_sim_scenario s;
	uint64_t now, sampled;
	struct dpa_pcc_dcqcn_param dcqcn; /* of all its flows that have it */
	struct dpa_linkq q;
	uint64_t queue_sum, queue_num, queue_max, bytes;
	struct sim_pkt *link;
	struct sim_back *back;
	struct sim_ring link_ring, back_ring;
	struct sim_hist all;
	uint32_t nflow;
	struct sim_flow flow[];
};

/* ---- flow.c: the sender and the receiver of a flow ---- */

void sim_flow_init(struct dpa_sim *sim, struct sim_flow *f, uint16_t index);
/* Called at its time. Sets f->at. */
void sim_flow_look(struct dpa_sim *sim, struct sim_flow *f);
void sim_flow_arrives(struct dpa_sim *sim, struct sim_flow *f, const struct sim_pkt *p);
void sim_flow_answered(struct dpa_sim *sim, struct sim_flow *f, const struct sim_back *b);

/* ---- sim.c ---- */

/*
 * A packet leaves its host's port now and enters the queue. Returns the time when the port is free
 * again.
 */
uint64_t sim_enqueue(struct dpa_sim *sim, struct sim_flow *f, struct sim_pkt *p);
void sim_answer(struct dpa_sim *sim, const struct sim_pkt *p, enum sim_answer what, uint64_t psn);

/* ---- program.c ---- */

/* The scenario's program decides on the flow's rate. */
void sim_program_begin(struct dpa_sim *sim, struct sim_flow *f);

/* ---- hist.c ---- */

void sim_hist_add(struct sim_hist *h, uint64_t v);
/* Return the value that ppm parts per million do not exceed. */
uint64_t sim_hist_at(const struct sim_hist *h, uint32_t ppm);

#endif
