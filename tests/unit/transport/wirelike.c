/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wirelike.c - the link between two QPs that treat each other as QPs of another host: an entry is
 * cut into packets of at most a path MTU; each is encoded to bytes and decoded again.
 */
#include <criterion/criterion.h>
#include "link/lane.h"
#include "harness.h"
#include "device/link/frame.h"
#include "device/link/udp/wire.h"

static uint8_t opcode_of(uint8_t op, bool first, bool last)
{
	static const uint8_t read[3] = {DPA_BTH_READ_RESP_MIDDLE, DPA_BTH_READ_RESP_FIRST,
					DPA_BTH_READ_RESP_LAST};
	uint16_t p = dpa_op_props(op);
	uint8_t tr = op & DPA_BTH_TRANSPORT;
	bool start = first && p & DPA_OPP_START, end = last && p & DPA_OPP_END;

	if (first && last)
		return op;
	if (p & DPA_OPP_RESP)
		return tr | read[start ? 1 : end ? 2 : 0];
	if (!end)
		return tr | (p & DPA_OPP_SEND ? start ? DPA_BTH_SEND_FIRST : DPA_BTH_SEND_MIDDLE
			     : start	      ? DPA_BTH_WRITE_FIRST
					      : DPA_BTH_WRITE_MIDDLE);
	if (p & DPA_OPP_WRITE)
		return tr | (p & DPA_OPP_IMM ? DPA_BTH_WRITE_LAST_IMM : DPA_BTH_WRITE_LAST);
	return tr | (p & DPA_OPP_IMM   ? DPA_BTH_SEND_LAST_IMM
		     : p & DPA_OPP_INV ? DPA_BTH_SEND_LAST_INV
				       : DPA_BTH_SEND_LAST);
}

/* Copy the entry's payload, from any place. */
void th_wire_hold(struct th_cut *w, const struct th_pkt *p, uint32_t mtu)
{
	const struct dpa_pull *v = (const struct dpa_pull *)p->data;
	uint32_t at = 0;

	w->s = p->s;
	w->nth = 0;
	w->n = dpa_npkts(p->s.len, mtu);
	cr_assert_leq(p->s.len, sizeof(w->data));
	if (!(p->s.flags & DPA_PKT_PULL)) {
		memcpy(w->data, p->data, p->s.len);
		return;
	}
	for (uint32_t i = 0; i < v->niov; at += (uint32_t)v->iov[i++].len) {
		cr_assert_leq(at + v->iov[i].len, p->s.len);
		memcpy(w->data + at, (const void *)(uintptr_t)v->iov[i].addr, v->iov[i].len);
	}
	cr_assert_eq(at, p->s.len);
}

void th_wire_next(struct th_cut *w, uint32_t mtu, struct th_pkt *p)
{
	bool first = !w->nth, last = w->nth + 1 == w->n;
	uint8_t bytes[DPA_ROCE_MAX_HDR + DPA_ROCE_MAX_MTU + 8];
	struct dpa_roce_pkt whole, out, in;
	uint32_t n;

	dpa_pkt_of_slot(&w->s, &whole);
	out = whole;
	out.opcode = opcode_of(w->s.opcode, first, last);
	out.psn = dpa_psn_add(whole.psn, w->nth);
	out.len = last ? w->s.len - w->nth * mtu : mtu;
	out.ackreq &= last;
	out.se &= last;
	n = dpa_roce_encode(&out, bytes);
	memcpy(bytes + n, w->data + w->nth * mtu, out.len);
	n += out.len;
	memset(bytes + n, 0, dpa_roce_pad(out.len) + DPA_ROCE_ICRC);
	n += dpa_roce_pad(out.len) + DPA_ROCE_ICRC;
	cr_assert_eq(dpa_roce_decode(bytes, n, &in), DPA_ROCE_OK);
	dpa_slot_of_pkt(&in, w->s.src, &p->s);
	p->s.flags |= dpa_pkt_mtu_flags(mtu);
	p->bytes = p->s.len;
	memcpy(p->data, in.payload, in.len);
	w->nth++;
}
