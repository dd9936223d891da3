/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * resp_check.h - the responder's decision on a packet, before it touches anything: a pure function.
 */
#ifndef DPA_RESP_CHECK_H
#define DPA_RESP_CHECK_H

#include "ctx/qp.h"
#include "link/lane.h"
#include "order/order.h"
#include "wire/aeth.h"

/* dpa_resp.last_op: the current message; FRESH: none, and no request has come yet */
enum { DPA_RESP_NONE = 0xff, DPA_RESP_FRESH = 0xfe, DPA_RESP_SEND = 0, DPA_RESP_WRITE = 1 };

enum dpa_resp_verdict {
	DPA_RESP_GO, /* the expected packet, valid and allowed */
	DPA_RESP_DUPLICATE,
	DPA_RESP_GAP,	  /* a later one: NAK, PSN sequence error, once */
	DPA_RESP_INVALID, /* NAK, invalid request */
	DPA_RESP_DROP,	  /* UC: silently */
};

/* IBA 9.7.4.1.3: a message is FIRST MIDDLE* LAST, or ONLY; requests do not interleave.
 */
/* IBA 9.7.4 (sequence) */
DPA_STEP bool dpa_resp_in_sequence(const struct dpa_resp *r, uint16_t p)
{
	if (p & DPA_OPP_START)
		return r->last_op >= DPA_RESP_FRESH;
	return r->last_op == ((p & DPA_OPP_SEND) ? DPA_RESP_SEND : DPA_RESP_WRITE);
}

/*
 * FIRST and MIDDLE carry whole MTUs, LAST and ONLY 1 byte to an MTU (ONLY: 0, too). On the shared
 * memory link an entry stands for several packets, up to `run` bytes of them.
 */
/* IBA C9-92, C9-94, 9.7.4 (mtu), 9.7.4 (write-length), 9.7.4 (no-payload), 9.7.4 (send-max) */
DPA_STEP bool dpa_resp_length_fits(const struct dpa_resp *r, uint32_t mtu, uint16_t p,
				   const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	uint32_t run = s->flags & DPA_PKT_PULL ? DPA_PULL_CHUNK : DPA_LANE_MTU;

	if (s->flags & DPA_PKT_MTU) /* from the wire: one packet, or several that were checked */
		run = s->flags & DPA_PKT_IOV ? DPA_PULL_IOV * mtu : mtu;
	if (s->len > run)
		return false;
	if (p & DPA_OPP_AWRITE)
		return s->len == 8 && x->dmalen == 8;
	if (p & (DPA_OPP_READ | DPA_OPP_ATOMIC | DPA_OPP_FLUSH))
		return !s->len;
	if (!dpa_mtu_fits(mtu, p, s))
		return false;
	if (!(p & DPA_OPP_END) && (!s->len || s->len % mtu))
		return false;
	if ((p & DPA_OPP_END) && !(p & DPA_OPP_START) && !s->len)
		return false;
	if (!(p & DPA_OPP_WRITE))
		return (uint64_t)((p & DPA_OPP_START) ? 0 : r->off) + s->len <= DPA_MAX_MSG;
	/* a WRITE has the bytes that its RETH announced, 2^31 at most */
	if (p & DPA_OPP_START) {
		if (x->dmalen > DPA_MAX_MSG)
			return false;
		return p & DPA_OPP_END ? x->dmalen == s->len : x->dmalen > s->len;
	}
	return p & DPA_OPP_END ? r->off + s->len == r->wr_len : r->off + s->len < r->wr_len;
}

/* For a ring: true if packets that begin before the expected PSN reach it. */
DPA_STEP bool dpa_resp_ends_behind(uint32_t epsn, uint32_t mtu, uint16_t p,
				   const struct dpa_slot *s)
{
	const uint32_t n = dpa_npkts(s->len, dpa_slot_mtu(mtu, s));

	return (p & (DPA_OPP_SEND | DPA_OPP_WRITE)) && !(s->flags & DPA_PKT_MTU) &&
	       dpa_psn_diff(dpa_psn_add(s->psn, n), epsn) > 0;
}

/*
 * Returns the rights that a FLUSH needs on the QP and on the key. Its bits are in the order of
 * those of the FETH.
 */
static inline uint32_t dpa_flush_access(uint32_t feth)
{
	return (feth & DPA_FLUSH_TYPE) * DPA_ACCESS_FLUSH_GLOBAL;
}

/* Checks the QP's own permissions. Without them the request is invalid (not an access error). */
/* IBA 9.7.4 (permission), 9.4 (flush) */
DPA_STEP bool dpa_resp_allows(uint32_t access, uint16_t p, const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;

	if (p & DPA_OPP_FLUSH)
		return dpa_feth_good(x->feth) && !(dpa_flush_access(x->feth) & ~access);
	if (p & (DPA_OPP_WRITE | DPA_OPP_AWRITE))
		return access & DPA_ACCESS_REMOTE_WRITE;
	if (p & DPA_OPP_READ)
		return access & DPA_ACCESS_REMOTE_READ;
	if (p & DPA_OPP_ATOMIC)
		return access & DPA_ACCESS_REMOTE_ATOMIC;
	return true;
}

/*
 * Judges a packet whose opcode has the properties p; epsn is the expected PSN. Fast paths pass p as
 * a constant; a list of WRITEs passes the PSN behind those that it has taken.
 */
/* IBA 9.7.4 (expected), 9.7.4 (unknown), 9.8.2 (permission) */
DPA_STEP enum dpa_resp_verdict dpa_resp_judge(const struct dpa_resp *r, uint32_t epsn, uint32_t mtu,
					      uint32_t access, bool rc, uint16_t p,
					      const struct dpa_slot *s)
{
	int32_t d = dpa_psn_diff(s->psn, epsn);

	if (!(p & DPA_OPP_VALID) || (!rc && (p & (DPA_OPP_READ | DPA_OPP_ATOMIC | DPA_OPP_AWRITE |
						  DPA_OPP_FLUSH | DPA_OPP_INV))))
		return rc ? DPA_RESP_INVALID : DPA_RESP_DROP;
	if (rc && dpa_unlikely(d < 0 && dpa_resp_ends_behind(epsn, mtu, p, s)))
		/* its packets before the expected one are duplicates, the expected one is not */
		return dpa_resp_in_sequence(r, p & (uint16_t)~DPA_OPP_START) ? DPA_RESP_GAP
									     : DPA_RESP_INVALID;
	if (rc && d)
		return d < 0 ? DPA_RESP_DUPLICATE : DPA_RESP_GAP;
	if (!dpa_resp_in_sequence(r, p) || !dpa_resp_length_fits(r, mtu, p, s))
		return rc ? DPA_RESP_INVALID : DPA_RESP_DROP;
	if (!dpa_resp_allows(access, p, s))
		return rc ? DPA_RESP_INVALID : DPA_RESP_DROP;
	return DPA_RESP_GO;
}

static inline enum dpa_resp_verdict dpa_resp_check(const struct dpa_resp *r, uint32_t mtu,
						   uint32_t access, bool rc,
						   const struct dpa_slot *s)
{
	return dpa_resp_judge(r, r->epsn, mtu, access, rc, dpa_op_props(s->opcode), s);
}

/* True if the responder is between two messages and has no NAK pending. */
static inline bool dpa_resp_is_idle(const struct dpa_resp *r)
{
	return r->last_op >= DPA_RESP_FRESH && !r->nak_sent && !r->have_wqe &&
	       (!r->ack_owed || (r->ack_syndrome & DPA_AETH_KIND) == DPA_AETH_ACK);
}

#endif
