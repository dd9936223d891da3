/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* drain.h - packets of a ring. */
#ifndef DPA_EU_DRAIN_H
#define DPA_EU_DRAIN_H

struct dpa_rx;

/*
 * Process one batch of packets. Returns their number. 0: the ring is empty; its first packet must
 * wait (for a receive, for a replica of an XRC target); or, except for _wait, another thread drains
 * it. Context: no lock held.
 */
int dpa_lane_drain(struct dpa_rx *rx);
int dpa_lane_drain_wait(struct dpa_rx *rx);

#endif
