/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * replay.h - gives the packets of a capture to a responder or a requester of the device, in virtual
 * time, and compares what it sends with what was captured.
 *
 * A flow is the requests to one QP from one address, and the answers to them. Each flow is replayed
 * by itself: to a QP with the number of the captured one, over the device's transport (alone.h).
 * The same file and options give the same events: no clock, no thread, no random number.
 */
#ifndef DPA_REPLAY_H
#define DPA_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <dpa_hw.h>
#include "wire/roce.h"

enum dpa_replay_role { DPA_REPLAY_RESPONDER = 1, DPA_REPLAY_REQUESTER = 2, DPA_REPLAY_BOTH = 3 };

#define DPA_REPLAY_REGIONS  64u
#define DPA_REPLAY_COUNTS   4u
#define DPA_REPLAY_TEXT	    120u
#define DPA_REPLAY_CAPTURED UINT32_MAX	     /* receives: missing when the capture has an RNR NAK */
#define DPA_REPLAY_ALWAYS   (UINT32_MAX - 1) /* receives: there is always one */

/* A region that the user names. */
struct dpa_replay_region {
	uint32_t rkey, access; /* enum dpa_access */
	uint64_t addr, len;
};

struct dpa_replay_opt {
	enum dpa_replay_role role;
	uint32_t qpn;	   /* only flows with this QPN at either end; 0: all */
	uint32_t receives; /* that are posted at the beginning, or DPA_REPLAY_CAPTURED, _ALWAYS */
	uint32_t mtu;	   /* bytes; 0: as the packets show */
	uint8_t timeout, retry, rnr_retry, min_rnr, rd; /* attributes of the QP */
	bool dcqcn;					/* with congestion control */
	uint64_t most_events;				/* of all flows; 0: 500,000 */
	uint64_t most_read;				/* bytes of a READ; 0: 256 MiB */
	uint32_t nregions;
	struct dpa_replay_region region[DPA_REPLAY_REGIONS];
	/* Set by another thread or a signal handler: end soon. NULL: nothing does. */
	const volatile int *stop;
};

enum dpa_replay_what {
	DPA_REPLAY_FLOW,      /* a flow begins */
	DPA_REPLAY_REGION,    /* of the flow: `region` */
	DPA_REPLAY_IN,	      /* a captured packet is given to the device */
	DPA_REPLAY_OUT,	      /* a packet that the device sends */
	DPA_REPLAY_BESIDE,    /* a captured packet of the side that is replayed */
	DPA_REPLAY_POST,      /* requester: a work request */
	DPA_REPLAY_TIMER,     /* a timer of the device ran, and changed its state */
	DPA_REPLAY_COMPLETED, /* a completion */
	DPA_REPLAY_NOTE,      /* text */
};

/* OUT and BESIDE: how one compares with the other. */
enum dpa_replay_mark {
	DPA_REPLAY_UNMARKED,
	DPA_REPLAY_SAME,
	DPA_REPLAY_COVERED,  /* an ACK that the other side left out or combined with another */
	DPA_REPLAY_ADDITION, /* a difference: the other side has no such packet */
	DPA_REPLAY_DIFFERS,  /* a difference: the other side's has another value: `text` */
};

struct dpa_replay_state {
	uint8_t state; /* enum dpa_qp_state */
	/* responder */
	uint32_t epsn, msn, queued; /* queued: out-of-order packets */
	bool nak;		    /* a NAK was sent, and what it asks for has not come */
	/* requester */
	uint32_t una, next, max; /* PSNs: oldest, next to be sent, one past the highest */
	uint8_t retry, rnr;	 /* retries that are left */
	bool recovery, probing, waits;
};

struct dpa_replay_event {
	enum dpa_replay_what what;
	enum dpa_replay_mark mark;
	uint64_t ns;	 /* since the first packet of the capture */
	uint32_t no;	 /* number of the packet in the file; 0: it is not in it */
	uint32_t other;	 /* number of the packet that it is compared with; 0: none in the file */
	bool again;	 /* OUT, BESIDE of a requester: a retransmission */
	bool cut;	 /* the payload was not captured: zeros, the ICRC was not checked */
	const char *did; /* what the device decided; NULL */
	uint32_t vendor_err;	 /* IN: why an access is refused; COMPLETED */
	struct dpa_roce_pkt pkt; /* IN, OUT, BESIDE; payload is NULL */
	struct dpa_replay_state was, is;
	uint32_t ncounts;
	struct {
		const char *name;
		uint64_t n;
	} count[DPA_REPLAY_COUNTS]; /* of the device that rose */
	struct dpa_replay_region region;
	struct {
		uint8_t opcode, status; /* enum dpa_cqe_opcode, dpa_cqe_status */
		bool send;
		uint64_t wr_id;
		uint32_t len;
	} wc; /* COMPLETED; POST: wr_id and len */
	struct {
		enum dpa_replay_role role;
		uint8_t transport; /* DPA_BTH_RC, ... */
		uint8_t local[16], peer[16];
		uint32_t qpn, dest, mtu, psn;
		bool dest_known, cm; /* cm: from messages of the communication manager */
	} flow;
	char text[DPA_REPLAY_TEXT];
};

struct dpa_replay_sum {
	uint32_t packets, other, cut, malformed, icrc; /* of the file */
	uint32_t flows, in, out, same, covered, differences;
	uint32_t early; /* limits that left packets of the selected flows out; a note names each */
	bool stopped;
};

typedef void dpa_replay_fn(void *arg, const struct dpa_replay_event *e);

/*
 * Replay a file of n bytes: `fn` gets the events, flow by flow, in the order of time. False: err
 * has the reason: no capture, no memory; or the file is damaged, and the packets before that were
 * replayed.
 */
bool dpa_replay_run(const uint8_t *file, size_t n, const struct dpa_replay_opt *o,
		    dpa_replay_fn *fn, void *arg, struct dpa_replay_sum *sum, char *err,
		    size_t errlen);

/*
 * Write the packets of the flows that `o` selects as a capture: raw IP, times from 0 on; with a QPN
 * only the CM messages that connected it. payload false: zeros in place of it, of what is behind the
 * headers of a malformed packet, and of the private data of CM messages. A right ICRC stays right, a
 * wrong one wrong. put() gets the bytes, in order; false: an error, which is returned.
 */
typedef bool dpa_replay_put_fn(void *arg, const void *p, size_t n);
bool dpa_replay_reduce(const uint8_t *file, size_t n, const struct dpa_replay_opt *o, bool payload,
		       dpa_replay_put_fn *put, void *arg, char *err, size_t errlen);

#endif
