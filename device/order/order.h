/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* order.h - requests out of order: kept until their turn, or carried out before. */
#ifndef DPA_ORDER_H
#define DPA_ORDER_H

#include "ctx/hw.h"
#include "ctx/wqe.h"
#include "link/lane.h"

/*
 * Maximum of outstanding packets of an RC QP on a link that loses packets; device/pcc limits the
 * bytes.
 */
#define DPA_LOSS_PACKETS 512u
/* Maximum of one READ request on such a link; a multiple of every path MTU. */
#define DPA_READ_CHUNK	 (64u * 1024)

/* --- kept.c --- */
/*
 * Keep a request that came before its turn. False: no room, not from the wire, from another source
 * than packets that came in order, or different from the copy that is kept, which is dropped, too.
 */
bool dpa_keep(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload);
const struct dpa_slot *dpa_kept_next(struct dpa_hw_qp *qp, const uint8_t **payload);
void dpa_kept_done(struct dpa_hw_qp *qp);
/* True if it comes from the wire, and from another source than packets that came in order. */
bool dpa_kept_strange(const struct dpa_hw_qp *qp, const struct dpa_slot *s);
/* Set the source of a request that came in order from another source than the request before. */
void dpa_kept_renew(struct dpa_hw_qp *qp, uint32_t from);
/* A request came in order: from now on packets of its UDP source may be kept. */
static inline void dpa_kept_source(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	if ((s->flags & DPA_PKT_MTU) && dpa_unlikely(s->from != qp->resp.from))
		dpa_kept_renew(qp, s->from);
}

/* --- again.c --- */
/*
 * Remember a READ, FLUSH or atomic that was carried out, with a response of npkts packets. It may
 * come again until as many others followed as may be outstanding.
 */
void dpa_again_remember(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint32_t npkts,
			uint64_t orig);
/* Return the request that this one repeats, completely or its rest; NULL: none is known. */
const struct dpa_rd_saved *dpa_again_find(const struct dpa_resp *r, const struct dpa_slot *s);
/* True if a READ or FLUSH requests no more than that one did, and the budget allows the work. */
bool dpa_again_allowed(struct dpa_hw_qp *qp, const struct dpa_rd_saved *a,
		       const struct dpa_slot *s);

/* Drop the packets in the out-of-order queue. */
void dpa_kept_drop(struct dpa_hw_qp *qp);
/* The device closes; no QP keeps anything. */
void dpa_kept_fini(struct dpa_hw *hw);

#endif
