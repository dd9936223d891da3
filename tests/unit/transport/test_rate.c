/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_rate.c - the rate limit of a QP: bytes that leave in a time, by the clock of the test. */
#include <criterion/criterion.h>
#include <errno.h>
#include "link/lane.h"
#include "harness.h"

#define KBPS  8000u /* a byte a microsecond */
#define BURST 16384u

static struct th *rc(void)
{
	return th_new(&(struct th_opt){.psn = 5, .rnr_retry = 7, .retry = 7, .timeout = 14});
}

static void post_write(struct th_side *s, uint32_t len)
{
	struct th_wr wr = {.op = DPA_OP_RDMA_WRITE,
			   .flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)s->mem, len, s->key}},
			   .raddr = (uintptr_t)s->other->mem,
			   .rkey = s->other->key};

	cr_assert(th_post(s, &wr));
	th_ring(s);
}

/* Bytes that left since the last call. */
static uint32_t left(struct th_side *s)
{
	struct th_pkt p;
	uint32_t n = 0;

	while (th_take(s, &p))
		n += p.s.len;
	return n;
}

Test(transport_rate, a_burst_then_the_rate)
{
	struct th *th = rc();
	uint32_t n, at_once;

	cr_assert_eq(dpa_hw_set_rate(th->a.qp, &(struct dpa_rate){KBPS, BURST}), 0);
	post_write(&th->a, 60000);
	at_once = n = left(&th->a);
	cr_expect_geq(at_once, BURST);
	cr_expect_leq(at_once, BURST + 2 * DPA_LANE_MTU);
	for (uint32_t ms = 1; ms <= 30; ms++) {
		th_until(th, th_now + 1000000);
		n += left(&th->a);
		cr_expect_leq(n, at_once + 1000 * ms + DPA_LANE_MTU, "%u after %u ms", n, ms);
		/* headers count as well */
		cr_expect_geq(n + DPA_LANE_MTU + 80 * ms, at_once + 1000 * ms, "%u after %u ms", n,
			      ms);
	}
	th_free(th);
}

Test(transport_rate, without_a_limit)
{
	struct th *th = rc();

	post_write(&th->a, 60000);
	cr_expect_eq(left(&th->a), 60000u);
	th_free(th);
}

/* Messages that wait leave when the limit is removed. */
Test(transport_rate, lifted)
{
	struct dpa_rate r = {.kbps = 1, .burst = 1}, now;
	struct th *th = rc();
	uint32_t n;

	cr_assert_eq(dpa_hw_set_rate(th->a.qp, &r), 0);
	dpa_hw_get_rate(th->a.qp, &now);
	cr_expect(now.kbps == 1 && now.burst == 1);
	post_write(&th->a, 60000);
	n = left(&th->a);
	cr_expect_leq(n, 2 * DPA_LANE_MTU);
	cr_assert_eq(dpa_hw_set_rate(th->a.qp, &(struct dpa_rate){.kbps = 0}), 0);
	cr_expect_eq(n + left(&th->a), 60000u);
	cr_expect_eq(dpa_hw_set_rate(th->a.qp, &(struct dpa_rate){DPA_MAX_RATE_KBPS + 1, 0}),
		     EINVAL);
	th_free(th);
}
