/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcc.h - between the transport and the algorithm that decides how fast a flow may send.
 *
 * A flow is all that one QP sends. The transport reports events (struct dpa_pcc_event). An
 * algorithm answers with a rate, a window and the events that it needs (struct dpa_pcc_result).
 * Everything here is a pure function of its arguments: no clock, no allocation, no lock, integers
 * only. A flow belongs to the holder of its QP's lock. Time is in nanoseconds of any one clock; a
 * time before the previous one counts as no time passed. See docs/congestion.md.
 */
#ifndef DPA_PCC_H
#define DPA_PCC_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

/* Limits of any algorithm's answer; the transport sees no other values. */
#define DPA_PCC_NO_LIMIT (UINT64_C(1) << 40) /* bytes/s: not limited; the highest rate */
#define DPA_PCC_RATE_MIN UINT64_C(125000)    /* 1 Mbit/s: a flow never stops */
#define DPA_PCC_WND_MIN	 4096u		     /* one packet */
#define DPA_PCC_WND_MAX	 (1u << 30)
#define DPA_PCC_NEVER	 UINT64_MAX

enum dpa_pcc_event_type {
	DPA_PCC_ACK,	 /* bytes newly acknowledged (also by READ responses), rtt, inflight */
	DPA_PCC_LOSS,	 /* a loss: a NAK for a PSN sequence error, or an implied NAK */
	DPA_PCC_TIMEOUT, /* the local ACK timer expired */
	DPA_PCC_RNR,	 /* RNR NAK: caused by the peer's receive queue, not by the network */
	DPA_PCC_CNP,	 /* the peer answered a packet that was marked on the way */
	DPA_PCC_SENT,	 /* bytes that left, including retransmissions */
	DPA_PCC_TIMER,	 /* the time that the algorithm requested has come */
	DPA_PCC_RTT,	 /* a requested probe was answered: rtt_ns, req_*, resp_sent */
	DPA_PCC_EVENTS
};
#define DPA_PCC_WANT(type) (1u << (type))

struct dpa_pcc_event {
	uint64_t now;
	uint32_t type; /* enum dpa_pcc_event_type */
	uint32_t psn;  /* PSN of the packet concerned; 0: none */
	/* ACK: from sending to its arrival; 0: no sample (retransmitted packets) */
	uint64_t rtt_ns;
	uint32_t bytes; /* ACK, SENT */
	/* ACK: bytes outstanding when it came, including the acknowledged ones */
	uint32_t inflight;
	uint32_t end_psn; /* LOSS: one past the last PSN sent by then */
	/*
	 * RTT: ns, low 32 bits. When the probe left, by the local clock; when it arrived and when
	 * the answer left, by the peer's clock. rtt_ns includes the peer's time.
	 */
	uint32_t req_sent, req_recv, resp_sent;
	/* RTT: a program of the other side answered; data: its 12 bytes */
	bool program;
	uint32_t data[3];
};

struct dpa_pcc_result {
	uint64_t rate;	 /* bytes/s; DPA_PCC_NO_LIMIT: not paced */
	uint64_t wake;	 /* time when TIMER is wanted; DPA_PCC_NEVER: not */
	uint32_t window; /* bytes that may be outstanding */
	/* DPA_PCC_WANT() of the events that it needs; CNP missing: CNPs are ignored */
	uint32_t events;
	/*
	 * probes requested so far, modulo 256: a new number sends one with the next packet. One is
	 * outstanding at a time, the last one
	 */
	uint8_t probes;
};

#define DPA_PCC_PRIV 72 /* private bytes of an algorithm for each flow */

/*
 * An algorithm. param: shared by all flows; NULL: its defaults. get() returns the answer for the
 * current state; called after init() and each event.
 */
struct dpa_pcc_algo {
	const char *name;
	void (*init)(void *priv, const void *param, uint64_t now);
	void (*on_event)(void *priv, const void *param, const struct dpa_pcc_event *ev);
	void (*get)(const void *priv, const void *param, struct dpa_pcc_result *res);
};

/* A flow: 128 bytes. Each packet reads line 0. */
struct dpa_pcc_flow {
	uint64_t rate;	  /* read-only for the transport, as are window and wake */
	uint64_t wake;	  /* ns */
	uint32_t window;  /* bytes */
	uint16_t events;  /* DPA_PCC_WANT() */
	uint8_t active;	  /* paced, or the algorithm wants SENT or TIMER */
	uint8_t probes;	  /* as in struct dpa_pcc_result */
	int64_t tokens;	  /* bytes * 10^9 that may leave at once; negative: debt */
	uint64_t fill_at; /* time when tokens were last added */
	const struct dpa_pcc_algo *algo;
	const void *param;
	uint64_t priv[DPA_PCC_PRIV / 8];
};
_Static_assert(sizeof(struct dpa_pcc_flow) == 128, "7 * 8 + DPA_PCC_PRIV: two cache lines");
_Static_assert(DPA_PCC_EVENTS <= 16, "events fit");

/* The algorithms, in the order of enum dpa_cfg_congestion (config/knobs.h). */
extern const struct dpa_pcc_algo dpa_pcc_dcqcn, dpa_pcc_none;
extern const struct dpa_pcc_algo *const dpa_pcc_algos[];
extern const size_t dpa_pcc_algos_num;

/* Call when a QP may send for the first time, and whenever it starts again. */
void dpa_pcc_init(struct dpa_pcc_flow *f, const struct dpa_pcc_algo *algo, const void *param,
		  uint64_t now);
/* Return the maximum that leaves at once after a pause, in bytes. */
uint32_t dpa_pcc_burst(const struct dpa_pcc_flow *f);
/* Not for the transport: use the functions below. */
void dpa_pcc_deliver(struct dpa_pcc_flow *f, const struct dpa_pcc_event *ev);
uint64_t dpa_pcc_wait(struct dpa_pcc_flow *f, uint64_t now, uint32_t bytes);
void dpa_pcc_spend(struct dpa_pcc_flow *f, uint64_t now, uint32_t bytes);

/* False: the algorithm does not want the event (CNP: rp_cnp_ignored, else rp_cnp_handled). */
static inline bool dpa_pcc_event(struct dpa_pcc_flow *f, const struct dpa_pcc_event *ev)
{
	if (ev->type >= DPA_PCC_EVENTS || !(f->events & DPA_PCC_WANT(ev->type)))
		return false;
	dpa_pcc_deliver(f, ev);
	return true;
}

/* True if the time matters. If not, may_send() and sent() do not need it (now may be 0). */
static inline bool dpa_pcc_active(const struct dpa_pcc_flow *f)
{
	return f->active;
}

/*
 * Return 0 if `bytes` more may leave now, else the ns to wait before the next call. Consumes
 * nothing: sent() does. The transport compares the window with its outstanding bytes. Calls the
 * algorithm's timer if it is due, so that no thread has to wake up for it.
 */
static inline uint64_t dpa_pcc_may_send(struct dpa_pcc_flow *f, uint64_t now, uint32_t bytes)
{
	return dpa_pcc_active(f) ? dpa_pcc_wait(f, now, bytes) : 0;
}

/* `bytes` of packets (with or without headers) have left; in batches of any size. */
static inline void dpa_pcc_sent(struct dpa_pcc_flow *f, uint64_t now, uint32_t bytes)
{
	if (dpa_pcc_active(f))
		dpa_pcc_spend(f, now, bytes);
}

/* ------------------------------------------------------------ notification point */

#define DPA_ECN_MASK	0x03 /* in the IPv4 TOS or IPv6 traffic class byte */
#define DPA_ECN_ECT0	0x02 /* set by a sender with congestion control */
#define DPA_ECN_CE	0x03
#define DPA_CNP_MIN_GAP UINT64_C(50000) /* ns, min_time_between_cnps of one flow */

/* State of a receiving QP; zero it at the transition to RTR. */
struct dpa_np_flow {
	uint64_t next; /* no CNP before this time */
};

enum {
	DPA_NP_MARKED = 1, /* count np_ecn_marked_roce_packets */
	DPA_NP_ANSWER = 2, /* send a CNP and count np_cnp_sent */
};

/*
 * Return the response to a packet with this TOS or traffic class. Not called for CNPs themselves.
 */
unsigned dpa_cnp_np(struct dpa_np_flow *np, uint8_t tos, uint64_t now);
/* The CNP requested by ANSWER could not be sent: the next marked packet requests it again. */
static inline void dpa_cnp_unsent(struct dpa_np_flow *np)
{
	np->next = 0;
}

#endif
