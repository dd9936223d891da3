/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* requests.h - forged requests to B, and the expected answers of B. */
#ifndef DPA_TEST_TRANSPORT_REQUESTS_H
#define DPA_TEST_TRANSPORT_REQUESTS_H

#include <criterion/criterion.h>
#include "link/lane.h"
#include "harness.h"

#define MTU    1024u
#define PSN0   0xfffffdu
#define ACK    (DPA_AETH_ACK | DPA_AETH_NO_CREDITS)
#define NAK(c) (DPA_AETH_NAK | (c))

static inline struct th *rc(void)
{
	return th_new(&(struct th_opt){.psn = PSN0, .min_rnr = 5});
}

static inline void give(struct th *th, uint8_t op, uint32_t n, uint32_t len)
{
	struct th_pkt p;

	th_forge(&th->a, &p, op, PSN0 + n, len);
	p.s.flags = DPA_PKT_ACKREQ;
	th_fill(p.data, len, n + 1);
	th_ext(&p)->va = (uintptr_t)th->b.mem;
	th_ext(&p)->rkey = th->b.key;
	th_ext(&p)->dmalen = len;
	th_give(&th->b, &p);
}

static inline void give_remote(struct th *th, uint8_t op, uint32_t n, uint64_t va, uint32_t key,
			       uint32_t dmalen)
{
	uint32_t len = op == DPA_BTH_WRITE_ONLY ? dmalen : 0;
	struct th_pkt p;

	th_forge(&th->a, &p, op, PSN0 + n, len);
	p.s.flags = DPA_PKT_ACKREQ;
	th_ext(&p)->va = va;
	th_ext(&p)->rkey = key;
	if (op == DPA_BTH_COMPARE_SWAP || op == DPA_BTH_FETCH_ADD) {
		th_ext(&p)->swap_add = dmalen;
		th_ext(&p)->compare = 0;
	} else {
		th_ext(&p)->dmalen = dmalen;
	}
	th_give(&th->b, &p);
}

static inline void expect_ack(struct th *th, uint32_t n, uint8_t syndrome)
{
	struct th_pkt p;

	th_flush(&th->b);
	cr_assert(th_take(&th->b, &p), "an answer to %u", n);
	cr_expect_eq(p.s.opcode, DPA_BTH_ACK);
	cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, n), "%u: answered %06x", n, p.s.psn);
	cr_expect_eq(th_ext(&p)->syndrome, syndrome, "%u: syndrome %02x", n, th_ext(&p)->syndrome);
}

static inline void expect_silence(struct th *th)
{
	struct th_pkt p;

	th_flush(&th->b);
	cr_expect_not(th_take(&th->b, &p));
}

static inline void expect_error(struct th *th, uint32_t event)
{
	cr_expect_eq(th->b.qp->state, DPA_QPS_ERR);
	cr_expect_eq(th->events[event & 63], 1);
}

static inline uint64_t atomic_answer(struct th *th, uint32_t n)
{
	struct th_pkt p;

	th_flush(&th->b);
	cr_assert(th_take(&th->b, &p));
	cr_expect_eq(p.s.opcode, DPA_BTH_ATOMIC_ACK);
	cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, n));
	return th_ext(&p)->orig;
}

#endif
