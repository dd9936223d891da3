/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* resp_check.h - what a responder makes of a packet before it touches anything: a pure function. */
#ifndef DPA_RESP_CHECK_H
#define DPA_RESP_CHECK_H

#include "ctx/qp.h"
#include "link/lane.h"
#include "order/order.h"

/* dpa_resp.last_op: the message in progress; FRESH: none, and no request has come yet */
enum { DPA_RESP_NONE = 0xff, DPA_RESP_FRESH = 0xfe, DPA_RESP_SEND = 0, DPA_RESP_WRITE = 1 };

enum dpa_resp_verdict {
	DPA_RESP_GO, /* the expected packet, well formed and allowed */
	DPA_RESP_DUPLICATE,
	DPA_RESP_GAP,	  /* a later one: NAK, PSN sequence error, once */
	DPA_RESP_INVALID, /* NAK, invalid request */
	DPA_RESP_DROP,	  /* UC: silently */
};

/* The rights that a FLUSH asks of the QP and of the key: bits of enum dpa_access. */
uint32_t dpa_flush_access(uint32_t feth);
/* Do these permissions of the QP allow the request? */
bool dpa_resp_allows(uint32_t access, const struct dpa_slot *s);
enum dpa_resp_verdict dpa_resp_check(const struct dpa_resp *r, uint32_t mtu, uint32_t access,
				     bool rc, const struct dpa_slot *s);

#endif
