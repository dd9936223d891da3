/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * linkq.h - a bottleneck: one queue in front of a link of a fixed rate and delay, and its decision
 * on each packet. A pure function of the rule, the seed and the arrivals: no clock, no lock, no
 * memory. Times are nanoseconds of any one clock that does not go back.
 *
 * All packets leave in the order in which they came and at one rate. So the whole queue is one
 * number: the time when the packet at its end will have left. The bytes in it at time t are those that
 * leave between t and then; a packet that comes at t leaves as much later as its own bytes take.
 * The time is kept exactly, in parts of 1/rate ns.
 *
 *     arrival                     busy
 *        |<--- what is queued ---->|<- this packet ->|<-- delay -->|
 *        t                                         left           due
 */
#ifndef DPA_INSPECT_LINKQ_H
#define DPA_INSPECT_LINKQ_H

#include <stdbool.h>
#include <stdint.h>
#include "links.h"

struct dpa_linkq {
	uint64_t busy;	/* ns: until then it sends what is queued */
	uint64_t part;	/* and for so many parts of 1/rate ns longer */
	uint64_t index; /* packets decided upon */
};

enum dpa_linkq_flag {
	DPA_LINKQ_ECT = 1, /* its sender reacts to marks */
	DPA_LINKQ_URGENT =
		2, /* ahead of all others, as CNPs and answers to probes are: never marked or dropped */
};

struct dpa_linkq_act {
	uint64_t due;	 /* ns: when it arrives */
	uint64_t queued; /* bytes that were in the queue when it came, in front of the queue too */
	bool dropped;	 /* it does not arrive */
	bool marked;	 /* it arrives with ECN 11 */
	bool waited;	 /* it did not fit and waited in front of the queue: PFC */
};

/* Bytes that are in the queue, and in front of it; a packet that is leaving counts by the rest. */
uint64_t dpa_linkq_queued(const struct dpa_linkq *q, const struct dpa_link_rule *r, uint64_t now);
/* ns that so many bytes take at the rate of the rule, rounded down; 0: it has none. */
uint64_t dpa_linkq_time(const struct dpa_link_rule *r, uint64_t bytes);
/*
 * A packet of n bytes with all headers comes; flags: DPA_LINKQ_*. Sets *a, and moves the queue on
 * unless the packet is dropped. The random numbers of the i-th packet depend on seed and i alone.
 */
void dpa_linkq_arrive(struct dpa_linkq *q, const struct dpa_link_rule *r, uint64_t seed,
		      uint64_t now, uint32_t n, unsigned flags, struct dpa_linkq_act *a);

#endif
