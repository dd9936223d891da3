/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * frame.h - shared by the links to other hosts: a packet as bytes with the data that the network
 * gives about it, its way in, and the place where capture and faults look at it.
 *
 * Ways in; all end in dpa_pkt_deliver():
 *
 *   UDP socket      for a QP of this process: udp/rx.c
 *   ring            DPA_LINK_FRAME: another process of the adapter received it from its UDP socket
 *   unix socket     another adapter of the host received it: forward.c; may be passed on by a ring
 *   group           from the UDP socket, once for each attached QP of this process: group.c
 *   inspected       an entry of a shared memory ring becomes a frame; dpa_inspect() passes it on
 */
#ifndef DPA_FRAME_H
#define DPA_FRAME_H

#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/peer.h"
#include "inspect/frame.h"
#include "wire/roce.h"

/*
 * Take in a frame: decode it, check ICRC and P_Key, find the QP and give it to the transport.
 * Counts dropped packets.
 * peer: the sender, if the link knows it (shared memory); NULL: found by the frame's addresses.
 * may_forward: pass on a frame for a QP of another process or adapter (once); else drop it.
 * Context: any thread. Takes the QP's lock; the caller holds no QP's lock.
 */
void dpa_frame_in(struct dpa_hw *hw, struct dpa_peer *peer, const struct dpa_frame *f,
		  bool may_forward);

/* ---- entries and packets: frame.c ---- */

/*
 * Fill entry and extension from a decoded packet (all but seq; from: DPA_FROM_UNKNOWN). The payload
 * is laid out as UD needs it: see dpa_frame_in(). src: index part of the sending QP's QPN if known.
 */
void dpa_slot_of_pkt(const struct dpa_roce_pkt *pkt, uint32_t src, struct dpa_slot *s);
/* DPA_FROM_* of a frame from the wire. */
static inline uint32_t dpa_from_of(const struct dpa_frame *f)
{
	return f->sure ? f->net.sport : DPA_FROM_UNKNOWN;
}

/*
 * Fill the header fields of the packet that an entry stands for (one packet). The caller sets
 * payload and len.
 */
void dpa_pkt_of_slot(const struct dpa_slot *s, struct dpa_roce_pkt *pkt);

/* ---- capture and faults: inspect.c, fault.c, capture.c ---- */

/* True while no packet arrives: the port is down (dpa_inspect_down()), or the device has stopped. */
static inline bool dpa_link_is_cut(const struct dpa_hw *hw)
{
	const uint32_t bits = atomic_load_explicit(&hw->inspect, memory_order_relaxed);

	return bits & DPA_INSPECT_DOWN ||
	       (bits & DPA_INSPECT_PEER &&
		atomic_load_explicit(&hw->stopped, memory_order_relaxed));
}

/*
 * Pass a frame through capture and faults. Calls emit(arg, frame) for each frame that goes on:
 * none, one or more, now or later (from dpa_inspect_poll()), possibly damaged. arg stays valid
 * while the device is open. Copies what it keeps.
 * Context: any thread. At DPA_AT_TX the caller may hold locks of QPs and rings, so emit only sends
 * there and takes no such lock.
 */
void dpa_inspect(struct dpa_hw *hw, enum dpa_inspect_at at, const struct dpa_frame *f,
		 dpa_inspect_emit_fn *emit, void *arg);
/*
 * The same at DPA_AT_TX. *users is one higher for each frame that is held back, until it has been
 * emitted. It stays valid while the device is open.
 */
void dpa_inspect_tx(struct dpa_hw *hw, const struct dpa_frame *f, dpa_inspect_emit_fn *emit,
		    void *arg, _Atomic uint32_t *users);
/* Pass on delayed frames whose time has come. Returns their number. Context: no lock held. */
int dpa_inspect_poll(struct dpa_hw *hw);
/* Time (ns, dpa_now_ns()) when the next delayed frame is due; UINT64_MAX: none. */
uint64_t dpa_inspect_due(struct dpa_hw *hw);

/* ---- the UDP port: port4791.c, forward.c ---- */

/* Take in a packet from the UDP socket that dpa_inspect() passes on now. arg: the dpa_hw. */
void dpa_udp_arrive(void *arg, const struct dpa_frame *f);

/*
 * Open this process's receiving socket, once; later calls return the first result. Dual-stack if
 * the kernel has IPv6. Returns 0, EADDRINUSE (another program holds the port; its name is logged),
 * or an errno. Context: any thread; under hw->ctl or from modify_qp.
 */
int dpa_udp_open(struct dpa_hw *hw);
/*
 * Stop receiving packets. Packets that are here already and belong to another process are passed
 * on, also over rings to processes that are just being connected: waits for that, 0.1 s at most,
 * while the service thread runs. takes: the caller reads packets from the socket meanwhile; else
 * only other threads do, and no lock is waited for. Context: no lock held except the one of
 * opening.
 */
void dpa_udp_leave(struct dpa_hw *hw, bool takes);
void dpa_udp_close(struct dpa_hw *hw);
/*
 * From now on frames carry hop limit and flow label, for the GRH of datagrams. Before they are 0.
 */
void dpa_udp_show_hops(struct dpa_hw *hw);
/*
 * A QP with this number is about to receive from other hosts: let the kernel give its packets to
 * this process from now on. If that is not possible now the progress thread does it soon, and
 * packets take a detour until then. Context: any thread; no board lock held.
 */
void dpa_steer_qp(struct dpa_hw *hw, uint32_t qpn);
/*
 * Pass on a packet that the kernel or a peer gave to this process although its QP is another's.
 * False: it cannot be passed on.
 */
bool dpa_frame_forward(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t dqpn);

/* ---- group.c: multicast groups of QPs of this process on the wire. Any thread. ---- */

/*
 * A QP was attached to, or detached from, a group. While the port is open the groups are joined on
 * each interface with an address of their family (except lo). ENOMEM: no memory, or the kernel
 * joins no more groups.
 */
int dpa_group_join(struct dpa_hw *hw, const uint8_t gid[16]);
void dpa_group_leave(struct dpa_hw *hw, const uint8_t gid[16]);
/* Join again after the port was opened or the addresses changed. */
void dpa_groups_refresh(struct dpa_hw *hw);
/* True if datagrams to this group can leave for other hosts from this address. */
bool dpa_group_leads_out(const struct dpa_hw_gid *from, const uint8_t gid[16]);
/*
 * Deliver a packet for a group or the multicast QPN to each attached QP of this process. `cur` and
 * the result as for dpa_pkt_deliver().
 */
struct dpa_hw_qp *dpa_group_deliver(struct dpa_hw *hw, struct dpa_hw_qp *cur,
				    const struct dpa_frame *f, const struct dpa_roce_pkt *pkt);

/* ---- udp/rx.c, udp/tx.c ---- */

/*
 * Read the socket, one batch at most. Returns the number of packets. Any thread; one at a time gets
 * through, others return 0.
 */
int dpa_udp_rx(struct dpa_hw *hw);
struct dpa_lane_stat *dpa_wire_rx_stat(struct dpa_hw *hw); /* hw->wire exists */
/*
 * True for an endpoint on this adapter instance, which is reached by memory. Every other endpoint
 * is reached by the wire, also one of another instance on this host.
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
 * Return the remote of a path from `port`; create it if there is none. For connected QPs: it is
 * never reused. NULL: no memory or no socket (errno).
 */
struct dpa_peer *dpa_remote_get(struct dpa_hw *hw, struct dpa_port *port,
				const struct dpa_wqe_av *av);
/*
 * The same for datagrams: the remote keeps this path until dpa_remote_drop(). NULL: EBUSY (all
 * remotes are in use), too.
 */
struct dpa_peer *dpa_remote_hold(struct dpa_hw *hw, struct dpa_port *port,
				 const struct dpa_wqe_av *av);
void dpa_remote_drop(struct dpa_peer *remote);

#endif
