/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* wqes.h - the way of each WQE through the events of a recording, and the packets between. */
#ifndef DPACTL_TRACE_WQES_H
#define DPACTL_TRACE_WQES_H

#include "store.h"

/*
 * Moments of a WQE, in the order in which they normally come. A stage of a WQE is the time from one
 * moment that is known to the next one.
 */
enum wqe_moment {
	WQE_POST,     /* the program called */
	WQE_DOORBELL, /* it was written */
	WQE_PICKUP,   /* an EU, or the poster, found the WQE */
	WQE_SENT,     /* its last packet entered the link */
	WQE_ARRIVED,  /* its last packet reached its QP at the peer */
	WQE_PLACED,   /* the peer had carried it out */
	WQE_RECV_CQE, /* the peer had a CQE for its receive */
	WQE_RECV_POLLED,
	WQE_ACKED, /* an acknowledgement or response arrived */
	WQE_CQE,   /* its own CQE was written */
	WQE_POLLED,
	WQE_MOMENTS
};

#define WQE_NONE UINT32_MAX

struct wqe {
	uint64_t at[WQE_MOMENTS]; /* ticks; 0: unknown */
	uint32_t qpn, dest, idx, len, psn, npsn;
	uint16_t proc, peer; /* peer: valid with ARRIVED */
	uint8_t opcode, status;
	bool blueflame, direct; /* direct: without a packet */
	uint32_t vendor;
};

struct packet {
	uint32_t tx, rx; /* events in the store; rx: WQE_NONE if it did not arrive */
};

struct wqes {
	struct wqe *w;
	size_t n;
	struct packet *p;
	size_t np;
};

/* Text of a moment or of the stage that ends with it, as in the JSON file. */
extern const char *const wqe_stage_names[WQE_MOMENTS];

/* Find all of them. s is sorted. Ends the process without memory. */
void wqes_find(const struct store *s, struct wqes *out);
void wqes_free(struct wqes *w);

#endif
