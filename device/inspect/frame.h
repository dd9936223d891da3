/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * frame.h - a packet as bytes with the data of the network, and the places where capture and faults
 * see it.
 */
#ifndef DPA_INSPECT_FRAME_H
#define DPA_INSPECT_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/roce.h"

struct dpa_frame {
	struct dpa_roce_net net;
	const uint8_t *p; /* UDP payload; 64 bytes of room in front of it may be overwritten */
	uint32_t n;
	/* net's ip_id and df are those of the packet; false: computed from the ICRC */
	bool ip_known;
	/* passed on by another process of this host: later packets may be here before it */
	bool passed_on;
	bool group;  /* from the UDP socket: net.dst is the address of a multicast group */
	bool from_0; /* unknown, but valid if the sender counts from 0 in each call */
	/* the ICRC is valid only with an identification that does not count that way */
	bool other_id;
	bool sure; /* net.sport is from the kernel, not from another user */
};

/* Bits of hw->inspect. Of the first three, MODEL applies to arriving packets, the other two also to leaving ones. */
enum { DPA_INSPECT_CAPTURE = 1, DPA_INSPECT_FAULT = 2, DPA_INSPECT_MODEL = 4 };
#define DPA_INSPECT_FRAMES (DPA_INSPECT_CAPTURE | DPA_INSPECT_FAULT | DPA_INSPECT_MODEL)
/* Failures are injected into completions: no frame is looked at, but QPs take no fast path. */
#define DPA_INSPECT_INJECT 8u
/* The port is down: no packet of this process leaves or arrives, on any link. */
#define DPA_INSPECT_DOWN   16u
/*
 * There are rules about requests of peers: an answer may be late or never come, and the device of this
 * process may stop (inject/inject.h). Peers run their timers, as on a link that loses packets.
 */
#define DPA_INSPECT_PEER   32u
/* of a packet that arrives */
#define DPA_INSPECT_LOOK   (DPA_INSPECT_FRAMES | DPA_INSPECT_DOWN | DPA_INSPECT_PEER)
#define DPA_INSPECT_TX	   (DPA_INSPECT_CAPTURE | DPA_INSPECT_FAULT | DPA_INSPECT_DOWN)

enum dpa_inspect_at {
	DPA_AT_TX, /* UDP, before the socket: capture and faults */
	DPA_AT_RX, /* UDP, after the socket: capture and modelled network */
	/* from a shared memory ring, on the receiving side: capture, faults and modelled network */
	DPA_AT_SHM,
};

typedef void dpa_inspect_emit_fn(void *arg, const struct dpa_frame *f);

#endif
