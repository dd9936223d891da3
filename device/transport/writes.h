/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * writes.h - short RDMA WRITEs of an RC QP in a row, each one packet, into memory that is not
 * shared: together they cost one system call. A WRITE changes here the same as in
 * responder.c, which gets whatever is not as it is taken for granted here.
 *
 * The QP waits meanwhile: under its lock, and none of them counts before its bytes are there.
 */
#ifndef DPA_WRITES_H
#define DPA_WRITES_H

#include "ctx/qp.h"
#include "link/peer.h"
#include "ctx/stage.h"

#define DPA_WRITES_MAX 1024u /* bytes of one: of longer ones the copy counts, not the call */

struct dpa_writes {
	struct dpa_hw_qp *qp;
	const struct dpa_peer *peer;
	uint64_t bytes;	 /* of those that are done, behind dpa_writes_end() */
	uint64_t ackreq; /* a bit each */
	struct dpa_puts puts;
};
_Static_assert(DPA_PUTS <= 64, "a bit each");

/* False: not now. Else dpa_writes_end() must follow. */
bool dpa_writes_begin(struct dpa_writes *w, struct dpa_hw_qp *qp, const struct dpa_peer *peer);
/* A packet of that QP's number, RC WRITE Only. False: it is not for here, nor what comes behind. */
bool dpa_writes_add(struct dpa_writes *w, const struct dpa_slot *s, const uint8_t *payload);
/* How many of them, from the first on, are done. */
uint32_t dpa_writes_end(struct dpa_writes *w);

#endif
