/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcc.h - between the transport and what decides how fast a flow may send.
 *
 * A flow is what one QP sends. The transport says what happened to it (struct dpa_pcc_event), an
 * algorithm answers with a rate, a window and the events that it wants to hear of (struct
 * dpa_pcc_result). Everything here is a pure function of its arguments: no clock, no allocation, no
 * lock, integers only. A flow belongs to whoever holds its QP's lock. Time is in nanoseconds of any
 * one clock; a time before the last one counts as no time passed. docs/congestion.md has the rest.
 */
#ifndef DPA_PCC_H
#define DPA_PCC_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

/* Bounds of what any algorithm's answer has on a flow; the transport never sees others. */
#define DPA_PCC_NO_LIMIT (UINT64_C(1) << 40) /* bytes/s: as fast as it goes; the highest rate */
#define DPA_PCC_RATE_MIN UINT64_C(125000)    /* 1 Mbit/s: a flow never stands still */
#define DPA_PCC_WND_MIN	 4096u		     /* one packet */
#define DPA_PCC_WND_MAX	 (1u << 30)
#define DPA_PCC_NEVER	 UINT64_MAX

enum dpa_pcc_event_type {
	DPA_PCC_ACK,	 /* bytes newly acknowledged (also by READ responses), rtt, inflight */
	DPA_PCC_LOSS,	 /* something was lost: a NAK for a PSN sequence error, or an implied one */
	DPA_PCC_TIMEOUT, /* the local ACK timer expired */
	DPA_PCC_RNR,	 /* RNR NAK: the peer's receive queue, not the network */
	DPA_PCC_CNP,	 /* the peer answered a packet that was marked on its way */
	DPA_PCC_SENT,	 /* bytes that left, repetitions too */
	DPA_PCC_TIMER,	 /* the time that the algorithm asked for has come */
	DPA_PCC_RTT, /* a probe that the algorithm asked for was answered: rtt_ns, req_*, resp_sent */
	DPA_PCC_EVENTS
};
#define DPA_PCC_WANT(type) (1u << (type))

struct dpa_pcc_event {
	uint64_t now;
	uint32_t type;	   /* enum dpa_pcc_event_type */
	uint32_t psn;	   /* of the packet that it is about; 0 where there is none */
	uint64_t rtt_ns;   /* ACK: from sending to its arrival, 0: no sample (repeated packets) */
	uint32_t bytes;	   /* ACK, SENT */
	uint32_t inflight; /* ACK: bytes that were out when it came, these included */
	uint32_t end_psn;  /* LOSS: one past the last that was sent by then */
	/* RTT: ns, the low 32 bits: when the probe left, by this side's clock; when it came and when
	 * the answer left, by the other side's. rtt_ns has the time of the other side in it */
	uint32_t req_sent, req_recv, resp_sent;
};

struct dpa_pcc_result {
	uint64_t rate;	 /* bytes/s; DPA_PCC_NO_LIMIT: not paced */
	uint64_t wake;	 /* when TIMER is wanted, DPA_PCC_NEVER: not */
	uint32_t window; /* bytes that may be out */
	uint32_t events; /* DPA_PCC_WANT() of those that it must hear of; CNP without: ignored */
	uint8_t probes;	 /* asked for so far, modulo 256: another number than before sends one with
			    the next packet. One is under way at a time, the last */
};

#define DPA_PCC_PRIV 72 /* bytes of an algorithm's own for each flow */

/*
 * An algorithm. param: the same for all flows, NULL: its defaults. get() is the answer that follows
 * from the state, asked for after init() and each event.
 */
struct dpa_pcc_algo {
	const char *name;
	void (*init)(void *priv, const void *param, uint64_t now);
	void (*on_event)(void *priv, const void *param, const struct dpa_pcc_event *ev);
	void (*get)(const void *priv, const void *param, struct dpa_pcc_result *res);
};

/* A flow: 128 bytes, line 0 is what each packet reads. */
struct dpa_pcc_flow {
	uint64_t rate;	  /* read-only for the transport, as window and wake are */
	uint64_t wake;	  /* ns */
	uint32_t window;  /* bytes */
	uint16_t events;  /* DPA_PCC_WANT() */
	uint8_t active;	  /* paced, or the algorithm wants SENT or TIMER */
	uint8_t probes;	  /* of struct dpa_pcc_result */
	int64_t tokens;	  /* bytes * 10^9 that may go at once; negative: owed */
	uint64_t fill_at; /* when tokens were last added */
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

/* At the transition to RTS, and whenever a QP starts anew. */
void dpa_pcc_init(struct dpa_pcc_flow *f, const struct dpa_pcc_algo *algo, const void *param,
		  uint64_t now);
/* The most that leaves at once after a pause, bytes. */
uint32_t dpa_pcc_burst(const struct dpa_pcc_flow *f);
/* Not for the transport: see the functions below. */
void dpa_pcc_deliver(struct dpa_pcc_flow *f, const struct dpa_pcc_event *ev);
uint64_t dpa_pcc_wait(struct dpa_pcc_flow *f, uint64_t now, uint32_t bytes);
void dpa_pcc_spend(struct dpa_pcc_flow *f, uint64_t now, uint32_t bytes);

/* False: the algorithm does not want it (CNP: rp_cnp_ignored, else rp_cnp_handled). */
static inline bool dpa_pcc_event(struct dpa_pcc_flow *f, const struct dpa_pcc_event *ev)
{
	if (ev->type >= DPA_PCC_EVENTS || !(f->events & DPA_PCC_WANT(ev->type)))
		return false;
	dpa_pcc_deliver(f, ev);
	return true;
}

/* Is the time of any interest: where not, may_send() and sent() need none (now may be 0). */
static inline bool dpa_pcc_active(const struct dpa_pcc_flow *f)
{
	return f->active;
}

/*
 * May `bytes` more leave now: 0, or the ns to wait before asking again. Takes nothing: sent() does.
 * The window is the transport's to compare, with what it has out. Calls for the algorithm's timer
 * if that is due, so that nobody has to wake up for it.
 */
static inline uint64_t dpa_pcc_may_send(struct dpa_pcc_flow *f, uint64_t now, uint32_t bytes)
{
	return dpa_pcc_active(f) ? dpa_pcc_wait(f, now, bytes) : 0;
}

/* `bytes` (of packets, with their headers or without) have left; any batch at a time. */
static inline void dpa_pcc_sent(struct dpa_pcc_flow *f, uint64_t now, uint32_t bytes)
{
	if (dpa_pcc_active(f))
		dpa_pcc_spend(f, now, bytes);
}

/* ------------------------------------------------------------ notification point */

#define DPA_ECN_MASK	0x03 /* of the IPv4 TOS or IPv6 traffic class byte */
#define DPA_ECN_ECT0	0x02 /* what a sender with congestion control sets */
#define DPA_ECN_CE	0x03
#define DPA_CNP_MIN_GAP UINT64_C(50000) /* ns, min_time_between_cnps of one flow */

/* Of a QP that receives; zero it at the transition to RTR. */
struct dpa_np_flow {
	uint64_t next; /* no CNP before this time */
};

enum {
	DPA_NP_MARKED = 1, /* count np_ecn_marked_roce_packets */
	DPA_NP_ANSWER = 2, /* send a CNP and count np_cnp_sent */
};

/*
 * The response that a packet with this TOS or traffic class calls for; not asked about CNPs
 * themselves.
 */
unsigned dpa_cnp_np(struct dpa_np_flow *np, uint8_t tos, uint64_t now);
/* The CNP that ANSWER asked for could not be sent: the next marked packet asks again. */
static inline void dpa_cnp_unsent(struct dpa_np_flow *np)
{
	np->next = 0;
}

#endif
