/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* peer_end.h - peers that died, and what peers have sent last. */
#ifndef DPA_EU_PEER_END_H
#define DPA_EU_PEER_END_H

#include <stdbool.h>

struct dpa_hw;
struct dpa_peer;

/* Service thread only. */
void dpa_peer_died(struct dpa_hw *hw, struct dpa_peer *p);
/*
 * Takes what the processes of this adapter instance have published for this one before the call.
 * Waits for a thread that drains a lane. No lock may be held.
 */
void dpa_peers_drain(struct dpa_hw *hw);
/* Check the liveness of suspect peers on the board. True: some stay suspect. Service thread. */
bool dpa_peers_check(struct dpa_hw *hw);

#endif
