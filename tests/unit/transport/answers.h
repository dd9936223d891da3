/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* answers.h - B's answers to A's packets, and A's expected completions. */
#ifndef DPA_TEST_TRANSPORT_ANSWERS_H
#define DPA_TEST_TRANSPORT_ANSWERS_H

#include <criterion/criterion.h>
#include "wire/opcode.h"
#include "harness.h"

#define MTU    1024u
#define PSN0   0xfffffau
#define ACK    (DPA_AETH_ACK | DPA_AETH_NO_CREDITS)
#define NAK(c) (DPA_AETH_NAK | (c))
#define RNR(t) (DPA_AETH_RNR | (t))

static inline struct th *rc_of(uint8_t retry, uint8_t rnr_retry)
{
	return th_new(&(struct th_opt){
		.psn = PSN0, .retry = retry, .rnr_retry = rnr_retry, .timeout = 14, .rd = 16});
}

static inline struct th *rc(void)
{
	return rc_of(7, 7);
}

static inline void answer(struct th *th, uint32_t n, uint8_t syndrome)
{
	struct th_pkt p;

	th_forge(&th->b, &p, DPA_BTH_ACK, PSN0 + n, 0);
	th_ext(&p)->syndrome = syndrome;
	th_give(&th->a, &p);
}

/* A segment of a READ's response: [off, off + len) of B's memory. */
static inline void response(struct th *th, uint8_t op, uint32_t n, uint32_t off, uint32_t len)
{
	struct th_pkt p;

	th_forge(&th->b, &p, op, PSN0 + n, len);
	th_ext(&p)->syndrome = ACK;
	memcpy(p.data, th->b.mem + off, len);
	th_give(&th->a, &p);
}

static inline void atomic_response(struct th *th, uint32_t n, uint64_t orig)
{
	struct th_pkt p;

	th_forge(&th->b, &p, DPA_BTH_ATOMIC_ACK, PSN0 + n, 0);
	th_ext(&p)->syndrome = ACK;
	th_ext(&p)->orig = orig;
	th_give(&th->a, &p);
}

static inline void writes(struct th *th, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	cr_assert_eq(th_drop_all(&th->a), n);
}

static inline void expect_done(struct th *th, uint64_t wr_id, uint8_t status)
{
	struct dpa_cqe e;

	cr_assert(th_poll(&th->a.scq, &e), "completion of %lu", (unsigned long)wr_id);
	cr_expect_eq(e.wr_id, wr_id);
	cr_expect_eq(e.status, status, "%lu: status %u", (unsigned long)wr_id, e.status);
}

static inline void expect_none(struct th *th)
{
	struct dpa_cqe e;

	cr_expect_not(th_poll(&th->a.scq, &e));
}

#endif
