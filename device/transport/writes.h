/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * writes.h - consecutive short RDMA WRITEs of an RC QP, one packet each, to memory that is not
 * shared: together they cost one system call. A WRITE has the same effect here as in responder.c,
 * which handles every WRITE that does not meet the conditions here. The QP waits meanwhile, under
 * its lock. No WRITE counts before its bytes are in place.
 */
#ifndef DPA_WRITES_H
#define DPA_WRITES_H

#include "ctx/qp.h"
#include "link/peer.h"
#include "ctx/stage.h"

/* bytes of one WRITE: for longer ones the copy dominates, not the call */
#define DPA_WRITES_MAX 1024u

struct dpa_writes {
	struct dpa_hw_qp *qp;
	const struct dpa_peer *peer;
	uint64_t bytes;	 /* sum over the completed ones, after dpa_writes_end() */
	uint64_t ackreq; /* one bit for each */
	struct dpa_puts puts;
};
_Static_assert(DPA_PUTS <= 64, "a bit each");

/* False: not now. Otherwise dpa_writes_end() must follow. */
bool dpa_writes_begin(struct dpa_writes *w, struct dpa_hw_qp *qp, const struct dpa_peer *peer);
/*
 * Add a packet of that QP's number, RC WRITE Only. False: neither it nor the following packets can
 * be handled here.
 */
bool dpa_writes_add(struct dpa_writes *w, const struct dpa_slot *s, const uint8_t *payload);
/* Return how many of them, from the first on, are complete. */
uint32_t dpa_writes_end(struct dpa_writes *w);

#endif
