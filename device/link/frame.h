/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * frame.h - what the links to other hosts share: a packet as bytes with what the network says about
 * it, its way in, and the place where capture and faults look at it.
 *
 * Ways in, all of which end in dpa_pkt_deliver():
 *
 *   UDP socket      of a QP of this process: udp_rx.c
 *
 *   lane            DPA_LINK_FRAME: another process of the board had it off its UDP socket
 *
 *   unix socket     another board of the host had it: forward.c; here it may be passed on by a lane
 *
 *   group           off the UDP socket, once for each QP of this process that is attached: group.c
 *
 *   inspected       a slot of a shared memory lane becomes a frame, and dpa_inspect() lets it go on
 */
#ifndef DPA_FRAME_H
#define DPA_FRAME_H

#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/peer.h"
#include "inspect/frame.h"
#include "wire/roce.h"

/*
 * Takes a frame in: decodes it, checks ICRC and P_Key, finds the QP and gives it to the transport.
 * peer: who sent it when the link knows (shared memory); NULL: by the frame's addresses. A frame
 * for a QP of another process or board is passed on once (may_forward) or dropped. Counts what it
 * drops. Locks: takes the QP's; none may be held. Any thread.
 */
void dpa_frame_in(struct dpa_hw *hw, struct dpa_peer *peer, const struct dpa_frame *f,
		  bool may_forward);

/* ---- slots and packets: frame.c ---- */

/* Fills slot and extension (all but seq; from: DPA_FROM_UNKNOWN) from a decoded packet; payload as
 * UD wants it: see dpa_frame_in(). src: index part of the sending QP's QPN where known. */
void dpa_slot_of_pkt(const struct dpa_roce_pkt *pkt, uint32_t src, struct dpa_slot *s);
/* DPA_FROM_* of a frame off the wire. */
static inline uint32_t dpa_from_of(const struct dpa_frame *f)
{
	return f->sure ? f->net.sport : DPA_FROM_UNKNOWN;
}

/* The packet of a slot that stands for one packet: header fields; payload and len are the caller's.
 */
void dpa_pkt_of_slot(const struct dpa_slot *s, struct dpa_roce_pkt *pkt);

/* ---- capture and faults: inspect.c, fault.c, capture.c ---- */

/*
 * Shows a frame; emit(arg, frame) is called for each frame that goes on: none, one or more, now or
 * later (from dpa_inspect_poll()), possibly damaged. arg must stay valid while the device is open.
 * Copies what it keeps. Any thread; locks of QPs and lanes may be held by the caller at DPA_AT_TX,
 * so emit takes none there but sends.
 */
void dpa_inspect(struct dpa_hw *hw, enum dpa_inspect_at at, const struct dpa_frame *f,
		 dpa_inspect_emit_fn *emit, void *arg);
/* Delayed frames whose time has come; returns how many went on. No lock held. */
int dpa_inspect_poll(struct dpa_hw *hw);
/* When (ns, dpa_now_ns()) the next delayed frame is due; UINT64_MAX: none. */
uint64_t dpa_inspect_due(struct dpa_hw *hw);

/* ---- the UDP port: port4791.c, forward.c ---- */

/* A packet off the UDP socket (of the dpa_hw that is arg) that dpa_inspect() lets arrive now. */
void dpa_udp_arrive(void *arg, const struct dpa_frame *f);

/*
 * Opens this process's receiving socket, once; later calls return what the first did. Dual-stack
 * where the kernel has IPv6. 0, EADDRINUSE (something else holds the port: logged with its name),
 * or errno. Under hw->ctl or from modify_qp; any thread.
 */
int dpa_udp_open(struct dpa_hw *hw);
/*
 * No packets come in any more; those that are here already and are another process's are passed on,
 * also over lanes to processes that are just being met: waits for that, a tenth of a second at
 * most, while the service thread runs. `takes`: the caller takes packets off the socket meanwhile;
 * else only others do, and no lock is waited for. No lock held but the one of opening.
 */
void dpa_udp_leave(struct dpa_hw *hw, bool takes);
void dpa_udp_close(struct dpa_hw *hw);
/* From now on frames have hop limit and flow label: datagrams show them, in their GRH. Else they
 * are 0. */
void dpa_udp_show_hops(struct dpa_hw *hw);
/*
 * A QP with this number is about to hear other hosts: the kernel gives its packets to this process
 * from now on. If that cannot be now the parked EU does it soon, and packets take a detour until
 * then. Any thread; no board's lock held.
 */
void dpa_steer_qp(struct dpa_hw *hw, uint32_t qpn);
/* A packet that the kernel or a peer gave us although its QP is another's: passed on, or false. */
bool dpa_frame_forward(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t dqpn);

/* ---- group.c: multicast groups of QPs of this process on the wire. Any thread. ---- */

/*
 * A QP is attached to, detached from a group. The groups are joined on each interface that has an
 * address of their family (but lo), from when the port is open. ENOMEM: no memory, or the kernel
 * joins no more groups.
 */
int dpa_group_join(struct dpa_hw *hw, const uint8_t gid[16]);
void dpa_group_leave(struct dpa_hw *hw, const uint8_t gid[16]);
/* The port was opened, or the addresses changed. */
void dpa_groups_refresh(struct dpa_hw *hw);
/* Can datagrams to this group go to other hosts from this address? */
bool dpa_group_leads_out(const struct dpa_hw_gid *from, const uint8_t gid[16]);
/*
 * A packet to a group or the multicast QPN: to each QP of this process that is attached. `cur` and
 * the result as with dpa_pkt_deliver().
 */
struct dpa_hw_qp *dpa_group_deliver(struct dpa_hw *hw, struct dpa_hw_qp *cur,
				    const struct dpa_frame *f, const struct dpa_roce_pkt *pkt);

/* ---- udp_rx.c, udp_tx.c ---- */

/* Drains the socket as far as one batch goes; returns the packets taken. Any thread; one at a time
 * gets through. */
int dpa_udp_rx(struct dpa_hw *hw);
struct dpa_lane_stat *dpa_wire_rx_stat(struct dpa_hw *hw); /* hw->wire is there */
/* On this board: reached by memory. Everything else, another board of this host too, by the wire.
 */
static inline bool dpa_is_near(struct dpa_hw *hw, const struct dpa_wqe_av *av, uint32_t qpn)
{
	if (qpn >> 16 != hw->board->board_num || hw->cfg.near_link != DPA_CFG_NEAR_AUTO)
		return false;
	if (!av->is_global)
		return dpa_cfg_has_lid(&hw->cfg, av->dlid);
	return dpa_port_is_own(&hw->port, av->dgid);
}
/*
 * The remote of a path from `port`, made if need be; it stays for connected QPs. NULL: no memory,
 * no socket (errno).
 */
struct dpa_peer *dpa_remote_get(struct dpa_hw *hw, struct dpa_port *port,
				const struct dpa_wqe_av *av);
/* The same for datagrams: it is this path's until dpa_remote_drop(). NULL: EBUSY, too, too many. */
struct dpa_peer *dpa_remote_hold(struct dpa_hw *hw, struct dpa_port *port,
				 const struct dpa_wqe_av *av);
void dpa_remote_drop(struct dpa_peer *remote);

#endif
