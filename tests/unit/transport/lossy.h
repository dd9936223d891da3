/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * lossy.h - two QPs that treat each other as QPs of another host, and the packets of A, one by one.
 */
#ifndef DPA_TEST_TRANSPORT_LOSSY_H
#define DPA_TEST_TRANSPORT_LOSSY_H

#include "wire/opcode.h"
#include "ctx/qp.h"
#include "answers.h"

#define T14 (4096ull << 14) /* local ACK timeout of code 14, ns */

static inline struct th *wire_of(struct th_opt o)
{
	o.wire = true;
	o.psn = PSN0;
	o.timeout = o.timeout ? o.timeout : 14;
	o.retry = o.retry ? o.retry : 7;
	o.rnr_retry = o.rnr_retry ? o.rnr_retry : 7;
	o.rd = o.rd ? o.rd : 16;
	o.dest_rd = o.dest_rd ? o.dest_rd : 16;
	return th_new(&o);
}

static inline struct th *wire(void)
{
	return wire_of((struct th_opt){.min_rnr = 1});
}

/* Packets in flight, in the order of sending. */
struct flight {
	uint32_t n;
	struct th_pkt p[64];
};

static inline void take_all(struct th_side *s, struct flight *f)
{
	for (f->n = 0; f->n < 64 && th_take(s, &f->p[f->n]); f->n++)
		;
}

static inline uint32_t nth(const struct th_pkt *p)
{
	return dpa_psn_add(p->s.psn, 0x1000000 - PSN0);
}

/* Expect that A sent this one packet and no other. */
static inline void expect_one(struct th *th, uint32_t n, struct th_pkt *p)
{
	struct th_pkt other;

	cr_assert(th_take(&th->a, p), "packet %u is sent", n);
	cr_expect_eq(nth(p), n, "packet %u, not %u", nth(p), n);
	cr_expect_not(th_take(&th->a, &other), "%u, too", nth(&other));
}

/* Expect that this is B's only answer. */
static inline void expect_answer(struct th *th, uint32_t n, uint8_t kind, struct th_pkt *p)
{
	struct th_pkt other;

	th_flush(&th->b);
	cr_assert(th_take(&th->b, p), "B answers %u", n);
	cr_expect_eq(p->s.opcode, DPA_BTH_ACK);
	cr_expect_eq(nth(p), n, "%u is answered, not %u", nth(p), n);
	if (kind == DPA_AETH_ACK)
		cr_expect_eq(th_ext(p)->syndrome & DPA_AETH_KIND, kind);
	else
		cr_expect_eq(th_ext(p)->syndrome, kind, "syndrome %02x", th_ext(p)->syndrome);
	cr_expect_not(th_take(&th->b, &other));
}

/* Lose all packets of A until it gives up: return the time until then, ns. */
static inline uint64_t silence(struct th *th)
{
	const uint64_t start = th_now;

	while (th->a.qp->state == DPA_QPS_RTS) {
		th_drop_all(&th->a);
		cr_assert(th_tick(th), "a timer runs");
	}
	return th_now - start;
}

/* Expect that n messages, of receives 0 on, are complete on both sides, and no more. */
static inline void expect_received(struct th *th, uint64_t n)
{
	struct dpa_cqe e;

	for (uint64_t i = 0; i < n; i++) {
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.wr_id, i);
		cr_expect_eq(e.status, DPA_CQE_OK);
		expect_done(th, i + 1, DPA_CQE_OK);
	}
	cr_expect_not(th_poll(&th->b.rcq, &e));
	cr_expect_eq(th->b.qp->ooo.n, 0);
}

static inline void expect_quiet(struct th *th)
{
	struct th_pkt p;

	th_flush(&th->b);
	cr_expect_not(th_take(&th->b, &p), "B says %02x of %u", th_ext(&p)->syndrome, nth(&p));
}

static inline void ack_with(struct th *th, uint32_t n, uint32_t msn, uint8_t code)
{
	struct th_pkt p;

	th_forge(&th->b, &p, DPA_BTH_ACK, PSN0 + n, 0);
	th_ext(&p)->syndrome = DPA_AETH_ACK | code;
	th_ext(&p)->msn = msn & DPA_PSN_MASK;
	th_give(&th->a, &p);
}

#endif
