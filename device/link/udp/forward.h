/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* forward.h - packets passed on inside the host; private to device/link. */
#ifndef DPA_FORWARD_H
#define DPA_FORWARD_H

#include "ctx/hw.h"
#include "link/lane.h"
#include "link/frame.h"
#include "link/udp/udp.h"

#define DPA_FWD_MAGIC 0x31574644u /* "DFW1" */
/* Length of the largest packet: headers, payload, pad, ICRC. */
#define DPA_FWD_MAX   (DPA_ROCE_MAX_HDR + DPA_ROCE_MAX_MTU + 4u + DPA_ROCE_ICRC)

/*
 * Header in front of a packet's bytes: struct dpa_roce_net, ip_known and sure, in host order (both
 * ends are on one host). 4 + 32 + 6 + 2 + 4 + 3 + 13 = 64, the room that a frame has in front.
 */
struct dpa_fwd {
	uint32_t magic;
	uint8_t src[16], dst[16];
	uint16_t sport, dport, ip_id;
	uint8_t tclass, hop;
	uint32_t flow;
	uint8_t df, ip_known, sure;
	uint8_t rsvd[13];
};
_Static_assert(sizeof(struct dpa_fwd) == 64, "fwd");
_Static_assert(offsetof(struct dpa_fwd, sport) == 36, "fwd");
_Static_assert(offsetof(struct dpa_fwd, flow) == 44, "fwd");

void dpa_fwd_pack(struct dpa_fwd *h, const struct dpa_frame *f);
/* False: not a valid header. f->p becomes p. */
bool dpa_fwd_unpack(struct dpa_frame *f, const struct dpa_fwd *h, const uint8_t *p, uint32_t n);
/*
 * Take an entry with opcode DPA_LINK_FRAME from a ring. No QP's lock may be held; the ring's lock
 * may.
 */
void dpa_forward_take(struct dpa_hw *hw, const struct dpa_slot *s, const uint8_t *payload);

/*
 * Pass a packet to another adapter instance of the host, for any QPN. 0, or EAGAIN: there is no
 * room now, there or in this process (descriptors); EHOSTUNREACH: there is none with this number.
 */
int dpa_forward_board(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t num);

/*
 * Pass a packet to all other adapter instances, over connections made for it: some 300 system
 * calls. 0: there are others, or may be; each of them may lose it. EHOSTUNREACH: there are none.
 */
int dpa_forward_boards(struct dpa_hw *hw, const struct dpa_frame *f);

/* True if a packet waits in a ring for a process that is not connected yet. Any thread, no lock. */
bool dpa_fwd_waits(struct dpa_hw *hw);

/*
 * Take packets that others passed on to this process. Returns their number; 0: none, or another
 * thread takes them. Any thread; the caller holds no lock that a packet needs.
 */
int dpa_fwd_rx(struct dpa_hw *hw);
/* Service thread only: handle the socket of the adapter's number and new connections. */
void dpa_fwd_accept(struct dpa_hw *hw);
/* Watch the number's socket if this process holds it; claim it when it is needed. */
void dpa_fwd_watch(struct dpa_hw *hw);
void dpa_fwd_unwatch(struct dpa_hw *hw);

void dpa_fwd_init(struct dpa_udp *u);
void dpa_fwd_close(struct dpa_udp *u);

#endif
