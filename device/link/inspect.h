/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inspect.h - faults, the modelled network and capture, for the places that show them packets.
 * frame.h has the interface of a link.
 * Order: first the faults, then the network, then the capture. So the capture records packets as
 * they arrive, after damage and delay, with the time of arrival.
 */
#ifndef DPA_INSPECT_H
#define DPA_INSPECT_H

#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/peer.h"
#include "inspect/fault.h"
#include "inspect/model.h"
#include "link/frame.h"

/* Open what the settings ask for. 0 or an errno with a message in err. */
int dpa_inspect_init(struct dpa_hw *hw, char *err, size_t errlen);
void dpa_inspect_fini(struct dpa_hw *hw);    /* no other thread uses it */
void dpa_inspect_abandon(struct dpa_hw *hw); /* forked child: closes the descriptors */
/*
 * Carry out requests for the whole adapter. Cheap. Context: the service thread, and threads that
 * create a QP.
 */
void dpa_inspect_tick(struct dpa_hw *hw);
/* True while packets are inspected or a timeline is recorded, and while a request is not followed. */
bool dpa_inspect_wants_ticks(struct dpa_hw *hw);
/*
 * Failures are injected into what QPs do (on), and into requests of peers (peers), or no longer.
 * Context: no lock held.
 */
void dpa_inspect_inject(struct dpa_hw *hw, bool on, bool peers);
/* A capture records that something failed on request, `ago` ns before now. Any thread, any lock. */
void dpa_inspect_failure(struct dpa_hw *hw, const char *line, uint64_t ago);
/*
 * An injected failure takes the port of this process down, or no longer. `dpactl port` does the same
 * for all processes of the adapter: the port is up if neither does. While it is down packets are lost on
 * each link in both directions, and dpa_port_state() is DOWN. Context: no lock held.
 */
void dpa_inspect_down(struct dpa_hw *hw, bool down);
/* A peer ends, and its rings have been read: frames of it that are held back arrive now. */
void dpa_inspect_last(struct dpa_peer *p);
/*
 * Write the consumer's words of the rings from this peer: whether pull is possible, whether packets
 * may be lost.
 */
void dpa_inspect_lanes(struct dpa_peer *p);
/*
 * True if the faults only drop packets and no capture runs. Then a sender may ask for each packet
 * (header p, n bytes in total) whether it is lost, instead of showing it.
 */
bool dpa_inspect_only_drops(struct dpa_hw *hw);
bool dpa_inspect_drops(struct dpa_hw *hw, const uint8_t *p, uint32_t n);
/*
 * Show an entry of a ring for this QP as frames. The QP is locked. True: done, and the QP is
 * unlocked. False: the entry cannot be shown as packets; nothing happened.
 */
bool dpa_inspect_slot(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload);

#endif
