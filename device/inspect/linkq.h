/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * linkq.h - a bottleneck: one queue in front of a link with fixed rate and delay, and the decision
 * on each packet. A pure function of the rule, the seed and the arrivals: no clock, no lock, no
 * memory. Times are nanoseconds of any clock that never goes back.
 *
 * All packets leave in order of arrival and at one rate. So one number describes the whole queue:
 * the time when its last packet will have left. The bytes in the queue at time t are those that
 * leave between t and then. A packet that arrives at t leaves later by the time that its own bytes
 * take. The time is kept exactly, in parts of 1/rate ns.
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
	uint64_t busy;	/* ns: end of sending the queued bytes, */
	uint64_t part;	/* plus this number of parts of 1/rate ns */
	uint64_t index; /* packets decided so far */
};

enum dpa_linkq_flag {
	DPA_LINKQ_ECT = 1, /* its sender reacts to marks */
	DPA_LINKQ_URGENT =
		/* Ahead of all others, like CNPs and answers to probes: never marked or dropped. */
	2,
};

struct dpa_linkq_act {
	uint64_t due;	 /* ns: time of arrival */
	uint64_t queued; /* bytes in the queue, and in front of it, when it came */
	bool dropped;	 /* it does not arrive */
	bool marked;	 /* it arrives with ECN 11 */
	bool waited;	 /* it did not fit and waited in front of the queue: PFC */
};

/* Return the bytes in the queue and in front of it; of a packet that is leaving the rest counts. */
uint64_t dpa_linkq_queued(const struct dpa_linkq *q, const struct dpa_link_rule *r, uint64_t now);
/* Return the ns that the bytes take at the rule's rate, rounded down; 0: the rule has no rate. */
uint64_t dpa_linkq_time(const struct dpa_link_rule *r, uint64_t bytes);
/*
 * A packet of n bytes (all headers included) arrives; flags: DPA_LINKQ_*. Sets *a, and updates the
 * queue unless the packet is dropped. The random numbers of the i-th packet depend on seed and i
 * only.
 */
void dpa_linkq_arrive(struct dpa_linkq *q, const struct dpa_link_rule *r, uint64_t seed,
		      uint64_t now, uint32_t n, unsigned flags, struct dpa_linkq_act *a);

#endif
