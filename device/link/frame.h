/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * frame.h - what the links to other hosts share: a packet as bytes with what the network says about
 * it, its way in, and the place where capture and faults look at it.
 *
 * Ways in (all end in dpa_frame_in()):
 *   UDP socket (udp_rx.c) --ours--> dpa_frame_in
 *                         --another process of the board--> lane slot DPA_LINK_FRAME -->
 * dpa_frame_in there
 *                         --another board of the host--> its abstract socket --> one of the two
 * above shared memory lane, while somebody inspects: slot -> frame -> dpa_inspect() -> dpa_frame_in
 */
#ifndef DPA_FRAME_H
#define DPA_FRAME_H

#include "ctx/dev.h"
#include "wire/roce.h"

struct dpa_frame {
	struct dpa_roce_net net;
	const uint8_t
		*p; /* UDP payload; room for 64 bytes in front of it that may be overwritten */
	uint32_t n;
	bool ip_known; /* net's ip_id and df are what the packet had; else the ICRC is solved for
			  them */
};

/*
 * Takes a frame in: decodes it, checks ICRC and P_Key, finds the QP and gives it to the transport.
 * peer: who sent it when the link knows (shared memory); NULL: by the frame's addresses. A frame
 * for a QP of another process or board is passed on once (may_forward) or dropped. Counts what it
 * drops. Locks: takes the QP's; none may be held. Any thread.
 */
void dpa_frame_in(struct dpa_hw *hw, struct dpa_peer *peer, const struct dpa_frame *f,
		  bool may_forward);

/* ---- slots and packets: frame.c ---- */

/* Fills slot and extension (all but seq and data) from a decoded packet; payload as UD wants it:
 * see dpa_frame_in(). src: index part of the sending QP's QPN where known. */
void dpa_slot_of_pkt(const struct dpa_roce_pkt *pkt, uint32_t src, struct dpa_slot *s);
/* The packet of a slot that stands for one packet: header fields; payload and len are the caller's.
 */
void dpa_pkt_of_slot(const struct dpa_slot *s, struct dpa_roce_pkt *pkt);

/* ---- capture and faults: inspect.c, fault.c, capture.c ---- */

enum { DPA_INSPECT_CAPTURE = 1, DPA_INSPECT_FAULT = 2 }; /* bits of hw->inspect */

enum dpa_inspect_at {
	DPA_AT_TX,  /* UDP, before the socket: captured and subject to faults */
	DPA_AT_RX,  /* UDP, behind the socket: captured only */
	DPA_AT_SHM, /* off a shared memory lane, on the receiving side: captured and subject to
		       faults */
};

/*
 * Shows a frame; emit(arg, frame) is called for each frame that goes on: none, one or more, now or
 * later (from dpa_inspect_poll()), possibly damaged. arg must stay valid while the device is open.
 * Copies what it keeps. Any thread; locks of QPs and lanes may be held by the caller at DPA_AT_TX,
 * so emit takes none there but sends.
 */
typedef void dpa_inspect_emit_fn(void *arg, const struct dpa_frame *f);
void dpa_inspect(struct dpa_hw *hw, enum dpa_inspect_at at, const struct dpa_frame *f,
		 dpa_inspect_emit_fn *emit, void *arg);
/* Delayed frames whose time has come; returns how many went on. No lock held. */
int dpa_inspect_poll(struct dpa_hw *hw);
/* When (ns, dpa_now_ns()) the next delayed frame is due; UINT64_MAX: none. */
uint64_t dpa_inspect_due(struct dpa_hw *hw);

/* ---- the UDP port: port4791.c, forward.c ---- */

/*
 * Opens this process's receiving socket, once; later calls return what the first did. Dual-stack
 * where the kernel has IPv6. 0, EADDRINUSE (something else holds the port: logged with its name),
 * or errno. Under hw->ctl or from modify_qp; any thread.
 */
int dpa_udp_open(struct dpa_hw *hw);
void dpa_udp_close(struct dpa_hw *hw);
/* From now on frames have their hop limit: datagrams show it, in their GRH. Else it is 0. */
void dpa_udp_show_hops(struct dpa_hw *hw);
/* A packet that the kernel or a peer gave us although its QP is another's: passed on, or false. */
bool dpa_frame_forward(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t dqpn);

/* ---- udp_rx.c, udp_tx.c ---- */

/* Drains the socket as far as one batch goes; returns the packets taken. Any thread; one at a time
 * gets through. */
int dpa_udp_rx(struct dpa_hw *hw);
struct dpa_lane_stat *dpa_wire_rx_stat(struct dpa_hw *hw); /* hw->wire is there */
/* On this board: reached by memory. Everything else, another board of this host too, by the wire.
 */
static inline bool dpa_is_near(struct dpa_hw *hw, const struct dpa_wqe_av *av, uint32_t qpn)
{
	return qpn >> 16 == hw->board->board_num && hw->cfg.near_link == DPA_CFG_NEAR_AUTO &&
	       dpa_port_find(&hw->port, av->dgid) >= 0;
}
/* The remote of a path, made if need be. NULL: no memory, no socket (errno). */
struct dpa_peer *dpa_remote_get(struct dpa_hw *hw, const struct dpa_wqe_av *av);

#endif
