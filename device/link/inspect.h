/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inspect.h - faults, the modelled network and capture, for the places that show them packets.
 * frame.h has what a link shows and how.
 *
 * Order: first the faults, then the network, then the capture: it records what arrives, not what
 * came, and at the time of its arrival.
 */
#ifndef DPA_INSPECT_H
#define DPA_INSPECT_H

#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/peer.h"
#include "inspect/fault.h"
#include "inspect/model.h"
#include "link/frame.h"

/* Opens what the settings ask for. 0 or errno, with a line in err. */
int dpa_inspect_init(struct dpa_hw *hw, char *err, size_t errlen);
void dpa_inspect_fini(struct dpa_hw *hw);    /* no other thread is at work */
void dpa_inspect_abandon(struct dpa_hw *hw); /* forked child: closes the descriptors */
/* Follows what is asked of the board. Cheap; service thread, and whoever creates a QP. */
void dpa_inspect_tick(struct dpa_hw *hw);
/* This peer ends, its lanes have been read: what it sent and is held back arrives now. */
void dpa_inspect_last(struct dpa_peer *p);
/* Writes the consumer's words of the lanes from this peer: may it be pulled from, may it lose. */
void dpa_inspect_lanes(struct dpa_peer *p);
/*
 * Are the faults such that packets are lost and nothing else, with nobody who captures? Then who
 * sends may ask for each packet, header p, n bytes in all, and need not show it: is it lost?
 */
bool dpa_inspect_only_drops(struct dpa_hw *hw);
bool dpa_inspect_drops(struct dpa_hw *hw, const uint8_t *p, uint32_t n);
/*
 * A slot off a lane for this QP, which is locked: shows it as frames. True: it did, and has let go
 * of the QP. False: not a packet that can be shown; nothing happened.
 */
bool dpa_inspect_slot(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload);

#endif
