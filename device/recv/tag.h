/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* tag.h - tag matching at the receiver: handles a SEND to an SRQ with tagged buffers. */
#ifndef DPA_TAG_H
#define DPA_TAG_H

#include "ctx/qp.h"
#include "link/peer.h"

/* Kinds of the current message. */
enum dpa_tag_kind {
	DPA_TAG_NONE,	    /* the SRQ matches no tags */
	DPA_TAG_PLAIN,	    /* does not take part in matching: an answer to a rendezvous */
	DPA_TAG_WITHOUT,    /* marked as having no tag */
	DPA_TAG_UNEXPECTED, /* no buffer matches */
	DPA_TAG_EAGER,	    /* the payload behind its header goes into a tagged buffer */
	/* a rendezvous: the memory that its header names is read into the buffer */
	DPA_TAG_RNDV,
	DPA_TAG_RNDV_LONG, /* a rendezvous, but the buffer is too small: the header goes there */
};

/* NULL: no memory. The caller frees it with free(). */
struct dpa_tags *dpa_tags_new(uint32_t max);
/*
 * Prepare a QP of such an SRQ. EINVAL: the QP has a send queue. *sq: memory for the device's own
 * send queue.
 */
int dpa_tag_begin(const struct dpa_qp_attr_create *a, uint8_t **sq);
void dpa_tag_init(struct dpa_hw_qp *qp, uint8_t *sq);

/* A SEND begins: take the buffer or receive for it into resp.wqe. False: there is none now. */
bool dpa_tag_take(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		  const uint8_t *payload);
/* Fill iov with the place of a packet of an eager message: DPA_MAX_SGE + 1 elements. */
uint32_t dpa_tag_iov(struct dpa_hw_qp *qp, const struct dpa_slot *s, struct iovec *iov, int *cnt);
/* The message has arrived with len bytes. */
void dpa_tag_received(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint32_t len);
/* A WQE that the device posted is complete. */
void dpa_tag_sent(struct dpa_hw_qp *qp, const struct dpa_cqe *e);

#endif
