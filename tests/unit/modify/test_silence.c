/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_silence.c - the link loses nothing, so no timer runs. But an answer is never sent if the
 * peer's QP was destroyed while the answer was pending. The service thread checks twice and sends
 * again.
 */
#include <criterion/criterion.h>
#include "transport/api.h"
#include "harness.h"

#define LEN 65536u

static void look(struct th_side *s)
{
	dpa_qplock_lock(&s->qp->lock);
	dpa_requester_watchdog(s->qp);
	dpa_qp_leave(s->qp);
}

/* A's READ, of which B has answered the first segment; the caller keeps the others. */
static struct th *half_answered(uint8_t retry)
{
	struct th *th = th_new(&(struct th_opt){.retry = retry, .timeout = 14});
	struct th_pkt p;

	th_fill(th->b.mem, LEN, 1);
	th_send(&th->a, DPA_OP_RDMA_READ, 0, LEN, 0);
	cr_assert_eq(th_deliver(&th->a), 1u);
	cr_assert(th_take(&th->b, &p));
	cr_assert_lt(p.s.len, LEN, "it takes several");
	th_give(&th->a, &p);
	return th;
}

/* B's QP is destroyed with the READ half answered: no message reports it until A asks again. */
Test(modify_silence, read_half_answered)
{
	struct th *th = half_answered(1);
	struct th_pkt p;
	struct dpa_cqe e;
	uint32_t asked = 0;

	th_drop_all(&th->b);
	look(&th->a);
	cr_expect_not(th_take(&th->a, &p), "one look may come just before the answer");
	look(&th->a);
	/* no QP is there: the requester's timer and its retries, then the error */
	while (asked < 10 && th_take(&th->a, &p)) {
		struct th_pkt no;

		cr_expect_eq(p.s.opcode, DPA_BTH_READ_REQUEST);
		asked++;
		th_forge(&th->b, &no, DPA_LINK_NO_QP, p.s.psn, 0);
		th_give(&th->a, &no);
		th_tick(th);
	}
	cr_expect_eq(asked, 2u, "%u", asked);
	cr_assert(th_poll(&th->a.scq, &e), "it ends");
	cr_expect_eq(e.status, DPA_CQE_RETRY_EXC_ERR, "%u", e.status);
	th_free(th);
}

/* B's QP exists, and the answer was lost for another reason: the retransmission brings it. */
Test(modify_silence, asked_again)
{
	struct th *th = half_answered(7);
	struct dpa_cqe e;

	th_drop_all(&th->b);
	look(&th->a);
	look(&th->a);
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, 0, "%u", e.status);
	cr_expect(th_check(th->a.mem, LEN, 1));
	th_free(th);
}

/* Progress between two checks: the next pair of checks begins. */
Test(modify_silence, moves_slowly)
{
	struct th *th = half_answered(7);
	struct th_pkt p, rest[16];
	uint32_t n = 0;

	while (n < 16 && th_take(&th->b, &rest[n]))
		n++;
	cr_assert_gt(n, 1u);
	for (uint32_t i = 0; i < n; i++) {
		look(&th->a);
		cr_expect_not(th_take(&th->a, &p), "asked again after piece %u", i);
		th_give(&th->a, &rest[i]);
	}
	th_free(th);
}

/* A peer that is stopped takes none of the packets: the requester waits for it. */
Test(modify_silence, stopped_peer)
{
	struct th *th = th_new(&(struct th_opt){.retry = 7, .timeout = 14});
	struct th_pkt p;

	th_send(&th->a, DPA_OP_RDMA_READ, 0, LEN, 0);
	for (int i = 0; i < 10; i++)
		look(&th->a);
	cr_expect(th_take(&th->a, &p));
	cr_expect_not(th_take(&th->a, &p), "it was sent once");
	th_free(th);
}
