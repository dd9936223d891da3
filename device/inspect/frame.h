/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * frame.h - a packet as bytes with what the network says about it, and where capture and faults see
 * it.
 */
#ifndef DPA_INSPECT_FRAME_H
#define DPA_INSPECT_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/roce.h"

struct dpa_frame {
	struct dpa_roce_net net;
	const uint8_t
		*p; /* UDP payload; room for 64 bytes in front of it that may be overwritten */
	uint32_t n;
	bool ip_known;	/* net's ip_id and df are what the packet had; else the ICRC is solved for
			   them */
	bool passed_on; /* by another process of this host: later ones may be here before it */
	bool group;	/* off the UDP socket: net.dst is a multicast group's */
	bool from_0;	/* not known, but right if it counts from 0 in each call of the sender's */
	bool other_id;	/* the ICRC is right with one only that does not, whatever was merged */
	bool sure;	/* net.sport is the kernel's information, not another user's */
};

/* Bits of hw->inspect. MODEL is for packets that come; one that leaves meets the other two. */
enum { DPA_INSPECT_CAPTURE = 1, DPA_INSPECT_FAULT = 2, DPA_INSPECT_MODEL = 4 };
#define DPA_INSPECT_TX (DPA_INSPECT_CAPTURE | DPA_INSPECT_FAULT)

enum dpa_inspect_at {
	DPA_AT_TX,  /* UDP, before the socket: captured and subject to faults */
	DPA_AT_RX,  /* UDP, behind the socket: captured, and through the modelled network */
	DPA_AT_SHM, /* off a shared memory lane, on the receiving side: captured, subject to faults,
		       and through the modelled network */
};

typedef void dpa_inspect_emit_fn(void *arg, const struct dpa_frame *f);

#endif
