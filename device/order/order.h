/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* order.h - requests that are not the next one: kept out of order, or carried out before. */
#ifndef DPA_ORDER_H
#define DPA_ORDER_H

#include "ctx/hw.h"
#include "ctx/wqe.h"
#include "link/lane.h"

/* Packets of an RC QP that may be out on a link that loses packets; bytes are up to device/pcc. */
#define DPA_LOSS_PACKETS 512u
/* One READ request there asks for so much at most, and for a multiple of every path MTU. */
#define DPA_READ_CHUNK	 (64u * 1024)

/* --- kept.c --- */
/* Keeps a request that is ahead of its turn. False: no room, not off the wire, from elsewhere than
 * what came in order, or other than the copy that is kept, which is dropped, too. */
bool dpa_keep(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload);
const struct dpa_slot *dpa_kept_next(struct dpa_hw_qp *qp, const uint8_t **payload);
void dpa_kept_done(struct dpa_hw_qp *qp);
/* It comes off the wire, and from elsewhere than what came in order. */
bool dpa_kept_strange(const struct dpa_hw_qp *qp, const struct dpa_slot *s);
/* The source of a request that came in order, which is not the one of the request before. */
void dpa_kept_renew(struct dpa_hw_qp *qp, uint32_t from);
/* A request came in order: packets of its UDP source may be kept from now on. */
static inline void dpa_kept_source(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	if ((s->flags & DPA_PKT_MTU) && dpa_unlikely(s->from != qp->resp.from))
		dpa_kept_renew(qp, s->from);
}

/* --- again.c --- */
/* A READ, FLUSH or atomic was carried out; its response has npkts packets. It may come again, until
 * as many followed as may be outstanding. */
void dpa_again_remember(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint32_t npkts,
			uint64_t orig);
/* The request that this one is again, or the rest of; NULL: none that is known. */
const struct dpa_rd_saved *dpa_again_find(const struct dpa_resp *r, const struct dpa_slot *s);
/* Does a READ or FLUSH ask for no more than that one did, and is the work of it paid for? */
bool dpa_again_allowed(struct dpa_hw_qp *qp, const struct dpa_rd_saved *a,
		       const struct dpa_slot *s);

/* Packets that were kept out of order are forgotten. */
void dpa_kept_drop(struct dpa_hw_qp *qp);
/* The device closes; no QP keeps anything. */
void dpa_kept_fini(struct dpa_hw *hw);

#endif
