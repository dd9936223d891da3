/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* tag.h - tag matching at the receiver: what a SEND to an SRQ with tagged buffers becomes. */
#ifndef DPA_TAG_H
#define DPA_TAG_H

#include "ctx/qp.h"
#include "link/peer.h"

/* Of the message at hand. */
enum dpa_tag_kind {
	DPA_TAG_NONE,	    /* the SRQ matches no tags */
	DPA_TAG_PLAIN,	    /* no concern of the matching: an answer to a rendezvous, or the like */
	DPA_TAG_WITHOUT,    /* says that it has no tag */
	DPA_TAG_UNEXPECTED, /* no buffer is for it */
	DPA_TAG_EAGER,	    /* what is behind its header goes into a tagged buffer */
	DPA_TAG_RNDV,	    /* what its header names is fetched into one */
	DPA_TAG_RNDV_LONG,  /* one that is too small: the header goes there */
};

/* NULL: no memory. Freed by free(). */
struct dpa_tags *dpa_tags_new(uint32_t max);
/* A QP of such an SRQ: EINVAL if it has a queue for sends; else memory for the device's own. */
int dpa_tag_begin(const struct dpa_qp_attr_create *a, uint8_t **sq);
void dpa_tag_init(struct dpa_hw_qp *qp, uint8_t *sq);

/* A SEND begins: the buffer or receive for it into resp.wqe. False: there is none now. */
bool dpa_tag_take(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		  const uint8_t *payload);
/* Where a slot of an eager message goes: DPA_MAX_SGE + 1 elements. */
uint32_t dpa_tag_iov(struct dpa_hw_qp *qp, const struct dpa_slot *s, struct iovec *iov, int *cnt);
/* The message is there, len bytes of it. */
void dpa_tag_received(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint32_t len);
/* A WQE of the device's own is done. */
void dpa_tag_sent(struct dpa_hw_qp *qp, const struct dpa_cqe *e);

#endif
