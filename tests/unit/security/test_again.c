/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_again.c - duplicates of READs and FLUSHes. A request of 60 bytes under the PSN of a short
 * READ caused 400 MB to be sent: a duplicate could request any range that its key allows.
 */
#include "ctx/qp.h"
#include "link/lane.h"
#include "door.h"
#include "transport/transport.h"

#define LEN 4096u /* of the READ: 4 packets */
#define T14 (4096ull << 14)

/* Execute and answer a READ of LEN bytes at 8192 of B's memory. */
static struct door *after_a_read(void)
{
	struct door *d = door_of(DPA_QP_RC);

	d->k.opcode = DPA_BTH_READ_REQUEST;
	d->k.len = 0;
	d->k.va = (uintptr_t)d->th->b.mem + 8192;
	d->k.rkey = d->th->b.key;
	d->k.dmalen = LEN;
	knock(d, 0);
	cr_assert_eq(d->th->b.qp->resp.epsn, PSN0 + 4);
	return d;
}

/* Send all pending answers. Return the number of their packets. */
static uint32_t answered(struct door *d)
{
	struct dpa_resp *r = &d->th->b.qp->resp;
	uint32_t n = 0;

	for (; r->rd_tail != r->rd_head; r->rd_tail++)
		n += r->rd[r->rd_tail % DPA_RD_OWED].npkts;
	r->ack_owed = false;
	return n;
}

static void expect_refused_again(struct door *d, const char *why)
{
	uint64_t before = th_count(d->th, DPA_CNT_duplicate_read_refused);

	knock(d, 0);
	cr_expect_eq(answered(d), 0, "%s", why);
	cr_expect_eq(th_count(d->th, DPA_CNT_duplicate_read_refused), before + 1, "%s", why);
	cr_expect_not(dpa_resp_failing(&d->th->b.qp->resp), "%s", why);
	cr_expect_eq(d->th->b.qp->state, DPA_QPS_RTS, "%s", why);
}

/* IBA 9.7.5 (read-again-checks) */
Test(security_again, a_duplicate_asks_for_no_more)
{
	struct door *d = after_a_read();
	const struct dpa_roce_pkt first = d->k;
	const uint32_t lens[] = {LEN + 1, 1u << 20, 400000000, DPA_MAX_MSG, UINT32_MAX};

	cr_expect_eq(answered(d), 4);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		d->k.dmalen = lens[i];
		expect_refused_again(d, "longer");
	}
	d->k = first;
	d->k.va -= 1;
	expect_refused_again(d, "in front");
	d->k.va = first.va + 1;
	expect_refused_again(d, "behind");
	d->k.va = first.va + LEN + 1;
	d->k.dmalen = 0;
	expect_refused_again(d, "far behind");
	d->k.va = 0;
	expect_refused_again(d, "elsewhere");
	d->k = first;
	d->k.rkey ^= 1;
	expect_refused_again(d, "another key");
	d->k = first;
	d->k.psn += 1;
	expect_refused_again(d, "more packets than PSNs are left");
	d->k = first;
	knock(d, 0);
	cr_expect_eq(answered(d), 4, "the same");
	close_door(d);
}

/* The rest, and then all of it: the requester may have missed the first part, too. */
/* IBA 9.7.5 (read-again) */
Test(security_again, the_range_is_never_narrowed)
{
	struct door *d = after_a_read();
	const struct dpa_roce_pkt first = d->k;

	answered(d);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t from = 4; from--;) {
			d->k.psn = first.psn + from;
			d->k.va = first.va + from * 1024;
			d->k.dmalen = LEN - from * 1024;
			knock(d, 0);
			cr_expect_eq(answered(d), 4 - from);
		}
	cr_expect_eq(th_count(d->th, DPA_CNT_duplicate_read_refused), 0);
	close_door(d);
}

Test(security_again, a_flush_of_another_range)
{
	struct door *d = door_of(DPA_QP_RC);
	struct dpa_mr_attr mr = {.pdn = d->th->pdn,
				 .addr = (uintptr_t)d->th->b.mem,
				 .iova = (uintptr_t)d->th->b.mem,
				 .length = 4096,
				 .access = DPA_ACCESS_FLUSH_GLOBAL};

	d->th->b.qp->attr.access |= DPA_ACCESS_FLUSH_GLOBAL;
	cr_assert_eq(dpa_hw_reg_mr(&d->th->ctx, &mr, &d->k.rkey), 0);
	d->k.opcode = DPA_BTH_FLUSH;
	d->k.len = 0;
	d->k.va = (uintptr_t)d->th->b.mem;
	d->k.dmalen = 64;
	d->k.feth = DPA_FLUSH_GLOBAL;
	knock(d, 0);
	cr_expect_eq(answered(d), 1);
	d->k.rkey ^= 1;
	expect_refused_again(d, "another key");
	d->k.rkey ^= 1;
	knock(d, 0);
	cr_expect_eq(answered(d), 1);
	close_door(d);
}

/* XRC: the original request had no access to the protection domain of another SRQ. */
Test(security_again, another_srq)
{
	struct door *d = door_of(DPA_QP_RC);
	struct dpa_hw_qp *qp = d->th->b.qp;
	struct dpa_slot s = {.opcode = DPA_BTH_XRC | DPA_BTH_READ_REQUEST, .psn = PSN0};
	struct dpa_ext *x = (struct dpa_ext *)s.ext;
	const struct dpa_rd_saved *a;

	x->va = 4096;
	x->rkey = 7;
	x->dmalen = 64;
	x->xrcsrq = 5;
	dpa_again_remember(qp, &s, 1, 0);
	a = dpa_again_find(&qp->resp, &s);
	cr_assert_not_null(a);
	cr_expect(dpa_again_allowed(qp, a, &s));
	x->xrcsrq = 6;
	cr_expect_eq(dpa_again_find(&qp->resp, &s), a);
	cr_expect_not(dpa_again_allowed(qp, a, &s));
	cr_expect_eq(th_count(d->th, DPA_CNT_duplicate_read_refused), 1);
	close_door(d);
}

/*
 * The same READ repeatedly: the amount sent for it has a bound, and a requester that waits for its
 * timeout each time gets its answer each time.
 */
Test(security_again, the_work_has_a_bound)
{
	struct door *d = after_a_read();
	uint32_t sent = 0;

	answered(d);
	for (uint32_t i = 0; i < 10000; i++) {
		knock(d, 0);
		sent += answered(d);
	}
	cr_expect_geq(sent, 8 * 4, "8 tries, as many as there are, at once");
	cr_expect_leq(sent, 128 * 4, "%u packets for 10,000 requests", sent);
	cr_expect_gt(th_count(d->th, DPA_CNT_duplicate_read_limited), 9000);
	for (uint32_t t = 0; t < 100; t++) {
		th_now += T14;
		knock(d, 0);
		cr_expect_eq(answered(d), 4, "timeout %u", t);
		knock(d, 0);
		cr_expect_eq(answered(d), 0, "timeout %u", t);
	}
	cr_expect_eq(d->th->b.qp->state, DPA_QPS_RTS);
	close_door(d);
}

/* A whole window is lost at each timeout, and requested again. */
Test(security_again, a_full_window_goes_through_at_each_timeout)
{
	struct door *d = after_a_read();
	const struct dpa_roce_pkt first = d->k;

	answered(d);
	for (uint32_t i = 1; i < 16; i++) {
		d->k.psn = first.psn + 4 * i;
		d->k.va = first.va + i * LEN;
		knock(d, 0);
		cr_assert_eq(answered(d), 4);
	}
	for (uint32_t t = 0; t < 100; t++) {
		for (uint32_t i = 0; i < 16; i++) {
			d->k.psn = first.psn + 4 * i;
			d->k.va = first.va + i * LEN;
			knock(d, 0);
			cr_assert_eq(answered(d), 4, "READ %u, timeout %u", i, t);
		}
		th_now += T14;
	}
	close_door(d);
}
