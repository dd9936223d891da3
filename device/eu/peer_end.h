/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* peer_end.h - peers that died, and the packets that peers sent last. */
#ifndef DPA_EU_PEER_END_H
#define DPA_EU_PEER_END_H

#include <stdbool.h>

struct dpa_hw;
struct dpa_peer;

/* Remove a peer that died. Context: service thread only. */
void dpa_peer_died(struct dpa_hw *hw, struct dpa_peer *p);
/*
 * Take in all packets that the processes of this adapter instance published for this one before the
 * call. Waits for threads that drain a ring. Context: no lock held.
 */
void dpa_peers_drain(struct dpa_hw *hw);
/*
 * Check the liveness of suspect peers on the board. True: some stay suspect. Context: service
 * thread.
 */
bool dpa_peers_check(struct dpa_hw *hw);

#endif
